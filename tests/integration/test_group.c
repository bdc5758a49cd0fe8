/* SPDX-License-Identifier: MIT */
/*
 * Many threads of one process, each with a name of its own: their requests go
 * together, and what goes wrong with one is nothing to the others.
 */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "server.h"
#include "test.h"

#define THREADS 32
#define ROUNDS 50
#define CUTS 30

struct person {
	struct rowlock *lock;
	pthread_t thread;
	uint64_t wait_ms;
	int rounds;
	int failures;
	int code;
	double late_ms;         /* of the acquire that failed */
	struct test_event *got; /* told of each acquire that is done */
	struct rowlock_errinfo err;
};

static void start(struct person *people, size_t count, void *(*live)(void *arg))
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(
		    pthread_create(&people[i].thread, NULL, live, &people[i]),
		    0);
}

static void join(struct person *people, size_t count)
{
	for (size_t i = 0; i < count; i++)
		pthread_join(people[i].thread, NULL);
}

static void make(struct person *people, size_t count,
		 struct rowlock_client *client, const char *word)
{
	for (size_t i = 0; i < count; i++) {
		char name[100];

		snprintf(name, sizeof(name), "%s-%zu", word, i);
		people[i] = (struct person){
			.lock = test_lock(client, ROWLOCK_LEASE,
					  ROWLOCK_OWNER_HANDLE, name),
			.wait_ms = (uint64_t) test_patience_ms(),
			.rounds = ROUNDS,
		};
	}
}

static void end(struct person *people, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (rowlock_held(people[i].lock) == 1)
			rowlock_release(people[i].lock, NULL);
		test_lock_end(people[i].lock);
	}
}

static _Atomic bool over;

static void *take_turns(void *arg)
{
	struct person *person = arg;

	for (int i = 0; i < person->rounds && !over; i++) {
		uint64_t token;

		if (rowlock_acquire(person->lock, person->wait_ms, &err) ||
		    (i % 10 == 0 &&
		     rowlock_token(person->lock, &token, &err)) ||
		    rowlock_release(person->lock, &err)) {
			person->failures++;
			person->err = err;
		}
	}
	return NULL;
}

static uint64_t statements(struct test_sql *sql)
{
	return test_sql_status(sql, "Com_insert_select") +
	       test_sql_status(sql, "Com_insert") +
	       test_sql_status(sql, "Com_delete") +
	       test_sql_status(sql, "Com_stmt_execute");
}

CASE("many names take few statements")
{
	static struct person people[THREADS];
	struct rowlock_client *client = test_client(30000);
	struct test_sql *sql = test_server_root();
	const char *word = test_name("group");
	uint64_t pairs = THREADS * ROUNDS;
	uint64_t before;
	uint64_t took;

	make(people, THREADS, client, word);
	before = statements(sql);
	start(people, THREADS, take_turns);
	join(people, THREADS);
	took = statements(sql) - before;
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(people[i].failures, 0);
		assert_int_equal(rowlock_held(people[i].lock), 0);
	}
	test_figure((double) took / (double) pairs, "",
		    "group: statements per acquire and release, %d threads, a "
		    "tenth with a token",
		    THREADS);
	/* Alone they are 2.1 at least; as many as a group may have, together.
	 */
	if (!getenv("ROWLOCK_TEST_GROUP"))
		assert_true(took < pairs);
	assert_int_equal(test_sql_number(sql,
					 "SELECT COUNT(*) FROM business_lease "
					 "WHERE name LIKE '%s-%%'",
					 word),
			 0);
	end(people, THREADS);
	test_client_end(client);
	test_sql_end(sql);
}

static void *take_and_tell(void *arg)
{
	struct person *person = arg;

	person->code =
	    rowlock_acquire(person->lock, person->wait_ms, &person->err);
	test_event_set(person->got);
	return NULL;
}

static void *give_back(void *arg)
{
	struct person *person = arg;

	person->code = rowlock_release(person->lock, &person->err);
	if (person->got)
		test_event_set(person->got);
	return NULL;
}

/* The first one's row is tied up; all give back at once. What is awaited while
 * it is tied up comes, or the test fails after its guard. */
CASE("a row that is tied up keeps nobody else")
{
	static struct person people[THREADS];
	struct rowlock_client *client = test_client(30000);
	struct test_sql *sql = test_server_root();
	const char *word = test_name("tied");
	struct test_event got[THREADS];

	make(people, THREADS, client, word);
	for (int i = 0; i < THREADS; i++) {
		got[i] = test_event_new();
		people[i].got = &got[i];
	}
	start(people, THREADS, take_and_tell);
	for (int i = 0; i < THREADS; i++)
		assert_event(&got[i], "thread %d of %d to have its name", i,
			     THREADS);
	join(people, THREADS);
	test_sql(sql, "START TRANSACTION");
	test_sql_number(sql,
			"SELECT attempt FROM business_lease WHERE name = "
			"'%s-0' AND slot = 0 FOR UPDATE",
			word);
	start(people, THREADS, give_back);
	for (int i = 1; i < THREADS; i++)
		assert_event(&got[i],
			     "thread %d of %d to give its name back beside "
			     "one that is tied up",
			     i, THREADS);
	/* Others' acquires pass, too, while it is still tied up. */
	join(&people[1], THREADS - 1);
	for (int i = 1; i < THREADS; i++)
		assert_code(people[i].code, 0, &people[i].err);
	start(&people[1], THREADS - 1, take_and_tell);
	for (int i = 1; i < THREADS; i++)
		assert_event(&got[i],
			     "thread %d of %d to have its name again beside "
			     "one that is tied up",
			     i, THREADS);
	join(&people[1], THREADS - 1);
	for (int i = 1; i < THREADS; i++)
		assert_code(people[i].code, 0, &people[i].err);
	test_sql(sql, "COMMIT");
	join(people, 1);
	end(people, THREADS);
	for (int i = 0; i < THREADS; i++)
		test_event_end(&got[i]);
	test_client_end(client);
	test_sql_end(sql);
}

