/* SPDX-License-Identifier: MIT */
/*
 * The answers of the server on any connection of a client.
 *
 * A connection that is silent while another is answered is dead. If none is
 * answered, the server stands still (a disk that stalls, a machine that is
 * moved): then each hold is good until its own deadline. So a connection that
 * owes an answer makes the chores ask on another one.
 *
 * Failure modes: if the chores have no connection, or are busy with a server
 * that stands still, nothing is heard, and the hold's deadline decides.
 */
#include "background/heard.h"

#include "core/call.h"
#include "db/lend.h"
#include "db/stmt.h"

void rlk_heard_note_locked(struct rowlock_client *client, int64_t sent_ms)
{
	if (sent_ms > client->heard.sent_ms)
		client->heard.sent_ms = sent_ms;
}

void rlk_heard_want_locked(struct rowlock_client *client)
{
	client->heard.wanted = true;
	rlk_sleeper_wake(&client->chores_sleeper);
}

void rlk_heard_ask(struct rowlock_client *client)
{
	struct rowlock_errinfo error;
	struct rlk_conn *conn;
	int64_t sent;
	bool wanted;

	rlk_mutex_lock(&client->mutex);
	wanted = client->heard.wanted;
	client->heard.wanted = false;
	rlk_mutex_unlock(&client->mutex);
	if (!wanted || rlk_client_chore_conn(client, RLK_BAY_CONTROL, &conn))
		return;
	sent = rlk_now(client->clock);
	if (!rlk_conn_ping(conn, &error)) {
		rlk_mutex_lock(&client->mutex);
		rlk_heard_note_locked(client, sent);
		rlk_mutex_unlock(&client->mutex);
	}
	rlk_pool_put(client->pool, conn);
}
