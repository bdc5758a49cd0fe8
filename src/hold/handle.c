/* SPDX-License-Identifier: MIT */
/*
 * Makes the handle and ties it to a hold; and the waiter that uses it.
 *
 * A handle remembers the hold that it acquired, and how often; so a handle
 * whose hold was lost cannot release another's hold, and a nested user with
 * another handle of the name cannot release for its caller.
 */
#include "hold/handle.h"

#include "base/error.h"
#include "base/text.h"
#include "core/call.h"
#include "core/overrun.h"
#include "hold/losses.h"

#include <stdlib.h>
#include <string.h>

#define MAX_HOLD_MOST_MS (30ull * 24 * 60 * 60 * 1000)
_Static_assert(MAX_HOLD_MOST_MS <= UINT32_MAX, "a handle has 32 bits for it");

uint64_t rlk_lock_owner(const struct rowlock *lock)
{
	/* No handle is freed while it owns a hold. The highest bit keeps the
	 * number apart from every thread's. */
	if (lock->name->strategy->shared)
		return RLK_OWNER_ALL;
	if (lock->flags & ROWLOCK_OWNER_HANDLE)
		return (uintptr_t) lock | RLK_OWNER_ALL;
	return rlk_thread_serial();
}

bool rlk_lock_same_info(const struct rowlock *a, const struct rowlock *b)
{
	if (!a->has_info || !b->has_info)
		return a->has_info == b->has_info;
	return strcmp(a->more, b->more) == 0;
}

/* The info of the row is certain only if all handles have the same. */
static void compare_info(struct rlk_hold *hold, const struct rowlock *lock)
{
	if (hold->handles && !rlk_lock_same_info(hold->handles, lock))
		hold->mixed_info = true;
}

void rlk_lock_attach_locked(struct rowlock *lock, struct rlk_hold *hold)
{
	if (!lock->hold) {
		compare_info(hold, lock);
		lock->hold = hold;
		lock->shown = false;
		lock->lost_told = false;
		rlk_hold_get_locked(hold);
		lock->next = hold->handles;
		hold->handles = lock;
	}
	lock->depth++;
	hold->depth++;
}

void rlk_lock_detach_locked(struct rowlock *lock)
{
	struct rlk_hold *hold = TAKE_PTR(lock->hold);
	struct rowlock **at = &hold->handles;

	/* Nested handles are released in reverse order: it is the first. */
	while (*at != lock)
		at = &(*at)->next;
	*at = TAKE_PTR(lock->next);
	hold->depth -= lock->depth;
	lock->depth = 0;
	rlk_hold_put_locked(hold);
}

struct rlk_hold *rlk_lock_hold_locked(struct rowlock *lock, bool inside,
				      int *ret_code,
				      struct rowlock_errinfo *reterr)
{
	struct rlk_hold *hold = lock->hold;

	if (hold && !lock->shown && !inside) {
		*ret_code = rlk_fail(reterr, ROWLOCK_ENOTHELD,
				     RLK_LOCK_FORMAT
				     " is not held yet: its acquire is under "
				     "way",
				     RLK_LOCK_ARGS(lock));
		return NULL;
	}
	if (!hold) {
		*ret_code = rlk_fail(reterr, ROWLOCK_ENOTHELD,
				     RLK_LOCK_FORMAT
				     " is not held through this handle; "
				     "acquire it first",
				     RLK_LOCK_ARGS(lock));
		return NULL;
	}
	if (hold->owner != RLK_OWNER_NOBODY &&
	    hold->owner != rlk_lock_owner(lock)) {
		*ret_code = rlk_fail(reterr, ROWLOCK_ENOTOWNER,
				     RLK_LOCK_FORMAT
				     " is held by another thread; only that "
				     "one may do this (or use "
				     "ROWLOCK_OWNER_HANDLE)",
				     RLK_LOCK_ARGS(lock));
		return NULL;
	}
	return hold;
}

int rlk_lock_refuses(const struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	return lock ? rlk_client_refuses(lock->name->client, reterr)
		    : rlk_fail_null("the lock", reterr);
}

bool rlk_lock_shows_locked(const struct rowlock *lock)
{
	return lock->hold && lock->shown && rlk_hold_check_locked(lock->hold);
}

/* -------------------------------------------------------- made, freed */

static int check_keep(const struct rowlock_options *options,
		      struct rowlock_errinfo *reterr)
{
	if (options->at_least_ms > MAX_HOLD_MOST_MS)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"at_least_ms must be from 1 to %llu (30 days)",
				MAX_HOLD_MOST_MS);
	if (options->delay_after_loss_ms > MAX_HOLD_MOST_MS)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"delay_after_loss_ms must be from 1 to %llu "
				"(30 days)",
				MAX_HOLD_MOST_MS);
	if (options->at_least_ms && options->delay_after_loss_ms)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"at_least_ms and delay_after_loss_ms exclude "
				"each other; give one of them");
	if (options->max_hold_ms && options->max_hold_ms < options->at_least_ms)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"max_hold_ms is below at_least_ms: its name "
				"cannot be free before");
	if ((options->at_least_ms || options->delay_after_loss_ms) &&
	    options->strategy == ROWLOCK_ROW)
		return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
				"a row lock ends with its connection, so it "
				"cannot be kept; use ROWLOCK_LEASE");
	return 0;
}

