/* SPDX-License-Identifier: MIT */
/*
 * The life of a hold: its begin, its deadline, its end. See hold.h for the
 * drawing. Nothing here does I/O; the thread that releases, or the chores, send
 * the statements.
 */
#include "hold/hold.h"

#include "base/random.h"
#include "base/set_text.h"
#include "core/call.h"
#include "core/timer.h"
#include "core/waiter.h"
#include "hold/handle.h"
#include "hold/late.h"
#include "hold/losses.h"
#include "hold/ping.h"

#include <assert.h>
#include <stdlib.h>

static void move(struct rlk_hold *hold, enum rlk_hold_state to)
{
	/* The steps of the drawing, with a bit per next state. */
	static const unsigned int allowed[] = {
		[RLK_HOLD_ASKED] = 1 << RLK_HOLD_HELD | 1 << RLK_HOLD_ABANDONED,
		[RLK_HOLD_HELD] = 1 << RLK_HOLD_EXPORTED |
				  1 << RLK_HOLD_RELEASING | 1 << RLK_HOLD_LOST,
		[RLK_HOLD_EXPORTED] =
		    1 << RLK_HOLD_RELEASING | 1 << RLK_HOLD_LOST,
		[RLK_HOLD_RELEASING] = 1 << RLK_HOLD_OVER | 1 << RLK_HOLD_LOST |
				       1 << RLK_HOLD_ABANDONED,
		[RLK_HOLD_LOST] = 1 << RLK_HOLD_ABANDONED,
		[RLK_HOLD_ABANDONED] = 1 << RLK_HOLD_OVER,
	};

	assert(allowed[hold->state] & 1u << to);
	(void) allowed;
	hold->state = to;
}

static void ring(struct rlk_alarm *alarm)
{
	/* Its end may have moved since the alarm was set. */
	rlk_hold_check_locked(
	    container_of(alarm, struct rlk_upkeep, alarm)->hold);
}

struct rlk_hold *rlk_hold_new_locked(struct rlk_name *name)
{
	struct rlk_hold *hold = malloc(sizeof(*hold));

	if (!hold)
		return NULL;
	*hold = (struct rlk_hold){
		.state = RLK_HOLD_ASKED,
		.refs = 1,
		.name = name,
		.attempt = rlk_random(),
	};
	rlk_list_init(&hold->node);
	rlk_name_get(name);
	return hold;
}

bool rlk_hold_make_upkeep(struct rlk_hold *hold)
{
	struct rlk_upkeep *upkeep = hold->upkeep;

	if (upkeep)
		return true;
	upkeep = malloc(sizeof(*upkeep));
	if (!upkeep)
		return false;
	*upkeep = (struct rlk_upkeep){
		.hold = hold,
		.max_until_ms = RLK_NEVER,
		.idle_until_ms = RLK_NEVER,
		.keep.until_ms = RLK_NEVER,
		.alarm = { .ring = ring },
	};
	rlk_list_init(&upkeep->waits);
	hold->upkeep = upkeep;
	return true;
}

bool rlk_hold_make_slots(struct rlk_hold *hold, unsigned int count)
{
	if (!rlk_hold_make_upkeep(hold))
		return false;
	hold->upkeep->slots = calloc(count, sizeof(*hold->upkeep->slots));
	hold->upkeep->count = count;
	return hold->upkeep->slots;
}

size_t rlk_hold_rows(const struct rlk_hold *hold)
{
	return hold->upkeep && hold->upkeep->count
		   ? hold->upkeep->count
		   : rlk_set_count(hold->name->text);
}

void rlk_hold_get_locked(struct rlk_hold *hold)
{
	hold->refs++;
}

void rlk_hold_put_locked(struct rlk_hold *hold)
{
	if (--hold->refs > 0)
		return;
	assert(!hold->upkeep || !hold->upkeep->alarm.set);
	assert(!hold->upkeep || !hold->upkeep->ping.set);
	assert(rlk_list_empty(&hold->node));
	assert(!hold->handles && !rlk_hold_conn(hold));
	rlk_names_put(&hold->name->client->names, hold->name);
	if (hold->upkeep)
		free(hold->upkeep->slots);
	free(hold->upkeep);
	free(hold);
}

