/* SPDX-License-Identifier: MIT */
/*
 * Bells on the commit connection: whether they reach all clients, which acquire
 * takes one, and how they are let go.
 */
#include "group/commit_bell.h"

#include "db/lend.h"
#include "group/leader.h"
#include "strategy/bell.h"

#include <stdatomic.h>

/* A connection with many user-level locks is slow at taking another: MariaDB
 * keeps them in a list. */
#define BELLS_MOST 64

bool rlk_commit_bell_reaches(const struct rowlock_client *client,
			     const struct rlk_conn *conn)
{
	struct rlk_mark mark;

	/* A mark is a user-level lock like a bell. */
	rlk_conn_mark(conn, &mark);
	return *mark.lock && !client->bells_refused && !client->many_writers;
}

bool rlk_commit_bell_wanted(const struct rlk_ticket *ticket,
			    const struct rlk_conn *conn)
{
	struct rowlock_client *client = ticket->hold->name->client;
	struct rlk_commit_bells *bells = &client->bells;
	uint64_t id = rlk_conn_id(conn);

	if (ticket->part.act != RLK_ACT_ACQUIRE ||
	    !ticket->hold->name->strategy->bells ||
	    ticket->hold->name->strategy->several)
		return false;
	if (bells->conn != id) {
		bells->conn = id;
		bells->count = 0;
		bells->ghost = false;
	}
	return bells->count < BELLS_MOST &&
	       rlk_commit_bell_reaches(client, conn);
}

void rlk_commit_bell_count(struct rowlock_client *client,
			   const struct rlk_part *part)
{
	struct rlk_commit_bells *bells = &client->bells;

	if (part->act == RLK_ACT_ACQUIRE && part->verdict == RLK_DONE &&
	    part->holder.bell)
		bells->count++;
	if (part->act == RLK_ACT_RELEASE && bells->count > 0 &&
	    part->request.bell_conn == bells->conn)
		bells->count--;
}

static void ring(struct rlk_conn *conn, const struct rlk_hold *hold)
{
	struct rlk_commit_bells *bells = &hold->name->client->bells;
	struct rlk_request request = rlk_hold_request(hold);
	struct rowlock_errinfo error;

	if (bells->conn == rlk_conn_id(conn) && bells->count > 0)
		bells->count--;
	if (rlk_bell_ring(conn, &request, &error))
		rlk_conn_spoil(conn);
}

/* There is one commit connection at a time: an earlier one has ended with its
 * bells. */
static void note_ghost(struct rowlock_client *client, uint64_t bell_conn)
{
	if (client->bells.conn != bell_conn)
		return;
	client->bells.ghost = true;
	rlk_sleeper_wake(&client->chores_sleeper);
}

bool rlk_commit_bell_is_ghost(struct rowlock_client *client,
			      const struct rlk_conn *conn)
{
	struct rlk_commit_bells *bells = &client->bells;

	return bells->ghost && bells->conn == rlk_conn_id(conn) &&
	       atomic_exchange(&bells->ghost, false);
}

void rlk_commit_bell_ring(struct rlk_hold *hold, int64_t until_ms)
{
	struct rowlock_client *client = hold->name->client;
	uint64_t bell_conn = atomic_exchange(&hold->bell_conn, 0);
	struct rowlock_errinfo error;
	struct rlk_conn *conn;
	int64_t soon;
	int code;

	if (!bell_conn)
		return;
	soon = rlk_linger_until(&client->leases, rlk_now(client->clock));
	/* A thread that gave back the name does not wait long for a connection
	 * in use. */
	if (soon < until_ms)
		until_ms = soon;
	code = rlk_pool_get(client->pool, RLK_BAY_COMMIT, until_ms, false, NULL,
			    &conn, &error);
	if (code == ROWLOCK_ETIMEDOUT)
		note_ghost(client, bell_conn);
	if (code)
		return;
	if (rlk_conn_id(conn) == bell_conn)
		ring(conn, hold);
	rlk_pool_put(client->pool, conn);
}
