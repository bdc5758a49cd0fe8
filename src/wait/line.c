/* SPDX-License-Identifier: MIT */
/*
 * rowlock_acquire(): re-enter, or stand in the local line and, when first,
 * ask the server (asking.c).
 *
 * The line is one per name and client: first come, first served, whatever the
 * handles. Only its first waiter uses a connection, and only if the name is not
 * handed to it by its last owner here (handover.c); the others sleep, each on
 * its own condition, so that one wake wakes one thread.
 */
#include "wait/line.h"

#include "base/error.h"
#include "core/waiter.h"
#include "hold/losses.h"
#include "wait/adopting.h"
#include "wait/asking.h"
#include "wait/handover.h"
#include "wait/share.h"

/* May it ask? Where a name has several holders, one of ours is no obstacle.
 */
static bool is_its_turn(const struct rlk_waiter *waiter)
{
	const struct rlk_name *name = waiter->name;

	return name->waiters.next == &waiter->node &&
	       (!name->hold || name->strategy->many);
}

/* Wait until the name is handed to us, or it is our turn to ask. Releases the
 * mutex meanwhile. */
static int wait_turn_locked(struct rlk_waiter *waiter)
{
	while (!rlk_handed_over_locked(waiter) && !rlk_joined_locked(waiter) &&
	       !is_its_turn(waiter)) {
		int code = rlk_waiter_over_locked(waiter);

		if (!code && waiter->wish.try)
			code = ROWLOCK_EBUSY;
		if (code)
			return code;
		waiter->waited = true;
		rlk_waiter_sleep_locked(waiter, waiter->until_ms);
	}
	/* A hold that was handed over before the end is ours. */
	return waiter->handed ? 0 : rlk_waiter_over_locked(waiter);
}

/* Nobody is known to hold it. */
static const char doubt[] =
    "whether another handle of this client has given it back is not known; end "
    "its run again (rowlock_once_end()), or release it";

/* Another handle of this client has the name, or had it. */
static int fail_turn_locked(const struct rlk_waiter *waiter, int code,
			    struct rowlock_errinfo *reterr)
{
	const struct rlk_hold *hold = waiter->name->hold;
	const char *what = NULL;

	if (hold && hold->state == RLK_HOLD_RELEASING)
		what = "another handle of this client gives it back, and has "
		       "no answer yet";
	else if (hold && hold->guard.may_be_gone)
		what = doubt;
	if (!what || (code != ROWLOCK_EBUSY && code != ROWLOCK_ETIMEDOUT))
		return rlk_fail_waiting(waiter->lock, code, reterr);
	return rlk_fail(reterr, code, "acquire " RLK_LOCK_FORMAT ": %s",
			RLK_LOCK_ARGS(waiter->lock), what);
}

/* The thread asks without the mutex; the line behind it stays as it is. */
static int ask_locked(struct rlk_waiter *waiter, struct rowlock_errinfo *reterr)
{
	struct rowlock *lock = waiter->lock;
	struct rowlock_client *client = waiter->name->client;
	struct rlk_asking asking = {
		.client = client,
		.name = lock->name,
		.waiter = waiter,
		.hold = rlk_make_hold_locked(waiter),
		.guess = lock->slot,
	};
	int code;

	if (!asking.hold)
		return rlk_fail_waiting(lock, ROWLOCK_ENOMEM, reterr);
	lock->slot = 0;
	waiter->state = RLK_WAITER_ASKS;
	rlk_mutex_unlock(&client->mutex);
	code = waiter->wish.offer ? rlk_adopt_ask(&asking, reterr)
				  : rlk_ask(&asking, reterr);
	rlk_mutex_lock(&client->mutex);
	rlk_hold_put_locked(asking.hold);
	return code;
}

/* Where a name has several holders, a try does not wait for others that ask.
 * Nor does a reader that a writer of ours lets in: the others wait for the end
 * of that writer. */
static bool stands_in_line(const struct rlk_waiter *waiter)
{
	return !waiter->name->strategy->many ||
	       (!waiter->wish.try && !waiter->wish.under);
}

