/* SPDX-License-Identifier: MIT */
/*
 * See job_run.h.
 *
 * A claim first locks the lease's row, so that nobody can sweep it, and only
 * then reads: the INSERT ... SELECT is a consistent read of READ COMMITTED,
 * which sees all that was committed when it begins. Without the lock it may see
 * a lease that was swept meanwhile, and a second run beside it. The server's
 * clock is read and written by the same statement.
 *
 * Evidence is a row. A statement that changed none may have been killed: it is
 * believed if a SELECT finds no such row either. After a COMMIT without an
 * answer the same is done again on another connection; it waits for the row of
 * the lease until that COMMIT has ended, and finds its outcome.
 *
 * Failure modes: those of a statement. A transaction that has failed is rolled
 * back, or ends with its connection.
 */
#include "strategy/job_run.h"

#include "db/transaction.h"
#include "strategy/attempt.h"
#include "strategy/sure.h"

#define LEASE "FROM business_lease WHERE name = ? AND slot = ? AND attempt = ?"
#define RUN "FROM job_run WHERE name = ? AND run = ?"

static const struct rlk_stmt_def lock_lease = {
	"look at the lease",
	"SELECT attempt " LEASE " FOR UPDATE",
	.once = true,
};

static const struct rlk_stmt_def delete_lease = {
	"give back the lease",
	"DELETE " LEASE,
	.once = true,
};

static const struct rlk_stmt_def lease_there = {
	"look at the lease",
	"SELECT attempt " LEASE,
	.once = true,
};

/* How many runs of a window there were: its own ones have counted those that
 * are forgotten by now; those of windows of another length count as long as
 * they are kept. A run whose nth is 0 is one that somebody took back. */
#define RUNS_OF_WINDOW                                                         \
	"GREATEST(COUNT(IF(j.nth > 0, 1, NULL)),"                              \
	" COALESCE(MAX(IF(j.from_at = ? AND j.until_at = ?, j.nth, 0)), 0))"

static const struct rlk_stmt_def claim = {
	"begin the run",
	"INSERT INTO job_run (name, run, number, attempt, from_at, until_at,"
	" nth, began_at, host, pid, program)"
	" SELECT l.name, ?, COALESCE((SELECT MAX(o.number) FROM job_run o"
	" WHERE o.name = l.name), 0) + 1, MAX(l.attempt), ?, ?,"
	" " RUNS_OF_WINDOW " + 1 AS nth_now,"
	" UTC_TIMESTAMP(6), COALESCE(MAX(s.host), ''),"
	" COALESCE(MAX(s.pid), 0), COALESCE(MAX(s.program), '')"
	" FROM business_lease l"
	" LEFT JOIN lease_session s ON s.id = l.session"
	" LEFT JOIN job_run j ON j.name = l.name"
	" AND j.began_at >= ? AND j.began_at < ?"
	" WHERE l.name = ? AND l.slot = ? AND l.attempt = ?"
	" AND UTC_TIMESTAMP(6) >= ? AND UTC_TIMESTAMP(6) < ?"
	" GROUP BY l.name"
	" HAVING COALESCE(MAX(j.succeeded), 0) = 0"
	" AND nth_now <= ?"
	" ON DUPLICATE KEY UPDATE number = job_run.number",
	.once = true,
};

/* Why was nothing claimed? */
static const struct rlk_stmt_def refusal = {
	"begin the run",
	"SELECT CAST(COALESCE(MAX(succeeded), 0) AS UNSIGNED),"
	" CAST(" RUNS_OF_WINDOW " AS UNSIGNED),"
	" CAST(UTC_TIMESTAMP(6) >= ? AND "
	"UTC_TIMESTAMP(6) < ? AS UNSIGNED)"
	" FROM job_run j WHERE name = ? AND "
	"began_at >= ? AND began_at < ?",
	.once = true,
};

static const struct rlk_stmt_def end_run = {
	"end the run",
	"UPDATE job_run SET ended_at = UTC_TIMESTAMP(6), code = ?,"
	" succeeded = ? WHERE name = ? AND run = ? AND succeeded = 0",
	.once = true,
};

static const struct rlk_stmt_def run_there = {
	"look for the run",
	"SELECT CAST(succeeded AS UNSIGNED) " RUN,
	.once = true,
};

