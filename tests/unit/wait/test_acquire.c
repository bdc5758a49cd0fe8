/* SPDX-License-Identifier: MIT */
/* Waiting for a name: the line in the process, the polls, the ends of both. */
#include "fake/fake.h"

#include <string.h>

#include "hold/handle.h"
#include "test.h"

static void serve_line(bool handed_over)
{
	struct rowlock_client_options options = fake_options();
	struct rowlock *locks[8];
	struct fake_person *people[8];

	if (!handed_over)
		options.flags |= ROWLOCK_NO_HANDOVER;
	FAKE_CLIENT_AS(client, fake_client_with(&options));
	FAKE_LOCK(first, client, ROWLOCK_LEASE, 0, "job");
	assert_ok(rowlock_acquire(first, 0, &err));
	for (unsigned int i = 0; i < 8; i++) {
		locks[i] = fake_lock(client, ROWLOCK_LEASE, 0, "job");
		people[i] = fake_person();
		fake_tell(people[i], FAKE_DO_ACQUIRE, locks[i],
			  ROWLOCK_FOREVER);
		fake_await_line(first, i + 1);
	}
	assert_ok(rowlock_release(first, &err));
	for (unsigned int i = 0; i < 8; i++) {
		assert_ok(fake_hear(people[i], &err));
		for (unsigned int j = i + 1; j < 8; j++)
			assert_true(fake_busy(people[j]));
		assert_int_equal(
		    fake_ask(people[i], FAKE_DO_RELEASE, locks[i], 0), 0);
	}
	/* Only who is first in line asks the server, if anybody. */
	assert_int_equal(fake_count(FAKE_ACQUIRE), handed_over ? 1 : 9);
	for (unsigned int i = 0; i < 8; i++) {
		fake_person_end(people[i]);
		fake_lock_end(locks[i]);
	}
}

FAKE("waiters are served first come, first served")
{
	serve_line(true);
	fake_setup(state);
	serve_line(false);
}

FAKE("a try does not wait in the line")
{
	FAKE_CLIENT();
	FAKE_LOCK(held, client, ROWLOCK_LEASE, 0, "job");
	FAKE_LOCK(other, client, ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE, "job");

	assert_ok(rowlock_acquire(held, 0, &err));
	assert_code(rowlock_acquire(other, 0, &err), ROWLOCK_EBUSY, &err);
	assert_non_null(strstr(err.message, "'job'"));
	assert_non_null(strstr(err.message, "fake:3306"));
	assert_int_equal(fake_count(FAKE_ACQUIRE), 1);
	assert_int_equal(rowlock_held(other), 0);
	assert_ok(rowlock_release(held, &err));
}

FAKE("a try on a name of another client asks once")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	fake_session_add(77);
	fake_lease_add("job", 7, 77);
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_EBUSY, &err);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 1);
	assert_int_equal(fake_call(FAKE_ACQUIRE, 0).ask, RLK_ASK_FIRST);
	assert_int_equal(fake_lease("job"), 7);
}

FAKE("only the first in line asks")
{
	FAKE_CLIENT();
	FAKE_LOCK(first, client, ROWLOCK_LEASE, 0, "job");
	FAKE_LOCK(second, client, ROWLOCK_LEASE, 0, "job");
	FAKE_PERSON(bob);

	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .wait = true });
	fake_tell(bob, FAKE_DO_ACQUIRE, first, ROWLOCK_FOREVER);
	fake_await(FAKE_ACQUIRE, 1);
	/* Nobody holds it yet, but somebody was here before. */
	assert_code(rowlock_acquire(second, 0, &err), ROWLOCK_EBUSY, &err);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 1);
	fake_let(FAKE_ACQUIRE);
	assert_ok(fake_hear(bob, &err));
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, first, 0), 0);
}

FAKE("a wait in the line ends at its deadline")
{
	FAKE_CLIENT();
	FAKE_LOCK(held, client, ROWLOCK_LEASE, 0, "job");
	FAKE_LOCK(other, client, ROWLOCK_LEASE, 0, "job");
	FAKE_PERSON(person);

	assert_ok(rowlock_acquire(held, 0, &err));
	fake_tell(person, FAKE_DO_ACQUIRE, other, 500);
	fake_await_line(held, 1);
	fake_advance(499);
	fake_await_line(held, 1);
	assert_true(fake_busy(person));
	fake_advance(1);
	assert_code(fake_hear(person, &err), ROWLOCK_ETIMEDOUT, &err);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 1);
	assert_ok(rowlock_release(held, &err));
}

