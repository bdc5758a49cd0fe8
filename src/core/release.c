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
#include "core/doorbell.h"
#include "core/handle.h"

#include "base/error.h"
#include "core/handover.h"
#include "core/threads.h"
#include "strategy/session.h"

#include <stdatomic.h>
#include <string.h>

/* A part of the 100 ms that an acquire may return after its deadline. */
#define GRACE_MS 50

/* -------------------------------------------------------------- release */

static int lost_before(struct rowlock *lock, const char *reason,
		       struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, ROWLOCK_ELOST,
			"release " RLK_LOCK_FORMAT
			": it was lost before (%s); check what it protected",
			RLK_LOCK_ARGS(lock), reason);
}

/* The connection that has the bell of @hold. NULL if it has none, or just pings
 * it: then the pinger ends it. */
static struct rlk_conn *take_bell(struct rlk_hold *hold)
{
	_cleanup_(rlk_unguardp) struct rlk_mutex *guard =
	    rlk_guard(&hold->name->client->mutex);

	if (!hold->conn || hold->conn_busy)
		return NULL;
	rlk_pinger_forget_locked(hold);
	return TAKE_PTR(hold->conn);
}

/* The same, on the server where others write: one that has been retired is
 * closed, and the bell goes with it. */
static struct rlk_conn *take_good_bell(struct rlk_hold *hold)
{
	struct rlk_conn *conn = take_bell(hold);

	if (conn && rlk_conn_retired(conn))
		rlk_pool_discard(hold->name->client->pool, TAKE_PTR(conn));
	return conn;
}

/* Is there time for another try, which may end as this one? */
static bool may_send_again(const struct rowlock_client *client,
			   enum rlk_fault fault, int64_t until_ms)
{
	int64_t left = until_ms - rlk_now(client->clock);

	/* What is cut off while it waits for a locked row is in doubt, and
	 * costs its connection. */
	return rlk_commit_again(fault) &&
	       left > (fault == RLK_BUSY ? RLK_LOCK_WAIT_S * 1000 : 0);
}

/* What becomes of a level that is let go: nothing more, if all is empty. */
struct parting {
	const char *lost;       /* before: why */
	struct rlk_hold *hold;  /* the last level: RELEASING, a reference */
	struct rlk_waker *next; /* it was handed over: wake the new owner */
	uint64_t breaks;        /* of the session, as they were known then */
	bool doubtful;          /* others may have removed the row, and nothing
				   tells it */
};

/* May others have removed the row of a hold that is held, without a word of it
 * in the session's? At its maximum; and which lease was broken is being looked
 * up. */
static bool is_doubtful_locked(const struct rlk_hold *hold)
{
	return hold->suspect || hold->name->client->look_breaks ||
	       rlk_hold_has_maximum(hold);
}

/* The row is gone, and a DELETE of ours without an answer may have been what
 * deleted it. It was, if nobody else can have: the session is there, so the
 * lease was never dead, and it counts no break more than were known of. */
static bool nobody_else_removed(const struct parting *parting, int64_t until)
{
	const struct rlk_hold *hold = parting->hold;
	struct rowlock_client *client = hold->name->client;
	struct rowlock_errinfo error;
	struct rlk_conn *conn;
	uint64_t breaks = 0;
	bool found = false;

	if (parting->doubtful ||
	    rlk_pool_get(client->pool, RLK_BAY_CONTROL, until, false, NULL,
			 &conn, &error))
		return false;
	if (rlk_session_breaks(conn, hold->session, &found, &breaks, &error))
		found = false;
	rlk_pool_put(client->pool, conn);
	return found && breaks == parting->breaks;
}

static int fail_unknown(const struct rowlock *lock,
			struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, ROWLOCK_EUNKNOWN,
			"release " RLK_LOCK_FORMAT
			": its row is gone, but the answer was lost, and "
			"whether it was held until then is not known; check "
			"what it protected",
			RLK_LOCK_ARGS(lock));
}

