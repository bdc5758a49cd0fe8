/* SPDX-License-Identifier: MIT */
/*
 * Opens the session: the first acquire of a lease commits its row, the others
 * wait for that. After a loss the next acquire opens a new one, with a new
 * number: an id is never used again, and one whose INSERT got no answer is
 * thrown away, because it might still be executed.
 */
#include "hold/session.h"

#include "base/error.h"
#include "base/random.h"
#include "core/call.h"
#include "core/silence.h"
#include "core/timer.h"
#include "db/lend.h"
#include "hold/hold.h"

#include <stdlib.h>
#include <string.h>

/* A lease outlives a server that stands still for what the last beat has left
 * of its TTL. A short TTL has little to leave, and is beaten 24 times; a long
 * one three times. */
#define SHORT_TTL_MS 10000

static int wait_for_session_locked(struct rowlock_client *client,
				   struct rlk_waiter *waiter)
{
	int code = rlk_waiter_over_locked(waiter);

	if (code)
		return code;
	/* A try has no deadline of its own, but its call has. */
	if (rlk_now(client->clock) >= waiter->give_up_ms)
		return ROWLOCK_EBUSY;
	waiter->in_session = true;
	rlk_deadline_set_locked(client, &waiter->alarm,
				waiter->wish.try ? waiter->give_up_ms
						 : waiter->until_ms);
	rlk_cond_wait(&client->session_changed, &client->mutex);
	rlk_alarms_clear(&client->alarms, &waiter->alarm);
	waiter->in_session = false;
	return 0;
}

/* When its row was sent, and to which server. */
struct opened {
	int64_t t0;
	char server[96];
};

static enum rlk_fault insert_row(struct rowlock_client *client, uint64_t id,
				 struct rlk_waiter *waiter,
				 struct opened *ret_opened,
				 struct rowlock_errinfo *reterr)
{
	const struct rlk_session_row row = {
		.id = id,
		.ttl_ms = client->ttl_ms,
		.host = client->host,
		.pid = (unsigned int) client->pid,
		.program = client->program,
	};
	struct rlk_conn *conn;
	enum rlk_fault fault;
	int64_t t0;

	if (rlk_pool_get(client->pool, RLK_BAY_COMMIT,
			 rlk_waiter_io_until(waiter), false,
			 &waiter->pool_waiter, &conn, reterr))
		return RLK_FAILED;
	t0 = rlk_now(client->clock);
	fault = rlk_session_open(conn, &row, reterr);
	if (fault == RLK_PENDING) {
		rlk_fail_no_answer(client, 0, reterr);
		rlk_prefix(reterr, "open session: ");
	}
	if (!fault) {
		ret_opened->t0 = t0;
		memcpy(ret_opened->server, rlk_conn_server(conn)->identity,
		       sizeof(ret_opened->server));
	}
	rlk_pool_put(client->pool, conn);
	return fault;
}

uint64_t rlk_session_beat_ms(const struct rowlock_client *client)
{
	uint64_t ttl = client->ttl_ms;
	uint64_t brief = ttl < SHORT_TTL_MS ? ttl : SHORT_TTL_MS;
	uint64_t beat = brief / RLK_SIGNS_OF_LIFE + (ttl - brief) / 2;

	return beat < ttl / 3 ? beat : ttl / 3;
}

static void begin_locked(struct rowlock_client *client, uint64_t id,
			 const struct opened *opened)
{
	struct rlk_session *session = &client->session;

	session->state = RLK_SESSION_ALIVE;
	session->id = id;
	memcpy(session->server, opened->server, sizeof(session->server));
	session->breaks = 0;
	session->beats = session->beat_seen = session->beats_then = 0;
	session->valid_until_ms = -1;
	session->next_beat_ms =
	    rlk_after(opened->t0, rlk_session_beat_ms(client));
	session->next_look_ms = session->next_beat_ms;
	rlk_session_answered_locked(client, opened->t0);
	rlk_sleeper_wake(&client->keeper_sleeper);
}

/* The row may be there, or come: let the chores delete it. */
static void throw_away_locked(struct rowlock_client *client, uint64_t id)
{
	struct rlk_session *session = &client->session;

	session->grave->id = id;
	rlk_list_append(&client->old_sessions, &session->grave->node);
	session->grave = NULL;
	rlk_sleeper_wake(&client->chores_sleeper);
}

static int open_locked(struct rowlock_client *client, struct rlk_waiter *waiter,
		       struct rowlock_errinfo *reterr)
{
	struct rlk_session *session = &client->session;
	uint64_t id = rlk_random();
	enum rlk_fault fault;
	struct opened opened = { 0 };

	if (!session->grave)
		session->grave = malloc(sizeof(*session->grave));
	if (!session->grave)
		return rlk_fail(reterr, ROWLOCK_ENOMEM,
				"open session on %s: out of memory",
				client->server);
	session->state = RLK_SESSION_OPENING;
	rlk_mutex_unlock(&client->mutex);
	fault = insert_row(client, id, waiter, &opened, reterr);
	rlk_mutex_lock(&client->mutex);
	session->state = RLK_SESSION_NONE;
	if (!fault)
		begin_locked(client, id, &opened);
	else if (rlk_fault_open(fault))
		throw_away_locked(client, id);
	rlk_cond_broadcast(&client->session_changed);
	switch (fault) {
	case RLK_DONE:
		return 0;
	case RLK_BUSY:
	case RLK_CONFLICT:
	case RLK_KILLED:
		return ROWLOCK_EBUSY; /* blocked for a moment */
	default:
		return reterr->code;
	}
}

int rlk_session_ensure(struct rowlock_client *client, struct rlk_waiter *waiter,
		       uint64_t *ret_id, struct rowlock_errinfo *reterr)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);
	struct rlk_session *session = &client->session;
	int code = 0;

	while (!code) {
		if (session->state == RLK_SESSION_ALIVE &&
		    rlk_now(client->clock) >= session->valid_until_ms)
			rlk_session_expire_locked(client);
		if (session->state == RLK_SESSION_ALIVE) {
			waiter->breaks = session->breaks;
			*ret_id = session->id;
			return 0;
		}
		if (session->state == RLK_SESSION_OPENING)
			code = wait_for_session_locked(client, waiter);
		else
			code = open_locked(client, waiter, reterr);
	}
	return code;
}

bool rlk_session_is_at(struct rowlock_client *client,
		       const struct rlk_conn *conn,
		       struct rowlock_errinfo *reterr)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);

	if (client->many_writers ||
	    rlk_server_same(client->session.server,
			    rlk_conn_server(conn)->identity))
		return true;
	client->session.next_beat_ms = rlk_now(client->clock);
	client->session.next_look_ms = client->session.next_beat_ms;
	rlk_sleeper_wake(&client->keeper_sleeper);
	rlk_fail(reterr, ROWLOCK_EDB,
		 "another server answers at the address of %s, and has not "
		 "told yet whether it knows this client",
		 client->server);
	return false;
}
