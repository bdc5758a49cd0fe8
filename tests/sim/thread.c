/* SPDX-License-Identifier: MIT */
/*
 * A thread of an application: locks names, and does what one can do with a
 * hold. Every code that a call returns must be one that its comment in
 * rowlock.h allows.
 */
#include <rowlock/multilock.h>

#include <string.h>

#include "app_private.h"
#include "judge.h"
#include "proc.h"
#include "sim.h"
#include "trace.h"
#include "world.h"

/* ------------------------------------------------------------- handles */

static bool may_be_lost(const struct sim_thread *thread)
{
	const struct sim_handle *left = thread->leaves;

	return !sim_world.calm ||
	       (left && !(left->flags & ROWLOCK_OWNER_HANDLE));
}

/* It may be acquired meanwhile, and is not held until that is over. */
static void ask_held(struct rowlock *lock)
{
	uint64_t grant = lock->shown ? sim_judge_grant(lock) : 0;
	bool held = rowlock_held(lock);

	if (grant && sim_judge_grant(lock) == grant)
		sim_judge_held(lock, held);
}

void sim_thread_lost(struct rowlock *lock, void *arg)
{
	struct sim_thread *thread = arg;

	sim_trace(
	    (struct sim_note){ "%u.%u lost serial=%u",
			       { sim_self->proc->number, thread->fiber->number,
				 thread->serial } });
	if (!may_be_lost(thread) &&
	    !(sim_world.adopts &&
	      strstr(rowlock_lost_reason(lock), "exported and adopted")))
		sim_violation("'%s' is lost in a calm world",
			      rowlock_name(lock));
	sim_judge_told(lock);
	if (sim_below(4) == 0)
		ask_held(lock);
}

/* In the other order. */
static int make_set(struct rowlock_client *client, struct sim_handle *handle,
		    const struct rowlock_options *options,
		    struct rowlock_errinfo *reterr)
{
	const char *names[SIM_NAMES];
	size_t count = 0;

	for (unsigned int name = SIM_NAMES; name-- > 0;)
		if (handle->names & 1u << name)
			names[count++] = sim_names[name];
	return rowlock_multilock_new(client, names, count, options,
				     &handle->lock, reterr);
}

static void make(struct sim_thread *thread, struct sim_handle *handle)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_errinfo error;

	options.strategy = handle->row ? ROWLOCK_ROW : ROWLOCK_LEASE;
	options.flags = 0;
	for (unsigned int flag = 1; flag <= ROWLOCK_TOKEN_WITH_GRANT; flag *= 2)
		if (sim_below(4) == 0)
			options.flags |= flag;
	if (!sim_world.calm && sim_below(sim_world.guards ? 2 : 6) == 0)
		options.max_hold_ms =
		    (uint64_t) sim_between(1000, SIM_MAXIMUM_MS);
	if (!handle->row && !handle->names && sim_world.keeps &&
	    sim_below(4) == 0) {
		options.max_hold_ms = 0;
		if (sim_below(2))
			options.at_least_ms =
			    (uint64_t) sim_between(1, SIM_KEPT_MS);
		else
			options.delay_after_loss_ms =
			    (uint64_t) sim_between(1, SIM_KEPT_MS);
	}
	if (sim_below(8) == 0)
		options.info = sim_below(2) ? "night" : "day";
	if (handle->names)
		options.flags = ROWLOCK_OWNER_HANDLE | ROWLOCK_NOT_REENTRANT;
	handle->flags = options.flags;
	if (handle->names
		? make_set(thread->app->client, handle, &options, &error)
		: rowlock_new(thread->app->client, sim_names[handle->name],
			      &options, &handle->lock, &error))
		sim_violation("no handle: %s", error.message);
	rowlock_on_lost(handle->lock, sim_thread_lost, thread);
}

void sim_thread_free_lock(struct rowlock **lock)
{
	struct rowlock_errinfo error;

	if (*lock && rowlock_try_free(*lock, &error))
		sim_violation("a handle cannot be freed: %s", error.message);
	sim_judge_freed(*lock);
	*lock = NULL;
}

