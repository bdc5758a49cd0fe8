/* SPDX-License-Identifier: MIT */
/*
 * Tokens, compared where the data are: a transaction of an earlier holder does
 * not write behind one of a later one, whatever it believes. No lock and no
 * client take part.
 */
#define ACCOUNTS "fence_test"
#include "guarded.h"

#include <pthread.h>
#include <stdio.h>

#include "ended.h"

struct site {
	MYSQL *mysql;
	MYSQL *other;
	struct test_sql *sql; /* somebody who looks */
};

/* As rowlock-migrate --fence-only does. */
static void make_table(MYSQL *mysql)
{
	char text[4096];

	read_sql("fence.sql", text, sizeof(text));
	say(mysql, "DROP TABLE IF EXISTS lock_fence");
	say(mysql, text);
}

static int begin_site(void **state)
{
	static struct site site;

	site = (struct site){ .mysql = connect_to(test_dsn(), 0),
			      .other = connect_to(test_dsn(), 0),
			      .sql = test_sql_open() };
	make_table(site.mysql);
	say(site.mysql, "CREATE TABLE IF NOT EXISTS " ACCOUNTS
			" (id INT PRIMARY KEY, balance INT NOT NULL) "
			"ENGINE=InnoDB");
	say(site.mysql, "REPLACE INTO " ACCOUNTS " VALUES (1, 100)");
	*state = &site;
	return 0;
}

static int end_site(void **state)
{
	struct site *site = *state;

	say(site->mysql, "ROLLBACK");
	say(site->other, "ROLLBACK");
	say(site->mysql, "DROP TABLE IF EXISTS " ACCOUNTS ", lock_fence");
	mysql_close(site->mysql);
	mysql_close(site->other);
	test_sql_end(site->sql);
	return 0;
}

#define FENCE(sentence) CASE_WITH(sentence, begin_site, end_site)

static void assert_passed(const struct site *site, uint64_t token,
			  uint64_t passes)
{
	assert_int_equal(test_sql_number(site->sql,
					 "SELECT token FROM lock_fence WHERE "
					 "resource = 'account/1'"),
			 token);
	assert_int_equal(test_sql_number(site->sql,
					 "SELECT passes FROM lock_fence WHERE "
					 "resource = 'account/1'"),
			 passes);
}

/* A transaction of the holder with @token; what its fence says. */
static int pay(MYSQL *mysql, uint64_t token, struct rowlock_errinfo *reterr)
{
	int code;

	say(mysql, "START TRANSACTION");
	code = rowlock_fence(mysql, "account/1", token, reterr);
	if (!code)
		say(mysql, "UPDATE " ACCOUNTS
			   " SET balance = balance - 10 WHERE id = 1");
	say(mysql, code ? "ROLLBACK" : "COMMIT");
	return code;
}

FENCE("an earlier holder does not write behind a later one")
{
	const struct site *site = *state;

	assert_ok(pay(site->mysql, 7, &err));
	assert_passed(site, 7, 1);
	/* Each of its transactions. */
	assert_ok(pay(site->mysql, 7, &err));
	assert_passed(site, 7, 2);
	assert_ok(pay(site->other, 9, &err));
	assert_passed(site, 9, 3);
	assert_code(pay(site->mysql, 7, &err), ROWLOCK_ELOST, &err);
	assert_non_null(strstr(err.message, "'account/1' on "));
	assert_non_null(strstr(err.message, "token 9, ours is 7"));
	assert_passed(site, 9, 3);
	assert_int_equal(number(site->mysql, "SELECT balance FROM " ACCOUNTS),
			 70);
	say(site->mysql, "SET sql_select_limit = 0");
	say(site->mysql, "SET character_set_results = utf16");
	assert_code(pay(site->mysql, 7, &err), ROWLOCK_ELOST, &err);
	assert_non_null(strstr(err.message, "token 9, ours is 7"));
	say(site->mysql, "SET character_set_results = latin1");
	say(site->mysql, "SET sql_select_limit = DEFAULT");
	/* And another thing has nothing to do with it. */
	say(site->mysql, "START TRANSACTION");
	assert_ok(rowlock_fence(site->mysql, "account/2", 7, &err));
	say(site->mysql, "COMMIT");
}

