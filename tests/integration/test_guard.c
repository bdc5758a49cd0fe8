/* SPDX-License-Identifier: MIT */
/*
 * Transactions that are tied to a lock: what is committed, what is not, and
 * what the caller is told.
 */
#include <pthread.h>
#include <rowlock/adoption.h>
#include <stdio.h>
#include <string.h>

#include "guarded.h"

static uint64_t status(MYSQL *mysql, const char *name)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "SHOW SESSION STATUS LIKE '%s'", name);
	return number_in(mysql, sql, 1);
}

GUARD("what is written under the lock is committed")
{
	const struct app *app = *state;

	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	assert_balance(app, 100);
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	assert_balance(app, 90);
	assert_as_before(app);
	/* And once more. */
	assert_ok(rowlock_begin(app->lock, app->mysql, ROWLOCK_SNAPSHOT, &err));
	take_ten(app);
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	assert_balance(app, 80);
	assert_ok(rowlock_verify(app->lock, &err));
	assert_ok(rowlock_release(app->lock, &err));
}

GUARD("what is written by a stale holder is not")
{
	const struct app *app = *state;

	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	steal(app);
	assert_nothing_is_committed(app);
}

GUARD("a lock is not exported under an open transaction")
{
	const struct app *app = *state;
	char text[ROWLOCK_EXPORT_SIZE];

	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	assert_code(rowlock_export(app->lock, text, sizeof(text), &err),
		    ROWLOCK_EHELD, &err);
	take_ten(app);
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	assert_balance(app, 90);
	assert_ok(rowlock_export(app->lock, text, sizeof(text), &err));
	assert_code(rowlock_begin(app->lock, app->mysql, 0, &err),
		    ROWLOCK_ELOST, &err);
	assert_ok(rowlock_adopt(app->lock, text, &err));
	assert_ok(rowlock_release(app->lock, &err));
}

GUARD("a stale holder cannot begin")
{
	const struct app *app = *state;

	steal(app);
	assert_code(rowlock_begin(app->lock, app->mysql, 0, &err),
		    ROWLOCK_ELOST, &err);
	assert_as_before(app);
	assert_code(rowlock_begin(app->lock, app->mysql, 0, &err),
		    ROWLOCK_ELOST, &err);
}

GUARD("what is rolled back is not committed")
{
	const struct app *app = *state;

	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	assert_ok(rowlock_rollback(app->lock, app->mysql, &err));
	assert_balance(app, 100);
	assert_as_before(app);
	assert_ok(rowlock_verify(app->lock, &err));
	assert_code(rowlock_rollback(app->lock, app->mysql, &err),
		    ROWLOCK_EINVAL, &err);
	assert_code(rowlock_commit(app->lock, app->mysql, &err), ROWLOCK_EINVAL,
		    &err);
}

/* Each ends the transaction before its time. What was written before that is
 * the caller's doing; what is written after it is not committed. */
GUARD("a transaction that has ended is not committed")
{
	static const struct {
		const char *sql;
		uint64_t kept; /* of the first ten */
	} ends[] = {
		{ "COMMIT", 90 },
		{ "ROLLBACK", 100 },
		{ "START TRANSACTION", 90 },
		{ "CREATE TABLE IF NOT EXISTS guard_test_2 (id INT)", 90 },
		{ "SET autocommit = 1", 90 },
	};
	const struct app *app = *state;

	/* After something was written, and at once. */
	for (size_t i = 0; i < 2 * TEST_SIZE(ends); i++) {
		size_t end = i / 2;

		test_sql(app->sql,
			 "UPDATE guard_test SET balance = 100 WHERE id = 1");
		assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
		if (i % 2)
			take_ten(app);
		say(app->mysql, ends[end].sql);
		if (end + 1 < TEST_SIZE(ends))
			take_ten(app);
		assert_code(rowlock_commit(app->lock, app->mysql, &err),
			    ROWLOCK_EBROKEN, &err);
		assert_balance(app, i % 2 ? ends[end].kept : 100);
		assert_int_equal(
		    number(app->mysql, "SELECT @@SESSION.autocommit"), 1);
	}
	test_sql(app->sql, "DROP TABLE guard_test_2");
	assert_as_before(app);
}

