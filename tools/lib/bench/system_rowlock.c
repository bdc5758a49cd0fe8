// SPDX-License-Identifier: MIT
/*
 * The systems "row", "lease" and "lease-token": this library, one client per
 * process, a handle per thread.
 */
#include "system_rowlock.h"

#include <stddef.h>

static struct rowlock_client *client;

struct rowlock_client *bench_rowlock_client(void)
{
	return client;
}

/* The one place where a client is opened: with the defaults, but for the TTL
 * where the workload is about it. */
void bench_rowlock_start(const struct bench_options *options)
{
	struct rowlock_client_options wanted = ROWLOCK_CLIENT_OPTIONS_DEFAULT;
	struct rowlock_errinfo error;

	wanted.dsn = options->dsn;
	wanted.program = "bench";
	if (options->ttl_ms) {
		wanted.ttl_ms = options->ttl_ms;
		wanted.row_idle_ms = options->ttl_ms;
	}
	if (rowlock_client_new(&wanted, &client, &error))
		bench_die("%s", error.message);
}

void bench_rowlock_stop(void)
{
	struct rowlock_errinfo error;

	if (rowlock_client_try_free(client, &error))
		bench_die("%s", error.message);
}

struct rowlock *bench_rowlock_new(const char *name,
				  enum rowlock_strategy strategy,
				  unsigned int flags)
{
	struct rowlock_options wanted = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_errinfo error;
	struct rowlock *lock;

	wanted.strategy = strategy;
	wanted.flags = flags;
	if (rowlock_new(client, name, &wanted, &lock, &error))
		bench_die("%s", error.message);
	return lock;
}

static void open_row(struct bench_worker *worker)
{
	worker->state = bench_rowlock_new(worker->name, ROWLOCK_ROW, 0);
}

static void open_lease(struct bench_worker *worker)
{
	worker->state = bench_rowlock_new(worker->name, ROWLOCK_LEASE, 0);
}

static void open_lease_token(struct bench_worker *worker)
{
	worker->state = bench_rowlock_new(worker->name, ROWLOCK_LEASE,
					  ROWLOCK_TOKEN_WITH_GRANT);
}

void bench_rowlock_acquire(struct rowlock *lock)
{
	struct rowlock_errinfo error;

	if (rowlock_acquire(lock, ROWLOCK_FOREVER, &error))
		bench_die("%s", error.message);
}

void bench_rowlock_release(struct rowlock *lock)
{
	struct rowlock_errinfo error;

	if (rowlock_release(lock, &error))
		bench_die("%s", error.message);
}

static void acquire(struct bench_worker *worker)
{
	bench_rowlock_acquire(worker->state);
}

static void release(struct bench_worker *worker)
{
	bench_rowlock_release(worker->state);
}

static void close_lock(struct bench_worker *worker)
{
	struct rowlock *lock = worker->state;

	rowlock_freep(&lock);
}

const struct bench_system bench_row = {
	.name = "row",
	.start = bench_rowlock_start,
	.stop = bench_rowlock_stop,
	.open = open_row,
	.acquire = acquire,
	.release = release,
	.close = close_lock,
};

const struct bench_system bench_lease = {
	.name = "lease",
	.start = bench_rowlock_start,
	.stop = bench_rowlock_stop,
	.open = open_lease,
	.acquire = acquire,
	.release = release,
	.close = close_lock,
};

const struct bench_system bench_lease_token = {
	.name = "lease-token",
	.start = bench_rowlock_start,
	.stop = bench_rowlock_stop,
	.open = open_lease_token,
	.acquire = acquire,
	.release = release,
	.close = close_lock,
};
