/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_ONCE_H
#define ROWLOCK_ONCE_H

/**
 * Jobs that succeed once per window of time, across all programs on the
 * database: once a night, whatever the hosts' clocks say and whichever host
 * dies.
 *
 * A window is two times of the server. A run of the job is begun while the lock
 * of its name is held, if no run has succeeded in that window. Its success is
 * noted, and the lock released, by one transaction: so at most one run of a
 * window succeeds, and none is begun after it. A run that fails, or whose host
 * dies, may be followed by another one in the same window. All runs of a name
 * that began within a window count, also those of a window of another length;
 * of the latter as many as are kept.
 * A job's work is done twice only if it was done and its success was not noted,
 * as its host died in between, or the lock was lost.
 *
 * Runs are kept in the table job_run, which rowlock-migrate makes: of each name
 * the last 20 that succeeded, and the last 20 that did not, or as many as the
 * run's keep says. Successes of the last day stay, too, up to 1,440: so a clock
 * of the server that is set back by hours comes to windows that are done.
 * rowlock_list_runs() (rowlock/admin.h) lists them.
 */

#include <rowlock.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A run of the job that has the name of a lock. */
struct rowlock_run {
	size_t size;      /* sizeof(struct rowlock_run) */
	int64_t from_us;  /* the window begins then, */
	int64_t until_us; /* and is over then: microseconds since 1970 (UTC) */
	uint64_t most;    /* runs of this window; 0: any number */
	uint64_t keep;    /* earlier runs of the name that succeeded, and that
			     did not: 1 to 1000 of each; 0: 20 */

	/** rowlock_once_begin() sets these, for rowlock_once_end(). */
	uint64_t id;
	uint64_t attempt;
};

/** No window is longer: 366 days. */
#define ROWLOCK_WINDOW_MOST_US (366 * 86400ll * 1000000)

/**
 * The server's clock now, in microseconds since 1970 (UTC), to choose a window.
 *
 * Returns 0, ROWLOCK_EINVAL (@ret_us is NULL) or the errors of the server.
 * Blocks up to call_timeout_ms. Any thread.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_server_time(
    struct rowlock_client *client, int64_t *ret_us,
    struct rowlock_errinfo *reterr);

/**
 * Begin a run of the job that has the name of @lock, which the caller holds, by
 * rowlock_new(), once.
 *
 * @run  its window, most and keep, all else 0; or as a failed call has left it.
 *       Choose the window before the lock is acquired: a wait that ends in the
 *       next window is over then
 *
 * Returns 0: the run is begun, and the lock is held; do the work now.
 * ROWLOCK_EDONE: nothing to do, as a run of this window has succeeded.
 * ROWLOCK_EOVER: the server's time is not within the window, or its runs are
 * used up. ROWLOCK_ELOST; ROWLOCK_ENOTHELD, ROWLOCK_ENOTOWNER; ROWLOCK_EHELD:
 * it is held more than once, or for a transaction; ROWLOCK_EINVAL: the window,
 * or keep; ROWLOCK_EUNSUPPORTED: not a lease of rowlock_new() without
 * at_least_ms and delay_after_loss_ms; ROWLOCK_ESCHEMA: there is no table
 * job_run; the errors of the server: a claim whose answer was lost is not
 * counted twice, if the next call has the same @run. None of them releases the
 * lock. Blocks up to call_timeout_ms, and as long again where the lock was lost
 * meanwhile, to take the run back.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_once_begin(
    struct rowlock *lock, struct rowlock_run *run,
    struct rowlock_errinfo *reterr);

/** How a run ended. */
enum rowlock_once_outcome {
	ROWLOCK_ONCE_FAILED = 0,
	ROWLOCK_ONCE_SUCCEEDED = 1,   /* no other run is begun in this window */
	ROWLOCK_ONCE_NOT_STARTED = 2, /* its work was not: it does not count */
};

