// SPDX-License-Identifier: MIT
/*
 * The systems "raw-row" and "raw-lease": the statements alone, as the articles
 * about locks in a database have them, prepared, on a blocking connection per
 * thread. No deadline, no heartbeat, no lost reply is thought of: this is the
 * floor that the library is measured against.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "sql.h"

#define POLL_US 500

struct raw {
	MYSQL *mysql;
	MYSQL_STMT *acquire;
	MYSQL_STMT *release;
	unsigned long name_length;
	char found[BENCH_NAME_SIZE];
	unsigned long found_length;
	unsigned long long session;
	unsigned long long attempt;
};

static struct raw *raw_new(struct bench_worker *worker, const char *first)
{
	struct raw *raw = bench_alloc(sizeof(*raw));

	raw->mysql = bench_sql_open(worker->options->dsn, first);
	raw->name_length = strlen(worker->name);
	worker->state = raw;
	return raw;
}

static void close_raw(struct bench_worker *worker)
{
	struct raw *raw = worker->state;

	mysql_stmt_close(raw->acquire);
	if (raw->release)
		mysql_stmt_close(raw->release);
	mysql_close(raw->mysql);
	free(raw);
}

/* ------------------------------------------------------------------ row */

/* The insert would wait behind who has the row: look first, which does not. */
static void make_row(struct raw *raw, const char *name)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "SELECT 1 FROM business_lock WHERE name = '%s'", name);
	if (bench_sql_any(raw->mysql, text))
		return;
	snprintf(text, sizeof(text),
		 "INSERT INTO business_lock (name) VALUES ('%s')"
		 " ON DUPLICATE KEY UPDATE name = name",
		 name);
	bench_sql(raw->mysql, text);
}

static void open_row(struct bench_worker *worker)
{
	struct raw *raw = raw_new(
	    worker, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
	MYSQL_BIND name = bench_sql_text(worker->name, &raw->name_length);
	MYSQL_BIND found = bench_sql_text(raw->found, &raw->found_length);

	bench_sql(raw->mysql, "SET SESSION innodb_lock_wait_timeout = 3600");
	make_row(raw, worker->name);
	bench_sql(raw->mysql, "SET autocommit = 0");
	raw->acquire = bench_sql_prepare(
	    raw->mysql,
	    "SELECT name FROM business_lock WHERE name = ? FOR UPDATE");
	found.buffer_length = sizeof(raw->found);
	bench_sql_bind(raw->acquire, &name);
	bench_sql_bind_result(raw->acquire, &found);
}

static void acquire_row(struct bench_worker *worker)
{
	struct raw *raw = worker->state;

	if (mysql_stmt_execute(raw->acquire) || mysql_stmt_fetch(raw->acquire))
		bench_sql_die(raw->acquire);
	/* Reads to the end of what was sent already: no round trip. */
	if (mysql_stmt_free_result(raw->acquire))
		bench_sql_die(raw->acquire);
}

static void release_row(struct bench_worker *worker)
{
	struct raw *raw = worker->state;

	bench_sql(raw->mysql, "COMMIT");
}

/* ---------------------------------------------------------------- lease */

/* A lease without a session is dead to rowlock's clients, and would be removed
 * by one that happens to reap. */
static void make_session(struct raw *raw)
{
	char text[256];

	raw->session = bench_random();
	snprintf(text, sizeof(text),
		 "INSERT INTO lease_session (id, ttl, expires_at, started_at)"
		 " VALUES (%llu, 86400000, UTC_TIMESTAMP(6) + INTERVAL 1 DAY,"
		 " UTC_TIMESTAMP(6))",
		 raw->session);
	bench_sql(raw->mysql, text);
}

static void open_lease(struct bench_worker *worker)
{
	struct raw *raw = raw_new(
	    worker, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
	MYSQL_BIND all[3] = {
		bench_sql_text(worker->name, &raw->name_length),
		bench_sql_number(&raw->session),
		bench_sql_number(&raw->attempt),
	};
	MYSQL_BIND identity[2] = { all[0], all[2] };

	make_session(raw);
	raw->acquire = bench_sql_prepare(
	    raw->mysql, "INSERT INTO business_lease"
			" (name, slot, session, attempt, acquired_at)"
			" VALUES (?, 0, ?, ?, UTC_TIMESTAMP(6))"
			" ON DUPLICATE KEY UPDATE name = name");
	raw->release = bench_sql_prepare(
	    raw->mysql, "DELETE FROM business_lease"
			" WHERE name = ? AND slot = 0 AND attempt = ?");
	bench_sql_bind(raw->acquire, all);
	bench_sql_bind(raw->release, identity);
}

/* The only error that those who contend for one row have to expect. */
#define ER_LOCK_DEADLOCK 1213

static void execute(MYSQL_STMT *stmt)
{
	while (mysql_stmt_execute(stmt))
		if (mysql_stmt_errno(stmt) != ER_LOCK_DEADLOCK)
			bench_sql_die(stmt);
}

static void acquire_lease(struct bench_worker *worker)
{
	static const struct timespec pause = { 0, POLL_US * 1000 };
	struct raw *raw = worker->state;

	raw->attempt = bench_random();
	for (;;) {
		execute(raw->acquire);
		if (mysql_stmt_affected_rows(raw->acquire) == 1)
			return;
		nanosleep(&pause, NULL);
	}
}

static void release_lease(struct bench_worker *worker)
{
	struct raw *raw = worker->state;

	execute(raw->release);
	if (mysql_stmt_affected_rows(raw->release) != 1)
		bench_die("the lease '%s' was not there", worker->name);
}

static void close_lease(struct bench_worker *worker)
{
	struct raw *raw = worker->state;
	char text[64];

	snprintf(text, sizeof(text),
		 "DELETE FROM lease_session WHERE id = %llu", raw->session);
	bench_sql(raw->mysql, text);
	close_raw(worker);
}

const struct bench_system bench_raw_row = {
	.name = "raw-row",
	.open = open_row,
	.acquire = acquire_row,
	.release = release_row,
	.close = close_raw,
};

const struct bench_system bench_raw_lease = {
	.name = "raw-lease",
	.open = open_lease,
	.acquire = acquire_lease,
	.release = release_lease,
	.close = close_lease,
};