void sim_thread_give_back(struct sim_handle *handle)
{
	if (handle->reader)
		handle->lock = NULL; /* one of the two */
	sim_thread_free_lock(&handle->lock);
	sim_thread_free_lock(&handle->reader);
	sim_thread_free_lock(&handle->writer);
	handle->cancels = 0;
}

/* @handle, for @name: now and then a new one. */
static struct sim_handle *renew(struct sim_thread *thread,
				struct sim_handle *handle, unsigned int name,
				sim_make_fn *make_it)
{
	handle->name = name;
	if ((handle->lock || handle->reader) && !handle->canceling &&
	    sim_below(64) == 0)
		sim_thread_give_back(handle);
	if (!handle->lock && !handle->reader)
		make_it(thread, handle);
	return handle;
}

struct sim_handle *sim_thread_handle(struct sim_thread *thread,
				     struct sim_handle *handles,
				     sim_make_fn *make_it)
{
	unsigned int name = (unsigned int) sim_below(sim_world.names);

	return renew(thread, &handles[name], name, make_it);
}

/* Some of the names, for as long as the handle is there. */
static struct sim_handle *set_for(struct sim_thread *thread)
{
	struct sim_handle *handle = &thread->sets[sim_below(SIM_SETS)];

	if (handle->lock && !handle->canceling && sim_below(16) == 0)
		sim_thread_give_back(handle);
	if (handle->lock)
		return handle;
	handle->names = 0;
	for (int i = 0; i < 3; i++)
		handle->names |= 1u << sim_below(sim_world.names);
	handle->name = (unsigned int) __builtin_ctz(handle->names);
	make(thread, handle);
	return handle;
}

static struct sim_handle *handle_for(struct sim_thread *thread)
{
	bool row = sim_world.row && (!sim_world.lease || sim_below(2));
	unsigned int name = (unsigned int) sim_below(sim_world.names);
	struct sim_handle *handle;

	if (!row && sim_world.sets && sim_below(2))
		return set_for(thread);
	if (!row && sim_world.adopts)
		name = sim_adopter_name(name);
	handle = &thread->handles[row][name];
	handle->row = row;
	return renew(thread, handle, name, make);
}

void sim_thread_free(struct sim_thread *thread)
{
	for (int row = 0; row < 2; row++)
		for (int name = 0; name < SIM_NAMES; name++)
			sim_thread_give_back(&thread->handles[row][name]);
	for (int i = 0; i < SIM_SETS; i++)
		sim_thread_give_back(&thread->sets[i]);
	sim_rwlocks_free(thread);
	sim_semaphores_free(thread);
	sim_insides_free(thread);
	sim_election_free(thread);
	sim_borrowed_close(&thread->own);
	memset(thread, 0, sizeof(*thread));
}

/* ----------------------------------------------------------- its calls */

/* The codes that come from the server or the way there. */
static bool is_trouble(int code)
{
	return code == ROWLOCK_EDB || code == ROWLOCK_ECONNECT ||
	       code == ROWLOCK_EREADONLY || code == ROWLOCK_ESYSTEM;
}

void sim_app_expect(const char *call, int code, bool allowed)
{
	if (code == 0 || allowed || (is_trouble(code) && !sim_world.calm))
		return;
	sim_violation("%s returned %d (%s), which it may not", call, code,
		      rowlock_strerror(code));
}

/* The attempt whose row the server is asked to delete, as nobody of this client
 * goes on with it; 0 if it is not asked. */
static uint64_t attempt_to_delete(const struct rowlock *lock)
{
	const struct rlk_hold *hold = lock->hold;

	return hold && hold->depth == 1 && hold->state == RLK_HOLD_HELD &&
		       !lock->name->client->handover_passes
		   ? hold->attempt
		   : 0;
}

