/* SPDX-License-Identifier: MIT */
/*
 * rowlock_release(): releases one level, and with the last one deletes the row,
 * unless a local waiter gets the hold.
 *
 * From the start of a release the lock is not held any more, whatever happens:
 * if the server does not answer, the chores go on trying to delete the row, and
 * it dies with the session at the latest. The next local waiter's turn comes
 * when the server has answered.
 */
#include "api/release.h"

#include "base/error.h"
#include "core/call.h"
#include "db/lend.h"
#include "group/commit.h"
#include "group/commit_bell.h"
#include "hold/keeping.h"
#include "hold/losses.h"
#include "hold/ping.h"
#include "strategy/session_row.h"
#include "wait/doorbell.h"
#include "wait/handover.h"

#include <string.h>

static int lost_before(struct rowlock *lock, const char *reason,
		       struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, ROWLOCK_ELOST,
			"release " RLK_LOCK_FORMAT
			": it was lost before (%s); check what it protected",
			RLK_LOCK_ARGS(lock), reason);
}

/* The release finds that @hold was lost. */
static int lost_unnoticed(struct rowlock *lock, struct rlk_hold *hold,
			  const char *reason, struct rowlock_errinfo *reterr)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&lock->name->client->mutex);

	rlk_count_loss_locked(hold, reason);
	return lost_before(lock, reason, reterr);
}

/* Take the connection that has the bell of @hold. NULL if there is none, or if
 * a ping is under way on it: then the pinger closes it. */
static struct rlk_conn *take_bell(struct rlk_hold *hold)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&hold->name->client->mutex);

	if (!rlk_hold_conn(hold) || hold->conn_busy)
		return NULL;
	rlk_pinger_forget_locked(hold);
	return rlk_hold_take_conn(hold);
}

/* As take_bell(), but a connection retired by a change of server is closed, and
 * its bell goes with it. */
static struct rlk_conn *take_good_bell(struct rlk_hold *hold)
{
	struct rlk_conn *conn = take_bell(hold);

	if (conn && rlk_conn_retired(conn))
		rlk_pool_discard(hold->name->client->pool, TAKE_PTR(conn));
	return conn;
}

void rlk_release_bell(struct rlk_hold *hold, int64_t until_ms)
{
	struct rlk_conn *conn = take_good_bell(hold);

	if (conn)
		rlk_doorbell_ring_on(hold, conn, until_ms);
	rlk_commit_bell_ring(hold, until_ms);
}

/* The work left after one level is released; all zero: none. */
struct parting {
	const char *lost;       /* lost before: why, */
	bool unknown;           /* or given back, perhaps */
	struct rlk_hold *hold;  /* the last level: RELEASING, a reference */
	struct rlk_waker *next; /* it was handed over: wake the new owner */
	uint64_t breaks;        /* of the session, as known then */
	bool doubtful;          /* others may have removed the row unnoticed */
};

/* May others have removed the row of a live hold without a trace in the
 * session's row? Yes at its maximum; with a keep, which counts no breaks; while
 * a look for the broken lease is due; and by hand, if a transaction kept the
 * last look from its row. */
static bool is_doubtful_locked(const struct rlk_hold *hold)
{
	return hold->suspect || hold->name->client->look_breaks ||
	       hold->guard.unseen || rlk_hold_has_maximum(hold) ||
	       rlk_hold_is_kept(hold);
}

/* The row is gone, perhaps by a DELETE of ours that was not answered. It was
 * ours if no other client can have deleted the row: the session is there, so
 * the lease was never dead, and it counts no more breaks than were known. */
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

/* By a transaction without an answer, which deletes its row. */
static int fail_given_back(const struct rowlock *lock,
			   struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, ROWLOCK_EUNKNOWN,
			"release " RLK_LOCK_FORMAT
			": not held any more, but whether the transaction "
			"that was to give it back has done so is not known; "
			"look at what that wrote",
			RLK_LOCK_ARGS(lock));
}

/* A DELETE by attempt may be repeated. After one without an answer a missing
 * row proves nothing: that one may have deleted it. */
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
	} while (rlk_commit_again(fault) &&
		 rlk_client_has_time(client, fault, until));
	found->unsure = found->unsure || unanswered;
	return fault;
}

/* Delete the row, unless its name is to be kept for a while yet: then it stays,
 * and whoever waits finds that out. */
static enum rlk_fault remove_row(struct rlk_hold *hold, int64_t until,
				 struct rlk_found *found,
				 struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault;
	bool unsure;

	if (!rlk_hold_is_kept(hold))
		return delete_row(hold, until, found, reterr);
	fault = rlk_keep_leave(hold, until, &found->row, &unsure, reterr);
	if (fault)
		return fault;
	if (found->row) {
		rlk_release_bell(hold, until);
		return RLK_DONE;
	}
	fault = delete_row(hold, until, found, reterr);
	found->unsure = found->unsure || unsure;
	if (!fault)
		rlk_keep_close(hold, until);
	return fault;
}

