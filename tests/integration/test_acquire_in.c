/* SPDX-License-Identifier: MIT */
/*
 * A row lock in a transaction of the application's: it has it as long as the
 * transaction is open, and what it reads is from behind the grant.
 */
#define ACCOUNTS "acquire_in_test"
#include "guarded.h"
#include "timeouts.h"

#include <pthread.h>

#include "ended.h"

struct inside {
	struct rowlock_client *client;
	struct rowlock *lock; /* for the application's transaction */
	struct rowlock *rival;
	const char *name;
	MYSQL *mysql;
	struct test_sql *sql;
};

static int begin_inside(void **state)
{
	static struct inside inside;

	inside = (struct inside){
		.client = test_client(test_ttl_ms(TTL_MS)),
		.name = test_name("inside"),
		.mysql = connect_to(test_dsn(), 0),
		.sql = test_sql_open(),
	};
	inside.lock = test_lock(inside.client, ROWLOCK_ROW, 0, inside.name);
	/* Another owner, in the same thread. */
	inside.rival = test_lock(inside.client, ROWLOCK_ROW,
				 ROWLOCK_OWNER_HANDLE, inside.name);
	test_sql(inside.sql, "CREATE TABLE IF NOT EXISTS " ACCOUNTS
			     " (id INT PRIMARY KEY, balance INT NOT NULL) "
			     "ENGINE=InnoDB");
	test_sql(inside.sql, "REPLACE INTO " ACCOUNTS " VALUES (1, 100)");
	*state = &inside;
	return 0;
}

static int end_inside(void **state)
{
	struct inside *inside = *state;

	mysql_close(inside->mysql);
	rowlock_release(inside->rival, NULL);
	test_lock_end(inside->lock);
	test_lock_end(inside->rival);
	test_client_end(inside->client);
	test_sql(inside->sql, "DROP TABLE " ACCOUNTS);
	test_sql_end(inside->sql);
	return 0;
}

#define INSIDE(sentence) CASE_WITH(sentence, begin_inside, end_inside)

static void assert_is_free(const struct inside *inside)
{
	assert_ok(rowlock_acquire(inside->rival, 0, &err));
	assert_ok(rowlock_release(inside->rival, &err));
}

/* No transaction is open, and the session is as it was. */
static void assert_nothing_open(const struct inside *inside)
{
	assert_int_equal(number(inside->mysql, "SELECT @@SESSION.autocommit"),
			 1);
	assert_false(inside->mysql->server_status & SERVER_STATUS_IN_TRANS);
}

INSIDE("a transaction has it until it ends")
{
	static const char *const ends[] = { "COMMIT", "ROLLBACK" };
	const struct inside *inside = *state;

	for (size_t i = 0; i < TEST_SIZE(ends); i++) {
		assert_ok(rowlock_acquire_in_transaction(
		    inside->lock, inside->mysql, 0, &err));
		assert_code(rowlock_acquire(inside->rival, 0, &err),
			    ROWLOCK_EBUSY, &err);
		say(inside->mysql,
		    "UPDATE " ACCOUNTS " SET balance = balance - 10");
		say(inside->mysql, ends[i]);
		assert_is_free(inside);
		assert_int_equal(
		    number(inside->mysql, "SELECT balance FROM " ACCOUNTS), 90);
	}
	assert_nothing_open(inside);
	/* The client has no hold of it. */
	assert_int_equal(rowlock_held(inside->lock), 0);
	assert_code(rowlock_release(inside->lock, &err), ROWLOCK_ENOTHELD,
		    &err);
}

INSIDE("it ends with its connection")
{
	const struct inside *inside = *state;
	MYSQL *mysql = connect_to(test_dsn(), 0);

	assert_ok(rowlock_acquire_in_transaction(inside->lock, mysql, 0, &err));
	mysql_close(mysql);
	assert_ok(rowlock_acquire(inside->rival, test_patience_ms(), &err));
	assert_ok(rowlock_release(inside->rival, &err));
}

struct waiting {
	const struct inside *inside;
	uint64_t wait_ms;
	int code;
	struct rowlock_errinfo err;
	pthread_t thread;
};

static void *wait_for_it(void *data)
{
	struct waiting *waiting = data;

	waiting->code = rowlock_acquire_in_transaction(
	    waiting->inside->lock, waiting->inside->mysql, waiting->wait_ms,
	    &waiting->err);
	mysql_thread_end();
	return NULL;
}

/* What it waits with in the server; 0: it does not. */
static uint64_t statement_of(const struct inside *inside)
{
	return test_sql_number(inside->sql,
			       "SELECT CRC32(INFO) FROM "
			       "information_schema.PROCESSLIST WHERE ID = %lu "
			       "AND INFO LIKE '%%business_lock%%FOR UPDATE'",
			       mysql_thread_id(inside->mysql));
}