/* Released for good, the cycle is complete. */
static void release(struct sim_thread *thread, struct sim_handle *handle,
		    bool last)
{
	const uint64_t attempt = attempt_to_delete(handle->lock);
	/* A lease that is broken during the call was held until then. */
	const bool broken = attempt && sim_was_broken(attempt);
	struct sim_call call;
	int code;

	if (last)
		sim_judge_release(handle->lock);
	sim_trace((struct sim_note){ "release serial=%u", { thread->serial } });
	sim_call_begin(&call, "release", sim_world.call_ms);
	code = rowlock_release(handle->lock, NULL);
	sim_call_end(&call);
	sim_app_code(SIM_CALL_RELEASE, code);
	sim_trace(
	    (struct sim_note){ "released serial=%u code=%d",
			       { thread->serial, (uint64_t) (int64_t) code } });
	if (last)
		sim_judge_released(handle->lock, code);
	if (code == 0 && broken)
		sim_violation("S4: '%s' was broken, and its release says that "
			      "it was held",
			      rowlock_name(handle->lock));
	sim_app_expect("release", code,
		       (code == ROWLOCK_ELOST && may_be_lost(thread)) ||
			   (code == ROWLOCK_EUNKNOWN && !sim_world.calm));
}

void sim_thread_release(struct sim_thread *thread, struct sim_handle *handle)
{
	release(thread, handle, true);
}

uint64_t sim_thread_wait(void)
{
	uint64_t die = sim_below(100);

	if (die < 40)
		return 0;
	if (die < 85)
		return (uint64_t) sim_between(1, 300);
	if (die < 92)
		return (uint64_t) sim_between(1,
					      (int64_t) sim_world.ttl_ms * 2);
	return ROWLOCK_FOREVER;
}

void sim_thread_forget_cancels(struct sim_handle *handle)
{
	handle->cancels = handle->canceling;
}

void sim_thread_acquired(struct sim_handle *handle, uint64_t wait, int code)
{
	sim_app_code(SIM_CALL_ACQUIRE, code);
	if (code == 0 && handle->lock->has_keep)
		sim_judge_kept_from(handle->lock, handle->name);
	sim_app_expect("acquire", code,
		       (code == ROWLOCK_EBUSY && wait == 0) ||
			   (code == ROWLOCK_ETIMEDOUT && wait &&
			    wait != ROWLOCK_FOREVER) ||
			   (code == ROWLOCK_ECANCELED && handle->cancels) ||
			   (code == ROWLOCK_ELOST && !sim_world.calm &&
			    handle->flags & ROWLOCK_TOKEN_WITH_GRANT));
	sim_thread_forget_cancels(handle);
}

void sim_thread_asks(struct sim_thread *thread, struct sim_handle *handle,
		     struct sim_call *call, const char *what, uint64_t wait)
{
	sim_publish(thread);
	thread->waits = handle;
	sim_judge_acquire(handle->lock,
			  handle->names ? handle->names : 1u << handle->name);
	sim_call_begin(call, what, wait ? wait : sim_world.call_ms);
}

void sim_thread_asked(struct sim_thread *thread, struct sim_call *call)
{
	sim_call_end(call);
	thread->waits = NULL;
}

static int acquire(struct sim_thread *thread, struct sim_handle *handle)
{
	uint64_t wait = sim_thread_wait();
	struct sim_call call;
	int code;

	thread->serial++;
	sim_trace(
	    (struct sim_note){ "acquire serial=%u name=%n wait=%d strategy=%s",
			       { thread->serial, handle->name, wait,
				 sim_text(handle->row ? "row" : "lease") } });
	sim_thread_asks(thread, handle, &call, "acquire", wait);
	code = rowlock_acquire(handle->lock, wait, NULL);
	sim_thread_asked(thread, &call);
	sim_trace(
	    (struct sim_note){ "acquired serial=%u code=%d",
			       { thread->serial, (uint64_t) (int64_t) code } });
	sim_judge_acquired(handle->lock, code);
	sim_thread_acquired(handle, wait, code);
	return code;
}

/* A random one of its names. */
static unsigned int any_name(const struct sim_handle *handle)
{
	unsigned int name = handle->name;

	for (unsigned int i = name + 1; i < SIM_NAMES && sim_below(2); i++)
		if (handle->names & 1u << i)
			name = i;
	return name;
}

