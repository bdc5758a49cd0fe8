/* SPDX-License-Identifier: MIT */
/*
 * rowlock_fence(): a token, compared where the data are. It needs no client and
 * no hold, so it can be called where only the token is known.
 */
#include <rowlock/mysql.h>

#include <inttypes.h>

#include "base/error.h"
#include "base/text.h"
#include "base/thread.h"
#include "db/borrowed_script.h"
#include "strategy/resource.h"

static int fail(const char *resource, int code, const char *words,
		struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, code, "fence '%.150s': %s", resource, words);
}

static int check(const struct rlk_borrowed *on, const char *resource,
		 uint64_t token, struct rowlock_errinfo *reterr)
{
	struct rlk_borrowed_state state;
	struct rowlock_errinfo error = { 0 };
	int code = rlk_name_check("the resource", resource, NULL, reterr);

	if (code)
		return code;
	if (!token)
		return fail(resource, ROWLOCK_EINVAL,
			    "0 is no token; give that of rowlock_token()",
			    reterr);
	if (!on->mysql)
		return fail(resource, ROWLOCK_EINVAL, "the connection is NULL",
			    reterr);
	code = rlk_borrowed_look(on, &state, &error);
	if (code)
		return rlk_fail_db(reterr, code, error.mysql,
				   "fence '%.150s': %s", resource,
				   error.message);
	if (rlk_borrowed_reconnects(on))
		return fail(resource, ROWLOCK_EINVAL,
			    "the driver connects the connection anew by itself "
			    "(its option for that is on), and what follows "
			    "would be written outside of the transaction; turn "
			    "that off",
			    reterr);
	if (state.autocommits && !state.in_transaction)
		return rlk_fail(
		    reterr, ROWLOCK_EINVAL,
		    "fence '%.150s' on %s: no transaction is open, so it would "
		    "protect nothing of what is written; begin one first",
		    resource, rlk_borrowed_host(on));
	return 0;
}

static int fail_stale(const struct rlk_borrowed *on, const char *resource,
		      uint64_t token, uint64_t largest,
		      struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, ROWLOCK_ELOST,
			"fence '%.150s' on %s: a later holder has been there "
			"(token %" PRIu64 ", ours is %" PRIu64
			"); roll back, and stop what the lock protects",
			resource, rlk_borrowed_host(on), largest, token);
}

int rowlock_fence(struct st_mysql *conn, const char *resource, uint64_t token,
		  struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	const struct rlk_borrowed on = { .mysql = conn };
	struct rowlock_errinfo error = { 0 };
	uint64_t largest;
	int code = check(&on, resource, token, reterr);

	if (code)
		return code;
	switch (rlk_resource_pass(&on, resource, token, &largest, &error)) {
	case RLK_RESOURCE_PASSED:
		return 0;
	case RLK_RESOURCE_STALE:
		return fail_stale(&on, resource, token, largest, reterr);
	default:
		break;
	}
	if (error.code == ROWLOCK_ESCHEMA)
		return rlk_fail_db(reterr, error.code, error.mysql,
				   "fence '%.150s': %s; make the table with "
				   "rowlock-migrate --fence-only",
				   resource, error.message);
	return rlk_fail_db(reterr, error.code, error.mysql,
			   "fence '%.150s': not passed: %s", resource,
			   error.message);
}