/* Another one than @before. */
static uint64_t await_statement(const struct inside *inside, uint64_t before)
{
	uint64_t since = test_now_ns();
	uint64_t now;

	while (!(now = statement_of(inside)) || now == before)
		test_keep_waiting(since, "a statement that waits");
	return now;
}

static void begin_to_wait(struct waiting *waiting, const struct inside *inside,
			  uint64_t wait_ms)
{
	waiting->inside = inside;
	waiting->wait_ms = wait_ms;
	assert_false(
	    pthread_create(&waiting->thread, NULL, wait_for_it, waiting));
	await_statement(inside, 0);
}

/* What was written before is seen, whatever the isolation level. */
INSIDE("who waits reads what was committed before")
{
	const struct inside *inside = *state;
	struct waiting waiting;

	say(inside->mysql,
	    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
	assert_ok(rowlock_acquire(inside->rival, 0, &err));
	begin_to_wait(&waiting, inside, test_patience_ms());
	test_sql(inside->sql, "UPDATE " ACCOUNTS " SET balance = 42");
	assert_ok(rowlock_release(inside->rival, &err));
	assert_false(pthread_join(waiting.thread, NULL));
	assert_code(waiting.code, 0, &waiting.err);
	assert_int_equal(number(inside->mysql, "SELECT balance FROM " ACCOUNTS),
			 42);
	assert_code(rowlock_acquire(inside->rival, 0, &err), ROWLOCK_EBUSY,
		    &err);
	say(inside->mysql, "COMMIT");
}

INSIDE("a wait ends in time, or when it is canceled")
{
	const struct inside *inside = *state;
	MYSQL *other = connect_to(test_dsn(), 0);
	struct waiting waiting;

	assert_ok(rowlock_acquire(inside->rival, 0, &err));
	assert_code(rowlock_acquire_in_transaction(inside->lock, inside->mysql,
						   0, &err),
		    ROWLOCK_EBUSY, &err);
	assert_nothing_open(inside);
	for (uint64_t wait_ms = 1; wait_ms < 200; wait_ms += 49) {
		assert_code(rowlock_acquire_in_transaction(
				inside->lock, inside->mysql, wait_ms, &err),
			    ROWLOCK_ETIMEDOUT, &err);
		assert_nothing_open(inside);
	}
	begin_to_wait(&waiting, inside, UINT64_C(3600) * 1000);
	/* One thread at a time with a handle. */
	assert_code(
	    rowlock_acquire_in_transaction(inside->lock, other, 0, &err),
	    ROWLOCK_EINVAL, &err);
	mysql_close(other);
	test_cancel(inside->lock);
	assert_false(pthread_join(waiting.thread, NULL));
	assert_code(waiting.code, ROWLOCK_ECANCELED, &waiting.err);
	assert_nothing_open(inside);
	/* None is under way. */
	assert_int_equal(rowlock_cancel(inside->lock), 0);
	assert_ok(rowlock_release(inside->rival, &err));
	assert_ok(rowlock_acquire_in_transaction(inside->lock, inside->mysql,
						 1000, &err));
	say(inside->mysql, "ROLLBACK");
}

/* Longer than the server lets a statement wait. */
INSIDE("a wait outlasts the server's time-out")
{
	const struct inside *inside = *state;
	struct waiting waiting;

	say(inside->mysql, "SET SESSION innodb_lock_wait_timeout = 1");
	assert_ok(rowlock_acquire(inside->rival, 0, &err));
	begin_to_wait(&waiting, inside, UINT64_C(3600) * 1000);
	/* It asks again. */
	await_statement(inside, statement_of(inside));
	assert_ok(rowlock_release(inside->rival, &err));
	assert_false(pthread_join(waiting.thread, NULL));
	assert_code(waiting.code, 0, &waiting.err);
	say(inside->mysql, "COMMIT");
}

INSIDE("tokens are drawn with the transaction")
{
	const struct inside *inside = *state;
	uint64_t first = 0;
	uint64_t second = 0;
	uint64_t third = 0;

	assert_code(rowlock_token_in_transaction(inside->lock, inside->mysql,
						 &first, &err),
		    ROWLOCK_ENOTHELD, &err);
	assert_ok(rowlock_acquire_in_transaction(inside->lock, inside->mysql, 0,
						 &err));
	assert_ok(rowlock_token_in_transaction(inside->lock, inside->mysql,
					       &first, &err));
	assert_ok(rowlock_token_in_transaction(inside->lock, inside->mysql,
					       &second, &err));
	assert_true(first > 0 && second > first);
	say(inside->mysql, "COMMIT");
	assert_ok(rowlock_acquire(inside->rival, 0, &err));
	assert_ok(rowlock_token(inside->rival, &third, &err));
	assert_true(third > second);
	/* In a transaction that has not got it. */
	say(inside->mysql, "START TRANSACTION");
	assert_code(rowlock_token_in_transaction(inside->lock, inside->mysql,
						 &first, &err),
		    ROWLOCK_ENOTHELD, &err);
	say(inside->mysql, "ROLLBACK");
	assert_ok(rowlock_release(inside->rival, &err));
	/* Where nobody has it, it gets it, whatever the session lets through of
	 * its own SELECTs. */
	say(inside->mysql, "SET SESSION sql_select_limit = 0");
	say(inside->mysql, "START TRANSACTION");
	assert_ok(rowlock_token_in_transaction(inside->lock, inside->mysql,
					       &first, &err));
	assert_true(first > third);
	assert_code(rowlock_acquire(inside->rival, 0, &err), ROWLOCK_EBUSY,
		    &err);
	say(inside->mysql, "ROLLBACK");
	assert_ok(rowlock_acquire_in_transaction(inside->lock, inside->mysql, 0,
						 &err));
	say(inside->mysql, "ROLLBACK");
	assert_code(rowlock_token_in_transaction(inside->lock, inside->mysql,
						 NULL, &err),
		    ROWLOCK_EINVAL, &err);
}

/* Somebody has its token's row for longer than the server lets a statement
 * wait: that says nothing of the lock. */
INSIDE("a token that cannot be drawn leaves the lock")
{
	const struct inside *inside = *state;
	uint64_t token = 0;

	say(inside->mysql, "SET SESSION innodb_lock_wait_timeout = 1");
	test_sql(inside->sql, "START TRANSACTION");
	test_sql(inside->sql,
		 "INSERT INTO lock_token (strategy, name, token, drawn_at) "
		 "VALUES ('row', '%s', 1, UTC_TIMESTAMP(6))",
		 inside->name);
	assert_ok(rowlock_acquire_in_transaction(inside->lock, inside->mysql, 0,
						 &err));
	assert_code(rowlock_token_in_transaction(inside->lock, inside->mysql,
						 &token, &err),
		    ROWLOCK_EDB, &err);
	assert_int_equal(err.mysql, 1205);
	test_sql(inside->sql, "ROLLBACK");
	assert_code(rowlock_acquire(inside->rival, 0, &err), ROWLOCK_EBUSY,
		    &err);
	assert_ok(rowlock_token_in_transaction(inside->lock, inside->mysql,
					       &token, &err));
	say(inside->mysql, "COMMIT");
	assert_is_free(inside);
}

/* So has the lock, and nothing is open that could have read before. */
INSIDE("a transaction that ended unnoticed has nothing")
{
	const struct inside *inside = *state;
	uint64_t token;

	for (enum ending ending = 0; ending < ENDINGS; ending++) {
		assert_ok(rowlock_acquire_in_transaction(
		    inside->lock, inside->mysql, 0, &err));
		end_unnoticed(inside->mysql, ending);
		assert_code(rowlock_token_in_transaction(
				inside->lock, inside->mysql, &token, &err),
			    ROWLOCK_ENOTHELD, &err);
		assert_is_free(inside);
		say(inside->mysql, "START TRANSACTION");
		end_unnoticed(inside->mysql, ending);
		assert_ok(rowlock_acquire_in_transaction(
		    inside->lock, inside->mysql, 0, &err));
		say(inside->mysql, "COMMIT");
	}
}

/* What is asked in it has the time of its own call. */
INSIDE("a transaction may last longer than a call")
{
	const struct inside *inside = *state;
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(TTL_MS));
	uint64_t first = 0;
	uint64_t second = 0;

	options.call_timeout_ms = test_timeout_ms(300);
	TEST_CLIENT(client, test_client_with(&options));
	TEST_LOCK(lock, test_lock(client, ROWLOCK_ROW, 0, inside->name));
	for (int i = 0; i < 2; i++) {
		assert_ok(rowlock_acquire_in_transaction(
		    lock, inside->mysql, test_patience_ms(), &err));
		assert_ok(rowlock_token_in_transaction(lock, inside->mysql,
						       &first, &err));
		test_sql(inside->sql, "DO SLEEP(%f)",
			 (double) (options.call_timeout_ms + 1) / 1000);
		assert_ok(rowlock_token_in_transaction(lock, inside->mysql,
						       &second, &err));
		assert_true(second > first);
		assert_code(rowlock_acquire(inside->rival, 0, &err),
			    ROWLOCK_EBUSY, &err);
		say(inside->mysql, i ? "COMMIT" : "ROLLBACK");
		assert_nothing_open(inside);
		assert_is_free(inside);
	}
}

