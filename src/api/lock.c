/* SPDX-License-Identifier: MIT */
/*
 * Makes, queries, cancels and frees a lock, without asking the server.
 */
#include <rowlock.h>

#include "api/release.h"
#include "base/error.h"
#include "base/sized.h"
#include "core/call.h"
#include "db/lend.h"
#include "group/commit.h"
#include "hold/handle.h"

#include <stdlib.h>
#include <sys/eventfd.h>

int rowlock_new(struct rowlock_client *client, const char *name,
		const struct rowlock_options *options,
		struct rowlock **ret_lock, struct rowlock_errinfo *reterr)
{
	struct rowlock_options lock;
	int code = rlk_options_read("lock options", options, &lock,
				    sizeof(lock), reterr);

	return code ? code
		    : rlk_lock_make(client, name, rlk_strategy(lock.strategy),
				    &lock, ret_lock, reterr);
}

/* Does its callback run, on another thread than this one? */
static bool callback_runs_locked(const struct rowlock *lock)
{
	const struct rowlock_client *client = lock->name->client;

	return client->notifying == lock &&
	       client->notifier_serial != rlk_thread_serial();
}

static void wait_for_callback_locked(struct rowlock *lock)
{
	struct rowlock_client *client = lock->name->client;

	while (callback_runs_locked(lock))
		rlk_cond_wait(&client->notices_changed, &client->mutex);
}

/* It may still stand in the notifier's line. */
static void detach_locked(struct rowlock *lock)
{
	rlk_list_remove(&lock->in_notices);
	if (lock->hold)
		rlk_lock_detach_locked(lock);
	if (lock->recipe && lock->recipe->leave_locked)
		lock->recipe->leave_locked(lock->recipe);
	rlk_names_put(&lock->name->client->names, lock->name);
}

/* Free the memory of a lock that is detached. */
static void dispose(struct rowlock *lock, struct rowlock_client *client)
{
	if (lock->recipe && lock->recipe->fini)
		lock->recipe->fini(lock->recipe);
	free(lock->recipe);
	free(lock);
	rlk_client_leave(client);
}

/* Returns true if an acquire was under way. */
static bool cancel_locked(struct rowlock *lock)
{
	struct rowlock_client *client = lock->name->client;
	struct rlk_waiter *waiter = lock->waiter;

	if (!waiter) {
		lock->cancel_next = lock->in_parts;
		return lock->in_parts;
	}
	waiter->canceled = true;
	rlk_cond_signal(&waiter->waker->cond);
	if (waiter->conn)
		rlk_conn_interrupt(waiter->conn);
	if (waiter->wake >= 0)
		eventfd_write(waiter->wake, 1);
	rlk_pool_interrupt(client->pool, &waiter->pool_waiter);
	rlk_commit_withdraw(client, waiter);
	if (waiter->in_session)
		rlk_cond_broadcast(&client->session_changed);
	return true;
}

/* Stop its callbacks, and wait for calls that are under way. */
static void quieten_locked(struct rowlock *lock)
{
	struct rowlock_client *client = lock->name->client;

	lock->lost_fn = NULL;
	lock->notices = 0;
	rlk_lock_queue_notices_locked(lock);
	if (client->forget_guarded_locked)
		client->forget_guarded_locked(lock);
	lock->freed = true;
	/* The callback may acquire, too. */
	while (lock->calls || callback_runs_locked(lock)) {
		cancel_locked(lock);
		if (lock->calls && lock->recipe && lock->recipe->other)
			cancel_locked(lock->recipe->other);
		rlk_cond_wait(&client->notices_changed, &client->mutex);
	}
}

void rowlock_free(struct rowlock *lock)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock_client *client;
	int64_t until;

	if (!lock)
		return;
	client = lock->name->client;
	if (rlk_client_forked(client))
		return;
	until = rlk_client_call_until(client);
	rlk_mutex_lock(&client->mutex);
	quieten_locked(lock);
	rlk_mutex_unlock(&client->mutex);
	rlk_release_all(lock, until);
	rlk_mutex_lock(&client->mutex);
	detach_locked(lock);
	rlk_mutex_unlock(&client->mutex);
	dispose(lock, client);
}

