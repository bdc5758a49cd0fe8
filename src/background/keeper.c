/* SPDX-License-Identifier: MIT */
/*
 * The keeper thread: one UPDATE per beat, whatever the number of holds (and one
 * for 256 that are kept, keeps.c), on a connection that was
 * opened beforehand; if no answer comes in a sixth of the TTL, the next try is
 * on the spare one. Several tries fit before the deadline.
 *
 *     t0 = now                      read before the beat is sent
 *     beat sent ... answered
 *     holds are good until          t0 + TTL - margin      on our clock
 *     the server lets others in     >= t0 + TTL            on its clock
 *
 * The margin covers clocks that run at different rates. A beat that is answered
 * late moves the deadline from its own t0 only; an answer after the deadline
 * changes nothing, as LOST is final.
 *
 * Every beat returns the server's time; without a session the spare connection
 * asks for it. If that clock jumps, it no longer decides which holders are
 * dead. As often, the keeper looks for threads that ended unnoticed.
 */
#include "background/keeper.h"

#include "background/heard.h"
#include "background/keeps.h"
#include "base/error.h"
#include "core/call.h"
#include "db/lend.h"
#include "db/retire.h"
#include "db/stmt.h"
#include "hold/clear.h"
#include "hold/hold.h"
#include "hold/late.h"
#include "hold/session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Clocks are slewed by at most a tenth (chrony's maxslewrate is 8.3 %). */
#define SLEW 10

/* The keeper's state between its rounds. */
struct keeper {
	struct rowlock_client *client;
	bool failing;         /* the last beat was not answered, */
	bool pressing;        /* and two fifths of the TTL are left: soon
				 `rowlock run` ends its command */
	int64_t next_time_ms; /* when to tend the spare connection */
	bool has_offset;
	int64_t offset_us; /* server's clock minus ours */
	int64_t error_us;  /* the offset's error, */
	int64_t as_of_ms;  /* at this moment */
};

/* How long one beat may take before the other connection is tried. */
static uint64_t patience_ms(const struct rowlock_client *client)
{
	uint64_t sixth = client->ttl_ms / 6;

	return sixth < client->call_timeout_ms ? sixth
					       : client->call_timeout_ms;
}

/* The server closes a session that is idle for its wait_timeout, a TTL or 30 s;
 * a proxy may close it sooner. */
static uint64_t time_ms(const struct rowlock_client *client)
{
	uint64_t third = client->ttl_ms / 3;

	return third < 30000 ? third : 30000;
}

/* Make sure there is a connection in @place; false if there is none. One to a
 * read-only server is kept until there is another: it may take writes again. */
static bool have_conn(struct rowlock_client *client, int place,
		      int64_t until_ms, struct rowlock_errinfo *reterr)
{
	struct rlk_conn **conn = &client->keeper_conns[place];
	bool usable = *conn && rlk_conn_usable(*conn);
	struct rlk_conn *next;

	if (usable && !rlk_conn_retired(*conn))
		return true;
	if (!usable)
		rlk_pool_put(client->pool, TAKE_PTR(*conn));
	if (rlk_pool_get(client->pool, RLK_BAY_CONTROL, until_ms, false, NULL,
			 &next, reterr))
		return usable;
	rlk_pool_put(client->pool, *conn);
	*conn = next;
	return true;
}

/* No patience at the client's end. */
static int64_t patience_until(struct rowlock_client *client)
{
	int64_t now = rlk_now(client->clock);

	if (rlk_client_stopping(client))
		return now;
	return rlk_after(now, patience_ms(client));
}

int rlk_keeper_prepare(struct rowlock_client *client,
		       struct rowlock_errinfo *reterr)
{
	int64_t until =
	    rlk_after(rlk_now(client->clock), client->connect_timeout_ms);

	for (int place = 0; place < 2; place++)
		if (!have_conn(client, place, until, reterr))
			return reterr->code;
	return 0;
}

/* Another server knows the session: a promoted replica. The chores look whether
 * it also knows the leases. */
static void move_locked(struct rowlock_client *client, const char *server)
{
	struct rlk_session *session = &client->session;

	if (rlk_server_same(session->server, server))
		return;
	memcpy(session->server, server, sizeof(session->server));
	/* The last beats may not have been replicated. */
	session->beat_seen = 0;
	session->beats_then = session->beats;
	client->look_breaks = true;
	rlk_sleeper_wake(&client->chores_sleeper);
}

