/* SPDX-License-Identifier: MIT */
/*
 * rowlock_acquire(), rowlock_release() and rowlock_verify(): the calls on a
 * hold that ask the server.
 *
 * From the start of a release the lock is not held any more, whatever comes:
 * if the server does not answer, the chores go on trying to remove the row,
 * and it dies with the session at the latest. The next local waiter's turn
 * comes when the server has answered.
 */
#include "core/commit.h"
#include "core/lock.h"

#include "base/error.h"
#include "core/threads.h"

/* A part of the 100 ms that an acquire may return after its deadline. */
#define GRACE_MS 50

#include <string.h>

/* -------------------------------------------------------------- release */

static int lost_before(struct rowlock *lock, const char *reason,
		       struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, ROWLOCK_ELOST,
			"release " RLK_LOCK_FORMAT
			": it was lost before (%s); check what it protected",
			RLK_LOCK_ARGS(lock), reason);
}

/* A DELETE by attempt may be sent as often as we like. After one without an
 * answer a missing row proves nothing: that one may have deleted it. */
static int release_lease(struct rowlock *lock, struct rlk_hold *hold,
			 int64_t until, struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = hold->client;
	const struct rlk_errand errand = { until, true, NULL };
	bool unanswered = false;
	enum rlk_fault fault;
	bool found = false;

	do {
		fault = rlk_commit_release(hold, &errand, &found, reterr);
		unanswered = unanswered || fault == RLK_UNKNOWN;
	} while (rlk_commit_again(fault) && rlk_now(client->clock) < until);
	rlk_mutex_lock(&client->mutex);
	if (hold->state == RLK_HOLD_RELEASING) {
		if (fault)
			rlk_hold_abandon_locked(hold, NULL);
		else
			rlk_hold_over_locked(hold);
	}
	rlk_mutex_unlock(&client->mutex);
	if (fault)
		rlk_prefix(reterr,
			   "release '%s' (%s): not held any more, but its row "
			   "may be there until it is cleaned up: ",
			   lock->name, lock->strategy->name);
	if (fault)
		return reterr->code;
	if (!found && !unanswered)
		return lost_before(lock, "its row was gone", reterr);
	return 0;
}

static int release_pinned(struct rowlock *lock, struct rlk_hold *hold,
			  int64_t until, struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = hold->client;
	struct rlk_request request = rlk_hold_request(hold);
	struct rlk_conn *conn = NULL;
	struct rlk_mark mark;
	enum rlk_fault fault;
	bool found;

	rlk_mutex_lock(&client->mutex);
	if (rlk_hold_take_conn_locked(hold, until)) {
		conn = TAKE_PTR(hold->conn);
		rlk_hold_put_conn_locked(hold);
	}
	rlk_mutex_unlock(&client->mutex);
	if (!conn)
		return lost_before(lock, hold->reason, reterr);
	rlk_conn_mark(conn, &mark);
	rlk_conn_set_until(conn, until);
	fault = hold->strategy->release(conn, &request, &found, reterr);
	rlk_deadline_unwatch(client, rlk_conn_fd(conn));
	if (fault)
		rlk_pool_discard(client->pool, conn);
	else
		rlk_pool_put(client->pool, conn);
	rlk_mutex_lock(&client->mutex);
	if (hold->state == RLK_HOLD_RELEASING && fault)
		rlk_hold_abandon_locked(hold, &mark);
	else if (hold->state == RLK_HOLD_RELEASING)
		rlk_hold_over_locked(hold);
	rlk_mutex_unlock(&client->mutex);
	/* Without an answer the connection has ended, and nobody knows since
	 * when. */
	if (fault)
		return lost_before(lock, "its connection ended", reterr);
	return 0;
}

/* The last level: the hold, with a reference of ours, is RELEASING; NULL: one
 * level less, or it was lost (*@ret_lost). */
static struct rlk_hold *let_go_locked(struct rowlock *lock, bool *ret_lost)
{
	struct rlk_hold *hold = lock->hold;

