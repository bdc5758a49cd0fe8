/* SPDX-License-Identifier: MIT */
/*
 * The notifier thread: runs the lost callbacks, one after the other, with no
 * mutex held. A callback may take any time; it delays only the callbacks behind
 * it. Freeing a handle waits for its callback that runs.
 */
#include "background/notifier.h"

#include "hold/handle.h"

void rlk_notifier_run(void *arg)
{
	struct rowlock_client *client = arg;

	rlk_mutex_lock(&client->mutex);
	client->notifier_serial = rlk_thread_serial();
	while (!client->stopping) {
		struct rlk_list *node = rlk_list_first(&client->notices);
		struct rowlock *lock;
		rowlock_lost_fn fn;
		void *fn_arg;

		if (!node) {
			rlk_cond_wait(&client->notices_changed, &client->mutex);
			continue;
		}
		lock = container_of(node, struct rowlock, in_notices);
		rlk_list_remove(node);
		/* A further call for this handle goes behind the others. */
		if (--lock->notices > 0)
			rlk_list_append(&client->notices, node);
		fn = lock->lost_fn;
		fn_arg = lock->lost_arg;
		client->notifying = lock;
		rlk_mutex_unlock(&client->mutex);
		fn(lock, fn_arg);
		rlk_mutex_lock(&client->mutex);
		client->notifying = NULL;
		rlk_cond_broadcast(&client->notices_changed);
	}
	rlk_mutex_unlock(&client->mutex);
}
