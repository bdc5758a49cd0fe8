/* SPDX-License-Identifier: MIT */
/*
 * The chores thread: background statements that no caller waits for.
 *
 *   - closes the connections of row holds that were lost, and removes the rows
 *     of attempts that were given up (abandoned.c)
 *   - ends connections of the application that have a lease's row locked, and
 *     that this side has closed (cut_off.c)
 *   - deletes the rows of sessions that were lost, and the receipts of
 *     transactions that have given their lock back (receipts.c)
 *   - checks in each third of the TTL that the rows of our holds are there
 *     (present.c), and finds out which lease was broken if a beat or that check
 *     says so (breaks.c)
 *   - asks the server for an answer on another connection than a silent one
 *     (heard.c)
 *   - keeps idle connections of the pool alive and without transactions
 *
 * Each chore is tried again until it is done; every try has a deadline, so one
 * that hangs delays the others, but does not stop them.
 */
#include "background/chores.h"

#include "background/abandoned.h"
#include "background/breaks.h"
#include "background/heard.h"
#include "background/present.h"
#include "background/receipts.h"
#include "core/call.h"
#include "core/cut_off.h"
#include "core/silence.h"
#include "db/lend.h"
#include "db/stmt.h"
#include "group/commit_bell.h"

#include <stdlib.h>

#define RETRY_MS RLK_CHORES_RETRY_MS

/* --------------------------------------------------------- old sessions */

static bool delete_session(struct rowlock_client *client, uint64_t id)
{
	struct rowlock_errinfo error;
	struct rlk_conn *conn;
	enum rlk_fault fault;

	if (rlk_client_chore_conn(client, RLK_BAY_CONTROL, &conn))
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
 * would keep others from altering the table. One for bells would have to answer
 * every second: it is closed. */
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
	until = rlk_client_chore_until(client);
	for (size_t i = 0; i < count; i++) {
		if (bay == RLK_BAY_BELL) {
			rlk_pool_discard(client->pool, conns[i]);
			continue;
		}
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
	for (size_t bay = 0; bay < RLK_BAYS; bay++) {
		int64_t third = rlk_silence_ms(&client->bays[bay].profile);
		int64_t next = rlk_now(client->clock) + third;

		tend(client, bay, unclean && bay == RLK_BAY_ROW ? 0 : third);
		if (next < *next_ms)
			*next_ms = next;
	}
}

/* The commit connection has a bell that was not let go, as the connection was
 * in use for long: closing it wakes the bell's waiter. */
static void end_ghost(struct rowlock_client *client, int64_t *next_ms)
{
	struct rlk_conn *conn;

	if (!client->bells.ghost)
		return;
	if (rlk_client_chore_conn(client, RLK_BAY_COMMIT, &conn)) {
		*next_ms = rlk_after(rlk_now(client->clock), RETRY_MS);
		return;
	}
	if (rlk_commit_bell_is_ghost(client, conn))
		rlk_conn_spoil(conn);
	rlk_pool_put(client->pool, conn);
}

void rlk_chores_run(void *arg)
{
	struct rowlock_client *client = arg;

	for (;;) {
		int64_t next = RLK_NEVER;
		bool looked;

		if (rlk_client_stopping(client))
			return;
		rlk_heard_ask(client);
		looked = rlk_present_look(client);
		if (!rlk_breaks_look(client) || !looked)
			next = rlk_after(rlk_now(client->clock), RETRY_MS);
		rlk_abandoned_clear(client, &next);
		if (!rlk_cut_off_end(client))
			next = rlk_after(rlk_now(client->clock), RETRY_MS);
		if (!rlk_receipts_clear(client))
			next = rlk_after(rlk_now(client->clock), RETRY_MS);
		delete_old_sessions(client, &next);
		tend_idle(client, &next);
		end_ghost(client, &next);
		rlk_sleeper_wait(&client->chores_sleeper, next, -1);
	}
}