	*ret_lost = !rlk_hold_check_locked(hold);
	hold->depth--;
	if (--lock->depth > 0)
		return NULL;
	rlk_hold_get_locked(hold);
	rlk_lock_detach_locked(lock);
	if (*ret_lost || hold->depth > 0) {
		rlk_hold_put_locked(hold);
		return NULL;
	}
	rlk_hold_releasing_locked(hold);
	return hold;
}

static int release(struct rowlock *lock, int64_t until_ms,
		   struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = lock->client;
	struct rowlock_errinfo error;
	struct rlk_hold *hold;
	const char *reason;
	bool lost;
	int code = 0;

	rlk_mutex_lock(&client->mutex);
	hold = rlk_lock_hold_locked(lock, &code, reterr);
	if (!hold) {
		rlk_mutex_unlock(&client->mutex);
		return code;
	}
	rlk_hold_check_locked(hold);
	reason = hold->reason;
	lock->calls++;
	hold = let_go_locked(lock, &lost);
	rlk_mutex_unlock(&client->mutex);
	if (lost)
		code = lost_before(lock, reason, &error);
	else if (hold)
		code = hold->strategy->pins_connection
			   ? release_pinned(lock, hold, until_ms, &error)
			   : release_lease(lock, hold, until_ms, &error);
	rlk_mutex_lock(&client->mutex);
	if (hold)
		rlk_hold_put_locked(hold);
	lock->calls--;
	rlk_mutex_unlock(&client->mutex);
	if (code && reterr)
		*reterr = error;
	return code;
}

int rowlock_release(struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();

	if (rlk_client_forked(lock->client))
		return rlk_client_fail_forked(lock->client, reterr);
	return release(lock, rlk_client_call_until(lock->client), reterr);
}

/* The token that comes with the grant, in what is left of the caller's time; if
 * there is none, there is no grant. */
static int draw_with_grant(struct rowlock *lock, int64_t until_ms,
			   struct rowlock_errinfo *reterr)
{
	int64_t call = rlk_client_call_until(lock->client);
	uint64_t token;
	int code;

	until_ms = rlk_after(until_ms, GRACE_MS);
	if (call < until_ms)
		until_ms = call;
	code = rlk_token(lock, until_ms, &token, reterr);
	if (code)
		release(lock, rlk_after(until_ms, GRACE_MS / 2), NULL);
	return code;
}

static uint64_t time_left(const struct rowlock *lock, int64_t until_ms)
{
	int64_t now = rlk_now(lock->client->clock);

	/* Not 0: that would be a try. */
	return until_ms > now ? (uint64_t) (until_ms - now) : 1;
}

/* A hold that is lost before its token is drawn was never shown to the caller:
 * he has nothing to release, and asks on for as long as he has. */
static int acquire_with_token(struct rowlock *lock, uint64_t wait_ms,
			      int64_t until_ms, struct rowlock_errinfo *reterr)
{
	for (;;) {
		int code = rlk_acquire(lock, wait_ms, reterr);

		if (code)
			return code;
		code = draw_with_grant(lock, until_ms, reterr);
		if (code != ROWLOCK_ELOST)
			return code;
		/* Each try has a call's time: a second one would be late. */
		if (wait_ms == 0 || rlk_now(lock->client->clock) >= until_ms)
			return rlk_fail(reterr, ROWLOCK_ECONNECT,
					"acquire " RLK_LOCK_FORMAT
					": granted, and lost again before its "
					"token was drawn; it is not held",
					RLK_LOCK_ARGS(lock));
		if (wait_ms && wait_ms != ROWLOCK_FOREVER)
			wait_ms = time_left(lock, until_ms);
	}
}

int rowlock_acquire(struct rowlock *lock, uint64_t wait_ms,
		    struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock_errinfo error;
	int64_t until;
	int code;

	if (rlk_client_forked(lock->client))
		return rlk_client_fail_forked(lock->client, reterr);
	until = wait_ms ? rlk_after(rlk_now(lock->client->clock), wait_ms)
			: rlk_client_call_until(lock->client);
	code = lock->flags & ROWLOCK_TOKEN_WITH_GRANT
		   ? acquire_with_token(lock, wait_ms, until, &error)
		   : rlk_acquire(lock, wait_ms, &error);
	if (code && reterr)
		*reterr = error;
	return code;
}
