// SPDX-License-Identifier: MIT
/*
 * The list of those that wait: all are there, in the order in which the server
 * serves them; and an account that may not see others is told so.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rowlock/rwlock.h>
#include <rowlock/semaphore.h>

#include "doorbell.h"

#define WAITERS 16

static const char *const programs[] = { "alpha", "beta one", "gamma" };

struct seen {
	size_t count;
	struct {
		enum rowlock_strategy strategy;
		enum rowlock_kind kind;
		enum rowlock_state state;
		uint64_t place, connection, waited_ms;
		unsigned int pid;
		bool since;
		char program[32], host[256], name[128];
	} at[WAITERS + 8];
};

static int see(const struct rowlock_entry *entry, void *arg)
{
	struct seen *seen = arg;

	if (seen->count == TEST_SIZE(seen->at))
		return 1;
	seen->at[seen->count].strategy = entry->strategy;
	seen->at[seen->count].kind = entry->kind;
	seen->at[seen->count].state = entry->state;
	seen->at[seen->count].place = entry->place;
	seen->at[seen->count].connection = entry->connection;
	seen->at[seen->count].waited_ms = entry->held_ms;
	seen->at[seen->count].pid = entry->pid;
	seen->at[seen->count].since = *entry->acquired_at;
	snprintf(seen->at[seen->count].program, 32, "%s", entry->program);
	snprintf(seen->at[seen->count].host, 256, "%s", entry->host);
	snprintf(seen->at[seen->count].name, 128, "%s", entry->name);
	seen->count++;
	return 0;
}

static struct seen look_at(struct rowlock_client *client, const char *name,
			   const char *pattern, char *ret_incomplete)
{
	struct rowlock_list_options options = ROWLOCK_LIST_OPTIONS_DEFAULT;
	struct rowlock_waiters_result result = { .size = sizeof(result) };
	struct seen seen = { .count = 0 };

	options.name = name;
	options.pattern = pattern;
	assert_ok(
	    rowlock_list_waiters(client, &options, see, &seen, &result, &err));
	if (ret_incomplete)
		snprintf(ret_incomplete, 256, "%s", result.incomplete);
	return seen;
}

static struct seen look(struct rowlock_client *client, const char *name)
{
	char incomplete[256];
	struct seen seen = look_at(client, name, NULL, incomplete);

	assert_string_equal(incomplete, "");
	return seen;
}

/* One that may see all. */
static struct rowlock_client *onlooker(void)
{
	struct rowlock_client_options options =
	    test_client_options(LONG_TTL_MS);

	options.dsn = getenv("ROWLOCK_TEST_ADMIN_DSN");
	return test_client_with(&options);
}

/* ------------------------------------------------------------ in order */

/* MariaDB shows waits for rows by a copy that it does not renew before nobody
 * has read it for 100 ms. */
static void leave_unread(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 120000000 }, NULL);
}

static struct seen await_count(struct rowlock_client *client, const char *name,
			       size_t count)
{
	uint64_t since = test_now_ns();
	struct seen seen = look(client, name);

	while (seen.count != count) {
		test_keep_waiting(since, "%zu to wait for '%s': there are %zu",
				  count, name, seen.count);
		leave_unread();
		seen = look(client, name);
	}
	return seen;
}

/* Until as many as @count wait, and the last is @pid; what it sees. */
static struct seen await_waiters(struct rowlock_client *client,
				 const char *name, size_t count, pid_t pid)
{
	uint64_t since = test_now_ns();
	struct seen seen = look(client, name);

	while (seen.count != count ||
	       seen.at[count - 1].pid != (unsigned int) pid) {
		test_keep_waiting(since,
				  "%zu to wait for '%s', process %d last: "
				  "there are %zu",
				  count, name, (int) pid, seen.count);
		leave_unread();
		seen = look(client, name);
	}
	return seen;
}

/* Until the first waiter for a row stands in line: those that come later stand
 * behind it at once, and not in the queue of the row for a slice. */
static void await_first(struct rowlock_client *client, const char *name)
{
	uint64_t since = test_now_ns();
	struct seen seen = look(client, name);

	while (seen.count != 1 || seen.at[0].since) {
		test_keep_waiting(since, "a line for '%s': there are %zu", name,
				  seen.count);
		leave_unread();
		seen = look(client, name);
	}
}

