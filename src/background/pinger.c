/* SPDX-License-Identifier: MIT */
/*
 * The pinger thread: keeps row holds good. The server ends a session that is
 * idle for the idle timeout, and a hold's deadline is the last answer's t0 plus
 * the timeout less the margin; so each hold's connection is pinged many times
 * in the timeout. It is a thread of its own, so that no other statement delays
 * it.
 *
 * All pings that are due are under way at once; an epoll tells which answers
 * have come. If they went one after the other, two dead connections would cost
 * all other holds, and so would a few hundred holds at a long round trip.
 *
 * While its ping is under way a connection is busy, and ours: no other thread
 * reads that answer, or closes the connection. A thread that wants it waits, as
 * for any other user of it (rlk_hold_take_conn_locked()).
 *
 * A ping that is not answered in a third of the timeout (or in a call's time)
 * ends its hold, if the server answers on another connection meanwhile: this
 * one is dead, and cannot be used for anything else. A server that answers
 * nobody may come back: the ping stays under way up to the hold's deadline.
 */
#include "background/pinger.h"

#include "background/heard.h"
#include "core/call.h"
#include "db/lend.h"
#include "db/stmt.h"
#include "hold/hold.h"
#include "hold/ping.h"

#include <assert.h>
#include <sys/epoll.h>

/* This many pings are sent, then as many answers taken, so that none waits for
 * all others. */
#define BATCH 64

static uint64_t patience_ms(const struct rlk_hold *hold)
{
	const struct rowlock_client *client = hold->name->client;
	uint64_t third = hold->name->strategy->pins_connection
			     ? client->row_idle_ms / 3
			     : rlk_ping_ms(hold);

	return third < client->call_timeout_ms ? third
					       : client->call_timeout_ms;
}

/* ------------------------------------------------------ one ping's life */

/* A row hold's ping ends: with its answer, or without. */
static void row_ponged_locked(struct rlk_hold *hold, bool answered)
{
	if (answered) {
		rlk_heard_note_locked(hold->name->client,
				      hold->upkeep->pinged_ms);
		rlk_hold_answered_locked(hold, hold->upkeep->pinged_ms);
	} else {
		rlk_hold_lose_locked(hold, "its connection does not answer");
	}
}

/* A ping of a lease's bell ends; the hold can do without the bell. Returns the
 * connection if it is not needed any more. */
static struct rlk_conn *bell_ponged_locked(struct rlk_hold *hold, bool answered)
{
	/* A hold given up meanwhile has left its connection to us. */
	if (!answered || hold->state != RLK_HOLD_HELD)
		return rlk_hold_take_conn(hold);
	rlk_pinger_plan_locked(hold, rlk_now(hold->name->client->clock));
	return NULL;
}

static void end(struct rlk_hold *hold, bool answered)
{
	struct rowlock_client *client = hold->name->client;
	struct rlk_conn *conn = NULL;

	rlk_mutex_lock(&client->mutex);
	hold->upkeep->pinging = false;
	rlk_pinger_forget_locked(hold);
	if (hold->name->strategy->pins_connection)
		row_ponged_locked(hold, answered);
	else
		conn = bell_ponged_locked(hold, answered);
	rlk_hold_put_conn_locked(hold);
	rlk_hold_put_locked(hold);
	rlk_mutex_unlock(&client->mutex);
	rlk_pool_discard(client->pool, conn);
}

/* Call this before the socket may be closed: a child of fork() that has it open
 * would keep it watched. */
static void unwatch(struct rlk_hold *hold)
{
	struct epoll_event event = { .events = 0 };

	epoll_ctl(hold->name->client->pongs, EPOLL_CTL_DEL,
		  rlk_conn_fd(rlk_hold_conn(hold)), &event);
}

/* The first one has the server keep the connection for longer. */
static enum rlk_fault ping_bell(struct rlk_hold *hold,
				struct rowlock_errinfo *reterr)
{
	const struct rowlock_client *client = hold->name->client;
	unsigned int long_s = client->bays[RLK_BAY_ASIDE].profile.idle_s;

	return rlk_conn_profile(rlk_hold_conn(hold))->idle_s == long_s
		   ? rlk_conn_ping(rlk_hold_conn(hold), reterr)
		   : rlk_conn_keep(rlk_hold_conn(hold), long_s, reterr);
}

/* Send a ping without blocking. A connection at rest has nothing unsent, so its
 * socket takes it at once. */
static void send_ping(struct rlk_hold *hold)
{
	struct rlk_request request = rlk_hold_request(hold);
	struct rowlock_errinfo error;
	bool bell = !hold->name->strategy->pins_connection;
	enum rlk_fault fault;
	bool found;

	/* A bell on an old server wakes no waiter. */
	if (bell && rlk_conn_retired(rlk_hold_conn(hold))) {
		end(hold, false);
		return;
	}
	rlk_conn_set_until(rlk_hold_conn(hold), hold->upkeep->pinged_ms);
	fault = bell ? ping_bell(hold, &error)
		     : hold->name->strategy->confirm(rlk_hold_conn(hold),
						     &request, &found, &error);
	if (fault == RLK_PENDING)
		rlk_pinger_watch(hold);
	else
		end(hold, !fault);
}