/* A DELETE by attempt may be sent as often as we like. After one without an
 * answer a missing row proves nothing: that one may have deleted it. */
static enum rlk_fault delete_row(struct rlk_hold *hold, int64_t until,
				 struct rlk_found *found,
				 struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = hold->name->client;
	struct rlk_errand errand = { .until_ms = until, .persist = true };
	bool unanswered = false;
	enum rlk_fault fault;

	do {
		struct rlk_conn *conn = take_good_bell(hold);

		fault = conn ? rlk_doorbell_release(hold, conn, until,
						    &found->row, reterr)
			     : rlk_commit_release(hold, &errand, found, reterr);
		unanswered = unanswered || fault == RLK_UNKNOWN;
		errand.aside = fault == RLK_BUSY;
	} while (may_send_again(client, fault, until));
	found->unsure = found->unsure || unanswered;
	return fault;
}

static int release_lease(struct rowlock *lock, const struct parting *parting,
			 int64_t until, struct rowlock_errinfo *reterr)
{
	struct rlk_hold *hold = parting->hold;
	struct rowlock_client *client = hold->name->client;
	struct rlk_found found = { .row = false };
	enum rlk_fault fault = delete_row(hold, until, &found, reterr);

	rlk_mutex_lock(&client->mutex);
	if (hold->state == RLK_HOLD_RELEASING) {
		if (fault)
			rlk_hold_abandon_locked(hold, NULL);
		else
			rlk_hold_over_locked(hold);
	}
	rlk_mutex_unlock(&client->mutex);
	if (fault == RLK_BUSY)
		rlk_fail_db(reterr, ROWLOCK_EDB, reterr->mysql,
			    "a transaction on %s has its row locked; see "
			    "information_schema.INNODB_TRX for those that are "
			    "open",
			    client->server);
	if (fault)
		rlk_prefix(reterr,
			   "release '%s' (%s): not held any more, but its row "
			   "may be there until it is cleaned up: ",
			   rlk_name_shown(lock->name).text,
			   lock->name->strategy->name);
	if (fault)
		return reterr->code;
	if (found.row || (found.unsure && nobody_else_removed(parting, until)))
		return 0;
	return found.unsure ? fail_unknown(lock, reterr)
			    : lost_before(lock, "its row was gone", reterr);
}