/**
 * End @run, and release @lock.
 *
 * @run   as rowlock_once_begin() has set it
 * @code  for people: the exit status of the job, or a number of your own
 *
 * Returns 0: released, and a success is noted; a failure is noted if the server
 * can be reached, else the run counts as one that died.
 * ROWLOCK_EDONE: released; @how is ROWLOCK_ONCE_FAILED, but the run's own
 * transaction has noted its success (rowlock_once_sql()), and was committed, or
 * an earlier end of it has, which was ROWLOCK_EUNKNOWN.
 * ROWLOCK_ELOST: the lock was lost before, so no success is noted, and another
 * run may have begun.
 *
 * Only with ROWLOCK_ONCE_SUCCEEDED: ROWLOCK_EUNKNOWN: no answer came in time,
 * so whether the success is noted, and the lock released, is not known. Another
 * may have the lock by now: rowlock_held() is 0, and the lost callback runs.
 * Call again, which finds out, and notes the success if it is not noted;
 * rowlock_release() gives up: it is 0 if nobody else had taken the lock before
 * that end, or that release, and ROWLOCK_EUNKNOWN if that is not known. Until
 * one of them no other handle of this client gets the name, and an acquire by
 * one says why. Other errors of the server: the success is not noted, as the
 * server is out of reach or refuses it, or as the run's row is gone
 * (ROWLOCK_EDB); the lock is still held: call again, or rowlock_release().
 *
 * Else, codes of rowlock_release(), after which the lock is not held either.
 *
 * Nothing was done: ROWLOCK_EINVAL: @run was not begun; ROWLOCK_ENOTHELD,
 * ROWLOCK_ENOTOWNER; ROWLOCK_EHELD: the lock is held more than once, or for a
 * transaction; ROWLOCK_EUNSUPPORTED: as rowlock_once_begin(). Blocks up to
 * twice call_timeout_ms.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_once_end(struct rowlock *lock,
					       const struct rowlock_run *run,
					       int code,
					       enum rowlock_once_outcome how,
					       struct rowlock_errinfo *reterr);

/**
 * Write SQL that notes the success of @run in the application's own
 * transaction: then the work is done exactly once, with its data. It is the
 * guard of rowlock_guard_sql(), whose first statement also changes the run's
 * row in job_run, and fails if that is gone. All that rowlock_guard_sql() says
 * of its text is true of this one. Execute it in one transaction of the run,
 * which does the whole work: its COMMIT ends the window. Call
 * rowlock_once_end() then as always: what was committed stays a success,
 * whatever the work has returned.
 *
 * @run   as rowlock_once_begin() has set it
 * @text  @size bytes; ROWLOCK_GUARD_SQL_SIZE (rowlock/mysql.h) is enough
 *
 * Returns as rowlock_guard_sql(); ROWLOCK_EINVAL also if @run was not begun.
 * The application's account needs the rights SELECT and UPDATE on job_run and
 * on business_lease.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_once_sql(struct rowlock *lock,
					       const struct rowlock_run *run,
					       char *text, size_t size,
					       struct rowlock_errinfo *reterr);

/** The work of a run. Returns 0 if it has succeeded, else a number for people.
 *  It must not release @lock. */
typedef int (*rowlock_run_fn)(struct rowlock *lock, void *arg);

/**
 * Run @fn once per window: acquire, begin, call, end.
 *
 * Returns 0: @fn has run; if it returned 0, its success is noted. Every other
 * code is rowlock_new()'s, rowlock_acquire()'s, rowlock_once_begin()'s or
 * rowlock_once_end()'s; @fn can tell by @arg whether it has run.
 *
 * @options  as in rowlock_new()
 * @window   as of rowlock_once_begin(); it is not changed
 * @wait_ms  as in rowlock_acquire()
 *
 * Blocks as these do. While a success cannot be noted, as the server is away or
 * read-only, it tries again for as long as the lock is held, and while the
 * outcome is not known, up to a TTL. Any thread.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_execute_once(
    struct rowlock_client *client, const char *name,
    const struct rowlock_options *options, const struct rowlock_run *window,
    uint64_t wait_ms, rowlock_run_fn fn, void *arg,
    struct rowlock_errinfo *reterr);

#ifdef __cplusplus
}
#endif

#endif
