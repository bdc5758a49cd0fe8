/* SPDX-License-Identifier: MIT */
/*
 * The guard as text, for an application that commits by itself.
 */
#include <pthread.h>
#include <rowlock/adoption.h>
#include <string.h>

#define ACCOUNTS "guard_text_test"

#include "guarded.h"

static void set_guards(const struct app *app, uint32_t number)
{
	test_sql(app->sql,
		 "UPDATE business_lease SET guards = %u WHERE name = '%s'",
		 number, app->name);
}

static uint64_t guards_of(const struct app *app)
{
	return test_sql_number(app->sql,
			       "SELECT guards FROM business_lease "
			       "WHERE name = '%s'",
			       app->name);
}

/* As somebody without Connector/C would: 0, or the error of the guard. */
static unsigned int commit_by_text(const struct app *app, const char *text)
{
	unsigned int error = try_to_say(app->mysql, text);

	while (!error && mysql_more_results(app->mysql))
		error = mysql_next_result(app->mysql) > 0
			    ? mysql_errno(app->mysql)
			    : 0;
	say(app->mysql, error ? "ROLLBACK" : "COMMIT");
	return error;
}

static void commit_one(const struct app *app)
{
	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
}

GUARD("the guard is told as text")
{
	const struct app *app = *state;
	char text[ROWLOCK_GUARD_SQL_SIZE];

	assert_ok(rowlock_guard_sql(app->lock, text, sizeof(text), &err));
	for (int i = 0; i < 2; i++) {
		say(app->mysql, "START TRANSACTION");
		take_ten(app);
		assert_int_equal(commit_by_text(app, text), 0);
	}
	assert_balance(app, 80);
	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	assert_balance(app, 70);
	say(app->mysql, "START TRANSACTION");
	take_ten(app);
	steal(app);
	assert_int_equal(commit_by_text(app, text), 1242);
	assert_balance(app, 70);
}

/* Drivers throw the answers to the others away. */
GUARD("the first answer of the guard's text judges")
{
	const struct app *app = *state;
	char text[ROWLOCK_GUARD_SQL_SIZE];

	assert_ok(rowlock_guard_sql(app->lock, text, sizeof(text), &err));
	steal(app);
	say(app->mysql, "START TRANSACTION");
	assert_int_equal(try_to_say(app->mysql, text), 1242);
	assert_false(mysql_more_results(app->mysql));
	say(app->mysql, "ROLLBACK");
}

/* As by mariadb --force. */
GUARD("a client that passes over errors commits nothing")
{
	const struct app *app = *state;
	MYSQL *mysql = connect_to(test_dsn(), 0);
	char text[ROWLOCK_GUARD_SQL_SIZE];
	char *next = text;

	assert_ok(rowlock_guard_sql(app->lock, text, sizeof(text), &err));
	steal(app);
	say(mysql, "START TRANSACTION");
	say(mysql, "UPDATE " ACCOUNTS " SET balance = 0 WHERE id = 1");
	while (next) {
		char *end = strstr(next, "; ");

		if (end)
			*end = '\0';
		try_to_say(mysql, next);
		next = end ? end + 2 : NULL;
	}
	assert_int_not_equal(try_to_say(mysql, "COMMIT"), 0);
	mysql_close(mysql);
	assert_balance(app, 100);
}

/* As often as a long hold likes; and nobody's count is taken for another's. */
GUARD("a row is counted up for ever")
{
	/* As many as the client remembers, and as there is room for. */
	static const uint32_t numbers[] = { 65533, (1u << 28) - 2,
					    UINT32_MAX - 2 };
	static const uint32_t own = (1u << 28) - 1;
	const struct app *app = *state;
	char text[ROWLOCK_GUARD_SQL_SIZE];

	assert_ok(rowlock_guard_sql(app->lock, text, sizeof(text), &err));
	for (size_t i = 0; i < TEST_SIZE(numbers); i++) {
		const uint32_t others = numbers[i] & ~own;

		set_guards(app, numbers[i]);
		for (int j = 0; j < 5; j++)
			commit_one(app);
		assert_int_equal(guards_of(app),
				 others | ((numbers[i] + 5) & own));
		set_guards(app, numbers[i]);
		assert_int_equal(commit_by_text(app, text), 0);
		assert_int_equal(guards_of(app),
				 (uint32_t) (numbers[i] + own + 1));
	}
}

