/* SPDX-License-Identifier: MIT */
/*
 * The server granted the lock: the hold begins, if the grant still counts.
 *
 * A lease counts only if the session that its row names is still ours, and its
 * maximum is not over; else its row is dead or is given back, and the question
 * is asked again. A row hold keeps its connection, whose socket is watched from
 * the same moment on.
 */
#include "wait/grant.h"

#include "base/error.h"
#include "base/random.h"
#include "core/call.h"
#include "core/overrun.h"
#include "core/timer.h"
#include "db/lend.h"
#include "group/commit.h"

/* A statement without an answer sets no error. */
static void no_answer(struct rlk_asking *asking)
{
	if (!asking->error.code)
		rlk_fail_no_answer(asking->client, 0, &asking->error);
}

/* A grant counts only if the session that it names is still ours. */
static bool begin_lease(struct rlk_asking *asking)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&asking->client->mutex);
	struct rlk_session *session = &asking->client->session;
	struct rlk_hold *hold = asking->hold;

	if (session->state != RLK_SESSION_ALIVE ||
	    session->id != hold->session ||
	    rlk_now(asking->client->clock) >= session->valid_until_ms)
		return false;
	/* Among several holders, or of a set, the bell goes on to the next
	 * waiter. */
	if (asking->spot.line == RLK_LINE_FRONT &&
	    !hold->name->strategy->many && !hold->name->strategy->of_names) {
		rlk_spot_move(asking, RLK_LINE_JOINS);
		rlk_hold_keep_bell_locked(hold, TAKE_PTR(asking->conn));
	}
	hold->wanted = asking->wanted;
	rlk_hold_start_locked(hold);
	/* Attach at once: a loss in the next moment must find its owner. */
	rlk_lock_attach_locked(asking->waiter->lock, hold);
	if (asking->waiter->wish.count == 1 && !asking->waiter->refused)
		asking->waiter->lock->slot = (uint16_t) hold->upkeep->slots[0];
	/* A break that was seen while the answer was on its way may have hit
	 * this very lease: the look that followed did not know it. */
	if (session->breaks != asking->waiter->breaks) {
		asking->client->look_breaks = true;
		rlk_sleeper_wake(&asking->client->chores_sleeper);
	}
	return true;
}

static int64_t refresh_until(const struct rlk_waiter *waiter)
{
	int64_t call = rlk_client_call_until(waiter->name->client);
	int64_t until = waiter->wish.try ? waiter->give_up_ms
					 : rlk_after(waiter->until_ms,
						     RLK_OVERRUN_REFRESH_MS);

	return call < until ? call : until;
}

/* After a long wait in the server, only an answer to a new statement tells how
 * long the idle timeout keeps the grant. */
static int64_t refresh_row(struct rlk_asking *asking, int64_t t0)
{
	struct rowlock_client *client = asking->client;
	struct rlk_request request = rlk_hold_request(asking->hold);
	int64_t now = rlk_now(client->clock);
	bool found;

	if (now - t0 < (int64_t) client->row_idle_ms / 3)
		return t0;
	rlk_conn_set_until(asking->conn, refresh_until(asking->waiter));
	if (asking->name->strategy->confirm(asking->conn, &request, &found,
					    &asking->error)) {
		no_answer(asking);
		return -1;
	}
	return now;
}

/* The connection may have ended since the pool checked it, when the deadline
 * thread found no hold on it. */
static bool ended_meanwhile_locked(const struct rlk_asking *asking)
{
	return asking->client->stray_ends != asking->stray_ends &&
	       !rlk_conn_alive(rlk_hold_conn(asking->hold));
}

static enum rlk_step begin_row(struct rlk_asking *asking, int64_t t0)
{
	struct rowlock_client *client = asking->client;
	struct rlk_hold *hold = asking->hold;
	int error;

	t0 = refresh_row(asking, t0);
	if (t0 < 0) {
		/* Only closing the connection surely unlocks the row. */
		rlk_pool_discard(client->pool, TAKE_PTR(asking->conn));
		return rlk_failed(asking, ROWLOCK_ECONNECT);
	}
	rlk_mutex_lock(&client->mutex);
	hold->upkeep->conn = TAKE_PTR(asking->conn);
	rlk_hold_start_locked(hold);
	rlk_lock_attach_locked(asking->waiter->lock, hold);
	error = rlk_deadline_watch_locked(client, rlk_hold_conn(hold));
	if (error) {
		rlk_lock_detach_locked(asking->waiter->lock);
		rlk_hold_lose_locked(hold, "its connection cannot be watched");
	} else if (ended_meanwhile_locked(asking)) {
		rlk_hold_lose_locked(hold, "its connection ended");
	} else {
		rlk_hold_answered_locked(hold, t0);
	}
	rlk_mutex_unlock(&client->mutex);
	if (error)
		return rlk_end_with(asking,
				    rlk_fail(&asking->error, ROWLOCK_ESYSTEM,
					     "no way to watch its connection; "
					     "raise the limit of descriptors"));
	return rlk_end_with(asking, 0);
}

/* The maximum counts from the first sending. A grant that comes after it is
 * given back. */
static bool too_late(struct rlk_asking *asking)
{
	uint64_t max = asking->waiter->lock->max_hold_ms;
	int64_t until;

	if (max == 0)
		return false;
	until = rlk_after(asking->sent_ms, max - rlk_margin(max));
	asking->hold->upkeep->max_until_ms = until;
	return rlk_now(asking->client->clock) >= until;
}

/* The grant came too late: delete its row, and ask again as another attempt. */
static enum rlk_step give_back(struct rlk_asking *asking)
{
	const struct rlk_errand errand = {
		.until_ms = asking->waiter->give_up_ms,
	};
	struct rlk_found found;

	if (rlk_commit_release(asking->hold, &errand, &found, &asking->error)) {
		asking->doubt.unsure = true;
		return rlk_end_with(asking, ROWLOCK_ECONNECT);
	}
	asking->hold->attempt = rlk_random();
	asking->hold->bell_conn = 0;
	asking->hold->token = 0;
	asking->sent_ms = 0;
	asking->ask = RLK_ASK_FIRST;
	return RLK_STEP_AGAIN;
}

enum rlk_step rlk_granted(struct rlk_asking *asking, int64_t t0)
{
	asking->doubt.unsure = false;
	if (asking->name->strategy->pins_connection) {
		/* It was granted just now, not when it was first asked for. */
		asking->sent_ms = rlk_now(asking->client->clock);
		too_late(asking);
		return begin_row(asking, t0);
	}
	if (!too_late(asking) && begin_lease(asking))
		return rlk_end_with(asking, 0);
	return give_back(asking);
}
