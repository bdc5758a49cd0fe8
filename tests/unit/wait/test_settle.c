/* SPDX-License-Identifier: MIT */
/*
 * Acquires without an answer. The session that may still execute the request
 * is ended first; then the same attempt is asked again; and whatever cannot be
 * settled in time is removed by the chores.
 */
#include "fake/fake.h"

#include <string.h>

#include "core/client.h"
#include "test.h"

static const struct fake_answer lost_after = { .given = true,
					       .result = RLK_UNKNOWN };
static const struct fake_answer lost_before = { .given = true,
						.skip = true,
						.result = RLK_UNKNOWN };
static const struct fake_answer no_fence = { .given = true,
					     .skip = true,
					     .result = RLK_UNKNOWN };

static bool is_free(void *arg)
{
	(void) arg;
	return fake_lease("job") == 0;
}

static void lost_answer(struct fake_answer answer)
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct fake_call first;
	struct fake_call fence;
	struct fake_call second;

	fake_next(FAKE_ACQUIRE, answer);
	assert_ok(rowlock_acquire(lock, 0, &err));
	first = fake_call(FAKE_ACQUIRE, 0);
	fence = fake_call(FAKE_FENCE, 0);
	second = fake_call(FAKE_ACQUIRE, 1);
	/* Just the session that it was sent on, by another connection. */
	assert_true(fence.id == first.conn);
	assert_true(fence.conn != first.conn);
	assert_true(first.order < fence.order && fence.order < second.order);
	assert_true(first.attempt == second.attempt);
	assert_int_equal(second.ask, RLK_ASK_FIRST);
	assert_true(fake_lease("job") == first.attempt);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 2);
	assert_ok(rowlock_release(lock, &err));
}

FAKE("an attempt without an answer is asked again behind a fence")
{
	lost_answer(lost_after);
	fake_setup(state);
	lost_answer(lost_before);
}

FAKE("a poll without an answer is asked as a first question")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_PERSON(bob);

	fake_session_add(77);
	fake_lease_add("job", 7, 77);
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .wait = true });
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .wait = true,
						      .given = true,
						      .result = RLK_UNKNOWN });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_await(FAKE_ACQUIRE, 1);
	fake_let(FAKE_ACQUIRE);
	fake_pass_await(FAKE_ACQUIRE, 2);
	/* It is executed, but nobody hears of it. */
	fake_lease_remove("job");
	fake_let(FAKE_ACQUIRE);
	assert_ok(fake_pass_hear(bob, &err));
	assert_int_equal(fake_call(FAKE_ACQUIRE, 1).ask, RLK_ASK_AGAIN);
	/* Only that one tells whose row it is. */
	assert_int_equal(fake_call(FAKE_ACQUIRE, 2).ask, RLK_ASK_FIRST);
	assert_true(fake_call(FAKE_ACQUIRE, 2).attempt ==
		    fake_call(FAKE_ACQUIRE, 1).attempt);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 3);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
}

FAKE("a request that lands late is found to be ours")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_PERSON(bob);
	struct fake_call call;

	fake_next(FAKE_ACQUIRE, lost_before);
	fake_next(FAKE_FENCE, (struct fake_answer){ .wait = true });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_await(FAKE_FENCE, 1);
	call = fake_call(FAKE_ACQUIRE, 0);
	fake_lease_add("job", call.attempt, call.id);
	fake_let(FAKE_FENCE);
	assert_ok(fake_hear(bob, &err));
	assert_true(fake_lease("job") == call.attempt);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
	assert_int_equal(fake_lease("job"), 0);
}

FAKE("an attempt is over once another was seen to have the name")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_PERSON(bob);

	fake_next(FAKE_ACQUIRE, lost_before);
	fake_next(FAKE_FENCE, (struct fake_answer){ .wait = true });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_await(FAKE_FENCE, 1);
	/* Ours was there, was past its maximum and swept; now it is another's.
	 * Whoever saw ours must not take our next row for it. */
	fake_session_add(77);
	fake_lease_add("job", 7, 77);
	fake_let(FAKE_FENCE);
	fake_pass_await(FAKE_ACQUIRE, 3);
	fake_lease_remove("job");
	assert_ok(fake_pass_hear(bob, &err));
	assert_true(fake_call(FAKE_ACQUIRE, 0).attempt ==
		    fake_call(FAKE_ACQUIRE, 1).attempt);
	assert_true(fake_call(FAKE_ACQUIRE, 1).attempt !=
		    fake_call(FAKE_ACQUIRE, 2).attempt);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
}

