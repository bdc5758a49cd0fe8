/* SPDX-License-Identifier: MIT */
/*
 * What the application has set on its connection stays as it was, and is in
 * nobody's way: transactions that are tied to a lock.
 */
#include <stdio.h>

#define ACCOUNTS "guard_session_test"

#include "ended.h"
#include "guarded.h"
#include "timeouts.h"

/* The session's own ways are left alone, and not relied on. */
GUARD("the session is as it was")
{
	const struct app *app = *state;

	say(app->mysql, "SET autocommit = 0");
	say(app->mysql, "SET completion_type = 'CHAIN'");
	say(app->mysql, "SET SESSION TRANSACTION READ ONLY");
	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	assert_false(app->mysql->server_status & SERVER_STATUS_IN_TRANS);
	assert_balance(app, 90);
	assert_int_equal(number(app->mysql, "SELECT @@SESSION.autocommit"), 0);
	assert_int_equal(number(app->mysql, "SELECT @@SESSION.completion_type "
					    "= 'CHAIN'"),
			 1);
	say(app->mysql, "COMMIT AND NO CHAIN");
	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	assert_ok(rowlock_rollback(app->lock, app->mysql, &err));
	assert_false(app->mysql->server_status & SERVER_STATUS_IN_TRANS);
	say(app->mysql, "SET SESSION TRANSACTION READ WRITE");
}

GUARD("several statements are forbidden again")
{
	const struct app *app = *state;
	MYSQL *mysql = connect_to(test_dsn(), 0);

	for (int i = 0; i < 2; i++) {
		assert_ok(rowlock_begin(app->lock, mysql, 0, &err));
		say(mysql,
		    "UPDATE " ACCOUNTS " SET balance = balance - 10 WHERE "
		    "id = 1");
		if (i == 0)
			assert_ok(rowlock_commit(app->lock, mysql, &err));
		else
			assert_ok(rowlock_rollback(app->lock, mysql, &err));
		assert_int_equal(try_to_say(mysql, "DO 1; DO 2"), 1064);
	}
	steal(app);
	assert_code(rowlock_begin(app->lock, mysql, ROWLOCK_SNAPSHOT, &err),
		    ROWLOCK_ELOST, &err);
	assert_int_equal(try_to_say(mysql, "DO 1; DO 2"), 1064);
	mysql_close(mysql);
	assert_balance(app, 90);
}

/* Whoever opened it without the flag may have allowed it since, and the other
 * way round. */
GUARD("several statements are as the application has them")
{
	static const unsigned long flags[] = { 0, CLIENT_MULTI_STATEMENTS };
	const struct app *app = *state;

	for (size_t i = 0; i < TEST_SIZE(flags); i++) {
		MYSQL *mysql = connect_to(test_dsn(), flags[i]);

		assert_false(mysql_set_server_option(
		    mysql, i ? MYSQL_OPTION_MULTI_STATEMENTS_OFF
			     : MYSQL_OPTION_MULTI_STATEMENTS_ON));
		assert_ok(rowlock_begin(app->lock, mysql, 0, &err));
		say(mysql,
		    "UPDATE " ACCOUNTS " SET balance = balance - 10 WHERE "
		    "id = 1");
		assert_ok(rowlock_commit(app->lock, mysql, &err));
		assert_int_equal(try_to_say(mysql, "DO 1; DO 2"), i ? 1064 : 0);
		mysql_close(mysql);
	}
	assert_balance(app, 80);
}

/* Also where a digit is of two bytes, or four. */
GUARD("answers are read in each character set")
{
	static const char *const sets[] = { "utf16", "utf16le", "utf32",
					    "ucs2",  "binary",  "latin1" };
	const struct app *app = *state;
	char sql[64];

	for (size_t i = 0; i < TEST_SIZE(sets); i++) {
		snprintf(sql, sizeof(sql), "SET character_set_results = %s",
			 sets[i]);
		say(app->mysql, sql);
		assert_ok(rowlock_begin(app->lock, app->mysql, ROWLOCK_SNAPSHOT,
					&err));
		take_ten(app);
		assert_ok(rowlock_commit(app->lock, app->mysql, &err));
		assert_balance(app, 90 - 10 * i);
	}
	/* What the server says is told by its number where its words are not.
	 */
	say(app->mysql, "SET character_set_results = utf16");
	say(app->mysql, "LOCK TABLES " ACCOUNTS " WRITE");
	assert_code(
	    rowlock_begin(app->lock, app->mysql, ROWLOCK_SNAPSHOT, &err),
	    ROWLOCK_EDB, &err);
	assert_int_equal(err.mysql, 1100);
	assert_non_null(strstr(err.message, "character_set_results"));
	say(app->mysql, "UNLOCK TABLES");
	say(app->mysql, "SET character_set_results = latin1");
	assert_as_before(app);
}