/* The answer, or a part of it, may be there. @last: its time is up. */
static void look(struct rlk_hold *hold, bool last)
{
	struct rowlock_errinfo error;
	struct rlk_reply reply;
	enum rlk_fault fault;

	unwatch(hold);
	fault = rlk_stmt_resume(rlk_hold_conn(hold), &reply, &error);
	if (fault == RLK_PENDING && !last)
		rlk_pinger_watch(hold);
	else
		end(hold, !fault);
}

/* -------------------------------------------------------- all of them */

static void set_alarm_locked(struct rlk_hold *hold, int64_t at_ms)
{
	rlk_alarms_set(&hold->name->client->pings, &hold->upkeep->ping, at_ms);
}

static uint64_t first_look_ms(const struct rlk_hold *hold)
{
	uint64_t patience = patience_ms(hold);

	return hold->name->strategy->pins_connection ? patience / 2 : patience;
}

/* Take its connection for a ping, until our patience ends. Returns false if it
 * needs none, or if another thread uses it, or is about to: its answer serves
 * as well. */
static bool begin_locked(struct rlk_hold *hold, int64_t now)
{
	struct rlk_upkeep *upkeep = hold->upkeep;

	if (hold->state != RLK_HOLD_HELD || hold->conn_busy ||
	    !rlk_list_empty(&upkeep->waits))
		return false;
	hold->conn_busy = true;
	rlk_hold_get_locked(hold);
	upkeep->pinging = true;
	upkeep->pinged_ms = now;
	upkeep->passed_over = false;
	set_alarm_locked(hold, rlk_after(now, first_look_ms(hold)));
	return true;
}

/* Does a ping that is not answered wait on? When half of our patience is over
 * another connection is asked. The hold is lost if that was answered, and ours
 * not a quarter later: after a standstill each has its answer by then. */
static bool waits_on_locked(struct rlk_hold *hold, int64_t now)
{
	struct rowlock_client *client = hold->name->client;
	struct rlk_upkeep *upkeep = hold->upkeep;
	uint64_t patience = patience_ms(hold);
	int64_t half = rlk_after(upkeep->pinged_ms, patience / 2);
	int64_t next = rlk_after(now, patience / 4);

	bool wanted =
	    hold->state == RLK_HOLD_HELD || hold->state == RLK_HOLD_RELEASING;

	if (!hold->name->strategy->pins_connection || !wanted ||
	    upkeep->passed_over || now >= upkeep->idle_until_ms)
		return false;
	upkeep->passed_over = client->heard.sent_ms >= half;
	if (!upkeep->passed_over)
		rlk_heard_want_locked(client);
	set_alarm_locked(
	    hold, next < upkeep->idle_until_ms ? next : upkeep->idle_until_ms);
	return true;
}

/* The next hold that is due: for a ping (*@ret_send), or for its last look.
 * Returns NULL if none is due before *@ret_next_ms. */
static struct rlk_hold *due_locked(struct rowlock_client *client,
				   bool *ret_send, int64_t *ret_next_ms)
{
	int64_t now = rlk_now(client->clock);
	struct rlk_alarm *alarm;

	while ((alarm = rlk_alarms_due(&client->pings, now))) {
		struct rlk_hold *hold =
		    container_of(alarm, struct rlk_upkeep, ping)->hold;

		*ret_send = !hold->upkeep->pinging;
		if (*ret_send ? begin_locked(hold, now)
			      : !waits_on_locked(hold, now))
			return hold;
	}
	*ret_next_ms = rlk_alarms_next(&client->pings);
	return NULL;
}

/* Returns the time of the next thing to do. */
static int64_t do_what_is_due(struct rowlock_client *client)
{
	int64_t next = 0;

	for (int i = 0; i < BATCH; i++) {
		struct rlk_hold *hold;
		bool send;

		rlk_mutex_lock(&client->mutex);
		hold = due_locked(client, &send, &next);
		client->pinger_armed_ms = next;
		rlk_mutex_unlock(&client->mutex);
		if (!hold)
			break;
		if (send)
			send_ping(hold);
		else
			look(hold, true);
	}
	return next;
}

static void take_pongs(struct rowlock_client *client)
{
	struct epoll_event events[BATCH];
	int count = epoll_wait(client->pongs, events, BATCH, 0);

	for (int i = 0; i < count; i++)
		look(events[i].data.ptr, false);
}

/* At the client's end, when no hold is left: drop the pings under way. */
static void give_up(struct rowlock_client *client)
{
	struct rlk_alarm *alarm;

	do {
		struct rlk_hold *hold = NULL;

		rlk_mutex_lock(&client->mutex);
		alarm = rlk_alarms_due(&client->pings, RLK_NEVER);
		if (alarm)
			hold =
			    container_of(alarm, struct rlk_upkeep, ping)->hold;
		assert(!hold || hold->upkeep->pinging);
		rlk_mutex_unlock(&client->mutex);
		if (hold)
			look(hold, true);
	} while (alarm);
}

void rlk_pinger_run(void *arg)
{
	struct rowlock_client *client = arg;

	while (!rlk_client_stopping(client)) {
		int64_t next = do_what_is_due(client);

		take_pongs(client);
		rlk_sleeper_wait(&client->pinger_sleeper, next, client->pongs);
	}
	give_up(client);
}
