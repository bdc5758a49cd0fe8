/* SPDX-License-Identifier: MIT */
/*
 * Looking which leases were broken, when there are many or memory is short.
 */
#include "fake/fake.h"

#include <stdio.h>

#include "fake/memory.h"
#include "test.h"

#define HOLDS 200

static struct rowlock *locks[HOLDS];
static char names[HOLDS][16];

static struct rowlock_client *hold_many(void)
{
	struct rowlock_client *client = fake_client();

	for (size_t i = 0; i < HOLDS; i++) {
		snprintf(names[i], sizeof(names[i]), "job %zu", i);
		locks[i] = fake_lock(client, ROWLOCK_LEASE, 0, names[i]);
		assert_ok(rowlock_acquire(locks[i], 0, &err));
	}
	return client;
}

static void end(struct rowlock_client *client)
{
	for (size_t i = 0; i < HOLDS; i++)
		rowlock_freep(&locks[i]);
	fake_client_end(client);
}

static bool third_is_lost(void *arg)
{
	(void) arg;
	return !rowlock_held(locks[3]);
}

/* The next beat tells of it; those that were not broken go on. */
static void expect_one_loss(void)
{
	fake_pass_until(third_is_lost, NULL);
	for (size_t i = 0; i < HOLDS; i++)
		assert_int_equal(rowlock_held(locks[i]), i != 3);
}

FAKE("one of many is found")
{
	struct rowlock_client *client = hold_many();

	fake_lease_break("job 3");
	fake_advance(10000);
	expect_one_loss();
	end(client);
}

/* No count of breaks tells of a row that somebody has deleted. */
FAKE("a row that went is missed")
{
	struct rowlock_client *client = hold_many();

	fake_lease_remove("job 3");
	fake_advance(10000);
	expect_one_loss();
	end(client);
}

/* A statement for all of them, behind each beat. */
FAKE("rows that are there take one look a beat")
{
	struct rowlock_client *client = hold_many();

	fake_advance(10000);
	fake_await(FAKE_LEASES_THERE, 1);
	assert_int_equal(fake_call(FAKE_LEASES_THERE, 0).id, HOLDS);
	fake_advance(10000);
	fake_await(FAKE_LEASES_THERE, 2);
	assert_int_equal(fake_count(FAKE_BEAT), 2);
	assert_int_equal(fake_count(FAKE_LEASES_OF), 0);
	end(client);
}

FAKE("a look without memory is made again")
{
	struct rowlock_client *client = hold_many();

	fake_lease_break("job 3");
	/* The first is for the look behind the beat. */
	fake_memory_fail(2);
	fake_advance(10000);
	fake_await(FAKE_LEASES_OF, 1);
	fake_pass_await(FAKE_LEASES_OF, 2);
	assert_true(fake_memory_failed());
	expect_one_loss();
	end(client);
}

/* More than ours can be: such a server is not believed in the rest either. */
FAKE("a look that tells of too many is made again")
{
	struct rowlock_client *client = hold_many();

	fake_lease_break("job 3");
	fake_leases_lied = 1000 * 1000;
	fake_advance(10000);
	fake_pass_await(FAKE_LEASES_OF, 2);
	assert_true(rowlock_held(locks[3]));
	fake_leases_lied = 1000;
	expect_one_loss();
	end(client);
}

CASE_MAIN(case_main)
