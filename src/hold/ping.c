/* SPDX-License-Identifier: MIT */
/*
 * Plans the pings of a hold's connection (background/pinger.c sends them), and
 * sends one on the caller's thread.
 */
#include "hold/ping.h"

#include "core/call.h"
#include "core/silence.h"

#include <sys/epoll.h>

/* A row hold outlives a server that stands still for what its last ping has
 * left of its time, so it is pinged often. A hold can do without its bell: a
 * third of the server's idle timeout, first of the short one. */
uint64_t rlk_ping_ms(const struct rlk_hold *hold)
{
	const struct rowlock_client *client = hold->name->client;

	if (hold->name->strategy->pins_connection)
		return client->row_idle_ms / RLK_SIGNS_OF_LIFE;
	return (uint64_t) rlk_silence_ms(rlk_conn_profile(rlk_hold_conn(hold)));
}

static void plan_at_locked(struct rlk_hold *hold, int64_t next)
{
	struct rowlock_client *client = hold->name->client;

	rlk_alarms_set(&client->pings, &hold->upkeep->ping, next);
	if (next >= client->pinger_armed_ms)
		return;
	client->pinger_armed_ms = next;
	rlk_sleeper_wake(&client->pinger_sleeper);
}

void rlk_pinger_plan_locked(struct rlk_hold *hold, int64_t answered_ms)
{
	plan_at_locked(hold, rlk_after(answered_ms, rlk_ping_ms(hold)));
}

void rlk_pinger_hurry_locked(struct rlk_hold *hold)
{
	plan_at_locked(hold, rlk_now(hold->name->client->clock));
}

void rlk_pinger_forget_locked(struct rlk_hold *hold)
{
	if (hold->upkeep && !hold->upkeep->pinging)
		rlk_alarms_clear(&hold->name->client->pings,
				 &hold->upkeep->ping);
}

void rlk_pinger_watch(struct rlk_hold *hold)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = hold };

	epoll_ctl(hold->name->client->pongs, EPOLL_CTL_ADD,
		  rlk_conn_fd(rlk_hold_conn(hold)), &event);
}

/* The caller's time is up: the ping that it has sent at @t0 is the pinger's,
 * and so is the connection. */
static void go_on_locked(struct rlk_hold *hold, int64_t t0)
{
	rlk_hold_get_locked(hold);
	hold->upkeep->pinging = true;
	hold->upkeep->passed_over = false;
	hold->upkeep->pinged_ms = t0;
	rlk_pinger_watch(hold);
	rlk_pinger_hurry_locked(hold);
}

bool rlk_ping(struct rlk_hold *hold, int64_t until_ms)
{
	struct rowlock_client *client = hold->name->client;
	struct rlk_request request = rlk_hold_request(hold);
	int64_t t0 = rlk_now(client->clock);
	struct rowlock_errinfo error;
	enum rlk_fault fault;
	bool found;

	rlk_conn_set_until(rlk_hold_conn(hold), until_ms);
	fault = hold->name->strategy->confirm(rlk_hold_conn(hold), &request,
					      &found, &error);
	rlk_mutex_lock(&client->mutex);
	if (fault == RLK_PENDING && hold->state == RLK_HOLD_HELD) {
		go_on_locked(hold, t0);
	} else {
		if (!fault)
			rlk_hold_answered_locked(hold, t0);
		else
			rlk_hold_lose_locked(hold,
					     "its connection does not answer");
		rlk_hold_put_conn_locked(hold);
	}
	rlk_mutex_unlock(&client->mutex);
	return !fault;
}
