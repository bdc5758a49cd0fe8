/* SPDX-License-Identifier: MIT */
/*
 * Runs that succeed once per window (rowlock/once.h): a run is begun and ended
 * under a hold, whose row the end removes.
 *
 * Failure modes: an end without an answer is sent again on another connection,
 * which finds what the first has done, until the call's time is up. Then the
 * hold stays, and the next call reads the outcome: nothing is believed but a
 * row. A transaction without an answer has the lease's row locked until the
 * server notices that this side has gone: the chores end it there.
 */
#include <rowlock/once.h>

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "api/release.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "base/sized.h"
#include "base/text.h"
#include "base/thread.h"
#include "core/call.h"
#include "hold/keeping.h"
#include "strategy/job_run.h"

#define KEEPS 20
#define PAUSE_MS 250
#define KEEPS_MOST 1000
#define SECOND_US 1000000

/* The year 9999: SQL knows no later times. */
#define TIME_MOST_US (253402300799 * SECOND_US)

static int fail(const struct rowlock *lock, const char *what, int code,
		const char *words, struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, code, "%s " RLK_LOCK_FORMAT ": %s", what,
			RLK_LOCK_ARGS(lock), words);
}

/* ----------------------------------------------------------------- window */

static enum rlk_fault read_time(struct rlk_conn *conn, void *arg,
				struct rowlock_errinfo *reterr)
{
	return rlk_conn_server_time(conn, arg, reterr);
}

int rowlock_server_time(struct rowlock_client *client, int64_t *ret_us,
			struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	int code = rlk_client_refuses(client, reterr);
	struct rowlock_errinfo error;
	enum rlk_fault fault;

	if (!code && !ret_us)
		code = rlk_fail_null("where to write the time", reterr);
	if (code)
		return code;
	fault = rlk_client_persist(client, rlk_client_call_until(client),
				   read_time, ret_us, &error);
	code = rlk_client_code(client, fault, &error);
	if (code && reterr)
		*reterr = error;
	return code;
}

/* @us is from 1970 to 9999. */
static void put_time(int64_t us, char *ret_text)
{
	time_t seconds = us / SECOND_US;
	struct tm tm;
	size_t n;

	gmtime_r(&seconds, &tm);
	n = strftime(ret_text, RLK_TIME_SIZE, "%Y-%m-%d %H:%M:%S", &tm);
	snprintf(ret_text + n, RLK_TIME_SIZE - n, ".%06u",
		 (unsigned int) (us % SECOND_US) % SECOND_US);
}

static bool is_window(const struct rowlock_run *run)
{
	return run->from_us >= 0 && run->until_us <= TIME_MOST_US &&
	       run->until_us > run->from_us &&
	       run->until_us - run->from_us <= ROWLOCK_WINDOW_MOST_US;
}

static int read_run(const struct rowlock_run *given,
		    struct rowlock_run *ret_run, struct rowlock_errinfo *reterr)
{
	int code;

	if (!given)
		return rlk_fail_null("the run", reterr);
	code =
	    rlk_options_read("run", given, ret_run, sizeof(*ret_run), reterr);
	if (code)
		return code;
	if (given->size < sizeof(*ret_run))
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"set the run's size to sizeof(struct "
				"rowlock_run)");
	if (!is_window(ret_run))
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"from_us and until_us must be a window of 1 us "
				"to 366 days, after 1970");
	if (ret_run->keep > KEEPS_MOST)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"keep is %" PRIu64
				"; it must be from 1 to %d, or 0 for %d",
				ret_run->keep, KEEPS_MOST, KEEPS);
	return 0;
}

static int read_run_of(const struct rowlock *lock,
		       const struct rowlock_run *given, const char *what,
		       struct rowlock_run *ret_run,
		       struct rowlock_errinfo *reterr)
{
	int code = read_run(given, ret_run, reterr);

	if (code)
		rlk_prefix(reterr, "%s " RLK_LOCK_FORMAT ": ", what,
			   RLK_LOCK_ARGS(lock));
	return code;
}

