/* SPDX-License-Identifier: MIT */
/* Asking for a row: the question is in the server, and comes back from there.
 */
#include "fake/fake.h"

#include <string.h>

#include "hold/handle.h"
#include "test.h"

static bool nothing_is_lent(void *arg)
{
	(void) arg;
	return fake_lent(RLK_BAY_ROW) == 0;
}

FAKE("a missing row is made before it is locked")
{
	FAKE_JOB(ROWLOCK_ROW, 0);

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_int_equal(fake_count(FAKE_MAKE), 1);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 2);
	/* On a connection of its own, which commits by itself. */
	assert_true(fake_call(FAKE_MAKE, 0).conn !=
		    fake_call(FAKE_ACQUIRE, 0).conn);
	assert_true(fake_row("job") == fake_call(FAKE_ACQUIRE, 1).conn);
	assert_ok(rowlock_release(lock, &err));
	assert_int_equal(fake_row("job"), 0);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_int_equal(fake_count(FAKE_ACQUIRE), 3);
	assert_int_equal(fake_count(FAKE_MAKE), 1);
	assert_ok(rowlock_release(lock, &err));
}

FAKE("a try does not wait and leaves no transaction")
{
	FAKE_JOB(ROWLOCK_ROW, 0);

	fake_row_lock("job");
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_EBUSY, &err);
	assert_int_equal(fake_call(FAKE_ACQUIRE, 0).ask, RLK_ASK_FIRST);
	/* The chores end what the refused read began. */
	fake_await(FAKE_TEXT, 1);
	assert_string_equal(fake_call(FAKE_TEXT, 0).name, "ROLLBACK");
	assert_true(fake_call(FAKE_TEXT, 0).conn ==
		    fake_call(FAKE_ACQUIRE, 0).conn);
}

FAKE("waiting is done in the server")
{
	FAKE_JOB(ROWLOCK_ROW, 0);
	FAKE_PERSON(bob);

	fake_row_lock("job");
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_await(FAKE_ACQUIRE, 1);
	assert_int_equal(fake_call(FAKE_ACQUIRE, 0).ask, RLK_ASK_WAIT);
	fake_row_unlock("job");
	assert_ok(fake_hear(bob, &err));
	assert_int_equal(fake_count(FAKE_ACQUIRE), 1);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
}

FAKE("a slice without a grant is followed by the next")
{
	FAKE_JOB(ROWLOCK_ROW, 0);

	fake_row_unlock("job");
	for (int i = 0; i < 3; i++)
		fake_next(FAKE_ACQUIRE,
			  (struct fake_answer){ .given = true,
						.skip = true,
						.result = RLK_CONFLICT,
						.ms = 1000 });
	assert_ok(rowlock_acquire(lock, ROWLOCK_FOREVER, &err));
	assert_int_equal(fake_count(FAKE_ACQUIRE), 4);
	assert_int_equal(fake_lent(RLK_BAY_ROW), 1);
	assert_ok(rowlock_release(lock, &err));
}

FAKE("the deadline takes the question back")
{
	FAKE_JOB(ROWLOCK_ROW, 0);
	FAKE_PERSON(bob);

	fake_row_lock("job");
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, 1500);
	fake_await(FAKE_ACQUIRE, 1);
	fake_advance(1499);
	assert_int_equal(fake_count(FAKE_KILL_QUERY), 0);
	fake_advance(1);
	assert_code(fake_hear(bob, &err), ROWLOCK_ETIMEDOUT, &err);
	assert_true(fake_call(FAKE_KILL_QUERY, 0).id ==
		    fake_call(FAKE_ACQUIRE, 0).conn);
	assert_int_equal(fake_count(FAKE_RESUME), 1);
	assert_int_equal(fake_count(FAKE_FENCE), 0);
	/* The row may have been locked before the kill: it is let go. */
	assert_true(fake_call(FAKE_RELEASE, 0).conn ==
		    fake_call(FAKE_ACQUIRE, 0).conn);
	fake_until(nothing_is_lent, NULL);
}

/* The server ends each slice; if it does not, it or the way to it is gone. */
FAKE("a wait without end looks whether the server is there")
{
	FAKE_JOB(ROWLOCK_ROW, 0);
	FAKE_PERSON(bob);

	fake_row_lock("job");
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_await(FAKE_ACQUIRE, 1);
	fake_advance(client->row_slice_ms + client->call_timeout_ms);
	fake_await(FAKE_KILL_QUERY, 1);
	fake_await(FAKE_ACQUIRE, 2);
	fake_row_unlock("job");
	assert_ok(fake_hear(bob, &err));
	assert_ok(fake_ask(bob, FAKE_DO_RELEASE, lock, 0));
}

FAKE("cancel takes the question back")
{
	FAKE_JOB(ROWLOCK_ROW, 0);
	FAKE_PERSON(bob);

	fake_row_lock("job");
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_await(FAKE_ACQUIRE, 1);
	rowlock_cancel(lock);
	assert_code(fake_hear(bob, &err), ROWLOCK_ECANCELED, &err);
	assert_int_equal(fake_count(FAKE_KILL_QUERY), 1);
}

FAKE("a grant that beats the kill is a grant")
{
	FAKE_JOB(ROWLOCK_ROW, 0);
	FAKE_PERSON(bob);

	fake_row_lock("job");
	fake_next(FAKE_RESUME,
		  (struct fake_answer){ .given = true, .result = RLK_DONE });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_await(FAKE_ACQUIRE, 1);
	rowlock_cancel(lock);
	assert_ok(fake_hear(bob, &err));
	assert_int_equal(rowlock_held(lock), 1);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
}

FAKE("a question that cannot be taken back is fenced")
{
	FAKE_JOB(ROWLOCK_ROW, 0);
	FAKE_PERSON(bob);

	fake_row_lock("job");
	fake_next(FAKE_RESUME, (struct fake_answer){ .given = true,
						     .skip = true,
						     .result = RLK_UNKNOWN });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_await(FAKE_ACQUIRE, 1);
	rowlock_cancel(lock);
	/* There is no time left to settle it here; the chores do. */
	assert_code(fake_hear(bob, &err), ROWLOCK_ECANCELED, &err);
	fake_await(FAKE_FENCE, 1);
	assert_true(fake_call(FAKE_FENCE, 0).id ==
		    fake_call(FAKE_ACQUIRE, 0).conn);
	fake_until(nothing_is_lent, NULL);
}

FAKE("many waiters use one connection")
{
	FAKE_CLIENT();
	FAKE_LOCK(first, client, ROWLOCK_ROW, 0, "job");
	struct rowlock *locks[5];
	struct fake_person *people[5];

	assert_ok(rowlock_acquire(first, 0, &err));
	for (unsigned int i = 0; i < 5; i++) {
		locks[i] = fake_lock(client, ROWLOCK_ROW, 0, "job");
		people[i] = fake_person();
		fake_tell(people[i], FAKE_DO_ACQUIRE, locks[i],
			  ROWLOCK_FOREVER);
		fake_await_line(first, i + 1);
		assert_int_equal(fake_lent(RLK_BAY_ROW), 1);
	}
	assert_ok(rowlock_release(first, &err));
	for (unsigned int i = 0; i < 5; i++) {
		assert_ok(fake_hear(people[i], &err));
		assert_int_equal(fake_lent(RLK_BAY_ROW), 1);
		assert_int_equal(
		    fake_ask(people[i], FAKE_DO_RELEASE, locks[i], 0), 0);
		fake_person_end(people[i]);
		fake_lock_end(locks[i]);
	}
}

CASE_MAIN(case_main)
