/* SPDX-License-Identifier: MIT */
/*
 * A thread that runs a job under the lease that it holds, once per window of
 * the server's time: it begins a run, works, and ends it, as one that has
 * succeeded, has failed or was not started; or leaves it, as if it had died. An
 * end without an answer is asked for again, or given up.
 */
#include <rowlock/once.h>

#include "app_private.h"
#include "judge.h"
#include "proc.h"
#include "runs.h"
#include "trace.h"

/* Room for those that are under way. */
#define RUNS_MOST (SIM_RUNS - 128)

struct play {
	struct rowlock *lock;
	unsigned int name;
	struct rowlock_run run;
};

bool sim_job_may_run(const struct sim_handle *handle)
{
	unsigned int count;

	sim_runs_of(handle->name, &count);
	return !handle->row && !handle->names && !handle->lock->has_keep &&
	       !handle->lock->max_hold_ms && count < RUNS_MOST;
}

/* The server's clock, as the application knows it. */
static int64_t server_us(const struct sim_thread *thread)
{
	int64_t now_us = sim_server_us();
	struct sim_call call;
	int code;

	if (sim_below(8))
		return now_us;
	sim_call_begin(&call, "server_time", sim_world.call_ms);
	code = rowlock_server_time(thread->app->client, &now_us, NULL);
	sim_call_end(&call);
	sim_app_expect("server_time", code, false);
	return now_us;
}

/* One of the two lengths that there are; now and then the one before or behind
 * it. */
static struct rowlock_run draw_window(const struct sim_thread *thread)
{
	int64_t us = sim_world.window_us * (sim_below(4) ? 1 : 3);
	int64_t now_us = server_us(thread);
	struct rowlock_run run = { .size = sizeof(run) };

	run.from_us = now_us - now_us % us;
	if (sim_below(16) == 0)
		run.from_us += sim_below(2) ? us : -us;
	run.until_us = run.from_us + us;
	run.most = sim_below(3) ? 0 : (uint64_t) sim_between(1, 3);
	run.keep = sim_below(2) ? 0 : (uint64_t) sim_between(1, 3);
	return run;
}

static int begin(struct play *play)
{
	struct sim_claiming claiming = {
		.name = play->name,
		.from_us = play->run.from_us,
		.until_us = play->run.until_us,
		.most = play->run.most,
	};
	uint64_t id = play->run.id;
	struct sim_call call;
	int code;

	sim_judge_claims(&claiming);
	sim_call_begin(&call, "once_begin", 2 * sim_world.call_ms);
	code = rowlock_once_begin(play->lock, &play->run, NULL);
	/* The second half is to undo a run whose hold was lost. */
	if (code != ROWLOCK_ELOST)
		call.until_ms -= (int64_t) sim_world.call_ms;
	sim_call_end(&call);
	sim_trace((struct sim_note){
	    "#once begin name=%n code=%d run=%u",
	    { play->name, (uint64_t) (int64_t) code, play->run.id } });
	sim_app_code(SIM_CALL_ONCE_BEGIN, code);
	sim_app_expect("once_begin", code,
		       code == ROWLOCK_EDONE || code == ROWLOCK_EOVER ||
			   (code == ROWLOCK_ELOST && !sim_world.calm));
	if (id && play->run.id != id)
		sim_violation("R3: a claim of '%s' that was not answered "
			      "counts, and so does the next",
			      sim_names[play->name]);
	sim_judge_claimed(&claiming, play->run.id, code);
	return code;
}

/* As a failed call has left it. */
static bool begin_surely(struct play *play)
{
	for (;;) {
		int code = begin(play);

		if (!code)
			return true;
		if (code == ROWLOCK_EDONE || code == ROWLOCK_EOVER ||
		    code == ROWLOCK_ELOST || sim_below(2))
			return false;
	}
}

static void work(void)
{
	sim_thread_rest();
	if (sim_below(32) == 0)
		sim_sleep(sim_between(0, (int64_t) sim_world.ttl_ms * 2000));
}

/* Does @code leave the lock as it was? */
static bool is_open(enum rowlock_once_outcome how, int code)
{
	return how == ROWLOCK_ONCE_SUCCEEDED && code && code != ROWLOCK_ELOST;
}

static int end(struct play *play, enum rowlock_once_outcome how)
{
	bool succeeded = how == ROWLOCK_ONCE_SUCCEEDED;
	struct sim_call call;
	int code;

	if (succeeded)
		sim_judge_gives(play->lock, true);
	else
		sim_judge_release(play->lock);
	sim_judge_run_ends(play->name, play->run.id);
	sim_trace((struct sim_note){ "#once end name=%n how=%u",
				     { play->name, how } });
	sim_call_begin(&call, "once_end", 2 * sim_world.call_ms);
	code = rowlock_once_end(play->lock, &play->run, 0, how, NULL);
	sim_call_end(&call);
	sim_trace(
	    (struct sim_note){ "#once ended name=%n code=%d",
			       { play->name, (uint64_t) (int64_t) code } });
	sim_app_code(SIM_CALL_ONCE_END, code);
	sim_judge_run_ended(play->name, play->run.id, succeeded, code);
	sim_app_expect(
	    "once_end", code,
	    (code == ROWLOCK_EDONE && !succeeded) ||
		((code == ROWLOCK_ELOST || code == ROWLOCK_EUNKNOWN) &&
		 !sim_world.calm));
	if (!is_open(how, code))
		sim_judge_released(play->lock, code);
	else if (code != ROWLOCK_EUNKNOWN)
		sim_judge_gives(play->lock, false);
	else if (rowlock_held(play->lock))
		sim_violation("S3: a hold goes on that the end of a run may "
			      "have given back");
	return code;
}

/* Until it is released, or is to be. */
static void end_surely(struct sim_thread *thread, struct sim_handle *handle,
		       struct play *play)
{
	uint64_t die = sim_below(16);
	enum rowlock_once_outcome how = ROWLOCK_ONCE_SUCCEEDED;
	bool unknown = false;

	if (die < 4)
		how = ROWLOCK_ONCE_FAILED;
	else if (die < 5)
		how = ROWLOCK_ONCE_NOT_STARTED;
	while (die) {
		int code = end(play, how);

		if (!is_open(how, code))
			return;
		unknown = unknown || code == ROWLOCK_EUNKNOWN;
		if (sim_below(4) == 0)
			break;
		/* It looks as if it had failed. */
		if (unknown && sim_below(8) == 0)
			how = ROWLOCK_ONCE_FAILED;
	}
	sim_thread_release(thread, handle);
}

bool sim_job_play(struct sim_thread *thread, struct sim_handle *handle)
{
	struct play play = {
		.lock = handle->lock,
		.name = handle->name,
		.run = draw_window(thread),
	};

	if (!begin_surely(&play))
		return false;
	work();
	end_surely(thread, handle, &play);
	return true;
}
