/* SPDX-License-Identifier: MIT */
/*
 * Starting and stopping the client's threads. They are started before the
 * first lock is acquired: a hold must not depend on a thread that the system
 * may refuse later.
 */
#include "background/threads.h"

#include "background/chores.h"
#include "background/deadline.h"
#include "background/keeper.h"
#include "background/notifier.h"
#include "background/pinger.h"
#include "background/reaper.h"
#include "background/watch.h"
#include "base/error.h"
#include "db/lend.h"

#include <string.h>

struct job {
	struct rlk_thread *thread;
	const char *name;
	void (*run)(void *);
};

int rlk_threads_start(struct rowlock_client *client,
		      struct rowlock_errinfo *reterr)
{
	const struct job jobs[] = {
		{ &client->deadline, "rlk-deadline", rlk_deadline_run },
		{ &client->notifier, "rlk-notifier", rlk_notifier_run },
		{ &client->keeper, "rlk-keeper", rlk_keeper_run },
		{ &client->pinger, "rlk-pinger", rlk_pinger_run },
		{ &client->chores, "rlk-chores", rlk_chores_run },
		{ &client->reaper, "rlk-reaper", rlk_reaper_run },
	};
	size_t count = RLK_ARRAY_SIZE(jobs);

	if (client->reap_interval_ms == 0)
		count--;
	for (size_t i = 0; i < count; i++) {
		int error = rlk_thread_start(jobs[i].thread, jobs[i].name,
					     jobs[i].run, client);

		if (error)
			return rlk_fail(reterr, ROWLOCK_ESYSTEM,
					"client: no thread: %s; raise the "
					"limit of threads",
					strerror(-error));
	}
	return 0;
}

void rlk_threads_stop(struct rowlock_client *client)
{
	rlk_mutex_lock(&client->mutex);
	client->stopping = true;
	rlk_cond_broadcast(&client->notices_changed);
	rlk_mutex_unlock(&client->mutex);
	rlk_sleeper_wake(&client->deadline_sleeper);
	rlk_sleeper_wake(&client->keeper_sleeper);
	rlk_sleeper_wake(&client->pinger_sleeper);
	rlk_sleeper_wake(&client->chores_sleeper);
	rlk_sleeper_wake(&client->reaper_sleeper);
	/* No thread may wait for a server that does not answer. */
	if (client->pool)
		rlk_pool_interrupt_all(client->pool);
	rlk_watches_stop(client);
	rlk_thread_join(&client->reaper);
	rlk_thread_join(&client->chores);
	rlk_thread_join(&client->pinger);
	rlk_thread_join(&client->keeper);
	rlk_thread_join(&client->notifier);
	rlk_thread_join(&client->deadline);
}
