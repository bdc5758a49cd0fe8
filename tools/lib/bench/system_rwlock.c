// SPDX-License-Identifier: MIT
/*
 * The system "readers": read/write locks of this library, all of them acquired
 * for reading, a handle per thread.
 */
#include <rowlock/rwlock.h>

#include "system_rowlock.h"

static void open_rwlock(struct bench_worker *worker)
{
	struct rowlock *reader;
	struct rowlock *writer;
	struct rowlock_errinfo error;

	if (rowlock_rwlock_new(bench_rowlock_client(), worker->name, NULL,
			       &reader, &writer, &error))
		bench_die("%s", error.message);
	rowlock_free(writer);
	worker->state = reader;
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

static void close_rwlock(struct bench_worker *worker)
{
	struct rowlock *reader = worker->state;

	rowlock_freep(&reader);
}

const struct bench_system bench_readers = {
	.name = "readers",
	.shares = true,
	.start = bench_rowlock_start,
	.stop = bench_rowlock_stop,
	.open = open_rwlock,
	.acquire = acquire,
	.release = release,
	.close = close_rwlock,
};
