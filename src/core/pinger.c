/* SPDX-License-Identifier: MIT */
/*
 * The pinger thread: keeps row holds good. The server ends a session that is
 * silent for the idle bound, and a hold's deadline is the last answer's t0 plus
 * the bound less the margin; so each hold's connection is pinged every third of
 * the bound. A thread of its own: nothing else that has to be said to the
 * server may delay it.
 *
 * One ping that is not answered in a third of the bound (or in a call's time)
 * ends its hold: nothing else can be said on that connection, and two more
 * holds' pings fit before their deadlines.
 */
#include "core/hold.h"
#include "core/threads.h"

/* A third of what the server waits for a word on it. */
static uint64_t ping_ms(const struct rlk_hold *hold)
{
	const struct rowlock_client *client = hold->name->client;

	return hold->name->strategy->pins_connection
		   ? client->row_idle_ms / 3
		   : (uint64_t) rlk_client_word_ms(client, RLK_BAY_BELL);
}

static uint64_t patience_ms(const struct rlk_hold *hold)
{
	uint64_t ping = ping_ms(hold);
	uint64_t call = hold->name->client->call_timeout_ms;

	return ping < call ? ping : call;
}

void rlk_pinger_plan_locked(struct rlk_hold *hold, int64_t answered_ms)
{
	struct rowlock_client *client = hold->name->client;
	int64_t next = rlk_after(answered_ms, ping_ms(hold));

	hold->upkeep->next_ping_ms = next;
	if (next >= client->pinger_armed_ms)
		return;
	client->pinger_armed_ms = next;
	rlk_sleeper_wake(&client->pinger_sleeper);
}

static bool is_due_locked(struct rlk_hold *hold, int64_t *next_ms)
{
	int64_t due = hold->upkeep->next_ping_ms;

	/* Who talks on it gets the answer that a ping would. */
	if (hold->state != RLK_HOLD_HELD || hold->conn_busy)
		return false;
	if (due <= rlk_now(hold->name->client->clock)) {
		hold->conn_busy = true;
		rlk_hold_get_locked(hold);
		return true;
	}
	if (due < *next_ms)
		*next_ms = due;
	return false;
}

/* A hold whose ping is due, its connection taken for us; else NULL and when the
 * next one is due. */
static struct rlk_hold *due_hold_locked(struct rowlock_client *client,
					int64_t *ret_next_ms)
{
	struct rlk_list *node;
	struct rlk_list *after;

	*ret_next_ms = RLK_NEVER;
	rlk_list_for_each(node, after, &client->row_holds)
	{
		struct rlk_hold *hold =
		    container_of(node, struct rlk_hold, node);

		if (is_due_locked(hold, ret_next_ms))
			return hold;
	}
	rlk_list_for_each(node, after, &client->bells)
	{
		struct rlk_hold *hold =
		    container_of(node, struct rlk_upkeep, in_bells)->hold;

		if (is_due_locked(hold, ret_next_ms))
			return hold;
	}
	return NULL;
}

bool rlk_ping(struct rlk_hold *hold, int64_t until_ms)
{
	struct rowlock_client *client = hold->name->client;
	struct rlk_request request = rlk_hold_request(hold);
	int64_t t0 = rlk_now(client->clock);
	struct rowlock_errinfo error;
	enum rlk_fault fault;
	bool found;

	rlk_conn_set_until(hold->conn, until_ms);
	fault =
	    hold->name->strategy->confirm(hold->conn, &request, &found, &error);
	rlk_mutex_lock(&client->mutex);
	if (!fault)
		rlk_hold_answered_locked(hold, t0);
	else
		rlk_hold_lose_locked(hold, "its connection does not answer");
	rlk_hold_put_conn_locked(hold);
	rlk_mutex_unlock(&client->mutex);
	return !fault;
}

/* The connection of a lease's bell, which the hold can do without. */
static void ping_bell(struct rlk_hold *hold, int64_t until_ms)
{
	struct rowlock_client *client = hold->name->client;
	struct rlk_conn *conn = hold->conn;
	struct rowlock_errinfo error;
	bool answered;

	rlk_conn_set_until(conn, until_ms);
	answered = !rlk_conn_retired(conn) && !rlk_conn_ping(conn, &error);
	rlk_mutex_lock(&client->mutex);
	/* Who gave the hold up meanwhile has left its connection to us. */
	if (answered && hold->state == RLK_HOLD_HELD) {
		conn = NULL;
		rlk_pinger_plan_locked(hold, rlk_now(client->clock));
	} else {
		hold->conn = NULL;
		rlk_list_remove(&hold->upkeep->in_bells);
	}
	rlk_hold_put_conn_locked(hold);
	rlk_mutex_unlock(&client->mutex);
	rlk_pool_discard(client->pool, conn);
}

static void ping(struct rowlock_client *client, struct rlk_hold *hold)
{
	int64_t until = rlk_after(rlk_now(client->clock), patience_ms(hold));

	if (hold->name->strategy->pins_connection)
		rlk_ping(hold, until);
	else
		ping_bell(hold, until);
	rlk_mutex_lock(&client->mutex);
	rlk_hold_put_locked(hold);
	rlk_mutex_unlock(&client->mutex);
}

void rlk_pinger_run(void *arg)
{
	struct rowlock_client *client = arg;

	while (!rlk_client_stopping(client)) {
		struct rlk_hold *hold;
		int64_t next = RLK_NEVER;

		rlk_mutex_lock(&client->mutex);
		hold = due_hold_locked(client, &next);
		client->pinger_armed_ms = next;
		rlk_mutex_unlock(&client->mutex);
		if (hold)
			ping(client, hold);
		else
			rlk_sleeper_wait(&client->pinger_sleeper, next, -1);
	}
}
