/* SPDX-License-Identifier: MIT */
/*
 * Pings of row holds beside each other: all that are due are under way at the
 * same time, and none of them is another's. The idle bound is 9 s (margin 0.9
 * s, a ping every 375 ms).
 */
#include "fake/fake.h"

#include <stdio.h>

#include "hold/handle.h"
#include "test.h"

#define PING_MS 375

/* As many as the model has rows for. */
#define MOST 16

static const struct fake_answer normal = { .given = false };
static const struct fake_answer let = { .wait = true };

struct group {
	struct rowlock_client *client;
	struct rowlock *locks[MOST];
	unsigned int count;
	unsigned int wanted; /* for fake_until() */
	uint64_t remaining_ms;
};

static struct group holding(unsigned int count)
{
	struct group group = { .client = fake_client(), .count = count };

	for (unsigned int i = 0; i < count; i++) {
		char name[16];

		snprintf(name, sizeof(name), "job-%u", i);
		group.locks[i] = fake_lock(group.client, ROWLOCK_ROW, 0, name);
		assert_ok(rowlock_acquire(group.locks[i], 0, &err));
	}
	return group;
}

static unsigned int held(const struct group *group)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < group->count; i++)
		count += rowlock_held(group->locks[i]) == 1;
	return count;
}

static bool so_many_are_held(void *arg)
{
	const struct group *group = arg;

	return held(group) == group->wanted;
}

static bool so_many_remain(void *arg)
{
	const struct group *group = arg;
	unsigned int count = 0;

	for (unsigned int i = 0; i < group->count; i++)
		count += rowlock_remaining_ms(group->locks[i]) ==
			 group->remaining_ms;
	return count == group->wanted;
}

static void end(struct group *group)
{
	for (unsigned int i = 0; i < group->count; i++) {
		if (rowlock_held(group->locks[i]) == 1)
			assert_int_equal(rowlock_release(group->locks[i], NULL),
					 0);
		fake_lock_end(group->locks[i]);
	}
	fake_client_end(group->client);
}

FAKE("holds due at once are pinged at once")
{
	_cleanup_(end) struct group group = holding(MOST);

	fake_always(FAKE_CONFIRM, let);
	fake_advance(PING_MS);
	/* Each is sent before any is answered, and in no time. */
	fake_await(FAKE_CONFIRM, MOST);
	for (unsigned int i = 0; i < MOST; i++)
		fake_let(FAKE_CONFIRM);
	group.wanted = MOST;
	group.remaining_ms = 8100;
	fake_until(so_many_remain, &group);
	assert_int_equal(fake_count(FAKE_CONFIRM), MOST);
	fake_always(FAKE_CONFIRM, normal);
}

FAKE("swallowed pings cost no other hold")
{
	_cleanup_(end) struct group group = holding(4);

	fake_always(FAKE_CONFIRM, let);
	fake_advance(PING_MS);
	fake_await(FAKE_CONFIRM, 4);
	/* Two are answered. */
	fake_let(FAKE_CONFIRM);
	fake_let(FAKE_CONFIRM);
	group.wanted = 2;
	group.remaining_ms = 8100;
	fake_until(so_many_remain, &group);
	assert_int_equal(held(&group), 4);
	fake_always(FAKE_CONFIRM, normal);
	/* Up to the end of our patience with the others, and their end. */
	for (int i = 0; i < 10; i++) {
		fake_advance(PING_MS);
		fake_until(so_many_remain, &group);
	}
	fake_until(so_many_are_held, &group);
}

/* What told of the answers for one hold tells nothing of it any more when
 * another has its connection. */
FAKE("the next holds of connections are pinged too")
{
	_cleanup_(end) struct group group = holding(2);
	uint64_t conn = fake_row("job-0");

	fake_always(FAKE_CONFIRM, let);
	group.wanted = 2;
	group.remaining_ms = 8100;
	fake_advance(PING_MS);
	fake_await(FAKE_CONFIRM, 2);
	fake_let(FAKE_CONFIRM);
	fake_let(FAKE_CONFIRM);
	fake_until(so_many_remain, &group);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(rowlock_release(group.locks[i], NULL), 0);
	/* The other way round, also in the memory of the holds. */
	assert_int_equal(rowlock_acquire(group.locks[1], 0, NULL), 0);
	assert_int_equal(rowlock_acquire(group.locks[0], 0, NULL), 0);
	assert_true(fake_row("job-1") == conn);
	/* Nothing is asked about one of them when the other is answered. */
	fake_advance(PING_MS / 2);
	fake_next(FAKE_CONFIRM, normal);
	assert_int_equal(rowlock_verify(group.locks[1], NULL), 0);
	fake_advance(PING_MS - PING_MS / 2);
	fake_await(FAKE_CONFIRM, 4);
	fake_let(FAKE_CONFIRM);
	group.wanted = 1;
	fake_until(so_many_remain, &group);
}