/* How many statements its connection has said. */
static uint64_t statements(const struct inside *inside)
{
	return number_in(inside->mysql, "SHOW SESSION STATUS LIKE 'Questions'",
			 1);
}

/* The row that the client makes is not where the connection looks. */
INSIDE("a row that does not come is not asked for again and again")
{
	const struct inside *inside = *state;

	say(inside->mysql, "CREATE TEMPORARY TABLE business_lock (name "
			   "VARCHAR(100) PRIMARY KEY, info VARCHAR(255), "
			   "created_at DATETIME(6)) ENGINE=InnoDB");
	for (uint64_t wait_ms = 0; wait_ms <= 2000; wait_ms += 1000) {
		uint64_t before = statements(inside);

		assert_int_not_equal(
		    rowlock_acquire_in_transaction(inside->lock, inside->mysql,
						   wait_ms, &err),
		    0);
		assert_in_range(statements(inside) - before, 1, 16);
		assert_nothing_open(inside);
	}
	say(inside->mysql, "DROP TEMPORARY TABLE business_lock");
	assert_ok(rowlock_acquire_in_transaction(inside->lock, inside->mysql, 0,
						 &err));
	say(inside->mysql, "COMMIT");
	assert_is_free(inside);
}

/* The row would be locked for nobody else in a copy. */
INSIDE("a copy of the table is not locked")
{
	const struct inside *inside = *state;

	assert_is_free(inside); /* it has a row */
	say(inside->mysql, "CREATE TEMPORARY TABLE business_lock AS SELECT * "
			   "FROM business_lock");
	assert_ok(rowlock_acquire(inside->rival, 0, &err));
	assert_code(rowlock_acquire_in_transaction(inside->lock, inside->mysql,
						   0, &err),
		    ROWLOCK_ESCHEMA, &err);
	assert_nothing_open(inside);
	assert_ok(rowlock_release(inside->rival, &err));
}