/* The run for the strategy, under @request. */
static struct rlk_job_run row_of(const struct rowlock_run *run,
				 const struct rlk_request *request)
{
	struct rlk_job_run row = {
		.request = request,
		.id = run->id,
		.most = run->most ? run->most : UINT32_MAX,
		.keep = run->keep ? run->keep : KEEPS,
	};

	put_time(run->from_us, row.from);
	put_time(run->until_us, row.until);
	return row;
}

/* ------------------------------------------------------------------- hold */

/* Is it a plain lease, held once? Returns 0, or the error. */
static int check_hold(const struct rowlock *lock, const struct rlk_hold *hold,
		      const char *what, struct rowlock_errinfo *reterr)
{
	if (lock->name->strategy != rlk_strategy(ROWLOCK_LEASE) ||
	    lock->recipe || rlk_hold_is_kept(hold))
		return fail(lock, what, ROWLOCK_EUNSUPPORTED,
			    "only a lease of one name, which is not "
			    "kept for a time, can run a job once",
			    reterr);
	if (hold->state == RLK_HOLD_EXPORTED)
		return fail(lock, what, ROWLOCK_ENOTHELD,
			    "it was exported, so it is not held here any more",
			    reterr);
	if (hold->depth != 1 || hold->guard.in_transaction)
		return fail(lock, what, ROWLOCK_EHELD,
			    "it is held more than once, or a transaction was "
			    "begun with it; end that first",
			    reterr);
	return 0;
}

/* Take the owner's hold. Returns it with a reference; nobody gives it back or
 * judges it until leave(). Or NULL and *@ret_code. */
static struct rlk_hold *enter(struct rowlock *lock, const char *what,
			      int *ret_code, struct rowlock_errinfo *reterr)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&lock->name->client->mutex);
	struct rlk_hold *hold =
	    rlk_lock_hold_locked(lock, false, ret_code, reterr);

	if (!hold)
		return NULL;
	*ret_code = check_hold(lock, hold, what, reterr);
	if (*ret_code)
		return NULL;
	hold->guard.in_transaction = true;
	rlk_hold_get_locked(hold);
	return hold;
}

/* @unknown: its row may be gone, or go, and another may have the name. */
static void leave(struct rlk_hold *hold, bool unknown)
{
	struct rowlock_client *client = hold->name->client;

	rlk_mutex_lock(&client->mutex);
	hold->guard.in_transaction = false;
	hold->guard.gives_back = false;
	if (unknown) {
		hold->guard.commit_may_come = true;
		rlk_hold_doubt_locked(hold);
		/* One that was lost meanwhile is in doubt for the next end. */
		if (hold->state != RLK_HOLD_HELD)
			hold->guard.may_be_gone = true;
	}
	rlk_hold_put_locked(hold);
	rlk_mutex_unlock(&client->mutex);
}

/* A lease's row may be locked by the run's own transaction. */
static int code_of(const struct rowlock_client *client, enum rlk_fault fault,
		   struct rowlock_errinfo *reterr)
{
	return fault == RLK_BUSY ? rlk_fail_row_locked(client, reterr)
				 : rlk_client_code(client, fault, reterr);
}

/* ------------------------------------------------------------------ begin */

struct beginning {
	const struct rlk_job_run *row;
	enum rlk_claim claim;
};

static enum rlk_fault claim(struct rlk_conn *conn, void *arg,
			    struct rowlock_errinfo *reterr)
{
	struct beginning *beginning = arg;

	return rlk_job_run_claim(conn, beginning->row, &beginning->claim,
				 reterr);
}

static enum rlk_fault forget(struct rlk_conn *conn, void *arg,
			     struct rowlock_errinfo *reterr)
{
	return rlk_job_run_forget(conn, arg, reterr);
}

static enum rlk_fault undo(struct rlk_conn *conn, void *arg,
			   struct rowlock_errinfo *reterr)
{
	return rlk_job_run_undo(conn, arg, reterr);
}

