// SPDX-License-Identifier: MIT
/*
 * A holder is killed by SIGKILL: a row is free when its connection ends, a
 * lease when its session's TTL is over; a try is enough to free it, no daemon
 * needed.
 */
#include "actor.h"
#include "sql.h"
#include "test.h"

static void killed_while_another_waits(enum rowlock_strategy strategy,
				       uint64_t ttl_ms)
{
	const char *name = test_name("killed");
	struct test_actor a = test_actor_start(strategy, name, ttl_ms);
	TEST_ACTOR(b, test_actor_start(strategy, name, 10000));
	uint64_t killed;

	assert_int_equal(test_actor_ask(&a, "acquire 0"), 0);
	assert_int_equal(test_actor_ask(&b, "acquire 0"), ROWLOCK_EBUSY);
	test_actor_tell(&b, "wait");
	killed = test_actor_kill(&a);
	assert_int_equal(test_actor_hear(&b), 0);
	test_figure(test_ms(killed, b.at), "ms",
		    "%s: SIGKILL of the holder to the next hold, TTL %d ms",
		    strategy ? "row" : "lease", (int) ttl_ms);
	assert_int_equal(test_actor_ask(&b, "verify"), 0);
	assert_int_equal(test_actor_ask(&b, "release"), 0);
}

CASE("a killed holder's row is free for the next one")
{
	killed_while_another_waits(ROWLOCK_ROW, 10000);
}

CASE("a killed holder's lease is free after its TTL")
{
	killed_while_another_waits(ROWLOCK_LEASE, test_ttl_ms(1000));
}

/* The session's time is moved on by hand, so that nobody has to sleep. */
CASE("a try frees a dead holder, without a daemon")
{
	const char *name = test_name("dead");
	struct test_actor a = test_actor_start(ROWLOCK_LEASE, name, 30000);
	TEST_ACTOR(b, test_actor_start(ROWLOCK_LEASE, name, 30000));
	TEST_SQL(sql);

	assert_int_equal(test_actor_ask(&a, "acquire 0"), 0);
	test_actor_kill(&a);
	assert_int_equal(test_actor_ask(&b, "acquire 0"), ROWLOCK_EBUSY);
	assert_int_equal(
	    test_sql(sql,
		     "UPDATE lease_session SET expires_at = UTC_TIMESTAMP(6) "
		     "WHERE id = (SELECT session FROM business_lease WHERE "
		     "name = '%s')",
		     name),
	    1);
	assert_int_equal(test_actor_ask(&b, "acquire 0"), 0);
	assert_int_equal(
	    test_sql_number(
		sql, "SELECT COUNT(*) FROM business_lease WHERE name = '%s'",
		name),
	    1);
	assert_int_equal(test_actor_ask(&b, "release"), 0);
	assert_int_equal(
	    test_sql_number(
		sql, "SELECT COUNT(*) FROM business_lease WHERE name = '%s'",
		name),
	    0);
}

CASE("a lease without a session is dead")
{
	const char *name = test_name("orphan");
	TEST_ACTOR(a, test_actor_start(ROWLOCK_LEASE, name, 30000));
	TEST_SQL(sql);

	test_sql(sql,
		 "INSERT INTO business_lease (name, slot, session, attempt, "
		 "acquired_at) VALUES ('%s', 0, 1, 1, UTC_TIMESTAMP(6))",
		 name);
	assert_int_equal(test_actor_ask(&a, "acquire 0"), 0);
	assert_int_equal(test_actor_ask(&a, "verify"), 0);
	assert_int_equal(test_actor_ask(&a, "release"), 0);
}

/* Evicted against its will: by the rules nobody does this to who beats, but
 * a DBA can. The holder must learn it and must not draw. */
CASE("a client that was evicted knows, and starts anew")
{
	const char *name = test_name("evicted");
	TEST_ACTOR(a, test_actor_start(ROWLOCK_LEASE, name, test_ttl_ms(1500)));
	TEST_SQL(sql);

	assert_int_equal(test_actor_ask(&a, "acquire 0"), 0);
	test_sql(sql,
		 "DELETE FROM lease_session WHERE id = (SELECT session FROM "
		 "business_lease WHERE name = '%s')",
		 name);
	assert_int_equal(test_actor_ask(&a, "await_lost"), 1);
	assert_int_equal(test_actor_ask(&a, "held"), 0);
	assert_int_equal(test_actor_ask(&a, "token"), ROWLOCK_ELOST);
	assert_int_equal(test_actor_ask(&a, "release"), ROWLOCK_ELOST);
	assert_int_equal(test_actor_ask(&a, "wait"), 0);
	assert_int_equal(test_actor_ask(&a, "verify"), 0);
	assert_int_equal(test_actor_ask(&a, "release"), 0);
}

CASE_MAIN(test_main)
