// SPDX-License-Identifier: MIT
/*
 * The system "semaphore": one permit each of a semaphore of this library, which
 * has as many as there are threads in the most crowded workload.
 */
#include <rowlock/semaphore.h>

#include "system_rowlock.h"

#define PERMITS 64

static void open_semaphore(struct bench_worker *worker)
{
	struct rowlock *semaphore;
	struct rowlock_errinfo error;

	if (rowlock_semaphore_new(bench_rowlock_client(), worker->name, PERMITS,
				  NULL, &semaphore, &error))
		bench_die("%s", error.message);
	worker->state = semaphore;
}

static void acquire(struct bench_worker *worker)
{
	struct rowlock_errinfo error;

	if (rowlock_semaphore_acquire(worker->state, 1, ROWLOCK_FOREVER,
				      &error))
		bench_die("%s", error.message);
}

static void release(struct bench_worker *worker)
{
	struct rowlock_errinfo error;

	if (rowlock_release(worker->state, &error))
		bench_die("%s", error.message);
}

static void close_semaphore(struct bench_worker *worker)
{
	struct rowlock *semaphore = worker->state;

	rowlock_freep(&semaphore);
}

const struct bench_system bench_semaphore = {
	.name = "semaphore",
	.shares = true,
	.start = bench_rowlock_start,
	.stop = bench_rowlock_stop,
	.open = open_semaphore,
	.acquire = acquire,
	.release = release,
	.close = close_semaphore,
};
