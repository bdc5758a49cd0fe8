/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_JOB_RUN_H
#define RLK_STRATEGY_JOB_RUN_H

/*
 * Runs of jobs that succeed once per window of the server's time: table
 * job_run. A run is claimed while the lease of its name is held. Its success is
 * noted, and the lease removed, in one transaction.
 *
 * So at most one run of a window succeeds: one that finds its lease at its end
 * has had it since its claim, and a claim sees what was noted before its lease
 * was granted. No clock is needed for that.
 *
 * As for strategies: no mutex held, may block until @conn's deadline. A claim
 * and an end are one transaction each. Each call may be repeated after any
 * fault: it finds what an earlier one has done.
 */

#include "strategy/strategy.h"

/** The longest text of a time: "2026-11-29 11:00:00.000000". */
#define RLK_TIME_SIZE 32

struct rlk_job_run {
	const struct rlk_request *request; /* the lease */
	uint64_t id;                       /* random */
	char from[RLK_TIME_SIZE];          /* its window, as SQL has times */
	char until[RLK_TIME_SIZE];
	uint64_t most; /* runs of a window */
	uint64_t keep; /* earlier ones of each kind */
};

enum rlk_claim {
	RLK_CLAIMED,
	RLK_CLAIM_DONE,  /* a run of this window has succeeded */
	RLK_CLAIM_SPENT, /* @most runs of this window were begun */
	RLK_CLAIM_AWAY,  /* the server's time is not within the window */
	RLK_CLAIM_LOST,  /* the lease is gone */
};

/** Claim @run. */
enum rlk_fault rlk_job_run_claim(struct rlk_conn *conn,
				 const struct rlk_job_run *run,
				 enum rlk_claim *ret_claim,
				 struct rowlock_errinfo *reterr);

enum rlk_job_end {
	RLK_JOB_NOTED,
	RLK_JOB_DONE, /* its own transaction has noted its success */
	RLK_JOB_LOST, /* the lease is gone, and no success is noted */
	RLK_JOB_GONE, /* the run's row is gone: nothing was changed */
};

/** @run has succeeded with @code: note that, and delete its lease. */
enum rlk_fault rlk_job_run_succeed(struct rlk_conn *conn,
				   const struct rlk_job_run *run, int code,
				   enum rlk_job_end *ret_end,
				   struct rowlock_errinfo *reterr);

/** @run has failed with @code: note that. The lease stays. */
enum rlk_fault rlk_job_run_fail(struct rlk_conn *conn,
				const struct rlk_job_run *run, int code,
				enum rlk_job_end *ret_end,
				struct rowlock_errinfo *reterr);

/** @run was claimed, and not begun: delete its row. */
enum rlk_fault rlk_job_run_undo(struct rlk_conn *conn,
				const struct rlk_job_run *run,
				struct rowlock_errinfo *reterr);

/** Delete the oldest runs of the name, but for @run, and @run->keep that
 *  succeeded and as many that did not; successes of a window that is over since
 *  less than a day stay, too, up to 1,440. */
enum rlk_fault rlk_job_run_forget(struct rlk_conn *conn,
				  const struct rlk_job_run *run,
				  struct rowlock_errinfo *reterr);

#endif
