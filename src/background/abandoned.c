/* SPDX-License-Identifier: MIT */
/*
 * Clears abandoned attempts (no answer came), and the remains of lost holds.
 *
 * client->abandoned is the one list of attempts in doubt. A waiter whose time
 * is up (settle.c), a leader whose member has left (ticket.c) and a release add
 * to it; nothing else deletes their rows again and again.
 *
 * A request without an answer may still be executed. So each round ends the
 * session that it was sent on (the fence), and deletes the row of its attempt,
 * whether the fence holds or not. The last round is one whose fence held before
 * the row was deleted.
 *
 * Where no fence reaches (that session is on another node of a cluster or
 * behind a balancer, or KILL is refused), the rounds go on for as long as the
 * server keeps an idle session: nothing is sent on it after it was given up, so
 * by then the server has closed it. A server that stands still counts no time,
 * and executes what has arrived when it goes on; so the time starts again with
 * each round that was not answered soon.
 *
 * Until then the request may be executed after a DELETE. That is harmless:
 *   - no client believes it (S1, S3). An abandoned attempt is never asked for
 *     again, and its answer has no reader; a waiter that goes on asking uses
 *     another attempt (settle.c)
 *   - where the name is another's, the INSERT finds that row and leaves it as
 *     it is
 *   - where the name is free, a row comes without a holder, and the name is
 *     busy until the next round deletes that row, by its attempt (S5)
 *   - the rest of its batch has attempts of its own; a token that is drawn for
 *     it is never shown, and later ones are larger (S2)
 *
 * Failure modes: a server that does not answer ends the round, as all other
 * attempts would fail too; every other failure concerns one attempt. A long
 * round goes on after the other chores.
 */
#include "background/abandoned.h"

#include "core/call.h"
#include "db/lend.h"
#include "group/commit_bell.h"
#include "hold/keeping.h"
#include "hold/owner_end.h"
#include "strategy/session_row.h"

#include <inttypes.h>

/* The longest that the other chores wait for a round. */
#define ROUND_MS 1000

/* Between answers that are at most this far apart (a round and its pause), the
 * server cannot have stood still unseen. */
#define LAPSE_MS (ROUND_MS + RLK_CHORES_RETRY_MS)

/* The last statement of a session may wait this long for a lock. */
#define LOCK_WAIT_MS 1000

/* ---------------------------------------------------------------- doubt */

/* Only the chores thread uses answered_ms and prompt_since_ms. */
static void note_answer(struct rowlock_client *client)
{
	int64_t now = rlk_now(client->clock);

	if (now > rlk_after(client->answered_ms, LAPSE_MS))
		client->prompt_since_ms = now;
	client->answered_ms = now;
}

/* Has the server closed its session as idle? Without a row to delete, it does
 * not matter whether the server stood still. */
static bool ended_by_itself(struct rowlock_client *client,
			    const struct rlk_hold *hold)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);
	uint64_t silent = hold->upkeep->mark.silent_ms;
	int64_t since = hold->upkeep->marked_ms;
	int64_t now = rlk_now(client->clock);

	if (!hold->name->strategy->pins_connection) {
		if (now > rlk_after(client->answered_ms, LAPSE_MS))
			return false;
		if (since < client->prompt_since_ms)
			since = client->prompt_since_ms;
	}
	return now >= rlk_after(since, silent + rlk_margin(silent) + LAPSE_MS +
					   LOCK_WAIT_MS);
}

/* End the session that might still execute a request of @hold. RLK_DONE means
 * that none will be executed any more. */
static enum rlk_fault fence(struct rowlock_client *client,
			    struct rlk_hold *hold)
{
	struct rlk_mark *mark = hold->upkeep ? &hold->upkeep->mark : NULL;
	enum rlk_fault fault = RLK_DONE;

	if (!mark || !mark->id)
		return RLK_DONE;
	if (!ended_by_itself(client, hold))
		fault = rlk_client_fence(
		    client, mark, rlk_client_chore_until(client), false, NULL);
	if (fault == RLK_DONE)
		mark->id = 0;
	return fault;
}

/* ----------------------------------------------------------------- rows */

/* Its row, if there is one, is dead once its session is not ours any more; but
 * not if it may belong to a keep. One that was lost, and delays the next, dies
 * when its keep does. */
static bool dies_by_itself(struct rowlock_client *client,
			   const struct rlk_hold *hold)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);

	if (hold->upkeep && hold->upkeep->keep.row.delays && hold->reason)
		return true;
	if (hold->upkeep && hold->upkeep->keep.until_ms != RLK_NEVER)
		return false;
	return client->session.state != RLK_SESSION_ALIVE ||
	       client->session.id != hold->session;
}

static enum rlk_fault remove_row_on(struct rlk_conn *conn,
				    const struct rlk_hold *hold,
				    bool *ret_found)
{
	struct rlk_request request = rlk_hold_request(hold);
	struct rowlock_errinfo error;
	enum rlk_fault fault = RLK_DONE;
	bool kept = false;

	/* One that delays is left by a loss only. */
	if (rlk_hold_is_kept(hold) && hold->upkeep->keep.row.keeps_ms)
		fault = rlk_keep_release(
		    conn, &request, &hold->upkeep->keep.row, &kept, &error);
	if (!fault && !kept)
		fault = hold->name->strategy->release(conn, &request, ret_found,
						      &error);
	if (!fault && !kept && rlk_hold_is_kept(hold))
		fault =
		    rlk_session_close(conn, hold->upkeep->keep.row.id, &error);
	return fault;
}