/* It is not the server that is silent. */
CASE("the release of a row that is tied up says so")
{
	struct rowlock_client *client = test_client(30000);
	struct rowlock_client *other = test_client(30000);
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
	test_client_end(other);
	test_client_end(client);
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

static void *wait_in_line(void *arg)
{
	struct person *person = arg;

	person->code =
	    rowlock_acquire(person->lock, person->wait_ms, &person->err);
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
	struct rowlock_client *other = test_client(30000);
	struct rowlock_client *client;
	struct person waiter;
	struct rowlock *held, *free_one;
	uint64_t since;

	options.wait_connections = 1;
	/* The most: the draw must not give up before all have had a turn. */
	options.call_timeout_ms = 60000;
	client = test_client_with(&options);
	make(&waiter, 1, client, test_name("tied-held"));
	held = test_lock(other, ROWLOCK_LEASE, 0, rowlock_name(waiter.lock));
	assert_ok(rowlock_acquire(held, 0, &err));
	start(&waiter, 1, wait_in_line);
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
	join(&waiter, 1);
	assert_code(waiter.code, 0, &waiter.err);
	end(&waiter, 1);
	test_lock_end(one.lock);
	test_lock_end(free_one);
	test_lock_end(held);
	test_client_end(client);
	test_client_end(other);
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

static void *ask_in_time(void *arg)
{
	struct person *person = arg;
	uint64_t began = test_now_ns();

	person->code =
	    rowlock_acquire(person->lock, person->wait_ms, &person->err);
	person->late_ms =
	    test_ms(began, test_now_ns()) - (double) person->wait_ms;
	return NULL;
}

/* Nobody's deadline is another's: who leads and who follows is not told. */
CASE("each leaves a frozen server in time")
{
	static struct person people[THREADS];
	struct rowlock_client *client = test_client(60000);
	struct test_sql *sql = test_server_root();
	const char *word = test_name("frozen");
	double worst = 0;

	make(people, THREADS, client, word);
	start(people, THREADS, take_turns);
	join(people, THREADS);
	test_server_freeze();
	for (int i = 0; i < THREADS; i++)
		people[i].wait_ms = 100 + 50 * (uint64_t) i;
	start(people, THREADS, ask_in_time);
	join(people, THREADS);
	test_server_thaw();
	for (int i = 0; i < THREADS; i++) {
		assert_int_not_equal(people[i].code, 0);
		assert_int_equal(rowlock_held(people[i].lock), 0);
		if (people[i].late_ms > worst)
			worst = people[i].late_ms;
	}
	test_figure(worst, "ms",
		    "group: the latest return after its deadline, server "
		    "frozen, %d threads",
		    THREADS);
	/* What may have been granted meanwhile is given back: each can be had
	 * again, by this client and in the end by all. */
	for (int i = 0; i < THREADS; i++) {
		people[i].wait_ms = (uint64_t) test_patience_ms();
		people[i].rounds = 1;
		people[i].failures = 0;
	}
	start(people, THREADS, take_turns);
	join(people, THREADS);
	for (int i = 0; i < THREADS; i++)
		assert_code(people[i].failures ? people[i].err.code : 0, 0,
			    &people[i].err);
	end(people, THREADS);
	test_client_end(client);
	assert_int_equal(test_sql_number(sql,
					 "SELECT COUNT(*) FROM business_lease "
					 "WHERE name LIKE '%s-%%' AND EXISTS "
					 "(SELECT 1 FROM lease_session s WHERE "
					 "s.id = session)",
					 word),
			 0);
	test_sql_end(sql);
}

static void *cut(void *arg)
{
	test_server_cut(arg, CUTS);
	over = true;
	return NULL;
}

CASE("lost answers cost nobody a grant")
{
	static struct person people[THREADS];
	struct rowlock_client *client = test_client(60000);
	struct test_sql *sql = test_server_root();
	struct test_sql *knife = test_server_root();
	const char *word = test_name("cut");
	pthread_t cutter;

	make(people, THREADS, client, word);
	for (int i = 0; i < THREADS; i++)
		people[i].rounds = INT_MAX;
	assert_int_equal(pthread_create(&cutter, NULL, cut, knife), 0);
	start(people, THREADS, take_turns);
	join(people, THREADS);
	pthread_join(cutter, NULL);
	over = false;
	for (int i = 0; i < THREADS; i++)
		assert_code(people[i].failures ? people[i].err.code : 0, 0,
			    &people[i].err);
	end(people, THREADS);
	test_client_end(client);
	assert_int_equal(test_sql_number(sql,
					 "SELECT COUNT(*) FROM business_lease "
					 "WHERE name LIKE '%s-%%'",
					 word),
			 0);
	test_sql_end(knife);
	test_sql_end(sql);
}

CASE_MAIN(test_main_own_server)
