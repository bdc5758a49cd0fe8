// SPDX-License-Identifier: MIT
/*
 * The system "observer": a client that is told who leads in some elections of
 * its own; nobody does. It has them when it was told so of each.
 */
#include <rowlock/election.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "system_rowlock.h"

#define ELECTIONS 4

struct watch {
	struct rowlock_observer *observers[ELECTIONS];
	atomic_uint told;
};

static void tell(const struct rowlock_leader *leader, void *arg)
{
	struct watch *watch = arg;

	if (leader->state == ROWLOCK_LEADER_NONE)
		watch->told++;
}

static void open_watch(struct bench_worker *worker)
{
	worker->state = bench_alloc(sizeof(struct watch));
}

static void acquire(struct bench_worker *worker)
{
	struct watch *watch = worker->state;
	char name[BENCH_NAME_SIZE + 32];
	struct rowlock_errinfo error;

	for (int i = 0; i < ELECTIONS; i++) {
		snprintf(name, sizeof(name), "%s-%d-%d", worker->name,
			 (int) getpid(), i);
		if (rowlock_observer_new(bench_rowlock_client(), name, NULL,
					 tell, watch, &watch->observers[i],
					 &error))
			bench_die("%s", error.message);
	}
	while (watch->told < ELECTIONS)
		usleep(1000);
}

static void release(struct bench_worker *worker)
{
	struct watch *watch = worker->state;

	for (int i = 0; i < ELECTIONS; i++)
		rowlock_observer_freep(&watch->observers[i]);
}

static void close_watch(struct bench_worker *worker)
{
	struct watch *watch = worker->state;

	for (int i = 0; i < ELECTIONS; i++)
		rowlock_observer_free(watch->observers[i]);
	free(watch);
}

const struct bench_system bench_observer = {
	.name = "observer",
	.start = bench_rowlock_start,
	.stop = bench_rowlock_stop,
	.open = open_watch,
	.acquire = acquire,
	.release = release,
	.close = close_watch,
};
