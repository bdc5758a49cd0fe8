// SPDX-License-Identifier: MIT
/*
 * The system "get_lock": the server's own user-level locks, prepared, on a
 * connection per thread (a hold belongs to its connection).
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "sql.h"

struct get_lock {
	MYSQL *mysql;
	MYSQL_STMT *acquire;
	MYSQL_STMT *release;
	unsigned long name_length;
	unsigned long long granted;
};

static void open_get_lock(struct bench_worker *worker)
{
	struct get_lock *lock = bench_alloc(sizeof(*lock));
	MYSQL_BIND name;
	MYSQL_BIND granted = bench_sql_number(&lock->granted);

	lock->mysql = bench_sql_open(worker->options->dsn, NULL);
	lock->name_length = strlen(worker->name);
	lock->acquire =
	    bench_sql_prepare(lock->mysql, "SELECT GET_LOCK(?, 3600)");
	/* DO: nothing comes back. */
	lock->release = bench_sql_prepare(lock->mysql, "DO RELEASE_LOCK(?)");
	name = bench_sql_text(worker->name, &lock->name_length);
	bench_sql_bind(lock->acquire, &name);
	bench_sql_bind(lock->release, &name);
	bench_sql_bind_result(lock->acquire, &granted);
	worker->state = lock;
}

static void acquire(struct bench_worker *worker)
{
	struct get_lock *lock = worker->state;

	if (mysql_stmt_execute(lock->acquire) ||
	    mysql_stmt_fetch(lock->acquire) ||
	    mysql_stmt_free_result(lock->acquire))
		bench_sql_die(lock->acquire);
	if (lock->granted != 1)
		bench_die("GET_LOCK did not grant '%s'", worker->name);
}

static void release(struct bench_worker *worker)
{
	struct get_lock *lock = worker->state;

	if (mysql_stmt_execute(lock->release))
		bench_sql_die(lock->release);
}

static void close_get_lock(struct bench_worker *worker)
{
	struct get_lock *lock = worker->state;

	mysql_stmt_close(lock->acquire);
	mysql_stmt_close(lock->release);
	mysql_close(lock->mysql);
	free(lock);
}

const struct bench_system bench_get_lock = {
	.name = "get_lock",
	.open = open_get_lock,
	.acquire = acquire,
	.release = release,
	.close = close_get_lock,
};
