/* SPDX-License-Identifier: MIT */
/*
 * Names that stay taken for a time from their grant: TTL 30 s, and 60 s of
 * that time.
 */
#include "fake/fake.h"

#include <string.h>

#include "core/cut_off.h"
#include "hold/handle.h"
#include "test.h"

#define AT_LEAST_MS 60000

static struct rowlock *keeping_lock(struct rowlock_client *client)
{
	const struct rowlock_options options = { .size = sizeof(options),
						 .at_least_ms = AT_LEAST_MS };
	struct rowlock *lock = NULL;

	assert_ok(rowlock_new(client, "job", &options, &lock, &err));
	return lock;
}

/* The client has its session: what is opened next is a keep. */
static struct rowlock_client *client_with_session(void)
{
	struct rowlock_client *client = fake_client();
	struct rowlock *other = fake_lock(client, ROWLOCK_LEASE, 0, "other");

	assert_ok(rowlock_acquire(other, 0, &err));
	assert_ok(rowlock_release(other, &err));
	fake_lock_end(other);
	return client;
}

static void expect_free(struct rowlock_client *client)
{
	FAKE_LOCK(other, client, ROWLOCK_LEASE, 0, "job");

	assert_ok(rowlock_acquire(other, 0, &err));
	assert_ok(rowlock_release(other, &err));
}

FAKE("the name is nobody's until its time is over")
{
	FAKE_CLIENT_AS(client, client_with_session());
	FAKE_LOCK_AS(lock, keeping_lock(client));

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_release(lock, &err));
	assert_int_equal(fake_count(FAKE_KEEP_TAKE), 1);
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_EBUSY, &err);
}

/* The first sending may have released it: then the row went when its time was
 * over. */
FAKE("a release that was not answered does not call it lost")
{
	FAKE_CLIENT_AS(client, client_with_session());
	FAKE_LOCK_AS(lock, keeping_lock(client));

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_lease_remove("job");
	fake_next(FAKE_KEEP_RELEASE,
		  (struct fake_answer){ .given = true, .result = RLK_UNKNOWN });
	assert_code(rowlock_release(lock, &err), ROWLOCK_EUNKNOWN, &err);
	assert_int_equal(fake_count(FAKE_KEEP_RELEASE), 2);
}

/* A wait has its time for all that comes with the grant. */
FAKE("a keep without an answer is a wait that timed out")
{
	static const enum fake_op steps[] = { FAKE_OPEN, FAKE_KEEP_TAKE };

	for (size_t i = 0; i < TEST_SIZE(steps); i++) {
		FAKE_CLIENT_AS(client, client_with_session());
		FAKE_LOCK_AS(lock, keeping_lock(client));
		struct fake_person *bob = fake_person();
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
	}
}

/* @bob's acquire is granted, and canceled while its keep is on its way. */
static void cancel_at_the_keep(struct fake_person *bob, struct rowlock *lock)
{
	fake_next(FAKE_KEEP_TAKE, (struct fake_answer){ .wait = true });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, 500);
	fake_await(FAKE_KEEP_TAKE, 1);
	assert_int_equal(rowlock_cancel(lock), 1);
}

