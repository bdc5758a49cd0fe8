// SPDX-License-Identifier: MIT
/*
 * The systems "transfer" and "transfer-…": a transaction of an application's,
 * from one account to another, in text, as most programs say it. What the
 * transactions of the library (rowlock/mysql.h) are measured against is the
 * same one without them.
 *
 * What the act calls acquire is all but the last call; that is its release.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rowlock/mysql.h>

#include "sql.h"
#include "system_rowlock.h"

struct transfer {
	MYSQL *mysql;
	struct rowlock *lock;
	char read[192];
	char take[192];
	char give[192];
};

/* One table for all; several processes may come at once. */
static const char table[] = "CREATE TABLE IF NOT EXISTS bench_account "
			    "(id VARCHAR(100) PRIMARY KEY, balance BIGINT NOT "
			    "NULL) ENGINE=InnoDB CHARACTER SET utf8mb4";

static void open_account(MYSQL *mysql, const char *name, const char *which)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "REPLACE INTO bench_account VALUES ('%s%s', 0)", name, which);
	bench_sql(mysql, text);
}

static struct transfer *open_transfer(struct bench_worker *worker)
{
	struct transfer *transfer = bench_alloc(sizeof(*transfer));
	const char *name = worker->name;

	transfer->mysql = bench_sql_open(worker->options->dsn, table);
	open_account(transfer->mysql, name, "-a");
	open_account(transfer->mysql, name, "-b");
	snprintf(transfer->read, sizeof(transfer->read),
		 "SELECT balance FROM bench_account WHERE id = '%s-a'", name);
	snprintf(transfer->take, sizeof(transfer->take),
		 "UPDATE bench_account SET balance = balance - 1 "
		 "WHERE id = '%s-a'",
		 name);
	snprintf(transfer->give, sizeof(transfer->give),
		 "UPDATE bench_account SET balance = balance + 1 "
		 "WHERE id = '%s-b'",
		 name);
	worker->state = transfer;
	return transfer;
}

static void close_transfer(struct bench_worker *worker)
{
	struct transfer *transfer = worker->state;

	rowlock_freep(&transfer->lock);
	mysql_close(transfer->mysql);
	free(transfer);
}

static void move(const struct transfer *transfer)
{
	if (!bench_sql_any(transfer->mysql, transfer->read))
		bench_die("no account: %s", transfer->read);
	bench_sql(transfer->mysql, transfer->take);
	bench_sql(transfer->mysql, transfer->give);
}

/* ----------------------------------------------------------------- bare */

static void open_bare(struct bench_worker *worker)
{
	open_transfer(worker);
}

static void move_bare(struct bench_worker *worker)
{
	const struct transfer *transfer = worker->state;

	bench_sql(transfer->mysql, "START TRANSACTION");
	move(transfer);
}

static void commit_bare(struct bench_worker *worker)
{
	const struct transfer *transfer = worker->state;

	bench_sql(transfer->mysql, "COMMIT");
}

/* -------------------------------------------------------------- guarded */

static void open_free(struct bench_worker *worker)
{
	open_transfer(worker)->lock = bench_rowlock_new(
	    worker->name, ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE);
}

static void open_held(struct bench_worker *worker)
{
	const struct transfer *transfer;

	open_free(worker);
	transfer = worker->state;
	bench_rowlock_acquire(transfer->lock);
}

static void begin(const struct transfer *transfer, unsigned int flags)
{
	struct rowlock_errinfo error;

	if (rowlock_begin(transfer->lock, transfer->mysql, flags, &error))
		bench_die("%s", error.message);
}

static void commit(const struct transfer *transfer)
{
	struct rowlock_errinfo error;

	if (rowlock_commit(transfer->lock, transfer->mysql, &error))
		bench_die("%s", error.message);
}

static void move_guarded(struct bench_worker *worker)
{
	const struct transfer *transfer = worker->state;

	begin(transfer, 0);
	move(transfer);
}

static void move_early(struct bench_worker *worker)
{
	const struct transfer *transfer = worker->state;

	begin(transfer, ROWLOCK_EARLY_GUARD);
	move(transfer);
}

static void commit_guarded(struct bench_worker *worker)
{
	commit(worker->state);
}

static void close_held(struct bench_worker *worker)
{
	const struct transfer *transfer = worker->state;

	bench_rowlock_release(transfer->lock);
	close_transfer(worker);
}

/* ------------------------------------------------- acquired and released */

static void acquire_and_move(struct bench_worker *worker)
{
	const struct transfer *transfer = worker->state;

	bench_rowlock_acquire(transfer->lock);
	move_guarded(worker);
}

static void commit_then_release(struct bench_worker *worker)
{
	const struct transfer *transfer = worker->state;

	commit(transfer);
	bench_rowlock_release(transfer->lock);
}

static void commit_release(struct bench_worker *worker)
{
	const struct transfer *transfer = worker->state;
	struct rowlock_errinfo error;

	if (rowlock_commit_release(transfer->lock, transfer->mysql, &error))
		bench_die("%s", error.message);
}

const struct bench_system bench_transfer = {
	.name = "transfer",
	.open = open_bare,
	.acquire = move_bare,
	.release = commit_bare,
	.close = close_transfer,
};

const struct bench_system bench_transfer_guarded = {
	.name = "transfer-guarded",
	.start = bench_rowlock_start,
	.stop = bench_rowlock_stop,
	.open = open_held,
	.acquire = move_guarded,
	.release = commit_guarded,
	.close = close_held,
};

const struct bench_system bench_transfer_early = {
	.name = "transfer-early",
	.start = bench_rowlock_start,
	.stop = bench_rowlock_stop,
	.open = open_held,
	.acquire = move_early,
	.release = commit_guarded,
	.close = close_held,
};

const struct bench_system bench_transfer_release = {
	.name = "transfer-release",
	.start = bench_rowlock_start,
	.stop = bench_rowlock_stop,
	.open = open_free,
	.acquire = acquire_and_move,
	.release = commit_then_release,
	.close = close_transfer,
};

const struct bench_system bench_transfer_commit_release = {
	.name = "transfer-commit-release",
	.start = bench_rowlock_start,
	.stop = bench_rowlock_stop,
	.open = open_free,
	.acquire = acquire_and_move,
	.release = commit_release,
	.close = close_transfer,
};
