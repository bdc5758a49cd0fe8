// SPDX-License-Identifier: MIT
/*
 * Waiting for a lease in the server's line: who gets it in which order and for
 * how many statements, what becomes of those who wait when a bell is lost or
 * had by a ghost, and that none is left behind.
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor.h"
#include "sql.h"
#include "test.h"

#define LONG_TTL_MS 600000

/* ---------------------------------------------------------- the server */

static uint64_t hash(const char *text)
{
	uint64_t sum = 14695981039346656037u;

	for (; *text; text++)
		sum = (sum ^ (unsigned char) *text) * 1099511628211u;
	return sum;
}

/* All clients have to agree on it, of whatever version they are. */
static const char *bell_of(struct test_sql *sql, const char *name)
{
	static char bell[40];
	char *schema = test_sql_text(sql, "SELECT DATABASE()");

	schema[strcspn(schema, "\t\n")] = '\0';
	snprintf(bell, sizeof(bell), "rlb:%016" PRIx64,
		 hash(name) ^ hash(schema) * 31);
	free(schema);
	return bell;
}

static uint64_t owner_of(struct test_sql *sql, const char *name)
{
	return test_sql_number(sql, "SELECT COALESCE(IS_USED_LOCK('%s'), 0)",
			       bell_of(sql, name));
}

static uint64_t in_line(struct test_sql *sql)
{
	return test_sql_number(sql, "SELECT COUNT(*) FROM "
				    "information_schema.PROCESSLIST "
				    "WHERE STATE = 'User lock'");
}

/* Look until it is so. */
static void await_line(struct test_sql *sql, uint64_t count)
{
	uint64_t since = test_now_ns();
	uint64_t seen;

	while ((seen = in_line(sql)) != count)
		test_keep_waiting(since, "%llu in line: there are %llu",
				  (unsigned long long) count,
				  (unsigned long long) seen);
}

static void await_owner(struct test_sql *sql, const char *name, uint64_t before)
{
	uint64_t since = test_now_ns();
	uint64_t owner;

	do {
		owner = owner_of(sql, name);
		test_keep_waiting(since,
				  "another to have the bell of '%s' than "
				  "connection %llu: %llu has it",
				  name, (unsigned long long) before,
				  (unsigned long long) owner);
	} while (!owner || owner == before);
}

static void await_free(struct test_sql *sql, const char *name)
{
	uint64_t since = test_now_ns();
	uint64_t owner;

	while ((owner = owner_of(sql, name)))
		test_keep_waiting(since,
				  "the bell of '%s' to be let go: connection "
				  "%llu has it",
				  name, (unsigned long long) owner);
}

/* ------------------------------------------------------------- a thread */

/* One that acquires, and what its client logged. */
struct waiter {
	struct rowlock_client *client;
	struct rowlock *lock;
	uint64_t wait_ms;
	int code;
	pthread_t thread;
};

struct log {
	struct test_event bell;
	struct test_event poll;
};

static void note(enum rowlock_log_level level, const char *message, void *arg)
{
	struct log *log = arg;

	(void) level;
	if (strstr(message, "waits on its bell"))
		test_event_set(&log->bell);
	if (strstr(message, "asked for again and again"))
		test_event_set(&log->poll);
}

static struct rowlock_client *client_of(unsigned int waits, uint64_t ttl_ms,
					struct log *log)
{
	struct rowlock_client_options options = test_client_options(ttl_ms);

	options.wait_connections = waits;
	if (log) {
		log->bell = test_event_new();
		log->poll = test_event_new();
		options.log = note;
		options.log_arg = log;
		options.log_level = ROWLOCK_LOG_DEBUG;
	}
	return test_client_with(&options);
}

static void log_end(struct log *log)
{
	test_event_end(&log->bell);
	test_event_end(&log->poll);
}

static void *acquire(void *arg)
{
	struct waiter *waiter = arg;

	waiter->code = rowlock_acquire(waiter->lock, waiter->wait_ms, NULL);
	if (!waiter->code)
		waiter->code = rowlock_release(waiter->lock, NULL);
	return NULL;
}