static enum rlk_fault remove_row(struct rowlock_client *client,
				 struct rlk_hold *hold)
{
	struct rlk_conn *conn;
	enum rlk_fault fault;
	bool found = false;

	if (rlk_client_chore_conn(client, RLK_BAY_CONTROL, &conn))
		return RLK_FAILED;
	fault = remove_row_on(conn, hold, &found);
	rlk_pool_put(client->pool, conn);
	if (fault)
		return fault;
	note_answer(client);
	if (found)
		rlk_log(&client->log, ROWLOCK_LOG_INFO,
			"removed the row of '%s' (%s) that attempt %" PRIu64
			" had left",
			rlk_name_shown(hold->name).text,
			hold->name->strategy->name, hold->attempt);
	return RLK_DONE;
}

/* ---------------------------------------------------------- connections */

/* The connection of a lost row hold. The server ends the transaction when it
 * sees the connection end; if no data gets through, when we end its session. */
static struct rlk_conn *lost_conn_locked(struct rowlock_client *client)
{
	struct rlk_mark mark;
	struct rlk_hold *hold;

	rlk_list_each (hold, &client->abandoned, node) {
		/* A thread that uses it gives it back, and wakes us. */
		if (!rlk_hold_conn(hold) || hold->conn_busy)
			continue;
		/* Closing a bell's connection lets the bell go, soon enough. */
		if (hold->name->strategy->pins_connection) {
			rlk_conn_mark(rlk_hold_conn(hold), &mark);
			rlk_hold_mark_locked(hold, &mark);
		}
		return rlk_hold_take_conn(hold);
	}
	return NULL;
}

/* Close all of them before anything that may hang: they keep rows locked. */
static void drop_conns(struct rowlock_client *client)
{
	for (;;) {
		struct rlk_conn *conn;

		rlk_mutex_lock(&client->mutex);
		conn = lost_conn_locked(client);
		rlk_mutex_unlock(&client->mutex);
		if (!conn)
			return;
		rlk_pool_discard(client->pool, conn);
	}
}

/* ---------------------------------------------------------------- round */

/* Returns RLK_DONE: it is over; RLK_FAILED: no answer, as for the others; else
 * it is in the next round again. */
static enum rlk_fault clear(struct rowlock_client *client,
			    struct rlk_hold *hold)
{
	enum rlk_fault fenced = fence(client, hold);
	enum rlk_fault fault = RLK_DONE;

	if (fenced == RLK_FAILED || hold->name->strategy->pins_connection)
		return fenced;
	if (dies_by_itself(client, hold))
		fenced = RLK_DONE;
	else
		fault = remove_row(client, hold);
	if (fault)
		return rlk_fault_open(fault) ? RLK_FAILED : fault;
	/* Else the waiters of the name would sleep for a slice. */
	rlk_commit_bell_ring(hold, rlk_client_chore_until(client));
	return fenced;
}

void rlk_abandoned_clear(struct rowlock_client *client, int64_t *next_ms)
{
	int64_t until = rlk_after(rlk_now(client->clock), ROUND_MS);
	struct rlk_list failed = RLK_LIST_INIT(failed);
	enum rlk_fault cleared = RLK_DONE;
	struct rlk_list *node;

	drop_conns(client);
	rlk_mutex_lock(&client->mutex);
	while (cleared != RLK_FAILED && rlk_now(client->clock) < until &&
	       (node = rlk_list_first(&client->abandoned))) {
		struct rlk_hold *hold =
		    container_of(node, struct rlk_hold, node);
		bool orphan = hold->orphan;

		rlk_list_remove(node);
		hold->orphan = false;
		rlk_mutex_unlock(&client->mutex);
		if (orphan)
			rlk_owner_end_log(hold);
		cleared = clear(client, hold);
		rlk_mutex_lock(&client->mutex);
		/* One whose connection is still in use stays as well. */
		if (cleared == RLK_DONE && !rlk_hold_conn(hold))
			rlk_hold_cleared_locked(hold);
		else
			rlk_list_append(&failed, node);
	}
	/* The round's time was up: the rest follows the other chores. */
	if (cleared != RLK_FAILED && !rlk_list_empty(&client->abandoned))
		*next_ms = rlk_now(client->clock);
	while ((node = rlk_list_first(&failed))) {
		rlk_list_remove(node);
		rlk_list_append(&client->abandoned, node);
		if (*next_ms > rlk_now(client->clock) + RLK_CHORES_RETRY_MS)
			*next_ms = rlk_after(rlk_now(client->clock),
					     RLK_CHORES_RETRY_MS);
	}
	rlk_mutex_unlock(&client->mutex);
}

void rlk_abandoned_leave_keeps(struct rowlock_client *client,
			       struct rlk_conn *conn)
{
	enum rlk_fault fault = RLK_DONE;
	const struct rlk_hold *hold;

	rlk_list_each (hold, &client->abandoned, node) {
		bool found = false;

		if (!fault && rlk_hold_is_kept(hold) && !hold->reason)
			fault = remove_row_on(conn, hold, &found);
	}
}
