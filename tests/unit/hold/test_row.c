/* SPDX-License-Identifier: MIT */
/*
 * Holds of the row strategy: what keeps them, and how they end. The idle bound
 * is 9 s (margin 0.9 s, a ping every 3 s).
 */
#include "fake/fake.h"

#include <stdio.h>
#include <string.h>

#include "hold/handle.h"
#include "test.h"

/* A 24th of the idle bound; a third of it. */
#define PING_MS 375
#define PATIENCE_MS 3000

static const struct fake_answer no_answer = { .given = true,
					      .skip = true,
					      .result = RLK_UNKNOWN };

static bool nothing_is_lent(void *arg)
{
	(void) arg;
	return fake_lent(RLK_BAY_ROW) == 0;
}

FAKE("a hold is lost with its socket")
{
	TEST_EVENT(event);
	FAKE_JOB(ROWLOCK_ROW, 0);
	FAKE_LOCK(other, client, ROWLOCK_ROW, 0, "other");

	rowlock_on_lost(lock, test_event_note, &event);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_acquire(other, 0, &err));
	fake_row_hang_up("job");
	/* No time has passed, nothing was sent. */
	assert_event(&event, "the lost callback of '%s': it has %llu ms left",
		     rowlock_name(lock),
		     (unsigned long long) rowlock_remaining_ms(lock));
	assert_int_equal(rowlock_held(lock), 0);
	assert_int_equal(rowlock_held(other), 1);
	assert_int_equal(fake_count(FAKE_CONFIRM), 0);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	assert_non_null(strstr(err.message, "connection ended"));
	/* Never on the same connection again. */
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_true(fake_row("job") != fake_call(FAKE_ACQUIRE, 1).conn);
	assert_ok(rowlock_release(lock, &err));
	assert_ok(rowlock_release(other, &err));
}

#define MANY 12

/* The deadline thread sees them at one look; every second one has ended. */
FAKE("holds that end together are told apart")
{
	struct rowlock_client_options options = fake_options();
	struct test_event events[MANY];
	struct rowlock *locks[MANY];
	char names[MANY][16];

	FAKE_CLIENT_AS(client, fake_client_with(&options));
	for (int i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "job-%d", i);
		locks[i] = fake_lock(client, ROWLOCK_ROW, 0, names[i]);
		events[i] = test_event_new();
		rowlock_on_lost(locks[i], test_event_note, &events[i]);
		assert_ok(rowlock_acquire(locks[i], 0, &err));
	}
	rlk_mutex_lock(&client->mutex);
	for (int i = MANY - 1; i > 0; i -= 2)
		fake_row_hang_up(names[i]);
	rlk_mutex_unlock(&client->mutex);
	for (int i = 1; i < MANY; i += 2)
		assert_event(&events[i], "the loss of '%s', with %d others",
			     names[i], MANY / 2 - 1);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(rowlock_held(locks[i]), i % 2 == 0);
		assert_code(rowlock_release(locks[i], &err),
			    i % 2 ? ROWLOCK_ELOST : 0, &err);
		fake_lock_end(locks[i]);
		test_event_end(&events[i]);
	}
	assert_int_equal(client->stray_ends, 0);
}

/* Its socket is watched since the first hold. */
FAKE("a second hold on a connection is lost with it")
{
	TEST_EVENT(event);
	FAKE_JOB(ROWLOCK_ROW, 0);
	FAKE_LOCK(other, client, ROWLOCK_ROW, 0, "other");

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_release(lock, &err));
	assert_ok(rowlock_acquire(other, 0, &err));
	assert_true(fake_row("other") == fake_call(FAKE_ACQUIRE, 0).conn);
	rowlock_on_lost(other, test_event_note, &event);
	fake_row_hang_up("other");
	assert_event(&event, "the lost callback of '%s': it has %llu ms left",
		     rowlock_name(other),
		     (unsigned long long) rowlock_remaining_ms(other));
	assert_int_equal(rowlock_held(other), 0);
}