FAKE("an attempt is not asked again before the fence holds")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_PERSON(bob);

	fake_next(FAKE_ACQUIRE, lost_before);
	for (int i = 0; i < 5; i++)
		fake_next(FAKE_FENCE, no_fence);
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_pass_await(FAKE_ACQUIRE, 2);
	assert_ok(fake_hear(bob, &err));
	assert_true(fake_call(FAKE_ACQUIRE, 1).order >
		    fake_call(FAKE_FENCE, 5).order);
	assert_int_equal(fake_count(FAKE_FENCE), 6);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
}

FAKE("what cannot be settled in time is removed later")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_PERSON(bob);
	struct fake_call call;

	fake_next(FAKE_ACQUIRE, lost_after);
	fake_always(FAKE_FENCE, no_fence);
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, 300);
	fake_pass_await(FAKE_FENCE, 2);
	fake_advance(400);
	assert_code(fake_hear(bob, &err), ROWLOCK_ECONNECT, &err);
	assert_non_null(strstr(err.message, "not held"));
	assert_int_equal(rowlock_held(lock), 0);
	call = fake_call(FAKE_ACQUIRE, 0);
	fake_pass_until(is_free, NULL);
	/* The request might be executed only now, or once more later. */
	fake_lease_add("job", call.attempt, call.id);
	fake_pass_until(is_free, NULL);
	fake_always(FAKE_FENCE, (struct fake_answer){ .skip = false });
	fake_lease_add("job", call.attempt, call.id);
	fake_pass_until(is_free, NULL);
	assert_true(fake_call(FAKE_RELEASE, 0).attempt == call.attempt);
	/* The handle is as good as new. */
	assert_int_equal(fake_ask(bob, FAKE_DO_ACQUIRE, lock, 0), 0);
	assert_true(fake_call(FAKE_ACQUIRE, 1).attempt != call.attempt);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
}

/* Between the fence and the second question the wait ends: the row of the
 * first may be there. */
FAKE("a wait that ends behind the fence leaves no row")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_PERSON(bob);

	fake_next(FAKE_ACQUIRE, lost_after);
	fake_next(FAKE_FENCE, (struct fake_answer){ .wait = true });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_await(FAKE_FENCE, 1);
	rowlock_cancel(lock);
	fake_let(FAKE_FENCE);
	assert_code(fake_hear(bob, &err), ROWLOCK_ECANCELED, &err);
	fake_pass_until(is_free, NULL);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 1);
}

FAKE("a refusal behind the fence leaves no row")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	fake_next(FAKE_ACQUIRE, lost_after);
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .given = true,
						      .skip = true,
						      .result = RLK_REFUSED,
						      .code = ROWLOCK_EDB });
	assert_code(rowlock_acquire(lock, ROWLOCK_FOREVER, &err), ROWLOCK_EDB,
		    &err);
	fake_pass_until(is_free, NULL);
}

FAKE("a try whose time is up behind the fence says why")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	fake_next(FAKE_ACQUIRE, lost_after);
	fake_next(FAKE_FENCE, (struct fake_answer){ .ms = 5000 });
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_EDB, &err);
	/* A sentence behind "acquire 'job' (lease): ". */
	assert_true(strlen(err.message) > 40);
	fake_pass_until(is_free, NULL);
}

FAKE("an answer 'held' behind the fence is believed")
{
	struct rowlock_client *client = fake_client();
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");

	fake_session_add(77);
	fake_lease_add("job", 7, 77);
	fake_next(FAKE_ACQUIRE, lost_before);
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_EBUSY, &err);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 2);
	assert_int_equal(fake_lease("job"), 7);
	fake_end(lock, client);
	/* It is known that nothing is there. */
	assert_int_equal(fake_count(FAKE_RELEASE), 0);
}

