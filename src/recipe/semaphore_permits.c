/* SPDX-License-Identifier: MIT */
/*
 * Permits: what is more than a lock. They are acquired as every lock is; what
 * is asked and changed beside that is about the semaphore, not a hold.
 */
#include "recipe/semaphore_permits.h"

#include "base/error.h"
#include "core/call.h"
#include "db/lend.h"
#include "hold/handle.h"
#include "strategy/permits.h"
#include "wait/line.h"

/* Others are in the way for a moment: so often. */
#define TRIES 5

int rlk_permits_new(struct rowlock_client *client, const char *name,
		    const struct rowlock_options *options,
		    struct rowlock **ret_lock, struct rowlock_errinfo *reterr)
{
	return rlk_lock_make(client, name, &rlk_strategy_permits, options,
			     ret_lock, reterr);
}

int rlk_permits_acquire(struct rowlock *lock, unsigned int permits,
			unsigned int count, uint64_t wait_ms,
			struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock_client *client = lock->name->client;
	struct rowlock_errinfo error;
	int code;

	if (rlk_client_forked(client))
		return rlk_client_fail_forked(client, reterr);
	code = rlk_acquire_permits(lock, permits, count, wait_ms, &error);
	if (code && reterr)
		*reterr = error;
	return code;
}

static unsigned int held(struct rowlock *lock)
{
	_cleanup_(rlk_unguardp) struct rlk_mutex *guard =
	    rlk_guard(&lock->name->client->mutex);

	return lock->hold && rlk_hold_check_locked(lock->hold)
		   ? lock->hold->upkeep->count
		   : 0;
}

unsigned int rlk_permits_held(struct rowlock *lock)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();

	return rlk_client_forked(lock->name->client) ? 0 : held(lock);
}

/* --------------------------------------------------------- the semaphore */

/* Have @name @permits; 0: look how many it has. */
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
		if (fault != RLK_CONFLICT && fault != RLK_BUSY)
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
	const struct rowlock_options defaults = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_errinfo error;
	int code;

	if (rlk_client_forked(client))
		return rlk_client_fail_forked(client, reterr);
	code = rlk_lock_check(client, name, &defaults, &error);
	if (!code)
		code = exchange(client, name, permits, ret_seen, &error);
	if (code && reterr)
		*reterr = error;
	return code;
}

int rlk_permits_count(struct rowlock_client *client, const char *name,
		      unsigned int *ret_permits, unsigned int *ret_used,
		      struct rowlock_errinfo *reterr)
{
	struct rlk_permits_seen seen;
	int code = speak(client, name, 0, &seen, reterr);

	if (code)
		return code;
	*ret_permits = seen.permits;
	*ret_used = seen.used;
	return 0;
}

int rlk_permits_resize(struct rowlock_client *client, const char *name,
		       unsigned int permits, struct rowlock_errinfo *reterr)
{
	return speak(client, name, permits, NULL, reterr);
}