/* MySQL with enforce_gtid_consistency lets nobody change both kinds of tables
 * in one transaction (1785). */
static bool lets_kinds_mix(const struct app *app)
{
	unsigned int error;

	say(app->mysql, "CREATE TABLE guard_test_3 (id INT) ENGINE=MyISAM");
	say(app->mysql, "START TRANSACTION");
	take_ten(app);
	error = try_to_say(app->mysql, "INSERT INTO guard_test_3 VALUES (1)");
	say(app->mysql, "ROLLBACK");
	say(app->mysql, "DROP TABLE guard_test_3");
	return error != 1785;
}

/* Nothing can undo them, so that has to be told. */
GUARD("rows that cannot be rolled back are told")
{
	static const char *const engines[] = { "MyISAM", "MEMORY" };
	const struct app *app = *state;
	char sql[96];

	if (!lets_kinds_mix(app))
		skip();
	for (size_t i = 0; i < 2 * TEST_SIZE(engines); i++) {
		snprintf(sql, sizeof(sql),
			 "CREATE TABLE guard_test_3 (id INT) ENGINE=%s",
			 engines[i / 2]);
		say(app->mysql, sql);
		assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
		take_ten(app);
		say(app->mysql, "INSERT INTO guard_test_3 VALUES (1)");
		if (i % 2)
			steal(app);
		else
			say(app->mysql, "ROLLBACK; INSERT INTO guard_test_3 "
					"VALUES (1)");
		while (mysql_more_results(app->mysql))
			mysql_next_result(app->mysql);
		assert_code(rowlock_commit(app->lock, app->mysql, &err),
			    i % 2 ? ROWLOCK_ELOST : ROWLOCK_EBROKEN, &err);
		assert_non_null(strstr(err.message, "rows in tables without "
						    "transactions stay"));
		assert_balance(app, 100);
		assert_int_equal(
		    number(app->mysql, "SELECT COUNT(*) FROM guard_test_3"),
		    i % 2 ? 1 : 2);
		say(app->mysql, "DROP TABLE guard_test_3");
		if (i % 2 == 0)
			continue;
		rowlock_release(app->lock, NULL);
		test_sql(app->sql,
			 "DELETE FROM business_lease WHERE name = '%s'",
			 app->name);
		assert_ok(rowlock_acquire(app->lock, 0, &err));
	}
	/* And is not where there are none. */
	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	steal(app);
	assert_code(rowlock_commit(app->lock, app->mysql, &err), ROWLOCK_ELOST,
		    &err);
	assert_null(strstr(err.message, "1196"));
}

/* Nor is it rolled back: what is told must not hide what the caller did. */
GUARD("a transaction that has ended is not rolled back")
{
	static const char *const ends[] = {
		"COMMIT", "ROLLBACK",
		"CREATE TABLE IF NOT EXISTS guard_test_2 (id INT)",
		"SET autocommit = 1"
	};
	const struct app *app = *state;

	for (size_t i = 0; i < TEST_SIZE(ends); i++) {
		assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
		say(app->mysql, ends[i]);
		say(app->mysql, "INSERT INTO guard_test VALUES (3, 0)");
		assert_code(rowlock_rollback(app->lock, app->mysql, &err),
			    ROWLOCK_EBROKEN, &err);
		assert_int_equal(
		    number(app->mysql, "SELECT @@SESSION.autocommit"), 1);
		say(app->mysql, "DELETE FROM guard_test WHERE id = 3");
	}
	test_sql(app->sql, "DROP TABLE guard_test_2");
	assert_ok(rowlock_verify(app->lock, &err));
	assert_as_before(app);
}