static bool end_was_seen(void *arg)
{
	const struct rowlock_client *client = arg;

	return client->stray_ends > 0;
}

struct expected {
	struct rowlock *lock;
	uint64_t remaining_ms;
};

static bool remains(void *arg)
{
	const struct expected *expected = arg;

	return rowlock_remaining_ms(expected->lock) == expected->remaining_ms;
}

FAKE("pings keep a hold")
{
	FAKE_JOB(ROWLOCK_ROW, 0);

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_int_equal(rowlock_remaining_ms(lock), 8100);
	for (unsigned int i = 1; i <= 10; i++) {
		fake_advance(PING_MS);
		fake_await(FAKE_CONFIRM, i);
		fake_until(remains, &(struct expected){ lock, 8100 });
		assert_true(fake_call(FAKE_CONFIRM, i - 1).conn ==
			    fake_row("job"));
	}
	assert_ok(rowlock_release(lock, &err));
}

FAKE("a late pong counts from its ping")
{
	FAKE_JOB(ROWLOCK_ROW, 0);

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_next(FAKE_CONFIRM, (struct fake_answer){ .ms = 1000 });
	fake_next(FAKE_CONFIRM, (struct fake_answer){ .wait = true });
	fake_advance(PING_MS);
	fake_await(FAKE_CONFIRM, 1);
	fake_until(remains, &(struct expected){ lock, 7100 });
	fake_let(FAKE_CONFIRM);
	assert_ok(rowlock_release(lock, &err));
}

FAKE("a late answer to a verify counts from its question")
{
	FAKE_JOB(ROWLOCK_ROW, 0);

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_next(FAKE_CONFIRM, (struct fake_answer){ .ms = 1000 });
	/* The next ping is due by then. */
	fake_next(FAKE_CONFIRM, (struct fake_answer){ .wait = true });
	fake_advance(100);
	assert_ok(rowlock_verify(lock, &err));
	assert_int_equal(rowlock_remaining_ms(lock), 7100);
	fake_let(FAKE_CONFIRM);
	assert_ok(rowlock_release(lock, &err));
}

FAKE("a failed ping loses the hold")
{
	TEST_EVENT(event);
	FAKE_JOB(ROWLOCK_ROW, 0);

	rowlock_on_lost(lock, test_event_note, &event);
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_next(FAKE_CONFIRM, no_answer);
	fake_advance(PING_MS);
	assert_event(&event, "the lost callback of '%s': it has %llu ms left",
		     rowlock_name(lock),
		     (unsigned long long) rowlock_remaining_ms(lock));
	assert_int_equal(rowlock_held(lock), 0);
	fake_until(nothing_is_lent, NULL);
	assert_int_equal(fake_row("job"), 0);
}

static bool only_the_keeper_has_control(void *arg)
{
	(void) arg;
	return fake_lent(RLK_BAY_CONTROL) == 2;
}

FAKE("a hanging ping loses the hold")
{
	TEST_EVENT(event);
	FAKE_JOB(ROWLOCK_ROW, 0);

	rowlock_on_lost(lock, test_event_note, &event);
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_next(FAKE_CONFIRM, (struct fake_answer){ .wait = true });
	fake_advance(PING_MS);
	fake_await(FAKE_CONFIRM, 1);
	assert_int_equal(rowlock_held(lock), 1);
	/* Another connection is answered meanwhile. */
	fake_advance(PATIENCE_MS / 2);
	fake_await(FAKE_PING, 1);
	fake_until(only_the_keeper_has_control, NULL);
	fake_advance(PATIENCE_MS / 4);
	fake_await_sleep(PATIENCE_MS / 4);
	assert_int_equal(rowlock_held(lock), 1);
	fake_advance(PATIENCE_MS / 4);
	assert_event(&event, "the lost callback of '%s': it has %llu ms left",
		     rowlock_name(lock),
		     (unsigned long long) rowlock_remaining_ms(lock));
	/* Where nothing gets through on it, the server sees no end of it. */
	fake_await(FAKE_FENCE, 1);
	assert_true(fake_call(FAKE_FENCE, 0).id ==
		    fake_call(FAKE_ACQUIRE, 0).conn);
}