static const struct rlk_stmt_def undo = {
	"undo the run",
	"DELETE " RUN " AND succeeded = 0",
	.once = true,
};

static const struct rlk_stmt_def to_undo = {
	"undo the run",
	"SELECT run " RUN " AND succeeded = 0",
	.once = true,
};

/* The newest that goes has as many newer ones as are kept, besides this very
 * run. */
#define FORGET(of_kind, more)                                                  \
	{                                                                      \
		"forget runs",                                                 \
		    "DELETE j FROM job_run j FORCE INDEX (PRIMARY) JOIN"       \
		    " (SELECT number FROM job_run FORCE INDEX (PRIMARY)"       \
		    " WHERE name = ? AND run <> ? AND succeeded " of_kind      \
		    " ORDER BY number DESC LIMIT 1 OFFSET ?) k"                \
		    " WHERE j.name = ? AND j.run <> ?"                         \
		    " AND j.succeeded " of_kind                                \
		    " AND j.number <= k.number" more,                          \
		    .once = true,                                              \
	}

/* A clock that is set back by hours comes to windows of which a run has
 * succeeded: their rows have to be there. */
static const struct rlk_stmt_def forget_failures = FORGET("= 0", "");
static const struct rlk_stmt_def forget_old =
    FORGET("> 0", " AND j.until_at < UTC_TIMESTAMP(6) - INTERVAL 1 DAY");
static const struct rlk_stmt_def forget_many = FORGET("> 0", "");

/* Successes of a day that are kept: as many as its minutes. */
#define OF_A_DAY 1440

/* ------------------------------------------------------------ transaction */

typedef enum rlk_fault (*body_fn)(struct rlk_conn *conn, void *arg,
				  bool *ret_commit,
				  struct rowlock_errinfo *reterr);

static enum rlk_fault transact(struct rlk_conn *conn, body_fn body, void *arg,
			       struct rowlock_errinfo *reterr)
{
	bool commit = false;
	enum rlk_fault fault = rlk_transaction_begin(conn, reterr);

	if (fault)
		return fault;
	fault = body(conn, arg, &commit, reterr);
	if (!fault && commit)
		fault = rlk_transaction_commit(conn, reterr);
	if (fault || !commit)
		rlk_transaction_roll_back(conn);
	return fault;
}

/* A run that is left behind would count. Within a transaction: @within. */
static enum rlk_fault take_back(struct rlk_conn *conn,
				const struct rlk_job_run *run, bool within,
				struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = {
		rlk_text(run->request->name),
		rlk_u64(run->id),
	};
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_stmt_run(conn, &undo, params, &reply, reterr);

	if (fault || reply.affected)
		return fault;
	/* It was found there. */
	if (within)
		return rlk_sure_fail(conn, undo.label, reterr);
	return rlk_sure_gone(conn, &to_undo, params, reterr);
}

/* The run's row, as it is committed, and by this transaction.
 * *@ret_succeeded: a success is noted. */
static enum rlk_fault find_run(struct rlk_conn *conn,
			       const struct rlk_job_run *run, bool *ret_found,
			       bool *ret_succeeded,
			       struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = {
		rlk_text(run->request->name),
		rlk_u64(run->id),
	};
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_stmt_run(conn, &run_there, params, &reply, reterr);

	if (fault)
		return fault;
	*ret_found = reply.has_row;
	*ret_succeeded = reply.has_row && reply.columns[0].u64;
	return RLK_DONE;
}

/* Outside a transaction, where a member that is behind can catch up. */
static enum rlk_fault run_gone(struct rlk_conn *conn,
			       const struct rlk_job_run *run,
			       struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = {
		rlk_text(run->request->name),
		rlk_u64(run->id),
	};

	return rlk_sure_gone(conn, &run_there, params, reterr);
}

/* As run_gone(). */
static enum rlk_fault lease_gone(struct rlk_conn *conn,
				 const struct rlk_request *request,
				 struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = {
		rlk_text(request->name),
		rlk_u64(request->slot),
		rlk_u64(request->attempt),
	};

	return rlk_sure_gone(conn, &lease_there, params, reterr);
}

/* ------------------------------------------------------------------ claim */

struct claiming {
	const struct rlk_job_run *run;
	enum rlk_claim claim;
};

