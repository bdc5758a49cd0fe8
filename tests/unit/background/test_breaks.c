/* SPDX-License-Identifier: MIT */
/*
 * Breaks: looking which leases were broken, when there are many or memory is
 * short; and of a row hold of the client's own, which needs no look who has it,
 * and no right.
 */
#include "fake/fake.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

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

/* -------------------------------------------------------------- its own */

static bool job_is_free(void *arg)
{
	(void) arg;
	return fake_row("job") == 0;
}

FAKE("an own row is ended without a look who has it")
{
	FAKE_JOB(ROWLOCK_ROW, 0);
	FAKE_LOCK(next, client, ROWLOCK_ROW, 0, "job");
	FAKE_PERSON(bob);
	_Atomic int told = 0;

	rowlock_on_lost(lock, fake_count_loss, &told);
	assert_int_equal(fake_ask(bob, FAKE_DO_ACQUIRE, lock, 0), 0);
	/* Its account may not. */
	fake_always(FAKE_BREAK_ROW,
		    (struct fake_answer){
			.given = true, .skip = true, .result = RLK_REFUSED });
	assert_ok(rowlock_break(client, ROWLOCK_ROW, "job", &err));
	assert_int_equal(fake_row("job"), 0);
	assert_int_equal(rowlock_held(lock), 0);
	assert_int_equal(fake_count(FAKE_BREAK_ROW), 0);
	fake_until(fake_is_one, &told);
	assert_ok(rowlock_acquire(next, 0, &err));
	assert_code(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), ROWLOCK_ELOST,
		    NULL);
	assert_ok(rowlock_verify(next, &err));
	assert_ok(rowlock_release(next, &err));
	/* It is nobody's now: asked as any other. */
	assert_code(rowlock_break(client, ROWLOCK_ROW, "job", &err),
		    ROWLOCK_EDB, &err);
}

FAKE("an owner that talks to the server is not waited for")
{
	FAKE_JOB(ROWLOCK_ROW, 0);
	FAKE_PERSON(bob);

	assert_int_equal(fake_ask(bob, FAKE_DO_ACQUIRE, lock, 0), 0);
	fake_next(FAKE_CONFIRM, (struct fake_answer){ .wait = true });
	fake_tell(bob, FAKE_DO_VERIFY, lock, 0);
	fake_await(FAKE_CONFIRM, 1);
	assert_ok(rowlock_break(client, ROWLOCK_ROW, "job", &err));
	assert_int_equal(fake_row("job"), 0);
	assert_true(fake_busy(bob));
	fake_let(FAKE_CONFIRM);
	assert_code(fake_hear(bob, &err), ROWLOCK_ELOST, &err);
	assert_non_null(strstr(err.message, "it was broken by hand"));
	assert_code(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), ROWLOCK_ELOST,
		    NULL);
}

/* It is not known then what the server has seen; it is not held in any case. */
FAKE("a server that does not answer to a break is told of")
{
	FAKE_JOB(ROWLOCK_ROW, 0);

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_always(FAKE_FENCE, (struct fake_answer){ .given = true,
						      .skip = true,
						      .result = RLK_UNKNOWN });
	assert_code(rowlock_break(client, ROWLOCK_ROW, "job", &err),
		    ROWLOCK_ECONNECT, &err);
	assert_non_null(strstr(err.message, "not held any more"));
	assert_int_equal(rowlock_held(lock), 0);
	/* Its connection is closed all the same. */
	fake_until(job_is_free, NULL);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
}

CASE_MAIN(case_main)
