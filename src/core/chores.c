/* SPDX-License-Identifier: MIT */
/*
 * The chores thread: what has to be said to the server, but by nobody in
 * particular and not at once.
 *
 *   - closes the connections of row holds that were lost
 *   - removes the rows of attempts that were given up, after the session that
 *     might still execute them was ended
 *   - deletes the rows of sessions that were lost
 *   - looks which lease was broken, when a beat says that one was
 *   - keeps idle connections of the pool alive and without transactions
 *
 * Each thing is tried again until it is done; every try has a deadline, so one
 * that hangs delays the others, but does not stop them.
 */
#include "core/threads.h"

#include "core/breaks.h"
#include "core/doorbell.h"
#include "core/owner_end.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#define RETRY_MS 500

/* A statement among the chores may take so long; at the end of the client, no
 * time at all. */
static int64_t chore_until(struct rowlock_client *client)
{
	if (rlk_client_stopping(client))
		return rlk_now(client->clock);
	return rlk_client_call_until(client);
}

/* --------------------------------------------------- what was abandoned */

/* The server ends a session that is silent for the idle bound. */
static bool ended_by_itself(struct rowlock_client *client,
			    const struct rlk_hold *hold)
{
	_cleanup_(rlk_unguardp) struct rlk_mutex *guard =
	    rlk_guard(&client->mutex);
	uint64_t margin = rlk_margin(client->row_idle_ms);
	int64_t until = hold->upkeep->idle_until_ms;

	return until != RLK_NEVER &&
	       rlk_now(client->clock) >= rlk_after(until, margin);
}

/* End the session that might still execute a request of @hold. */
static bool fence(struct rowlock_client *client, struct rlk_hold *hold)
{
	struct rlk_mark *mark = hold->upkeep ? &hold->upkeep->mark : NULL;

	if (!mark || !mark->id || ended_by_itself(client, hold))
		return true;
	if (!rlk_client_fence(client, mark, chore_until(client), false))
		return false;
	mark->id = 0;
	return true;
}

/* Its row, if there is one, dies with a session that is not ours any more. */
static bool dies_by_itself(struct rowlock_client *client,
			   const struct rlk_hold *hold)
{
	_cleanup_(rlk_unguardp) struct rlk_mutex *guard =
	    rlk_guard(&client->mutex);

	return !hold->name->strategy->needs_session ||
	       client->session.state != RLK_SESSION_ALIVE ||
	       client->session.id != hold->session;
}

static bool remove_row(struct rowlock_client *client, struct rlk_hold *hold)
{
	struct rlk_request request = rlk_hold_request(hold);
	struct rowlock_errinfo error;
	struct rlk_conn *conn;
	enum rlk_fault fault;
	bool found;

	if (rlk_pool_get(client->pool, RLK_BAY_CONTROL, chore_until(client),
			 false, NULL, &conn, &error))
		return false;
	fault = hold->name->strategy->release(conn, &request, &found, &error);
	rlk_pool_put(client->pool, conn);
	if (!fault && found)
		rlk_log(&client->log, ROWLOCK_LOG_INFO,
			"removed the row of '%s' (%s) that attempt %" PRIu64
			" had left",
			hold->name->text, hold->name->strategy->name,
			hold->attempt);
	return !fault;
}

/* The connection of a lost row hold. The server ends the transaction when it
 * sees it end; where no packet gets through on it, when we end its session. */
static struct rlk_conn *lost_conn_locked(struct rowlock_client *client)
{
	struct rlk_mark mark;
	struct rlk_list *node;
	struct rlk_list *after;

	rlk_list_for_each(node, after, &client->abandoned)
	{
		struct rlk_hold *hold =
		    container_of(node, struct rlk_hold, node);

		/* Whoever talks on it gives it back, and wakes us. */
		if (!hold->conn || hold->conn_busy)
			continue;
		/* A bell is let go with its connection; nothing hangs on
		 * when. */
		if (hold->name->strategy->pins_connection) {
			rlk_conn_mark(hold->conn, &mark);
			rlk_hold_mark_locked(hold, &mark);
		}
		return TAKE_PTR(hold->conn);
	}
	return NULL;
}

/* All of them, before anything that may hang: they keep rows locked. */
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

static bool clear(struct rowlock_client *client, struct rlk_hold *hold)
{
	if (!fence(client, hold))
		return false;
	if (!dies_by_itself(client, hold) && !remove_row(client, hold))
		return false;
	/* Or those who wait for the name would sleep a slice. */
	rlk_doorbell_ring(client, hold->name->text,
			  atomic_exchange(&hold->bell_conn, 0),
			  chore_until(client));
	return true;
}

