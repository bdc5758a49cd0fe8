/* SPDX-License-Identifier: MIT */
/*
 * Transactions that are tied to a lock, and a connection that becomes another
 * one, or that somebody else begins one on.
 */
#define ACCOUNTS "guard_connection_test"
#include "guarded.h"

#include <stdio.h>
#include <unistd.h>

#include "timeouts.h"

/* Its transaction cannot be continued by another session. */
GUARD("a connection that is new commits nothing")
{
	struct app *app = *state;
	my_bool on = 1;

	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	/* The caller's own doing. */
	mysql_optionsv(app->mysql, MYSQL_OPT_RECONNECT, &on);
	test_sql(app->sql, "KILL %lu", mysql_thread_id(app->mysql));
	while (mysql_ping(app->mysql))
		;
	take_ten(app); /* autocommitted */
	assert_code(rowlock_commit(app->lock, app->mysql, &err),
		    ROWLOCK_EBROKEN, &err);
	assert_non_null(strstr(err.message, "may be committed"));
	assert_balance(app, 90);
}

static bool reconnects(MYSQL *mysql)
{
	my_bool on = 0;

	mysql_get_optionv(mysql, MYSQL_OPT_RECONNECT, &on);
	return on;
}

/* The driver would write on a new one, behind an error that is overlooked,
 * whatever was said before, in the first transaction as in the next. */
GUARD("the driver does not reconnect in a transaction")
{
	const struct app *app = *state;
	my_bool on = 1;

	mysql_optionsv(app->mysql, MYSQL_OPT_RECONNECT, &on);
	for (int i = 0; i < 4; i++) {
		assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
		if (i % 2)
			take_ten(app);
		test_sql(app->sql, "KILL %lu", mysql_thread_id(app->mysql));
		for (int j = 0; j < 3; j++) {
			mysql_ping(app->mysql);
			assert_int_not_equal(
			    try_to_say(app->mysql, "UPDATE " ACCOUNTS " SET "
						   "balance = 7"),
			    0);
		}
		assert_code(rowlock_commit(app->lock, app->mysql, &err),
			    ROWLOCK_ECONNECT, &err);
		assert_balance(app, 100);
		/* And then as before. */
		assert_true(reconnects(app->mysql));
		while (mysql_ping(app->mysql))
			;
	}
	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	assert_ok(rowlock_rollback(app->lock, app->mysql, &err));
	assert_true(reconnects(app->mysql));
	say(app->mysql, "START TRANSACTION");
	assert_code(rowlock_begin(app->lock, app->mysql, 0, &err),
		    ROWLOCK_EINVAL, &err);
	assert_true(reconnects(app->mysql));
	say(app->mysql, "ROLLBACK");
	assert_as_before(app);
}

/* By the same number on the server; what follows commits by itself. */
GUARD("a session that is reset is not said to be rolled back")
{
	const struct app *app = *state;
	MYSQL *mysql = app->mysql;
	char schema[128];

	snprintf(schema, sizeof(schema), "%s", mysql->db);
	for (int i = 0; i < 4; i++) {
		test_sql(app->sql, "UPDATE " ACCOUNTS " SET balance = 100 "
				   "WHERE id = 1");
		say(mysql, i % 2 ? "SET autocommit = 0" : "SET autocommit = 1");
		assert_ok(rowlock_begin(app->lock, mysql, 0, &err));
		say(mysql, "UPDATE " ACCOUNTS " SET balance = 7 WHERE id = 1");
		if (i < 2)
			assert_false(mysql_reset_connection(mysql));
		else
			assert_false(mysql_change_user(mysql, mysql->user,
						       mysql->passwd, schema));
		take_ten(app);
		assert_code(rowlock_commit(app->lock, mysql, &err),
			    ROWLOCK_EBROKEN, &err);
		assert_non_null(strstr(err.message, "may be committed"));
		assert_null(strstr(err.message, "rolled back"));
		assert_balance(app, 90);
	}
	/* What the caller has ended is another matter. */
	assert_ok(rowlock_begin(app->lock, mysql, 0, &err));
	say(mysql, "COMMIT");
	take_ten(app);
	assert_code(rowlock_commit(app->lock, mysql, &err), ROWLOCK_EBROKEN,
		    &err);
	assert_null(strstr(err.message, "may be committed"));
	assert_balance(app, 90);
}

