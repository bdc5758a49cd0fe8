// SPDX-License-Identifier: MIT
/*
 * The system "mutex": first come, first served, inside one process and with no
 * server: what a release hands to the next waiter at best. A queue of waiters
 * with a condition each, as a fair ReentrantLock has; the one who releases
 * makes the first in line the owner, so nobody can push in.
 */
#include <pthread.h>
#include <stdlib.h>

#include "bench.h"

struct mutex_waiter {
	pthread_cond_t granted;
	bool has_it;
	struct mutex_waiter *next;
};

struct mutex {
	pthread_mutex_t guard;
	bool held;
	struct mutex_waiter *first;
	struct mutex_waiter **last;
};

/* A worker's: it is in one line at a time. */
struct mutex_place {
	struct mutex *mutex;
	struct mutex_waiter waiter;
};

static struct mutex *mutexes;

static void start(const struct bench_options *options)
{
	mutexes = bench_alloc(options->names * sizeof(*mutexes));
	for (unsigned int i = 0; i < options->names; i++) {
		pthread_mutex_init(&mutexes[i].guard, NULL);
		mutexes[i].last = &mutexes[i].first;
	}
}

static void stop(void)
{
	free(mutexes);
}

static void open_mutex(struct bench_worker *worker)
{
	struct mutex_place *place = bench_alloc(sizeof(*place));

	place->mutex = &mutexes[worker->number % worker->options->names];
	worker->state = place;
}

static void wait_in_line(struct mutex *mutex, struct mutex_waiter *waiter)
{
	*waiter = (struct mutex_waiter){ .granted = PTHREAD_COND_INITIALIZER };
	*mutex->last = waiter;
	mutex->last = &waiter->next;
	while (!waiter->has_it)
		pthread_cond_wait(&waiter->granted, &mutex->guard);
}

static void acquire(struct bench_worker *worker)
{
	struct mutex_place *place = worker->state;
	struct mutex *mutex = place->mutex;

	pthread_mutex_lock(&mutex->guard);
	if (mutex->held)
		wait_in_line(mutex, &place->waiter);
	else
		mutex->held = true;
	pthread_mutex_unlock(&mutex->guard);
}

static void release(struct bench_worker *worker)
{
	struct mutex *mutex = ((struct mutex_place *) worker->state)->mutex;
	struct mutex_waiter *next;

	pthread_mutex_lock(&mutex->guard);
	next = mutex->first;
	if (next) {
		mutex->first = next->next;
		if (!mutex->first)
			mutex->last = &mutex->first;
		next->has_it = true;
		pthread_cond_signal(&next->granted);
	} else {
		mutex->held = false;
	}
	pthread_mutex_unlock(&mutex->guard);
}

static void close_mutex(struct bench_worker *worker)
{
	free(worker->state);
	worker->state = NULL;
}

const struct bench_system bench_mutex = {
	.name = "mutex",
	.start = start,
	.stop = stop,
	.open = open_mutex,
	.acquire = acquire,
	.release = release,
	.close = close_mutex,
};
