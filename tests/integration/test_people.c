// SPDX-License-Identifier: MIT
/*
 * What people and programs around locks use: list, reap, execute.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "actor.h"
#include "sql.h"
#include "test.h"

#define TTL_MS 10000

struct found {
	int entries;
	enum rowlock_strategy strategy;
	enum rowlock_state state;
	unsigned int pid;
	uint64_t held_ms, remaining_ms, attempt, session, token;
	char info[64], program[64], name[128];
};

static int remember(const struct rowlock_entry *entry, void *arg)
{
	struct found *found = arg;

	found->entries++;
	found->strategy = entry->strategy;
	found->state = entry->state;
	found->pid = entry->pid;
	found->held_ms = entry->held_ms;
	found->remaining_ms = entry->remaining_ms;
	found->attempt = entry->attempt;
	found->session = entry->session;
	found->token = entry->token;
	snprintf(found->info, sizeof(found->info), "%s", entry->info);
	snprintf(found->program, sizeof(found->program), "%s", entry->program);
	snprintf(found->name, sizeof(found->name), "%s", entry->name);
	return 0;
}

static struct found look(struct rowlock_client *client,
			 const struct rowlock_list_options *options)
{
	struct found found = { .entries = 0 };

	assert_ok(rowlock_list(client, options, remember, &found, &err));
	return found;
}

CASE("list shows a lease, its holder and its token")
{
	struct rowlock_list_options options = ROWLOCK_LIST_OPTIONS_DEFAULT;
	const char *name = test_name("list");
	TEST_CLIENT(client, test_client(TTL_MS));
	TEST_ACTOR(a, test_actor_start(ROWLOCK_LEASE, name, TTL_MS));
	struct found found;
	int64_t token;

	options.name = name;
	found = look(client, &options);
	assert_int_equal(found.entries, 0);
	assert_int_equal(test_actor_ask(&a, "acquire 0"), 0);
	token = test_actor_ask(&a, "token");
	found = look(client, &options);
	assert_int_equal(found.entries, 1);
	assert_int_equal(found.strategy, ROWLOCK_LEASE);
	assert_int_equal(found.state, ROWLOCK_STATE_HELD);
	assert_string_equal(found.name, name);
	assert_string_equal(found.info, "a test's actor");
	assert_string_equal(found.program, "actor");
	assert_int_equal(found.pid, a.pid);
	assert_true(found.token == (uint64_t) token);
	assert_true(found.session && found.attempt);
	assert_true(found.remaining_ms > 0 && found.remaining_ms <= TTL_MS);
	assert_true(found.held_ms < 3600000);
	assert_int_equal(test_actor_ask(&a, "release"), 0);
}

CASE("list looks at rows only when told to")
{
	struct rowlock_list_options options = ROWLOCK_LIST_OPTIONS_DEFAULT;
	const char *name = test_name("probe");
	TEST_CLIENT(client, test_client(TTL_MS));
	TEST_ACTOR(a, test_actor_start(ROWLOCK_ROW, name, TTL_MS));

	options.name = name;
	assert_int_equal(test_actor_ask(&a, "acquire 0"), 0);
	assert_int_equal(look(client, &options).state, ROWLOCK_STATE_UNKNOWN);
	options.flags = ROWLOCK_LIST_PROBE;
	assert_int_equal(look(client, &options).state, ROWLOCK_STATE_HELD);
	assert_int_equal(test_actor_ask(&a, "verify"), 0);
	assert_int_equal(test_actor_ask(&a, "release"), 0);
	assert_int_equal(look(client, &options).state, ROWLOCK_STATE_FREE);
	assert_int_equal(look(client, &options).strategy, ROWLOCK_ROW);
	options.flags = ROWLOCK_LIST_LEASES;
	assert_int_equal(look(client, &options).entries, 0);
}

/* Its connection is gone. MariaDB does not tell who has it, and MySQL has no
 * thread of it. */
