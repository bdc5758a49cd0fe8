/* SPDX-License-Identifier: MIT */
/*
 * Bells in the fake world: forbidden, so that leases are asked for again and
 * again. The clients of these tests do not wait on bells in the first place.
 */
#include "strategy/bell.h"

#include "base/error.h"

static enum rlk_fault refuse(struct rowlock_errinfo *reterr)
{
	rlk_fail(reterr, ROWLOCK_EDB, "no user-level locks here");
	return RLK_REFUSED;
}

enum rlk_fault rlk_bell_wait(struct rlk_conn *conn, const char *name,
			     uint64_t wait_ms, bool *ret_got,
			     uint64_t *ret_owner,
			     struct rowlock_errinfo *reterr)
{
	(void) conn;
	(void) name;
	(void) wait_ms;
	(void) ret_got;
	(void) ret_owner;
	return refuse(reterr);
}

enum rlk_fault rlk_bell_resume(struct rlk_conn *conn, bool *ret_got,
			       uint64_t *ret_owner,
			       struct rowlock_errinfo *reterr)
{
	(void) conn;
	(void) ret_got;
	(void) ret_owner;
	return refuse(reterr);
}

enum rlk_fault rlk_bell_ring(struct rlk_conn *conn, const char *name,
			     struct rowlock_errinfo *reterr)
{
	(void) conn;
	(void) name;
	return refuse(reterr);
}

enum rlk_fault rlk_bell_release(struct rlk_conn *conn,
				const struct rlk_request *request,
				bool *ret_found, struct rowlock_errinfo *reterr)
{
	(void) conn;
	(void) request;
	(void) ret_found;
	return refuse(reterr);
}