/* It stands still: the hold may outlast that. */
FAKE("a server that answers nobody ends no hold")
{
	FAKE_JOB(ROWLOCK_ROW, 0);

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_always(FAKE_PING, (struct fake_answer){ .wait = true });
	fake_next(FAKE_CONFIRM, (struct fake_answer){ .wait = true });
	fake_next(FAKE_CONFIRM, (struct fake_answer){ .wait = true });
	fake_advance(PING_MS);
	fake_await(FAKE_CONFIRM, 1);
	fake_advance(PATIENCE_MS / 2);
	fake_await(FAKE_PING, 1);
	fake_advance(7000 - PATIENCE_MS / 2);
	assert_int_equal(rowlock_held(lock), 1);
	fake_let(FAKE_CONFIRM);
	fake_until(remains, &(struct expected){ lock, 1100 });
	fake_let(FAKE_CONFIRM);
	fake_always(FAKE_PING, (struct fake_answer){ .given = false });
	fake_let(FAKE_PING);
	assert_ok(rowlock_release(lock, &err));
}

/* Whatever asks on the hold's connection meanwhile. */
FAKE("a verify without an answer ends no hold")
{
	struct rowlock_client_options options = fake_options();
	struct fake_person *bob = fake_person();

	options.call_timeout_ms = 100;
	FAKE_CLIENT_AS(client, fake_client_with(&options));
	FAKE_LOCK(lock, client, ROWLOCK_ROW, 0, "job");
	assert_ok(fake_ask(bob, FAKE_DO_ACQUIRE, lock, 0));
	fake_always(FAKE_PING, (struct fake_answer){ .wait = true });
	fake_next(FAKE_CONFIRM, (struct fake_answer){ .wait = true });
	fake_next(FAKE_CONFIRM, (struct fake_answer){ .wait = true });
	fake_tell(bob, FAKE_DO_VERIFY, lock, 0);
	fake_await(FAKE_CONFIRM, 1);
	fake_advance(100);
	assert_code(fake_hear(bob, &err), ROWLOCK_ECONNECT, &err);
	assert_int_equal(rowlock_held(lock), 1);
	/* The pinger reads that answer. */
	fake_advance(3000);
	fake_let(FAKE_CONFIRM);
	fake_until(remains, &(struct expected){ lock, 8100 - 3100 });
	fake_let(FAKE_CONFIRM);
	fake_always(FAKE_PING, (struct fake_answer){ .given = false });
	fake_let(FAKE_PING);
	assert_ok(fake_ask(bob, FAKE_DO_RELEASE, lock, 0));
	fake_person_end(bob);
}

FAKE("a hold that nobody answers for ends at its deadline")
{
	TEST_EVENT(event);
	FAKE_JOB(ROWLOCK_ROW, 0);

	rowlock_on_lost(lock, test_event_note, &event);
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_always(FAKE_PING, no_answer);
	fake_next(FAKE_CONFIRM, (struct fake_answer){ .wait = true });
	fake_advance(PING_MS);
	fake_await(FAKE_CONFIRM, 1);
	fake_advance(8100 - PING_MS - 1);
	assert_int_equal(rowlock_held(lock), 1);
	fake_advance(1);
	assert_event(&event, "the lost callback of '%s'", rowlock_name(lock));
	fake_await(FAKE_FENCE, 1);
}

static unsigned int fences_of(uint64_t conn)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < fake_count(FAKE_FENCE); i++)
		count += fake_call(FAKE_FENCE, i).id == conn;
	return count;
}

static bool is_fenced_often(void *arg)
{
	return fences_of(*(uint64_t *) arg) >= 4;
}

/* The server ends it, an idle bound after it last heard of it, and a margin:
 * then there is nothing to end any more. */