static int fail_claim(struct rowlock *lock, struct rlk_hold *hold,
		      const struct beginning *beginning,
		      struct rowlock_errinfo *reterr)
{
	switch (beginning->claim) {
	case RLK_CLAIM_DONE:
		return fail(lock, "begin", ROWLOCK_EDONE,
			    "nothing to do: a run of this window has succeeded",
			    reterr);
	case RLK_CLAIM_SPENT:
		return fail(lock, "begin", ROWLOCK_EOVER,
			    "no run of this window has succeeded, and it has "
			    "had as many as it may; 'rowlock jobs --history' "
			    "shows them",
			    reterr);
	case RLK_CLAIM_AWAY:
		return fail(lock, "begin", ROWLOCK_EOVER,
			    "the server's time is not within the window, "
			    "which may be over since the wait began; nothing "
			    "was run: ask again, with the window of now",
			    reterr);
	default:
		rlk_hold_lose(hold, RLK_ROW_IS_GONE);
		return fail(lock, "begin", ROWLOCK_ELOST,
			    "the hold was lost: do not run", reterr);
	}
}

/* Our own clock has the last word: after its deadline nothing may begin. */
static int check_held(struct rowlock *lock, struct rlk_hold *hold,
		      struct rowlock_errinfo *reterr)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&lock->name->client->mutex);

	if (rlk_hold_check_locked(hold))
		return 0;
	return fail(lock, "begin", ROWLOCK_ELOST,
		    "the hold was lost: do not run", reterr);
}

static int begin(struct rowlock *lock, struct rlk_hold *hold,
		 const struct rowlock_run *run, struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = lock->name->client;
	struct rlk_request request = rlk_hold_request(hold);
	struct rlk_job_run row = row_of(run, &request);
	struct beginning beginning = { .row = &row };
	int64_t until = rlk_client_call_until(client);
	struct rowlock_errinfo error;
	int code = code_of(
	    client,
	    rlk_client_persist(client, until, claim, &beginning, reterr),
	    reterr);

	if (code) {
		rlk_prefix(reterr, "begin " RLK_LOCK_FORMAT ": ",
			   RLK_LOCK_ARGS(lock));
		return code;
	}
	if (beginning.claim)
		return fail_claim(lock, hold, &beginning, reterr);
	/* Old runs that are left do no harm. */
	rlk_client_persist(client, until, forget, &row, &error);
	code = check_held(lock, hold, reterr);
	/* It counts as a run otherwise. */
	if (code)
		rlk_client_persist(client, rlk_client_call_until(client), undo,
				   &row, &error);
	return code;
}

static int begin_run(struct rowlock *lock, struct rowlock_run *run,
		     struct rowlock_errinfo *reterr)
{
	int code = 0;
	struct rlk_hold *hold = enter(lock, "begin", &code, reterr);
	struct rowlock_errinfo error;

	if (!hold)
		return code;
	/* One that was claimed without an answer is claimed anew. */
	if (!run->id || run->attempt)
		run->id = rlk_random();
	run->attempt = 0;
	code = begin(lock, hold, run, &error);
	if (!code)
		run->attempt = hold->attempt;
	leave(hold, false);
	if (code && reterr)
		*reterr = error;
	return code;
}

int rowlock_once_begin(struct rowlock *lock, struct rowlock_run *run,
		       struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	int code = rlk_lock_refuses(lock, reterr);
	struct rowlock_run mine;

	if (!code)
		code = read_run_of(lock, run, "begin", &mine, reterr);
	if (code)
		return code;
	rlk_lock_enter(lock);
	code = begin_run(lock, &mine, reterr);
	rlk_lock_leave(lock);
	run->id = mine.id;
	run->attempt = mine.attempt;
	return code;
}

/* -------------------------------------------------------------------- end */

struct ending {
	const struct rlk_job_run *row;
	int code;
	enum rowlock_once_outcome how;
	enum rlk_job_end end;
	bool unanswered; /* this end, or one before it */
};

