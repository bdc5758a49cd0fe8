/* SPDX-License-Identifier: MIT */
/*
 * A thread that ends while it holds. What it held is lost, and others have it
 * at once; what its handle held is there, and released by another thread.
 */
#include "app_private.h"

#include "hold/handle.h"
#include "judge.h"
#include "sim.h"
#include "trace.h"

/* In a calm world: by then the chores have removed its row. */
#define REMOVED_US 500000

bool sim_thread_leaves(struct sim_thread *thread, struct sim_handle *handle)
{
	if (sim_below(512))
		return false;
	sim_trace((struct sim_note){ "#ends while it holds serial=%u",
				     { thread->serial } });
	thread->leaves = handle;
	return true;
}

/* A loss is to delay the next holder. */
static bool delays(const struct rowlock *lock)
{
	return lock->has_keep && rlk_lock_keep_times(lock).delay_ms;
}

static void await_removal(const struct sim_handle *handle, uint64_t attempt)
{
	const struct sim_lease *lease = &sim_tables.leases[handle->name];
	int64_t until = sim_now + REMOVED_US;

	while (lease->there && lease->attempt == attempt) {
		if (sim_now > until)
			sim_violation("L1: a thread that held '%s' has ended, "
				      "and its row stays",
				      sim_names[handle->name]);
		sim_sleep(1000);
	}
}

void sim_thread_left(struct sim_thread *thread)
{
	struct sim_handle *handle = thread->leaves;
	const struct rlk_hold *hold = handle->lock->hold;

	if (handle->flags & ROWLOCK_OWNER_HANDLE) {
		sim_judge_held(handle->lock, rowlock_held(handle->lock));
		sim_thread_release(thread, handle);
		return;
	}
	if (rowlock_held(handle->lock))
		sim_violation("'%s' is held by a thread that has ended",
			      sim_names[handle->name]);
	if (sim_world.calm && !handle->row && !delays(handle->lock))
		await_removal(handle, hold->attempt);
	/* What was lost by another cause before is still the thread's. */
	if (hold->owner == RLK_OWNER_NOBODY && sim_below(2))
		sim_thread_release(thread, handle);
	else
		sim_judge_released(handle->lock, 0);
}
