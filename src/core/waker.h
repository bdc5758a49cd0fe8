/* SPDX-License-Identifier: MIT */
#ifndef RLK_CORE_WAKER_H
#define RLK_CORE_WAKER_H

/*
 * What a waiter sleeps on: a condition of its own, lent from the client's
 * stock. It lives as long as the client, so whoever has taken note of it under
 * the mutex may signal it later. That spares the woken thread a second sleep,
 * on the mutex of who woke it. If another has it by then, that one wakes for
 * nothing: every sleeper looks again.
 */

#include "base/list.h"
#include "base/thread.h"

struct rowlock_client;

struct rlk_waker {
	struct rlk_list node; /* in client->wakers, while it is not lent */
	struct rlk_cond cond;
};

/** NULL: out of memory. */
struct rlk_waker *rlk_waker_get_locked(struct rowlock_client *client);
void rlk_waker_put_locked(struct rowlock_client *client,
			  struct rlk_waker *waker);

/** With the client's last thread. */
void rlk_wakers_fini(struct rowlock_client *client);

#endif
