/* SPDX-License-Identifier: MIT */
/*
 * A thread that reads or writes, and goes from the one to the other. It has
 * both sides of a read/write lock for each name.
 */
#include <rowlock/rwlock.h>

#include "app_private.h"
#include "hold/handle.h"
#include "judge.h"
#include "sim.h"
#include "trace.h"

static void make(struct sim_thread *thread, struct sim_handle *handle)
{
	struct rowlock_errinfo error;

	if (rowlock_rwlock_new(thread->app->client, sim_names[handle->name],
			       NULL, &handle->reader, &handle->writer, &error))
		sim_violation("no read/write lock: %s", error.message);
	rowlock_on_lost(handle->reader, sim_thread_lost, thread);
	rowlock_on_lost(handle->writer, sim_thread_lost, thread);
}

void sim_rwlocks_free(struct sim_thread *thread)
{
	for (int i = 0; i < SIM_NAMES; i++)
		sim_thread_give_back(&thread->rwlocks[i]);
}

/* From now on a cancel of @handle hits @side. */
static void use(struct sim_handle *handle, struct rowlock *side)
{
	handle->lock = side;
	handle->flags = side->flags;
}

static void trace(const struct sim_thread *thread,
		  const struct sim_handle *handle, const char *what,
		  int64_t number)
{
	sim_trace((struct sim_note){
	    "#thread %u of process %u: %s name=%n side=%s %d",
	    { thread->fiber->number, sim_self->proc->number, sim_text(what),
	      handle->name,
	      sim_text(handle->lock == handle->reader ? "reader" : "writer"),
	      (uint64_t) number } });
}

static int acquire(struct sim_thread *thread, struct sim_handle *handle,
		   struct rowlock *side)
{
	uint64_t wait = sim_thread_wait();
	struct sim_call call;
	int code;

	use(handle, side);
	trace(thread, handle, "acquire", (int64_t) wait);
	sim_thread_asks(thread, handle, &call, "acquire a side", wait);
	code = rowlock_acquire(side, wait, NULL);
	sim_thread_asked(thread, &call);
	trace(thread, handle, "acquired", code);
	sim_judge_acquired(side, code);
	sim_thread_acquired(handle, wait, code);
	return code;
}

/* From @from to the other side, with @code. False: neither is held. */
static bool change(struct sim_handle *handle, struct rowlock *from, int code)
{
	struct rowlock *to =
	    from == handle->reader ? handle->writer : handle->reader;

	sim_judge_acquired(to, code);
	sim_judge_yields(from, false);
	if (code == 0 || code == ROWLOCK_ELOST)
		sim_judge_released(from, code);
	use(handle, code == 0 ? to : from);
	if (code != ROWLOCK_ELOST)
		return true;
	for (int i = 0; i < 2; i++) {
		use(handle, i ? handle->reader : handle->writer);
		sim_thread_over(handle);
	}
	return false;
}

static bool go_up(struct sim_thread *thread, struct sim_handle *handle)
{
	uint64_t wait = sim_thread_wait();
	struct sim_call call;
	int code;

	use(handle, handle->writer);
	trace(thread, handle, "upgrade", (int64_t) wait);
	sim_judge_yields(handle->reader, true);
	/* And then the reader's row is given back. */
	sim_thread_asks(thread, handle, &call, "upgrade",
			wait == ROWLOCK_FOREVER
			    ? wait
			    : (wait ? wait : sim_world.call_ms) +
				  sim_world.call_ms);
	code = rowlock_rwlock_upgrade(handle->reader, wait, NULL);
	sim_thread_asked(thread, &call);
	trace(thread, handle, "upgraded", code);
	/* Where another writer waits for it, it is refused at once. */
	if (code == ROWLOCK_EBUSY || (code == ROWLOCK_ELOST && !sim_world.calm))
		sim_app_code(SIM_CALL_ACQUIRE, code);
	else
		sim_thread_acquired(handle, wait, code);
	return change(handle, handle->reader, code);
}

static bool go_down(struct sim_thread *thread, struct sim_handle *handle)
{
	struct sim_call call;
	int code;

	trace(thread, handle, "downgrade", 0);
	sim_judge_yields(handle->writer, true);
	sim_judge_acquire(handle->reader, 1u << handle->name);
	sim_call_begin(&call, "downgrade", 2 * sim_world.call_ms);
	code = rowlock_rwlock_downgrade(handle->writer, NULL);
	sim_call_end(&call);
	trace(thread, handle, "downgraded", code);
	sim_app_code(SIM_CALL_ACQUIRE, code);
	sim_app_expect("downgrade", code,
		       !sim_world.calm && code == ROWLOCK_ELOST);
	return change(handle, handle->writer, code);
}

/* Hold it, and now and then the other side after it. False: it was lost, and is
 * over. */
static bool hold(struct sim_thread *thread, struct sim_handle *handle)
{
	bool reads = handle->lock == handle->reader;

	if (!sim_thread_hold(thread, handle))
		return false;
	if (sim_below(8))
		return true;
	return (reads ? go_up(thread, handle) : go_down(thread, handle)) &&
	       sim_thread_hold(thread, handle);
}

void sim_rwlock_cycle(struct sim_thread *thread)
{
	struct sim_handle *handle =
	    sim_thread_handle(thread, thread->rwlocks, make);
	bool reads = sim_below(4) > 0;

	thread->serial++;
	if (acquire(thread, handle, reads ? handle->reader : handle->writer)) {
		sim_sleep(sim_between(0, 2000));
		return;
	}
	if (hold(thread, handle))
		sim_thread_release(thread, handle);
	sim_cycles++;
	sim_cycles_by[0]++;
	sim_world.cycles++;
}