static void start(struct waiter *waiter, struct rowlock_client *client,
		  const char *name, uint64_t wait_ms)
{
	waiter->client = client;
	waiter->lock = test_lock(client, ROWLOCK_LEASE, 0, name);
	waiter->wait_ms = wait_ms;
	assert_int_equal(pthread_create(&waiter->thread, NULL, acquire, waiter),
			 0);
}

static int join(struct waiter *waiter)
{
	pthread_join(waiter->thread, NULL);
	test_lock_end(waiter->lock);
	return waiter->code;
}

static struct test_actor actor(const char *name, uint64_t ttl_ms)
{
	return test_actor_start(ROWLOCK_LEASE, name, ttl_ms);
}

static void has_it(struct test_actor *actor)
{
	assert_int_equal(test_actor_hear(actor), 0);
}

static void gives_it_back(struct test_actor *actor)
{
	assert_int_equal(test_actor_ask(actor, "release"), 0);
}

/* One who holds @name and has its bell. On MariaDB the first that comes has it;
 * on MySQL only who has waited, as the first in line. */
static struct test_actor holder_of(struct test_sql *sql, const char *name,
				   uint64_t ttl_ms)
{
	struct test_actor starter = actor(name, ttl_ms);
	struct test_actor holder = actor(name, ttl_ms);
	uint64_t before;

	assert_int_equal(test_actor_ask(&starter, "acquire 0"), 0);
	before = owner_of(sql, name);
	test_actor_tell(&holder, "acquire 60000");
	if (before)
		await_line(sql, 1);
	else
		await_owner(sql, name, 0);
	gives_it_back(&starter);
	has_it(&holder);
	assert_int_not_equal(owner_of(sql, name), 0);
	test_actor_end(&starter);
	return holder;
}

/* ------------------------------------------------------------ the order */

#define LINE 8

static void processes_have_it_in_the_order_in_which_they_came(void **state)
{
	const char *name = test_name("order");
	struct test_sql *sql = test_sql_open();
	struct test_actor holder = holder_of(sql, name, LONG_TTL_MS);
	struct test_actor line[LINE];
	uint64_t before, spent;
	int i;

	(void) state;
	for (i = 0; i < LINE; i++) {
		line[i] = actor(name, LONG_TTL_MS);
		test_actor_tell(&line[i], "acquire 60000");
		await_line(sql, (uint64_t) i + 1);
	}
	before = test_sql_status(sql, "Questions");
	gives_it_back(&holder);
	/* One that came out of turn would keep it from the others. */
	for (i = 0; i < LINE; i++) {
		has_it(&line[i]);
		gives_it_back(&line[i]);
	}
	spent = test_sql_status(sql, "Questions") - before - 1;
	assert_in_range(spent, 2 * LINE, 3 * (LINE + 1));
	await_free(sql, name);
	for (i = 0; i < LINE; i++)
		test_actor_end(&line[i]);
	test_actor_end(&holder);
	test_sql_end(sql);
}

/* ------------------------------------------------- lost bells and ghosts */

static void lease_outlives_its_lost_bell(void **state)
{
	const char *name = test_name("lost");
	struct test_sql *sql = test_sql_open();
	struct test_actor second = holder_of(sql, name, LONG_TTL_MS);
	struct test_actor third = actor(name, LONG_TTL_MS);
	uint64_t owner;

	(void) state;
	test_actor_tell(&third, "acquire 60000");
	await_line(sql, 1);
	owner = owner_of(sql, name);
	assert_int_not_equal(owner, 0);
	test_sql(sql, "KILL CONNECTION %" PRIu64, owner);
	/* The head of the line has it now, and asks again and again. */
	await_owner(sql, name, owner);
	assert_int_equal(test_actor_ask(&second, "verify"), 0);
	assert_int_equal(test_actor_ask(&second, "held"), 1);
	gives_it_back(&second);
	has_it(&third);
	gives_it_back(&third);
	await_free(sql, name);
	test_actor_end(&third);
	test_actor_end(&second);
	test_sql_end(sql);
}

