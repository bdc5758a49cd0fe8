/* SPDX-License-Identifier: MIT */
/*
 * The client's stock of conditions: as many as there were waiters at once.
 */
#include "core/waker.h"

#include "core/client.h"

#include <stdlib.h>

struct rlk_waker *rlk_waker_get_locked(struct rowlock_client *client)
{
	struct rlk_list *node = client->wakers.prev;
	struct rlk_waker *waker;

	/* The one that came back last is likely in the cache. */
	if (node != &client->wakers) {
		rlk_list_remove(node);
		return container_of(node, struct rlk_waker, node);
	}
	waker = malloc(sizeof(*waker));
	if (!waker)
		return NULL;
	rlk_list_init(&waker->node);
	rlk_cond_init(&waker->cond);
	return waker;
}

void rlk_waker_put_locked(struct rowlock_client *client,
			  struct rlk_waker *waker)
{
	rlk_list_append(&client->wakers, &waker->node);
}

void rlk_wakers_fini(struct rowlock_client *client)
{
	while (!rlk_list_empty(&client->wakers)) {
		struct rlk_waker *waker =
		    container_of(client->wakers.next, struct rlk_waker, node);

		rlk_list_remove(&waker->node);
		rlk_cond_fini(&waker->cond);
		free(waker);
	}
}