/* The rows of holds are looked for behind a beat in each third of the TTL.
 * While there is no hold, only names that were released long ago can have come
 * back: a look in each TTL is enough. */
static bool look_is_due_locked(const struct rowlock_client *client, int64_t now)
{
	uint64_t more =
	    rlk_list_empty(&client->session.holds) ? client->ttl_ms * 2 / 3 : 0;

	return now >= rlk_after(client->session.next_look_ms, more);
}

/* Act on a beat's answer, by @server. */
static void answered(struct rowlock_client *client, uint64_t id, int64_t t0,
		     const struct rlk_beat *beat, const char *server)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);
	struct rlk_session *session = &client->session;

	if (session->state != RLK_SESSION_ALIVE || session->id != id)
		return; /* it was lost while the beat was under way */
	if (!beat->alive) {
		rlk_session_lose_locked(client, RLK_WAS_EVICTED);
		return;
	}
	/* It came too late, and the deadline thread has not run yet. */
	if (rlk_now(client->clock) >= session->valid_until_ms) {
		rlk_session_expire_locked(client);
		return;
	}
	rlk_session_answered_locked(client, t0);
	rlk_heard_note_locked(client, t0);
	session->next_beat_ms = rlk_after(t0, rlk_session_beat_ms(client));
	session->beats++;
	move_locked(client, server);
	client->look_breaks =
	    client->look_breaks || session->breaks != beat->breaks;
	session->breaks = beat->breaks;
	if (look_is_due_locked(client, t0)) {
		session->next_look_ms = rlk_after(t0, client->ttl_ms / 3);
		client->look_late = client->look_present;
		client->look_present = true;
	}
	rlk_sleeper_wake(&client->chores_sleeper);
}

/* The server's clock was @server_us between @before and now, so its offset to
 * ours is known to within a round trip. Has it changed by more? */
static void compare(struct keeper *keeper, int64_t before, int64_t server_us)
{
	struct rowlock_client *client = keeper->client;
	int64_t after = rlk_now(client->clock);
	int64_t offset_us = server_us - (before + after) / 2 * 1000;
	int64_t error_us = (after - before + 1) * 1000;
	int64_t jump = offset_us - keeper->offset_us;
	/* Either clock may have been slewed since. */
	int64_t slewed_us = (after - keeper->as_of_ms) * 1000 / SLEW;
	int64_t allowed = (int64_t) client->margin_ms * 500 + slewed_us +
			  error_us + keeper->error_us;

	if (keeper->has_offset && llabs(jump) > allowed)
		rlk_clock_jumped(client, jump / 1000);
	keeper->has_offset = true;
	keeper->offset_us = offset_us;
	keeper->error_us = error_us;
	keeper->as_of_ms = after;
}

static bool beat_on(struct keeper *keeper, int place, uint64_t id,
		    struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = keeper->client;
	const struct rlk_session_row row = {
		.id = id,
		.ttl_ms = client->ttl_ms,
	};
	struct rlk_conn *conn;
	enum rlk_fault fault;
	struct rlk_beat beat;
	int64_t t0;

	if (!have_conn(client, place, patience_until(client), reterr))
		return false;
	conn = client->keeper_conns[place];
	t0 = rlk_now(client->clock);
	rlk_conn_set_until(conn, patience_until(client));
	fault = rlk_session_beat(conn, &row, &beat, reterr);
	if (fault == RLK_PENDING) {
		rlk_fail_no_answer(client, patience_ms(client), reterr);
		rlk_prefix(reterr, "beat: ");
	}
	if (fault) {
		rlk_pool_note(client->pool, conn);
		return false;
	}
	answered(client, id, t0, &beat, rlk_conn_server(conn)->identity);
	if (beat.alive)
		compare(keeper, t0, beat.server_us);
	return true;
}

static void swap(struct rowlock_client *client)
{
	struct rlk_conn *first = client->keeper_conns[0];

	client->keeper_conns[0] = client->keeper_conns[1];
	client->keeper_conns[1] = first;
}