FAKE("a session that cannot be ended ends by itself")
{
	FAKE_JOB(ROWLOCK_ROW, 0);
	FAKE_LOCK(other, client, ROWLOCK_ROW, 0, "other");
	uint64_t first, second;
	unsigned int fences;

	assert_ok(rowlock_acquire(lock, 0, &err));
	first = fake_row("job");
	fake_always(FAKE_CONFIRM, no_answer);
	fake_always(FAKE_FENCE, no_answer);
	fake_advance(PING_MS);
	fake_await(FAKE_FENCE, 1);
	fake_advance(13000);
	fences = fences_of(first);
	assert_ok(rowlock_acquire(other, 0, &err));
	second = fake_row("other");
	fake_advance(PING_MS);
	fake_pass_until(is_fenced_often, &second);
	/* One may have been on its way. */
	assert_true(fences_of(first) <= fences + 1);
}

/* A statement that is interrupted may have locked the row already: before the
 * connection is used again its transaction ends. */
FAKE("an interrupted try keeps nothing locked")
{
	FAKE_JOB(ROWLOCK_ROW, 0);

	fake_row_unlock("job");
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .given = true,
						      .result = RLK_CONFLICT });
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_int_equal(fake_count(FAKE_ACQUIRE), 2);
	assert_int_equal(fake_count(FAKE_RELEASE), 1);
	assert_true(fake_call(FAKE_RELEASE, 0).order <
		    fake_call(FAKE_ACQUIRE, 1).order);
	assert_ok(rowlock_release(lock, &err));
}

FAKE("a hold is over at its bound, whatever threads do")
{
	FAKE_JOB(ROWLOCK_ROW, 0);

	/* The pinger may wake by itself just now. */
	fake_always(FAKE_CONFIRM, (struct fake_answer){ .wait = true });
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_creep(8099);
	assert_int_equal(rowlock_held(lock), 1);
	fake_creep(1);
	assert_int_equal(rowlock_held(lock), 0);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
}

FAKE("a pong after the bound brings nothing back")
{
	TEST_EVENT(event);
	FAKE_JOB(ROWLOCK_ROW, 0);

	rowlock_on_lost(lock, test_event_note, &event);
	assert_ok(rowlock_acquire(lock, 0, &err));
	/* The deadline thread sleeps until then, and is not woken. */
	fake_await_sleep(8100);
	fake_next(FAKE_CONFIRM, (struct fake_answer){ .creep_ms = 8000 });
	fake_advance(PING_MS);
	assert_event(&event, "the lost callback of '%s': it has %llu ms left",
		     rowlock_name(lock),
		     (unsigned long long) rowlock_remaining_ms(lock));
	assert_int_equal(rowlock_held(lock), 0);
}

FAKE("confirming a grant takes no longer than the caller has")
{
	FAKE_JOB(ROWLOCK_ROW, 0);
	FAKE_PERSON(bob);

	fake_row_unlock("job");
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .ms = 4000 });
	fake_next(FAKE_CONFIRM, (struct fake_answer){ .wait = true });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, 4500);
	fake_await(FAKE_CONFIRM, 1);
	fake_advance(600);
	assert_code(fake_hear(bob, &err), ROWLOCK_ECONNECT, &err);
	fake_until(nothing_is_lent, NULL);
	assert_int_equal(fake_row("job"), 0);
}

FAKE("a grant that cannot be confirmed is not left in the pool")
{
	FAKE_JOB(ROWLOCK_ROW, 0);
	FAKE_PERSON(bob);

	fake_row_unlock("job");
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .ms = 4000 });
	/* The connection is good, and has the row locked. */
	fake_next(FAKE_CONFIRM,
		  (struct fake_answer){ .given = true, .result = RLK_KILLED });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	assert_ok(fake_pass_hear(bob, &err));
	assert_true(fake_call(FAKE_ACQUIRE, 0).conn !=
		    fake_call(FAKE_ACQUIRE, 1).conn);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
}

