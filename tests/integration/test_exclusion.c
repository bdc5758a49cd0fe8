// SPDX-License-Identifier: MIT
/*
 * One holder at a time: between processes, and between the library and
 * programs that lock rows of business_lock by hand.
 *
 * The holder is an actor or a plain connection; the contender tries, is
 * refused, and gets the lock as soon as the holder lets go.
 */
#include <stdlib.h>

#include "actor.h"
#include "sql.h"
#include "test.h"

#define TTL_MS 10000

static void excludes_processes(enum rowlock_strategy strategy)
{
	const char *name = test_name("exclude");
	TEST_ACTOR(a, test_actor_start(strategy, name, TTL_MS));
	TEST_ACTOR(b, test_actor_start(strategy, name, TTL_MS));

	assert_int_equal(test_actor_ask(&a, "acquire 0"), 0);
	assert_int_equal(test_actor_ask(&b, "acquire 0"), ROWLOCK_EBUSY);
	assert_int_equal(test_actor_ask(&b, "held"), 0);
	test_actor_tell(&b, "wait");
	assert_int_equal(test_actor_ask(&a, "verify"), 0);
	assert_int_equal(test_actor_ask(&a, "release"), 0);
	assert_int_equal(test_actor_hear(&b), 0);
	assert_int_equal(test_actor_ask(&a, "acquire 0"), ROWLOCK_EBUSY);
	assert_int_equal(test_actor_ask(&b, "release"), 0);
}

CASE("a lease is held by one process at a time")
{
	excludes_processes(ROWLOCK_LEASE);
}

CASE("a row is held by one process at a time")
{
	excludes_processes(ROWLOCK_ROW);
}

CASE("one name under two strategies is two locks")
{
	const char *name = test_name("two");
	TEST_ACTOR(a, test_actor_start(ROWLOCK_LEASE, name, TTL_MS));
	TEST_ACTOR(b, test_actor_start(ROWLOCK_ROW, name, TTL_MS));

	assert_int_equal(test_actor_ask(&a, "acquire 0"), 0);
	assert_int_equal(test_actor_ask(&b, "acquire 0"), 0);
	assert_int_equal(test_actor_ask(&a, "release"), 0);
	assert_int_equal(test_actor_ask(&b, "release"), 0);
}

/* How another program makes the row that it is going to lock. */
static void make_row(struct test_sql *sql, const char *name)
{
	test_sql(sql,
		 "INSERT IGNORE INTO business_lock (name, info, created_at) "
		 "VALUES ('%s', 'by hand', UTC_TIMESTAMP(6))",
		 name);
}

CASE("a SELECT FOR UPDATE by hand keeps our row lock out")
{
	const char *name = test_name("hand");
	TEST_ACTOR(actor, test_actor_start(ROWLOCK_ROW, name, TTL_MS));
	TEST_SQL(hand);

	make_row(hand, name);
	test_sql(hand, "BEGIN");
	free(test_sql_text(
	    hand, "SELECT * FROM business_lock WHERE name = '%s' FOR UPDATE",
	    name));
	assert_int_equal(test_actor_ask(&actor, "acquire 0"), ROWLOCK_EBUSY);
	assert_int_equal(test_actor_ask(&actor, "acquire 300"),
			 ROWLOCK_ETIMEDOUT);
	test_actor_tell(&actor, "wait");
	test_sql(hand, "COMMIT");
	assert_int_equal(test_actor_hear(&actor), 0);
	assert_int_equal(test_actor_ask(&actor, "release"), 0);
}

CASE("our row lock keeps a SELECT FOR UPDATE by hand out")
{
	const char *name = test_name("hand");
	TEST_ACTOR(actor, test_actor_start(ROWLOCK_ROW, name, TTL_MS));
	TEST_SQL(hand);

	assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
	test_sql(hand, "SET SESSION innodb_lock_wait_timeout = 1");
	test_sql(hand, "BEGIN");
	assert_int_equal(
	    test_sql_try(
		hand,
		"SELECT * FROM business_lock WHERE name = '%s' FOR UPDATE",
		name),
	    1205);
	test_sql(hand, "ROLLBACK");
	assert_int_equal(test_actor_ask(&actor, "release"), 0);
	test_sql(hand, "BEGIN");
	assert_int_equal(
	    test_sql_number(hand,
			    "SELECT COUNT(*) FROM (SELECT name FROM "
			    "business_lock WHERE name = '%s' FOR UPDATE) x",
			    name),
	    1);
	test_sql(hand, "COMMIT");
}

CASE_MAIN(test_main)