static enum rlk_fault end_step(struct rlk_conn *conn, void *arg,
			       struct rowlock_errinfo *reterr)
{
	struct ending *ending = arg;
	enum rlk_fault fault;

	if (ending->how == ROWLOCK_ONCE_NOT_STARTED)
		return rlk_job_run_undo(conn, ending->row, reterr);
	if (ending->how == ROWLOCK_ONCE_FAILED)
		return rlk_job_run_fail(conn, ending->row, ending->code,
					&ending->end, reterr);
	fault = rlk_job_run_succeed(conn, ending->row, ending->code,
				    &ending->end, reterr);
	if (rlk_fault_open(fault))
		ending->unanswered = true;
	return fault;
}

static int fail_lost(const struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	return fail(lock, "end", ROWLOCK_ELOST,
		    "the lock was lost before, so no success is noted; another "
		    "run may have begun: check what it did",
		    reterr);
}

static int fail_end(const struct rowlock *lock, int code, const char *words,
		    struct rowlock_errinfo *reterr)
{
	rlk_prefix(reterr, "end " RLK_LOCK_FORMAT ": %s: ", RLK_LOCK_ARGS(lock),
		   words);
	reterr->code = code;
	return code;
}

/* It has succeeded: note that, which gives the lease back. An end that was not
 * answered before may have done it. */
static int succeed(struct rowlock *lock, struct rlk_hold *hold,
		   struct ending *ending, int64_t until,
		   struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = lock->name->client;
	int code = code_of(
	    client, rlk_client_persist(client, until, end_step, ending, reterr),
	    reterr);

	if (code && ending->unanswered)
		return fail_end(lock, ROWLOCK_EUNKNOWN,
				"whether its success is noted, and the lock "
				"released, is not known; look in job_run",
				reterr);
	if (code)
		return fail_end(lock, code, "its success is not noted", reterr);
	if (ending->end == RLK_JOB_NOTED || ending->end == RLK_JOB_DONE)
		return 0;
	if (ending->end == RLK_JOB_GONE)
		return fail(lock, "end", ROWLOCK_EDB,
			    "its success is not noted, as its row is gone from "
			    "job_run; release the lock, and check who deletes "
			    "there",
			    reterr);
	rlk_hold_lose(hold, RLK_ROW_IS_GONE);
	return fail_lost(lock, reterr);
}

/* Release what @hold is besides: all of it, or the handle's part. */
static int end(struct rowlock *lock, struct rlk_hold *hold,
	       struct ending *ending, struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = lock->name->client;
	int64_t until = rlk_client_call_until(client);
	struct rowlock_errinfo error;
	int code;

	if (ending->how != ROWLOCK_ONCE_SUCCEEDED) {
		/* If it is not noted, it counts as a run that died. */
		rlk_client_persist(client, until, end_step, ending, &error);
		leave(hold, false);
		code = rlk_release(lock, rlk_client_call_until(client), reterr);
		if (ending->end != RLK_JOB_DONE)
			return code;
		return fail(lock, "end", ROWLOCK_EDONE,
			    "its success is noted already, by its own "
			    "transaction or by an end without an answer",
			    reterr);
	}
	code = succeed(lock, hold, ending, until, &error);
	if (!code)
		rlk_release_gone(lock, hold, until);
	leave(hold, code == ROWLOCK_EUNKNOWN);
	if (code == ROWLOCK_ELOST)
		rlk_release(lock, rlk_client_call_until(client), NULL);
	if (code && reterr)
		*reterr = error;
	return code;
}

static int end_run(struct rowlock *lock, const struct rowlock_run *run,
		   struct ending *ending, struct rowlock_errinfo *reterr)
{
	int code = 0;
	struct rlk_hold *hold = enter(lock, "end", &code, reterr);
	struct rlk_request request;
	struct rlk_job_run row;