static void clear_abandoned(struct rowlock_client *client, int64_t *next_ms)
{
	struct rlk_list failed = RLK_LIST_INIT(failed);
	struct rlk_list *node;

	drop_conns(client);
	rlk_mutex_lock(&client->mutex);
	while ((node = rlk_list_first(&client->abandoned))) {
		struct rlk_hold *hold =
		    container_of(node, struct rlk_hold, node);
		bool orphan = hold->orphan;
		bool cleared;

		rlk_list_remove(node);
		hold->orphan = false;
		rlk_mutex_unlock(&client->mutex);
		if (orphan)
			rlk_owner_end_log(hold);
		cleared = clear(client, hold);
		rlk_mutex_lock(&client->mutex);
		/* One whose connection is still talked on stays, too. */
		if (cleared && !hold->conn) {
			hold->state = RLK_HOLD_OVER;
			rlk_hold_put_locked(hold);
		} else {
			rlk_list_append(&failed, node);
		}
		if (!cleared)
			break; /* the others would fail alike */
	}
	while ((node = rlk_list_first(&failed))) {
		rlk_list_remove(node);
		rlk_list_append(&client->abandoned, node);
		*next_ms = rlk_after(rlk_now(client->clock), RETRY_MS);
	}
	rlk_mutex_unlock(&client->mutex);
}

/* --------------------------------------------------------- old sessions */

static bool delete_session(struct rowlock_client *client, uint64_t id)
{
	struct rowlock_errinfo error;
	struct rlk_conn *conn;
	enum rlk_fault fault;

	if (rlk_pool_get(client->pool, RLK_BAY_CONTROL, chore_until(client),
			 false, NULL, &conn, &error))
		return false;
	fault = rlk_session_close(conn, id, &error);
	rlk_pool_put(client->pool, conn);
	return !fault;
}

static void delete_old_sessions(struct rowlock_client *client, int64_t *next_ms)
{
	rlk_mutex_lock(&client->mutex);
	while (!rlk_list_empty(&client->old_sessions)) {
		struct rlk_old_session *old = container_of(
		    client->old_sessions.next, struct rlk_old_session, node);
		bool done;

		rlk_mutex_unlock(&client->mutex);
		done = delete_session(client, old->id);
		rlk_mutex_lock(&client->mutex);
		if (!done) {
			*next_ms = rlk_after(rlk_now(client->clock), RETRY_MS);
			break;
		}
		rlk_list_remove(&old->node);
		free(old);
	}
	rlk_mutex_unlock(&client->mutex);
}

/* ----------------------------------------------------- idle connections */

/* An idle connection must answer before its wait_timeout; a row connection
 * also gets rid of a transaction that a refused try left open, since that
 * would keep others from altering the table. */
static void tend(struct rowlock_client *client, size_t bay, int64_t idle_ms)
{
	struct rlk_conn *conns[64];
	size_t count = 0;
	struct rowlock_errinfo error;
	int64_t until;

	while (count < RLK_ARRAY_SIZE(conns) &&
	       (conns[count] = rlk_pool_take_idle(client->pool, bay, idle_ms)))
		count++;
	/* One deadline for all: a server that hangs does so for each. */
	until = chore_until(client);
	for (size_t i = 0; i < count; i++) {
		rlk_conn_set_until(conns[i], until);
		if (bay == RLK_BAY_ROW)
			rlk_stmt_text(conns[i], "ROLLBACK", &error);
		else
			rlk_conn_ping(conns[i], &error);
		rlk_pool_put(client->pool, conns[i]);
	}
}

static void tend_idle(struct rowlock_client *client, int64_t *next_ms)
{
	bool unclean;

	rlk_mutex_lock(&client->mutex);
	unclean = client->row_unclean;
	client->row_unclean = false;
	rlk_mutex_unlock(&client->mutex);
	for (size_t bay = 0; bay < RLK_BAY_LANE + client->lane_count; bay++) {
		int64_t third = rlk_client_word_ms(client, bay);
		int64_t next = rlk_now(client->clock) + third;

		tend(client, bay, unclean && bay == RLK_BAY_ROW ? 0 : third);
		if (next < *next_ms)
			*next_ms = next;
	}
}

/* A lane's connection has a bell that nobody let go, as the lane was in use for
 * long: who waits on it is woken by the connection's end. */
static void end_ghosts(struct rowlock_client *client, int64_t *next_ms)
{
	for (unsigned int i = 0; i < client->lane_count; i++) {
		struct rlk_lane *lane = &client->lanes[i];
		uint64_t ghost = lane->ghost;
		struct rowlock_errinfo error;
		struct rlk_conn *conn;

		if (!ghost)
			continue;
		if (rlk_pool_get(client->pool, lane->bay, chore_until(client),
				 false, NULL, &conn, &error)) {
			*next_ms = rlk_after(rlk_now(client->clock), RETRY_MS);
			continue;
		}
		if (rlk_doorbell_is_ghost(lane, conn))
			rlk_conn_spoil(conn);
		atomic_compare_exchange_strong(&lane->ghost, &ghost, 0);
		rlk_pool_put(client->pool, conn);
	}
}

void rlk_chores_run(void *arg)
{
	struct rowlock_client *client = arg;

	for (;;) {
		int64_t next = RLK_NEVER;

		if (rlk_client_stopping(client))
			return;
		if (!rlk_breaks_look(client))
			next = rlk_after(rlk_now(client->clock), RETRY_MS);
		clear_abandoned(client, &next);
		delete_old_sessions(client, &next);
		tend_idle(client, &next);
		end_ghosts(client, &next);
		rlk_sleeper_wait(&client->chores_sleeper, next, -1);
	}
}