static int check_options(const struct rowlock_client *client,
			 const struct rowlock_options *options,
			 struct rowlock_errinfo *reterr)
{
	const unsigned int known =
	    ROWLOCK_NOT_REENTRANT | ROWLOCK_OWNER_HANDLE |
	    ROWLOCK_TOKEN_WITH_GRANT | ROWLOCK_OWNER_THREAD;
	char buffer[128];
	const char *problem;
	int code;

	if (!rlk_strategy(options->strategy))
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"there is no strategy %d",
				(int) options->strategy);
	if (options->flags & ~known)
		return rlk_fail(reterr, ROWLOCK_EINVAL, "unknown flags 0x%x",
				options->flags & ~known);
	if (options->flags & ROWLOCK_OWNER_HANDLE &&
	    options->flags & ROWLOCK_OWNER_THREAD)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"the owner is the handle, or the thread, not "
				"both");
	if (options->max_hold_ms && (options->max_hold_ms < 1000 ||
				     options->max_hold_ms > MAX_HOLD_MOST_MS))
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"max_hold_ms must be 0 or from 1000 to %llu "
				"(30 days)",
				MAX_HOLD_MOST_MS);
	code = check_keep(options, reterr);
	if (code)
		return code;
	problem = options->info
		      ? rlk_text_problem(options->info, ROWLOCK_INFO_MAX,
					 buffer, sizeof(buffer))
		      : NULL;
	if (problem)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"the info %s; give at most %d characters of "
				"UTF-8 without control characters and without "
				"a blank at the end",
				problem, ROWLOCK_INFO_MAX);
	if (options->strategy == ROWLOCK_ROW && client->many_writers &&
	    !(client->flags & ROWLOCK_SINGLE_WRITER))
		return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
				"%s has several writers, between which the row "
				"strategy does not exclude; use lease, or "
				"ROWLOCK_SINGLE_WRITER if only one node is "
				"ever written to",
				client->server);
	return 0;
}

int rlk_lock_check(const struct rowlock_client *client, const char *name,
		   const struct rowlock_options *options,
		   struct rowlock_errinfo *reterr)
{
	int code = rlk_name_check("the name", name, client->server, reterr);

	if (code)
		return code;
	code = check_options(client, options, reterr);
	if (code)
		rlk_prefix(reterr, "lock '%s': ", name);
	return code;
}

static struct rowlock *make(const struct rowlock_options *options)
{
	size_t length = options->info ? strlen(options->info) + 1 : 0;
	const struct rlk_keep_times times = { options->at_least_ms,
					      options->delay_after_loss_ms };
	bool has_keep = times.at_least_ms || times.delay_ms;
	size_t size = has_keep ? sizeof(times) : 0;
	struct rowlock *lock = calloc(1, sizeof(*lock) + length + size);

	if (!lock)
		return NULL;
	lock->flags = (uint8_t) options->flags;
	lock->max_hold_ms = (uint32_t) options->max_hold_ms;
	rlk_list_init(&lock->in_notices);
	if (options->info) {
		lock->has_info = true;
		memcpy(lock->more, options->info, length);
	}
	lock->has_keep = has_keep;
	memcpy(lock->more + length, &times, size);
	return lock;
}

struct rlk_keep_times rlk_lock_keep_times(const struct rowlock *lock)
{
	size_t at = lock->has_info ? strlen(lock->more) + 1 : 0;
	struct rlk_keep_times times;

	memcpy(&times, lock->more + at, sizeof(times));
	return times;
}

/* Returns false if memory is out. */
static bool give_name(struct rowlock_client *client, struct rowlock *lock,
		      const char *name, const struct rlk_strategy *strategy)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);

	lock->name = rlk_names_get(&client->names, strategy, name);
	if (!lock->name)
		return false;
	client->users++;
	return true;
}

struct rowlock *rlk_lock_new(struct rowlock_client *client, const char *name,
			     const struct rlk_strategy *strategy,
			     const struct rowlock_options *options)
{
	struct rowlock *lock = make(options);

	if (lock && !give_name(client, lock, name, strategy)) {
		free(lock);
		return NULL;
	}
	return lock;
}

int rlk_lock_make(struct rowlock_client *client, const char *name,
		  const struct rlk_strategy *strategy,
		  const struct rowlock_options *options,
		  struct rowlock **ret_lock, struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock *lock;
	int code;

	code = rlk_client_refuses(client, reterr);
	if (!code && !ret_lock)
		code = rlk_fail_null("ret_lock", reterr);
	if (code)
		return code;
	code = rlk_lock_check(client, name, options, reterr);
	if (code)
		return code;
	lock = rlk_lock_new(client, name, strategy, options);
	if (!lock)
		return rlk_fail(reterr, ROWLOCK_ENOMEM,
				"lock '%s': out of memory", name);
	*ret_lock = lock;
	return 0;
}