FAKE("a wait for another client ends at its deadline")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_PERSON(person);

	fake_session_add(77);
	fake_lease_add("job", 7, 77);
	fake_tell(person, FAKE_DO_ACQUIRE, lock, 2000);
	fake_pass_await(FAKE_ACQUIRE, 5);
	/* Polls do not touch what is held. */
	assert_int_equal(fake_call(FAKE_ACQUIRE, 1).ask, RLK_ASK_AGAIN);
	fake_advance(2000);
	assert_code(fake_hear(person, &err), ROWLOCK_ETIMEDOUT, &err);
	assert_int_equal(fake_lease("job"), 7);
}

FAKE("a waiter gets what another client gives up")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_PERSON(person);

	fake_session_add(77);
	fake_lease_add("job", 7, 77);
	fake_tell(person, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_pass_await(FAKE_ACQUIRE, 3);
	fake_lease_remove("job");
	fake_pass_await(FAKE_ACQUIRE, fake_count(FAKE_ACQUIRE) + 1);
	assert_ok(fake_hear(person, &err));
	assert_int_equal(rowlock_held(lock), 1);
	assert_int_equal(fake_ask(person, FAKE_DO_RELEASE, lock, 0), 0);
}

struct patient {
	struct rowlock_client *client;
	struct fake_person *person;
	int64_t at_ms;
};

/* It sleeps until just then, or it has not slept. */
static bool sleeps_until(void *arg)
{
	const struct patient *patient = arg;
	int64_t next;

	rlk_mutex_lock(&patient->client->mutex);
	next = rlk_alarms_next(&patient->client->alarms);
	rlk_mutex_unlock(&patient->client->mutex);
	return next == patient->at_ms || !fake_busy(patient->person);
}

/* Its threads have passed a name among themselves for 100 ms since they got it
 * from another client, whose poll may come in 50. */
FAKE("a client whose turn is over lets others ask first")
{
	FAKE_CLIENT();
	FAKE_LOCK(a, client, ROWLOCK_LEASE, 0, "job");
	FAKE_LOCK(b, client, ROWLOCK_LEASE, 0, "job");
	FAKE_PERSON(alice);
	FAKE_PERSON(bob);
	struct patient patient = { client, bob, 0 };
	unsigned int asked;

	fake_session_add(77);
	fake_lease_add("job", 7, 77);
	fake_tell(alice, FAKE_DO_ACQUIRE, a, 60000);
	fake_await(FAKE_ACQUIRE, 1);
	fake_lease_remove("job");
	assert_ok(fake_pass_hear(alice, &err));
	asked = fake_count(FAKE_ACQUIRE);
	fake_tell(bob, FAKE_DO_ACQUIRE, b, 60000);
	fake_await_line(b, 1);
	fake_advance(101);
	assert_ok(fake_ask(alice, FAKE_DO_RELEASE, a, 0));
	patient.at_ms = fake_now() + 100;
	fake_until(sleeps_until, &patient);
	assert_int_equal(fake_count(FAKE_ACQUIRE), asked);
	fake_advance(100);
	assert_ok(fake_hear(bob, &err));
	assert_ok(fake_ask(bob, FAKE_DO_RELEASE, b, 0));
}