/* The server ends a connection after a TTL, here 2 s, without a word. */
static void first_in_line_keeps_its_bell_while_it_asks(void **state)
{
	struct rowlock_client *client = client_of(4, 1000, NULL);
	struct rowlock *own =
	    test_lock(client, ROWLOCK_LEASE, 0, test_name("own"));
	const char *name = test_name("kept");
	struct test_sql *sql = test_sql_open();
	uint64_t since = test_now_ns();
	struct waiter waiter;
	uint64_t owner;

	(void) state;
	/* A holder that has no bell: it stands for itself. */
	test_sql(sql,
		 "REPLACE INTO lease_session (id, ttl, expires_at, started_at) "
		 "VALUES (42, 3600000, UTC_TIMESTAMP(6) + INTERVAL 1 HOUR, "
		 "UTC_TIMESTAMP(6))");
	test_sql(sql,
		 "INSERT INTO business_lease (name, slot, session, attempt, "
		 "acquired_at) VALUES ('%s', 0, 42, 77, UTC_TIMESTAMP(6))",
		 name);
	assert_int_equal(rowlock_acquire(own, 0, NULL), 0);
	start(&waiter, client, name, ROWLOCK_FOREVER);
	await_owner(sql, name, 0);
	owner = owner_of(sql, name);
	/* Three in a second. */
	while (test_sql_number(sql,
			       "SELECT beat FROM lease_session WHERE id = "
			       "(SELECT session FROM business_lease "
			       "WHERE name = '%s')",
			       rowlock_name(own)) < 12)
		test_keep_waiting(since, "12 beats of the session of '%s'",
				  rowlock_name(own));
	assert_int_equal(owner_of(sql, name), owner);
	test_sql(sql, "DELETE FROM business_lease WHERE name = '%s'", name);
	assert_int_equal(join(&waiter), 0);
	await_free(sql, name);
	test_sql(sql, "DELETE FROM lease_session WHERE id = 42");
	assert_int_equal(rowlock_release(own, NULL), 0);
	test_lock_end(own);
	test_client_end(client);
	test_sql_end(sql);
}

/* Somebody who has nothing to do with it has its bell, and keeps it. Who waits
 * looks when the holder's session could have ended. */
static void ghost_keeps_nobody_out(void **state)
{
	const char *name = test_name("ghost");
	struct test_sql *sql = test_sql_open();
	struct test_sql *ghost = test_sql_open();
	struct test_actor first = actor(name, 2000);
	struct test_actor second = actor(name, 2000);

	(void) state;
	assert_int_equal(test_sql_number(ghost, "SELECT GET_LOCK('%s', 0)",
					 bell_of(sql, name)),
			 1);
	assert_int_equal(test_actor_ask(&first, "acquire 0"), 0);
	test_actor_tell(&second, "acquire 60000");
	await_line(sql, 1);
	gives_it_back(&first);
	has_it(&second);
	assert_int_equal(owner_of(sql, name),
			 test_sql_number(ghost, "SELECT CONNECTION_ID()"));
	gives_it_back(&second);
	test_actor_end(&second);
	test_actor_end(&first);
	test_sql_end(ghost);
	test_sql_end(sql);
}

static void killed_waiter_does_not_stop_the_line(void **state)
{
	const char *name = test_name("killed");
	struct test_sql *sql = test_sql_open();
	struct test_actor first = holder_of(sql, name, LONG_TTL_MS);
	struct test_actor second = actor(name, LONG_TTL_MS);
	struct test_actor third = actor(name, LONG_TTL_MS);

	(void) state;
	test_actor_tell(&second, "acquire 60000");
	await_line(sql, 1);
	test_actor_tell(&third, "acquire 60000");
	await_line(sql, 2);
	test_actor_kill(&second);
	gives_it_back(&first);
	has_it(&third);
	gives_it_back(&third);
	await_free(sql, name);
	test_actor_end(&third);
	test_actor_end(&first);
	test_sql_end(sql);
}

static bool comes_first(const struct test_actor *one,
			const struct test_actor *other)
{
	struct pollfd answers[] = {
		{ .fd = one->from, .events = POLLIN },
		{ .fd = other->from, .events = POLLIN },
	};

	if (poll(answers, 2, test_patience_ms()) <= 0)
		fail_msg("neither actor answers");
	return answers[0].revents != 0;
}

/* Whoever sees first that it is dead takes its name: that need not be the head
 * of the line. */
