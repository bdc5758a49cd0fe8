/* SPDX-License-Identifier: MIT */
/*
 * Bells on the connection of a lane: whether they reach all clients, and how
 * they are let go.
 */
#include "group/lane_bell.h"

#include "core/call.h"
#include "db/lend.h"
#include "group/leader.h"
#include "strategy/bell.h"

#include <stdatomic.h>

/* Whoever has it: by the lane's own account. */
static void ring(struct rlk_lane *lane, struct rlk_conn *conn,
		 const struct rlk_hold *hold)
{
	struct rlk_request request = rlk_hold_request(hold);
	struct rowlock_errinfo error;

	if (lane->bell_conn == rlk_conn_id(conn) && lane->bells > 0)
		lane->bells--;
	if (rlk_bell_ring(conn, &request, &error))
		rlk_conn_spoil(conn);
}

static void note_ghost(struct rlk_lane *lane, uint64_t conn)
{
	uint64_t other = 0;

	if (!atomic_compare_exchange_strong(&lane->ghost, &other, conn) &&
	    other != conn)
		lane->ghost = RLK_GHOST_ANY;
}

bool rlk_doorbell_reaches(const struct rowlock_client *client,
			  const struct rlk_conn *conn)
{
	struct rlk_mark mark;

	/* A mark is a user-level lock, too. */
	rlk_conn_mark(conn, &mark);
	return *mark.lock && !client->bells_refused && !client->many_writers;
}

bool rlk_doorbell_is_ghost(const struct rlk_lane *lane,
			   const struct rlk_conn *conn)
{
	uint64_t ghost = lane->ghost;

	return ghost == RLK_GHOST_ANY || ghost == rlk_conn_id(conn);
}

void rlk_doorbell_ring(const struct rlk_hold *hold, uint64_t bell_conn,
		       int64_t until_ms)
{
	struct rowlock_client *client = hold->name->client;
	struct rlk_lane *lane = rlk_client_lane(client, hold->name->text);
	struct rowlock_errinfo error;
	struct rlk_conn *conn;
	int64_t soon;
	int code;

	if (!bell_conn)
		return;
	soon = rlk_linger_until(lane, rlk_now(client->clock));
	/* Who gave the name back need not wait for whoever has the lane. */
	if (soon < until_ms)
		until_ms = soon;
	code = rlk_pool_get(client->pool, lane->bay, until_ms, false, NULL,
			    &conn, &error);
	if (code == ROWLOCK_ETIMEDOUT) {
		note_ghost(lane, bell_conn);
		rlk_sleeper_wake(&client->chores_sleeper);
	}
	if (code)
		return;
	if (rlk_conn_id(conn) == bell_conn)
		ring(lane, conn, hold);
	rlk_pool_put(client->pool, conn);
}