/* Also by who has another client, and where nothing was said in it yet. */
GUARD("a transaction that is open is seen by all")
{
	const struct app *app = *state;
	TEST_CLIENT(client, test_client(test_ttl_ms(TTL_MS)));
	TEST_LOCK(lease,
		  test_lock(client, ROWLOCK_LEASE, 0, test_name("second")));
	TEST_LOCK(row, test_lock(client, ROWLOCK_ROW, 0, app->name));

	assert_ok(rowlock_acquire(lease, 0, &err));
	/* One that asks, and one that does not. */
	for (int i = 0; i < 2; i++) {
		assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
		assert_code(rowlock_begin(lease, app->mysql, 0, &err),
			    ROWLOCK_EINVAL, &err);
		assert_code(
		    rowlock_acquire_in_transaction(row, app->mysql, 0, &err),
		    ROWLOCK_EINVAL, &err);
		take_ten(app);
		assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	}
	assert_balance(app, 80);
	assert_ok(rowlock_release(lease, &err));
}

/* Nor is what was written on it since left for the next COMMIT. */
GUARD("a new connection has nothing open")
{
	struct app *app = *state;
	my_bool on = 1;

	mysql_close(app->mysql);
	app->mysql = mysql_init(NULL);
	mysql_optionsv(app->mysql, MYSQL_INIT_COMMAND, "SET autocommit = 0");
	assert_non_null(mysql_real_connect(app->mysql, test_dsn(), NULL, NULL,
					   NULL, 0, NULL,
					   CLIENT_MULTI_STATEMENTS));
	for (int i = 0; i < 2; i++) {
		assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
		take_ten(app);
		/* The caller's own doing. */
		mysql_optionsv(app->mysql, MYSQL_OPT_RECONNECT, &on);
		test_sql(app->sql, "KILL %lu", mysql_thread_id(app->mysql));
		while (mysql_ping(app->mysql))
			;
		take_ten(app);
		if (i == 0)
			assert_code(rowlock_commit(app->lock, app->mysql, &err),
				    ROWLOCK_EBROKEN, &err);
		else
			assert_code(
			    rowlock_rollback(app->lock, app->mysql, &err),
			    ROWLOCK_EBROKEN, &err);
		say(app->mysql, "COMMIT");
		assert_balance(app, 100);
	}
}

/* A client with an option file of its own, which holds nothing. */
static struct rowlock_client *client_with_file(char *path)
{
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(TTL_MS));
	int file = mkstemp(path);

	assert_true(file >= 0);
	close(file);
	options.defaults_file = path;
	options.call_timeout_ms = test_timeout_ms(2000);
	return test_client_with(&options);
}

/* The code of an option file that has become wrong says of a commit that
 * nothing was done. */
GUARD("a commit that was rolled back is not told to be open")
{
	struct app app = *(struct app *) *state;
	char path[] = "/tmp/guard-options-XXXXXX";
	struct rowlock_client *client = client_with_file(path);
	struct rowlock *lock;
	FILE *file;

	app.name = test_name("options");
	lock = test_lock(client, ROWLOCK_LEASE, 0, app.name);
	assert_ok(rowlock_acquire(lock, test_patience_ms(), &err));
	assert_ok(rowlock_begin(lock, app.mysql, 0, &err));
	take_ten(&app);
	steal(&app);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs("[rowlock]\nno-such-key=1\n", file);
	fclose(file);
	/* Why the row was not found cannot be asked. */
	assert_code(rowlock_commit(lock, app.mysql, &err), ROWLOCK_ECONNECT,
		    &err);
	if (!strstr(err.message, "no-such-key"))
		fail_msg("%s", err.message);
	assert_code(rowlock_commit(lock, app.mysql, &err), ROWLOCK_EINVAL,
		    &err);
	assert_balance(&app, 100);
	assert_int_equal(truncate(path, 0), 0);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	test_lock_end(lock);
	test_client_end(client);
	unlink(path);
}

CASE_MAIN(test_main)