static int release_lease(struct rowlock *lock, const struct parting *parting,
			 int64_t until, struct rowlock_errinfo *reterr)
{
	struct rlk_hold *hold = parting->hold;
	struct rowlock_client *client = hold->name->client;
	struct rlk_found found = { .row = false };
	enum rlk_fault fault = remove_row(hold, until, &found, reterr);

	found.unsure = found.unsure || parting->unknown;
	rlk_mutex_lock(&client->mutex);
	if (hold->state == RLK_HOLD_RELEASING) {
		if (fault)
			rlk_hold_abandon_locked(hold, NULL);
		else
			rlk_hold_over_locked(hold);
	}
	rlk_mutex_unlock(&client->mutex);
	if (fault == RLK_BUSY)
		rlk_fail_row_locked(client, reterr);
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
			    : lost_unnoticed(lock, hold,
					     hold->reason ? RLK_WAS_ADOPTED
							  : RLK_ROW_IS_GONE,
					     reterr);
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
		conn = rlk_hold_take_conn(hold);
		rlk_hold_put_conn_locked(hold);
	}
	rlk_mutex_unlock(&client->mutex);
	if (!conn)
		return lost_unnoticed(lock, hold, hold->reason, reterr);
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
	/* Without an answer the connection has ended, at an unknown time. */
	if (fault)
		return lost_unnoticed(lock, hold, "its connection ended",
				      reterr);
	return 0;
}

static struct parting let_go_locked(struct rowlock *lock, bool gone)
{
	struct rlk_hold *hold = lock->hold;
	bool exported = hold->state == RLK_HOLD_EXPORTED;
	bool held = exported || rlk_hold_stands_locked(hold);
	const struct rowlock_client *client = hold->name->client;
	struct parting parting = {
		.lost = held ? NULL : hold->reason,
		.unknown = hold->guard.may_be_gone,
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
		rlk_count_end_locked(hold);
		if (!gone && !exported)
			parting.next = rlk_hand_over_locked(hold, lock);
		if (!parting.next) {
			/* The others stand in line, and we had our turn. */
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

static bool has_work(const struct parting *parting)
{
	return parting->lost || parting->hold;
}

/* let_go_locked() for a call that is under way until finish(). */
static struct parting begin_locked(struct rowlock *lock)
{
	struct parting parting = let_go_locked(lock, false);

	if (has_work(&parting))
		lock->calls++;
	return parting;
}

/* Do the work: report a loss to the caller, or release on the server. */
static int finish(struct rowlock *lock, const struct parting *parting,
		  int64_t until_ms, struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = lock->name->client;
	int code;

	if (parting->next)
		rlk_cond_signal(&parting->next->cond);
	if (!has_work(parting))
		return 0;
	if (parting->lost)
		code = parting->unknown
			   ? fail_given_back(lock, reterr)
			   : lost_before(lock, parting->lost, reterr);
	else if (lock->name->strategy->pins_connection)
		code = release_pinned(lock, parting->hold, until_ms, reterr);
	else
		code = release_lease(lock, parting, until_ms, reterr);
	rlk_mutex_lock(&client->mutex);
	if (parting->hold)
		rlk_hold_put_locked(parting->hold);
	rlk_lock_leave_locked(lock);
	rlk_mutex_unlock(&client->mutex);
	return code;
}

static int release(struct rowlock *lock, bool inside, int64_t until_ms,
		   struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = lock->name->client;
	struct rowlock_errinfo error;
	struct parting parting;
	int code = 0;

	rlk_mutex_lock(&client->mutex);
	if (!rlk_lock_hold_locked(lock, inside, &code, reterr)) {
		rlk_mutex_unlock(&client->mutex);
		return code;
	}
	if (lock->hold->guard.in_transaction && lock->hold->depth == 1 &&
	    rlk_hold_check_locked(lock->hold)) {
		rlk_mutex_unlock(&client->mutex);
		return rlk_fail(reterr, ROWLOCK_EHELD,
				"release " RLK_LOCK_FORMAT
				": a transaction that was begun with it is "
				"open; commit it, or roll it back, first",
				RLK_LOCK_ARGS(lock));
	}
	parting = begin_locked(lock);
	rlk_mutex_unlock(&client->mutex);
	code = finish(lock, &parting, until_ms, &error);
	if (code && reterr)
		*reterr = error;
	return code;
}

int rlk_release(struct rowlock *lock, int64_t until_ms,
		struct rowlock_errinfo *reterr)
{
	return release(lock, true, until_ms, reterr);
}

void rlk_release_all(struct rowlock *lock, int64_t until_ms)
{
	struct rowlock_client *client = lock->name->client;
	struct rowlock_errinfo error;
	struct parting parting;
	int code;

	rlk_mutex_lock(&client->mutex);
	while (lock->hold) {
		/* It is for whoever adopts it. */
		if (lock->hold->state == RLK_HOLD_EXPORTED) {
			rlk_lock_detach_locked(lock);
			continue;
		}
		parting = begin_locked(lock);
		rlk_mutex_unlock(&client->mutex);
		code = finish(lock, &parting, until_ms, &error);
		if (code && code != ROWLOCK_ELOST)
			rlk_log(&client->log, ROWLOCK_LOG_WARNING, "free: %s",
				error.message);
		rlk_mutex_lock(&client->mutex);
	}
	rlk_mutex_unlock(&client->mutex);
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
		rlk_release_bell(parting.hold, until_ms);
	rlk_mutex_lock(&client->mutex);
	if (parting.hold && parting.hold->state == RLK_HOLD_RELEASING)
		rlk_hold_over_locked(parting.hold);
	if (parting.hold)
		rlk_hold_put_locked(parting.hold);
	rlk_lock_leave_locked(lock);
	rlk_mutex_unlock(&client->mutex);
}

int rowlock_release(struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	int code = rlk_lock_refuses(lock, reterr);

	return code
		   ? code
		   : release(lock, false,
			     rlk_client_call_until(lock->name->client), reterr);
}
