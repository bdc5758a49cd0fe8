// SPDX-License-Identifier: MIT
/*
 * Waits for another process: how they end. Deadlines, and the order of waiters,
 * are in unit/wait.
 *
 * Nothing here judges how long something took; a wait that does not end is
 * caught by meson's own time-out.
 */
#include <pthread.h>

#include "actor.h"
#include "test.h"

#define TTL_MS 10000

static const enum rowlock_strategy both[] = { ROWLOCK_LEASE, ROWLOCK_ROW };

struct waiter {
	struct rowlock *lock;
	uint64_t wait_ms;
	struct rowlock_errinfo err;
	pthread_t thread;
	int code;
};

static void *wait_for_it(void *arg)
{
	struct waiter *waiter = arg;

	waiter->code =
	    rowlock_acquire(waiter->lock, waiter->wait_ms, &waiter->err);
	if (!waiter->code)
		waiter->code = rowlock_release(waiter->lock, &waiter->err);
	return NULL;
}

static void start_waiter(struct waiter *waiter)
{
	assert_int_equal(
	    pthread_create(&waiter->thread, NULL, wait_for_it, waiter), 0);
}

static int end_waiter(struct waiter *waiter)
{
	pthread_join(waiter->thread, NULL);
	return waiter->code;
}

/* It asks the server and waits with its own end outstanding. */
static void *wait_canceled(void *arg)
{
	struct waiter *waiter = arg;

	pthread_cancel(pthread_self());
	waiter->code =
	    rowlock_acquire(waiter->lock, waiter->wait_ms, &waiter->err);
	return NULL;
}

/* pthread_cancel() comes when the call is over: a thread that ended in it would
 * take a mutex and its place in the line with it. */
CASE("a thread is not canceled inside a call")
{
	const char *name = test_name("pthread");
	TEST_CLIENT(client, test_client(TTL_MS));
	size_t i;

	for (i = 0; i < TEST_SIZE(both); i++) {
		struct test_actor actor =
		    test_actor_start(both[i], name, TTL_MS);
		struct waiter waiter = {
			.wait_ms = 20,
			.lock = test_lock(client, both[i], 0, name),
			.code = 1,
		};

		assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
		assert_int_equal(pthread_create(&waiter.thread, NULL,
						wait_canceled, &waiter),
				 0);
		/* Or a busy server has not answered by then. */
		if (end_waiter(&waiter) != ROWLOCK_ECONNECT)
			assert_code(waiter.code, ROWLOCK_ETIMEDOUT,
				    &waiter.err);
		assert_int_equal(test_actor_ask(&actor, "release"), 0);
		test_actor_end(&actor);
		assert_ok(rowlock_acquire(waiter.lock,
					  (uint64_t) test_patience_ms(), &err));
		assert_ok(rowlock_release(waiter.lock, &err));
		test_lock_end(waiter.lock);
	}
}

/* @held by another process: the wait is in the server. By this one: the wait
 * is in memory. Either must end. */
static void cancels(enum rowlock_strategy strategy, bool far)
{
	const char *name = test_name("cancel");
	TEST_CLIENT(client, test_client(TTL_MS));
	TEST_ACTOR(actor, test_actor_start(strategy, name, TTL_MS));
	TEST_LOCK(holder, test_lock(client, strategy, 0, name));
	struct waiter waiter = { .wait_ms = ROWLOCK_FOREVER,
				 .lock = test_lock(client, strategy, 0, name) };

	if (far)
		assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
	else
		assert_ok(rowlock_acquire(holder, 0, &err));
	start_waiter(&waiter);
	test_cancel(waiter.lock);
	assert_int_equal(end_waiter(&waiter), ROWLOCK_ECANCELED);
	if (far) {
		assert_int_equal(test_actor_ask(&actor, "verify"), 0);
		assert_int_equal(test_actor_ask(&actor, "release"), 0);
	} else {
		assert_ok(rowlock_verify(holder, &err));
		assert_ok(rowlock_release(holder, &err));
	}
	assert_ok(
	    rowlock_acquire(waiter.lock, (uint64_t) test_patience_ms(), &err));
	assert_ok(rowlock_release(waiter.lock, &err));
	test_lock_end(waiter.lock);
}

CASE("a cancel ends a wait for another process")
{
	int round;

	/* The cancel meets the wait at another point each time. */
	for (round = 0; round < 5; round++) {
		cancels(ROWLOCK_LEASE, true);
		cancels(ROWLOCK_ROW, true);
	}
}

CASE("a cancel ends a wait for a thread of this process")
{
	cancels(ROWLOCK_LEASE, false);
	cancels(ROWLOCK_ROW, false);
}

CASE("a waiter gets the name when its holder lets go")
{
	const char *name = test_name("next");
	size_t i;

	for (i = 0; i < TEST_SIZE(both); i++) {
		TEST_ACTOR(a, test_actor_start(both[i], name, TTL_MS));
		TEST_ACTOR(b, test_actor_start(both[i], name, TTL_MS));

		assert_int_equal(test_actor_ask(&a, "acquire 0"), 0);
		test_actor_tell(&b, "wait");
		assert_int_equal(test_actor_ask(&a, "release"), 0);
		assert_int_equal(test_actor_hear(&b), 0);
		test_figure(test_ms(a.at, b.at), "ms",
			    "%s: from a release to the next process's hold",
			    both[i] ? "row" : "lease");
		assert_int_equal(test_actor_ask(&b, "release"), 0);
	}
}

CASE_MAIN(test_main)
