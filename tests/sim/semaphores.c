/* SPDX-License-Identifier: MIT */
/*
 * A thread that takes some permits of a semaphore, and gives them back.
 */
#include <rowlock/semaphore.h>

#include "app_private.h"
#include "hold/handle.h"
#include "judge.h"
#include "sim.h"
#include "trace.h"

static void make(struct sim_thread *thread, struct sim_handle *handle)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_errinfo error;

	if (!sim_world.calm && sim_below(6) == 0)
		options.max_hold_ms =
		    (uint64_t) sim_between(1000, SIM_MAXIMUM_MS);
	if (sim_below(8) == 0)
		options.info = sim_below(2) ? "night" : "day";
	handle->stored = sim_below(4) == 0;
	if (rowlock_semaphore_new(thread->app->client, sim_names[handle->name],
				  handle->stored
				      ? ROWLOCK_PERMITS_STORED
				      : sim_world.permits[handle->name],
				  &options, &handle->lock, &error))
		sim_violation("no semaphore: %s", error.message);
	handle->flags = handle->lock->flags;
	rowlock_on_lost(handle->lock, sim_thread_lost, thread);
}

void sim_semaphores_free(struct sim_thread *thread)
{
	for (int i = 0; i < SIM_NAMES; i++)
		sim_thread_give_back(&thread->semaphores[i]);
}

/* One, in most cases. */
static unsigned int how_many(const struct sim_handle *handle)
{
	unsigned int permits = sim_world.permits[handle->name];

	return sim_below(2) ? 1 : (unsigned int) sim_between(1, permits);
}

/* Who says another number than there is, or wants more, is told so. */
static bool may_disagree(const struct sim_handle *handle)
{
	return sim_world.resizes || handle->stored;
}

/* As many as were asked for, or none any more. */
static void check_held(const struct sim_handle *handle, unsigned int count)
{
	unsigned int held = rowlock_semaphore_held(handle->lock);

	if (held && held != count)
		sim_violation("%u permits of '%s' were acquired, and %u are "
			      "held",
			      count, sim_names[handle->name], held);
}

static int acquire(struct sim_thread *thread, struct sim_handle *handle)
{
	unsigned int count = how_many(handle);
	uint64_t wait = sim_thread_wait();
	struct sim_call call;
	int code;

	thread->serial++;
	sim_trace((struct sim_note){
	    "#thread %u of process %u: acquire permits name=%n count=%u "
	    "wait=%d",
	    { thread->fiber->number, sim_self->proc->number, handle->name,
	      count, wait } });
	sim_thread_asks(thread, handle, &call, "acquire permits", wait);
	/* A try is in nobody's way. */
	sim_self->acquiring_count = wait ? count : 0;
	code = rowlock_semaphore_acquire(handle->lock, count, wait, NULL);
	sim_thread_asked(thread, &call);
	sim_trace((struct sim_note){
	    "#thread %u of process %u: acquired permits name=%n code=%d",
	    { thread->fiber->number, sim_self->proc->number, handle->name,
	      (uint64_t) (int64_t) code } });
	sim_judge_acquired(handle->lock, code);
	if (!code)
		check_held(handle, count);
	if (code == ROWLOCK_EINVAL && may_disagree(handle))
		return sim_app_code(SIM_CALL_ACQUIRE, code);
	sim_thread_acquired(handle, wait, code);
	return code;
}

static void hold(struct sim_handle *handle)
{
	uint64_t die = sim_below(64);

	sim_thread_rest();
	if (die < 4)
		sim_thread_verify(handle);
	else if (die < 8)
		sim_judge_held(handle->lock, rowlock_held(handle->lock));
}

static void resize(struct sim_thread *thread)
{
	unsigned int name = (unsigned int) sim_below(sim_world.names);
	struct sim_call call;
	int code;

	/* As it was at first, now and then. */
	sim_call_begin(&call, "resize", sim_world.call_ms);
	code = rowlock_semaphore_resize(
	    thread->app->client, sim_names[name],
	    sim_below(2) ? sim_world.permits[name]
			 : (unsigned int) sim_between(1, SIM_PERMITS_MOST),
	    NULL);
	sim_call_end(&call);
	sim_app_code(SIM_CALL_OTHER, code);
	sim_app_expect("resize", code, false);
}

void sim_semaphore_cycle(struct sim_thread *thread)
{
	struct sim_handle *handle =
	    sim_thread_handle(thread, thread->semaphores, make);

	if (sim_world.resizes && sim_below(256) == 0)
		resize(thread);
	if (acquire(thread, handle)) {
		sim_sleep(sim_between(0, 2000));
		return;
	}
	hold(handle);
	sim_thread_release(thread, handle);
	sim_cycles++;
	sim_cycles_by[0]++;
	sim_world.cycles++;
}
