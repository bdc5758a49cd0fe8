/* SPDX-License-Identifier: MIT */
/*
 * The client's session: opened once, by the first who needs it; after a loss
 * another one, with another id; and the one whose opening got no answer is
 * thrown away.
 */
#include "fake/fake.h"

#include <string.h>

#include "core/client.h"
#include "test.h"

FAKE("one session serves all leases")
{
	struct rowlock_client *client = fake_client();
	struct rowlock *locks[10];
	char name[] = "job0";

	assert_int_equal(fake_count(FAKE_OPEN), 0);
	for (int i = 0; i < 10; i++) {
		name[3] = (char) ('0' + i);
		locks[i] = fake_lock(client, ROWLOCK_LEASE, 0, name);
		assert_ok(rowlock_acquire(locks[i], 0, &err));
		assert_true(fake_call(FAKE_ACQUIRE, (unsigned int) i).id ==
			    fake_call(FAKE_OPEN, 0).id);
	}
	assert_int_equal(fake_count(FAKE_OPEN), 1);
	for (int i = 0; i < 10; i++) {
		assert_ok(rowlock_release(locks[i], &err));
		fake_lock_end(locks[i]);
	}
	assert_int_equal(fake_sessions(), 1);
	fake_client_end(client);
	assert_int_equal(fake_sessions(), 0);
}

FAKE("row holds need no session")
{
	FAKE_JOB(ROWLOCK_ROW, 0);

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_release(lock, &err));
	assert_int_equal(fake_count(FAKE_OPEN), 0);
}

FAKE("those who come meanwhile wait for the one who opens")
{
	FAKE_CLIENT();
	FAKE_LOCK(a, client, ROWLOCK_LEASE, 0, "a");
	FAKE_LOCK(b, client, ROWLOCK_LEASE, 0, "b");
	FAKE_LOCK(c, client, ROWLOCK_LEASE, 0, "c");
	FAKE_PERSON(bob);
	FAKE_PERSON(eve);
	FAKE_PERSON(tom);

	fake_next(FAKE_OPEN, (struct fake_answer){ .wait = true });
	fake_tell(bob, FAKE_DO_ACQUIRE, a, ROWLOCK_FOREVER);
	fake_await(FAKE_OPEN, 1);
	fake_tell(eve, FAKE_DO_ACQUIRE, b, ROWLOCK_FOREVER);
	fake_await_line(b, 1);
	fake_tell(tom, FAKE_DO_ACQUIRE, c, 500);
	fake_await_line(c, 1);
	rowlock_cancel(b);
	assert_code(fake_hear(eve, &err), ROWLOCK_ECANCELED, &err);
	fake_advance(500);
	assert_code(fake_hear(tom, &err), ROWLOCK_ETIMEDOUT, &err);
	fake_tell(eve, FAKE_DO_ACQUIRE, b, ROWLOCK_FOREVER);
	fake_await_line(b, 1);
	fake_let(FAKE_OPEN);
	assert_ok(fake_hear(bob, &err));
	assert_ok(fake_hear(eve, &err));
	assert_int_equal(fake_count(FAKE_OPEN), 1);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, a, 0), 0);
	assert_int_equal(fake_ask(eve, FAKE_DO_RELEASE, b, 0), 0);
}

/* Executed or not: nobody knows, so nobody uses it. */
static void opening_without_an_answer(bool executed)
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	uint64_t thrown;

	fake_next(FAKE_OPEN, (struct fake_answer){ .given = true,
						   .result = RLK_UNKNOWN,
						   .skip = !executed });
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_ECONNECT, &err);
	thrown = fake_call(FAKE_OPEN, 0).id;
	fake_await(FAKE_CLOSE, 1);
	assert_true(fake_call(FAKE_CLOSE, 0).id == thrown);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_true(fake_call(FAKE_OPEN, 1).id != thrown);
	assert_true(fake_call(FAKE_ACQUIRE, 0).id ==
		    fake_call(FAKE_OPEN, 1).id);
	assert_int_equal(fake_sessions(), 1);
	assert_ok(rowlock_release(lock, &err));
}