	if (!hold)
		return code;
	/* Its hold is over, and this one is another's. */
	if (hold->attempt != run->attempt) {
		leave(hold, false);
		return fail_lost(lock, reterr);
	}
	rlk_mutex_lock(&lock->name->client->mutex);
	ending->unanswered = hold->guard.may_be_gone;
	hold->guard.gives_back = ending->how == ROWLOCK_ONCE_SUCCEEDED;
	rlk_mutex_unlock(&lock->name->client->mutex);
	request = rlk_hold_request(hold);
	row = row_of(run, &request);
	ending->row = &row;
	return end(lock, hold, ending, reterr);
}

int rowlock_once_end(struct rowlock *lock, const struct rowlock_run *run,
		     int code, enum rowlock_once_outcome how,
		     struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct ending ending = { .code = code, .how = how };
	int refused = rlk_lock_refuses(lock, reterr);
	struct rowlock_run mine;

	if (!refused)
		refused = read_run_of(lock, run, "end", &mine, reterr);
	if (!refused &&
	    (!mine.id || !mine.attempt || how > ROWLOCK_ONCE_NOT_STARTED))
		refused = fail(lock, "end", ROWLOCK_EINVAL,
			       "the run was not begun, or there is no such "
			       "end; give the run as its begin has "
			       "left it",
			       reterr);
	if (refused)
		return refused;
	rlk_lock_enter(lock);
	refused = end_run(lock, &mine, &ending, reterr);
	rlk_lock_leave(lock);
	return refused;
}

/* ---------------------------------------------------------------- execute */

/* May a later try note it, or find out? */
static bool passes(const struct rowlock *lock, int code,
		   enum rowlock_once_outcome how)
{
	if (code == ROWLOCK_ECONNECT || code == ROWLOCK_EREADONLY)
		return rowlock_held(lock);
	return code == ROWLOCK_EUNKNOWN && how == ROWLOCK_ONCE_SUCCEEDED;
}

/* Note the end. @fn may have left levels of the hold. */
static int end_surely(struct rowlock *lock, const struct rowlock_run *run,
		      int result, struct rowlock_errinfo *reterr)
{
	const struct rowlock_client *client = lock->name->client;
	int64_t until = rlk_after(rlk_now(client->clock), client->ttl_ms);
	enum rowlock_once_outcome how =
	    result ? ROWLOCK_ONCE_FAILED : ROWLOCK_ONCE_SUCCEEDED;
	_cleanup_(rlk_sleeper_fini) struct rlk_sleeper sleeper =
	    RLK_SLEEPER_NULL;
	bool sleeps = rlk_sleeper_init(&sleeper, client->clock) == 0;
	int code;

	for (;;) {
		int64_t now = rlk_now(client->clock);

		code = rowlock_once_end(lock, run, result, how, reterr);
		if (code == ROWLOCK_EHELD && rowlock_depth(lock) > 1 &&
		    rowlock_release(lock, NULL) == 0)
			continue;
		if (!passes(lock, code, how) || now >= until || !sleeps)
			return code == ROWLOCK_EDONE ? 0 : code;
		rlk_sleeper_wait(&sleeper, rlk_after(now, PAUSE_MS), -1);
	}
}

int rowlock_execute_once(struct rowlock_client *client, const char *name,
			 const struct rowlock_options *options,
			 const struct rowlock_run *window, uint64_t wait_ms,
			 rowlock_run_fn fn, void *arg,
			 struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock_run run;
	struct rowlock *lock;
	int code;

	if (!fn)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"execute '%s': give a function",
				rlk_text_shown(name).text);
	code = read_run(window, &run, reterr);
	if (code) {
		rlk_prefix(reterr, "execute '%s': ", rlk_text_shown(name).text);
		return code;
	}
	code = rowlock_new(client, name, options, &lock, reterr);
	if (code)
		return code;
	code = rowlock_acquire(lock, wait_ms, reterr);
	if (!code)
		code = rowlock_once_begin(lock, &run, reterr);
	if (!code)
		code = end_surely(lock, &run, fn(lock, arg), reterr);
	rowlock_free(lock);
	return code;
}