/* Where the loss is known already, it is rolled back, and not committed: but
 * that may have been done before. */
GUARD("what ended before a loss is told")
{
	const struct app *app = *state;

	for (int i = 0; i < 4; i++) {
		bool ends = i % 2;

		test_sql(app->sql, "REPLACE INTO guard_test VALUES (1, 100)");
		assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
		take_ten(app);
		if (ends)
			say(app->mysql, "COMMIT");
		steal(app);
		assert_code(rowlock_verify(app->lock, &err), ROWLOCK_ELOST,
			    &err);
		assert_code(
		    i < 2 ? rowlock_commit(app->lock, app->mysql, &err)
			  : rowlock_commit_release(app->lock, app->mysql, &err),
		    ends ? ROWLOCK_EBROKEN : ROWLOCK_ELOST, &err);
		assert_balance(app, ends ? 90 : 100);
		assert_as_before(app);
		test_sql(app->sql,
			 "DELETE FROM business_lease WHERE name = "
			 "'%s'",
			 app->name);
		test_sql(app->sql, "UPDATE guard_test SET balance = 0 WHERE "
				   "id = 2");
		rowlock_release(app->lock, NULL);
		assert_ok(rowlock_acquire(app->lock, 0, &err));
	}
}

/* The row is there, with another number: the hold is as good as before. */
GUARD("a count of another's is no loss")
{
	const struct app *app = *state;

	for (int release = 0; release < 2; release++) {
		assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
		take_ten(app);
		assert_int_equal(test_sql(app->sql,
					  "UPDATE business_lease SET guards = "
					  "guards + 268435456 WHERE name = "
					  "'%s'",
					  app->name),
				 1);
		assert_code(
		    release
			? rowlock_commit_release(app->lock, app->mysql, &err)
			: rowlock_commit(app->lock, app->mysql, &err),
		    ROWLOCK_EBROKEN, &err);
		assert_non_null(strstr(err.message, "guard as text"));
		assert_balance(app, 100);
		assert_int_equal(rowlock_held(app->lock), 1);
	}
	/* The next one asks. */
	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	assert_balance(app, 90);
	assert_as_before(app);
}

/* An UPDATE that does not find it is no proof that it is not there: MariaDB
 * refuses to change in a snapshot what has been changed since, and so it does
 * not, where KILL QUERY meets it. */
GUARD("a row that is not found is looked for")
{
	const struct app *app = *state;

	if (try_to_say(app->mysql, "SET SESSION innodb_snapshot_isolation = 1"))
		return;
	for (int release = 0; release < 2; release++) {
		assert_ok(rowlock_begin(app->lock, app->mysql, ROWLOCK_SNAPSHOT,
					&err));
		take_ten(app);
		for (int i = 0; i < 2; i++)
			assert_int_equal(test_sql(app->sql,
						  "UPDATE business_lease SET "
						  "info = '%d' WHERE name = "
						  "'%s'",
						  i, app->name),
					 1);
		assert_code(
		    release
			? rowlock_commit_release(app->lock, app->mysql, &err)
			: rowlock_commit(app->lock, app->mysql, &err),
		    ROWLOCK_EDB, &err);
		assert_balance(app, 100);
		assert_int_equal(rowlock_held(app->lock), 1);
		assert_ok(rowlock_verify(app->lock, &err));
	}
	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	assert_ok(rowlock_commit_release(app->lock, app->mysql, &err));
	assert_balance(app, 90);
	assert_as_before(app);
}

/* With the lock held by a row of the other's, and ours by theirs. */
static void *wait_for_the_other(void *arg)
{
	MYSQL *other = arg;

	mysql_query(other, "UPDATE guard_test SET balance = balance + 1 WHERE "
			   "id = 1");
	return NULL;
}