/* The grant was first. */
FAKE("a cancel while the name is kept comes too late")
{
	FAKE_CLIENT_AS(client, client_with_session());
	FAKE_LOCK_AS(lock, keeping_lock(client));
	struct fake_person *bob = fake_person();

	cancel_at_the_keep(bob, lock);
	fake_let(FAKE_KEEP_TAKE);
	assert_ok(fake_hear(bob, &err));
	assert_int_equal(rowlock_held(lock), 1);
	fake_tell(bob, FAKE_DO_RELEASE, lock, 0);
	assert_ok(fake_hear(bob, &err));
	/* The next acquire is not touched. */
	assert_ok(rowlock_break(client, ROWLOCK_LEASE, "job", &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_release(lock, &err));
	fake_person_end(bob);
}

FAKE("a cancel ends an acquire whose grant is lost before it is kept")
{
	FAKE_CLIENT_AS(client, client_with_session());
	FAKE_LOCK_AS(lock, keeping_lock(client));
	struct fake_person *bob = fake_person();

	cancel_at_the_keep(bob, lock);
	fake_lease_remove("job");
	fake_let(FAKE_KEEP_TAKE);
	assert_code(fake_hear(bob, &err), ROWLOCK_ECANCELED, &err);
	assert_int_equal(rowlock_held(lock), 0);
	expect_free(client);
	fake_person_end(bob);
}

/* Its row may be there since it was sent: its time counts from then, not from
 * the answer. */
FAKE("a hold is no longer good than its keep")
{
	FAKE_CLIENT_AS(client, client_with_session());
	FAKE_LOCK_AS(lock, keeping_lock(client));
	int64_t t0 = fake_now(), until;

	fake_next(FAKE_OPEN, (struct fake_answer){ .creep_ms = 4000 });
	assert_ok(rowlock_acquire(lock, 0, &err));
	rlk_mutex_lock(&client->mutex);
	until = lock->hold->upkeep->keep.until_ms;
	rlk_mutex_unlock(&client->mutex);
	assert_int_equal(until, t0 + AT_LEAST_MS * 9 / 10);
	assert_ok(rowlock_release(lock, &err));
}

/* As sessions are, whatever their number and their ends. */
FAKE("keeps are beaten with the session, by one statement")
{
	struct rowlock_client *client = fake_client();
	struct rowlock *locks[3];
	char name[] = "jobA";

	for (size_t i = 0; i < TEST_SIZE(locks); i++) {
		const struct rowlock_options options = {
			.size = sizeof(options),
			.at_least_ms = AT_LEAST_MS * (i + 1),
		};

		name[3] = (char) ('A' + i);
		assert_ok(rowlock_new(client, name, &options, &locks[i], &err));
		assert_ok(rowlock_acquire(locks[i], 0, &err));
	}
	for (unsigned int beats = 1; beats <= 2; beats++) {
		fake_advance(10000);
		fake_await(FAKE_BEAT, beats);
		fake_await(FAKE_KEEPS_BEAT, beats);
		assert_int_equal(fake_call(FAKE_KEEPS_BEAT, beats - 1).id, 3);
	}
	for (size_t i = 0; i < TEST_SIZE(locks); i++) {
		assert_ok(rowlock_release(locks[i], &err));
		fake_lock_end(locks[i]);
	}
	assert_int_equal(fake_count(FAKE_KEEPS_BEAT), 2);
	rowlock_client_free(client);
}

/* Its session may live on, which says nothing of the keep. */
FAKE("a keep that was evicted has lost its hold")
{
	FAKE_CLIENT_AS(client, client_with_session());
	FAKE_LOCK_AS(lock, keeping_lock(client));
	_Atomic int losses = 0;

	rowlock_on_lost(lock, fake_count_loss, &losses);
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_session_remove(fake_call(FAKE_KEEP_TAKE, 0).id);
	fake_advance(10000);
	fake_until(fake_is_one, &losses);
	assert_string_equal(rowlock_lost_reason(lock),
			    "its session was evicted as dead");
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
}

/* The look for breaks waits, so that it is the keeper that misses the keep. */
static void expect_broken(struct rowlock *lock, _Atomic int *losses)
{
	fake_until(fake_is_one, losses);
	assert_string_equal(rowlock_lost_reason(lock), "it was broken by hand");
	fake_let(FAKE_LEASES_OF);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
}

FAKE("a keep that went with a break before the beat was broken")
{
	FAKE_CLIENT_AS(client, client_with_session());
	FAKE_LOCK_AS(lock, keeping_lock(client));
	_Atomic int losses = 0;

	rowlock_on_lost(lock, fake_count_loss, &losses);
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_next(FAKE_LEASES_OF, (struct fake_answer){ .wait = true });
	fake_lease_break("job");
	fake_advance(10000);
	expect_broken(lock, &losses);
}

FAKE("a keep that went with a break behind the beat was broken")
{
	FAKE_CLIENT_AS(client, client_with_session());
	FAKE_LOCK_AS(lock, keeping_lock(client));
	_Atomic int losses = 0;

	rowlock_on_lost(lock, fake_count_loss, &losses);
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_next(FAKE_LEASES_OF, (struct fake_answer){ .wait = true });
	fake_next(FAKE_KEEPS_BEAT, (struct fake_answer){ .wait = true });
	fake_advance(10000);
	fake_await(FAKE_KEEPS_BEAT, 1);
	fake_lease_break("job");
	fake_let(FAKE_KEEPS_BEAT);
	expect_broken(lock, &losses);
}

/* A count that was known when the keep was found says nothing of its end. */
FAKE("a keep that went after another lease was broken was evicted")
{
	FAKE_CLIENT_AS(client, client_with_session());
	FAKE_LOCK_AS(lock, keeping_lock(client));
	FAKE_LOCK(other, client, ROWLOCK_LEASE, 0, "other");
	_Atomic int losses = 0;

	rowlock_on_lost(lock, fake_count_loss, &losses);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_acquire(other, 0, &err));
	fake_lease_break("other");
	fake_advance(10000);
	fake_await(FAKE_KEEPS_BEAT, 1);
	fake_advance(10000);
	fake_await(FAKE_KEEPS_BEAT, 2);
	fake_session_remove(fake_call(FAKE_KEEP_TAKE, 0).id);
	fake_advance(10000);
	fake_until(fake_is_one, &losses);
	assert_string_equal(rowlock_lost_reason(lock),
			    "its session was evicted as dead");
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	assert_code(rowlock_release(other, &err), ROWLOCK_ELOST, &err);
}