static void killed_holder_is_outlived_by_the_line(void **state)
{
	const char *name = test_name("dead");
	struct test_sql *sql = test_sql_open();
	struct test_actor first = holder_of(sql, name, 2000);
	struct test_actor second = actor(name, 2000);
	struct test_actor third = actor(name, 2000);
	bool second_is_first;

	(void) state;
	test_actor_tell(&second, "acquire 60000");
	await_line(sql, 1);
	test_actor_tell(&third, "acquire 60000");
	await_line(sql, 2);
	test_actor_kill(&first);
	second_is_first = comes_first(&second, &third);
	has_it(second_is_first ? &second : &third);
	gives_it_back(second_is_first ? &second : &third);
	has_it(second_is_first ? &third : &second);
	gives_it_back(second_is_first ? &third : &second);
	await_free(sql, name);
	test_actor_end(&third);
	test_actor_end(&second);
	test_sql_end(sql);
}

/* ----------------------------------------------- connections to spare */

static void who_finds_no_wait_connection_polls(void **state)
{
	const char *one = test_name("one");
	const char *other = test_name("other");
	struct test_sql *sql = test_sql_open();
	struct test_actor holder = holder_of(sql, one, LONG_TTL_MS);
	struct test_actor other_holder = actor(other, LONG_TTL_MS);
	struct waiter waits, polls;
	struct log log;
	struct rowlock_client *client = client_of(1, LONG_TTL_MS, &log);

	(void) state;
	assert_int_equal(test_actor_ask(&other_holder, "acquire 0"), 0);
	start(&waits, client, one, ROWLOCK_FOREVER);
	assert_true(test_event_wait(&log.bell));
	await_line(sql, 1);
	start(&polls, client, other, ROWLOCK_FOREVER);
	assert_true(test_event_wait(&log.poll));
	gives_it_back(&other_holder);
	assert_int_equal(join(&polls), 0);
	assert_int_equal(in_line(sql), 1);
	gives_it_back(&holder);
	assert_int_equal(join(&waits), 0);
	await_free(sql, one);
	await_free(sql, other);
	test_client_end(client);
	log_end(&log);
	test_actor_end(&other_holder);
	test_actor_end(&holder);
	test_sql_end(sql);
}

static void without_wait_connections_all_poll(void **state)
{
	const char *name = test_name("none");
	struct test_sql *sql = test_sql_open();
	struct test_actor holder = actor(name, LONG_TTL_MS);
	struct waiter waiter;
	struct log log;
	struct rowlock_client *client = client_of(0, LONG_TTL_MS, &log);

	(void) state;
	assert_int_equal(test_actor_ask(&holder, "acquire 0"), 0);
	start(&waiter, client, name, ROWLOCK_FOREVER);
	assert_true(test_event_wait(&log.poll));
	assert_int_equal(in_line(sql), 0);
	gives_it_back(&holder);
	assert_int_equal(join(&waiter), 0);
	await_free(sql, name);
	test_client_end(client);
	log_end(&log);
	test_actor_end(&holder);
	test_sql_end(sql);
}

/* ------------------------------------------------- ends of waits, holds */

static void cancel_and_deadline_leave_the_line(void **state)
{
	const char *name = test_name("leave");
	struct test_sql *sql = test_sql_open();
	struct test_actor holder = holder_of(sql, name, LONG_TTL_MS);
	struct rowlock_client *client = client_of(4, LONG_TTL_MS, NULL);
	struct waiter waiter;
	uint64_t owner;

	(void) state;
	owner = owner_of(sql, name);
	start(&waiter, client, name, ROWLOCK_FOREVER);
	await_line(sql, 1);
	rowlock_cancel(waiter.lock);
	assert_int_equal(join(&waiter), ROWLOCK_ECANCELED);
	await_line(sql, 0);
	start(&waiter, client, name, 300);
	assert_int_equal(join(&waiter), ROWLOCK_ETIMEDOUT);
	await_line(sql, 0);
	assert_int_equal(owner_of(sql, name), owner);
	gives_it_back(&holder);
	await_free(sql, name);
	test_client_end(client);
	test_actor_end(&holder);
	test_sql_end(sql);
}

/* The first has it by itself, the second by waiting: two ways to have a bell,
 * on two kinds of connections, which go on living. */