/* A copy of the application's own, in which the hold's row is for ever. */
GUARD("a copy of the table is not taken for it")
{
	static const unsigned int flags[] = { 0, ROWLOCK_SNAPSHOT };
	const struct app *app = *state;
	char text[ROWLOCK_GUARD_SQL_SIZE];

	for (size_t i = 0; i < TEST_SIZE(flags); i++) {
		assert_ok(rowlock_begin(app->lock, app->mysql, flags[i], &err));
		take_ten(app);
		say(app->mysql, "CREATE TEMPORARY TABLE business_lease AS "
				"SELECT * FROM business_lease");
		assert_code(
		    i ? rowlock_commit_release(app->lock, app->mysql, &err)
		      : rowlock_commit(app->lock, app->mysql, &err),
		    ROWLOCK_ESCHEMA, &err);
		assert_balance(app, 100);
		assert_code(rowlock_begin(app->lock, app->mysql,
					  ROWLOCK_SNAPSHOT, &err),
			    ROWLOCK_ESCHEMA, &err);
		say(app->mysql, "DROP TEMPORARY TABLE business_lease");
	}
	assert_ok(rowlock_guard_sql(app->lock, text, sizeof(text), &err));
	say(app->mysql, "CREATE TEMPORARY TABLE business_lease AS "
			"SELECT * FROM business_lease");
	assert_int_equal(try_to_say(app->mysql, text), 1176);
	say(app->mysql, "DROP TEMPORARY TABLE business_lease");
	assert_as_before(app);
}

/* What the driver remembers is older than what the server says. */
GUARD("a transaction that ended unnoticed is not in the way")
{
	const struct app *app = *state;

	for (enum ending ending = 0; ending < ENDINGS; ending++) {
		say(app->mysql, "START TRANSACTION");
		end_unnoticed(app->mysql, ending);
		assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
		take_ten(app);
		assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	}
	assert_balance(app, 70);
	/* And one that is open is, though a statement failed in it. */
	say(app->mysql, "START TRANSACTION");
	assert_int_equal(try_to_say(app->mysql, "no SQL"), 1064);
	assert_code(rowlock_begin(app->lock, app->mysql, 0, &err),
		    ROWLOCK_EINVAL, &err);
	assert_non_null(strstr(err.message, "a transaction is open"));
	say(app->mysql, "ROLLBACK");
	assert_as_before(app);
}

GUARD("autocommit is as the server had it")
{
	const struct app *app = *state;

	say(app->mysql, "SET autocommit = 0");
	assert_false(mysql_reset_connection(app->mysql));
	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	assert_as_before(app);
}

/* It lets no row of the session's own SELECTs through. */
GUARD("a limit of the session's is not ours")
{
	const struct app *app = *state;

	say(app->mysql, "SET SESSION sql_select_limit = 0");
	assert_ok(rowlock_begin(app->lock, app->mysql, ROWLOCK_SNAPSHOT, &err));
	take_ten(app);
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	assert_ok(rowlock_begin(app->lock, app->mysql,
				ROWLOCK_SNAPSHOT | ROWLOCK_EARLY_GUARD, &err));
	take_ten(app);
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	steal(app);
	assert_code(rowlock_commit(app->lock, app->mysql, &err), ROWLOCK_ELOST,
		    &err);
	assert_balance(app, 80);
}

/* ------------------------------------------------------ one that lasts */

enum { COMMITS, RELEASES, ROLLS_BACK, IS_LOST, ENDS };

/* A transaction that is begun long before it ends. */
struct old {
	struct rowlock *lock;
	const char *name;
	MYSQL *mysql;
	bool several;
	bool autocommit;
};