GUARD("a deadlock that is overlooked is not committed")
{
	const struct app *app = *state;
	MYSQL *other = connect_to(test_dsn(), 0);
	unsigned int ours;
	pthread_t thread;

	/* The server ends the transaction that has written less: ours. */
	say(other, "SET innodb_lock_wait_timeout = 50");
	say(other, "START TRANSACTION");
	say(other, "UPDATE guard_test SET balance = balance + 1 WHERE id = 2");
	for (int i = 10; i < 30; i++) {
		char sql[64];

		snprintf(sql, sizeof(sql),
			 "INSERT INTO guard_test VALUES (%d, 0)", i);
		say(other, sql);
	}
	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	assert_int_equal(
	    pthread_create(&thread, NULL, wait_for_the_other, other), 0);
	/* Whoever comes second meets the deadlock. */
	ours = try_to_say(app->mysql, "UPDATE guard_test SET balance = 7 "
				      "WHERE id = 2");
	pthread_join(thread, NULL);
	assert_int_equal(ours, 1213);
	say(other, "ROLLBACK");
	mysql_close(other);
	take_ten(app);
	assert_code(rowlock_commit(app->lock, app->mysql, &err),
		    ROWLOCK_EBROKEN, &err);
	assert_balance(app, 100);
	assert_as_before(app);
}

/* The guard is passed by what is left. */
GUARD("savepoints of the caller are his")
{
	const struct app *app = *state;

	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	say(app->mysql, "SAVEPOINT a");
	take_ten(app);
	say(app->mysql, "ROLLBACK TO SAVEPOINT a");
	take_ten(app);
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	assert_balance(app, 90);
}

GUARD("a snapshot is of the begin")
{
	const struct app *app = *state;

	assert_ok(rowlock_begin(app->lock, app->mysql, ROWLOCK_SNAPSHOT, &err));
	test_sql(app->sql, "UPDATE guard_test SET balance = 7 WHERE id = 1");
	assert_int_equal(number(app->mysql, "SELECT balance FROM guard_test "
					    "WHERE id = 1"),
			 100);
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	test_sql(app->sql, "UPDATE guard_test SET balance = 8 WHERE id = 1");
	assert_int_equal(number(app->mysql, "SELECT balance FROM guard_test "
					    "WHERE id = 1"),
			 8);
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
}

/* It locks nothing of ours before its end. */
GUARD("an open transaction is in nobody's way")
{
	const struct app *app = *state;
	TEST_CLIENT(client, test_client(test_ttl_ms(TTL_MS)));
	TEST_LOCK(same, test_lock(client, ROWLOCK_LEASE, 0, app->name));
	TEST_LOCK(other, test_lock(app->client, ROWLOCK_LEASE, 0,
				   test_name("beside")));
	TEST_SQL(nowait);

	test_sql(nowait, "SET innodb_lock_wait_timeout = 1");
	assert_ok(rowlock_begin(app->lock, app->mysql, ROWLOCK_SNAPSHOT, &err));
	take_ten(app);
	assert_code(rowlock_acquire(same, 0, &err), ROWLOCK_EBUSY, &err);
	assert_ok(rowlock_acquire(other, 0, &err));
	assert_ok(rowlock_release(other, &err));
	assert_int_equal(test_sql_number(nowait,
					 "SELECT COUNT(*) FROM business_lease "
					 "WHERE name = '%s' FOR UPDATE",
					 app->name),
			 1);
	assert_ok(rowlock_verify(app->lock, &err));
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	assert_balance(app, 90);
}

/* How many statements a transaction of ours took on the connection. */
static uint64_t statements_of(const struct app *app, unsigned int flags)
{
	uint64_t before = status(app->mysql, "Questions");

	assert_ok(rowlock_begin(app->lock, app->mysql, flags, &err));
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	return status(app->mysql, "Questions") - before - 1;
}

/* What is known is not asked for: the connection leads to the lock's server,
 * and the row was counted up so many times. */
