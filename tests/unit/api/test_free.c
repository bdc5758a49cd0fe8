/* SPDX-License-Identifier: MIT */
/*
 * rowlock_free() and rowlock_client_free() always free, and release what is
 * held; and what a handle may do that is left over.
 */
#include "fake/fake.h"

#include <rowlock/multilock.h>
#include <rowlock/once.h>
#include <rowlock/watch.h>

#include <sched.h>
#include <string.h>

#include "core/client.h"
#include "hold/handle.h"
#include "test.h"

static const enum rowlock_strategy both[] = { ROWLOCK_LEASE, ROWLOCK_ROW };

static bool is_free(const char *name)
{
	return fake_lease(name) == 0 && fake_row(name) == 0;
}

FAKE("free releases what another thread holds")
{
	for (size_t i = 0; i < TEST_SIZE(both); i++) {
		struct rowlock_client *client = fake_client();
		struct rowlock *lock = fake_lock(client, both[i], 0, "job");
		struct fake_person *bob = fake_person();
		_Atomic int told = 0;

		rowlock_on_lost(lock, fake_count_loss, &told);
		assert_int_equal(fake_ask(bob, FAKE_DO_ACQUIRE, lock, 0), 0);
		assert_int_equal(fake_ask(bob, FAKE_DO_ACQUIRE, lock, 0), 0);
		rowlock_free(lock);
		assert_true(is_free("job"));
		fake_person_end(bob);
		fake_client_end(client);
		assert_int_equal(told, 0);
		fake_setup(state);
	}
}

FAKE("free ends an acquire and waits for it")
{
	FAKE_CLIENT();
	FAKE_LOCK(held, client, ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE, "job");
	struct rowlock *lock =
	    fake_lock(client, ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE, "job");
	FAKE_PERSON(bob);

	assert_ok(rowlock_acquire(held, 0, &err));
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_await_line(lock, 1);
	rowlock_free(lock);
	assert_code(fake_hear(bob, &err), ROWLOCK_ECANCELED, &err);
	assert_ok(rowlock_release(held, &err));
}

static int verify(struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	return rowlock_verify(lock, reterr);
}

static int draw(struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	uint64_t token;

	return rowlock_token(lock, &token, reterr);
}

static int draw_of_set(struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	uint64_t token;

	return rowlock_multilock_token(lock, "job", &token, reterr);
}

static int fail_run(struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	struct rowlock_run run = { .size = sizeof(run), .until_us = 1000000 };

	assert_ok(rowlock_once_begin(lock, &run, reterr));
	return rowlock_once_end(lock, &run, 1, ROWLOCK_ONCE_FAILED, reterr);
}

struct call {
	enum fake_op op; /* of its statement */
	int (*make)(struct rowlock *lock, struct rowlock_errinfo *reterr);
	struct rowlock *lock;
};

static void *make_call(void *arg)
{
	const struct call *call = arg;
	struct rowlock_errinfo error;

	call->make(call->lock, &error);
	return NULL;
}

static void await_freed(struct rowlock *lock)
{
	struct rowlock_client *client = lock->name->client;
	bool freed = false;

	while (!freed) {
		sched_yield();
		rlk_mutex_lock(&client->mutex);
		freed = lock->freed;
		rlk_mutex_unlock(&client->mutex);
	}
}

static void *free_it(void *lock)
{
	rowlock_free(lock);
	return NULL;
}

static void free_during(struct call *call)
{
	static const char *const names[] = { "job" };
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	const struct fake_answer late = {
		.given = true, .skip = true, .wait = true, .result = RLK_REFUSED
	};
	pthread_t caller, freer;
	FAKE_CLIENT();

	options.flags = ROWLOCK_OWNER_HANDLE;
	assert_ok(
	    call->make == draw_of_set
		? rowlock_multilock_new(client, names, 1, &options, &call->lock,
					&err)
		: rowlock_new(client, "job", &options, &call->lock, &err));
	assert_ok(rowlock_acquire(call->lock, 0, &err));
	fake_next(call->op, late);
	assert_int_equal(pthread_create(&caller, NULL, make_call, call), 0);
	fake_await(call->op, 1);
	assert_int_equal(pthread_create(&freer, NULL, free_it, call->lock), 0);
	await_freed(call->lock);
	fake_let(call->op);
	pthread_join(caller, NULL);
	pthread_join(freer, NULL);
}

/* A call that used the lock behind its own end would race with the free, which
 * ThreadSanitizer sees. */
FAKE("free waits until a call on the lock is over")
{
	struct call calls[] = { { .op = FAKE_CONFIRM, .make = verify },
				{ .op = FAKE_DRAW, .make = draw },
				{ .op = FAKE_DRAW, .make = draw_of_set },
				{ .op = FAKE_JOB_FAIL, .make = fail_run } };

	for (size_t i = 0; i < TEST_SIZE(calls); i++) {
		free_during(&calls[i]);
		fake_setup(state);
	}
}

FAKE("free without an answer leaves the row to the client")
{
	FAKE_CLIENT();
	const struct fake_answer no_answer = { .given = true,
					       .skip = true,
					       .result = RLK_UNKNOWN };
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_next(FAKE_RELEASE, no_answer);
	rowlock_free(lock);
	fake_await(FAKE_RELEASE, 2);
	lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	assert_ok(rowlock_acquire(lock, 1000, &err));
	rowlock_free(lock);
}

static void free_itself(struct rowlock *lock, void *arg)
{
	rowlock_free(lock);
	*(_Atomic int *) arg = 1;
}

