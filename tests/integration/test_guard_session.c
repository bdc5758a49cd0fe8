/* SPDX-License-Identifier: MIT */
/*
 * What the application has set on its connection stays as it was, and is in
 * nobody's way: transactions that are tied to a lock.
 */
#include <stdio.h>

#include "ended.h"
#include "guarded.h"

/* The session's own ways are left alone, and not relied on. */
static void session_is_as_it_was(void **state)
{
	const struct app *app = *state;
	struct rowlock_errinfo err;

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

static void several_statements_are_forbidden_again(void **state)
{
	const struct app *app = *state;
	MYSQL *mysql = connect_to(test_dsn(), 0);
	struct rowlock_errinfo err;

	for (int i = 0; i < 2; i++) {
		assert_ok(rowlock_begin(app->lock, mysql, 0, &err));
		say(mysql, "UPDATE guard_test SET balance = balance - 10 WHERE "
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
static void several_statements_are_as_the_application_has_them(void **state)
{
	static const unsigned long flags[] = { 0, CLIENT_MULTI_STATEMENTS };
	const struct app *app = *state;
	struct rowlock_errinfo err;

	for (size_t i = 0; i < TEST_SIZE(flags); i++) {
		MYSQL *mysql = connect_to(test_dsn(), flags[i]);

		assert_false(mysql_set_server_option(
		    mysql, i ? MYSQL_OPTION_MULTI_STATEMENTS_OFF
			     : MYSQL_OPTION_MULTI_STATEMENTS_ON));
		assert_ok(rowlock_begin(app->lock, mysql, 0, &err));
		say(mysql, "UPDATE guard_test SET balance = balance - 10 WHERE "
			   "id = 1");
		assert_ok(rowlock_commit(app->lock, mysql, &err));
		assert_int_equal(try_to_say(mysql, "DO 1; DO 2"), i ? 1064 : 0);
		mysql_close(mysql);
	}
	assert_balance(app, 80);
}

/* Also where a digit is of two bytes, or four. */
static void answers_are_read_in_each_character_set(void **state)
{
	static const char *const sets[] = { "utf16", "utf16le", "utf32",
					    "ucs2",  "binary",  "latin1" };
	const struct app *app = *state;
	struct rowlock_errinfo err;
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
	say(app->mysql, "LOCK TABLES guard_test WRITE");
	assert_code(
	    rowlock_begin(app->lock, app->mysql, ROWLOCK_SNAPSHOT, &err),
	    ROWLOCK_EDB, &err);
	assert_int_equal(err.mysql, 1100);
	assert_non_null(strstr(err.message, "character_set_results"));
	say(app->mysql, "UNLOCK TABLES");
	say(app->mysql, "SET character_set_results = latin1");
	assert_as_before(app);
}

/* Of the session's own SELECTs it lets no row through. */
static void limit_of_the_session_is_not_ours(void **state)
{
	const struct app *app = *state;
	struct rowlock_errinfo err;

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

/* What the driver remembers is older than what the server says. */
static void transaction_that_ended_unnoticed_is_not_in_the_way(void **state)
{
	const struct app *app = *state;
	struct rowlock_errinfo err;

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

static void autocommit_is_as_the_server_had_it(void **state)
{
	const struct app *app = *state;
	struct rowlock_errinfo err;

	say(app->mysql, "SET autocommit = 0");
	assert_false(mysql_reset_connection(app->mysql));
	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	assert_as_before(app);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GUARD("the session is as it was", session_is_as_it_was),
		GUARD("several statements are forbidden again",
		      several_statements_are_forbidden_again),
		GUARD("several statements are as the application has them",
		      several_statements_are_as_the_application_has_them),
		GUARD("answers are read in each character set",
		      answers_are_read_in_each_character_set),
		GUARD("a transaction that ended unnoticed is not in the way",
		      transaction_that_ended_unnoticed_is_not_in_the_way),
		GUARD("autocommit is as the server had it",
		      autocommit_is_as_the_server_had_it),
		GUARD("a limit of the session's is not ours",
		      limit_of_the_session_is_not_ours),
	};

	return test_main(tests);
}