CASE("list shows no row as free that a prepared transaction has locked")
{
	struct rowlock_list_options options = ROWLOCK_LIST_OPTIONS_DEFAULT;
	struct rowlock_client_options as_admin = test_client_options(TTL_MS);
	const char *name = test_name("prepared");
	struct test_sql *sql = test_sql_open();
	TEST_SQL(later);

	as_admin.dsn = getenv("ROWLOCK_TEST_ADMIN_DSN");
	if (!as_admin.dsn)
		skip();
	test_sql(sql, "INSERT INTO business_lock (name) VALUES ('%s')", name);
	test_sql(sql, "XA START '%s'", name);
	test_sql(sql, "UPDATE business_lock SET info = 'x' WHERE name = '%s'",
		 name);
	test_sql(sql, "XA END '%s'", name);
	test_sql(sql, "XA PREPARE '%s'", name);
	test_sql_end(sql);
	options.name = name;
	options.flags = ROWLOCK_LIST_ROWS;
	{
		TEST_CLIENT(admin, test_client_with(&as_admin));

		assert_int_not_equal(look(admin, &options).state,
				     ROWLOCK_STATE_FREE);
	}
	test_sql(later, "XA ROLLBACK '%s'", name);
	test_sql(later, "DELETE FROM business_lock WHERE name = '%s'", name);
}

CASE("list takes a shell's pattern")
{
	struct rowlock_list_options options = ROWLOCK_LIST_OPTIONS_DEFAULT;
	TEST_CLIENT(client, test_client(TTL_MS));
	const char *base = test_name("pattern");
	static const char *const ends[] = { "a1", "a2", "b%", "b_" };
	struct rowlock *locks[TEST_SIZE(ends)];
	char name[128];
	size_t i;

	for (i = 0; i < TEST_SIZE(ends); i++) {
		snprintf(name, sizeof(name), "%s%s", base, ends[i]);
		locks[i] = test_lock(client, ROWLOCK_LEASE, 0, name);
		assert_ok(rowlock_acquire(locks[i], 0, &err));
	}
	options.pattern = name;
	snprintf(name, sizeof(name), "%s*", base);
	assert_int_equal(look(client, &options).entries, 4);
	snprintf(name, sizeof(name), "%sa?", base);
	assert_int_equal(look(client, &options).entries, 2);
	snprintf(name, sizeof(name), "%sb%%", base);
	assert_int_equal(look(client, &options).entries, 1);
	snprintf(name, sizeof(name), "%sb_", base);
	assert_int_equal(look(client, &options).entries, 1);
	for (i = 0; i < TEST_SIZE(ends); i++) {
		assert_ok(rowlock_release(locks[i], &err));
		test_lock_end(locks[i]);
	}
}

#define DEAD 40
/* Random enough among the sessions that may be there. */
#define DEAD_ID(i)                                                             \
	(UINT64_C(0x7e57000000000000) + (uint64_t) getpid() * 1000 + (i))

struct reaping {
	struct rowlock_client *client;
	struct rowlock_reap_result result;
	pthread_t thread;
	int code;
};

static void *reap(void *arg)
{
	struct rowlock_reap_options options = ROWLOCK_REAP_OPTIONS_DEFAULT;
	struct reaping *reaping = arg;

	options.batch = 7;
	reaping->result.size = sizeof(reaping->result);
	reaping->code =
	    rowlock_reap(reaping->client, &options, &reaping->result, &err);
	return NULL;
}

static void make_dead(struct test_sql *sql, const char *name)
{
	unsigned int i;

	for (i = 0; i < DEAD; i++) {
		test_sql(sql,
			 "INSERT INTO lease_session (id, ttl, expires_at, "
			 "started_at) VALUES (%llu, 1000, UTC_TIMESTAMP(6) - "
			 "INTERVAL 1 SECOND, UTC_TIMESTAMP(6))",
			 (unsigned long long) DEAD_ID(i));
		test_sql(sql,
			 "INSERT INTO business_lease (name, slot, session, "
			 "attempt, acquired_at) VALUES ('%s %u', 0, %llu, %u, "
			 "UTC_TIMESTAMP(6))",
			 name, i, (unsigned long long) DEAD_ID(i), i + 1);
	}
}

static uint64_t left_of_dead(struct test_sql *sql)
{
	return test_sql_number(sql,
			       "SELECT (SELECT COUNT(*) FROM lease_session "
			       "WHERE id BETWEEN %llu AND %llu) + (SELECT "
			       "COUNT(*) FROM business_lease WHERE session "
			       "BETWEEN %llu AND %llu)",
			       (unsigned long long) DEAD_ID(0),
			       (unsigned long long) DEAD_ID(DEAD - 1),
			       (unsigned long long) DEAD_ID(0),
			       (unsigned long long) DEAD_ID(DEAD - 1));
}

