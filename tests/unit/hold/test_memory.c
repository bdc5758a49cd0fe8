/* SPDX-License-Identifier: MIT */
/*
 * Memory runs out at every point once: a call succeeds, or says so and changes
 * nothing; in both cases all is given back, and nothing is held that its owner
 * does not know of. And how much of it a hold takes.
 */
#include "fake/fake.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/client.h"
#include "fake/memory.h"
#include "hold/handle.h"
#include "test.h"

/* Far more than any call needs. */
#define MOST 200

typedef int (*step_fn)(struct rowlock_client *client, struct rowlock *lock);

static void check_code(int code, unsigned int number)
{
	if (code && code != ROWLOCK_ENOMEM)
		fail_msg("allocation %u: %d (%s)", number, code,
			 rowlock_strerror(code));
}

/* A client is whole: a hold depends on each of these. */
static bool has_its_threads(const struct rowlock_client *client)
{
	return client->deadline.started && client->notifier.started &&
	       client->keeper.started && client->pinger.started &&
	       client->chores.started;
}

FAKE("a client survives every failing allocation")
{
	const struct rowlock_client_options options = fake_options();
	unsigned int number = 0;
	unsigned int refused = 0;
	bool failed = true;

	/* What a process makes once. */
	fake_client_end(fake_client());
	while (failed) {
		struct rowlock_client *client = NULL;
		long live = fake_memory_live();
		int code;

		err = (struct rowlock_errinfo){ 0 };
		fake_setup(state);
		assert_true(++number < MOST);
		fake_memory_fail(number);
		code = rowlock_client_new(&options, &client, &err);
		failed = fake_memory_failed();
		/* A thread that cannot start is the system's refusal. */
		if (code != ROWLOCK_ESYSTEM)
			check_code(code, number);
		assert_int_equal(code != 0, client == NULL);
		assert_int_equal(err.code, code);
		refused += code != 0;
		if (client) {
			assert_true(has_its_threads(client));
			fake_client_end(client);
		}
		assert_int_equal(fake_memory_live(), live);
	}
	assert_true(refused > 3);
}

static int lock_new(struct rowlock_client *client, struct rowlock *lock)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock *made = NULL;
	int code;

	(void) lock;
	options.info = "a text";
	code = rowlock_new(client, "other", &options, &made, &err);
	assert_int_equal(code != 0, made == NULL);
	if (!code)
		assert_int_equal(rowlock_try_free(made, NULL), 0);
	return code;
}

static int acquire(struct rowlock_client *client, struct rowlock *lock)
{
	int code = rowlock_acquire(lock, 0, NULL);

	(void) client;
	assert_int_equal(rowlock_held(lock), code == 0);
	if (!code)
		return 0;
	/* It is nobody's, and can be had as soon as there is memory. */
	assert_int_equal(fake_lease("job"), 0);
	assert_int_equal(fake_row("job"), 0);
	fake_memory_fail(0);
	assert_int_equal(rowlock_acquire(lock, 0, NULL), 0);
	return code;
}

static int use(struct rowlock_client *client, struct rowlock *lock)
{
	uint64_t token;
	int code;

	fake_memory_hold(true);
	assert_int_equal(rowlock_acquire(lock, 0, NULL), 0);
	fake_memory_hold(false);
	code = rowlock_token(lock, &token, NULL);
	check_code(code, 0);
	check_code(rowlock_verify(lock, NULL), 0);
	assert_int_equal(rowlock_held(lock), 1);
	/* To give up what one has needs no memory. */
	assert_int_equal(rowlock_release(lock, NULL), 0);
	(void) client;
	return code;
}

static int lose(struct rowlock_client *client, struct rowlock *lock)
{
	(void) client;
	fake_memory_hold(true);
	assert_int_equal(rowlock_acquire(lock, 0, NULL), 0);
	fake_memory_hold(false);
	/* Nor to lose it. */
	fake_creep(60000);
	assert_int_equal(rowlock_held(lock), 0);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	return 0;
}

static bool in_line_or_back(void *arg)
{
	return fake_bell_line("job") == 1 || !fake_busy(arg);
}

/* What somebody else holds is waited for by its bell. */
static int await_bell(struct rowlock_client *client, struct rowlock *lock)
{
	struct fake_person *bob;
	int code;

	(void) client;
	fake_memory_hold(true);
	bob = fake_person();
	fake_session_add(77);
	fake_lease_add("job", 7, 77);
	fake_bell_take("job");
	fake_memory_hold(false);
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_until(in_line_or_back, bob);
	fake_lease_remove("job");
	fake_bell_ring("job");
	code = fake_hear(bob, NULL);
	fake_session_remove(77);
	if (!code)
		assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
	fake_person_end(bob);
	assert_int_equal(fake_lease("job"), 0);
	return code;
}

static int count(const struct rowlock_entry *entry, void *arg)
{
	(void) entry;
	(*(int *) arg)++;
	return 0;
}

