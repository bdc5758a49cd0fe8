/* SPDX-License-Identifier: MIT */
/*
 * rowlock_acquire(): the local line (line.c) and the server grant the lock;
 * this file draws the token that comes with the grant, and has its name kept.
 * Failure mode: without its token, or its keep, there is no grant, and the hold
 * is given back.
 */
#include "api/acquire.h"

#include "api/release.h"
#include "api/token.h"
#include "base/error.h"
#include "core/call.h"
#include "core/overrun.h"
#include "hold/keeping.h"
#include "wait/line.h"

/* Something that comes with the grant; without it there is no grant. */
struct extra {
	int (*get)(struct rowlock *lock, int64_t until_ms,
		   struct rowlock_errinfo *reterr);
	bool (*is_there)(const struct rowlock *lock); /* already */
	const char *late;
};

static int fail_late(const struct rowlock *lock, const struct extra *extra,
		     struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, ROWLOCK_ETIMEDOUT,
			"acquire " RLK_LOCK_FORMAT
			": granted, but %s in time; it is not held",
			RLK_LOCK_ARGS(lock), extra->late);
}

/* Get it in the rest of the caller's time. */
static int get_with_grant(struct rowlock *lock, const struct extra *extra,
			  uint64_t wait_ms, int64_t until_ms,
			  struct rowlock_errinfo *reterr)
{
	const struct rowlock_client *client = lock->name->client;
	int64_t call = rlk_client_call_until(client);
	bool late;
	int code;

	until_ms = rlk_after(until_ms, RLK_OVERRUN_GRACE_MS);
	late = wait_ms &&
	       rlk_now(client->clock) + RLK_OVERRUN_QUESTION_MS >= until_ms;
	if (call < until_ms)
		until_ms = call;
	code = late && !extra->is_there(lock)
		   ? fail_late(lock, extra, reterr)
		   : extra->get(lock, until_ms, reterr);
	if (code)
		rlk_release(lock, rlk_after(until_ms, RLK_OVERRUN_GRACE_MS / 2),
			    NULL);
	return code;
}

/* Did it fail for lack of time, not by the server's refusal? */
static bool no_time_left(const struct rowlock *lock, int64_t until_ms,
			 const struct rowlock_errinfo *error)
{
	return error->mysql == 0 &&
	       rlk_now(lock->name->client->clock) >= until_ms;
}

static int with_grant(struct rowlock *lock, const struct extra *extra,
		      uint64_t wait_ms, int64_t until_ms,
		      struct rowlock_errinfo *reterr)
{
	int code = get_with_grant(lock, extra, wait_ms, until_ms, reterr);

	if (wait_ms && (code == ROWLOCK_EDB || code == ROWLOCK_ECONNECT) &&
	    no_time_left(lock, until_ms, reterr))
		return fail_late(lock, extra, reterr);
	return code;
}

static int draw(struct rowlock *lock, int64_t until_ms,
		struct rowlock_errinfo *reterr)
{
	uint64_t token;

	return rlk_token(lock, until_ms, &token, reterr);
}

static bool is_drawn(const struct rowlock *lock)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&lock->name->client->mutex);

	return lock->hold && lock->hold->token;
}

static const struct extra a_token = { draw, is_drawn,
				      "its token was not drawn" };

static bool is_kept(const struct rowlock *lock)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&lock->name->client->mutex);

	return lock->hold && rlk_hold_is_kept(lock->hold);
}

static const struct extra a_keep = { rlk_keep_grant, is_kept,
				     "its name was not kept" };

int rlk_draw_with_grant(struct rowlock *lock, uint64_t wait_ms,
			int64_t until_ms, struct rowlock_errinfo *reterr)
{
	return with_grant(lock, &a_token, wait_ms, until_ms, reterr);
}

static int fail_lost(const struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, ROWLOCK_ECONNECT,
			"acquire " RLK_LOCK_FORMAT
			": granted, and lost again at once; it is not held",
			RLK_LOCK_ARGS(lock));
}

static uint64_t time_left(const struct rowlock *lock, int64_t until_ms)
{
	int64_t now = rlk_now(lock->name->client->clock);

	/* 0 would be a try. */
	return until_ms > now ? (uint64_t) (until_ms - now) : 1;
}

/* One call gives up after losing this many grants. */
#define GRANTS_MOST 5

/* A hold lost before it has its token, and its keep, was never shown to the
 * caller, which has nothing to release: ask again, while the caller's time
 * lasts. */
static int acquire_whole(struct rowlock *lock, uint64_t wait_ms,
			 int64_t until_ms, struct rowlock_errinfo *reterr)
{
	for (int grants = 1;; grants++) {
		int code = rlk_acquire(lock, wait_ms, reterr);

		if (code)
			return code;
		if (lock->flags & ROWLOCK_TOKEN_WITH_GRANT)
			code = rlk_draw_with_grant(lock, wait_ms, until_ms,
						   reterr);
		/* Last, as a grant that failed is not to be kept. */
		if (!code && lock->has_keep)
			code = with_grant(lock, &a_keep, wait_ms, until_ms,
					  reterr);
		if (code != ROWLOCK_ELOST)
			return code;
		/* A try has a call's time: a second one would be late. */
		if (wait_ms == 0 || grants == GRANTS_MOST ||
		    rlk_now(lock->name->client->clock) >= until_ms)
			return fail_lost(lock, reterr);
		if (wait_ms && wait_ms != ROWLOCK_FOREVER)
			wait_ms = time_left(lock, until_ms);
	}
}

static int acquire_with_more(struct rowlock *lock, uint64_t wait_ms,
			     struct rowlock_errinfo *reterr)
{
	const struct rowlock_client *client = lock->name->client;
	int64_t until = wait_ms ? rlk_after(rlk_now(client->clock), wait_ms)
				: rlk_client_call_until(client);
	int code = rlk_lock_begin_parts(lock, reterr);

	if (code)
		return code;
	code = acquire_whole(lock, wait_ms, until, reterr);

	if (code == 0)
		rlk_lock_show(lock);
	rlk_lock_end_parts(lock);
	return code;
}

int rowlock_acquire(struct rowlock *lock, uint64_t wait_ms,
		    struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock_client *client;
	struct rowlock_errinfo error;
	int64_t called_ms;
	int code = rlk_lock_refuses(lock, reterr);

	if (code)
		return code;
	/* Another thread that frees the lock waits for the acquire, not for
	 * what comes behind it. */
	client = lock->name->client;
	called_ms = rlk_now(client->clock);
	if (lock->recipe)
		code = lock->recipe->acquire(lock, wait_ms, &error);
	else if (lock->flags & ROWLOCK_TOKEN_WITH_GRANT || lock->has_keep)
		code = acquire_with_more(lock, wait_ms, &error);
	else
		code = rlk_acquire(lock, wait_ms, &error);
	if (code && reterr)
		*reterr = error;
	return rlk_stats_acquire(client, called_ms, code);
}
