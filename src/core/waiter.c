/* SPDX-License-Identifier: MIT */
/*
 * Sleeps until it is the waiter's turn, its time is up, or it is canceled.
 */
#include "core/waiter.h"

#include "core/call.h"
#include "core/timer.h"

void rlk_name_next_locked(struct rlk_name *name)
{
	struct rlk_list *node = rlk_list_first(&name->waiters);

	if (node && (!name->hold || name->strategy->many))
		rlk_cond_signal(
		    &container_of(node, struct rlk_waiter, node)->waker->cond);
}

void rlk_name_all_locked(struct rlk_name *name)
{
	struct rlk_waiter *waiter;

	rlk_list_each (waiter, &name->waiters, node)
		rlk_cond_signal(&waiter->waker->cond);
}

int64_t rlk_waiter_io_until(const struct rlk_waiter *waiter)
{
	int64_t until = rlk_client_call_until(waiter->name->client);

	return until < waiter->give_up_ms ? until : waiter->give_up_ms;
}

int rlk_waiter_over_locked(struct rlk_waiter *waiter)
{
	if (waiter->canceled)
		return ROWLOCK_ECANCELED;
	if (!waiter->wish.try &&
	    rlk_now(waiter->name->client->clock) >= waiter->until_ms)
		return ROWLOCK_ETIMEDOUT;
	return 0;
}

void rlk_waiter_sleep_locked(struct rlk_waiter *waiter, int64_t at_ms)
{
	struct rowlock_client *client = waiter->name->client;

	if (at_ms != RLK_NEVER)
		rlk_deadline_set_locked(client, &waiter->alarm, at_ms);
	rlk_cond_wait(&waiter->waker->cond, &client->mutex);
	rlk_alarms_clear(&client->alarms, &waiter->alarm);
}
