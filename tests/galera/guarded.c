// SPDX-License-Identifier: MIT
/*
 * guarded [--rounds N] DSN DSN...: is a transaction that is tied to a lease, on
 * another node than its client's, behind all that was done under the lock
 * before? An application for each node: its client is there, and its own
 * connection to the next one. They have one lock in turn, read a number in a
 * transaction that begins at once behind the grant, and write the next one.
 *
 * Violations: a begin or a commit that fails, though the hold is there, and a
 * number that is not the one written last. Any makes the exit status 1.
 */
#include <getopt.h>
#include <mysql.h>
#include <rowlock.h>
#include <rowlock/mysql.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NODES 9
#define WAIT_MS 120000
#define NAME "galera-guarded"
#define TABLE "galera_guarded"

struct app {
	struct rowlock_client *client;
	struct rowlock *lock;
	MYSQL *mysql;
};

struct counts {
	unsigned long done;
	unsigned long failed;
	unsigned long stale;
};

static void give_up(const char *what, const char *why)
{
	fprintf(stderr, "guarded: %s: %s\n", what, why);
	exit(1);
}

static void say(MYSQL *mysql, const char *sql)
{
	if (mysql_query(mysql, sql))
		give_up(sql, mysql_error(mysql));
}

static unsigned long read_number(MYSQL *mysql)
{
	MYSQL_RES *result;
	MYSQL_ROW row;
	unsigned long number;

	say(mysql, "SELECT n FROM " TABLE);
	result = mysql_store_result(mysql);
	row = result ? mysql_fetch_row(result) : NULL;
	if (!row || !row[0])
		give_up(TABLE, "its row is not there");
	number = strtoul(row[0], NULL, 10);
	mysql_free_result(result);
	return number;
}

static struct app open_app(const char *here, const char *there)
{
	struct rowlock_client_options options = ROWLOCK_CLIENT_OPTIONS_DEFAULT;
	struct rowlock_errinfo err;
	struct app app = { .mysql = mysql_init(NULL) };

	options.dsn = here;
	if (rowlock_client_new(&options, &app.client, &err) ||
	    rowlock_new(app.client, NAME, NULL, &app.lock, &err))
		give_up(here, err.message);
	if (!app.mysql ||
	    !mysql_real_connect(app.mysql, there, NULL, NULL, NULL, 0, NULL, 0))
		give_up(there, app.mysql ? mysql_error(app.mysql) : "memory");
	return app;
}

static void close_app(struct app *app)
{
	rowlock_free(app->lock);
	rowlock_client_free(app->client);
	mysql_close(app->mysql);
}

/* The first few are told. */
static void failed(struct counts *counts, const struct rowlock_errinfo *err)
{
	if (counts->failed++ < 3)
		fprintf(stderr, "guarded: %s\n", err->message);
}

static bool turn(struct app *app, struct counts *counts)
{
	struct rowlock_errinfo err;
	char sql[64];

	if (rowlock_begin(app->lock, app->mysql, 0, &err)) {
		failed(counts, &err);
		return false;
	}
	if (read_number(app->mysql) != counts->done)
		counts->stale++;
	snprintf(sql, sizeof(sql), "UPDATE " TABLE " SET n = %lu",
		 counts->done + 1);
	if (mysql_query(app->mysql, sql) ||
	    rowlock_commit(app->lock, app->mysql, &err)) {
		if (mysql_errno(app->mysql))
			fprintf(stderr, "guarded: %s\n",
				mysql_error(app->mysql));
		failed(counts, &err);
		(void) rowlock_rollback(app->lock, app->mysql, NULL);
		return false;
	}
	counts->done++;
	return true;
}

static void play(struct app *apps, int nodes, unsigned long rounds,
		 struct counts *counts)
{
	struct rowlock_errinfo err = { 0 };

	for (unsigned long i = 0; i < rounds; i++) {
		struct app *app = &apps[i % (unsigned int) nodes];

		if (rowlock_acquire(app->lock, WAIT_MS, &err))
			give_up(NAME, err.message);
		turn(app, counts);
		rowlock_release(app->lock, NULL);
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "rounds", required_argument, NULL, 'r' },
		{ NULL, 0, NULL, 0 },
	};
	struct app apps[MOST_NODES];
	struct counts counts = { 0 };
	unsigned long rounds = 600;
	int nodes, option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) == 'r')
		rounds = strtoul(optarg, NULL, 10);
	nodes = argc - optind;
	if (option != -1 || !rounds || nodes < 2 || nodes > MOST_NODES) {
		fprintf(stderr, "usage: guarded [--rounds N] DSN DSN...\n");
		return 2;
	}
	for (int i = 0; i < nodes; i++)
		apps[i] =
		    open_app(argv[optind + i], argv[optind + (i + 1) % nodes]);
	say(apps[0].mysql, "DROP TABLE IF EXISTS " TABLE);
	say(apps[0].mysql,
	    "CREATE TABLE " TABLE " (id INT PRIMARY KEY, n BIGINT NOT NULL) "
	    "ENGINE=InnoDB");
	say(apps[0].mysql, "INSERT INTO " TABLE " VALUES (1, 0)");
	play(apps, nodes, rounds, &counts);
	say(apps[0].mysql, "DROP TABLE " TABLE);
	for (int i = 0; i < nodes; i++)
		close_app(&apps[i]);
	printf("%lu guarded commits on other nodes, %lu failed, %lu read what "
	       "was old\n",
	       counts.done, counts.failed, counts.stale);
	return counts.failed || counts.stale;
}
