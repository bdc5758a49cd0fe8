// SPDX-License-Identifier: MIT
/*
 * A process that stands still for longer than its TTL must notice at its
 * first call that it holds nothing any more, and must not touch the hold of
 * whoever came after.
 */
#include "actor.h"
#include "sql.h"
#include "test.h"

#define TTL_MS 1000
#define IDLE_MS 2000 /* the least */

static void pause_once(bool drawn)
{
	const char *name = test_name("paused");
	uint64_t ttl = test_ttl_ms(TTL_MS);
	TEST_ACTOR(a, test_actor_start(ROWLOCK_LEASE, name, ttl));
	TEST_ACTOR(b, test_actor_start(ROWLOCK_LEASE, name, 30000));
	int64_t token = 0;

	assert_int_equal(test_actor_ask(&a, "acquire 0"), 0);
	if (drawn) {
		token = test_actor_ask(&a, "token");
		assert_true(token > 0);
	}
	test_actor_stop(&a);
	/* b's grant says that the TTL is over. */
	assert_int_equal(test_actor_ask(&b, "wait"), 0);
	if (drawn)
		assert_true(test_actor_ask(&b, "token") > token);
	/* The word is in the pipe before it continues: its very first call. */
	test_actor_tell(&a, "held");
	test_actor_continue(&a);
	assert_int_equal(test_actor_hear(&a), 0);
	assert_int_equal(test_actor_ask(&a, "remaining"), 0);
	assert_int_equal(test_actor_ask(&a, "await_lost"), 1);
	if (!drawn)
		assert_int_equal(test_actor_ask(&a, "token"), ROWLOCK_ELOST);
	assert_int_equal(test_actor_ask(&a, "verify"), ROWLOCK_ELOST);
	assert_int_equal(test_actor_ask(&a, "release"), ROWLOCK_ELOST);
	assert_int_equal(test_actor_ask(&a, "lost"), 1);
	assert_int_equal(test_actor_ask(&a, "acquire 0"), ROWLOCK_EBUSY);
	assert_int_equal(test_actor_ask(&b, "verify"), 0);
	assert_int_equal(test_actor_ask(&b, "held"), 1);
	assert_int_equal(test_actor_ask(&b, "release"), 0);
	assert_int_equal(test_actor_ask(&a, "wait"), 0);
	assert_int_equal(test_actor_ask(&a, "release"), 0);
}

CASE("a client that was stopped knows at its first call, and leaves the next "
     "hold alone")
{
	pause_once(true);
}

CASE("a stale holder cannot draw a token")
{
	pause_once(false);
}

/* Let two TTLs pass without a sleep: wait for the end of a dead holder's
 * lease that lives so long. */
static void let_pass(uint64_t ms)
{
	const char *name = test_name("timer");
	struct test_actor dead = test_actor_start(ROWLOCK_LEASE, name, ms);
	TEST_ACTOR(next, test_actor_start(ROWLOCK_LEASE, name, 10000));

	assert_int_equal(test_actor_ask(&dead, "acquire 0"), 0);
	test_actor_kill(&dead);
	assert_int_equal(test_actor_ask(&next, "wait"), 0);
	assert_int_equal(test_actor_ask(&next, "release"), 0);
}

CASE("a pause that nobody else saw loses the hold too")
{
	const char *name = test_name("unseen");
	uint64_t ttl = test_ttl_ms(TTL_MS);
	TEST_ACTOR(a, test_actor_start(ROWLOCK_LEASE, name, ttl));

	assert_int_equal(test_actor_ask(&a, "acquire 0"), 0);
	test_actor_stop(&a);
	let_pass(2 * ttl);
	test_actor_tell(&a, "held");
	test_actor_continue(&a);
	assert_int_equal(test_actor_hear(&a), 0);
	assert_int_equal(test_actor_ask(&a, "await_lost"), 1);
	assert_int_equal(test_actor_ask(&a, "release"), ROWLOCK_ELOST);
}

/* The server ends the session of a peer that is silent for the idle bound; to
 * the server a host that vanished is the same. */
CASE("a row holder that is silent is overtaken")
{
	const char *name = test_name("silent");
	uint64_t idle = test_ttl_ms(IDLE_MS);
	TEST_ACTOR(a, test_actor_start(ROWLOCK_ROW, name, idle));
	TEST_ACTOR(b, test_actor_start(ROWLOCK_ROW, name, idle));
	uint64_t began;

	assert_int_equal(test_actor_ask(&a, "acquire 0"), 0);
	test_actor_stop(&a);
	began = test_now_ns();
	assert_int_equal(test_actor_ask(&b, "wait"), 0);
	test_figure(test_ms(began, b.at), "ms",
		    "row: holder silent to the next hold, idle bound %d ms",
		    (int) idle);
	test_actor_tell(&a, "held");
	test_actor_continue(&a);
	assert_int_equal(test_actor_hear(&a), 0);
	assert_int_equal(test_actor_ask(&a, "await_lost"), 1);
	assert_int_equal(test_actor_ask(&a, "release"), ROWLOCK_ELOST);
	assert_int_equal(test_actor_ask(&b, "verify"), 0);
	assert_int_equal(test_actor_ask(&b, "release"), 0);
}

/* Until a locking read waits in the server; accounts see their own sessions,
 * and nobody else tests now. */
static void await_in_server(struct test_sql *sql)
{
	uint64_t began = test_now_ns();

	while (!test_sql_number(sql,
				"SELECT COUNT(*) FROM "
				"information_schema.PROCESSLIST WHERE "
				"COMMAND = 'Execute' AND INFO "
				"LIKE 'SELECT name FROM business_lock %%'"))
		test_keep_waiting(began, "a locking read of business_lock");
}

/* A silent waiter gets the row from the server when its turn comes, and blocks
 * the others for one bound; its call does not take that for a grant. */
CASE("a row waiter that is silent blocks for a bound, and waits on")
{
	const char *name = test_name("waiter");
	TEST_SQL(sql);
	uint64_t idle = test_ttl_ms(IDLE_MS);
	TEST_ACTOR(a, test_actor_start(ROWLOCK_ROW, name, idle));
	TEST_ACTOR(b, test_actor_start(ROWLOCK_ROW, name, idle));
	TEST_ACTOR(c, test_actor_start(ROWLOCK_ROW, name, idle));
	uint64_t began;

	assert_int_equal(test_actor_ask(&a, "acquire 0"), 0);
	test_actor_tell(&b, "wait");
	await_in_server(sql);
	test_actor_stop(&b);
	began = test_now_ns();
	assert_int_equal(test_actor_ask(&a, "release"), 0);
	assert_int_equal(test_actor_ask(&c, "wait"), 0);
	test_figure(test_ms(began, c.at), "ms",
		    "row: release to the next hold behind a silent waiter, "
		    "idle bound %d ms",
		    (int) idle);
	test_actor_continue(&b);
	assert_int_equal(test_actor_ask(&c, "verify"), 0);
	assert_int_equal(test_actor_ask(&c, "release"), 0);
	assert_int_equal(test_actor_hear(&b), 0);
	assert_int_equal(test_actor_ask(&b, "verify"), 0);
	assert_int_equal(test_actor_ask(&b, "release"), 0);
}

CASE_MAIN(test_main)
