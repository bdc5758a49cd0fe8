/* SPDX-License-Identifier: MIT */
/*
 * A new connection whose first statements are interrupted, or whose server is
 * on its way down. Nothing is locked yet, so nothing is final. On a sandbox of
 * our own, as one of the tests interrupts all that is said there.
 */
#include "db/connect.h"
#include "db/lend.h"

#include <mysql.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/random.h"
#include "db_test.h"
#include "proxy_case.h"

/* KILL QUERY, the two limits of time, a lock of the table, a deadlock. */
static const unsigned int passing[] = { 1317, 1969, 3024, 1205, 1213 };

/* The last words of servers. */
static const unsigned int last_words[] = { 1053, 1077, 1152, 1927, 3169, 4031 };

static const char *dsn_by(const struct proxy *proxy)
{
	static char dsn[512];

	proxy_dsn(proxy, db_dsn(), dsn, sizeof(dsn));
	return dsn;
}

CASE("an interruption of each statement passes")
{
	static const char *const statements[] = { "SET NAMES*", "SELECT 0,*" };
	TEST_PROXY(proxy, proxy_to(db_dsn()));

	for (size_t s = 0; s < RLK_ARRAY_SIZE(statements); s++)
		for (size_t i = 0; i < RLK_ARRAY_SIZE(passing); i++) {
			print_message("# %s: %u\n", statements[s], passing[i]);
			tell(
			    proxy,
			    "clear\nreset\nrequest sql=\"%s\" do error code=%u",
			    statements[s], passing[i]);
			rlk_conn_close(db_open(dsn_by(proxy), &db_lease));
			assert_int_equal(proxy_counts(proxy).harms, 1);
		}
}

CASE("interruptions without end are no refusal")
{
	TEST_PROXY(proxy, proxy_to(db_dsn()));

	tell(proxy, "request sql=\"SELECT 0,*\" always do error code=1317");
	assert_code(db_refused(dsn_by(proxy), 0, &err), ROWLOCK_ECONNECT, &err);
	assert_int_equal(err.mysql, 1317);
	assert_says(err.message, "interrupted 5 times");
}

CASE("an interrupted login is no refusal")
{
	TEST_PROXY(proxy, proxy_to(db_dsn()));

	tell(proxy, "request command=login do error code=1317");
	assert_code(db_refused(dsn_by(proxy), 0, &err), ROWLOCK_ECONNECT, &err);
}

CASE("the check of the tables begins anew")
{
	static const char *const statements[] = {
		"SELECT MAX(version)*",
		"SELECT secret*",
		"*information_schema.TABLES*",
		"*information_schema.COLUMNS*",
		"*information_schema.STATISTICS*",
	};
	TEST_PROXY(proxy, proxy_to(db_dsn()));
	DB_CONN(conn, db_open(dsn_by(proxy), &db_lease));

	for (size_t s = 0; s < RLK_ARRAY_SIZE(statements); s++)
		for (size_t i = 0; i < RLK_ARRAY_SIZE(passing); i++) {
			struct rowlock_errinfo error = { 0 };
			struct rlk_key key;
			int code;

			print_message("# %s: %u\n", statements[s], passing[i]);
			tell(
			    proxy,
			    "clear\nreset\nrequest sql=\"%s\" do error code=%u",
			    statements[s], passing[i]);
			rlk_conn_set_until(conn, db_in(test_patience_ms()));
			code = rlk_schema_check(conn, &key, &error);
			if (code)
				fail_msg("%d: %s", code, error.message);
			assert_int_equal(proxy_counts(proxy).harms, 1);
		}
}

/* A thread that has time gets a connection all the same. */
CASE("patience outlasts the end of a server")
{
	static const char *const places[] = { "command=login",
					      "sql=\"SET NAMES*\"" };
	TEST_PROXY(proxy, proxy_to(db_dsn()));
	struct rlk_conn_target target = db_target(dsn_by(proxy));
	const struct rlk_pool_bay bay = { .profile = db_lease, .limit = 1 };

	for (size_t p = 0; p < RLK_ARRAY_SIZE(places); p++)
		for (size_t i = 0; i < RLK_ARRAY_SIZE(last_words); i++) {
			struct rowlock_errinfo error = { 0 };
			struct rlk_conn *conn = NULL;
			struct rlk_pool *pool = NULL;
			int code;

			print_message("# %s: %u\n", places[p], last_words[i]);
			assert_int_equal(
			    rlk_pool_new(&target, &bay, 1, &pool, &error), 0);
			tell(proxy,
			     "clear\nreset\nrequest %s do error code=%u "
			     "then=fin",
			     places[p], last_words[i]);
			code = rlk_pool_get(pool, 0, db_in(test_patience_ms()),
					    true, NULL, &conn, &error);
			if (code)
				fail_msg("%d: %s", code, error.message);
			assert_int_equal(proxy_counts(proxy).harms, 1);
			rlk_pool_put(pool, conn);
			rlk_pool_free(pool, test_patience_ms());
		}
}

/* ------------------------------------------------------- by a real KILL */

#define OPENS 1500

static _Atomic bool done;

static void kill_one(const struct rlk_value *row, void *arg)
{
	char text[64];

	snprintf(text, sizeof(text), "KILL QUERY %llu",
		 (unsigned long long) row[0].u64);
	if (mysql_query(arg, text))
		return; /* it has gone */
}

/* Kill what the new connections run, now and then. */
static void *keep_killing(void *arg)
{
	static const struct rlk_stmt_def others = {
		"others",
		"SELECT CAST(ID AS UNSIGNED) FROM "
		"information_schema.PROCESSLIST WHERE USER = "
		"SUBSTRING_INDEX(USER(), '@', 1) AND ID > CONNECTION_ID()",
		.once = true,
	};
	struct rlk_conn *conn = db_open(NULL, &db_lease);
	struct rowlock_errinfo error;

	while (!done) {
		rlk_conn_set_until(conn, db_in(test_patience_ms()));
		rlk_stmt_each(conn, &others, NULL, kill_one, arg, &error);
		usleep((useconds_t) (rlk_random() % 2000));
	}
	rlk_conn_close(conn);
	return NULL;
}

/* MariaDB answers a killed SELECT of subqueries by a row of NULLs now and then:
 * that must not look like another server, from which all connections to the
 * first would be given up, and their holds lost. */
CASE("a killed look names no other server")
{
	struct rlk_conn *first = db_open(NULL, &db_lease);
	const char *identity = rlk_conn_server(first)->identity;
	MYSQL *killer = mysql_init(NULL);
	pthread_t thread;
	int others = 0;
	int opened = 0;

	done = false;
	assert_non_null(
	    mysql_real_connect(killer, db_dsn(), NULL, NULL, NULL, 0, NULL, 0));
	assert_int_equal(pthread_create(&thread, NULL, keep_killing, killer),
			 0);
	for (int i = 0; i < OPENS; i++) {
		const struct rlk_conn_target target = db_target(NULL);
		struct rowlock_errinfo error;
		struct rlk_conn *conn = NULL;

		if (rlk_conn_open(&target, &db_lease, db_in(test_patience_ms()),
				  &conn, &error))
			continue;
		opened++;
		others +=
		    !rlk_server_same(rlk_conn_server(conn)->identity, identity);
		rlk_conn_close(conn);
	}
	done = true;
	pthread_join(thread, NULL);
	mysql_close(killer);
	rlk_conn_close(first);
	print_message("# %d of %d were opened\n", opened, OPENS);
	assert_int_equal(others, 0);
	assert_true(opened > 0);
}

CASE_MAIN(db_main_own)
