/* SPDX-License-Identifier: MIT */
/*
 * Beats the keeps of holds that last longer than their names were to be kept
 * (hold/keeping.h). A keep has a deadline of its own, so each of them is a beat
 * by itself; a client with none looks at no hold.
 *
 * Failure modes: a beat without an answer is tried again with the session's
 * next one, which then comes soon; the hold is lost at its deadline at the
 * latest. A keep that was evicted has lost its hold.
 */
#include "background/keeps.h"

#include "core/call.h"
#include "hold/hold.h"
#include "hold/session.h"
#include "strategy/session_row.h"

/* The next hold whose keep is due, with a reference. It is due again with the
 * session's next beat at the earliest. */
static struct rlk_hold *next_due_locked(struct rowlock_client *client)
{
	int64_t now = rlk_now(client->clock);
	struct rlk_list *node;
	struct rlk_list *after;

	rlk_list_for_each(node, after, &client->session.holds)
	{
		struct rlk_hold *hold =
		    container_of(node, struct rlk_hold, node);
		struct rlk_upkeep *upkeep = hold->upkeep;

		if (!upkeep || !upkeep->keep.row.id ||
		    upkeep->keep.next_ms > now)
			continue;
		upkeep->keep.next_ms =
		    rlk_after(now, client->ttl_ms / RLK_SIGNS_OF_LIFE / 2);
		rlk_hold_get_locked(hold);
		return hold;
	}
	return NULL;
}

static void answered_locked(struct rlk_hold *hold, int64_t t0, bool alive)
{
	const struct rowlock_client *client = hold->name->client;
	int64_t until =
	    rlk_after(t0, client->ttl_ms - rlk_margin(client->ttl_ms));

	if (!alive) {
		rlk_hold_lose_locked(hold, RLK_WAS_EVICTED);
		return;
	}
	/* An answer after the end does not revive the hold. */
	if (!rlk_hold_check_locked(hold) ||
	    until <= hold->upkeep->keep.until_ms)
		return;
	hold->upkeep->keep.until_ms = until;
	rlk_hold_kept_locked(hold);
}

static bool beat(struct rlk_hold *hold, struct rlk_conn *conn,
		 uint64_t patience_ms)
{
	struct rowlock_client *client = hold->name->client;
	const struct rlk_session_row row = {
		.id = hold->upkeep->keep.row.id,
		.ttl_ms = client->ttl_ms,
	};
	int64_t t0 = rlk_now(client->clock);
	struct rowlock_errinfo error;
	enum rlk_fault fault;
	struct rlk_beat beat;

	rlk_conn_set_until(conn, rlk_after(t0, patience_ms));
	fault = rlk_session_beat(conn, &row, &beat, &error);
	rlk_mutex_lock(&client->mutex);
	if (!fault)
		answered_locked(hold, t0, beat.alive);
	else if (client->session.state == RLK_SESSION_ALIVE)
		client->session.next_beat_ms =
		    rlk_after(rlk_now(client->clock), client->ttl_ms / 30);
	rlk_hold_put_locked(hold);
	rlk_mutex_unlock(&client->mutex);
	return !fault;
}

void rlk_keeps_beat(struct rowlock_client *client, struct rlk_conn *conn,
		    uint64_t patience_ms)
{
	struct rlk_hold *hold;

	do {
		rlk_mutex_lock(&client->mutex);
		hold = client->has_keeps && !client->stopping
			   ? next_due_locked(client)
			   : NULL;
		rlk_mutex_unlock(&client->mutex);
	} while (hold && beat(hold, conn, patience_ms));
}