/* Returns false if memory is out. */
static bool enter_line(struct rlk_waiter *waiter)
{
	struct rlk_name *name = waiter->name;

	waiter->waker = rlk_waker_get_locked(name->client);
	if (!waiter->waker)
		return false;
	waiter->lock->waiter = waiter;
	if (!stands_in_line(waiter))
		return true;
	/* Turns begin with the second thread. */
	if (name->hold)
		rlk_name_turn(name, name->hold->began_ms);
	else if (!rlk_list_empty(&name->waiters))
		rlk_name_turn(name, -RLK_NEVER);
	rlk_list_append(&name->waiters, &waiter->node);
	return true;
}

static void leave_line(struct rlk_waiter *waiter)
{
	struct rowlock_client *client = waiter->name->client;

	waiter->lock->waiter = NULL;
	rlk_list_remove(&waiter->node);
	rlk_alarms_clear(&client->alarms, &waiter->alarm);
	rlk_name_next_locked(waiter->name);
	rlk_name_rest(waiter->name);
	rlk_waker_put_locked(client, waiter->waker);
}

/* How it is to be acquired. */
struct wanted {
	uint64_t wait_ms;
	int64_t until_ms;              /* no statement may last longer */
	uint64_t under;                /* a writer's attempt; 0: none */
	bool undrawn;                  /* its token is drawn later */
	const struct rlk_offer *offer; /* to adopt; NULL: none */
	/* For a semaphore. */
	unsigned int permits;
	unsigned int count;
};

/* An adopted hold comes from elsewhere, and would meet one that this client is
 * about to be granted, or gives back at this moment. */
static bool is_wanted(const struct rlk_name *name)
{
	return name->hold || !rlk_list_empty(&name->waiters);
}

static int fail_wanted(const struct rowlock *lock,
		       struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, ROWLOCK_EBUSY,
			"adopt " RLK_LOCK_FORMAT
			": another handle of this client holds it, or waits "
			"for it; adopt it before that, and try again",
			RLK_LOCK_ARGS(lock));
}

/* Stand in line until the hold is handed over, joined, or granted. */
static int queue_locked(struct rowlock *lock, const struct wanted *wanted,
			struct rowlock_errinfo *reterr)
{
	struct rlk_waiter waiter;
	int code;

	rlk_waiter_init(&waiter, lock, wanted->wait_ms);
	waiter.wish.under = wanted->under;
	waiter.wish.undrawn = wanted->undrawn;
	waiter.wish.offer = wanted->offer;
	waiter.wish.permits = wanted->permits;
	waiter.wish.count = wanted->count;
	if (waiter.give_up_ms > wanted->until_ms)
		waiter.give_up_ms = wanted->until_ms;
	if (wanted->offer && is_wanted(lock->name))
		return fail_wanted(lock, reterr);
	if (!enter_line(&waiter))
		return rlk_fail_waiting(lock, ROWLOCK_ENOMEM, reterr);
	code = stands_in_line(&waiter) ? wait_turn_locked(&waiter) : 0;
	if (code)
		fail_turn_locked(&waiter, code, reterr);
	else if (!waiter.handed)
		code = ask_locked(&waiter, reterr);
	if (waiter.waited)
		rlk_lock_waited_locked(lock);
	leave_line(&waiter);
	rlk_lock_keep_cancel_locked(&waiter);
	return code;
}

/* It was exported before, so nothing is within it. */
static bool was_adopted(const struct rlk_hold *hold)
{
	return rlk_loss_of(hold->reason) == ROWLOCK_LOSS_ADOPTED;
}

/* Drop a lost hold at the next acquire. A re-entrant handle may be within what
 * the hold protected: it gets ROWLOCK_ELOST, once. Returns 1 if the acquire may
 * go on. */
static int drop_lost_locked(struct rowlock *lock, uint64_t under,
			    struct rowlock_errinfo *reterr)
{
	struct rlk_hold *hold = lock->hold;
	int code = 1;