FAKE("an id whose opening got no answer is thrown away")
{
	opening_without_an_answer(true);
	fake_setup(state);
	opening_without_an_answer(false);
}

FAKE("the id is deleted until the server has done it")
{
	struct rowlock_client *client = fake_client();
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");

	fake_next(FAKE_OPEN,
		  (struct fake_answer){ .given = true, .result = RLK_UNKNOWN });
	for (int i = 0; i < 3; i++)
		fake_next(FAKE_CLOSE,
			  (struct fake_answer){ .given = true,
						.result = RLK_UNKNOWN,
						.skip = true });
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_ECONNECT, &err);
	fake_pass_await(FAKE_CLOSE, 4);
	for (unsigned int i = 0; i < 4; i++)
		assert_true(fake_call(FAKE_CLOSE, i).id ==
			    fake_call(FAKE_OPEN, 0).id);
	fake_end(lock, client);
	assert_int_equal(fake_sessions(), 0);
}

FAKE("a refused opening is told and leaves nothing")
{
	struct rowlock_client *client = fake_client();
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");

	fake_next(FAKE_OPEN, (struct fake_answer){ .given = true,
						   .skip = true,
						   .result = RLK_REFUSED,
						   .code = ROWLOCK_EREADONLY });
	assert_code(rowlock_acquire(lock, ROWLOCK_FOREVER, &err),
		    ROWLOCK_EREADONLY, &err);
	assert_non_null(strstr(err.message, "'job'"));
	fake_end(lock, client);
	assert_int_equal(fake_count(FAKE_CLOSE), 0);
}

FAKE("a conflict at the opening reaches no caller")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_PERSON(bob);

	fake_next(FAKE_OPEN, (struct fake_answer){ .given = true,
						   .skip = true,
						   .result = RLK_CONFLICT });
	fake_next(FAKE_OPEN, (struct fake_answer){ .given = true,
						   .skip = true,
						   .result = RLK_BUSY,
						   .ms = 1000 });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, 0);
	assert_ok(fake_pass_hear(bob, &err));
	assert_int_equal(fake_count(FAKE_OPEN), 3);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
}

FAKE("a waiter tries again until the server is back")
{
	struct rowlock_client *client = fake_client();
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	struct fake_person *bob = fake_person();

	fake_always(FAKE_OPEN, (struct fake_answer){ .given = true,
						     .skip = true,
						     .result = RLK_UNKNOWN });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_pass_await(FAKE_OPEN, 4);
	fake_always(FAKE_OPEN, (struct fake_answer){ .skip = false });
	fake_pass_await(FAKE_ACQUIRE, 1);
	assert_ok(fake_hear(bob, &err));
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
	fake_person_end(bob);
	fake_end(lock, client);
	assert_int_equal(fake_sessions(), 0);
}

FAKE("a waiter that never reached the server says so")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_PERSON(bob);

	fake_always(FAKE_OPEN, (struct fake_answer){ .given = true,
						     .skip = true,
						     .result = RLK_UNKNOWN });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, 300);
	fake_pass_await(FAKE_OPEN, 2);
	fake_advance(300);
	assert_code(fake_hear(bob, &err), ROWLOCK_ECONNECT, &err);
}

/* ---------------------------------------------------------- it is over */

static bool is_lost(void *arg)
{
	return !rowlock_held(arg);
}

