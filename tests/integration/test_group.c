/* SPDX-License-Identifier: MIT */
/*
 * A row or a token that somebody's transaction ties up: the release says so,
 * and no other name of the client waits.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "server.h"
#include "test.h"

#define ROUNDS 50

/* It is not the server that is silent. */
CASE("the release of a row that is tied up says so")
{
	TEST_CLIENT(client, test_client(30000));
	TEST_CLIENT(other, test_client(30000));
	struct test_sql *sql = test_server_root();
	struct rowlock *lock, *next;

	lock = test_lock(client, ROWLOCK_LEASE, 0, test_name("tied-release"));
	next = test_lock(other, ROWLOCK_LEASE, 0, rowlock_name(lock));
	assert_code(rowlock_acquire(lock, 0, &err), 0, &err);
	test_sql(sql, "START TRANSACTION");
	test_sql_number(sql,
			"SELECT attempt FROM business_lease WHERE name = '%s' "
			"AND slot = 0 FOR UPDATE",
			rowlock_name(lock));
	assert_code(rowlock_release(lock, &err), ROWLOCK_EDB, &err);
	assert_non_null(strstr(err.message, "has its row locked"));
	test_sql(sql, "COMMIT");
	/* The chores remove it. */
	assert_code(rowlock_acquire(next, test_patience_ms(), &err), 0, &err);
	assert_code(rowlock_release(next, &err), 0, &err);
	test_lock_end(next);
	test_lock_end(lock);
	test_sql_end(sql);
}

struct draw {
	struct rowlock *lock;
	pthread_t thread;
	uint64_t token;
	int code;
	_Atomic bool done;
	struct rowlock_errinfo err;
};

static void *draw(void *arg)
{
	struct draw *one = arg;

	one->code = rowlock_token(one->lock, &one->token, &one->err);
	one->done = true;
	return NULL;
}

struct waiter {
	struct rowlock *lock;
	pthread_t thread;
	int code;
	struct rowlock_errinfo err;
};

static void *wait_in_line(void *arg)
{
	struct waiter *waiter = arg;

	waiter->code = rowlock_acquire(
	    waiter->lock, (uint64_t) test_patience_ms(), &waiter->err);
	return NULL;
}

/* The client's only connection for waits is used by a waiter; the row of one
 * token is tied up by somebody's transaction, and its draw waits for it. Until
 * that has ended nobody else may have to wait. */
static void tied_up_token_keeps_nobody_else(enum rowlock_strategy strategy)
{
	struct rowlock_client_options options = test_client_options(30000);
	struct test_sql *sql = test_server_root();
	struct test_sql *foreign = test_server_root();
	const char *kind = strategy == ROWLOCK_ROW ? "row" : "lease";
	struct draw one = { .done = false };
	TEST_CLIENT(other, test_client(30000));
	struct waiter waiter;
	struct rowlock *held, *free_one;
	uint64_t since;

	options.wait_connections = 1;
	/* The most: the draw must not give up before all have had a turn. */
	options.call_timeout_ms = 60000;
	TEST_CLIENT(client, test_client_with(&options));
	waiter.lock = test_lock(client, ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE,
				test_name("tied-held"));
	held = test_lock(other, ROWLOCK_LEASE, 0, rowlock_name(waiter.lock));
	assert_ok(rowlock_acquire(held, 0, &err));
	assert_int_equal(
	    pthread_create(&waiter.thread, NULL, wait_in_line, &waiter), 0);
	since = test_now_ns();
	while (!test_sql_number(sql, "SELECT COUNT(*) FROM "
				     "information_schema.PROCESSLIST WHERE "
				     "STATE = 'User lock'"))
		test_keep_waiting(since,
				  "somebody to wait for the bell of "
				  "'%s'",
				  rowlock_name(waiter.lock));
	one.lock = test_lock(client, strategy, ROWLOCK_OWNER_HANDLE,
			     test_name("tied-token"));
	assert_ok(rowlock_acquire(one.lock, ROWLOCK_FOREVER, &err));
	test_sql(foreign, "START TRANSACTION");
	test_sql(foreign,
		 "INSERT INTO lock_token (strategy, name, token, drawn_at) "
		 "VALUES ('%s', '%s', 1, UTC_TIMESTAMP(6))",
		 kind, rowlock_name(one.lock));
	assert_int_equal(pthread_create(&one.thread, NULL, draw, &one), 0);
	since = test_now_ns();
	while (!test_sql_number(sql, "SELECT COUNT(*) FROM "
				     "information_schema.PROCESSLIST WHERE "
				     "INFO LIKE 'INSERT INTO lock_token%%'")) {
		assert_false(one.done);
		test_keep_waiting(since, "the draw of a token that is tied up");
	}
	free_one = test_lock(client, ROWLOCK_LEASE, 0, test_name("tied-free"));
	for (int i = 0; i < ROUNDS; i++) {
		assert_ok(rowlock_acquire(free_one, ROWLOCK_FOREVER, &err));
		assert_ok(rowlock_release(free_one, &err));
	}
	assert_false(one.done);
	test_sql(foreign, "ROLLBACK");
	pthread_join(one.thread, NULL);
	assert_code(one.code, 0, &one.err);
	assert_ok(rowlock_release(one.lock, &err));
	assert_ok(rowlock_release(held, &err));
	pthread_join(waiter.thread, NULL);
	assert_code(waiter.code, 0, &waiter.err);
	assert_ok(rowlock_release(waiter.lock, &err));
	test_lock_end(waiter.lock);
	test_lock_end(one.lock);
	test_lock_end(free_one);
	test_lock_end(held);
	test_sql_end(foreign);
	test_sql_end(sql);
}

CASE("a tied up token of a lease keeps nobody else")
{
	tied_up_token_keeps_nobody_else(ROWLOCK_LEASE);
}

CASE("a tied up token of a row keeps nobody else")
{
	tied_up_token_keeps_nobody_else(ROWLOCK_ROW);
}

CASE_MAIN(test_main_own_server)
