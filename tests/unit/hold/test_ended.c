/* SPDX-License-Identifier: MIT */
/* Holds that end while their client is well: at their maximum, or broken by
 * hand. */
#include "fake/fake.h"

#include <string.h>

#include "hold/handle.h"
#include "test.h"

static const struct fake_answer no_beat = { .given = true,
					    .result = RLK_UNKNOWN };

static struct rowlock *lock_with_maximum(struct rowlock_client *client,
					 enum rowlock_strategy strategy,
					 uint64_t max_hold_ms)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock *lock = NULL;

	options.strategy = strategy;
	options.max_hold_ms = max_hold_ms;
	assert_ok(rowlock_new(client, "job", &options, &lock, &err));
	return lock;
}

static bool is_free(void *arg)
{
	(void) arg;
	return fake_lease("job") == 0 && fake_row("job") == 0;
}

FAKE("a hold ends at its maximum")
{
	static const enum rowlock_strategy strategies[] = { ROWLOCK_LEASE,
							    ROWLOCK_ROW };

	for (size_t i = 0; i < TEST_SIZE(strategies); i++) {
		TEST_EVENT(told);

		fake_setup(state);
		FAKE_CLIENT();
		FAKE_LOCK_AS(lock,
			     lock_with_maximum(client, strategies[i], 2000));
		rowlock_on_lost(lock, test_event_note, &told);
		assert_ok(rowlock_acquire(lock, 0, &err));
		/* A tenth is kept back for clocks that differ. */
		assert_int_equal(rowlock_remaining_ms(lock), 1800);
		fake_advance(1799);
		assert_int_equal(rowlock_held(lock), 1);
		fake_advance(1);
		assert_event(&told, "the lost callback, %s: remain %llu ms",
			     strategies[i] == ROWLOCK_ROW ? "row" : "lease",
			     (unsigned long long) rowlock_remaining_ms(lock));
		assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
		assert_non_null(strstr(err.message, "maximum"));
		/* The session lives; so the row is removed. */
		fake_pass_until(is_free, NULL);
		assert_ok(rowlock_acquire(lock, 0, &err));
		assert_ok(rowlock_release(lock, &err));
	}
}

FAKE("the maximum counts from the first sending")
{
	FAKE_CLIENT();
	FAKE_LOCK_AS(lock, lock_with_maximum(client, ROWLOCK_LEASE, 2000));

	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .given = true,
						      .result = RLK_UNKNOWN,
						      .ms = 700 });
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .ms = 100 });
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_int_equal(rowlock_remaining_ms(lock), 1000);
	assert_ok(rowlock_release(lock, &err));
}

/* Earlier questions, which were refused, have nothing to do with it. */
FAKE("the maximum of a wait counts from its last question")
{
	FAKE_CLIENT();
	FAKE_LOCK_AS(lock, lock_with_maximum(client, ROWLOCK_LEASE, 20000));
	struct fake_person *bob = fake_person();

	fake_session_add(7);
	fake_lease_add("job", 70, 7);
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_await(FAKE_ACQUIRE, 1);
	fake_advance(8000);
	fake_lease_remove("job");
	assert_ok(fake_pass_hear(bob, &err));
	assert_in_range(rowlock_remaining_ms(lock), 16000, 18000);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
	fake_person_end(bob);
}

/* Until it is known what became of the first sending, its row counts: nobody
 * merely looks, as he would see the name held by that very row. */
FAKE("a conflict between does not move the maximum")
{
	FAKE_CLIENT();
	FAKE_LOCK_AS(lock, lock_with_maximum(client, ROWLOCK_LEASE, 20000));
	struct fake_person *bob = fake_person();
	int64_t sent_ms = fake_now();

	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .wait = true,
						      .given = true,
						      .result = RLK_UNKNOWN });
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .given = true,
						      .skip = true,
						      .result = RLK_CONFLICT });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	/* Until here time stands still. */
	fake_await(FAKE_ACQUIRE, 1);
	fake_advance(700);
	fake_let(FAKE_ACQUIRE);
	assert_ok(fake_pass_hear(bob, &err));
	assert_int_equal(fake_call(FAKE_ACQUIRE, 2).ask, RLK_ASK_FIRST);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 3);
	assert_true(fake_lease("job") == fake_call(FAKE_ACQUIRE, 0).attempt);
	assert_int_equal(rowlock_remaining_ms(lock),
			 sent_ms + 18000 - fake_now());
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
	fake_person_end(bob);
}