uint64_t sim_thread_token(struct sim_handle *handle)
{
	struct sim_call call;
	uint64_t token = 0;
	unsigned int name = any_name(handle);
	int code;

	sim_call_begin(&call, "token", sim_world.call_ms);
	code = handle->names ? rowlock_multilock_token(
				   handle->lock, sim_names[name], &token, NULL)
			     : rowlock_token(handle->lock, &token, NULL);
	sim_call_end(&call);
	sim_app_code(SIM_CALL_OTHER, code);
	sim_app_expect("token", code, code == ROWLOCK_ELOST && !sim_world.calm);
	sim_trace((struct sim_note){ "drew code=%d token=%u",
				     { (uint64_t) (int64_t) code, token } });
	if (code)
		return 0;
	sim_judge_token(handle->lock, name, token);
	return token;
}

void sim_thread_verify(struct sim_handle *handle)
{
	struct sim_call call;
	int code;

	sim_call_begin(&call, "verify", sim_world.call_ms);
	code = rowlock_verify(handle->lock, NULL);
	sim_call_end(&call);
	sim_app_code(SIM_CALL_OTHER, code);
	sim_app_expect("verify", code,
		       code == ROWLOCK_ELOST && !sim_world.calm);
}

/* The last hold of @handle is over without a release. */
void sim_thread_over(struct sim_handle *handle)
{
	int code = rowlock_release(handle->lock, NULL);

	if (rowlock_held(handle->lock) || code != ROWLOCK_ENOTHELD)
		sim_violation("'%s' is lost, and over: its release returned %d",
			      rowlock_name(handle->lock), code);
}

/* A lock that is not re-entrant: one that is lost is over, and acquired anew.
 */
static bool acquire_again(struct sim_handle *handle, uint64_t grant, int code)
{
	if (code == ROWLOCK_EDEADLOCK)
		return true;
	if (code == 0 && sim_judge_grant(handle->lock) == grant)
		sim_violation("a lock that is not reentrant was entered twice");
	if (sim_world.calm)
		sim_violation("'%s' is lost in a calm world",
			      rowlock_name(handle->lock));
	sim_judge_acquired(handle->lock, code);
	sim_thread_acquired(handle, 0, code);
	if (code)
		sim_thread_over(handle);
	return code == 0;
}

/* Once more, through the same handle. False: nothing is held any more. */
static bool reenter(struct sim_thread *thread, struct sim_handle *handle)
{
	uint64_t grant = sim_judge_grant(handle->lock);
	struct sim_call call;
	int code;

	sim_thread_asks(thread, handle, &call, "acquire again", 0);
	code = rowlock_acquire(handle->lock, 0, NULL);
	sim_thread_asked(thread, &call);
	sim_self->acquiring = NULL;
	if (handle->flags & ROWLOCK_NOT_REENTRANT)
		return acquire_again(handle, grant, code);
	sim_app_expect("acquire", code,
		       code == ROWLOCK_ELOST && !sim_world.calm);
	if (code == ROWLOCK_ELOST) {
		sim_judge_released(handle->lock, code);
		sim_thread_over(handle);
		return false;
	}
	if (code == 0 && sim_judge_grant(handle->lock) != grant)
		sim_violation("'%s' was lost, and is acquired anew untold",
			      rowlock_name(handle->lock));
	if (code == 0)
		release(thread, handle, false);
	return true;
}

void sim_thread_cancel(struct sim_thread *thread)
{
	struct sim_handle *handle = thread->waits;
	int found;

	if (!handle)
		return;
	sim_observe(thread);
	/* One that is late may find a later acquire; if it finds none it ends
	 * none. */
	handle->cancels++;
	handle->canceling++;
	found = rowlock_cancel(handle->lock);
	handle->canceling--;
	if (!found && handle->cancels > handle->canceling)
		handle->cancels--;
}

static void cancel_one(struct sim_thread *thread)
{
	struct sim_app *app = thread->app;

	sim_thread_cancel(&app->threads[sim_below(app->thread_count)]);
}

/* ------------------------------------------------------------ its life */

void sim_thread_rest(void)
{
	uint64_t die = sim_below(1000);

	if (die < 100)
		sim_sleep(sim_between(0, 3000));
	else if (die < 120)
		sim_sleep(sim_between(0, 50000));
	else if (die < 123)
		sim_sleep(sim_between(0, (int64_t) sim_world.ttl_ms * 2500));
}