CASE("two reapers remove what is dead and nothing else")
{
	const char *name = test_name("reap");
	TEST_ACTOR(alive, test_actor_start(ROWLOCK_LEASE, name, TTL_MS));
	struct reaping two[2] = { { .client = test_client(TTL_MS) },
				  { .client = test_client(TTL_MS) } };
	TEST_SQL(sql);
	int i;

	assert_int_equal(test_actor_ask(&alive, "acquire 0"), 0);
	make_dead(sql, name);
	assert_int_equal(left_of_dead(sql), 2 * DEAD);
	for (i = 0; i < 2; i++)
		assert_int_equal(
		    pthread_create(&two[i].thread, NULL, reap, &two[i]), 0);
	for (i = 0; i < 2; i++) {
		pthread_join(two[i].thread, NULL);
		assert_int_equal(two[i].code, 0);
		test_client_end(two[i].client);
	}
	assert_int_equal(left_of_dead(sql), 0);
	/* Other tests' dead may be among them, never the same one twice. */
	assert_true(two[0].result.evicted + two[1].result.evicted >= DEAD);
	assert_true(two[0].result.swept + two[1].result.swept >= DEAD);
	assert_int_equal(test_actor_ask(&alive, "verify"), 0);
	assert_int_equal(test_actor_ask(&alive, "release"), 0);
}

/* In a transaction that keeps nothing but this row. */
__attribute__((format(printf, 2, 3))) static void lock_row(
    struct test_sql *hand, const char *format, ...)
{
	char row[256];
	va_list list;

	va_start(list, format);
	vsnprintf(row, sizeof(row), format, list);
	va_end(list);
	test_sql(hand, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
	test_sql(hand, "BEGIN");
	free(test_sql_text(hand, "SELECT 1 FROM %s FOR UPDATE", row));
}

/* What somebody's transaction keeps is left until that ends; it keeps nothing
 * else. */
CASE("what is locked stays, and nothing else")
{
	const char *name = test_name("kept");
	struct reaping reaping = { .client = test_client(TTL_MS) };
	TEST_SQL(hand);
	TEST_SQL(sql);

	make_dead(sql, name);
	lock_row(hand, "lease_session WHERE id = %llu",
		 (unsigned long long) DEAD_ID(3));
	reap(&reaping);
	assert_int_equal(reaping.code, 0);
	/* The session, and its lease. */
	assert_int_equal(left_of_dead(sql), 2);
	test_sql(hand, "COMMIT");
	test_sql(sql, "DELETE FROM lease_session WHERE id = %llu",
		 (unsigned long long) DEAD_ID(3));
	lock_row(hand, "business_lease WHERE name = '%s 3' AND slot = 0", name);
	reap(&reaping);
	assert_int_equal(reaping.code, 0);
	assert_int_equal(left_of_dead(sql), 1);
	test_sql(hand, "COMMIT");
	reap(&reaping);
	assert_int_equal(reaping.code, 0);
	assert_int_equal(left_of_dead(sql), 0);
	test_client_end(reaping.client);
}

/* Each sweep would take it along, wait, and be interrupted. */
CASE("a locked dead neighbour is in the way once")
{
	const char *name = test_name("near");
	TEST_CLIENT(client, test_client(TTL_MS));
	TEST_SQL(hand);
	TEST_SQL(sql);
	uint64_t began, killed;

	make_dead(sql, name);
	test_sql(sql,
		 "DELETE FROM lease_session WHERE id BETWEEN %llu AND %llu",
		 (unsigned long long) DEAD_ID(0),
		 (unsigned long long) DEAD_ID(DEAD - 1));
	lock_row(hand, "business_lease WHERE name = '%s 9' AND slot = 0", name);
	killed = test_sql_status(sql, "Com_kill");
	began = test_now_ns();
	for (unsigned int i = 10; i < 30; i++) {
		char one[128];

		snprintf(one, sizeof(one), "%s %u", name, i);
		TEST_LOCK(lock, test_lock(client, ROWLOCK_LEASE, 0, one));
		assert_ok(rowlock_acquire(lock, 0, &err));
		assert_ok(rowlock_release(lock, &err));
	}
	killed = test_sql_status(sql, "Com_kill") - killed;
	/* Once a second it may be tried again. */
	assert_in_range(killed, 1, 1 + (test_now_ns() - began) / 1000000000);
	test_sql(hand, "COMMIT");
	test_sql(sql, "DELETE FROM business_lease WHERE name LIKE '%s %%'",
		 name);
}

CASE_MAIN(test_main)
