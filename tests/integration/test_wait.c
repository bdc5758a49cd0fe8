// SPDX-License-Identifier: MIT
/*
 * Waiting: tries, deadlines, cancels, and the order of waiters in a process.
 *
 * Nothing here judges how long something took; a wait that does not end is
 * caught by meson's own time-out.
 */
#include <pthread.h>
#include <string.h>

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
	struct rowlock_client *client = test_client(TTL_MS);
	struct test_actor actor = test_actor_start(strategy, name, TTL_MS);
	struct rowlock *holder = test_lock(client, strategy, 0, name);
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
	test_lock_end(holder);
	test_lock_end(waiter.lock);
	test_client_end(client);
	test_actor_end(&actor);
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

CASE("a timed wait ends as TIMEDOUT, a try as BUSY")
{
	const char *name = test_name("timed");
	TEST_CLIENT(client, test_client(TTL_MS));
	uint64_t began;
	size_t i;

	for (i = 0; i < TEST_SIZE(both); i++) {
		struct test_actor actor =
		    test_actor_start(both[i], name, TTL_MS);
		struct rowlock *lock = test_lock(client, both[i], 0, name);

		assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
		assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_EBUSY,
			    &err);
		began = test_now_ns();
		assert_code(rowlock_acquire(lock, 350, &err), ROWLOCK_ETIMEDOUT,
			    &err);
		test_figure(test_ms(began, test_now_ns()), "ms",
			    "%s: a wait of 350 ms on a busy name took",
			    both[i] ? "row" : "lease");
		assert_non_null(strstr(err.message, name));
		assert_int_equal(test_actor_ask(&actor, "release"), 0);
		test_lock_end(lock);
		test_actor_end(&actor);
	}
}

struct line {
	struct waiter waiter;
	int number;
	int *order;
	int *served;
};

static void *stand_in_line(void *arg)
{
	struct line *line = arg;
	struct waiter *waiter = &line->waiter;

	waiter->code =
	    rowlock_acquire(waiter->lock, ROWLOCK_FOREVER, &waiter->err);
	if (waiter->code)
		return NULL;
	line->order[(*line->served)++] = line->number; /* under the lock */
	waiter->code = rowlock_release(waiter->lock, &waiter->err);
	return NULL;
}

/* Who came first cannot be seen from outside, so only this is checked: each is
 * served, once. The order is a matter of the queue's own tests. */
CASE("all waiters of a process are served")
{
	const char *name = test_name("line");
	TEST_CLIENT(client, test_client(TTL_MS));
	TEST_LOCK(holder, test_lock(client, ROWLOCK_LEASE, 0, name));
	struct line lines[20];
	int order[20], served = 0, seen = 0;
	int i;

	assert_ok(rowlock_acquire(holder, 0, &err));
	for (i = 0; i < 20; i++) {
		lines[i] = (struct line){ .number = i,
					  .order = order,
					  .served = &served };
		lines[i].waiter.lock =
		    test_lock(client, ROWLOCK_LEASE, 0, name);
		assert_int_equal(pthread_create(&lines[i].waiter.thread, NULL,
						stand_in_line, &lines[i]),
				 0);
	}
	assert_ok(rowlock_release(holder, &err));
	for (i = 0; i < 20; i++) {
		assert_int_equal(end_waiter(&lines[i].waiter), 0);
		test_lock_end(lines[i].waiter.lock);
	}
	assert_int_equal(served, 20);
	for (i = 0; i < 20; i++)
		seen |= 1 << order[i];
	assert_int_equal(seen, (1 << 20) - 1);
}

CASE("a waiter gets the name when its holder lets go")
{
	const char *name = test_name("next");
	size_t i;

	for (i = 0; i < TEST_SIZE(both); i++) {
		struct test_actor a = test_actor_start(both[i], name, TTL_MS);
		struct test_actor b = test_actor_start(both[i], name, TTL_MS);

		assert_int_equal(test_actor_ask(&a, "acquire 0"), 0);
		test_actor_tell(&b, "wait");
		assert_int_equal(test_actor_ask(&a, "release"), 0);
		assert_int_equal(test_actor_hear(&b), 0);
		test_figure(test_ms(a.at, b.at), "ms",
			    "%s: from a release to the next process's hold",
			    both[i] ? "row" : "lease");
		assert_int_equal(test_actor_ask(&b, "release"), 0);
		test_actor_end(&a);
		test_actor_end(&b);
	}
}

CASE_MAIN(test_main)
