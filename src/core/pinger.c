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

static uint64_t ping_ms(const struct rowlock_client *client)
{
	return client->row_idle_ms / 3;
}

static uint64_t patience_ms(const struct rowlock_client *client)
{
	uint64_t ping = ping_ms(client);

	return ping < client->call_timeout_ms ? ping : client->call_timeout_ms;
}

void rlk_pinger_plan_locked(struct rlk_hold *hold, int64_t answered_ms)
{
	struct rowlock_client *client = hold->client;

	hold->next_ping_ms = rlk_after(answered_ms, ping_ms(client));
	if (hold->next_ping_ms >= client->pinger_armed_ms)
		return;
	client->pinger_armed_ms = hold->next_ping_ms;
	rlk_sleeper_wake(&client->pinger_sleeper);
}

/* A hold whose ping is due, its connection taken for us; else NULL and when the
 * next one is due. */
static struct rlk_hold *due_hold_locked(struct rowlock_client *client,
					int64_t *ret_next_ms)
{
	int64_t now = rlk_now(client->clock);
	int64_t next = RLK_NEVER;
	struct rlk_list *node;
	struct rlk_list *after;

	rlk_list_for_each(node, after, &client->row_holds)
	{
		struct rlk_hold *hold =
		    container_of(node, struct rlk_hold, node);

		/* Who talks on it gets the answer that a ping would. */
		if (hold->state != RLK_HOLD_HELD || hold->conn_busy)
			continue;
		if (hold->next_ping_ms <= now) {
			hold->conn_busy = true;
			rlk_hold_get_locked(hold);
			return hold;
		}
		if (hold->next_ping_ms < next)
			next = hold->next_ping_ms;
	}
	*ret_next_ms = next;
	return NULL;
}

bool rlk_ping(struct rlk_hold *hold, int64_t until_ms)
{
	struct rowlock_client *client = hold->client;
	struct rlk_request request = rlk_hold_request(hold);
	int64_t t0 = rlk_now(client->clock);
	struct rowlock_errinfo error;
	enum rlk_fault fault;
	bool found;

	rlk_conn_set_until(hold->conn, until_ms);
	fault = hold->strategy->confirm(hold->conn, &request, &found, &error);
	rlk_mutex_lock(&client->mutex);
	if (!fault)
		rlk_hold_answered_locked(hold, t0);
	else
		rlk_hold_lose_locked(hold, "its connection does not answer");
	rlk_hold_put_conn_locked(hold);
	rlk_mutex_unlock(&client->mutex);
	return !fault;
}

static void ping(struct rowlock_client *client, struct rlk_hold *hold)
{
	rlk_ping(hold, rlk_after(rlk_now(client->clock), patience_ms(client)));
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