GUARD("a begin asks for what it does not know")
{
	const struct app *app = *state;
	char text[ROWLOCK_GUARD_SQL_SIZE];
	uint64_t asking = statements_of(app, 0);
	/* Without the question, and the isolation level that it takes. */
	uint64_t knowing = asking - 2;

	assert_int_equal(statements_of(app, 0), knowing);
	assert_int_equal(statements_of(app, 0), knowing);
	assert_int_equal(statements_of(app, ROWLOCK_SNAPSHOT), asking);
	assert_ok(rowlock_release(app->lock, &err));
	assert_ok(rowlock_acquire(app->lock, 0, &err));
	assert_int_equal(statements_of(app, 0), knowing);
	/* Whoever has the guard as text counts, too. */
	assert_ok(rowlock_guard_sql(app->lock, text, sizeof(text), &err));
	assert_int_equal(statements_of(app, 0), asking);
	assert_int_equal(statements_of(app, 0), asking);
}

/* --------------------------------------------------------------- bad use */

GUARD("what cannot begin is refused")
{
	const struct app *app = *state;
	TEST_LOCK(row, test_lock(app->client, ROWLOCK_ROW, 0, app->name));
	TEST_LOCK(other,
		  test_lock(app->client, ROWLOCK_LEASE, 0, test_name("other")));
	MYSQL *closed = mysql_init(NULL);

	assert_code(rowlock_begin(app->lock, NULL, 0, &err), ROWLOCK_EINVAL,
		    &err);
	assert_code(rowlock_begin(app->lock, app->mysql, 1u << 30, &err),
		    ROWLOCK_EINVAL, &err);
	assert_code(rowlock_begin(other, app->mysql, 0, &err), ROWLOCK_ENOTHELD,
		    &err);
	assert_code(rowlock_begin(row, app->mysql, 0, &err),
		    ROWLOCK_EUNSUPPORTED, &err);
	assert_code(rowlock_begin(app->lock, closed, 0, &err), ROWLOCK_ECONNECT,
		    &err);
	mysql_close(closed);
	assert_int_equal(mysql_query(app->mysql, "SELECT 1"), 0);
	assert_code(rowlock_begin(app->lock, app->mysql, 0, &err),
		    ROWLOCK_EINVAL, &err);
	mysql_free_result(mysql_store_result(app->mysql));
	say(app->mysql, "START TRANSACTION");
	take_ten(app);
	assert_code(rowlock_begin(app->lock, app->mysql, 0, &err),
		    ROWLOCK_EINVAL, &err);
	say(app->mysql, "ROLLBACK");
	say(app->mysql, "XA START 'x'");
	assert_code(rowlock_begin(app->lock, app->mysql, 0, &err),
		    ROWLOCK_EINVAL, &err);
	say(app->mysql, "XA END 'x'");
	say(app->mysql, "XA ROLLBACK 'x'");
	assert_balance(app, 100);
	assert_as_before(app);
	assert_ok(rowlock_acquire(other, 0, &err));
	/* The second time nothing is asked, so nothing is open on the server.
	 */
	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	assert_ok(rowlock_rollback(app->lock, app->mysql, &err));
	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	assert_code(rowlock_begin(other, app->mysql, 0, &err), ROWLOCK_EINVAL,
		    &err);
	assert_ok(rowlock_rollback(app->lock, app->mysql, &err));
	assert_ok(rowlock_begin(other, app->mysql, 0, &err));
	assert_ok(rowlock_rollback(other, app->mysql, &err));
	assert_ok(rowlock_release(other, &err));
}