	/* A reader that its writer lets in is within no hold of its own. */
	if (!(lock->flags & ROWLOCK_NOT_REENTRANT) && !under &&
	    !was_adopted(hold))
		code = rlk_fail(reterr, ROWLOCK_ELOST,
				"acquire " RLK_LOCK_FORMAT
				": the last hold of this handle was lost (%s), "
				"and is over now; check what it protected, "
				"then acquire it anew",
				RLK_LOCK_ARGS(lock), hold->reason);
	if (hold->owner == rlk_thread_serial())
		rlk_end_owe(-(int) lock->depth);
	/* One that may be gone. */
	rlk_hold_lose_locked(hold, hold->reason);
	rlk_lock_detach_locked(lock);
	return code;
}

/* Check the handle's last hold. Returns 1 if the acquire may go on. */
static int own_hold_locked(struct rowlock *lock, uint64_t under,
			   struct rowlock_errinfo *reterr)
{
	const struct rlk_hold *hold = lock->hold;

	if (!hold)
		return 1;
	/* The lease is for whoever adopts it. */
	if (hold->state == RLK_HOLD_EXPORTED) {
		rlk_lock_detach_locked(lock);
		return 1;
	}
	if (hold->owner != RLK_OWNER_NOBODY &&
	    hold->owner != rlk_lock_owner(lock))
		return rlk_fail(reterr, ROWLOCK_ENOTOWNER,
				"acquire " RLK_LOCK_FORMAT
				": another thread holds it through this "
				"handle; make a handle per thread",
				RLK_LOCK_ARGS(lock));
	return rlk_hold_check_locked(lock->hold)
		   ? 1
		   : drop_lost_locked(lock, under, reterr);
}

/* The calling thread has @hold by another handle than @lock. */
static int fail_elsewhere(const struct rowlock *lock,
			  const struct rlk_hold *hold, bool try,
			  struct rowlock_errinfo *reterr)
{
	const char *what = try ? "this thread holds it through another handle"
			       : "this thread holds it through another handle, "
				 "and would wait for itself; use one handle, "
				 "or make both with ROWLOCK_OWNER_THREAD";

	return rlk_fail(reterr, try ? ROWLOCK_EBUSY : ROWLOCK_EDEADLOCK,
			"acquire " RLK_LOCK_FORMAT ": %s", RLK_LOCK_ARGS(lock),
			hold->guard.may_be_gone ? doubt : what);
}

/* May @lock enter what its thread holds through other handles? */
static bool may_enter(const struct rowlock *lock, const struct rlk_hold *hold)
{
	return lock->flags & hold->handles->flags & ROWLOCK_OWNER_THREAD &&
	       !hold->guard.may_be_gone;
}

/* Add a level if the owner has the hold. Returns 1 if not. */
static int reenter_locked(struct rowlock *lock, const struct wanted *wanted,
			  struct rowlock_errinfo *reterr)
{
	/* A handle of a shared lock has its own hold, or joins the last. */
	struct rlk_hold *hold = lock->hold ? lock->hold : lock->name->hold;

	/* An adopted hold is another one. */
	if (!hold || hold->owner != rlk_lock_owner(lock) || wanted->offer ||
	    !rlk_hold_stands_locked(hold))
		return 1;
	if (!lock->hold && hold->name->strategy->shared &&
	    (wanted->under || !rlk_may_join_locked(hold)))
		return 1;
	if (!lock->hold && !hold->name->strategy->shared &&
	    !may_enter(lock, hold))
		return fail_elsewhere(lock, hold, wanted->wait_ms == 0, reterr);
	if (lock->flags & ROWLOCK_NOT_REENTRANT)
		return rlk_fail(reterr, ROWLOCK_EDEADLOCK,
				"acquire " RLK_LOCK_FORMAT
				": the caller holds it already, and this lock "
				"is not reentrant",
				RLK_LOCK_ARGS(lock));
	rlk_lock_attach_locked(lock, hold);
	return 0;
}

/* On success the handle has the hold. */
static int acquire_locked(struct rowlock *lock, const struct wanted *wanted,
			  struct rowlock_errinfo *reterr)
{
	int code;

