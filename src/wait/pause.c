/* SPDX-License-Identifier: MIT */
/*
 * When the server is asked again: after a pause that grows, in a round with the
 * client's other waiters, or later than others that want the name.
 */
#include "wait/pause.h"

#include "base/random.h"
#include "core/silence.h"
#include "core/waiter.h"
#include "group/commit.h"
#include "wait/handover.h"
#include "wait/pleading.h"
#include "wait/rounds.h"

#define FIRST_DELAY_MS 2     /* it doubles */
#define FAILED_DELAY_MS 1000 /* between tries of a server that is away */

/* Permits have no bell, and all others stand behind the one that asks; from
 * then on it pleads (pleading.c). */
#define FIRST_IN_LINE_MS 20

/* A reader in a lane that a newcomer keeps out is one of several. */
#define IN_LANE_MS 250

/* A client that had the name for a turn lets others ask first, for longer than
 * their polls are apart, if they were seen to want it lately. */
#define TURN_MS 50 /* without hand-over, which has its own */
#define STEP_BACK_MS (2 * RLK_POLL_DELAY_MS)
#define LATELY_MS 5000
/* If none were seen, step back only this often, to probe: a holder cannot see
 * who polls. */
#define PROBE_MS 2000

/* Does it ask on a connection of its own? The first in line keeps the bell
 * while it polls elsewhere; but the server closes an idle connection. */
static bool has_its_own_way(const struct rlk_asking *asking)
{
	if (asking->spot.line == RLK_LINE_FRONT)
		return rlk_now(asking->client->clock) - asking->spot.said_ms >=
		       rlk_silence_ms(rlk_conn_profile(asking->conn));
	return asking->conn || asking->spot.line == RLK_LINE_JOINS;
}

/* Many names that are held cost one statement per round, not one each: a waiter
 * that has polled for a while joins the client's others. */
static bool joins_round(struct rlk_asking *asking)
{
	const struct rlk_waiter *waiter = asking->waiter;
	int64_t at;

	if (has_its_own_way(asking) || asking->error.code || waiter->wish.try ||
	    asking->delay_ms < RLK_POLL_DELAY_MS ||
	    !asking->name->strategy->batch ||
	    !rlk_commit_gathers(asking->client))
		return false;
	at = rlk_rounds_next(asking->client->rounds,
			     rlk_now(asking->client->clock));
	if (at >= waiter->until_ms)
		return false;
	asking->round_ms = at;
	return true;
}

static uint64_t longest(const struct rlk_asking *asking)
{
	if (asking->error.code == ROWLOCK_ECONNECT)
		return FAILED_DELAY_MS;
	if (asking->spot.line == RLK_LINE_PASSES)
		return IN_LANE_MS;
	return asking->spot.line == RLK_LINE_FRONT &&
		       asking->name->strategy->counted
		   ? FIRST_IN_LINE_MS
		   : RLK_POLL_DELAY_MS;
}

static int64_t end_of(const struct rlk_waiter *waiter)
{
	return waiter->wish.try ? waiter->give_up_ms : waiter->until_ms;
}

bool rlk_pause_until(struct rlk_asking *asking, int64_t at_ms, bool *ret_handed)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&asking->client->mutex);
	struct rlk_waiter *waiter = asking->waiter;
	bool woken;

	if (end_of(waiter) < at_ms)
		at_ms = end_of(waiter);
	/* A request in doubt must be cleared up first. */
	if (!asking->doubt.unsure)
		waiter->state = RLK_WAITER_RESTS;
	while (!rlk_waiter_over_locked(waiter) && !waiter->freed &&
	       !waiter->handed && rlk_now(asking->client->clock) < at_ms)
		rlk_waiter_sleep_locked(waiter, at_ms);
	waiter->state = RLK_WAITER_ASKS;
	if (waiter->freed)
		asking->delay_ms = 0;
	woken = rlk_waiter_over_locked(waiter) || waiter->freed;
	waiter->freed = false;
	*ret_handed = rlk_handed_over_locked(waiter);
	return !woken && !*ret_handed;
}

bool rlk_pause(struct rlk_asking *asking)
{
	uint64_t limit = longest(asking);
	bool handed;
	int64_t at;

	/* A writer waits for each lane. */
	if (asking->spot.line == RLK_LINE_PASSES &&
	    asking->error.code == ROWLOCK_ECONNECT)
		rlk_spot_leave(asking);
	if (!rlk_spot_had(asking))
		rlk_put_conn(asking);
	if (rlk_may_plead(asking))
		return rlk_plead(asking);
	asking->delay_ms =
	    asking->delay_ms ? asking->delay_ms * 2 : FIRST_DELAY_MS;
	if (asking->delay_ms > limit)
		asking->delay_ms = limit;
	if (joins_round(asking))
		return false;
	/* Jitter, so that clients that collided do not collide again. */
	at = rlk_after(rlk_now(asking->client->clock),
		       asking->delay_ms / 2 + rlk_random() % asking->delay_ms);
	rlk_pause_until(asking, at, &handed);
	return handed;
}

/* Have our threads had the name for a turn while others want it? */
static bool turn_is_over_locked(const struct rlk_asking *asking, int64_t now)
{
	const struct rlk_turn *turn = asking->name->turn;
	int64_t turn_ms = asking->client->handover_ms
			      ? (int64_t) asking->client->handover_ms
			      : TURN_MS;

	if (!turn)
		return false;
	if (turn->others_seen_ms <= now - LATELY_MS)
		return turn->over && turn->probed_ms <= now - PROBE_MS;
	return turn->over || (turn->began_ms < now - turn_ms &&
			      turn->began_ms > now - LATELY_MS);
}

/* A client may not keep a name among its own threads while others wait for it.
 * Waiters that queue in the server get their turn by the queue. */
void rlk_step_back(struct rlk_asking *asking)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&asking->client->mutex);
	struct rlk_waiter *waiter = asking->waiter;
	struct rlk_turn *turn = asking->name->turn;
	int64_t now = rlk_now(asking->client->clock);
	int64_t at;

	if (asking->name->strategy->pins_connection ||
	    asking->name->strategy->many || waiter->wish.try ||
	    !turn_is_over_locked(asking, now))
		return;
	/* One end for all our waiters: if one gives up, another follows it, and
	 * the name may be free. */
	if (!turn->back_until_ms)
		turn->back_until_ms = now + STEP_BACK_MS;
	at = turn->back_until_ms;
	if (waiter->until_ms < at)
		at = waiter->until_ms;
	while (!rlk_waiter_over_locked(waiter) &&
	       rlk_now(asking->client->clock) < at)
		rlk_waiter_sleep_locked(waiter, at);
	asking->saw_others = true;
	turn->probed_ms = now;
}

/* A turn begins when the name comes from elsewhere. */
void rlk_note_turn(struct rlk_asking *asking)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&asking->client->mutex);
	struct rlk_turn *turn = asking->name->turn;

	if (asking->code || !turn)
		return;
	if (asking->saw_others || turn->began_ms == -RLK_NEVER)
		turn->began_ms = rlk_now(asking->client->clock);
	if (turn->probed_ms == -RLK_NEVER)
		turn->probed_ms = turn->began_ms;
	turn->over = false;
	turn->back_until_ms = 0;
}