bool sim_thread_hold(struct sim_thread *thread, struct sim_handle *handle)
{
	uint64_t die = sim_below(64);

	sim_thread_rest();
	/* One of its names may be broken, and the loss of all has to be known
	 * while somebody else has it. */
	if (handle->names && sim_world.breaks && sim_below(64) == 0)
		sim_sleep(sim_between(0, (int64_t) sim_world.ttl_ms * 8000));
	if (die < 4)
		sim_thread_token(handle);
	else if (die < 6)
		sim_thread_verify(handle);
	else if (die < 8 && !reenter(thread, handle))
		return false;
	else if (die >= 8 && die < 12)
		sim_judge_held(handle->lock, rowlock_held(handle->lock));
	if (handle->flags & ROWLOCK_TOKEN_WITH_GRANT && sim_below(4) == 0)
		sim_thread_token(handle);
	if (sim_below(1024) == 0)
		sim_aside_fork(thread->app->client, handle->lock);
	return true;
}

/* False: it was given back by a transaction, or is over, as it was lost. */
static bool keep(struct sim_thread *thread, struct sim_handle *handle)
{
	struct sim_turn turn = { .unknown = false };

	if (sim_world.guards && !handle->row && !handle->names &&
	    sim_below(4)) {
		/* One after the other. */
		do {
			if (sim_guarded_play(thread, handle, &turn))
				return false;
		} while (!turn.over && sim_below(3) == 0);
		return true;
	}
	if (sim_world.runs && sim_below(sim_options.runs ? 2 : 24) == 0 &&
	    sim_job_may_run(handle) && sim_job_play(thread, handle))
		return false;
	if (sim_world.fences && !handle->names && sim_below(4) == 0)
		sim_fenced_play(thread, handle);
	if (sim_world.insides && handle->row && sim_below(64) == 0)
		sim_inside_again(thread, handle);
	return sim_thread_hold(thread, handle);
}

static void cycle(struct sim_thread *thread)
{
	struct sim_handle *handle;

	if (sim_world.rwlocks && sim_below(3) == 0) {
		sim_rwlock_cycle(thread);
		return;
	}
	if (sim_world.elections && sim_below(3) == 0) {
		sim_election_cycle(thread);
		return;
	}
	if (sim_world.semaphores && sim_below(3) == 0) {
		sim_semaphore_cycle(thread);
		return;
	}
	if (sim_world.insides && sim_below(3) == 0) {
		sim_inside_cycle(thread);
		return;
	}
	handle = handle_for(thread);
	if (!(sim_world.adopts && sim_adopter_takes(thread, handle)) &&
	    acquire(thread, handle)) {
		/* Nobody asks again and again without a rest. */
		sim_sleep(sim_between(0, 2000));
		return;
	}
	if (keep(thread, handle)) {
		if (sim_thread_leaves(thread, handle))
			return;
		if (!sim_world.adopts || !sim_adopter_gives(thread, handle))
			release(thread, handle, true);
	}
	sim_cycles++;
	sim_cycles_by[handle->row]++;
	sim_world.cycles++;
}

static void aside(struct sim_thread *thread)
{
	uint64_t die = sim_below(4096);

	if (sim_world.elections && sim_below(2) == 0)
		sim_election_ask(thread->app);
	if (die < 64)
		cancel_one(thread);
	else if (die < 96 && sim_world.breaks)
		sim_aside_break(thread->app->client);
	else if (die < 98 || (die >= 3840 && sim_world.days))
		sim_aside_reap(thread->app->client);
	else if (die < 230)
		sim_sleep(sim_between(0, 20000));
	else if (die < 232)
		sim_sleep(sim_between(0, (int64_t) sim_world.ttl_ms * 1500));
	else if (die < 264)
		sim_aside_execute(thread->app->client);
	else if (die < 266)
		sim_aside_list(thread->app->client);
}

void sim_thread_run(void *arg)
{
	struct sim_thread *thread = arg;

	while (!sim_app_leaves(thread->app) && !thread->leaves) {
		cycle(thread);
		if (!thread->leaves)
			aside(thread);
	}
}