/* For how long the session is good yet. */
static int64_t left_ms(struct rowlock_client *client, uint64_t id)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);
	const struct rlk_session *session = &client->session;

	return session->state == RLK_SESSION_ALIVE && session->id == id
		   ? session->valid_until_ms - rlk_now(client->clock)
		   : 0;
}

static void tell(struct keeper *keeper, uint64_t id,
		 const struct rowlock_errinfo *error)
{
	struct rowlock_client *client = keeper->client;
	int64_t left = left_ms(client, id);
	bool pressing = left < (int64_t) (client->ttl_ms * 2 / 5);

	if (keeper->failing && pressing <= keeper->pressing)
		return;
	keeper->failing = true;
	keeper->pressing = pressing;
	if (left > 0)
		rlk_log(&client->log,
			pressing ? ROWLOCK_LOG_ERROR : ROWLOCK_LOG_WARNING,
			"heartbeat failed, leases are lost in %" PRId64
			" ms unless one succeeds: %s",
			left, error->message);
	else
		rlk_log(&client->log, ROWLOCK_LOG_ERROR,
			"heartbeat failed, leases are lost: %s",
			error->message);
}

static void beat_failed(struct keeper *keeper, uint64_t id,
			const struct rowlock_errinfo *error)
{
	struct rowlock_client *client = keeper->client;

	rlk_mutex_lock(&client->mutex);
	if (client->session.state == RLK_SESSION_ALIVE &&
	    client->session.id == id) {
		client->session.next_beat_ms =
		    rlk_after(rlk_now(client->clock), client->ttl_ms / 30);
		rlk_late_note_locked(client, error);
	}
	rlk_mutex_unlock(&client->mutex);
	tell(keeper, id, error);
}

static void beat(struct keeper *keeper, uint64_t id)
{
	struct rowlock_client *client = keeper->client;
	struct rowlock_errinfo error = { 0 };

	if (!beat_on(keeper, 0, id, &error)) {
		/* The other may take too long to tell it then. */
		if (keeper->failing)
			tell(keeper, id, &error);
		swap(client);
		if (rlk_client_stopping(client) ||
		    !beat_on(keeper, 0, id, &error)) {
			beat_failed(keeper, id, &error);
			return;
		}
	}
	rlk_keeps_beat(client, client->keeper_conns[0], patience_ms(client));
	if (keeper->failing)
		rlk_log(&client->log, ROWLOCK_LOG_INFO,
			"heartbeat is answered again by %s", client->server);
	keeper->failing = false;
	keeper->pressing = false;
}

/* Keep the spare connection alive; ask it for the time if no beat does. */
static void tend_spare(struct keeper *keeper, bool beating)
{
	struct rowlock_client *client = keeper->client;
	struct rowlock_errinfo error;
	int64_t server_us;
	int64_t before;

	keeper->next_time_ms =
	    rlk_after(rlk_now(client->clock), time_ms(client));
	if (!have_conn(client, 1, patience_until(client), &error))
		return;
	before = rlk_now(client->clock);
	rlk_conn_set_until(client->keeper_conns[1], patience_until(client));
	if (beating)
		rlk_conn_ping(client->keeper_conns[1], &error);
	else if (!rlk_conn_server_time(client->keeper_conns[1], &server_us,
				       &error))
		compare(keeper, before, server_us);
	/* Without beats the other would be idle: use both in turn. */
	if (!beating)
		swap(client);
}

void rlk_keeper_run(void *arg)
{
	struct keeper keeper = { .client = arg };
	struct rowlock_client *client = arg;

	for (;;) {
		int64_t next = keeper.next_time_ms;
		int64_t now = rlk_now(client->clock);
		uint64_t id = 0;
		bool beating;

		if (rlk_client_stopping(client))
			return;
		rlk_mutex_lock(&client->mutex);
		beating = client->session.state == RLK_SESSION_ALIVE;
		if (beating) {
			if (client->session.next_beat_ms <= now)
				id = client->session.id;
			if (client->session.next_beat_ms < next)
				next = client->session.next_beat_ms;
		}
		rlk_mutex_unlock(&client->mutex);
		if (id) {
			beat(&keeper, id);
		} else if (keeper.next_time_ms <= now) {
			rlk_end_look();
			tend_spare(&keeper, beating);
		} else {
			rlk_sleeper_wait(&client->keeper_sleeper, next, -1);
		}
	}
}
