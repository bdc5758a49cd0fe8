/* SPDX-License-Identifier: MIT */
/*
 * A semaphore: a lock of one or more permits (strategy/permits.h); and the
 * calls that concern the semaphore, not a hold.
 */
#include <rowlock/semaphore.h>

#include <stdlib.h>

#include "base/error.h"
#include "core/call.h"
#include "db/lend.h"
#include "recipe/recipe.h"
#include "strategy/permits.h"
#include "wait/line.h"

/* Tries while others block it for a moment, or interrupt it. */
#define TRIES 5

struct semaphore {
	struct rlk_recipe recipe;
	unsigned int permits; /* how many there are; 0: the stored number */
};

static int acquire(struct rowlock *lock, unsigned int count, uint64_t wait_ms,
		   struct rowlock_errinfo *reterr)
{
	const struct semaphore *semaphore =
	    container_of(lock->recipe, struct semaphore, recipe);
	unsigned int most =
	    semaphore->permits ? semaphore->permits : ROWLOCK_SEMAPHORE_MAX;

	if (count < 1 || count > most)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"acquire '%s': %u permits; give 1 to %u",
				rowlock_name(lock), count, most);
	return rlk_acquire_permits(lock, semaphore->permits, count, wait_ms,
				   reterr);
}

static int acquire_one(struct rowlock *lock, uint64_t wait_ms,
		       struct rowlock_errinfo *reterr)
{
	return acquire(lock, 1, wait_ms, reterr);
}

int rowlock_semaphore_new(struct rowlock_client *client, const char *name,
			  unsigned int permits,
			  const struct rowlock_options *options,
			  struct rowlock **ret_lock,
			  struct rowlock_errinfo *reterr)
{
	struct rowlock_options lock;
	struct semaphore *semaphore;
	int code;

	code = rlk_recipe_options("semaphore", name, options, &lock, reterr);
	if (code)
		return code;
	if (permits != ROWLOCK_PERMITS_STORED &&
	    (permits < 1 || permits > ROWLOCK_SEMAPHORE_MAX))
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"semaphore '%.150s': %u permits; give 1 to %d, "
				"or ROWLOCK_PERMITS_STORED",
				name ? name : "", permits,
				ROWLOCK_SEMAPHORE_MAX);
	semaphore = calloc(1, sizeof(*semaphore));
	if (semaphore) {
		semaphore->recipe.acquire = acquire_one;
		semaphore->permits =
		    permits == ROWLOCK_PERMITS_STORED ? 0 : permits;
	}
	code = rlk_recipe_make(client, name, &rlk_strategy_permits, &lock,
			       semaphore ? &semaphore->recipe : NULL, ret_lock,
			       reterr);
	if (code)
		rlk_prefix(reterr, "semaphore: ");
	return code;
}

int rowlock_semaphore_acquire(struct rowlock *lock, unsigned int count,
			      uint64_t wait_ms, struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock_client *client;
	struct rowlock_errinfo error;
	int64_t called_ms;
	int code = rlk_lock_refuses(lock, reterr);

	if (code)
		return code;
	if (lock->name->strategy != &rlk_strategy_permits)
		return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
				"acquire permits of " RLK_LOCK_FORMAT
				": it is no semaphore; make one by "
				"rowlock_semaphore_new()",
				RLK_LOCK_ARGS(lock));
	/* As in rowlock_acquire(). */
	client = lock->name->client;
	called_ms = rlk_now(client->clock);
	code = acquire(lock, count, wait_ms, &error);
	if (code && reterr)
		*reterr = error;
	return rlk_stats_acquire(client, called_ms, code);
}

unsigned int rowlock_semaphore_held(const struct rowlock *lock)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	unsigned int held = 0;

	if (rlk_lock_refuses(lock, NULL))
		return 0;
	rlk_mutex_lock(&lock->name->client->mutex);
	if (lock->name->strategy == &rlk_strategy_permits &&
	    rlk_lock_shows_locked(lock))
		held = lock->hold->upkeep->count;
	rlk_mutex_unlock(&lock->name->client->mutex);
	return held;
}

/* --------------------------------------------------------- the semaphore */

/* Set the number of permits of @name to @permits; 0: look it up. */
static int exchange(struct rowlock_client *client, const char *name,
		    unsigned int permits, struct rlk_permits_seen *ret_seen,
		    struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = RLK_DONE;
	struct rlk_conn *conn;
	int code =
	    rlk_client_conn(client, RLK_BAY_CONTROL,
			    rlk_client_call_until(client), &conn, reterr);

	if (code)
		return code;
	for (int tries = 0; tries < TRIES; tries++) {
		fault = permits
			    ? rlk_permits_set(conn, name, permits, reterr)
			    : rlk_permits_look(conn, name, ret_seen, reterr);
		if (!rlk_fault_passes(fault))
			break;
	}
	rlk_pool_put(client->pool, conn);
	code = rlk_client_code(client, fault, reterr);
	if (code)
		rlk_prefix(reterr, "%s semaphore '%s': ",
			   permits ? "resize" : "look at", name);
	return code;
}

static int speak(struct rowlock_client *client, const char *name,
		 unsigned int permits, struct rlk_permits_seen *ret_seen,
		 struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock_errinfo error;
	int code = rlk_client_refuses(client, reterr);

	if (code)
		return code;
	code =
	    rlk_name_check("semaphore: the name", name, client->server, &error);
	if (!code)
		code = exchange(client, name, permits, ret_seen, &error);
	if (code && reterr)
		*reterr = error;
	return code;
}

int rowlock_semaphore_count(struct rowlock_client *client, const char *name,
			    unsigned int *ret_permits, unsigned int *ret_used,
			    struct rowlock_errinfo *reterr)
{
	struct rlk_permits_seen seen;
	int code = ret_permits && ret_used
		       ? speak(client, name, 0, &seen, reterr)
		       : rlk_fail_null("ret_permits or ret_used", reterr);

	if (code)
		return code;
	*ret_permits = seen.permits;
	*ret_used = seen.used;
	return 0;
}

int rowlock_semaphore_resize(struct rowlock_client *client, const char *name,
			     unsigned int permits,
			     struct rowlock_errinfo *reterr)
{
	if (permits < 1 || permits > ROWLOCK_SEMAPHORE_MAX)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"resize semaphore '%.150s': %u permits; give 1 "
				"to %d",
				name ? name : "", permits,
				ROWLOCK_SEMAPHORE_MAX);
	return speak(client, name, permits, NULL, reterr);
}