static int release_pinned(struct rowlock *lock, struct rlk_hold *hold,
			  int64_t until, struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = hold->name->client;
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
	fault = hold->name->strategy->release(conn, &request, &found, reterr);
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

static struct parting let_go_locked(struct rowlock *lock, bool gone)
{
	struct rlk_hold *hold = lock->hold;
	bool held = rlk_hold_check_locked(hold);
	const struct rowlock_client *client = hold->name->client;
	struct parting parting = {
		.lost = held ? NULL : hold->reason,
		.breaks = client->session.breaks,
		.doubtful = is_doubtful_locked(hold),
	};

	if (hold->owner == rlk_thread_serial())
		rlk_end_owe(-1);
	hold->depth--;
	if (--lock->depth > 0)
		return parting;
	rlk_hold_get_locked(hold);
	rlk_lock_detach_locked(lock);
	if (held && hold->depth == 0) {
		if (!gone)
			parting.next = rlk_hand_over_locked(hold, lock);
		if (!parting.next) {
			/* They stand in line, and it was our turn. */
			if (hold->wanted)
				rlk_doorbell_note_busy(hold->name->client,
						       hold->name->text);
			rlk_hold_releasing_locked(hold);
			parting.hold = hold;
			return parting;
		}
	}
	rlk_hold_put_locked(hold);
	return parting;
}

/* What there is to say: to the caller, or to the server. */
static int finish(struct rowlock *lock, const struct parting *parting,
		  int64_t until_ms, struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = lock->name->client;
	int code;

	if (parting->lost)
		code = lost_before(lock, parting->lost, reterr);
	else if (lock->name->strategy->pins_connection)
		code = release_pinned(lock, parting->hold, until_ms, reterr);
	else
		code = release_lease(lock, parting, until_ms, reterr);
	rlk_mutex_lock(&client->mutex);
	if (parting->hold)
		rlk_hold_put_locked(parting->hold);
	lock->calls--;
	rlk_mutex_unlock(&client->mutex);
	return code;
}

int rlk_release(struct rowlock *lock, int64_t until_ms,
		struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = lock->name->client;
	struct rowlock_errinfo error;
	struct parting parting;
	int code = 0;
	bool more;

	rlk_mutex_lock(&client->mutex);
	if (!rlk_lock_hold_locked(lock, &code, reterr)) {
		rlk_mutex_unlock(&client->mutex);
		return code;
	}
	if (lock->hold->in_transaction && lock->hold->depth == 1 &&
	    rlk_hold_check_locked(lock->hold)) {
		rlk_mutex_unlock(&client->mutex);
		return rlk_fail(reterr, ROWLOCK_EHELD,
				"release " RLK_LOCK_FORMAT
				": a transaction that was begun with it is "
				"open; commit it, or roll it back, first",
				RLK_LOCK_ARGS(lock));
	}
	parting = let_go_locked(lock, false);
	more = parting.lost || parting.hold;
	if (more)
		lock->calls++;
	rlk_mutex_unlock(&client->mutex);
	if (parting.next)
		rlk_cond_signal(&parting.next->cond);
	if (more)
		code = finish(lock, &parting, until_ms, &error);
	if (code && reterr)
		*reterr = error;
	return code;
}

/* Who waits for it is woken. */
static void let_bell_go(struct rlk_hold *hold, int64_t until_ms)
{
	struct rlk_conn *conn = take_good_bell(hold);

	if (conn)
		rlk_doorbell_ring_on(hold, conn, until_ms);
	rlk_doorbell_ring(hold, atomic_exchange(&hold->bell_conn, 0), until_ms);
}

void rlk_release_gone(struct rowlock *lock, const struct rlk_hold *hold,
		      int64_t until_ms)
{
	struct rowlock_client *client = lock->name->client;
	struct parting parting = { .lost = NULL };

	rlk_mutex_lock(&client->mutex);
	lock->calls++;
	if (lock->hold == hold)
		parting = let_go_locked(lock, true);
	rlk_mutex_unlock(&client->mutex);
	if (parting.hold)
		let_bell_go(parting.hold, until_ms);
	rlk_mutex_lock(&client->mutex);
	if (parting.hold && parting.hold->state == RLK_HOLD_RELEASING)
		rlk_hold_over_locked(parting.hold);
	if (parting.hold)
		rlk_hold_put_locked(parting.hold);
	lock->calls--;
	rlk_mutex_unlock(&client->mutex);
}

int rowlock_release(struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();

	if (rlk_client_forked(lock->name->client))
		return rlk_client_fail_forked(lock->name->client, reterr);
	return rlk_release(lock, rlk_client_call_until(lock->name->client),
			   reterr);
}

static int fail_late(const struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, ROWLOCK_ETIMEDOUT,
			"acquire " RLK_LOCK_FORMAT
			": granted, but its token was not drawn in time; it is "
			"not held",
			RLK_LOCK_ARGS(lock));
}

static bool is_drawn(const struct rowlock *lock)
{
	_cleanup_(rlk_unguardp) struct rlk_mutex *guard =
	    rlk_guard(&lock->name->client->mutex);

	return lock->hold && lock->hold->token;
}

/* The token that comes with the grant, in what is left of the caller's time; if
 * there is none, there is no grant. */
static int draw_with_grant(struct rowlock *lock, uint64_t wait_ms,
			   int64_t until_ms, struct rowlock_errinfo *reterr)
{
	const struct rowlock_client *client = lock->name->client;
	int64_t call = rlk_client_call_until(client);
	bool late;
	uint64_t token;
	int code;

	until_ms = rlk_after(until_ms, GRACE_MS);
	late = wait_ms && rlk_now(client->clock) + RLK_QUESTION_MS >= until_ms;
	if (call < until_ms)
		until_ms = call;
	code = late && !is_drawn(lock)
		   ? fail_late(lock, reterr)
		   : rlk_token(lock, until_ms, &token, reterr);
	if (code)
		rlk_release(lock, rlk_after(until_ms, GRACE_MS / 2), NULL);
	return code;
}

