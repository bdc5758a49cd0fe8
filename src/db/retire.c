/* SPDX-License-Identifier: MIT */
/*
 * Retires connections to a server that is not the right one any more, while
 * they live, as no error of theirs would ever lead to another server.
 *
 * A server that refuses a statement as read-only (a primary that was demoted,
 * and kept its clients), or because it is not ready (a node of Galera that has
 * left the others), will refuse it on each connection. All of them are retired:
 * the idle ones are not lent again, the others are closed when they are given
 * back, and a thread that keeps one for long asks (rlk_conn_retired()). So the
 * next try opens a new one, and gets to where the name of the server, or a
 * proxy, leads now.
 *
 * Failure modes: it may lead to the same server again. Nothing is retired for a
 * while then, so that not each refusal costs a connection.
 */
#include "db/retire.h"

#include "db/pool_private.h"

#include <string.h>

/* Retire connections at most once in this time. */
#define RETIRE_MS 1000

/* Call @fn for each connection. Under the mutex. */
static void each(struct rlk_pool *pool,
		 void (*fn)(struct rlk_conn *conn, const char *identity),
		 const char *identity)
{
	struct rlk_conn *conn;

	for (size_t i = 0; i < pool->count; i++) {
		rlk_list_each (conn, &pool->bays[i].idle, loan.in_bay)
			fn(conn, identity);
		rlk_list_each (conn, &pool->bays[i].out, loan.in_bay)
			fn(conn, identity);
	}
}

static void leave_server(struct rlk_conn *conn, const char *identity)
{
	if (!rlk_server_same(conn->server.identity, identity))
		conn->stale = true;
}

static void retire(struct rlk_conn *conn, const char *identity)
{
	if (rlk_server_same(conn->server.identity, identity))
		conn->retired = true;
}

/* After a failover that left old connections alive, they lead to one server
 * and new ones to another. A client has one server: that of the newest
 * connection; the others end, as after a failover that broke them. */
void rlk_pool_note_server(struct rlk_pool *pool, const struct rlk_conn *conn)
{
	const struct rlk_server *server = &conn->server;

	if (rlk_server_many_writers(server) ||
	    rlk_server_same(pool->identity, server->identity))
		return;
	each(pool, leave_server, server->identity);
	memcpy(pool->identity, server->identity, sizeof(pool->identity));
}

static void retire_server(struct rlk_pool *pool, const char *identity)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&pool->mutex);
	int64_t now = rlk_now(pool->target.clock);

	if (now - pool->retired_ms < RETIRE_MS)
		return;
	pool->retired_ms = now;
	each(pool, retire, identity);
}

void rlk_pool_note(struct rlk_pool *pool, struct rlk_conn *conn)
{
	rlk_refusal_report(&pool->refusal, pool->log);
	if (!conn->useless)
		return;
	conn->useless = false;
	if (!conn->retired)
		retire_server(pool, conn->server.identity);
}