static struct test_actor called(enum rowlock_strategy strategy,
				const char *name, const char *program)
{
	struct test_actor actor;

	assert_int_equal(setenv("ROWLOCK_TEST_PROGRAM", program, 1), 0);
	actor = test_actor_start(strategy, name, LONG_TTL_MS);
	unsetenv("ROWLOCK_TEST_PROGRAM");
	return actor;
}

static void expect_all(const struct seen *seen, const struct test_actor *actors,
		       enum rowlock_strategy strategy, const char *name)
{
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	assert_int_equal(seen->count, WAITERS);
	for (size_t i = 0; i < WAITERS; i++) {
		assert_int_equal(seen->at[i].strategy, strategy);
		assert_int_equal(seen->at[i].kind, ROWLOCK_KIND_LOCK);
		assert_int_equal(seen->at[i].state, ROWLOCK_STATE_WAITING);
		assert_int_equal(seen->at[i].place, i + 1);
		assert_int_equal(seen->at[i].pid, actors[i].pid);
		assert_int_not_equal(seen->at[i].connection, 0);
		assert_string_equal(seen->at[i].name, name);
		assert_string_equal(seen->at[i].host, host);
		assert_string_equal(seen->at[i].program,
				    programs[i % TEST_SIZE(programs)]);
		/* The first in line may have begun at an unknown time. */
		assert_true(seen->at[i].since || i == 0);
		/* The one behind came later. */
		assert_true(i < 2 ||
			    seen->at[i].waited_ms <= seen->at[i - 1].waited_ms);
	}
}

static void are_seen_and_served_in_order(enum rowlock_strategy strategy,
					 const char *name)
{
	TEST_CLIENT(client, onlooker());
	struct test_actor actors[WAITERS], holder;
	struct seen seen;
	size_t i;

	holder = called(strategy, name, "delta");
	assert_int_equal(test_actor_ask(&holder, "acquire 0"), 0);
	for (i = 0; i < WAITERS; i++) {
		actors[i] =
		    called(strategy, name, programs[i % TEST_SIZE(programs)]);
		test_actor_tell(&actors[i], "wait");
		seen = await_waiters(client, name, i + 1, actors[i].pid);
		if (i == 0 && strategy == ROWLOCK_ROW)
			await_first(client, name);
	}
	expect_all(&seen, actors, strategy, name);
	seen = look_at(client, NULL, name, NULL);
	expect_all(&seen, actors, strategy, name);
	assert_int_equal(test_actor_ask(&holder, "release"), 0);
	for (i = 0; i < WAITERS; i++) {
		assert_int_equal(test_actor_hear(&actors[i]), 0);
		assert_int_equal(test_actor_ask(&actors[i], "release"), 0);
		test_actor_end(&actors[i]);
	}
	await_count(client, name, 0);
	test_actor_end(&holder);
}

CASE("waiters for a lease are seen, and served, in order")
{
	are_seen_and_served_in_order(ROWLOCK_LEASE, test_name("lease"));
}

CASE("waiters for a row are seen, and served, in order")
{
	are_seen_and_served_in_order(ROWLOCK_ROW, test_name("row"));
}

/* --------------------------------------------------------------- recipes */

struct thread {
	struct rowlock_client *client;
	struct rowlock *lock;
	pthread_t thread;
	int code;
};

static void *get_and_release(void *arg)
{
	struct thread *thread = arg;

	thread->code = rowlock_acquire(thread->lock, test_patience_ms(), NULL);
	if (!thread->code)
		thread->code = rowlock_release(thread->lock, NULL);
	return NULL;
}

static void go(struct thread *thread)
{
	assert_int_equal(
	    pthread_create(&thread->thread, NULL, get_and_release, thread), 0);
}

static void end_thread(struct thread *thread)
{
	pthread_join(thread->thread, NULL);
	assert_int_equal(thread->code, 0);
	test_end(thread->lock, thread->client);
}

static struct thread semaphore(const char *name)
{
	struct thread thread = { .client = test_client(LONG_TTL_MS) };

	assert_ok(rowlock_semaphore_new(thread.client, name, 1, NULL,
					&thread.lock, &err));
	return thread;
}