int rowlock_try_free(struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock_client *client;
	bool used;

	if (!lock)
		return 0;
	client = lock->name->client;
	if (rlk_client_forked(client))
		return rlk_client_refuses(client, reterr);
	rlk_mutex_lock(&client->mutex);
	wait_for_callback_locked(lock);
	used =
	    lock->calls || (lock->hold && rlk_hold_stands_locked(lock->hold));
	if (!used)
		detach_locked(lock);
	rlk_mutex_unlock(&client->mutex);
	if (used)
		return rlk_fail(reterr, ROWLOCK_EHELD,
				RLK_LOCK_FORMAT
				" is still held or in use through this handle; "
				"release it (or cancel the wait) first",
				RLK_LOCK_ARGS(lock));
	dispose(lock, client);
	return 0;
}

int rowlock_held(const struct rowlock *lock)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	bool held;

	if (rlk_lock_refuses(lock, NULL))
		return 0;
	rlk_mutex_lock(&lock->name->client->mutex);
	held = rlk_lock_shows_locked(lock);
	rlk_mutex_unlock(&lock->name->client->mutex);
	return held;
}

const char *rowlock_lost_reason(const struct rowlock *lock)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	const char *reason = NULL;

	if (rlk_lock_refuses(lock, NULL))
		return NULL;
	rlk_mutex_lock(&lock->name->client->mutex);
	if (rlk_lock_shows_locked(lock))
		reason = lock->name->strategy->pins_connection
			     ? NULL
			     : lock->name->client->session.late;
	else if (lock->hold && lock->shown)
		reason = lock->hold->reason;
	rlk_mutex_unlock(&lock->name->client->mutex);
	return reason;
}

uint64_t rowlock_remaining_ms(const struct rowlock *lock)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	int64_t left = 0;

	if (rlk_lock_refuses(lock, NULL))
		return 0;
	rlk_mutex_lock(&lock->name->client->mutex);
	if (rlk_lock_shows_locked(lock))
		left = rlk_hold_until_locked(lock->hold) -
		       rlk_now(lock->name->client->clock);
	rlk_mutex_unlock(&lock->name->client->mutex);
	return left > 0 ? (uint64_t) left : 0;
}

uint64_t rowlock_attempt(const struct rowlock *lock)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	uint64_t attempt = 0;

	if (rlk_lock_refuses(lock, NULL))
		return 0;
	rlk_mutex_lock(&lock->name->client->mutex);
	/* Under row no row in the server has it. */
	if (rlk_lock_shows_locked(lock) && lock->hold->session)
		attempt = lock->hold->attempt;
	rlk_mutex_unlock(&lock->name->client->mutex);
	return attempt;
}

unsigned int rowlock_depth(const struct rowlock *lock)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	unsigned int depth = 0;

	if (rlk_lock_refuses(lock, NULL))
		return 0;
	rlk_mutex_lock(&lock->name->client->mutex);
	if (rlk_lock_shows_locked(lock))
		depth = lock->depth;
	rlk_mutex_unlock(&lock->name->client->mutex);
	return depth;
}

const char *rowlock_name(const struct rowlock *lock)
{
	return lock ? lock->name->text : NULL;
}

int rowlock_cancel(struct rowlock *lock)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	bool found;

	if (rlk_lock_refuses(lock, NULL))
		return 0;
	rlk_mutex_lock(&lock->name->client->mutex);
	found = cancel_locked(lock);
	rlk_mutex_unlock(&lock->name->client->mutex);
	return found;
}

void rowlock_on_lost(struct rowlock *lock, rowlock_lost_fn fn, void *arg)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock_client *client;

	if (rlk_lock_refuses(lock, NULL))
		return;
	client = lock->name->client;
	rlk_mutex_lock(&client->mutex);
	wait_for_callback_locked(lock);
	lock->lost_fn = fn;
	lock->lost_arg = arg;
	if (!fn)
		lock->notices = 0;
	else if (lock->hold && !rlk_hold_check_locked(lock->hold))
		rlk_lock_notify_locked(lock);
	/* Losses due for the last function are due for this one. */
	rlk_lock_queue_notices_locked(lock);
	rlk_mutex_unlock(&client->mutex);
}