FAKE("cancel ends a wait in the line and the next moves up")
{
	FAKE_CLIENT();
	FAKE_LOCK(held, client, ROWLOCK_LEASE, 0, "job");
	FAKE_LOCK(second, client, ROWLOCK_LEASE, 0, "job");
	FAKE_LOCK(third, client, ROWLOCK_LEASE, 0, "job");
	FAKE_PERSON(bob);
	FAKE_PERSON(eve);

	assert_ok(rowlock_acquire(held, 0, &err));
	fake_tell(bob, FAKE_DO_ACQUIRE, second, ROWLOCK_FOREVER);
	fake_await_line(held, 1);
	fake_tell(eve, FAKE_DO_ACQUIRE, third, ROWLOCK_FOREVER);
	fake_await_line(held, 2);
	rowlock_cancel(second);
	assert_code(fake_hear(bob, &err), ROWLOCK_ECANCELED, &err);
	assert_true(fake_busy(eve));
	assert_ok(rowlock_release(held, &err));
	assert_ok(fake_hear(eve, &err));
	/* A cancelled wait leaves nothing behind for the next. */
	assert_code(fake_ask(bob, FAKE_DO_ACQUIRE, second, 0), ROWLOCK_EBUSY,
		    NULL);
	assert_int_equal(fake_ask(eve, FAKE_DO_RELEASE, third, 0), 0);
}

FAKE("cancel ends a wait between two polls")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_PERSON(person);

	fake_session_add(77);
	fake_lease_add("job", 7, 77);
	fake_tell(person, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_pass_await(FAKE_ACQUIRE, 3);
	rowlock_cancel(lock);
	assert_code(fake_hear(person, &err), ROWLOCK_ECANCELED, &err);
}

FAKE("cancel ends a wait for a connection")
{
	struct rowlock_client_options options = fake_options();
	struct fake_person *bob = fake_person();
	struct fake_person *eve = fake_person();

	options.batch_size = 1;
	FAKE_CLIENT_AS(client, fake_client_with(&options));
	FAKE_LOCK(a, client, ROWLOCK_LEASE, 0, "a");
	FAKE_LOCK(b, client, ROWLOCK_LEASE, 0, "b");
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .wait = true });
	fake_tell(bob, FAKE_DO_ACQUIRE, a, ROWLOCK_FOREVER);
	fake_await(FAKE_ACQUIRE, 1);
	fake_tell(eve, FAKE_DO_ACQUIRE, b, ROWLOCK_FOREVER);
	fake_await_wanted(RLK_BAY_COMMIT);
	rowlock_cancel(b);
	assert_code(fake_hear(eve, &err), ROWLOCK_ECANCELED, &err);
	fake_let(FAKE_ACQUIRE);
	assert_ok(fake_hear(bob, &err));
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, a, 0), 0);
	fake_person_end(bob);
	fake_person_end(eve);
}

FAKE("a cancel before the call does not reach it")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	assert_int_equal(rowlock_cancel(lock), 0);
	assert_ok(rowlock_acquire(lock, ROWLOCK_FOREVER, &err));
	assert_ok(rowlock_release(lock, &err));
}

static bool part_is_canceled(struct rowlock *lock, bool cancel)
{
	struct rlk_waiter part;
	bool canceled;

	rlk_waiter_init(&part, lock, 50);
	assert_true(rlk_waiter_begin(&part));
	canceled = part.canceled;
	/* Its time may be up already. */
	if (cancel)
		assert_int_equal(rowlock_cancel(lock), 1);
	rlk_waiter_end(&part);
	return canceled;
}

FAKE("a cancel behind a part ends the next part")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	assert_ok(rlk_lock_begin_parts(lock, &err));
	assert_code(rlk_lock_begin_parts(lock, &err), ROWLOCK_EINVAL, &err);
	assert_false(part_is_canceled(lock, true));
	assert_true(part_is_canceled(lock, false));
	/* Between two parts. */
	assert_int_equal(rowlock_cancel(lock), 1);
	assert_true(part_is_canceled(lock, true));
	rlk_lock_end_parts(lock);
	assert_false(part_is_canceled(lock, false));
}

FAKE("a grant that came before the cancel stands")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_PERSON(person);

	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .wait = true });
	fake_tell(person, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_await(FAKE_ACQUIRE, 1);
	rowlock_cancel(lock);
	fake_let(FAKE_ACQUIRE);
	assert_ok(fake_hear(person, &err));
	assert_int_equal(fake_ask(person, FAKE_DO_RELEASE, lock, 0), 0);
	/* Nothing of it is remembered. */
	assert_int_equal(fake_ask(person, FAKE_DO_ACQUIRE, lock, 0), 0);
	assert_int_equal(fake_ask(person, FAKE_DO_RELEASE, lock, 0), 0);
}

