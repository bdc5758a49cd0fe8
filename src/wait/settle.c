/* SPDX-License-Identifier: MIT */
/*
 * Settles a request that got no answer.
 *
 * A request can be executed long after its client gave up: a dead client's
 * INSERT that was blocked lands when the row is free. So "reconnect, look,
 * nothing there" proves nothing. First the session that the request was sent on
 * is ended in the server, by its mark; then the database's state is final, and
 * asking again with the same attempt tells whether the row is ours.
 *
 * Where no fence reaches (another node of a cluster, KILL refused, no answer to
 * it in a call's time) the outcome stays unknown. The attempt is abandoned, its
 * row is deleted, and a waiter with time left asks on as another attempt: the
 * row of the first may still come, but no client will believe it (abandoned.c).
 *
 * An attempt is also abandoned if the server is away for longer than the
 * waiter's time: the chores end the session, and delete the row of this attempt
 * only.
 *
 * A waiter keeps its attempt from the list of the chores, and ends the session
 * itself, as long as it can use the outcome: it waits for that.
 */
#include "wait/settle.h"

#include "base/error.h"
#include "core/call.h"
#include "core/waiter.h"
#include "db/lend.h"

/* Between two tries to end a session. */
#define REST_MS 20

void rlk_fail_abandoned(struct rlk_asking *asking)
{
	rlk_fail_no_answer(asking->client, 0, &asking->error);
	rlk_prefix(&asking->error, "it is not held, and is busy for others "
				   "until this client has taken the request "
				   "back: ");
}

void rlk_give_up(struct rlk_asking *asking)
{
	if (!asking->code || !asking->doubt.unsure)
		return;
	rlk_mutex_lock(&asking->client->mutex);
	rlk_hold_abandon_locked(asking->hold, &asking->doubt.mark);
	rlk_mutex_unlock(&asking->client->mutex);
}

/* May the waiter go on? Sleeps first, so as not to ask an absent server in a
 * tight loop. */
static bool rest(struct rlk_asking *asking, uint64_t ms)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&asking->client->mutex);
	struct rlk_waiter *waiter = asking->waiter;
	int64_t now = rlk_now(asking->client->clock);

	if (waiter->canceled || now >= waiter->give_up_ms)
		return false;
	if (ms)
		rlk_waiter_sleep_locked(waiter, rlk_after(now, ms));
	return !waiter->canceled;
}

static enum rlk_fault end_session(struct rlk_asking *asking)
{
	return rlk_client_fence(asking->client, &asking->doubt.mark,
				rlk_waiter_io_until(asking->waiter), true,
				&asking->waiter->pool_waiter);
}

/* Delete the row if it has come; the chores repeat it while it may come. */
static void remove_row(struct rlk_asking *asking,
		       const struct rlk_request *request)
{
	const struct rlk_strategy *strategy = asking->name->strategy;
	struct rowlock_errinfo error;
	struct rlk_conn *conn;
	bool found;

	if (strategy->pins_connection ||
	    rlk_pool_get(asking->client->pool, RLK_BAY_CONTROL,
			 rlk_waiter_io_until(asking->waiter), false,
			 &asking->waiter->pool_waiter, &conn, &error))
		return;
	strategy->release(conn, request, &found, &error);
	rlk_pool_put(asking->client->pool, conn);
}

/* Abandon the attempt and go on with a new one. */
static enum rlk_step begin_anew(struct rlk_asking *asking)
{
	struct rlk_request request = rlk_hold_request(asking->hold);
	struct rlk_hold *old = asking->hold;
	struct rlk_hold *next;

	rlk_mutex_lock(&asking->client->mutex);
	next = rlk_make_hold_locked(asking->waiter);
	rlk_hold_abandon_locked(old, &asking->doubt.mark);
	if (next)
		asking->hold = next;
	rlk_mutex_unlock(&asking->client->mutex);
	asking->doubt.unsure = false;
	asking->doubt.mark.id = 0;
	rlk_fail_abandoned(asking);
	if (!next)
		return RLK_STEP_END;
	asking->sent_ms = 0;
	/* The chores may clear it meanwhile, and the request has its slots. */
	remove_row(asking, &request);
	rlk_mutex_lock(&asking->client->mutex);
	rlk_hold_put_locked(old);
	rlk_mutex_unlock(&asking->client->mutex);
	return RLK_STEP_LATER;
}

enum rlk_step rlk_settle(struct rlk_asking *asking)
{
	int64_t until = rlk_client_call_until(asking->client);
	enum rlk_fault fault;

	asking->doubt.unsure = true;
	if (asking->conn)
		rlk_conn_mark(asking->conn, &asking->doubt.mark);
	rlk_spot_discard(asking);
	while ((fault = end_session(asking))) {
		bool reaches = fault != RLK_REFUSED && fault != RLK_PENDING &&
			       rlk_now(asking->client->clock) < until;

		if (!rest(asking, reaches ? REST_MS : 0)) {
			rlk_fail_abandoned(asking);
			return RLK_STEP_END;
		}
		if (!reaches)
			return begin_anew(asking);
	}
	asking->doubt.mark.id = 0;
	if (asking->ask == RLK_ASK_AGAIN)
		asking->ask = RLK_ASK_FIRST;
	return RLK_STEP_AGAIN;
}

void rlk_end_transaction(struct rlk_asking *asking, int64_t until_ms)
{
	struct rlk_request request = rlk_hold_request(asking->hold);
	struct rowlock_errinfo error;
	bool found;

	rlk_conn_set_until(asking->conn, until_ms);
	if (asking->name->strategy->release(asking->conn, &request, &found,
					    &error))
		rlk_spot_discard(asking);
}

enum rlk_fault rlk_take_back(struct rlk_asking *asking)
{
	int64_t until = rlk_interrupt_wait(asking);
	enum rlk_fault verdict;

	verdict = asking->name->strategy->resume(asking->conn, &asking->error);
	if (rlk_fault_passes(verdict) || verdict == RLK_WAITED)
		rlk_end_transaction(asking, until);
	return verdict == RLK_PENDING ? RLK_UNKNOWN : verdict;
}
