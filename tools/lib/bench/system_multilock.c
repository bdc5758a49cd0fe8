// SPDX-License-Identifier: MIT
/*
 * The system "multilock": four names at once, as one multi-lock of this
 * library.
 */
#include <rowlock/multilock.h>

#include <stdio.h>

#include "system_rowlock.h"

#define NAMES 4

static void open_set(struct bench_worker *worker)
{
	char names[NAMES][BENCH_NAME_SIZE + 8];
	const char *pointers[NAMES];
	struct rowlock *multilock;
	struct rowlock_errinfo error;

	for (size_t i = 0; i < NAMES; i++) {
		snprintf(names[i], sizeof(names[i]), "%s-%zu", worker->name, i);
		pointers[i] = names[i];
	}
	if (rowlock_multilock_new(bench_rowlock_client(), pointers, NAMES, NULL,
				  &multilock, &error))
		bench_die("%s", error.message);
	worker->state = multilock;
}

static void acquire(struct bench_worker *worker)
{
	struct rowlock_errinfo error;

	if (rowlock_acquire(worker->state, ROWLOCK_FOREVER, &error))
		bench_die("%s", error.message);
}

static void release(struct bench_worker *worker)
{
	struct rowlock_errinfo error;

	if (rowlock_release(worker->state, &error))
		bench_die("%s", error.message);
}

static void close_set(struct bench_worker *worker)
{
	struct rowlock *multilock = worker->state;

	rowlock_freep(&multilock);
}

const struct bench_system bench_multilock = {
	.name = "multilock",
	.start = bench_rowlock_start,
	.stop = bench_rowlock_stop,
	.open = open_set,
	.acquire = acquire,
	.release = release,
	.close = close_set,
};
