/* SPDX-License-Identifier: MIT */
/*
 * Permits that one thread gives up: who of its client has them without a word
 * to the server, and who is not overtaken by that. The server is the fake
 * lease: as if there were as many permits as the first one took.
 */
#include "fake/fake.h"

#include "hold/handle.h"
#include "test.h"

#define PEOPLE 3

/* Ann has permits; Bob and Eve want some. */
struct scene {
	struct rlk_strategy strategy;
	struct rowlock_client *client;
	struct rowlock *locks[PEOPLE];
	struct fake_person *people[PEOPLE];
};

enum { ANN, BOB, EVE };

static struct scene scene(void)
{
	struct rowlock_client_options client = fake_options();
	struct scene scene = { .strategy = *rlk_strategy(ROWLOCK_LEASE) };

	client.handover_ms = 60000;
	scene.client = fake_client_with(&client);
	scene.strategy.many = true;
	scene.strategy.counted = true;
	scene.strategy.look = NULL;
	/* They ask again and again, as the first in line does. */
	scene.strategy.bells = false;
	scene.strategy.batch = NULL;
	return scene;
}

/* Names keep their strategy by reference. */
static void begin(struct scene *scene)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;

	options.flags = ROWLOCK_OWNER_HANDLE | ROWLOCK_NOT_REENTRANT;
	for (int i = 0; i < PEOPLE; i++) {
		assert_ok(rlk_lock_make(scene->client, "job", &scene->strategy,
					&options, &scene->locks[i], &err));
		scene->people[i] = fake_person();
	}
	assert_int_equal(fake_ask(scene->people[ANN], FAKE_DO_ACQUIRE_ONE,
				  scene->locks[ANN], 0),
			 0);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 1);
}

static void end(struct scene *scene)
{
	for (int i = 0; i < PEOPLE; i++) {
		fake_person_end(scene->people[i]);
		fake_lock_end(scene->locks[i]);
	}
	fake_client_end(scene->client);
}

static void wants(struct scene *scene, int who, enum fake_verb verb)
{
	fake_tell(scene->people[who], verb, scene->locks[who], ROWLOCK_FOREVER);
}

static int release(struct scene *scene, int who)
{
	return fake_ask(scene->people[who], FAKE_DO_RELEASE, scene->locks[who],
			0);
}

static void has(struct scene *scene, int who)
{
	assert_ok(fake_hear(scene->people[who], &err));
}

static bool is_idle(void *arg)
{
	struct rowlock *lock = arg;
	struct rowlock_client *client = lock->name->client;
	bool idle;

	rlk_mutex_lock(&client->mutex);
	idle = lock->waiter && lock->waiter->state == RLK_WAITER_RESTS;
	rlk_mutex_unlock(&client->mutex);
	return idle;
}

/* Refused, and between two questions. */
static void await_pause(struct scene *scene, int who)
{
	fake_until(is_idle, scene->locks[who]);
}

FAKE("who was refused has what another thread gives up")
{
	_cleanup_(end) struct scene s = scene();

	begin(&s);
	wants(&s, BOB, FAKE_DO_ACQUIRE_ONE);
	await_pause(&s, BOB);
	assert_int_equal(release(&s, ANN), 0);
	has(&s, BOB);
	assert_int_equal(fake_count(FAKE_RELEASE), 0);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 2);
	assert_true(rowlock_held(s.locks[BOB]));
	assert_int_equal(release(&s, BOB), 0);
	assert_int_equal(fake_count(FAKE_RELEASE), 1);
}

/* They are for one who wants more, and Eve stands behind him. */
FAKE("who was refused and wants more is not overtaken")
{
	_cleanup_(end) struct scene s = scene();

	begin(&s);
	wants(&s, BOB, FAKE_DO_ACQUIRE_TWO);
	await_pause(&s, BOB);
	wants(&s, EVE, FAKE_DO_ACQUIRE_ONE);
	fake_await_line(s.locks[EVE], 2);
	assert_int_equal(release(&s, ANN), 0);
	assert_int_equal(fake_count(FAKE_RELEASE), 1);
	/* At once, as one of ours has ended: no time passes here. */
	has(&s, BOB);
	assert_true(fake_busy(s.people[EVE]));
	await_pause(&s, EVE);
	assert_int_equal(release(&s, BOB), 0);
	has(&s, EVE);
	assert_int_equal(release(&s, EVE), 0);
}