struct rlk_request rlk_hold_request(const struct rlk_hold *hold)
{
	return (struct rlk_request){
		.name = hold->name->text,
		.slot = rlk_strategy_slot(hold->name->strategy, hold->attempt),
		.attempt = hold->attempt,
		.session = hold->session,
		.key = hold->name->client->bell_key,
		.row = hold->name->strategy->pins_connection,
		.bell_conn = hold->bell_conn,
		.count = hold->upkeep ? hold->upkeep->count : 0,
		.slots = hold->upkeep ? hold->upkeep->slots : NULL,
	};
}

bool rlk_hold_has_maximum(const struct rlk_hold *hold)
{
	return hold->upkeep && hold->upkeep->max_until_ms != RLK_NEVER;
}

/* The deadline of the hold itself. */
static int64_t own_until(const struct rlk_hold *hold)
{
	const struct rlk_upkeep *upkeep = hold->upkeep;
	int64_t until = RLK_NEVER;

	if (!upkeep)
		return RLK_NEVER;
	if (upkeep->max_until_ms < until)
		until = upkeep->max_until_ms;
	if (upkeep->idle_until_ms < until)
		until = upkeep->idle_until_ms;
	return upkeep->keep.until_ms < until ? upkeep->keep.until_ms : until;
}

int64_t rlk_hold_until_locked(const struct rlk_hold *hold)
{
	const struct rlk_session *session = &hold->name->client->session;
	int64_t until = own_until(hold);

	if (hold->name->strategy->pins_connection)
		return until;
	/* A hold of a session that is not ours any more is lost. */
	if (session->state != RLK_SESSION_ALIVE || session->id != hold->session)
		return -1;
	return session->valid_until_ms < until ? session->valid_until_ms
					       : until;
}

static void set_alarm(struct rlk_hold *hold)
{
	int64_t until = own_until(hold);

	if (until != RLK_NEVER)
		rlk_deadline_set_locked(hold->name->client,
					&hold->upkeep->alarm, until);
}

static void clear_alarm(struct rlk_hold *hold)
{
	if (hold->upkeep)
		rlk_alarms_clear(&hold->name->client->alarms,
				 &hold->upkeep->alarm);
}

void rlk_hold_start_locked(struct rlk_hold *hold)
{
	struct rowlock_client *client = hold->name->client;

	assert(!hold->name->hold || hold->name->strategy->many);
	move(hold, RLK_HOLD_HELD);
	hold->began_ms = rlk_now(client->clock);
	hold->name->hold = hold;
	/* The grant's token; one that is too small is drawn again. */
	if (hold->token <= hold->name->token)
		hold->token = 0;
	rlk_name_know_token(hold->name, hold->token);
	if (hold->name->strategy->shared)
		rlk_name_all_locked(hold->name);
	rlk_hold_get_locked(hold);
	rlk_list_append(hold->name->strategy->pins_connection
			    ? &client->row_holds
			    : &client->session.holds,
			&hold->node);
	set_alarm(hold);
}

void rlk_hold_answered_locked(struct rlk_hold *hold, int64_t t0_ms)
{
	const struct rowlock_client *client = hold->name->client;
	int64_t *idle_until = &hold->upkeep->idle_until_ms;
	int64_t until = t0_ms + (int64_t) (client->row_idle_ms -
					   rlk_margin(client->row_idle_ms));

	/* An answer after the end does not revive the hold. */
	if (!rlk_hold_check_locked(hold))
		return;
	if (*idle_until == RLK_NEVER || *idle_until < until)
		*idle_until = until;
	set_alarm(hold);
	rlk_pinger_plan_locked(hold, t0_ms);
}

void rlk_hold_kept_locked(struct rlk_hold *hold)
{
	if (hold->state == RLK_HOLD_HELD)
		set_alarm(hold);
}

void rlk_hold_keep_bell_locked(struct rlk_hold *hold, struct rlk_conn *conn)
{
	hold->upkeep->conn = conn;
	rlk_pinger_plan_locked(hold, rlk_now(hold->name->client->clock));
}

/* A waiter for permits asks while there are holds: it may succeed now. */
static void tell_freed(const struct rlk_name *name)
{
	struct rlk_list *node = rlk_list_first(&name->waiters);

	if (node && name->strategy->counted)
		container_of(node, struct rlk_waiter, node)->freed = true;
}