INSIDE("what it cannot do is refused")
{
	const struct inside *inside = *state;
	struct rowlock *lease =
	    test_lock(inside->client, ROWLOCK_LEASE, 0, inside->name);
	MYSQL *closed = mysql_init(NULL);
	const my_bool on = 1;
	const my_bool off = 0;
	uint64_t token;

	assert_code(rowlock_acquire_in_transaction(inside->lock, NULL, 0, &err),
		    ROWLOCK_EINVAL, &err);
	assert_code(
	    rowlock_acquire_in_transaction(inside->lock, closed, 0, &err),
	    ROWLOCK_ECONNECT, &err);
	mysql_close(closed);
	assert_code(
	    rowlock_acquire_in_transaction(lease, inside->mysql, 0, &err),
	    ROWLOCK_EUNSUPPORTED, &err);
	assert_code(
	    rowlock_token_in_transaction(lease, inside->mysql, &token, &err),
	    ROWLOCK_EUNSUPPORTED, &err);
	test_lock_end(lease);
	assert_false(mysql_query(inside->mysql, "SELECT 1"));
	assert_code(rowlock_acquire_in_transaction(inside->lock, inside->mysql,
						   0, &err),
		    ROWLOCK_EINVAL, &err);
	mysql_free_result(mysql_store_result(inside->mysql));
	/* The statements after an error would be on a new connection,
	 * without it. */
	mysql_optionsv(inside->mysql, MYSQL_OPT_RECONNECT, &on);
	assert_code(rowlock_acquire_in_transaction(inside->lock, inside->mysql,
						   0, &err),
		    ROWLOCK_EINVAL, &err);
	assert_non_null(strstr(err.message, "anew by itself"));
	say(inside->mysql, "START TRANSACTION");
	assert_code(rowlock_token_in_transaction(inside->lock, inside->mysql,
						 &token, &err),
		    ROWLOCK_EINVAL, &err);
	say(inside->mysql, "ROLLBACK");
	mysql_optionsv(inside->mysql, MYSQL_OPT_RECONNECT, &off);
	/* It may have read already. */
	say(inside->mysql, "START TRANSACTION");
	assert_code(rowlock_acquire_in_transaction(inside->lock, inside->mysql,
						   0, &err),
		    ROWLOCK_EINVAL, &err);
	assert_non_null(strstr(err.message, "a transaction is open"));
	assert_true(inside->mysql->server_status & SERVER_STATUS_IN_TRANS);
	say(inside->mysql, "ROLLBACK");
	/* It would wait for itself. */
	assert_ok(rowlock_acquire(inside->lock, 0, &err));
	assert_code(rowlock_acquire_in_transaction(inside->lock, inside->mysql,
						   1000, &err),
		    ROWLOCK_EDEADLOCK, &err);
	assert_ok(rowlock_release(inside->lock, &err));
	assert_nothing_open(inside);
	assert_is_free(inside);
}

CASE_MAIN(test_main)