FAKE("one name under two strategies is two locks")
{
	FAKE_CLIENT();
	FAKE_LOCK(a, client, ROWLOCK_LEASE, 0, "job");
	FAKE_LOCK(b, client, ROWLOCK_ROW, 0, "job");

	assert_ok(rowlock_acquire(a, 0, &err));
	assert_ok(rowlock_acquire(b, 0, &err));
	assert_int_equal(rowlock_depth(a), 1);
	assert_int_equal(rowlock_depth(b), 1);
	/* Each is where its strategy keeps it. */
	assert_true(fake_lease("job") != 0);
	assert_true(fake_row("job") != 0);
	assert_ok(rowlock_release(a, &err));
	assert_int_equal(rowlock_held(b), 1);
	assert_true(fake_lease("job") == 0);
	assert_ok(rowlock_release(b, &err));
}

/* A row of the first one may have been there, and been removed by hand: who saw
 * that, and counts its maximum, shall not take the next one for it. */
FAKE("who finds it held asks with another attempt")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_PERSON(person);

	fake_session_add(77);
	fake_lease_add("job", 7, 77);
	fake_tell(person, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_pass_await(FAKE_ACQUIRE, 3);
	for (unsigned int i = 1; i < 3; i++)
		assert_true(fake_call(FAKE_ACQUIRE, i - 1).attempt !=
			    fake_call(FAKE_ACQUIRE, i).attempt);
	fake_lease_remove("job");
	assert_ok(fake_pass_hear(person, &err));
	assert_int_equal(fake_ask(person, FAKE_DO_RELEASE, lock, 0), 0);
}

/* How long the thread that is next in line holds back after a release. */
static int64_t held_back_ms(bool others)
{
	struct rowlock_client *client = fake_client();
	struct rowlock *first = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	struct rowlock *next = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	struct fake_person *bob = fake_person();
	struct fake_person *alice = fake_person();
	unsigned int asked;
	int64_t began;

	if (others) {
		fake_session_add(77);
		fake_lease_add("job", 7, 77);
	}
	fake_tell(bob, FAKE_DO_ACQUIRE, first, ROWLOCK_FOREVER);
	fake_await(FAKE_ACQUIRE, 1);
	if (others)
		fake_lease_remove("job");
	assert_ok(fake_pass_hear(bob, &err));
	fake_tell(alice, FAKE_DO_ACQUIRE, next, ROWLOCK_FOREVER);
	fake_await_line(next, 1);
	/* The name has been ours for longer than a turn. */
	fake_advance(101);
	asked = fake_count(FAKE_ACQUIRE);
	began = fake_now();
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, first, 0), 0);
	if (others)
		fake_pass_await(FAKE_ACQUIRE, asked + 1);
	else
		fake_await(FAKE_ACQUIRE, asked + 1);
	began = fake_now() - began;
	assert_ok(fake_pass_hear(alice, &err));
	assert_int_equal(fake_ask(alice, FAKE_DO_RELEASE, next, 0), 0);
	fake_person_end(bob);
	fake_person_end(alice);
	fake_lock_end(first);
	fake_lock_end(next);
	fake_client_end(client);
	return began;
}

FAKE("threads of a client step back for others")
{
	/* As long as there can be between two polls of others. */
	assert_true(held_back_ms(true) >= 100);
	/* Among themselves they do not: the clock stands still, and it is
	 * asked nevertheless. */
	fake_setup(state);
	assert_int_equal(held_back_ms(false), 0);
}

FAKE("a handle with a waiting thread refuses a second")
{
	FAKE_CLIENT();
	FAKE_LOCK(held, client, ROWLOCK_LEASE, 0, "job");
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, 0, "job");
	FAKE_PERSON(bob);

	assert_ok(rowlock_acquire(held, 0, &err));
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_await_line(held, 1);
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_EINVAL, &err);
	assert_code(rowlock_try_free(lock, &err), ROWLOCK_EHELD, &err);
	rowlock_cancel(lock);
	assert_code(fake_hear(bob, &err), ROWLOCK_ECANCELED, &err);
	assert_ok(rowlock_release(held, &err));
}

CASE_MAIN(case_main)