FAKE("eviction loses all leases, the next has another id")
{
	struct rowlock_client_options options = fake_options();
	uint64_t id;

	options.row_idle_ms = 60000;
	FAKE_CLIENT_AS(client, fake_client_with(&options));
	FAKE_LOCK(a, client, ROWLOCK_LEASE, 0, "a");
	FAKE_LOCK(b, client, ROWLOCK_LEASE, 0, "b");
	FAKE_LOCK(r, client, ROWLOCK_ROW, 0, "r");
	assert_ok(rowlock_acquire(a, 0, &err));
	assert_ok(rowlock_acquire(b, 0, &err));
	assert_ok(rowlock_acquire(r, 0, &err));
	id = fake_call(FAKE_OPEN, 0).id;
	fake_session_remove(id);
	fake_advance(10000);
	fake_until(is_lost, a);
	assert_int_equal(rowlock_held(b), 0);
	assert_int_equal(rowlock_held(r), 1);
	/* Never beaten again, and its row is deleted in any case. */
	fake_await(FAKE_CLOSE, 1);
	assert_true(fake_call(FAKE_CLOSE, 0).id == id);
	assert_code(rowlock_release(a, &err), ROWLOCK_ELOST, &err);
	assert_non_null(strstr(err.message, "evicted"));
	fake_lease_remove("a");
	assert_ok(rowlock_acquire(a, 0, &err));
	assert_true(fake_call(FAKE_OPEN, 1).id != id);
	assert_ok(rowlock_release(a, &err));
	assert_ok(rowlock_release(r, &err));
}

FAKE("a session that is over is not used for the next acquire")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	fake_always(FAKE_BEAT, (struct fake_answer){ .given = true,
						     .result = RLK_UNKNOWN });
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_release(lock, &err));
	/* Those who would notice sleep: for the beat, and for its end. */
	fake_await_sleep(10000);
	fake_await_sleep(27000);
	fake_creep(27000);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_int_equal(fake_count(FAKE_OPEN), 2);
	assert_true(fake_call(FAKE_ACQUIRE, 1).id ==
		    fake_call(FAKE_OPEN, 1).id);
	assert_ok(rowlock_release(lock, &err));
}

FAKE("a grant that comes after its session is not a grant")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_LOCK(other, client, ROWLOCK_LEASE, 0, "other");
	struct fake_call first;
	struct fake_call last;

	assert_ok(rowlock_acquire(other, 0, &err));
	fake_always(FAKE_BEAT, (struct fake_answer){ .given = true,
						     .result = RLK_UNKNOWN });
	/* Our own clock says it is over; no thread has noticed yet. */
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .creep_ms = 27000 });
	fake_session_expire(fake_call(FAKE_OPEN, 0).id);
	assert_ok(rowlock_acquire(lock, ROWLOCK_FOREVER, &err));
	assert_int_equal(rowlock_held(other), 0);
	first = fake_call(FAKE_ACQUIRE, 1);
	last = fake_call(FAKE_ACQUIRE, fake_count(FAKE_ACQUIRE) - 1);
	assert_true(first.id != last.id);
	assert_true(first.attempt != last.attempt);
	assert_true(fake_lease("job") == last.attempt);
	assert_true(fake_call(FAKE_OPEN, 1).id == last.id);
	assert_ok(rowlock_release(lock, &err));
}

/* Its row is there, but names a session that is over before the answer to that
 * is found out: it is dead, and must not be taken for a grant. */
FAKE("an attempt belongs to one session")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_LOCK(other, client, ROWLOCK_LEASE, 0, "other");
	FAKE_PERSON(bob);
	struct fake_call first;
	struct fake_call last;

	assert_ok(rowlock_acquire(other, 0, &err));
	fake_always(FAKE_BEAT, (struct fake_answer){ .given = true,
						     .result = RLK_UNKNOWN });
	fake_session_expire(fake_call(FAKE_OPEN, 0).id);
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .given = true,
						      .result = RLK_UNKNOWN,
						      .creep_ms = 27000 });
	/* The chores may delete what the first attempt left before bob does:
	 * then he asks again, a moment later. */
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_await(FAKE_ACQUIRE, 2);
	assert_ok(fake_pass_hear(bob, &err));
	first = fake_call(FAKE_ACQUIRE, 1);
	last = fake_call(FAKE_ACQUIRE, fake_count(FAKE_ACQUIRE) - 1);
	assert_true(first.id != last.id);
	assert_true(first.attempt != last.attempt);
	assert_true(fake_lease("job") == last.attempt);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
}

CASE_MAIN(case_main)
