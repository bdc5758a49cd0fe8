// SPDX-License-Identifier: MIT
/*
 * How a hold ends against its holder's will: broken by hand, past its maximum.
 * And what a TTL means while all is well: a hold lives as long as its client.
 */
#include <stdio.h>
#include <string.h>

#include "actor.h"
#include "sql.h"
#include "test.h"

#define TTL_MS 1500

CASE("a break is noticed by the next beat")
{
	const char *name = test_name("break");
	uint64_t ttl = test_ttl_ms(TTL_MS);
	TEST_CLIENT(breaker, test_client(ttl));
	TEST_ACTOR(actor, test_actor_start(ROWLOCK_LEASE, name, ttl));
	uint64_t began;

	assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
	began = test_now_ns();
	assert_ok(rowlock_break(breaker, ROWLOCK_LEASE, name, &err));
	assert_int_equal(test_actor_ask(&actor, "await_lost"), 1);
	test_figure(test_ms(began, actor.at), "ms",
		    "lease: break to lost callback, TTL %d ms (a beat each "
		    "third)",
		    (int) ttl);
	assert_int_equal(test_actor_ask(&actor, "held"), 0);
	assert_int_equal(test_actor_ask(&actor, "remaining"), 0);
	assert_int_equal(test_actor_ask(&actor, "release"), ROWLOCK_ELOST);
	assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
	assert_int_equal(test_actor_ask(&actor, "lost"), 1);
	assert_int_equal(test_actor_ask(&actor, "release"), 0);
}

CASE("a break is noticed by verify at once")
{
	const char *name = test_name("break");
	TEST_CLIENT(breaker, test_client(60000));
	TEST_ACTOR(actor, test_actor_start(ROWLOCK_LEASE, name, 60000));

	assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
	assert_int_equal(test_actor_ask(&actor, "verify"), 0);
	assert_ok(rowlock_break(breaker, ROWLOCK_LEASE, name, &err));
	assert_int_equal(test_actor_ask(&actor, "held"), 1);
	assert_int_equal(test_actor_ask(&actor, "verify"), ROWLOCK_ELOST);
	assert_int_equal(test_actor_ask(&actor, "held"), 0);
	assert_int_equal(test_actor_ask(&actor, "await_lost"), 1);
	assert_int_equal(test_actor_ask(&actor, "release"), ROWLOCK_ELOST);
}

CASE("a break of what nobody holds says so")
{
	TEST_CLIENT(client, test_client(TTL_MS));

	assert_code(
	    rowlock_break(client, ROWLOCK_LEASE, test_name("none"), &err),
	    ROWLOCK_ENOTHELD, &err);
	assert_code(rowlock_break(client, ROWLOCK_ROW, test_name("none"), &err),
		    ROWLOCK_ENOTHELD, &err);
	assert_code(rowlock_break(client, ROWLOCK_LEASE, "", &err),
		    ROWLOCK_ENAME, &err);
}

/* Killing a connection needs an account that may find it. */
CASE("a row is broken, or the message says who can do it")
{
	const char *name = test_name("break");
	TEST_CLIENT(breaker, test_client(TTL_MS));
	TEST_ACTOR(actor, test_actor_start(ROWLOCK_ROW, name,
					   test_ttl_ms(2 * TTL_MS)));
	int code;

	assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
	code = rowlock_break(breaker, ROWLOCK_ROW, name, &err);
	if (code == ROWLOCK_EUNSUPPORTED) {
		assert_true(strstr(err.message, "KILL") ||
			    strstr(err.message, "rowlock break -s row"));
		assert_int_equal(test_actor_ask(&actor, "verify"), 0);
		assert_int_equal(test_actor_ask(&actor, "release"), 0);
	} else {
		assert_code(code, 0, &err);
		assert_int_equal(test_actor_ask(&actor, "await_lost"), 1);
		assert_int_equal(test_actor_ask(&actor, "release"),
				 ROWLOCK_ELOST);
	}
}

/* By an account that may neither look who holds a row nor end what is not its
 * own, as that of the tests is where the sandbox is the server. */
CASE("a process ends its own row without the right to KILL")
{
	TEST_EVENT(lost);
	const char *name = test_name("own");
	TEST_CLIENT(client, test_client(TTL_MS));
	TEST_CLIENT(other, test_client(TTL_MS));
	TEST_LOCK(lock, test_lock(client, ROWLOCK_ROW, 0, name));
	TEST_LOCK(next, test_lock(other, ROWLOCK_ROW, 0, name));

	rowlock_on_lost(lock, test_event_note, &lost);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_code(rowlock_acquire(next, 0, &err), ROWLOCK_EBUSY, &err);
	assert_ok(rowlock_break(client, ROWLOCK_ROW, name, &err));
	assert_int_equal(rowlock_held(lock), 0);
	/* It is over in the server as well. */
	assert_ok(rowlock_acquire(next, 0, &err));
	assert_event(&lost, "the lost callback of the broken hold");
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	assert_non_null(strstr(err.message, "broken by hand"));
	assert_ok(rowlock_verify(next, &err));
	assert_ok(rowlock_release(next, &err));
	assert_code(rowlock_break(client, ROWLOCK_ROW, name, &err),
		    ROWLOCK_ENOTHELD, &err);
}

static void past_its_maximum(enum rowlock_strategy strategy)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_client *client = test_client(10000);
	TEST_EVENT(lost);
	const char *name = test_name("maximum");
	TEST_ACTOR(next, test_actor_start(strategy, name, 10000));
	struct rowlock *lock = NULL;

	options.strategy = strategy;
	options.max_hold_ms = 1000;
	assert_ok(rowlock_new(client, name, &options, &lock, &err));
	rowlock_on_lost(lock, test_event_note, &lost);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_true(rowlock_remaining_ms(lock) <= 1000);
	test_actor_tell(&next, "wait");
	assert_event(&lost, "the lost callback: held is %d, %llu ms remain",
		     rowlock_held(lock),
		     (unsigned long long) rowlock_remaining_ms(lock));
	assert_int_equal(rowlock_held(lock), 0);
	assert_int_equal(test_actor_hear(&next), 0);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	assert_int_equal(test_actor_ask(&next, "verify"), 0);
	assert_int_equal(test_actor_ask(&next, "release"), 0);
	test_end(lock, client);
}

CASE("a hold ends at its maximum, and the next one gets it")
{
	past_its_maximum(ROWLOCK_LEASE);
	past_its_maximum(ROWLOCK_ROW);
}

/* Nothing to wait for but time itself: the lease outlives three TTLs because
 * it is kept alive, which a second process confirms by waiting in vain. */
CASE("a hold lives as long as its client beats")
{
	const char *name = test_name("alive");
	uint64_t ttl = test_ttl_ms(1000);
	TEST_ACTOR(a, test_actor_start(ROWLOCK_LEASE, name, ttl));
	TEST_ACTOR(b, test_actor_start(ROWLOCK_LEASE, name, ttl));
	char word[32];

	snprintf(word, sizeof(word), "acquire %llu",
		 (unsigned long long) (3 * ttl));
	assert_int_equal(test_actor_ask(&a, "acquire 0"), 0);
	assert_int_equal(test_actor_ask(&b, word), ROWLOCK_ETIMEDOUT);
	assert_int_equal(test_actor_ask(&a, "held"), 1);
	assert_int_equal(test_actor_ask(&a, "verify"), 0);
	assert_int_equal(test_actor_ask(&a, "lost"), 0);
	assert_int_equal(test_actor_ask(&a, "release"), 0);
}

CASE_MAIN(test_main)