FAKE("a grant whose maximum is over is given back")
{
	FAKE_CLIENT();
	FAKE_LOCK_AS(lock, lock_with_maximum(client, ROWLOCK_LEASE, 2000));
	struct fake_person *bob = fake_person();

	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .ms = 1800 });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	assert_ok(fake_pass_hear(bob, &err));
	assert_true(fake_call(FAKE_RELEASE, 0).attempt ==
		    fake_call(FAKE_ACQUIRE, 0).attempt);
	assert_true(fake_lease("job") == fake_call(FAKE_ACQUIRE, 1).attempt);
	assert_true(rowlock_remaining_ms(lock) > 1700);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
	fake_person_end(bob);
}

/* A DELETE was sent for it: what still comes of that one, and who has seen its
 * row, shall not take the next one for it. */
FAKE("an attempt that was given back is not asked for again")
{
	FAKE_CLIENT();
	FAKE_LOCK_AS(lock, lock_with_maximum(client, ROWLOCK_LEASE, 2000));

	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .ms = 1800 });
	assert_ok(rowlock_acquire(lock, ROWLOCK_FOREVER, &err));
	assert_int_equal(fake_count(FAKE_RELEASE), 1);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 2);
	assert_true(fake_call(FAKE_ACQUIRE, 1).attempt !=
		    fake_call(FAKE_ACQUIRE, 0).attempt);
	assert_true(fake_lease("job") == fake_call(FAKE_ACQUIRE, 1).attempt);
	assert_ok(rowlock_release(lock, &err));
}

FAKE("a late grant that cannot be given back is removed")
{
	FAKE_CLIENT();
	FAKE_LOCK_AS(lock, lock_with_maximum(client, ROWLOCK_LEASE, 2000));

	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .ms = 1800 });
	fake_next(FAKE_RELEASE, (struct fake_answer){ .given = true,
						      .skip = true,
						      .result = RLK_PENDING });
	assert_code(rowlock_acquire(lock, ROWLOCK_FOREVER, &err),
		    ROWLOCK_ECONNECT, &err);
	assert_non_null(strstr(err.message, "no answer"));
	fake_pass_until(is_free, NULL);
}

/* --------------------------------------------------------------- break */

FAKE("a break is known by the next beat and ends only that one")
{
	TEST_EVENT(told);
	FAKE_CLIENT();
	FAKE_LOCK(a, client, ROWLOCK_LEASE, 0, "a");
	FAKE_LOCK(b, client, ROWLOCK_LEASE, 0, "b");

	rowlock_on_lost(a, test_event_note, &told);
	assert_ok(rowlock_acquire(a, 0, &err));
	assert_ok(rowlock_acquire(b, 0, &err));
	fake_lease_break("a");
	/* The first look fails; it is made again. */
	fake_next(FAKE_LEASES_OF,
		  (struct fake_answer){
		      .given = true, .skip = true, .result = RLK_UNKNOWN });
	assert_int_equal(rowlock_held(a), 1);
	fake_advance(10000);
	fake_await(FAKE_LEASES_OF, 1);
	fake_pass_await(FAKE_LEASES_OF, 2);
	assert_event(&told, "the lost callback of 'a'");
	assert_int_equal(rowlock_held(a), 0);
	assert_int_equal(rowlock_held(b), 1);
	assert_code(rowlock_release(a, &err), ROWLOCK_ELOST, &err);
	assert_non_null(strstr(err.message, "broken"));
	assert_ok(rowlock_release(b, &err));
}