/* ------------------------------------------- who wants the connection */

/* A call's time, which is less than a third of the idle bound here. */
#define PATIENCE_MS 2500

struct bob {
	struct rowlock_client *client;
	struct rowlock *lock;
	struct fake_person *person;
	unsigned int sleepers;
};

/* He holds, and his connection's ping is under way. */
static struct bob pinged_bob(void)
{
	struct rowlock_client_options options = fake_options();
	struct bob bob = { .person = fake_person() };

	options.call_timeout_ms = PATIENCE_MS;
	bob.client = fake_client_with(&options);
	bob.lock = fake_lock(bob.client, ROWLOCK_ROW, 0, "job");
	assert_int_equal(fake_ask(bob.person, FAKE_DO_ACQUIRE, bob.lock, 0), 0);
	fake_next(FAKE_CONFIRM, let);
	fake_advance(PING_MS);
	fake_await(FAKE_CONFIRM, 1);
	return bob;
}

static bool sleeps(void *arg)
{
	const struct bob *bob = arg;

	return fake_sleepers() > bob->sleepers;
}

/* He does so, and has to wait. */
static void bob_waits(struct bob *bob, enum fake_verb verb)
{
	bob->sleepers = fake_sleepers();
	fake_tell(bob->person, verb, bob->lock, 0);
	fake_until(sleeps, bob);
	assert_true(fake_busy(bob->person));
}

static void bob_ends(struct bob *bob)
{
	fake_person_end(bob->person);
	fake_end(bob->lock, bob->client);
}

/* Whoever asked on it now would read the ping's answer. */
FAKE("a release waits for the ping under way")
{
	struct bob bob = pinged_bob();

	bob_waits(&bob, FAKE_DO_RELEASE);
	assert_int_equal(fake_count(FAKE_RELEASE), 0);
	fake_let(FAKE_CONFIRM);
	assert_int_equal(fake_hear(bob.person, NULL), 0);
	assert_int_equal(fake_count(FAKE_RELEASE), 1);
	assert_int_equal(fake_row("job"), 0);
	bob_ends(&bob);
}

FAKE("a release waits no longer than the ping may take")
{
	struct bob bob = pinged_bob();

	bob_waits(&bob, FAKE_DO_RELEASE);
	fake_advance(PATIENCE_MS);
	assert_code(fake_hear(bob.person, NULL), ROWLOCK_ELOST, NULL);
	/* Where nothing gets through on it, the server sees no end of it. */
	fake_await(FAKE_FENCE, 1);
	assert_int_equal(fake_count(FAKE_RELEASE), 0);
	bob_ends(&bob);
}

FAKE("a verify waits for the ping under way")
{
	struct bob bob = pinged_bob();

	bob_waits(&bob, FAKE_DO_VERIFY);
	assert_int_equal(fake_count(FAKE_CONFIRM), 1);
	fake_let(FAKE_CONFIRM);
	assert_int_equal(fake_hear(bob.person, NULL), 0);
	assert_int_equal(fake_count(FAKE_CONFIRM), 2);
	assert_int_equal(fake_ask(bob.person, FAKE_DO_RELEASE, bob.lock, 0), 0);
	bob_ends(&bob);
}

static bool goes_on_or_is_lost(void *arg)
{
	const struct bob *bob = arg;

	return fake_count(FAKE_CONFIRM) == 2 || !rowlock_held(bob->lock);
}

/* We, or the whole process, did not run when it came, nor when our patience
 * ended. */
FAKE("a pong that is there counts however late we look")
{
	struct bob bob = pinged_bob();

	/* Nobody else sleeps for so long. */
	fake_await_sleep(PATIENCE_MS / 2);
	fake_creep(3500);
	fake_let(FAKE_CONFIRM);
	fake_until(goes_on_or_is_lost, &bob);
	assert_int_equal(rowlock_held(bob.lock), 1);
	assert_int_equal(fake_ask(bob.person, FAKE_DO_RELEASE, bob.lock, 0), 0);
	bob_ends(&bob);
}

CASE_MAIN(case_main)
