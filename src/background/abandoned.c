/* SPDX-License-Identifier: MIT */
/*
 * What was abandoned: attempts without an answer, and what is left of holds
 * that were lost.
 *
 * A request without an answer may still be executed. So in each round the
 * session that it was sent on is looked for and ended (the fence), and the row
 * of its attempt is deleted, whether the fence holds or not. It is over with a
 * round whose fence held before the row was deleted.
 *
 * Where no fence reaches (that session is on another node of a cluster or
 * behind a balancer, or KILL is refused), the rounds go on for as long as the
 * server keeps a session that says nothing, since nothing was sent on it after
 * it had been given up: then the server has ended it by itself. A server that
 * stands still counts no time, and executes what has arrived when it goes on;
 * so the time starts anew with each round that was not answered soon.
 *
 * Until then the request may be executed behind a DELETE. That is harmless:
 *   - nobody will believe it (S1, S3). An attempt that is abandoned is never
 *     asked for again, and its answer has no reader; who goes on asking for the
 *     name does so by another attempt (settle.c)
 *   - where the name is another's, the INSERT finds that row and leaves it as
 *     it is
 *   - where the name is free, a row comes that nobody holds, and the name is
 *     busy until the next round deletes it: that row only, by its attempt (S5)
 *   - what went with it in one packet goes by attempts, too; a token that is
 *     drawn for it is shown to nobody, and later ones are larger (S2)
 *
 * Failure modes: a server that does not answer ends the round, as all others
 * would fail alike; every other failure is of one attempt alone. A round that
 * takes long is gone on with after the other chores.
 */
#include "background/abandoned.h"

#include "core/call.h"
#include "db/lend.h"
#include "group/commit_bell.h"
#include "hold/owner_end.h"

#include <inttypes.h>

/* The other chores wait no longer for a round. */
#define ROUND_MS 1000

/* A session that was killed is gone in a moment, or the next round will see. */
#define DYING_MS 20

/* Answers that are so far apart, or nearer, leave the server no time to stand
 * still unseen: a round, and the pause behind it. */
#define LAPSE_MS (ROUND_MS + RLK_CHORES_RETRY_MS)

/* A statement that was begun in the last moment may wait for a lock. */
#define LOCK_WAIT_MS 1000

/* ---------------------------------------------------------------- doubt */

/* Only the chores thread looks at these two. */
static void note_answer(struct rowlock_client *client)
{
	int64_t now = rlk_now(client->clock);

	if (now > rlk_after(client->answered_ms, LAPSE_MS))
		client->prompt_since_ms = now;
	client->answered_ms = now;
}

/* Had the server ended its session by itself at @began_ms? Where there is no
 * row to delete it does not matter whether the server stood still. */
static bool ended_by_itself(struct rowlock_client *client,
			    const struct rlk_hold *hold, int64_t began_ms)
{
	_cleanup_(rlk_unguardp) struct rlk_mutex *guard =
	    rlk_guard(&client->mutex);
	uint64_t silent = hold->upkeep->mark.silent_ms;
	int64_t since = hold->upkeep->marked_ms;

	if (hold->name->strategy->needs_session) {
		if (began_ms > rlk_after(client->answered_ms, LAPSE_MS))
			return false;
		if (since < client->prompt_since_ms)
			since = client->prompt_since_ms;
	}
	return began_ms >= rlk_after(since, silent + rlk_margin(silent) +
						LAPSE_MS + LOCK_WAIT_MS);
}

/* End the session that might still execute a request of @hold. RLK_DONE: none
 * of them will be executed any more. */
static enum rlk_fault fence(struct rowlock_client *client,
			    struct rlk_hold *hold)
{
	struct rlk_mark *mark = hold->upkeep ? &hold->upkeep->mark : NULL;
	int64_t now = rlk_now(client->clock);
	enum rlk_fault fault;

	if (!mark || !mark->id)
		return RLK_DONE;
	if (ended_by_itself(client, hold, now))
		fault = RLK_DONE;
	else
		fault = rlk_client_fence(client, mark,
					 rlk_client_chore_until(client),
					 rlk_after(now, DYING_MS), false);
	if (fault == RLK_DONE)
		mark->id = 0;
	return fault;
}

/* ----------------------------------------------------------------- rows */

/* Its row, if there is one, is dead with a session that is not ours any more.
 */
static bool dies_by_itself(struct rowlock_client *client,
			   const struct rlk_hold *hold)
{
	_cleanup_(rlk_unguardp) struct rlk_mutex *guard =
	    rlk_guard(&client->mutex);

	return client->session.state != RLK_SESSION_ALIVE ||
	       client->session.id != hold->session;
}

static enum rlk_fault remove_row(struct rowlock_client *client,
				 struct rlk_hold *hold)
{
	struct rlk_request request = rlk_hold_request(hold);
	struct rowlock_errinfo error;
	struct rlk_conn *conn;
	enum rlk_fault fault;
	bool found;

	if (rlk_client_chore_conn(client, RLK_BAY_CONTROL, &conn))
		return RLK_FAILED;
	fault = hold->name->strategy->release(conn, &request, &found, &error);
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

/* ---------------------------------------------------------------- round */

enum cleared {
	CLEARED,    /* it is over */
	AGAIN,      /* in the next round, too */
	UNANSWERED, /* and so would be the others */
};

static enum cleared clear_lease(struct rowlock_client *client,
				struct rlk_hold *hold, bool fenced)
{
	switch (remove_row(client, hold)) {
	case RLK_DONE:
		/* Or those who wait for the name would sleep a slice. */
		rlk_commit_bell_ring(hold, rlk_client_chore_until(client));
		return fenced ? CLEARED : AGAIN;
	case RLK_PENDING:
	case RLK_UNKNOWN:
	case RLK_FAILED:
		return UNANSWERED;
	default:
		return AGAIN;
	}
}

static enum cleared clear(struct rowlock_client *client, struct rlk_hold *hold)
{
	enum rlk_fault fenced = fence(client, hold);

	if (fenced == RLK_FAILED)
		return UNANSWERED;
	if (!hold->name->strategy->needs_session)
		return fenced == RLK_DONE ? CLEARED : AGAIN;
	if (!dies_by_itself(client, hold))
		return clear_lease(client, hold, fenced == RLK_DONE);
	rlk_commit_bell_ring(hold, rlk_client_chore_until(client));
	return CLEARED;
}

void rlk_abandoned_clear(struct rowlock_client *client, int64_t *next_ms)
{
	int64_t until = rlk_after(rlk_now(client->clock), ROUND_MS);
	struct rlk_list failed = RLK_LIST_INIT(failed);
	enum cleared cleared = CLEARED;
	struct rlk_list *node;

	drop_conns(client);
	rlk_mutex_lock(&client->mutex);
	while (cleared != UNANSWERED && rlk_now(client->clock) < until &&
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
		/* One whose connection is still talked on stays, too. */
		if (cleared == CLEARED && !hold->conn)
			rlk_hold_cleared_locked(hold);
		else
			rlk_list_append(&failed, node);
	}
	/* Time was up: the rest at once, after the other chores. */
	if (cleared != UNANSWERED && !rlk_list_empty(&client->abandoned))
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