static int fail_lost(const struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, ROWLOCK_ECONNECT,
			"acquire " RLK_LOCK_FORMAT
			": granted, and lost again before its token was drawn; "
			"it is not held",
			RLK_LOCK_ARGS(lock));
}

/* A draw that did not come about, and was not refused by the server either. */
static bool no_time_left(const struct rowlock *lock, int64_t until_ms,
			 const struct rowlock_errinfo *error)
{
	return error->mysql == 0 &&
	       rlk_now(lock->name->client->clock) >= until_ms;
}

int rlk_draw_with_grant(struct rowlock *lock, uint64_t wait_ms,
			int64_t until_ms, struct rowlock_errinfo *reterr)
{
	int code = draw_with_grant(lock, wait_ms, until_ms, reterr);

	if (wait_ms && (code == ROWLOCK_EDB || code == ROWLOCK_ECONNECT) &&
	    no_time_left(lock, until_ms, reterr))
		return fail_late(lock, reterr);
	return code;
}

static uint64_t time_left(const struct rowlock *lock, int64_t until_ms)
{
	int64_t now = rlk_now(lock->name->client->clock);

	/* Not 0: that would be a try. */
	return until_ms > now ? (uint64_t) (until_ms - now) : 1;
}

void rlk_lock_show(struct rowlock *lock)
{
	_cleanup_(rlk_unguardp) struct rlk_mutex *guard =
	    rlk_guard(&lock->name->client->mutex);

	rlk_lock_show_locked(lock);
}

/* One call is granted no more often than that, and loses each of them. */
#define GRANTS_MOST 5

/* A hold that is lost before its token is drawn was never shown to the caller:
 * he has nothing to release, and asks on for as long as he has. */
static int acquire_with_token(struct rowlock *lock, uint64_t wait_ms,
			      int64_t until_ms, struct rowlock_errinfo *reterr)
{
	for (int grants = 1;; grants++) {
		int code = rlk_acquire(lock, wait_ms, reterr);

		if (code)
			return code;
		code = rlk_draw_with_grant(lock, wait_ms, until_ms, reterr);
		if (code != ROWLOCK_ELOST)
			return code;
		/* Each try has a call's time: a second one would be late. */
		if (wait_ms == 0 || grants == GRANTS_MOST ||
		    rlk_now(lock->name->client->clock) >= until_ms)
			return fail_lost(lock, reterr);
		if (wait_ms && wait_ms != ROWLOCK_FOREVER)
			wait_ms = time_left(lock, until_ms);
	}
}

static int acquire_and_draw(struct rowlock *lock, uint64_t wait_ms,
			    int64_t until_ms, struct rowlock_errinfo *reterr)
{
	bool canceled = rlk_lock_is_canceled(lock);
	int code = acquire_with_token(lock, wait_ms, until_ms, reterr);

	/* It has not waited yet: an election tries once more. */
	rlk_lock_forget_cancel(lock, canceled || code == ROWLOCK_ELOST);
	if (code == 0)
		rlk_lock_show(lock);
	return code;
}

int rowlock_acquire(struct rowlock *lock, uint64_t wait_ms,
		    struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock_errinfo error;
	int64_t until;
	int code;

	if (rlk_client_forked(lock->name->client))
		return rlk_client_fail_forked(lock->name->client, reterr);
	until = wait_ms ? rlk_after(rlk_now(lock->name->client->clock), wait_ms)
			: rlk_client_call_until(lock->name->client);
	code = lock->flags & ROWLOCK_TOKEN_WITH_GRANT
		   ? acquire_and_draw(lock, wait_ms, until, &error)
		   : rlk_acquire(lock, wait_ms, &error);
	if (code && reterr)
		*reterr = error;
	return code;
}