static struct rowlock *delaying_lock(struct rowlock_client *client)
{
	const struct rowlock_options options = { .size = sizeof(options),
						 .delay_after_loss_ms =
						     AT_LEAST_MS };
	struct rowlock *lock = NULL;

	assert_ok(rowlock_new(client, "job", &options, &lock, &err));
	return lock;
}

FAKE("a delay is for losses only")
{
	FAKE_CLIENT_AS(client, client_with_session());
	FAKE_LOCK_AS(lock, delaying_lock(client));
	uint64_t keep;

	assert_ok(rowlock_acquire(lock, 0, &err));
	keep = fake_call(FAKE_KEEP_TAKE, 0).id;
	assert_ok(rowlock_release(lock, &err));
	assert_int_equal(fake_count(FAKE_KEEP_RELEASE), 0);
	assert_false(fake_session_there(keep));
	expect_free(client);
}

/* Nothing is done, and that is not known; it takes @ms. */
static struct fake_answer no_answer_for(uint64_t ms)
{
	return (struct fake_answer){
		.given = true, .skip = true, .result = RLK_UNKNOWN, .ms = ms
	};
}

/* The DELETE has no answer in the call's time. */
FAKE("the chores remove a released lock that delays, and its keep")
{
	FAKE_CLIENT_AS(client, client_with_session());
	FAKE_LOCK_AS(lock, delaying_lock(client));
	unsigned int before;
	uint64_t keep;

	assert_ok(rowlock_acquire(lock, 0, &err));
	keep = fake_call(FAKE_KEEP_TAKE, 0).id;
	before = fake_count(FAKE_CLOSE);
	fake_next(FAKE_RELEASE, no_answer_for(11000));
	assert_int_not_equal(rowlock_release(lock, &err), 0);
	fake_await(FAKE_CLOSE, before + 1);
	assert_false(fake_session_there(keep));
	assert_int_equal(fake_count(FAKE_KEEP_RELEASE), 0);
	expect_free(client);
}

/* The chores are busy, so the row is left to the end of the client. */
FAKE("a client that ends leaves no keep of a released lock")
{
	struct rowlock_client *client = client_with_session();
	struct rowlock *lock = delaying_lock(client);
	uint64_t keep;

	assert_ok(rowlock_acquire(lock, 0, &err));
	keep = fake_call(FAKE_KEEP_TAKE, 0).id;
	fake_next(FAKE_FENCE, (struct fake_answer){ .wait = true });
	rlk_cut_off_note(client, &(struct rlk_mark){ .id = 7 });
	fake_await(FAKE_FENCE, 1);
	fake_next(FAKE_RELEASE, no_answer_for(6000));
	rowlock_client_free(client);
	assert_false(fake_session_there(keep));
	assert_true(fake_lease("job") == 0);
	rowlock_free(lock);
}

FAKE("a lost lock leaves its row to the delay")
{
	struct rowlock_client *client = client_with_session();
	struct rowlock *lock = delaying_lock(client);

	_Atomic int losses = 0;

	rowlock_on_lost(lock, fake_count_loss, &losses);
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_session_remove(fake_call(FAKE_OPEN, 0).id);
	fake_advance(10000);
	fake_until(fake_is_one, &losses);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	/* The client clears up before it is freed. */
	fake_end(lock, client);
	assert_true(fake_lease("job") != 0);
}

CASE_MAIN(case_main)
