/* SPDX-License-Identifier: MIT */
/*
 * A thread that reads or writes, and goes from the one to the other. It has
 * both sides of a read/write lock for each name.
 */
#include "app_private.h"

#include "hold/handle.h"
#include "judge.h"
#include "recipe/writer.h"
#include "sim.h"
#include "trace.h"

static void make(struct sim_thread *thread, struct sim_handle *handle)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_client *client = thread->app->client;
	const char *name = sim_names[handle->name];
	struct rowlock_errinfo error;

	options.flags = ROWLOCK_OWNER_HANDLE;
	if (rlk_reader_new(client, name, &options, &handle->reader, &error))
		sim_violation("no reader: %s", error.message);
	options.flags |= ROWLOCK_NOT_REENTRANT;
	if (rlk_writer_new(client, name, &options, &handle->writer, &error))
		sim_violation("no writer: %s", error.message);
	rowlock_on_lost(handle->reader, sim_thread_lost, thread);
	rowlock_on_lost(handle->writer, sim_thread_lost, thread);
}

void sim_rwlocks_free(struct sim_thread *thread)
{
	for (int i = 0; i < SIM_NAMES; i++)
		sim_thread_give_back(&thread->rwlocks[i]);
}

/* One side; @reader: a side that it has already. Who cancels it hits this one.
 */
static int acquire(struct sim_thread *thread, struct sim_handle *handle,
		   struct rowlock *side, struct rowlock *reader)
{
	uint64_t wait = sim_thread_wait();
	struct sim_call call;
	int code;

	handle->lock = side;
	handle->flags = side->flags;
	sim_trace((struct sim_note){
	    "#thread %u of process %u: acquire name=%n wait=%d side=%s",
	    { thread->fiber->number, sim_self->proc->number, handle->name, wait,
	      sim_text(side == handle->reader ? "reader" : "writer") } });
	sim_thread_asks(thread, handle, &call, "acquire a side", wait);
	code = side == handle->reader
		   ? rowlock_acquire(side, wait, NULL)
		   : rlk_writer_acquire(side, reader, wait, NULL);
	sim_thread_asked(thread, &call);
	sim_trace((struct sim_note){
	    "#thread %u of process %u: acquired name=%n code=%d",
	    { thread->fiber->number, sim_self->proc->number, handle->name,
	      (uint64_t) (int64_t) code } });
	sim_judge_acquired(side, code);
	/* Where another writer waits for it, it is refused at once. */
	if (reader && (code == ROWLOCK_EBUSY ||
		       (code == ROWLOCK_ELOST && !sim_world.calm)))
		return code;
	sim_thread_acquired(handle, wait, code);
	return code;
}

static void go_up(struct sim_thread *thread, struct sim_handle *handle)
{
	int code = acquire(thread, handle, handle->writer, handle->reader);

	handle->lock = handle->reader;
	handle->flags = handle->reader->flags;
	if (code)
		return;
	sim_thread_release(thread, handle);
	handle->lock = handle->writer;
	handle->flags = handle->writer->flags;
}

static void go_down(struct sim_thread *thread, struct sim_handle *handle)
{
	struct sim_call call;
	int code;

	sim_judge_yields(handle->writer, true);
	sim_judge_acquire(handle->reader, 1u << handle->name);
	/* Not answered, it asks whether the writer goes on. */
	sim_call_begin(&call, "downgrade", 2 * sim_world.call_ms);
	code = rlk_reader_acquire_under(handle->reader, handle->writer, NULL);
	sim_call_end(&call);
	sim_judge_acquired(handle->reader, code);
	sim_app_code(SIM_CALL_ACQUIRE, code);
	sim_app_expect("downgrade", code,
		       !sim_world.calm && code == ROWLOCK_ELOST);
	sim_judge_yields(handle->writer, !code);
	if (code)
		return;
	sim_thread_release(thread, handle);
	handle->lock = handle->reader;
	handle->flags = handle->reader->flags;
}

void sim_rwlock_cycle(struct sim_thread *thread)
{
	struct sim_handle *handle =
	    sim_thread_handle(thread, thread->rwlocks, make);
	bool reads = sim_below(4) > 0;

	thread->serial++;
	if (acquire(thread, handle, reads ? handle->reader : handle->writer,
		    NULL)) {
		sim_sleep(sim_between(0, 2000));
		return;
	}
	sim_thread_hold(thread, handle);
	if (sim_below(8) == 0) {
		if (reads)
			go_up(thread, handle);
		else
			go_down(thread, handle);
		sim_thread_hold(thread, handle);
	}
	sim_thread_release(thread, handle);
	sim_cycles++;
	sim_cycles_by[0]++;
	sim_world.cycles++;
}