static bool has_let_go(void *lock)
{
	return rowlock_depth(lock) == 0;
}

/* Nor while its next question is under way: that may be granted. */
FAKE("who asks once more is not overtaken")
{
	_cleanup_(end) struct scene s = scene();

	begin(&s);
	wants(&s, BOB, FAKE_DO_ACQUIRE_ONE);
	await_pause(&s, BOB);
	wants(&s, EVE, FAKE_DO_ACQUIRE_ONE);
	fake_await_line(s.locks[EVE], 2);
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .wait = true });
	fake_pass_await(FAKE_ACQUIRE, 3);
	/* Its connection is the one that is in use. */
	fake_tell(s.people[ANN], FAKE_DO_RELEASE, s.locks[ANN], 0);
	fake_until(has_let_go, s.locks[ANN]);
	assert_true(fake_busy(s.people[EVE]));
	fake_let(FAKE_ACQUIRE);
	has(&s, ANN);
	assert_int_equal(fake_count(FAKE_RELEASE), 1);
	has(&s, BOB);
	await_pause(&s, EVE);
	assert_int_equal(release(&s, BOB), 0);
	has(&s, EVE);
	assert_int_equal(release(&s, EVE), 0);
}

/* Ann has one; Bob's first question is under way. */
static void begin_with_a_question(struct scene *s)
{
	begin(s);
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .wait = true });
	wants(s, BOB, FAKE_DO_ACQUIRE_ONE);
	fake_await(FAKE_ACQUIRE, 2);
}

/* The first one's question, which may get it others, does not keep Eve. */
FAKE("who stands behind a first question has what is given up")
{
	_cleanup_(end) struct scene s = scene();

	begin_with_a_question(&s);
	wants(&s, EVE, FAKE_DO_ACQUIRE_ONE);
	fake_await_line(s.locks[EVE], 2);
	assert_int_equal(release(&s, ANN), 0);
	has(&s, EVE);
	assert_int_equal(fake_count(FAKE_RELEASE), 0);
	fake_let(FAKE_ACQUIRE);
	await_pause(&s, BOB);
	assert_int_equal(release(&s, EVE), 0);
	has(&s, BOB);
	assert_int_equal(fake_count(FAKE_RELEASE), 0);
	assert_int_equal(release(&s, BOB), 0);
}

/* Whether there are nine only the server can tell. */
FAKE("who says how many there are is handed none of others")
{
	_cleanup_(end) struct scene s = scene();

	begin_with_a_question(&s);
	wants(&s, EVE, FAKE_DO_ACQUIRE_OF_NINE);
	fake_await_line(s.locks[EVE], 2);
	fake_tell(s.people[ANN], FAKE_DO_RELEASE, s.locks[ANN], 0);
	fake_until(has_let_go, s.locks[ANN]);
	assert_true(fake_busy(s.people[EVE]));
	fake_let(FAKE_ACQUIRE);
	has(&s, ANN);
	assert_int_equal(fake_count(FAKE_RELEASE), 1);
	has(&s, BOB);
	await_pause(&s, EVE);
	assert_int_equal(release(&s, BOB), 0);
	has(&s, EVE);
	/* What was said to be of nine may go to who says nothing. */
	wants(&s, BOB, FAKE_DO_ACQUIRE_ONE);
	await_pause(&s, BOB);
	assert_int_equal(release(&s, EVE), 0);
	has(&s, BOB);
	assert_int_equal(fake_count(FAKE_RELEASE), 2);
	assert_int_equal(release(&s, BOB), 0);
}

CASE_MAIN(case_main)