static void begin_old(struct old *old, struct rowlock_client *client,
		      unsigned int number)
{
	char sql[96];

	*old = (struct old){ .name = test_name("old"),
			     .several = number % 2,
			     .autocommit = number / ENDS % 2 };
	old->lock = test_lock(client, ROWLOCK_LEASE, 0, old->name);
	old->mysql =
	    connect_to(test_dsn(), old->several ? CLIENT_MULTI_STATEMENTS : 0);
	if (!old->autocommit)
		say(old->mysql, "SET autocommit = 0");
	say(old->mysql, "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE");
	assert_ok(rowlock_acquire(old->lock, 0, &err));
	assert_ok(rowlock_begin(old->lock, old->mysql, 0, &err));
	snprintf(sql, sizeof(sql), "INSERT INTO guard_old VALUES (%u)", number);
	say(old->mysql, sql);
}

static void end_old(const struct old *old, struct test_sql *sql,
		    unsigned int number)
{
	bool done = false;

	switch (number % ENDS) {
	case COMMITS:
		assert_ok(rowlock_commit(old->lock, old->mysql, &err));
		done = true;
		break;
	case RELEASES:
		assert_ok(rowlock_commit_release(old->lock, old->mysql, &err));
		done = true;
		break;
	case ROLLS_BACK:
		assert_ok(rowlock_rollback(old->lock, old->mysql, &err));
		break;
	default:
		test_sql(sql, "DELETE FROM business_lease WHERE name = '%s'",
			 old->name);
		assert_code(rowlock_commit(old->lock, old->mysql, &err),
			    ROWLOCK_ELOST, &err);
	}
	assert_int_equal(test_sql_number(sql,
					 "SELECT COUNT(*) FROM guard_old "
					 "WHERE id = %u",
					 number),
			 done);
}

/* The variable has one name, or the other, or both. */
static bool is_serializable(MYSQL *mysql)
{
	MYSQL_RES *result;
	bool found;

	assert_int_equal(try_to_say(mysql,
				    "SHOW SESSION VARIABLES WHERE "
				    "Variable_name IN ('tx_isolation', "
				    "'transaction_isolation') AND Value = "
				    "'SERIALIZABLE'"),
			 0);
	result = mysql_store_result(mysql);
	found = mysql_num_rows(result) > 0;
	mysql_free_result(result);
	return found;
}

/* The connection is there, and all that the application has set on it. */
static void assert_is_as_it_was(const struct old *old)
{
	assert_int_equal(number(old->mysql, "SELECT @@SESSION.autocommit"),
			 old->autocommit);
	assert_false(old->mysql->server_status & SERVER_STATUS_IN_TRANS);
	assert_true(is_serializable(old->mysql));
	assert_int_equal(try_to_say(old->mysql, "DO 1; DO 2"),
			 old->several ? 0 : 1064);
}

/* Each end has its own time, and none is counted from the begin. */
GUARD("what lasts longer than a call ends as any other")
{
	const struct app *app = *state;
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(TTL_MS));
	struct old old[2 * ENDS];

	options.call_timeout_ms = test_timeout_ms(300);
	TEST_CLIENT(client, test_client_with(&options));
	/* Not the table that the end of each case drops: that would wait for
	 * what a failure leaves open. */
	test_sql(app->sql, "CREATE TABLE IF NOT EXISTS guard_old (id INT "
			   "PRIMARY KEY) ENGINE=InnoDB");
	test_sql(app->sql, "DELETE FROM guard_old");
	for (unsigned int i = 0; i < TEST_SIZE(old); i++)
		begin_old(&old[i], client, i);
	test_sql(app->sql, "DO SLEEP(%f)",
		 (double) (options.call_timeout_ms + 1) / 1000);
	for (unsigned int i = 0; i < TEST_SIZE(old); i++) {
		end_old(&old[i], app->sql, i);
		assert_is_as_it_was(&old[i]);
		rowlock_release(old[i].lock, NULL);
		test_lock_end(old[i].lock);
		mysql_close(old[i].mysql);
	}
	test_sql(app->sql, "DROP TABLE guard_old");
}

CASE_MAIN(test_main)