/* What a snapshot shows is not what counts, and no mode of the session makes a
 * warning of it. */
FENCE("it sees what is committed, whatever a snapshot shows")
{
	const struct site *site = *state;

	say(site->mysql, "SET SESSION sql_mode = ''");
	say(site->mysql, "SET SESSION TRANSACTION ISOLATION LEVEL "
			 "REPEATABLE READ");
	say(site->mysql, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
	assert_int_equal(number(site->mysql, "SELECT COUNT(*) FROM lock_fence"),
			 0);
	assert_ok(pay(site->other, UINT64_C(9007199254740991), &err));
	/* MariaDB from 11.6 on does not let a snapshot write behind others. */
	if (rowlock_fence(site->mysql, "account/1", UINT64_C(9007199254740990),
			  &err) != ROWLOCK_EDB ||
	    err.mysql != 1020) {
		assert_int_equal(err.code, ROWLOCK_ELOST);
		assert_non_null(
		    strstr(err.message, "9007199254740991, ours is "));
	}
	say(site->mysql, "ROLLBACK");
	assert_passed(site, UINT64_C(9007199254740991), 1);
}

FENCE("what is rolled back has not passed")
{
	const struct site *site = *state;

	say(site->mysql, "SET SESSION autocommit = 0");
	assert_ok(rowlock_fence(site->mysql, "account/1", 9, &err));
	say(site->mysql, "ROLLBACK");
	say(site->mysql, "SET SESSION autocommit = 1");
	assert_ok(pay(site->other, 7, &err));
	assert_passed(site, 7, 1);
}

struct later {
	MYSQL *mysql;
	int code;
};

static void *pay_later(void *data)
{
	struct later *later = data;

	later->code = pay(later->mysql, 9, &err);
	mysql_thread_end();
	return NULL;
}

/* It is there that they take turns, if their locks did not see to it. */
FENCE("a later holder waits for a transaction that has passed")
{
	const struct site *site = *state;
	struct later later = { .mysql = site->other };
	uint64_t since;
	pthread_t thread;

	assert_ok(pay(site->mysql, 7, &err));
	say(site->mysql, "START TRANSACTION");
	assert_ok(rowlock_fence(site->mysql, "account/1", 7, &err));
	assert_false(pthread_create(&thread, NULL, pay_later, &later));
	since = test_now_ns();
	while (!test_sql_number(site->sql,
				"SELECT COUNT(*) FROM "
				"information_schema.PROCESSLIST WHERE ID = %lu "
				"AND INFO LIKE 'INSERT INTO lock_fence%%'",
				mysql_thread_id(site->other)))
		test_keep_waiting(since, "the later holder's fence");
	say(site->mysql,
	    "UPDATE " ACCOUNTS " SET balance = balance * 2 WHERE id = 1");
	say(site->mysql, "COMMIT");
	assert_false(pthread_join(thread, NULL));
	assert_int_equal(later.code, 0);
	/* (100 - 10) * 2 - 10 */
	assert_int_equal(number(site->mysql, "SELECT balance FROM " ACCOUNTS),
			 170);
	/* Longer than the server lets it: a time-out as of any statement. */
	say(site->mysql, "START TRANSACTION");
	assert_ok(rowlock_fence(site->mysql, "account/1", 9, &err));
	say(site->other, "SET SESSION innodb_lock_wait_timeout = 1");
	assert_code(pay(site->other, 10, &err), ROWLOCK_EDB, &err);
	assert_int_equal(err.mysql, 1205);
}

FENCE("without a transaction it is refused")
{
	const struct site *site = *state;

	assert_code(rowlock_fence(site->mysql, "account/1", 7, &err),
		    ROWLOCK_EINVAL, &err);
	assert_non_null(strstr(err.message, "no transaction is open"));
	assert_int_equal(number(site->mysql, "SELECT COUNT(*) FROM lock_fence"),
			 0);
}

/* The server says so, whatever the driver remembers. */
FENCE("a transaction that ended unnoticed is none")
{
	const struct site *site = *state;

	for (enum ending ending = 0; ending < ENDINGS; ending++) {
		say(site->mysql, "START TRANSACTION");
		end_unnoticed(site->mysql, ending);
		assert_code(rowlock_fence(site->mysql, "account/1", 7, &err),
			    ROWLOCK_EINVAL, &err);
		assert_ok(pay(site->mysql, 7, &err));
	}
	say(site->mysql, "SET autocommit = 0");
	assert_false(mysql_reset_connection(site->mysql));
	assert_code(rowlock_fence(site->mysql, "account/1", 7, &err),
		    ROWLOCK_EINVAL, &err);
	say(site->mysql, "START TRANSACTION");
	assert_int_equal(try_to_say(site->mysql, "no SQL"), 1064);
	assert_ok(rowlock_fence(site->mysql, "account/1", 7, &err));
	say(site->mysql, "COMMIT");
	assert_passed(site, 7, ENDINGS + 1);
}

FENCE("what is no resource, token or connection is refused")
{
	const struct site *site = *state;
	MYSQL *closed = mysql_init(NULL);
	const my_bool on = 1;
	const my_bool off = 0;
	char longest[102];

	say(site->mysql, "START TRANSACTION");
	assert_code(rowlock_fence(site->mysql, NULL, 7, &err), ROWLOCK_ENAME,
		    &err);
	assert_code(rowlock_fence(site->mysql, "", 7, &err), ROWLOCK_ENAME,
		    &err);
	assert_code(rowlock_fence(site->mysql, "a ", 7, &err), ROWLOCK_ENAME,
		    &err);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_code(rowlock_fence(site->mysql, longest, 7, &err), ROWLOCK_ENAME,
		    &err);
	assert_ok(rowlock_fence(site->mysql, longest + 1, 7, &err));
	assert_ok(rowlock_fence(site->mysql, "it's \xc3\xa4 `\\", 7, &err));
	assert_code(rowlock_fence(site->mysql, "account/1", 0, &err),
		    ROWLOCK_EINVAL, &err);
	assert_code(rowlock_fence(NULL, "account/1", 7, &err), ROWLOCK_EINVAL,
		    &err);
	assert_code(rowlock_fence(closed, "account/1", 7, &err),
		    ROWLOCK_ECONNECT, &err);
	mysql_close(closed);
	/* What follows an error would be on a new connection, behind none. */
	mysql_optionsv(site->mysql, MYSQL_OPT_RECONNECT, &on);
	assert_code(rowlock_fence(site->mysql, "account/1", 7, &err),
		    ROWLOCK_EINVAL, &err);
	assert_non_null(strstr(err.message, "anew by itself"));
	mysql_optionsv(site->mysql, MYSQL_OPT_RECONNECT, &off);
	/* With a result that nobody has read. */
	assert_false(mysql_query(site->mysql, "SELECT 1"));
	assert_code(rowlock_fence(site->mysql, "account/1", 7, &err),
		    ROWLOCK_EINVAL, &err);
	mysql_free_result(mysql_store_result(site->mysql));
	say(site->mysql, "COMMIT");
	assert_int_equal(number(site->mysql, "SELECT COUNT(*) FROM lock_fence "
					     "WHERE resource = "
					     "'it''s \xc3\xa4 `\\\\'"),
			 1);
	say(site->mysql, "START TRANSACTION READ ONLY");
	assert_code(rowlock_fence(site->mysql, "account/1", 7, &err),
		    ROWLOCK_EREADONLY, &err);
	assert_int_equal(err.mysql, 1792);
}

FENCE("a database without a fence is told how to make it")
{
	const struct site *site = *state;

	say(site->mysql, "DROP TABLE lock_fence");
	assert_code(pay(site->mysql, 7, &err), ROWLOCK_ESCHEMA, &err);
	assert_non_null(strstr(err.message, "rowlock-migrate --fence-only"));
}

CASE_MAIN(test_main)
