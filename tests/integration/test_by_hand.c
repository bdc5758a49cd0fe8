// SPDX-License-Identifier: MIT
/*
 * Tables that somebody has changed by hand under clients that use them: rows
 * that went, as by a TRUNCATE, and rows that came, as by a dump that is
 * restored. Whoever believes in them hears of it behind a beat.
 */
#include <rowlock/multilock.h>
#include <rowlock/rwlock.h>
#include <rowlock/semaphore.h>

#include "actor.h"
#include "sql.h"
#include "test.h"

#define TTL_MS 1500

/* As who empties a table does it: nobody is told. */
static void delete_by_hand(const char *name)
{
	TEST_SQL(sql);

	assert_true(test_sql(sql,
			     "DELETE FROM business_lease WHERE name = '%s' "
			     "ORDER BY slot LIMIT 1",
			     name) == 1);
}

CASE("a row that is deleted is missed by the next beat")
{
	const char *name = test_name("deleted");
	uint64_t ttl = test_ttl_ms(TTL_MS);
	TEST_ACTOR(actor, test_actor_start(ROWLOCK_LEASE, name, ttl));
	uint64_t began;

	assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
	began = test_now_ns();
	delete_by_hand(name);
	assert_int_equal(test_actor_ask(&actor, "await_lost"), 1);
	test_figure(test_ms(began, actor.at), "ms",
		    "lease: row deleted by hand to lost callback, TTL %d ms",
		    (int) ttl);
	assert_int_equal(test_actor_ask(&actor, "held"), 0);
	assert_int_equal(test_actor_ask(&actor, "release"), ROWLOCK_ELOST);
	assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
	assert_int_equal(test_actor_ask(&actor, "release"), 0);
}

/* One of several rows is enough. */
CASE("one row of several that is deleted is missed")
{
	const char *names[] = { test_name("one"), test_name("two"),
				test_name("permits"), test_name("reader"),
				test_name("writer") };
	struct rowlock_client *client = test_client(test_ttl_ms(TTL_MS));
	struct test_event lost[4];
	struct rowlock *locks[4];
	struct rowlock *others[2];

	assert_ok(
	    rowlock_multilock_new(client, names, 2, NULL, &locks[0], &err));
	assert_ok(
	    rowlock_semaphore_new(client, names[2], 3, NULL, &locks[1], &err));
	assert_ok(rowlock_rwlock_new(client, names[3], NULL, &locks[2],
				     &others[0], &err));
	assert_ok(rowlock_rwlock_new(client, names[4], NULL, &others[1],
				     &locks[3], &err));
	for (size_t i = 0; i < TEST_SIZE(lost); i++) {
		lost[i] = test_event_new();
		rowlock_on_lost(locks[i], test_event_note, &lost[i]);
		assert_ok(i == 1
			      ? rowlock_semaphore_acquire(locks[i], 2, 0, &err)
			      : rowlock_acquire(locks[i], 0, &err));
	}
	/* One that is missed has all looked at. */
	for (size_t i = 0; i < TEST_SIZE(lost); i++) {
		delete_by_hand(names[i + 1]);
		assert_event(&lost[i], "the loss of what lacks the row of '%s'",
			     names[i + 1]);
	}
	for (size_t i = 0; i < TEST_SIZE(locks); i++)
		rowlock_freep(&locks[i]);
	for (size_t i = 0; i < TEST_SIZE(others); i++)
		rowlock_freep(&others[i]);
	test_client_end(client);
	for (size_t i = 0; i < TEST_SIZE(lost); i++)
		test_event_end(&lost[i]);
}

/* A dump that is restored brings back the session as it was, and rows of names
 * that were given back. */
CASE("a session that a dump brings back as it was is given up")
{
	const char *name = test_name("restored");
	const char *back = test_name("back");
	uint64_t ttl = test_ttl_ms(TTL_MS);
	TEST_ACTOR(actor, test_actor_start(ROWLOCK_LEASE, name, ttl));
	TEST_CLIENT(other, test_client(ttl));
	TEST_LOCK(lock, test_lock(other, ROWLOCK_LEASE, 0, back));
	TEST_SQL(sql);
	uint64_t began = test_now_ns();
	uint64_t session;

	assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
	session = test_sql_number(
	    sql, "SELECT session FROM business_lease WHERE name = '%s'", name);
	while (test_sql_number(sql,
			       "SELECT beat FROM lease_session WHERE id = %llu",
			       (unsigned long long) session) < 2)
		test_keep_waiting(began, "two beats");
	test_sql(sql,
		 "INSERT INTO business_lease (name, slot, session, attempt, "
		 "acquired_at) VALUES ('%s', 0, %llu, 4711, UTC_TIMESTAMP(6))",
		 back, (unsigned long long) session);
	test_sql(sql, "UPDATE lease_session SET beat = 0 WHERE id = %llu",
		 (unsigned long long) session);
	assert_int_equal(test_actor_ask(&actor, "await_lost"), 1);
	assert_ok(rowlock_acquire(lock, test_patience_ms(), &err));
	assert_ok(rowlock_release(lock, &err));
	assert_int_equal(test_actor_ask(&actor, "release"), ROWLOCK_ELOST);
	assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
	assert_int_equal(test_actor_ask(&actor, "release"), 0);
}

CASE_MAIN(test_main)