FAKE("a lost callback may free its lock")
{
	FAKE_CLIENT();
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	_Atomic int done = 0;

	rowlock_on_lost(lock, free_itself, &done);
	assert_ok(rowlock_acquire(lock, 0, &err));
	/* Its thread must not use it from here on: it may be freed. */
	assert_ok(rowlock_break(client, ROWLOCK_LEASE, "job", &err));
	fake_advance(10000);
	fake_until(fake_is_one, &done);
}

struct gate {
	_Atomic int entered;
	_Atomic int open;
};

static void stop_at(struct rowlock *lock, void *arg)
{
	struct gate *gate = arg;

	(void) lock;
	gate->entered = 1;
	while (!gate->open)
		sched_yield();
}

/* The loss of its last hold is due, behind a callback that runs, and the
 * present hold is being released: the loss is told to nobody. */
FAKE("a lock is freed before a loss is told")
{
	struct rowlock_client *client = fake_client();
	struct rowlock *first = fake_lock(client, ROWLOCK_LEASE, 0, "first");
	struct rowlock *second = fake_lock(client, ROWLOCK_LEASE, 0, "second");
	struct rowlock *third = fake_lock(client, ROWLOCK_ROW, 0, "third");
	struct gate gate = { 0 };
	_Atomic int told = 0;
	unsigned int releases;
	pthread_t thread;

	rowlock_on_lost(first, stop_at, &gate);
	rowlock_on_lost(second, fake_count_loss, &told);
	rowlock_on_lost(third, fake_count_loss, &told);
	assert_ok(rowlock_acquire(first, 0, &err));
	assert_ok(rowlock_acquire(second, 0, &err));
	assert_ok(rowlock_acquire(third, 0, &err));
	fake_lease_remove("first");
	fake_lease_remove("second");
	assert_code(rowlock_verify(first, &err), ROWLOCK_ELOST, &err);
	fake_until(fake_is_one, &gate.entered);
	assert_code(rowlock_verify(second, &err), ROWLOCK_ELOST, &err);
	assert_code(rowlock_release(second, &err), ROWLOCK_ELOST, &err);
	/* The chores have looked for what is left of both. */
	fake_await(FAKE_RELEASE, 2);
	assert_ok(rowlock_acquire(second, 0, &err));
	releases = fake_count(FAKE_RELEASE);
	fake_next(FAKE_RELEASE, (struct fake_answer){ .wait = true });
	assert_int_equal(pthread_create(&thread, NULL, free_it, second), 0);
	fake_await(FAKE_RELEASE, releases + 1);
	gate.open = 1;
	/* This callback comes behind that of second. */
	assert_ok(rowlock_break(client, ROWLOCK_ROW, "third", &err));
	fake_until(fake_is_one, &told);
	fake_let(FAKE_RELEASE);
	pthread_join(thread, NULL);
	fake_lock_end(third);
	fake_end(first, client);
	assert_int_equal(told, 1);
}

static void note(const struct rowlock_entry *entry, void *arg)
{
	(void) entry;
	(void) arg;
}

FAKE("a client is freed with all that it has")
{
	struct rowlock_client *client = fake_client();
	struct rowlock *lease = fake_lock(client, ROWLOCK_LEASE, 0, "a");
	struct rowlock *row = fake_lock(client, ROWLOCK_ROW, 0, "b");
	struct rowlock *idle = fake_lock(client, ROWLOCK_LEASE, 0, "c");
	struct rowlock *bobs = fake_lock(client, ROWLOCK_LEASE, 0, "d");
	struct rowlock *lost = fake_lock(client, ROWLOCK_LEASE, 0, "e");
	FAKE_PERSON(bob);
	struct rowlock_watch *watch;

	assert_ok(
	    rowlock_watch_new(client, "a", NULL, note, NULL, &watch, &err));
	assert_ok(rowlock_acquire(lease, 0, &err));
	assert_ok(rowlock_acquire(lease, 0, &err));
	assert_ok(rowlock_acquire(row, 0, &err));
	assert_ok(rowlock_acquire(lost, 0, &err));
	fake_lease_remove("e");
	assert_code(rowlock_verify(lost, &err), ROWLOCK_ELOST, &err);
	assert_int_equal(fake_ask(bob, FAKE_DO_ACQUIRE, bobs, 0), 0);
	assert_code(rowlock_client_try_free(client, &err), ROWLOCK_EHELD, &err);
	rowlock_client_free(client);
	assert_true(is_free("a") && is_free("b") && is_free("d"));
	assert_int_equal(fake_sessions(), 0);
	/* The handles that are left can be freed, and no more. */
	assert_int_equal(rowlock_held(lease), 0);
	assert_code(rowlock_acquire(idle, 0, &err), ROWLOCK_EINVAL, &err);
	assert_non_null(strstr(err.message, "was freed"));
	assert_code(rowlock_release(lease, &err), ROWLOCK_EINVAL, &err);
	assert_string_equal(rowlock_name(idle), "c");
	assert_ok(rowlock_try_free(idle, &err));
	rowlock_free(lease);
	rowlock_free(row);
	rowlock_free(lost);
	rowlock_watch_free(watch);
	rowlock_free(bobs);
}

static void free_the_client(struct rowlock *lock, void *arg)
{
	(void) lock;
	rowlock_client_free(arg);
}

FAKE("a callback frees no client")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	rowlock_on_lost(lock, free_the_client, client);
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_lease_remove("job");
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
	/* Waits for the callback. */
	rowlock_on_lost(lock, NULL, NULL);
}

CASE_MAIN(case_main)
