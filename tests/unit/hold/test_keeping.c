/* SPDX-License-Identifier: MIT */
/*
 * Names that stay taken for a time from their grant: TTL 30 s, and 60 s of
 * that time.
 */
#include "fake/fake.h"

#include <string.h>

#include "hold/handle.h"
#include "test.h"

#define AT_LEAST_MS 60000

static struct rowlock *keeping_lock(struct rowlock_client *client)
{
	const struct rowlock_options options = { .size = sizeof(options),
						 .at_least_ms = AT_LEAST_MS };
	struct rowlock *lock = NULL;
	struct rowlock_errinfo err;

	assert_ok(rowlock_new(client, "job", &options, &lock, &err));
	return lock;
}

/* The client has its session: what is opened next is a keep. */
static struct rowlock_client *client_with_session(void)
{
	struct rowlock_client *client = fake_client();
	struct rowlock *other = fake_lock(client, ROWLOCK_LEASE, 0, "other");
	struct rowlock_errinfo err;

	assert_ok(rowlock_acquire(other, 0, &err));
	assert_ok(rowlock_release(other, &err));
	fake_lock_end(other);
	return client;
}

static void expect_free(struct rowlock_client *client)
{
	struct rowlock *other = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	struct rowlock_errinfo err;

	assert_ok(rowlock_acquire(other, 0, &err));
	assert_ok(rowlock_release(other, &err));
	fake_lock_end(other);
}

FAKE(name_is_nobodys_until_its_time_is_over,
     "the name is nobody's until its time is over")
{
	struct rowlock_client *client = client_with_session();
	struct rowlock *lock = keeping_lock(client);
	struct rowlock_errinfo err;

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_release(lock, &err));
	assert_int_equal(fake_count(FAKE_KEEP_TAKE), 1);
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_EBUSY, &err);
	fake_end(lock, client);
}

/* A wait has its time for all that comes with the grant. */
FAKE(keep_without_an_answer_is_a_wait_that_timed_out,
     "a keep without an answer is a wait that timed out")
{
	static const enum fake_op steps[] = { FAKE_OPEN, FAKE_KEEP_TAKE };

	for (size_t i = 0; i < TEST_SIZE(steps); i++) {
		struct rowlock_client *client = client_with_session();
		struct rowlock *lock = keeping_lock(client);
		struct fake_person *bob = fake_person();
		struct rowlock_errinfo err;
		unsigned int before = fake_count(steps[i]);

		fake_next(steps[i], (struct fake_answer){ .wait = true });
		fake_tell(bob, FAKE_DO_ACQUIRE, lock, 500);
		fake_await(steps[i], before + 1);
		fake_advance(700);
		assert_code(fake_hear(bob, &err), ROWLOCK_ETIMEDOUT, &err);
		assert_non_null(
		    strstr(err.message, "its name was not kept in time"));
		assert_int_equal(rowlock_held(lock), 0);
		expect_free(client);
		fake_person_end(bob);
		fake_end(lock, client);
	}
}

/* Its row may be there since it was sent: its time counts from then, not from
 * the answer. */
FAKE(hold_is_no_longer_good_than_its_keep,
     "a hold is no longer good than its keep")
{
	struct rowlock_client *client = client_with_session();
	struct rowlock *lock = keeping_lock(client);
	int64_t t0 = fake_now(), until;
	struct rowlock_errinfo err;

	fake_next(FAKE_OPEN, (struct fake_answer){ .creep_ms = 4000 });
	assert_ok(rowlock_acquire(lock, 0, &err));
	rlk_mutex_lock(&client->mutex);
	until = lock->hold->upkeep->keep.until_ms;
	rlk_mutex_unlock(&client->mutex);
	assert_int_equal(until, t0 + AT_LEAST_MS * 9 / 10);
	assert_ok(rowlock_release(lock, &err));
	fake_end(lock, client);
}

CASE_MAIN(case_main)
