/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_GUARDED_H
#define ROWLOCK_TEST_GUARDED_H

/* An application with a lock that it holds, a connection of its own, and two
 * accounts, of which the first has 100. */

#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>

#include <rowlock/mysql.h>

#include "sql.h"
#include "test.h"

#define TTL_MS 30000

/* A table for each program, for they run side by side. */
#ifndef ACCOUNTS
#define ACCOUNTS "guard_test"
#endif

/* An application: a lock, a connection, and an account of its own. */
struct app {
	struct rowlock_client *client;
	struct rowlock *lock;
	const char *name;
	MYSQL *mysql;
	struct test_sql *sql; /* somebody else */
};

static inline MYSQL *connect_to(const char *dsn, unsigned long flags)
{
	MYSQL *mysql = mysql_init(NULL);

	assert_non_null(mysql);
	if (!mysql_real_connect(mysql, dsn, NULL, NULL, NULL, 0, NULL, flags))
		fail_msg("connect: %s", mysql_error(mysql));
	return mysql;
}

static inline void say(MYSQL *mysql, const char *sql)
{
	MYSQL_RES *result;

	if (mysql_query(mysql, sql))
		fail_msg("%s: %s", sql, mysql_error(mysql));
	result = mysql_store_result(mysql);
	if (result)
		mysql_free_result(result);
}

static inline unsigned int try_to_say(MYSQL *mysql, const char *sql)
{
	return mysql_query(mysql, sql) ? mysql_errno(mysql) : 0;
}

/* Of the first row. */
static inline uint64_t number_in(MYSQL *mysql, const char *sql,
				 unsigned int column)
{
	MYSQL_RES *result;
	uint64_t value;

	if (mysql_query(mysql, sql))
		fail_msg("%s: %s", sql, mysql_error(mysql));
	result = mysql_store_result(mysql);
	value = strtoull(mysql_fetch_row(result)[column], NULL, 10);
	mysql_free_result(result);
	return value;
}

static inline uint64_t number(MYSQL *mysql, const char *sql)
{
	return number_in(mysql, sql, 0);
}

/* What a file of sql/ says. */
static inline void read_sql(const char *name, char *text, size_t size)
{
	size_t length;
	FILE *file;

	snprintf(text, size, "%s/sql/%s", getenv("ROWLOCK_SOURCE"), name);
	file = fopen(text, "re");
	assert_non_null(file);
	length = fread(text, 1, size - 1, file);
	fclose(file);
	text[length] = '\0';
}

static inline int set_up(void **state)
{
	static struct app app;

	app = (struct app){ .client = test_client(test_ttl_ms(TTL_MS)),
			    .name = test_name("guard"),
			    .mysql =
				connect_to(test_dsn(), CLIENT_MULTI_STATEMENTS),
			    .sql = test_sql_open() };
	app.lock = test_lock(app.client, ROWLOCK_LEASE, 0, app.name);
	test_sql(app.sql, "CREATE TABLE IF NOT EXISTS " ACCOUNTS " (id INT "
			  "PRIMARY KEY, balance INT NOT NULL) ENGINE=InnoDB");
	test_sql(app.sql, "REPLACE INTO " ACCOUNTS " VALUES (1, 100), (2, 0)");
	assert_ok(rowlock_acquire(app.lock, 0, &err));
	*state = &app;
	return 0;
}

static inline int tear_down(void **state)
{
	struct app *app = *state;

	rowlock_release(app->lock, NULL);
	test_lock_end(app->lock);
	mysql_close(app->mysql);
	test_client_end(app->client);
	test_sql(app->sql, "DROP TABLE " ACCOUNTS "");
	test_sql_end(app->sql);
	return 0;
}

static inline void assert_balance(const struct app *app, uint64_t balance)
{
	assert_int_equal(test_sql_number(app->sql,
					 "SELECT balance FROM " ACCOUNTS
					 " WHERE id = 1"),
			 balance);
}

static inline void take_ten(const struct app *app)
{
	say(app->mysql,
	    "UPDATE " ACCOUNTS " SET balance = balance - 10 WHERE id = 1");
}

/* Somebody else gets the name: as after a TTL, or by hand. */
static inline void steal(const struct app *app)
{
	assert_int_equal(test_sql(app->sql,
				  "UPDATE business_lease SET attempt = attempt "
				  "^ 4711 WHERE name = '%s'",
				  app->name),
			 1);
}

/* No transaction is open, and each statement commits by itself. */
static inline void assert_as_before(const struct app *app)
{
	assert_int_equal(number(app->mysql, "SELECT @@SESSION.autocommit"), 1);
	assert_false(app->mysql->server_status & SERVER_STATUS_IN_TRANS);
	say(app->mysql, "UPDATE " ACCOUNTS " SET balance = balance + 1 "
			"WHERE id = 2");
	assert_int_equal(test_sql_number(app->sql,
					 "SELECT balance FROM " ACCOUNTS
					 " WHERE id = 2"),
			 1);
}

/* What was written under a hold that somebody else has by now. */
static inline void assert_nothing_is_committed(const struct app *app)
{
	assert_code(rowlock_commit(app->lock, app->mysql, &err), ROWLOCK_ELOST,
		    &err);
	assert_balance(app, 100);
	assert_int_equal(rowlock_held(app->lock), 0);
	assert_as_before(app);
	assert_code(rowlock_release(app->lock, &err), ROWLOCK_ELOST, &err);
}

#define GUARD(sentence) CASE_WITH(sentence, set_up, tear_down)

#endif