FAKE("a connection that comes too late is not used")
{
	FAKE_JOB(ROWLOCK_ROW, 0);

	fake_next(FAKE_GET, (struct fake_answer){ .ms = 1020 });
	assert_code(rowlock_acquire(lock, 1000, &err), ROWLOCK_ETIMEDOUT, &err);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 0);
}

/* First: a ping asks the same, but of a hold that has begun. */
FAKE("a grant after a long wait is confirmed first")
{
	FAKE_JOB(ROWLOCK_ROW, 0);
	FAKE_PERSON(bob);

	fake_row_unlock("job");
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .ms = 4000 });
	fake_next(FAKE_CONFIRM, (struct fake_answer){ .wait = true });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_await(FAKE_CONFIRM, 1);
	assert_false(rowlock_held(lock));
	fake_let(FAKE_CONFIRM);
	assert_ok(fake_hear(bob, &err));
	assert_int_equal(fake_count(FAKE_CONFIRM), 1);
	assert_int_equal(rowlock_remaining_ms(lock), 8100);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
}

FAKE("a confirmed grant counts from when that was asked")
{
	FAKE_JOB(ROWLOCK_ROW, 0);

	fake_row_unlock("job");
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .ms = 4000 });
	fake_next(FAKE_CONFIRM, (struct fake_answer){ .ms = 600 });
	/* The first ping is due by then. */
	fake_next(FAKE_CONFIRM, (struct fake_answer){ .wait = true });
	assert_ok(rowlock_acquire(lock, ROWLOCK_FOREVER, &err));
	assert_int_equal(rowlock_remaining_ms(lock), 8100 - 600);
	fake_let(FAKE_CONFIRM);
	assert_ok(rowlock_release(lock, &err));
}

FAKE("a release without an answer says lost")
{
	FAKE_JOB(ROWLOCK_ROW, 0);

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_next(FAKE_RELEASE, no_answer);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	/* Its connection is closed, so the server ends the transaction. */
	assert_int_equal(fake_row("job"), 0);
	assert_int_equal(fake_lent(RLK_BAY_ROW), 0);
	fake_await(FAKE_FENCE, 1);
	assert_true(fake_call(FAKE_FENCE, 0).id ==
		    fake_call(FAKE_RELEASE, 0).conn);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_release(lock, &err));
}

FAKE("verify asks on the hold's own connection")
{
	FAKE_JOB(ROWLOCK_ROW, 0);

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_advance(1000);
	assert_ok(rowlock_verify(lock, &err));
	assert_true(fake_call(FAKE_CONFIRM, 0).conn == fake_row("job"));
	assert_int_equal(rowlock_remaining_ms(lock), 8100);
	fake_next(FAKE_CONFIRM, no_answer);
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
}

/* Its last answer is on the way, the end right behind it, and the deadline
 * thread is faster than the one that was granted. */
FAKE("an end before the hold begins is not missed")
{
	FAKE_JOB(ROWLOCK_ROW, 0);
	FAKE_PERSON(person);

	assert_int_equal(fake_ask(person, FAKE_DO_ACQUIRE, lock, 0), 0);
	assert_int_equal(fake_ask(person, FAKE_DO_RELEASE, lock, 0), 0);
	/* After a wait of 4 s it is confirmed first. */
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .ms = 4000 });
	fake_next(FAKE_CONFIRM, (struct fake_answer){ .given = true,
						      .result = RLK_DONE,
						      .wait = true });
	fake_tell(person, FAKE_DO_ACQUIRE, lock, 60000);
	fake_await(FAKE_CONFIRM, 1);
	fake_row_hang_up("job");
	fake_pass_until(end_was_seen, client);
	fake_let(FAKE_CONFIRM);
	assert_int_equal(fake_hear(person, NULL), 0);
	assert_int_equal(rowlock_held(lock), 0);
	assert_code(fake_ask(person, FAKE_DO_RELEASE, lock, 0), ROWLOCK_ELOST,
		    NULL);
}

CASE_MAIN(case_main)
