/* SPDX-License-Identifier: MIT */
/*
 * Sharing: a handle may join the read hold of another handle of this client
 * without a statement.
 *
 * To the server they are one reader, whose row is there until the last of them
 * has let go. So joining is always safe. But a writer waits for that row's end:
 * a hold is joined only for a bounded time after its grant, which the server
 * gives only if no writer waits. A later handle asks again and gets another row
 * if no writer has come; further handles join that one.
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
