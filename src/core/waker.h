/* SPDX-License-Identifier: MIT */
#ifndef RLK_CORE_WAKER_H
#define RLK_CORE_WAKER_H

/*
 * A waiter sleeps on a condition of its own, lent from the client's stock. It
 * lives as long as the client, so a thread that has noted it under the mutex
 * may signal it without the mutex. That spares the woken thread a second sleep,
 * on the mutex. If another waiter has it by then, that one wakes for nothing:
 * every sleeper looks again.
 */

#include "base/list.h"
#include "base/thread.h"

struct rowlock_client;

struct rlk_waker {
	struct rlk_list node; /* in client->wakers, while it is not lent */
	struct rlk_cond cond;
};

/** Returns NULL if memory is out. */
struct rlk_waker *rlk_waker_get_locked(struct rowlock_client *client);
void rlk_waker_put_locked(struct rowlock_client *client,
			  struct rlk_waker *waker);

/** Free the stock, after the client's last thread. */
void rlk_wakers_fini(struct rowlock_client *client);

#endif
