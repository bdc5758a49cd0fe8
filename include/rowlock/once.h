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
 * dies, may be followed by another one in the same window. A job's work is done
 * twice only if it was done and its success was not noted, as its host died in
 * between, or the lock was lost.
 *
 * Runs are kept in the table job_run, which rowlock-migrate makes: of each name
 * the last 20 that succeeded, and the last 20 that did not, or as many as the
 * run's keep says. rowlock_list_runs() (rowlock/admin.h) lists them.
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
 * Returns 0 or the errors of the server. Blocks up to call_timeout_ms. Any
 * thread.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_server_time(
    struct rowlock_client *client, int64_t *ret_us,
    struct rowlock_errinfo *reterr);

/**
 * Begin a run of the job that has the name of @lock, which the caller holds, by
 * rowlock_new(), once.
 *
 * @run  its window, most and keep; choose the window before the lock is
 *       acquired: a wait that ends in the next window is over then
 *
 * Returns 0: the run is begun, and the lock is held; do the work now.
 * ROWLOCK_EDONE: nothing to do, as a run of this window has succeeded.
 * ROWLOCK_EOVER: the server's time is not within the window, or its runs are
 * used up. ROWLOCK_ELOST; ROWLOCK_ENOTHELD, ROWLOCK_ENOTOWNER; ROWLOCK_EHELD:
 * it is held more than once, or for a transaction; ROWLOCK_EINVAL: the window,
 * or keep; ROWLOCK_EUNSUPPORTED: not a lease of rowlock_new() without
 * at_least_ms; the errors of the server. The lock is still held after all of
 * them but ROWLOCK_ELOST. Blocks up to call_timeout_ms.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_once_begin(
    struct rowlock *lock, struct rowlock_run *run,
    struct rowlock_errinfo *reterr);

/**
 * End @run, and release @lock.
 *
 * @run        as rowlock_once_begin() has set it
 * @code       for people: the exit status of the job, or a number of your own
 * @succeeded  not 0: no other run is begun in this window
 *
 * Returns 0. ROWLOCK_ELOST: the lock was lost before, so nothing is noted, and
 * another may have begun to run. ROWLOCK_EUNKNOWN: no answer came in time, and
 * whether the success is noted is not known: call again, which reads it. Then
 * the lock stays as it is; after every other code it is released. Other codes
 * are those of the server: nothing is noted. Blocks up to twice
 * call_timeout_ms.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_once_end(struct rowlock *lock,
					       const struct rowlock_run *run,
					       int code, int succeeded,
					       struct rowlock_errinfo *reterr);

/** The work of a run. Returns 0 if it has succeeded, else a number of its own.
 *  It must not release @lock. */
typedef int (*rowlock_run_fn)(struct rowlock *lock, void *arg);

/**
 * Run @fn once per window: acquire, begin, call, end.
 *
 * Returns 0: @fn has run, and its end is noted; *@ret_code is what it returned.
 * ROWLOCK_ELOST, ROWLOCK_EUNKNOWN: as of rowlock_once_end(), or of an acquire;
 * every other code is rowlock_new()'s, rowlock_acquire()'s,
 * rowlock_once_begin()'s or rowlock_once_end()'s.
 *
 * @options  as in rowlock_new()
 * @window   as of rowlock_once_begin(); it is not changed
 * @wait_ms  as in rowlock_acquire()
 *
 * Blocks as these do. Any thread.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_execute_once(
    struct rowlock_client *client, const char *name,
    const struct rowlock_options *options, const struct rowlock_run *window,
    uint64_t wait_ms, rowlock_run_fn fn, void *arg, int *ret_code,
    struct rowlock_errinfo *reterr);

#ifdef __cplusplus
}
#endif

#endif