/* The name is free for the next local waiter; drop its reference. */
static void leave_name(struct rlk_hold *hold)
{
	struct rlk_name *name = hold->name;

	if (name->hold == hold)
		name->hold = NULL;
	rlk_list_remove(&hold->node);
	rlk_pinger_forget_locked(hold);
	clear_alarm(hold);
	tell_freed(name);
	rlk_name_next_locked(name);
	rlk_name_rest(name);
}

/* Give the hold to the chores, with the name's reference. */
static void to_chores(struct rlk_hold *hold)
{
	struct rowlock_client *client = hold->name->client;

	move(hold, RLK_HOLD_ABANDONED);
	rlk_list_append(&client->abandoned, &hold->node);
	rlk_sleeper_wake(&client->chores_sleeper);
}

static void notify(struct rlk_hold *hold)
{
	struct rowlock *lock;

	for (lock = hold->handles; lock; lock = lock->next)
		rlk_lock_notify_locked(lock);
}

void rlk_hold_lose_locked(struct rlk_hold *hold, const char *reason)
{
	bool told =
	    hold->state == RLK_HOLD_HELD || hold->state == RLK_HOLD_EXPORTED;

	if (!told && hold->state != RLK_HOLD_RELEASING)
		return;
	move(hold, RLK_HOLD_LOST);
	hold->reason = reason;
	leave_name(hold);
	if (told) {
		rlk_count_loss_locked(hold, reason);
		notify(hold);
	}
	/* Its connection is to be closed: no answer is waited for any more. */
	if (hold->name->strategy->pins_connection && hold->upkeep->pinging)
		rlk_pinger_hurry_locked(hold);
	to_chores(hold);
}

void rlk_hold_doubt_locked(struct rlk_hold *hold)
{
	if (hold->state != RLK_HOLD_HELD || hold->guard.may_be_gone)
		return;
	hold->guard.may_be_gone = true;
	hold->reason = RLK_MAY_BE_GONE;
	rlk_count_loss_locked(hold, hold->reason);
	notify(hold);
}

void rlk_hold_lose(struct rlk_hold *hold, const char *reason)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&hold->name->client->mutex);

	rlk_hold_lose_locked(hold, reason);
}

bool rlk_hold_check_locked(struct rlk_hold *hold)
{
	struct rowlock_client *client = hold->name->client;
	const struct rlk_upkeep *upkeep = hold->upkeep;
	int64_t now = rlk_now(client->clock);

	if (hold->state != RLK_HOLD_HELD)
		return false;
	if (now < rlk_hold_until_locked(hold))
		return !hold->guard.may_be_gone;
	if (upkeep && now >= upkeep->max_until_ms)
		rlk_hold_lose_locked(hold, "its maximum hold is over");
	else if (upkeep && now >= upkeep->idle_until_ms)
		rlk_hold_lose_locked(hold, "the server did not answer on its "
					   "connection within the idle bound");
	else if (upkeep && now >= upkeep->keep.until_ms)
		rlk_hold_lose_locked(hold, "the server did not answer the "
					   "heartbeats of its keep in time");
	else
		rlk_session_expire_locked(client);
	return false;
}

bool rlk_hold_stands_locked(struct rlk_hold *hold)
{
	return rlk_hold_check_locked(hold) || hold->state == RLK_HOLD_HELD;
}

void rlk_hold_export_locked(struct rlk_hold *hold)
{
	move(hold, RLK_HOLD_EXPORTED);
	rlk_count_end_locked(hold);
	hold->reason = RLK_WAS_EXPORTED;
	if (hold->owner == rlk_thread_serial())
		rlk_end_owe(-1);
	hold->owner = RLK_OWNER_NOBODY;
	leave_name(hold);
	rlk_list_append(&hold->name->client->session.holds, &hold->node);
}

void rlk_hold_releasing_locked(struct rlk_hold *hold)
{
	move(hold, RLK_HOLD_RELEASING);
	clear_alarm(hold);
}

void rlk_hold_over_locked(struct rlk_hold *hold)
{
	move(hold, RLK_HOLD_OVER);
	leave_name(hold);
	rlk_hold_put_locked(hold);
}

void rlk_hold_cleared_locked(struct rlk_hold *hold)
{
	move(hold, RLK_HOLD_OVER);
	rlk_hold_put_locked(hold);
}