static enum rlk_fault explain(struct rlk_conn *conn, struct claiming *claiming,
			      struct rowlock_errinfo *reterr)
{
	const struct rlk_job_run *run = claiming->run;
	const struct rlk_value params[] = {
		rlk_text(run->from),          rlk_text(run->until),
		rlk_text(run->from),          rlk_text(run->until),
		rlk_text(run->request->name), rlk_text(run->from),
		rlk_text(run->until),
	};
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_stmt_run(conn, &refusal, params, &reply, reterr);

	if (fault)
		return fault;
	if (reply.columns[0].u64)
		claiming->claim = RLK_CLAIM_DONE;
	else if (reply.columns[1].u64 >= run->most)
		claiming->claim = RLK_CLAIM_SPENT;
	else if (!reply.columns[2].u64)
		claiming->claim = RLK_CLAIM_AWAY;
	else
		return rlk_sure_fail(conn, claim.label, reterr);
	return RLK_DONE;
}

static enum rlk_fault insert(struct rlk_conn *conn, struct claiming *claiming,
			     bool *ret_commit, struct rowlock_errinfo *reterr)
{
	const struct rlk_job_run *run = claiming->run;
	const struct rlk_value params[] = {
		rlk_u64(run->id),
		rlk_text(run->from),
		rlk_text(run->until),
		rlk_text(run->from),
		rlk_text(run->until),
		rlk_text(run->from),
		rlk_text(run->until),
		rlk_text(run->request->name),
		rlk_u64(run->request->slot),
		rlk_u64(run->request->attempt),
		rlk_text(run->from),
		rlk_text(run->until),
		rlk_u64(run->most),
	};
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_stmt_run(conn, &claim, params, &reply, reterr);

	if (fault)
		return fault;
	if (!reply.affected)
		return explain(conn, claiming, reterr);
	claiming->claim = RLK_CLAIMED;
	*ret_commit = true;
	return RLK_DONE;
}

static enum rlk_fault claim_body(struct rlk_conn *conn, void *arg,
				 bool *ret_commit,
				 struct rowlock_errinfo *reterr)
{
	struct claiming *claiming = arg;
	bool found = false, succeeded = false;
	struct rlk_reply reply;
	enum rlk_fault fault = rlk_attempt_run(
	    conn, &lock_lease, claiming->run->request, &reply, reterr);

	if (!fault && !reply.has_row) {
		claiming->claim = RLK_CLAIM_LOST;
		return RLK_DONE;
	}
	if (!fault)
		fault =
		    find_run(conn, claiming->run, &found, &succeeded, reterr);
	if (fault)
		return fault;
	/* By a claim whose answer was lost. It is made anew, as its window may
	 * be over by now, or have had a success. */
	if (found && !succeeded)
		fault = take_back(conn, claiming->run, true, reterr);
	return fault ? fault : insert(conn, claiming, ret_commit, reterr);
}

enum rlk_fault rlk_job_run_claim(struct rlk_conn *conn,
				 const struct rlk_job_run *run,
				 enum rlk_claim *ret_claim,
				 struct rowlock_errinfo *reterr)
{
	struct claiming claiming = { .run = run };
	enum rlk_fault fault = transact(conn, claim_body, &claiming, reterr);

	if (!fault && claiming.claim == RLK_CLAIM_LOST)
		fault = lease_gone(conn, run->request, reterr);
	if (!fault)
		*ret_claim = claiming.claim;
	return fault;
}

/* -------------------------------------------------------------------- end */

struct ending {
	const struct rlk_job_run *run;
	int code;
	bool succeeded;
	enum rlk_job_end end;
};

/* Note the end. */
static enum rlk_fault note(struct rlk_conn *conn, struct ending *ending,
			   bool *ret_commit, struct rowlock_errinfo *reterr)
{
	const struct rlk_job_run *run = ending->run;
	const struct rlk_value params[] = {
		{ .type = RLK_I64, .i64 = ending->code },
		rlk_u64(ending->succeeded),
		rlk_text(run->request->name),
		rlk_u64(run->id),
	};
	bool found = false, succeeded = false;
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_stmt_run(conn, &end_run, params, &reply, reterr);

	if (fault)
		return fault;
	if (reply.affected) {
		ending->end = RLK_JOB_NOTED;
		*ret_commit = true;
		return RLK_DONE;
	}
	fault = find_run(conn, run, &found, &succeeded, reterr);
	if (!fault && found && !succeeded)
		return rlk_sure_fail(conn, end_run.label, reterr);
	ending->end = succeeded ? RLK_JOB_DONE : RLK_JOB_GONE;
	*ret_commit = !fault && succeeded;
	return fault;
}