/* The first in line asks for them, with the bell; the next one stands. */
CASE("waiters for permits are seen")
{
	const char *name = test_name("permits");
	TEST_CLIENT(client, onlooker());
	struct thread holder, one, two;
	struct seen seen;

	holder = semaphore(name);
	one = semaphore(name);
	two = semaphore(name);
	assert_ok(rowlock_acquire(holder.lock, 0, &err));
	go(&one);
	seen = await_count(client, name, 1);
	assert_int_equal(seen.at[0].kind, ROWLOCK_KIND_PERMIT);
	assert_int_equal(seen.at[0].place, 1);
	assert_false(seen.at[0].since);
	go(&two);
	seen = await_count(client, name, 2);
	assert_int_equal(seen.at[1].kind, ROWLOCK_KIND_PERMIT);
	assert_int_equal(seen.at[1].place, 2);
	assert_int_equal(seen.at[1].pid, getpid());
	assert_int_not_equal(seen.at[0].connection, seen.at[1].connection);
	assert_ok(rowlock_release(holder.lock, &err));
	end_thread(&one);
	end_thread(&two);
	test_end(holder.lock, holder.client);
}

/* A handle of its program's to write with; the reader goes. */
static struct thread writer(const char *name, const char *program)
{
	struct rowlock_client_options options =
	    test_client_options(LONG_TTL_MS);
	struct thread thread = { NULL };
	struct rowlock *reader;

	options.program = program;
	thread.client = test_client_with(&options);
	assert_ok(rowlock_rwlock_new(thread.client, name, NULL, &reader,
				     &thread.lock, &err));
	test_lock_end(reader);
	return thread;
}

/* --------------------------------------------------------- the line of a row
 */

/* A statement on a connection of its own, by hand. */
struct typed {
	struct test_sql *sql;
	char text[512];
	pthread_t thread;
};

static void *type(void *arg)
{
	struct typed *typed = arg;

	free(test_sql_text(typed->sql, "%s", typed->text));
	return NULL;
}

static void put_hex(char *to, const char *text)
{
	for (; *text; text++, to += 2)
		snprintf(to, 3, "%02X", (unsigned char) *text);
}

/* The first in line has the bell, and asks for the row; it is not known since
 * when it waits. The one behind it stands in line, as rowlock_acquire() does.
 */
CASE("the line of a row is behind its first")
{
	const char *name = test_name("line");
	TEST_CLIENT(client, onlooker());
	struct typed first = { .sql = test_sql_open() };
	struct typed second = { .sql = test_sql_open() };
	TEST_SQL(hand);
	char bell[40], hex[81] = "";
	struct seen seen;

	snprintf(bell, sizeof(bell), "%s", bell_of_kind(hand, 'x', name));
	put_hex(hex, bell);
	test_sql(hand, "INSERT INTO business_lock (name) VALUES ('%s')", name);
	test_sql(hand, "BEGIN");
	snprintf(first.text, sizeof(first.text),
		 "SELECT name FROM business_lock WHERE name = '%s' FOR UPDATE",
		 name);
	free(test_sql_text(hand, "%s", first.text));
	assert_int_equal(
	    test_sql_number(first.sql, "SELECT GET_LOCK('%s', 0)", bell), 1);
	pthread_create(&first.thread, NULL, type, &first);
	await_count(client, name, 1);
	snprintf(second.text, sizeof(second.text),
		 "SELECT CAST(GET_LOCK(_utf8mb4 X'%s', 1000) AS SIGNED)"
		 " /* rowlock by hand[7]@db7 */",
		 hex);
	pthread_create(&second.thread, NULL, type, &second);
	seen = await_count(client, name, 2);
	assert_false(seen.at[0].since);
	assert_int_equal(seen.at[0].place, 1);
	assert_string_equal(seen.at[0].program, "");
	assert_true(seen.at[1].since);
	assert_int_equal(seen.at[1].place, 2);
	assert_int_equal(seen.at[1].pid, 7);
	assert_string_equal(seen.at[1].program, "by hand");
	assert_string_equal(seen.at[1].host, "db7");
	test_sql(hand, "COMMIT");
	pthread_join(first.thread, NULL);
	test_sql_end(first.sql);
	pthread_join(second.thread, NULL);
	test_sql_end(second.sql);
}