void rlk_hold_mark_locked(struct rlk_hold *hold, const struct rlk_mark *mark)
{
	/* Without memory the mark is dropped: then a late request leaves a row
	 * that ends with its session. */
	if (!mark->id || !rlk_hold_make_upkeep(hold))
		return;
	if (hold->upkeep->mark.id)
		return;
	hold->upkeep->mark = *mark;
	hold->upkeep->marked_ms = rlk_now(hold->name->client->clock);
}

void rlk_hold_abandon_locked(struct rlk_hold *hold, const struct rlk_mark *mark)
{
	if (mark)
		rlk_hold_mark_locked(hold, mark);
	if (hold->state == RLK_HOLD_RELEASING)
		leave_name(hold);
	else
		rlk_hold_get_locked(hold);
	to_chores(hold);
}

void rlk_session_lose_locked(struct rowlock_client *client, const char *reason)
{
	struct rlk_session *session = &client->session;

	if (session->state != RLK_SESSION_ALIVE)
		return;
	session->state = RLK_SESSION_NONE;
	rlk_alarms_clear(&client->alarms, &session->alarm);
	while (!rlk_list_empty(&session->holds))
		rlk_hold_lose_locked(
		    container_of(session->holds.next, struct rlk_hold, node),
		    reason);
	session->grave->id = session->id;
	rlk_list_append(&client->old_sessions, &session->grave->node);
	session->grave = NULL;
	rlk_cond_broadcast(&client->session_changed);
	rlk_sleeper_wake(&client->chores_sleeper);
}

void rlk_session_expire_locked(struct rowlock_client *client)
{
	rlk_session_lose_locked(client, rlk_late_reason_locked(client));
}

void rlk_session_answered_locked(struct rowlock_client *client, int64_t t0_ms)
{
	struct rlk_session *session = &client->session;
	int64_t until = t0_ms + (int64_t) (client->ttl_ms - client->margin_ms);

	if (until <= session->valid_until_ms)
		return;
	session->valid_until_ms = until;
	session->late = NULL;
	rlk_deadline_set_locked(client, &session->alarm, until);
}

/* A thread that waits for a connection in use. Each has a condition: thousands
 * may wait while thousands of pings are under way. */
struct conn_wait {
	struct rlk_alarm alarm;
	struct rlk_list node; /* upkeep->waits */
	struct rlk_cond free;
};

static void ring_conn(struct rlk_alarm *alarm)
{
	rlk_cond_signal(&container_of(alarm, struct conn_wait, alarm)->free);
}

/* Wait until the connection is not busy, or the time is up. */
static void await_conn_locked(struct rlk_hold *hold, int64_t until_ms)
{
	struct rowlock_client *client = hold->name->client;
	struct conn_wait wait = { .alarm.ring = ring_conn };

	rlk_cond_init(&wait.free);
	rlk_list_init(&wait.node);
	rlk_list_append(&hold->upkeep->waits, &wait.node);
	while (hold->conn_busy && rlk_now(client->clock) < until_ms) {
		rlk_deadline_set_locked(client, &wait.alarm, until_ms);
		rlk_cond_wait(&wait.free, &client->mutex);
	}
	rlk_alarms_clear(&client->alarms, &wait.alarm);
	rlk_list_remove(&wait.node);
	rlk_cond_fini(&wait.free);
}

bool rlk_hold_take_conn_locked(struct rlk_hold *hold, int64_t until_ms)
{
	if (hold->conn_busy)
		await_conn_locked(hold, until_ms);
	/* The pinger decides whether the connection is dead. */
	if (hold->conn_busy && hold->name->strategy->pins_connection &&
	    hold->state == RLK_HOLD_RELEASING)
		rlk_hold_lose_locked(hold, "its connection does not answer");
	/* A lost hold belongs to the chores. */
	if (hold->state != RLK_HOLD_HELD && hold->state != RLK_HOLD_RELEASING)
		return false;
	if (hold->conn_busy || !rlk_hold_conn(hold))
		return false;
	hold->conn_busy = true;
	return true;
}

void rlk_hold_put_conn_locked(struct rlk_hold *hold)
{
	struct conn_wait *wait;

	hold->conn_busy = false;
	rlk_list_each (wait, &hold->upkeep->waits, node)
		rlk_cond_signal(&wait->free);
	if (hold->state == RLK_HOLD_ABANDONED)
		rlk_sleeper_wake(&hold->name->client->chores_sleeper);
}