static enum rlk_fault succeed_body(struct rlk_conn *conn, void *arg,
				   bool *ret_commit,
				   struct rowlock_errinfo *reterr)
{
	struct ending *ending = arg;
	struct rlk_reply reply;
	enum rlk_fault fault = rlk_attempt_run(
	    conn, &delete_lease, ending->run->request, &reply, reterr);

	if (fault)
		return fault;
	if (reply.affected)
		return note(conn, ending, ret_commit, reterr);
	ending->end = RLK_JOB_LOST;
	return RLK_DONE;
}

/* The lease is gone: by this run's end, whose answer was lost? */
static enum rlk_fault judge_gone(struct rlk_conn *conn, struct ending *ending,
				 struct rowlock_errinfo *reterr)
{
	bool found = false, succeeded = false;
	enum rlk_fault fault = lease_gone(conn, ending->run->request, reterr);

	if (!fault)
		fault = rlk_sure_begin(conn, reterr);
	if (fault)
		return fault;
	fault = find_run(conn, ending->run, &found, &succeeded, reterr);
	rlk_sure_end(conn);
	if (succeeded)
		ending->end = RLK_JOB_DONE;
	return fault;
}

enum rlk_fault rlk_job_run_succeed(struct rlk_conn *conn,
				   const struct rlk_job_run *run, int code,
				   enum rlk_job_end *ret_end,
				   struct rowlock_errinfo *reterr)
{
	struct ending ending = { .run = run, .code = code, .succeeded = true };
	enum rlk_fault fault = transact(conn, succeed_body, &ending, reterr);

	if (!fault && ending.end == RLK_JOB_LOST)
		fault = judge_gone(conn, &ending, reterr);
	else if (!fault && ending.end == RLK_JOB_GONE)
		fault = run_gone(conn, run, reterr);
	if (!fault)
		*ret_end = ending.end;
	return fault;
}

static enum rlk_fault fail_body(struct rlk_conn *conn, void *arg,
				bool *ret_commit,
				struct rowlock_errinfo *reterr)
{
	return note(conn, arg, ret_commit, reterr);
}

enum rlk_fault rlk_job_run_fail(struct rlk_conn *conn,
				const struct rlk_job_run *run, int code,
				enum rlk_job_end *ret_end,
				struct rowlock_errinfo *reterr)
{
	struct ending ending = { .run = run, .code = code };
	enum rlk_fault fault = transact(conn, fail_body, &ending, reterr);

	if (!fault && ending.end == RLK_JOB_GONE)
		fault = run_gone(conn, run, reterr);
	if (!fault)
		*ret_end = ending.end;
	return fault;
}

enum rlk_fault rlk_job_run_undo(struct rlk_conn *conn,
				const struct rlk_job_run *run,
				struct rowlock_errinfo *reterr)
{
	return take_back(conn, run, false, reterr);
}

enum rlk_fault rlk_job_run_forget(struct rlk_conn *conn,
				  const struct rlk_job_run *run,
				  struct rowlock_errinfo *reterr)
{
	const struct {
		const struct rlk_stmt_def *def;
		uint64_t keep;
	} steps[] = {
		{ &forget_failures, run->keep },
		{ &forget_old, run->keep },
		{ &forget_many, run->keep > OF_A_DAY ? run->keep : OF_A_DAY },
	};
	enum rlk_fault fault = RLK_DONE;
	struct rlk_reply reply;

	for (size_t i = 0; i < RLK_ARRAY_SIZE(steps) && !fault; i++) {
		const struct rlk_value params[] = {
			rlk_text(run->request->name),
			rlk_u64(run->id),
			rlk_u64(steps[i].keep),
			rlk_text(run->request->name),
			rlk_u64(run->id),
		};

		fault =
		    rlk_stmt_run(conn, steps[i].def, params, &reply, reterr);
	}
	return fault;
}