static int list(struct rowlock_client *client, struct rowlock *lock)
{
	struct rowlock_list_options options = ROWLOCK_LIST_OPTIONS_DEFAULT;
	int told = 0;
	int code;

	(void) lock;
	options.pattern = "a*b?";
	options.flags = ROWLOCK_LIST_PROBE;
	code = rowlock_list(client, &options, count, &told, NULL);
	if (!code)
		assert_int_equal(told, 2);
	return code;
}

/* Which may wait for bells. */
static struct rowlock_client *client_that_waits(void)
{
	struct rowlock_client_options options = fake_options();

	options.wait_connections = 1;
	options.flags ^= ROWLOCK_POLL;
	return fake_client_with(&options);
}

/* The n-th allocation of @step fails, for every n that there is. */
static void run(void **state, enum rowlock_strategy strategy, step_fn step,
		unsigned int least_refused)
{
	struct rowlock_client *client = fake_client();
	unsigned int number = 0;
	unsigned int refused = 0;
	bool failed = true;

	/* What a thread makes once. */
	assert_true(rlk_end_prepare());
	fake_client_end(client);
	while (failed) {
		long live = fake_memory_live();
		struct rowlock *lock;
		int code;

		fake_setup(state);
		client = client_that_waits();
		lock = fake_lock(client, strategy, 0, "job");
		assert_true(++number < MOST);
		fake_memory_fail(number);
		code = step(client, lock);
		failed = fake_memory_failed();
		check_code(code, number);
		refused += code != 0;
		rowlock_freep(&lock);
		fake_client_end(client);
		assert_int_equal(fake_memory_live(), live);
		assert_int_equal(fake_sessions(), 0);
	}
	assert_true(refused >= least_refused);
}

FAKE("so does a lock's making")
{
	/* The handle, and its name. */
	run(state, ROWLOCK_LEASE, lock_new, 2);
}

FAKE("so does an acquire")
{
	/* The waker, the hold, the ticket, the session. */
	run(state, ROWLOCK_LEASE, acquire, 4);
	run(state, ROWLOCK_ROW, acquire, 2);
}

FAKE("so does a wait for a bell")
{
	/* As an acquire, and what keeps the bell. */
	run(state, ROWLOCK_LEASE, await_bell, 5);
}

FAKE("so do token, verify and release")
{
	run(state, ROWLOCK_LEASE, use, 0);
	run(state, ROWLOCK_ROW, use, 0);
}

FAKE("so does a loss")
{
	run(state, ROWLOCK_LEASE, lose, 0);
	run(state, ROWLOCK_ROW, lose, 0);
}

FAKE("so does a list")
{
	run(state, ROWLOCK_LEASE, list, 3);
}

/* -------------------------------------------------------------- how much */

/* Few enough for the names' first table. */
#define MANY 32

static struct rowlock *acquired(struct rowlock_client *client, int number)
{
	struct rowlock *lock;
	char name[24];

	snprintf(name, sizeof(name), "job-of-many-%04d", number);
	lock = fake_lock(client, ROWLOCK_LEASE, 0, name);
	assert_int_equal(rowlock_acquire(lock, 0, NULL), 0);
	return lock;
}

static void give_back(struct rowlock *lock)
{
	assert_int_equal(rowlock_release(lock, NULL), 0);
	fake_lock_end(lock);
}

/* A client may have a hundred thousand. A handle, its name, its hold: besides
 * them each has a place in the table, of 8 to 16 bytes. */
FAKE("a lease that is held takes 336 bytes")
{
	FAKE_CLIENT();
	struct rowlock *first = acquired(client, 0);
	struct rowlock *locks[MANY];
	long each = LONG_MAX;

	/* malloc() gives some of them 16 bytes more, which it had left. */
	for (int i = 0; i < MANY; i++) {
		long before = fake_memory_bytes();
		long more;

		locks[i] = acquired(client, 1 + i);
		more = fake_memory_bytes() - before;
		each = more < each ? more : each;
	}
	test_figure((double) each, "bytes", "for a lease that is held");
	assert_in_range(each, 1, 336);
	for (int i = 0; i < MANY; i++)
		give_back(locks[i]);
	give_back(first);
}

_Static_assert(sizeof(struct rowlock_client) < 16384,
	       "a client takes less than 16 KiB");

/* The hold, and a ticket for each of the two: the rest is there. */
FAKE("a lone pair takes three allocations")
{
	FAKE_CLIENT();
	FAKE_LOCK_AS(lock, acquired(client, 0));
	long before;

	assert_int_equal(rowlock_release(lock, NULL), 0);
	before = fake_memory_made();
	assert_int_equal(rowlock_acquire(lock, 0, NULL), 0);
	assert_int_equal(rowlock_release(lock, NULL), 0);
	assert_in_range(fake_memory_made() - before, 1, 3);
}

CASE_MAIN(case_main)
