/* SPDX-License-Identifier: MIT */
/*
 * A thread that stands for election, by the recipe's own calls. Others ask
 * meanwhile whether it leads, and in which term. A name is one lock, whether it
 * is led or locked.
 */
#include <rowlock/election.h>

#include "app_private.h"
#include "hold/handle.h"
#include "judge.h"
#include "sim.h"
#include "trace.h"

static void make(struct sim_thread *thread, struct sim_handle *handle)
{
	struct rowlock_election_options options =
	    ROWLOCK_ELECTION_OPTIONS_DEFAULT;
	struct rowlock_options lock = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_errinfo error;

	if (sim_below(8) == 0)
		lock.info = sim_below(2) ? "night" : "day";
	options.lock_options = &lock;
	if (sim_below(2))
		options.weight = 1 + (unsigned int) sim_below(4);
	options.yield_ms = (uint64_t) sim_between(1, 2000);
	if (rowlock_election_new(thread->app->client, sim_names[handle->name],
				 &options, &handle->lock, &error))
		sim_violation("no candidate: %s", error.message);
	handle->flags = handle->lock->flags;
	rowlock_on_lost(handle->lock, sim_thread_lost, thread);
	sim_publish(handle->lock);
}

static void give_back(struct sim_candidate *candidate)
{
	struct rowlock *lock = TAKE_PTR(candidate->handle.lock);

	if (!lock)
		return;
	while (candidate->asked)
		sim_sleep(1000);
	sim_observe(lock);
	sim_judge_released(lock, 0);
	sim_thread_free_lock(&lock);
	*candidate = (struct sim_candidate){ 0 };
}

void sim_election_free(struct sim_thread *thread)
{
	give_back(&thread->candidate);
}

static struct sim_candidate *candidate_of(struct sim_thread *thread)
{
	struct sim_candidate *candidate = &thread->candidate;

	if (candidate->handle.lock && !candidate->handle.canceling &&
	    sim_below(64) == 0)
		give_back(candidate);
	if (!candidate->handle.lock) {
		candidate->handle.name =
		    (unsigned int) sim_below(sim_world.names);
		make(thread, &candidate->handle);
	}
	return candidate;
}

/* ------------------------------------------------------------- questions */

/* What it says was true at some instant while it was asked. */
static void ask(struct sim_candidate *candidate)
{
	struct rowlock *lock = candidate->handle.lock;
	unsigned int name = candidate->handle.name;
	uint64_t grant = sim_judge_grant(lock);
	uint64_t term = 0;
	int code;

	candidate->asked++;
	sim_observe(lock);
	code = rowlock_token(lock, &term, NULL);
	sim_publish(lock);
	candidate->asked--;
	/* No statement that may fail is made for it. */
	if (code && code != ROWLOCK_ELOST && code != ROWLOCK_ENOTHELD)
		sim_violation("the term of '%s' was asked for: %d",
			      sim_names[name], code);
	if (term && grant && sim_judge_grant(lock) == grant)
		sim_judge_token(lock, name, term);
}

void sim_election_ask(struct sim_app *app)
{
	struct sim_thread *thread = &app->threads[sim_below(app->thread_count)];

	if (!thread->candidate.handle.lock)
		return;
	sim_observe(thread);
	ask(&thread->candidate);
}

static void ask_for_challengers(struct sim_candidate *candidate)
{
	struct sim_call call;
	unsigned int weight;
	uint64_t stood_ms;
	int code;

	sim_call_begin(&call, "challenger", sim_world.call_ms);
	code = rowlock_election_challenger(candidate->handle.lock, &weight,
					   &stood_ms, NULL);
	sim_call_end(&call);
	sim_app_code(SIM_CALL_OTHER, code);
	sim_app_expect("challenger", code, false);
}

static void lead(struct sim_candidate *candidate)
{
	struct rowlock *lock = candidate->handle.lock;
	uint64_t die = sim_below(64);

	sim_thread_rest();
	if (die < 4)
		sim_thread_verify(&candidate->handle);
	else if (die < 8)
		ask_for_challengers(candidate);
	else if (die < 16)
		sim_judge_held(lock, rowlock_held(lock));
	ask(candidate);
}

/* ----------------------------------------------------------------- cycle */

static int campaign(struct sim_thread *thread, struct sim_candidate *candidate)
{
	struct sim_handle *handle = &candidate->handle;
	uint64_t wait = sim_thread_wait();
	struct sim_call call;
	int code;

	sim_trace((struct sim_note){
	    "#thread %u of process %u: campaign name=%n wait=%d",
	    { thread->fiber->number, sim_self->proc->number, handle->name,
	      wait } });
	sim_thread_asks(thread, handle, &call, "campaign", wait);
	code = rowlock_acquire(handle->lock, wait, NULL);
	sim_thread_asked(thread, &call);
	sim_trace((struct sim_note){
	    "#thread %u of process %u: campaigned name=%n code=%d",
	    { thread->fiber->number, sim_self->proc->number, handle->name,
	      (uint64_t) (int64_t) code } });
	sim_judge_acquired(handle->lock, code);
	sim_thread_acquired(handle, wait, code);
	return code;
}

/* One that has lost is no leader until it stands again, and needs not resign.
 */
static bool stays(struct sim_candidate *candidate)
{
	return !rowlock_held(candidate->handle.lock) && sim_below(2);
}

static void resign(struct sim_thread *thread, struct sim_candidate *candidate)
{
	struct sim_handle *handle = &candidate->handle;
	struct sim_call call;
	int code;

	sim_judge_release(handle->lock);
	sim_call_begin(&call, "resign", sim_world.call_ms);
	code = rowlock_release(handle->lock, NULL);
	sim_call_end(&call);
	sim_app_code(SIM_CALL_RELEASE, code);
	sim_trace((struct sim_note){
	    "#thread %u of process %u: resigned name=%n code=%d",
	    { thread->fiber->number, sim_self->proc->number, handle->name,
	      (uint64_t) (int64_t) code } });
	sim_judge_released(handle->lock, code);
	sim_app_expect("resign", code,
		       (code == ROWLOCK_ELOST || code == ROWLOCK_EUNKNOWN) &&
			   !sim_world.calm);
}

void sim_election_cycle(struct sim_thread *thread)
{
	struct sim_candidate *candidate = candidate_of(thread);

	thread->serial++;
	if (campaign(thread, candidate)) {
		sim_sleep(sim_between(0, 2000));
		return;
	}
	lead(candidate);
	if (!stays(candidate))
		resign(thread, candidate);
	sim_cycles++;
	sim_cycles_by[0]++;
	sim_world.cycles++;
}