	if (lock->waiter)
		return rlk_lock_fail_waiting(lock, reterr);
	code = own_hold_locked(lock, wanted->under, reterr);
	if (code <= 0)
		return code;
	code = reenter_locked(lock, wanted, reterr);
	if (code <= 0)
		return code;
	/* The hold may have expired between the two checks. */
	code = own_hold_locked(lock, wanted->under, reterr);
	if (code <= 0)
		return code;
	/* rowlock_free() has cancelled the waiters that it found. */
	if (lock->cancel_next || lock->freed) {
		lock->cancel_next = false;
		return rlk_fail_waiting(lock, ROWLOCK_ECANCELED, reterr);
	}
	/* The thread's end will report what it still holds. */
	if (!(lock->flags & ROWLOCK_OWNER_HANDLE) && !rlk_end_prepare())
		return rlk_fail_waiting(lock, ROWLOCK_ENOMEM, reterr);
	if (!lock->in_parts)
		lock->waited = false;
	return queue_locked(lock, wanted, reterr);
}

/* A handle that gets no other hold can still take back its exported one. */
static int acquire_else_keep_locked(struct rowlock *lock,
				    const struct wanted *wanted,
				    struct rowlock_errinfo *reterr)
{
	struct rlk_hold *exported = lock->hold;
	int code;

	if (!exported || exported->state != RLK_HOLD_EXPORTED)
		return acquire_locked(lock, wanted, reterr);
	rlk_hold_get_locked(exported);
	code = acquire_locked(lock, wanted, reterr);
	if (code && !lock->hold && exported->state == RLK_HOLD_EXPORTED) {
		rlk_lock_attach_locked(lock, exported);
		lock->shown = true;
	}
	rlk_hold_put_locked(exported);
	return code;
}

static int acquire(struct rowlock *lock, const struct wanted *wanted,
		   struct rowlock_errinfo *reterr)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&lock->name->client->mutex);
	int code = acquire_else_keep_locked(lock, wanted, reterr);

	if (code == 0 && !(lock->flags & ROWLOCK_OWNER_HANDLE))
		rlk_end_owe(1);
	if (code == 0 && (wanted->offer ||
			  (!(lock->flags & ROWLOCK_TOKEN_WITH_GRANT) &&
			   !lock->has_keep && !lock->name->strategy->drained)))
		rlk_lock_show_locked(lock);
	return code;
}

int rlk_acquire(struct rowlock *lock, uint64_t wait_ms,
		struct rowlock_errinfo *reterr)
{
	const struct wanted wanted = { .wait_ms = wait_ms,
				       .until_ms = RLK_NEVER };

	return acquire(lock, &wanted, reterr);
}

int rlk_acquire_undrawn(struct rowlock *lock, uint64_t wait_ms,
			struct rowlock_errinfo *reterr)
{
	const struct wanted wanted = { .wait_ms = wait_ms,
				       .until_ms = RLK_NEVER,
				       .undrawn = true };

	return acquire(lock, &wanted, reterr);
}

int rlk_try(struct rowlock *lock, int64_t until_ms,
	    struct rowlock_errinfo *reterr)
{
	const struct wanted wanted = { .until_ms = until_ms };

	return acquire(lock, &wanted, reterr);
}

int rlk_acquire_under(struct rowlock *lock, uint64_t writer,
		      struct rowlock_errinfo *reterr)
{
	const struct wanted wanted = { .until_ms = RLK_NEVER, .under = writer };

	return acquire(lock, &wanted, reterr);
}

int rlk_acquire_permits(struct rowlock *lock, unsigned int permits,
			unsigned int count, uint64_t wait_ms,
			struct rowlock_errinfo *reterr)
{
	const struct wanted wanted = { .wait_ms = wait_ms,
				       .until_ms = RLK_NEVER,
				       .permits = permits,
				       .count = count };

	return acquire(lock, &wanted, reterr);
}

int rlk_adopt(struct rowlock *lock, const struct rlk_offer *offer,
	      struct rowlock_errinfo *reterr)
{
	const struct wanted wanted = {
		.wait_ms = lock->name->client->call_timeout_ms,
		.until_ms = RLK_NEVER,
		.offer = offer,
	};

	return acquire(lock, &wanted, reterr);
}