GUARD("the guard of an earlier hold is none")
{
	const struct app *app = *state;
	char text[ROWLOCK_GUARD_SQL_SIZE];

	assert_ok(rowlock_guard_sql(app->lock, text, sizeof(text), &err));
	assert_ok(rowlock_release(app->lock, &err));
	assert_ok(rowlock_acquire(app->lock, 0, &err));
	say(app->mysql, "START TRANSACTION");
	take_ten(app);
	assert_int_equal(commit_by_text(app, text), 1242);
	assert_balance(app, 100);
}

/* Returns its argument if it holds that. */
static void *hold_it_here(void *lock)
{
	return rowlock_acquire(lock, test_patience_ms(), NULL) ? NULL : lock;
}

/* The next thread of the client, which mostly waits by then, would pass by it.
 */
GUARD("a hold whose guard was told is not handed over")
{
	struct app *app = *state;

	for (int i = 0; i < 20; i++) {
		char text[ROWLOCK_GUARD_SQL_SIZE];
		struct rowlock *lock =
		    test_lock(app->client, ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE,
			      app->name);
		pthread_t thread;
		void *held;

		assert_ok(
		    rowlock_guard_sql(app->lock, text, sizeof(text), &err));
		assert_int_equal(
		    pthread_create(&thread, NULL, hold_it_here, lock), 0);
		say(app->mysql, "START TRANSACTION");
		take_ten(app);
		assert_ok(rowlock_release(app->lock, &err));
		pthread_join(thread, &held);
		assert_ptr_equal(held, lock);
		assert_int_equal(commit_by_text(app, text), 1242);
		assert_ok(rowlock_release(lock, &err));
		test_lock_end(lock);
		assert_ok(rowlock_acquire(app->lock, test_patience_ms(), &err));
	}
	assert_balance(app, 100);
}

GUARD("a guard that cannot be told is refused")
{
	const struct app *app = *state;
	TEST_LOCK(row, test_lock(app->client, ROWLOCK_ROW, 0, app->name));
	TEST_LOCK(other,
		  test_lock(app->client, ROWLOCK_LEASE, 0, test_name("other")));
	char text[ROWLOCK_GUARD_SQL_SIZE] = "as it was";

	assert_code(rowlock_guard_sql(app->lock, NULL, 0, &err), ROWLOCK_EINVAL,
		    &err);
	assert_code(rowlock_guard_sql(app->lock, text, 100, &err),
		    ROWLOCK_EINVAL, &err);
	assert_code(rowlock_guard_sql(other, text, sizeof(text), &err),
		    ROWLOCK_ENOTHELD, &err);
	assert_code(rowlock_guard_sql(row, text, sizeof(text), &err),
		    ROWLOCK_EUNSUPPORTED, &err);
	assert_string_equal(text, "as it was");
	steal(app);
	assert_code(rowlock_verify(app->lock, &err), ROWLOCK_ELOST, &err);
	assert_code(rowlock_guard_sql(app->lock, text, sizeof(text), &err),
		    ROWLOCK_ELOST, &err);
}

GUARD("an exporter commits nothing once its lease was adopted")
{
	const struct app *app = *state;
	char sql[ROWLOCK_GUARD_SQL_SIZE];
	char text[ROWLOCK_EXPORT_SIZE];
	TEST_CLIENT(other, test_client(TTL_MS));
	TEST_LOCK(to, test_lock(other, ROWLOCK_LEASE, 0, app->name));

	assert_ok(rowlock_guard_sql(app->lock, sql, sizeof(sql), &err));
	assert_ok(rowlock_export(app->lock, text, sizeof(text), &err));
	say(app->mysql, "START TRANSACTION");
	take_ten(app);
	assert_ok(rowlock_adopt(to, text, &err));
	assert_int_not_equal(commit_by_text(app, sql), 0);
	assert_balance(app, 100);
	assert_ok(rowlock_verify(to, &err));
	assert_ok(rowlock_release(to, &err));
}

CASE_MAIN(test_main)
