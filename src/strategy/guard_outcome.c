/* SPDX-License-Identifier: MIT */
/*
 * Finds the outcome of a COMMIT that was not answered.
 *
 * A commit counts the lease's row one up from a number that is known, if it
 * takes place. The question steps over it: it counts two up, from the same
 * number. So whichever comes first, the other one finds another number, and the
 * row says for good which of them it was.
 *
 * Evidence is the row, read after that. One more: the commit took place (where
 * it has given the lease back, the row is its receipt, receipt.h). Two more: it
 * did not, and cannot any more. An UPDATE that changed no row is no evidence
 * (an interrupted one answers the same). Neither is a smaller number, which a
 * member of a group shows that is behind: so the row is read behind all that
 * was committed in the cluster before.
 *
 * Failure modes: where the row says neither, the caller asks again.
 */
#include "strategy/guard_outcome.h"

#include "base/error.h"
#include "db/conn.h"
#include "strategy/attempt.h"
#include "strategy/receipt.h"
#include "strategy/sure.h"

/* Two up, as rlk_guard_count() does, from a number of ours: the others' count
 * does not matter, and stays. */
static const struct rlk_stmt_def step = {
	"outcome",
	"UPDATE business_lease SET guards = (guards & 4026531840) "
	"| ((guards + 2) & 268435455) WHERE name = ? AND slot = ? "
	"AND attempt = ? AND guards & 268435455 = ?",
	true,
};

/* Waits for a commit that is under way. */
static const struct rlk_stmt_def look = {
	"outcome",
	"SELECT guards FROM business_lease "
	"WHERE name = ? AND slot = ? AND attempt = ? FOR UPDATE",
	true,
};

static const struct rlk_stmt_def glance = {
	"outcome",
	"SELECT guards FROM business_lease "
	"WHERE name = ? AND slot = ? AND attempt = ?",
	true,
};

/* ------------------------------------------------------------- statements */

/* Over a commit that expects @from. */
static enum rlk_fault step_over(struct rlk_conn *conn,
				const struct rlk_request *request,
				uint64_t from, struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = {
		rlk_text(request->name),
		rlk_u64(request->slot),
		rlk_u64(request->attempt),
		rlk_u64(from & RLK_GUARD_OWN),
	};
	struct rlk_reply reply;

	return rlk_stmt_run(conn, &step, params, &reply, reterr);
}

/* *@ret_guards: RLK_GUARD_NO_ROW, if it is not there. */
static enum rlk_fault read_guards(struct rlk_conn *conn,
				  const struct rlk_stmt_def *how,
				  const struct rlk_request *request,
				  uint64_t *ret_guards,
				  struct rowlock_errinfo *reterr)
{
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_attempt_run(conn, how, request, &reply, reterr);

	if (!fault)
		*ret_guards =
		    reply.has_row ? reply.columns[0].u64 : RLK_GUARD_NO_ROW;
	return fault;
}

static bool is_ahead(uint64_t guards, uint64_t of, uint64_t by)
{
	return (guards & RLK_GUARD_OWN) ==
	       (rlk_guard_count(of, by) & RLK_GUARD_OWN);
}

/* Nothing was, and nothing is sure: ask again. */
static enum rlk_fault is_open(const struct rlk_conn *conn,
			      struct rowlock_errinfo *reterr)
{
	rlk_fail(reterr, ROWLOCK_EDB,
		 "outcome: the lock's row does not say it yet on %s",
		 rlk_conn_server(conn)->name);
	return RLK_BUSY;
}

/* ---------------------------------------------------------------- outcome */

/* The lease's row is not there. A commit that has given it back has left a
 * receipt. */
static enum rlk_fault find_receipt(struct rlk_conn *conn,
				   const struct rlk_guard *guard,
				   const struct rlk_request *request,
				   enum rlk_guard_outcome *ret_outcome,
				   struct rowlock_errinfo *reterr)
{
	uint64_t guards = RLK_GUARD_NO_ROW;
	enum rlk_fault fault =
	    rlk_receipt_look(conn, request->attempt, &guards, reterr);

	if (!fault)
		*ret_outcome = guards != RLK_GUARD_NO_ROW &&
				       is_ahead(guards, guard->guards, 1)
				   ? RLK_GUARD_WAS_COMMITTED
				   : RLK_GUARD_ROW_IS_GONE;
	return fault;
}

/* By the row, of which @guards was read. One that gives it back does not leave
 * it there. */
static enum rlk_fault judge(struct rlk_conn *conn, struct rlk_guard *guard,
			    uint64_t guards,
			    enum rlk_guard_outcome *ret_outcome,
			    struct rowlock_errinfo *reterr)
{
	if (is_ahead(guards, guard->guards, 2))
		*ret_outcome = RLK_GUARD_WAS_NOT_COMMITTED;
	else if (!guard->releases && is_ahead(guards, guard->guards, 1))
		*ret_outcome = RLK_GUARD_WAS_COMMITTED;
	else
		return is_open(conn, reterr);
	guard->guards = guards;
	return RLK_DONE;
}

enum rlk_fault rlk_guard_find_out(struct rlk_conn *conn,
				  struct rlk_guard *guard,
				  const struct rlk_request *request,
				  enum rlk_guard_outcome *ret_outcome,
				  struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = rlk_sure_begin(conn, reterr);
	uint64_t guards = 0;

	if (!fault)
		fault = step_over(conn, request, guard->guards, reterr);
	if (!fault)
		fault = read_guards(conn, &look, request, &guards, reterr);
	if (!fault && guards != RLK_GUARD_NO_ROW)
		fault = judge(conn, guard, guards, ret_outcome, reterr);
	else if (!fault && guard->releases)
		fault = find_receipt(conn, guard, request, ret_outcome, reterr);
	else if (!fault)
		*ret_outcome = RLK_GUARD_ROW_IS_GONE;
	rlk_sure_end(conn);
	return fault;
}

/* From whatever number there is: one that is later than any that a commit which
 * may still come expects. */
static enum rlk_fault outrun(struct rlk_conn *conn,
			     const struct rlk_request *request,
			     struct rowlock_errinfo *reterr)
{
	uint64_t before = RLK_GUARD_NO_ROW;
	uint64_t after = RLK_GUARD_NO_ROW;
	enum rlk_fault fault =
	    read_guards(conn, &glance, request, &before, reterr);

	if (fault || before == RLK_GUARD_NO_ROW)
		return fault;
	fault = step_over(conn, request, before, reterr);
	if (!fault)
		fault = read_guards(conn, &look, request, &after, reterr);
	if (fault || after == RLK_GUARD_NO_ROW || is_ahead(after, before, 2))
		return fault;
	return is_open(conn, reterr);
}

enum rlk_fault rlk_guard_outrun(struct rlk_conn *conn,
				const struct rlk_request *request,
				struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = rlk_sure_begin(conn, reterr);

	if (!fault)
		fault = outrun(conn, request, reterr);
	rlk_sure_end(conn);
	return fault;
}

enum rlk_fault rlk_guard_look(struct rlk_conn *conn,
			      const struct rlk_request *request,
			      uint64_t *ret_guards,
			      struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = rlk_sure_begin(conn, reterr);

	if (!fault)
		fault = read_guards(conn, &glance, request, ret_guards, reterr);
	rlk_sure_end(conn);
	return fault;
}
