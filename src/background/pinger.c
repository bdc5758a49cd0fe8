/* SPDX-License-Identifier: MIT */
/*
 * The pinger thread: keeps row holds good. The server ends a session that is
 * silent for the idle bound, and a hold's deadline is the last answer's t0 plus
 * the bound less the margin; so each hold's connection is pinged every third of
 * the bound. A thread of its own: nothing else that has to be said to the
 * server may delay it.
 *
 * All pings that are due are under way at once. Each is sent and not waited
 * for; an epoll tells whose answer is there. One after the other, two
 * connections that have gone dead would take all others' holds along, and so
 * would a few hundred holds at a long round trip.
 *
 * As long as its ping is under way a connection is busy, and ours: nobody else
 * reads that answer, or closes it. Who wants it waits, as for any other thread
 * that talks on it (rlk_hold_take_conn_locked()).
 *
 * One ping that is not answered in a third of the bound (or in a call's time)
 * ends its hold: nothing else can be said on that connection, and two more
 * holds' pings fit before their deadlines.
 */
#include "background/pinger.h"

#include "core/call.h"
#include "db/lend.h"
#include "db/stmt.h"
#include "hold/hold.h"
#include "hold/ping.h"

#include <assert.h>
#include <sys/epoll.h>

/* So many are sent, then as many answers are taken: none of them waits for all
 * of the others. */
#define BATCH 64

static uint64_t patience_ms(const struct rlk_hold *hold)
{
	uint64_t ping = rlk_ping_ms(hold);
	uint64_t call = hold->name->client->call_timeout_ms;

	return ping < call ? ping : call;
}

/* ------------------------------------------------------ one ping's life */

/* Its end, for a row hold: the answer is there, or there will be none. */
static void row_ponged_locked(struct rlk_hold *hold, bool answered)
{
	if (answered)
		rlk_hold_answered_locked(hold, hold->upkeep->pinged_ms);
	else
		rlk_hold_lose_locked(hold, "its connection does not answer");
}

/* The same for a lease's bell, which the hold can do without. Returns the
 * connection if nobody has a use for it. */
static struct rlk_conn *bell_ponged_locked(struct rlk_hold *hold, bool answered)
{
	/* Who gave the hold up meanwhile has left its connection to us. */
	if (!answered || hold->state != RLK_HOLD_HELD)
		return TAKE_PTR(hold->conn);
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

/* Tell us when something comes on its socket. Without memory for that we look
 * when our patience ends. */
static void watch(struct rlk_hold *hold)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = hold };

	epoll_ctl(hold->name->client->pongs, EPOLL_CTL_ADD,
		  rlk_conn_fd(hold->conn), &event);
}

/* Before anything that may close the socket: a child of fork() that has it
 * open, too, would keep it watched. */
static void unwatch(struct rlk_hold *hold)
{
	struct epoll_event event = { .events = 0 };

	epoll_ctl(hold->name->client->pongs, EPOLL_CTL_DEL,
		  rlk_conn_fd(hold->conn), &event);
}

/* It has no time: it is on its way when this returns. A connection at rest has
 * nothing unsent, so its socket takes it at once. */
static void send_ping(struct rlk_hold *hold)
{
	struct rlk_request request = rlk_hold_request(hold);
	struct rowlock_errinfo error;
	bool bell = !hold->name->strategy->pins_connection;
	enum rlk_fault fault;
	bool found;

	/* On an old server it wakes nobody. */
	if (bell && rlk_conn_retired(hold->conn)) {
		end(hold, false);
		return;
	}
	rlk_conn_set_until(hold->conn, hold->upkeep->pinged_ms);
	fault = bell ? rlk_conn_ping(hold->conn, &error)
		     : hold->name->strategy->confirm(hold->conn, &request,
						     &found, &error);
	if (fault == RLK_PENDING)
		watch(hold);
	else
		end(hold, !fault);
}

/* Its answer, or a part of it, may be there. @last: or nothing comes. */
static void look(struct rlk_hold *hold, bool last)
{
	struct rowlock_errinfo error;
	struct rlk_reply reply;
	enum rlk_fault fault;

	unwatch(hold);
	fault = rlk_stmt_resume(hold->conn, &reply, &error);
	if (fault == RLK_PENDING && !last)
		watch(hold);
	else
		end(hold, !fault);
}

/* -------------------------------------------------------- all of them */

/* Take its connection for a ping, from now on until our patience ends. False:
 * it needs none, or who talks on it gets the answer that a ping would. */
static bool begin_locked(struct rlk_hold *hold, int64_t now)
{
	struct rlk_upkeep *upkeep = hold->upkeep;

	if (hold->state != RLK_HOLD_HELD || hold->conn_busy)
		return false;
	hold->conn_busy = true;
	rlk_hold_get_locked(hold);
	upkeep->pinging = true;
	upkeep->pinged_ms = now;
	rlk_alarms_set(&hold->name->client->pings, &upkeep->ping,
		       rlk_after(now, patience_ms(hold)));
	return true;
}

/* What there is to do now for a hold, if anything: to send (*@ret_send), or to
 * look for the last time. NULL: nothing is due, before *@ret_next_ms. */
static struct rlk_hold *due_locked(struct rowlock_client *client,
				   bool *ret_send, int64_t *ret_next_ms)
{
	int64_t now = rlk_now(client->clock);
	struct rlk_alarm *alarm;

	while ((alarm = rlk_alarms_due(&client->pings, now))) {
		struct rlk_hold *hold =
		    container_of(alarm, struct rlk_upkeep, ping)->hold;

		*ret_send = !hold->upkeep->pinging;
		if (!*ret_send || begin_locked(hold, now))
			return hold;
	}
	*ret_next_ms = rlk_alarms_next(&client->pings);
	return NULL;
}

/* Returns when there is more to do. */
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

/* At the client's end, when no hold is left: nobody waits for what is still
 * under way. */
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