/* It was acquired while the look was under way, which does not show it. */
FAKE("a break ends no lease that came after the look")
{
	TEST_EVENT(told);
	FAKE_CLIENT();
	FAKE_LOCK(a, client, ROWLOCK_LEASE, 0, "a");
	FAKE_LOCK(b, client, ROWLOCK_LEASE, 0, "b");

	rowlock_on_lost(a, test_event_note, &told);
	assert_ok(rowlock_acquire(a, 0, &err));
	fake_lease_break("a");
	fake_next(FAKE_LEASES_OF, (struct fake_answer){ .wait = true,
							.skip = true,
							.given = true,
							.result = RLK_DONE });
	fake_advance(10000);
	fake_await(FAKE_LEASES_OF, 1);
	assert_ok(rowlock_acquire(b, 0, &err));
	fake_let(FAKE_LEASES_OF);
	assert_event(&told, "the lost callback of 'a'");
	assert_int_equal(rowlock_held(a), 0);
	assert_int_equal(rowlock_held(b), 1);
	assert_ok(rowlock_release(b, &err));
	assert_code(rowlock_release(a, &err), ROWLOCK_ELOST, &err);
}

FAKE("verify knows at once")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_verify(lock, &err));
	/* No answer: nothing is known, nothing is changed. */
	fake_next(FAKE_CONFIRM, no_beat);
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ECONNECT, &err);
	assert_int_equal(rowlock_held(lock), 1);
	fake_lease_break("job");
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
	assert_int_equal(rowlock_held(lock), 0);
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
}

FAKE("a break while the grant is on its way is known, too")
{
	struct rowlock_client_options options = fake_options();
	struct fake_person *bob = fake_person();
	TEST_EVENT(told);

	options.call_timeout_ms = 60000;
	FAKE_CLIENT_AS(client, fake_client_with(&options));
	FAKE_LOCK(a, client, ROWLOCK_LEASE, 0, "a");
	FAKE_LOCK(b, client, ROWLOCK_LEASE, 0, "b");
	assert_ok(rowlock_acquire(a, 0, &err));
	/* Granted, then broken, and only then do we hear of the grant: the
	 * count of breaks was seen before. */
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .wait = true,
						      .given = true,
						      .skip = true,
						      .result = RLK_DONE });
	fake_tell(bob, FAKE_DO_ACQUIRE, b, ROWLOCK_FOREVER);
	fake_await(FAKE_ACQUIRE, 2);
	rowlock_on_lost(a, test_event_note, &told);
	fake_lease_break("a");
	fake_advance(10000);
	assert_event(&told, "the lost callback of 'a'");
	rowlock_on_lost(a, NULL, NULL);
	rowlock_on_lost(b, test_event_note, &told);
	fake_let(FAKE_ACQUIRE);
	assert_ok(fake_hear(bob, &err));
	assert_event(&told, "the lost callback of 'b'");
	assert_int_equal(rowlock_held(b), 0);
	assert_code(fake_ask(bob, FAKE_DO_RELEASE, b, 0), ROWLOCK_ELOST, NULL);
	assert_code(rowlock_release(a, &err), ROWLOCK_ELOST, &err);
	fake_person_end(bob);
}

FAKE("a break by us ends anybody's hold")
{
	FAKE_CLIENT();

	assert_code(rowlock_break(client, ROWLOCK_LEASE, "job", &err),
		    ROWLOCK_ENOTHELD, &err);
	fake_session_add(77);
	fake_lease_add("job", 7, 77);
	assert_ok(rowlock_break(client, ROWLOCK_LEASE, "job", &err));
	assert_int_equal(fake_lease("job"), 0);
	fake_next(FAKE_END, no_beat);
	assert_code(rowlock_break(client, ROWLOCK_LEASE, "job", &err),
		    ROWLOCK_ECONNECT, &err);
}

CASE_MAIN(case_main)