void rlk_lock_queue_notices_locked(struct rowlock *lock)
{
	struct rowlock_client *client = lock->name->client;

	rlk_list_remove(&lock->in_notices);
	if (lock->notices == 0)
		return;
	rlk_list_append(&client->notices, &lock->in_notices);
	rlk_cond_broadcast(&client->notices_changed);
}

void rlk_lock_notify_locked(struct rowlock *lock)
{
	if (!lock->lost_fn || !lock->shown || lock->lost_told)
		return;
	lock->lost_told = true;
	if (lock->notices++ == 0)
		rlk_lock_queue_notices_locked(lock);
}

void rlk_lock_show_locked(struct rowlock *lock)
{
	/* Another thread may have released it already, or seen it lost. */
	if (!lock->hold)
		return;
	lock->shown = true;
	rlk_count_shown_locked(lock->hold);
	if (lock->hold->reason)
		rlk_lock_notify_locked(lock);
}

bool rlk_lock_holds(struct rowlock *lock)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&lock->name->client->mutex);

	return lock->hold && rlk_hold_check_locked(lock->hold);
}

void rlk_lock_waited_locked(struct rowlock *lock)
{
	if (!lock->waited)
		rlk_stats_add(&lock->name->client->stats.waits, 1);
	lock->waited = true;
}

void rlk_lock_enter(struct rowlock *lock)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&lock->name->client->mutex);

	lock->calls++;
}

void rlk_lock_leave_locked(struct rowlock *lock)
{
	lock->calls--;
	if (lock->freed)
		rlk_cond_broadcast(&lock->name->client->notices_changed);
}

void rlk_lock_leave(struct rowlock *lock)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&lock->name->client->mutex);

	rlk_lock_leave_locked(lock);
}

int rlk_lock_fail_waiting(const struct rowlock *lock,
			  struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, ROWLOCK_EINVAL,
			"acquire " RLK_LOCK_FORMAT
			": another thread is waiting with this handle; make a "
			"handle per thread",
			RLK_LOCK_ARGS(lock));
}

int rlk_lock_begin_parts(struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&lock->name->client->mutex);

	if (lock->in_parts)
		return rlk_lock_fail_waiting(lock, reterr);
	lock->calls++;
	lock->in_parts = true;
	lock->waited = false;
	return 0;
}

void rlk_lock_end_parts(struct rowlock *lock)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&lock->name->client->mutex);

	lock->in_parts = false;
	lock->cancel_next = false;
	rlk_lock_leave_locked(lock);
}

void rlk_lock_show(struct rowlock *lock)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&lock->name->client->mutex);

	rlk_lock_show_locked(lock);
}

/* ---------------------------------------------------------------- waiter */

static void ring(struct rlk_alarm *alarm)
{
	struct rlk_waiter *waiter =
	    container_of(alarm, struct rlk_waiter, alarm);

	rlk_cond_signal(&waiter->waker->cond);
	if (waiter->in_session)
		rlk_cond_broadcast(&waiter->name->client->session_changed);
}

void rlk_waiter_init(struct rlk_waiter *waiter, struct rowlock *lock,
		     uint64_t wait_ms)
{
	const struct rowlock_client *client = lock->name->client;
	int64_t until = rlk_after(rlk_now(client->clock), wait_ms);

	*waiter = (struct rlk_waiter){
		.lock = lock,
		.name = lock->name,
		.owner = rlk_lock_owner(lock),
		.alarm = { .ring = ring },
		.until_ms = until,
		/* A short statement under way at the deadline may end: giving
		 * it up costs a connection. */
		.give_up_ms = wait_ms ? rlk_after(until, RLK_OVERRUN_GRACE_MS)
				      : rlk_client_call_until(client),
		.wish.try = wait_ms == 0,
		.wake = -1,
		.pool_waiter = RLK_POOL_WAITER_NULL,
	};
	rlk_list_init(&waiter->node);
}

void rlk_lock_keep_cancel_locked(const struct rlk_waiter *waiter)
{
	struct rowlock *lock = waiter->lock;

	if (waiter->canceled && lock->in_parts)
		lock->cancel_next = true;
}

bool rlk_waiter_begin(struct rlk_waiter *waiter)
{
	struct rowlock *lock = waiter->lock;
	_guard_ struct rlk_mutex *guard = rlk_guard(&lock->name->client->mutex);

	waiter->waker = rlk_waker_get_locked(lock->name->client);
	if (!waiter->waker)
		return false;
	waiter->canceled = lock->cancel_next;
	lock->cancel_next = false;
	lock->waiter = waiter;
	lock->calls++;
	return true;
}

void rlk_waiter_end(struct rlk_waiter *waiter)
{
	struct rowlock *lock = waiter->lock;
	struct rowlock_client *client = lock->name->client;
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);

	lock->waiter = NULL;
	rlk_lock_keep_cancel_locked(waiter);
	rlk_alarms_clear(&client->alarms, &waiter->alarm);
	rlk_waker_put_locked(client, waiter->waker);
	rlk_lock_leave_locked(lock);
}
