/* SPDX-License-Identifier: MIT */
/*
 * Sharing: what one handle of this client reads, the next may read, too,
 * without a word to the server.
 *
 * To the server they are one reader, whose row is there until the last of them
 * has let go. So nobody can be wrong who joins. But a writer waits for that
 * row's end: a hold is joined for a bounded time after its grant, for which the
 * server was asked whether there is a writer. Who comes later asks again and
 * has another row, if no writer has come meanwhile; and is joined from then on.
 */
#include "wait/share.h"

bool rlk_may_join_locked(const struct rlk_hold *hold)
{
	const struct rowlock_client *client = hold->name->client;

	return hold->state == RLK_HOLD_HELD &&
	       rlk_now(client->clock) <
		   rlk_after(hold->began_ms, client->handover_ms);
}

bool rlk_joined_locked(struct rlk_waiter *waiter)
{
	struct rlk_hold *hold = waiter->name->hold;

	if (!waiter->name->strategy->shared || !hold ||
	    !rlk_hold_check_locked(hold) || !rlk_may_join_locked(hold))
		return false;
	rlk_lock_attach_locked(waiter->lock, hold);
	waiter->handed = true;
	return true;
}