GUARD("a hold has one transaction, and stays")
{
	const struct app *app = *state;
	MYSQL *second = connect_to(test_dsn(), CLIENT_MULTI_STATEMENTS);

	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	assert_code(rowlock_begin(app->lock, second, 0, &err), ROWLOCK_EHELD,
		    &err);
	assert_code(rowlock_commit(app->lock, second, &err), ROWLOCK_EINVAL,
		    &err);
	assert_code(rowlock_release(app->lock, &err), ROWLOCK_EHELD, &err);
	/* One level more may go. */
	assert_ok(rowlock_acquire(app->lock, 0, &err));
	assert_ok(rowlock_release(app->lock, &err));
	assert_code(rowlock_try_free(app->lock, &err), ROWLOCK_EHELD, &err);
	take_ten(app);
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	assert_balance(app, 90);
	assert_ok(rowlock_release(app->lock, &err));
	mysql_close(second);
}

/* It could neither be committed nor rolled back: the caller reads it first. */
GUARD("a result that is not read stops the commit")
{
	const struct app *app = *state;

	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	assert_int_equal(mysql_query(app->mysql, "SELECT 1"), 0);
	assert_code(rowlock_commit(app->lock, app->mysql, &err), ROWLOCK_EINVAL,
		    &err);
	assert_non_null(strstr(err.message, "not read"));
	assert_code(rowlock_commit_release(app->lock, app->mysql, &err),
		    ROWLOCK_EINVAL, &err);
	mysql_free_result(mysql_store_result(app->mysql));
	take_ten(app);
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	assert_balance(app, 80);
	assert_as_before(app);
}

/* There it cannot be waited for: the server rolls back. */
GUARD("a result that is not read ends with the rollback")
{
	const struct app *app = *state;

	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	assert_int_equal(mysql_query(app->mysql, "SELECT 1"), 0);
	assert_ok(rowlock_rollback(app->lock, app->mysql, &err));
	mysql_free_result(mysql_store_result(app->mysql));
	assert_int_not_equal(try_to_say(app->mysql, "COMMIT"), 0);
	assert_balance(app, 100);
	assert_ok(rowlock_verify(app->lock, &err));
}

struct stranger {
	const struct app *app;
	int begin, commit, rollback;
};

static void *act_as_a_stranger(void *arg)
{
	struct stranger *stranger = arg;
	const struct app *app = stranger->app;

	stranger->begin = rowlock_begin(app->lock, app->mysql, 0, NULL);
	stranger->commit = rowlock_commit(app->lock, app->mysql, NULL);
	stranger->rollback = rowlock_rollback(app->lock, app->mysql, NULL);
	return NULL;
}

GUARD("another thread has no say")
{
	const struct app *app = *state;
	struct stranger stranger = { .app = app };
	pthread_t thread;

	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	assert_int_equal(
	    pthread_create(&thread, NULL, act_as_a_stranger, &stranger), 0);
	pthread_join(thread, NULL);
	assert_int_equal(stranger.begin, ROWLOCK_ENOTOWNER);
	assert_int_equal(stranger.commit, ROWLOCK_ENOTOWNER);
	assert_int_equal(stranger.rollback, ROWLOCK_ENOTOWNER);
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	assert_balance(app, 90);
}

/* ------------------------------------------------------- no answer, no end */

GUARD("a connection that is gone commits nothing")
{
	const struct app *app = *state;

	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	test_sql(app->sql, "KILL %lu", mysql_thread_id(app->mysql));
	assert_code(rowlock_commit(app->lock, app->mysql, &err),
		    ROWLOCK_ECONNECT, &err);
	assert_balance(app, 100);
	assert_ok(rowlock_verify(app->lock, &err));
	/* The hold is as it was, for a transaction on another connection. */
	mysql_close(app->mysql);
	((struct app *) *state)->mysql =
	    connect_to(test_dsn(), CLIENT_MULTI_STATEMENTS);
	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	assert_balance(app, 90);
}

GUARD("a connection that is gone rolls back")
{
	const struct app *app = *state;

	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	test_sql(app->sql, "KILL %lu", mysql_thread_id(app->mysql));
	assert_ok(rowlock_rollback(app->lock, app->mysql, &err));
	assert_balance(app, 100);
	assert_ok(rowlock_verify(app->lock, &err));
}

CASE_MAIN(test_main)
