/* SPDX-License-Identifier: MIT */
/*
 * Local hand-over: a lock that one thread gives up goes to the next local
 * waiter without a statement.
 *
 * To the server nothing happens: the row, its attempt, the session or the
 * connection are the same. Here the same hold goes on with another owner, which
 * draws a token of its own: every token comes from the name's row, so it is
 * larger than the last.
 *
 * A hold's time among the threads of one client is a turn. It begins with the
 * server's grant and is bounded, by passes and by time: other processes may
 * wait for the name without our knowledge. After the turn the hold goes back,
 * and our next waiter asks like any other.
 *
 * A hold goes back to the server if it may be broken, or if its connection has
 * ended. So does one that the next owner wants with another info or maximum
 * hold, which the server stores; one whose name is kept for a time, as that
 * time is the next owner's too; one that was asked for, as who asks waits for
 * its end; and one whose guard was given out as text, or is in a commit that
 * may still come: that would pass for the next owner.
 */
#include "wait/handover.h"

#include "core/waiter.h"
#include "hold/keeping.h"

/* May the hold be lost by the server's account? */
static bool is_doubtful(const struct rlk_hold *hold)
{
	if (!hold->name->strategy->pins_connection)
		return hold->suspect || hold->name->client->look_breaks;
	/* A thread that uses the connection will see its end; else the socket
	 * tells, before the deadline thread gets the mutex. */
	return !hold->conn_busy && !rlk_conn_alive(rlk_hold_conn(hold));
}

static bool turn_is_over(const struct rlk_hold *hold)
{
	const struct rowlock_client *client = hold->name->client;

	return hold->passes >= client->handover_passes ||
	       rlk_now(client->clock) >=
		   rlk_after(hold->began_ms, client->handover_ms);
}

/* The first that still waits; only canceled or late waiters are before it. NULL
 * if the first is not asleep in the line: then two threads use one handle at
 * the same time. */
static struct rlk_waiter *next_in_line(const struct rlk_name *name)
{
	struct rlk_waiter *waiter;

	rlk_list_each (waiter, &name->waiters, node) {
		if (waiter->state != RLK_WAITER_STANDS || waiter->handed)
			return NULL;
		if (!rlk_waiter_over_locked(waiter))
			return waiter;
	}
	return NULL;
}

/* Does it want as many permits, of the same total? The server refuses a waiter
 * with another total. */
static bool is_alike(const struct rlk_waiter *waiter,
		     const struct rlk_hold *hold)
{
	return waiter->wish.count == rlk_hold_rows(hold) &&
	       (!waiter->wish.permits ||
		waiter->wish.permits == hold->upkeep->permits);
}

/* As next_in_line(), for permits: their first waiter asks while others have
 * some. A waiter that asks for the first time gets its own permits. One that
 * was refused is not overtaken, neither while its next question is under way
 * nor because it wants another number. */
static struct rlk_waiter *next_for_permits(const struct rlk_hold *hold)
{
	struct rlk_waiter *waiter;

	rlk_list_each (waiter, &hold->name->waiters, node) {
		bool leaves = waiter->handed || rlk_waiter_over_locked(waiter);

		if (leaves ||
		    (waiter->state != RLK_WAITER_STANDS && !waiter->refused))
			continue;
		return waiter->state == RLK_WAITER_ASKS ||
			       !is_alike(waiter, hold)
			   ? NULL
			   : waiter;
	}
	return NULL;
}

/* Would @to ask the server for exactly the hold that @from has? */
static bool fits(const struct rlk_hold *hold, const struct rowlock *from,
		 const struct rowlock *to)
{
	if (hold->guard.commit_may_come || hold->guard.in_transaction)
		return false;
	return !hold->asked && !rlk_hold_has_maximum(hold) &&
	       to->max_hold_ms == 0 && !rlk_hold_is_kept(hold) &&
	       !to->has_keep && !hold->guard.told && !hold->mixed_info &&
	       rlk_lock_same_info(from, to);
}

struct rlk_waker *rlk_hand_over_locked(struct rlk_hold *hold,
				       const struct rowlock *from)
{
	struct rlk_waiter *next = hold->name->strategy->counted
				      ? next_for_permits(hold)
				      : next_in_line(hold->name);
	struct rlk_turn *turn = hold->name->turn;

	/* A reader that has not joined has to ask whether a writer has come; a
	 * candidate's row is its own. */
	if (hold->name->strategy->many && !hold->name->strategy->counted)
		return NULL;
	if (!next || !fits(hold, from, next->lock))
		return NULL;
	if (turn_is_over(hold)) {
		if (turn)
			turn->over = true;
		return NULL;
	}
	if (is_doubtful(hold))
		return NULL;
	rlk_stats_add(&hold->name->client->stats.handed_over, 1);
	hold->passes++;
	hold->shown_ms = 0;
	hold->owner = next->owner;
	hold->token = 0;
	/* Attach at once: a loss in the next moment must find its owner. */
	rlk_lock_attach_locked(next->lock, hold);
	next->handed = true;
	return next->waker;
}

bool rlk_handed_over_locked(struct rlk_waiter *waiter)
{
	if (!waiter->handed)
		return false;
	if (rlk_hold_check_locked(waiter->lock->hold))
		return true;
	/* The owner has not seen it yet. */
	rlk_lock_detach_locked(waiter->lock);
	waiter->handed = false;
	return false;
}