FAKE("a request that hangs is settled too")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_PERSON(bob);

	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .wait = true });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_await(FAKE_ACQUIRE, 1);
	/* No statement lasts longer than a call. */
	fake_advance(5000);
	assert_ok(fake_hear(bob, &err));
	assert_true(fake_call(FAKE_FENCE, 0).id ==
		    fake_call(FAKE_ACQUIRE, 0).conn);
	assert_true(fake_call(FAKE_ACQUIRE, 0).attempt ==
		    fake_call(FAKE_ACQUIRE, 1).attempt);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
}

FAKE("a conflict is no verdict")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_PERSON(bob);

	for (int i = 0; i < 4; i++)
		fake_next(FAKE_ACQUIRE,
			  (struct fake_answer){ .given = true,
						.skip = true,
						.result = RLK_CONFLICT });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_pass_await(FAKE_ACQUIRE, 5);
	assert_ok(fake_hear(bob, &err));
	assert_int_equal(fake_count(FAKE_FENCE), 0);
	/* Perhaps its row was seen, and removed: the next is another. */
	for (unsigned int i = 1; i < 5; i++)
		assert_true(fake_call(FAKE_ACQUIRE, i - 1).attempt !=
			    fake_call(FAKE_ACQUIRE, i).attempt);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
}

static bool is_now(void *arg)
{
	return fake_now() == *(const int64_t *) arg;
}

/* However long the rests between its questions have become by then. */
FAKE("a try does not rest beyond its time")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	int64_t until = fake_now() + (int64_t) client->call_timeout_ms;
	int64_t last = until - 1;
	struct fake_answer again = { .given = true,
				     .skip = true,
				     .result = RLK_CONFLICT };
	FAKE_PERSON(bob);
	const int64_t rest = 150;

	fake_always(FAKE_ACQUIRE, again);
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, 0);
	for (unsigned int i = 1; i <= 8; i++) {
		fake_await(FAKE_ACQUIRE, i);
		fake_await_sleep_within((uint64_t) rest);
		/* The last one is answered when a millisecond is left. */
		again.ms = (uint64_t) (until - fake_now() - rest - 1);
		if (i == 8)
			fake_next(FAKE_ACQUIRE, again);
		fake_advance((uint64_t) rest);
	}
	fake_await(FAKE_ACQUIRE, 9);
	fake_until(is_now, &last);
	fake_await_sleep_within(1);
	fake_advance(1);
	assert_code(fake_hear(bob, &err), ROWLOCK_EDB, &err);
	assert_int_equal(fake_now(), until);
}

/* What was not answered may have been done: only the same attempt tells. */
FAKE("a conflict leaves doubt as it was")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_PERSON(bob);

	fake_next(FAKE_ACQUIRE,
		  (struct fake_answer){ .given = true, .result = RLK_UNKNOWN });
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .given = true,
						      .skip = true,
						      .result = RLK_CONFLICT });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_pass_await(FAKE_ACQUIRE, 3);
	assert_ok(fake_hear(bob, &err));
	assert_int_equal(fake_count(FAKE_FENCE), 1);
	for (unsigned int i = 1; i < 3; i++)
		assert_true(fake_call(FAKE_ACQUIRE, i - 1).attempt ==
			    fake_call(FAKE_ACQUIRE, i).attempt);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
}

FAKE("a refusal is told at once and leaves nothing")
{
	struct rowlock_client *client = fake_client();
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");

	fake_next(FAKE_ACQUIRE,
		  (struct fake_answer){ .given = true,
					.skip = true,
					.result = RLK_REFUSED,
					.code = ROWLOCK_EREADONLY });
	assert_code(rowlock_acquire(lock, ROWLOCK_FOREVER, &err),
		    ROWLOCK_EREADONLY, &err);
	assert_int_equal(err.mysql, 1);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 1);
	assert_int_equal(rowlock_held(lock), 0);
	fake_end(lock, client);
	assert_int_equal(fake_count(FAKE_RELEASE), 0);
}

CASE_MAIN(case_main)