/* The first of them may be no more in line, and ask by itself. */
CASE("waiters for a read/write lock are seen")
{
	const char *name = test_name("rwlock");
	TEST_CLIENT(client, onlooker());
	struct thread holder = writer(name, "holder");
	struct thread one = writer(name, "one");
	struct thread two = writer(name, "two");
	uint64_t since = test_now_ns();
	struct seen seen;

	assert_ok(rowlock_acquire(holder.lock, 0, &err));
	go(&one);
	go(&two);
	for (;;) {
		seen = look(client, name);
		if (seen.count && seen.at[seen.count - 1].since)
			break;
		test_keep_waiting(since, "one to stand in line for '%s'", name);
	}
	assert_in_range(seen.count, 1, 2);
	for (size_t i = 0; i < seen.count; i++) {
		assert_int_equal(seen.at[i].kind, ROWLOCK_KIND_RWLOCK);
		assert_int_equal(seen.at[i].place, i + 1);
		assert_string_not_equal(seen.at[i].program, "holder");
	}
	assert_ok(rowlock_release(holder.lock, &err));
	end_thread(&one);
	end_thread(&two);
	test_end(holder.lock, holder.client);
}

/* ------------------------------------------------------------ not allowed */

static bool sees_others(struct test_sql *sql)
{
	return test_sql_number(sql, "SELECT COUNT(*) FROM "
				    "information_schema.USER_PRIVILEGES WHERE "
				    "PRIVILEGE_TYPE IN ('PROCESS', 'SUPER')");
}

CASE("an account that may not see others is told so")
{
	const char *name = test_name("blind");
	const char *admin = getenv("ROWLOCK_TEST_ADMIN_DSN");
	TEST_CLIENT(seeing, onlooker());
	TEST_CLIENT(blind, test_client(LONG_TTL_MS));
	TEST_SQL(sql);
	struct test_actor holder, other;
	char incomplete[256];

	if (sees_others(sql))
		skip();
	holder = test_actor_start(ROWLOCK_LEASE, name, LONG_TTL_MS);
	assert_int_equal(test_actor_ask(&holder, "acquire 0"), 0);
	look_at(blind, NULL, "no such name", incomplete);
	assert_non_null(strstr(incomplete, ": GRANT "));
	/* A waiter of another account. */
	test_use_dsn(admin);
	other = test_actor_start(ROWLOCK_LEASE, name, LONG_TTL_MS);
	test_use_dsn(NULL);
	test_actor_tell(&other, "wait");
	await_waiters(seeing, name, 1, other.pid);
	assert_int_equal(look_at(blind, name, NULL, incomplete).count, 0);
	assert_non_null(strstr(incomplete, ": GRANT "));
	assert_int_equal(test_actor_ask(&holder, "release"), 0);
	assert_int_equal(test_actor_hear(&other), 0);
	assert_int_equal(test_actor_ask(&other, "release"), 0);
	test_actor_end(&other);
	test_actor_end(&holder);
}

CASE("wrong questions are refused")
{
	TEST_CLIENT(client, test_client(LONG_TTL_MS));
	struct rowlock_list_options options = ROWLOCK_LIST_OPTIONS_DEFAULT;
	struct rowlock_waiters_result result = { .size = 3 };
	struct seen seen = { .count = 0 };

	assert_code(
	    rowlock_list_waiters(client, &options, NULL, NULL, NULL, &err),
	    ROWLOCK_EINVAL, &err);
	assert_code(
	    rowlock_list_waiters(client, &options, see, &seen, &result, &err),
	    ROWLOCK_EINVAL, &err);
	options.name = options.pattern = "n";
	assert_code(
	    rowlock_list_waiters(client, &options, see, &seen, NULL, &err),
	    ROWLOCK_EINVAL, &err);
	options.pattern = NULL;
	options.flags = 1u << 30;
	assert_code(
	    rowlock_list_waiters(client, &options, see, &seen, NULL, &err),
	    ROWLOCK_EINVAL, &err);
	assert_code(
	    rowlock_list_waiters(NULL, &options, see, &seen, NULL, &err),
	    ROWLOCK_EINVAL, &err);
}

int main(void)
{
	if (!getenv("ROWLOCK_TEST_ADMIN_DSN"))
		return test_skip_all("needs an account that may see all: set "
				     "ROWLOCK_TEST_ADMIN_DSN");
	return test_main();
}