static void ends_without_a_bell(void (*end)(struct test_sql *sql,
					    struct rowlock_client *client,
					    struct rowlock *lock),
				uint64_t ttl_ms)
{
	const char *name = test_name("end");
	struct test_sql *sql = test_sql_open();
	struct rowlock_client *client = client_of(4, ttl_ms, NULL);
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock *lock;
	struct rowlock_errinfo err;
	struct test_actor holder;
	struct waiter waiter;

	options.max_hold_ms = 60000;
	assert_ok(rowlock_new(client, name, &options, &lock, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	end(sql, client, lock);
	await_free(sql, name);

	holder = actor(name, LONG_TTL_MS);
	assert_int_equal(test_actor_ask(&holder, "acquire 10000"), 0);
	/* Somebody waits, so that the name is a busy one. */
	start(&waiter, client, name, 10);
	assert_int_equal(join(&waiter), ROWLOCK_ETIMEDOUT);
	gives_it_back(&holder);
	assert_ok(rowlock_acquire(lock, ROWLOCK_FOREVER, &err));
	assert_int_not_equal(owner_of(sql, name), 0);
	end(sql, client, lock);
	await_free(sql, name);
	test_actor_end(&holder);
	test_lock_end(lock);
	test_client_end(client);
	test_sql_end(sql);
}

static void by_release(struct test_sql *sql, struct rowlock_client *client,
		       struct rowlock *lock)
{
	struct rowlock_errinfo err;

	(void) sql;
	(void) client;
	assert_ok(rowlock_release(lock, &err));
}

/* The bell is free before the release: that only tells of the loss. */
static void lost(struct test_sql *sql, struct rowlock *lock)
{
	uint64_t since = test_now_ns();
	struct rowlock_errinfo err;

	while (rowlock_held(lock))
		test_keep_waiting(since, "the hold of '%s' to be lost",
				  rowlock_name(lock));
	await_free(sql, rowlock_name(lock));
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
}

static void by_break(struct test_sql *sql, struct rowlock_client *client,
		     struct rowlock *lock)
{
	struct rowlock_errinfo err;

	assert_ok(
	    rowlock_break(client, ROWLOCK_LEASE, rowlock_name(lock), &err));
	lost(sql, lock);
}

static void by_eviction(struct test_sql *sql, struct rowlock_client *client,
			struct rowlock *lock)
{
	(void) client;
	test_sql(sql,
		 "DELETE FROM lease_session WHERE id IN (SELECT session FROM "
		 "business_lease WHERE name = '%s')",
		 rowlock_name(lock));
	lost(sql, lock);
}

static void by_hand(struct test_sql *sql, struct rowlock_client *client,
		    struct rowlock *lock)
{
	struct rowlock_errinfo err;

	(void) client;
	test_sql(sql, "DELETE FROM business_lease WHERE name = '%s'",
		 rowlock_name(lock));
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
}

static void no_bell_outlives_its_hold(void **state)
{
	(void) state;
	ends_without_a_bell(by_release, LONG_TTL_MS);
	ends_without_a_bell(by_hand, LONG_TTL_MS);
	ends_without_a_bell(by_break, 1500);
	ends_without_a_bell(by_eviction, 1500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST("processes have it in the order in which they came",
		     processes_have_it_in_the_order_in_which_they_came),
		TEST("lease outlives its lost bell",
		     lease_outlives_its_lost_bell),
		TEST("first in line keeps its bell while it asks",
		     first_in_line_keeps_its_bell_while_it_asks),
		TEST("ghost keeps nobody out", ghost_keeps_nobody_out),
		TEST("killed waiter does not stop the line",
		     killed_waiter_does_not_stop_the_line),
		TEST("killed holder is outlived by the line",
		     killed_holder_is_outlived_by_the_line),
		TEST("who finds no wait connection polls",
		     who_finds_no_wait_connection_polls),
		TEST("without wait connections all poll",
		     without_wait_connections_all_poll),
		TEST("cancel and deadline leave the line",
		     cancel_and_deadline_leave_the_line),
		TEST("no bell outlives its hold", no_bell_outlives_its_hold),
	};

	return test_main(tests);
}
