/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_PASSING_H
#define ROWLOCK_TEST_PASSING_H

/*
 * For test_handover.c and test_goes_back.c: a name that is held, and those who
 * wait for it in the same client.
 */
#include "fake/fake.h"

#include "core/client.h"
#include "test.h"
#include "wait/handover.h"

/* A name that the test's thread holds, and one or two who wait for it. */
struct scene {
	struct rowlock_client *client;
	struct rowlock *held;
	struct rowlock *bobs;
	struct rowlock *eves; /* NULL: nobody */
	struct fake_person *bob;
	struct fake_person *eve;
};

static inline struct rowlock *lock_with(struct rowlock_client *client,
					const struct rowlock_options *options)
{
	struct rowlock *lock = NULL;

	assert_ok(rowlock_new(client, "job", options, &lock, &err));
	return lock;
}

static inline void wait_in_line(struct fake_person *person,
				struct rowlock *lock, uint64_t wait_ms,
				unsigned int place)
{
	fake_tell(person, FAKE_DO_ACQUIRE, lock, wait_ms);
	fake_await_line(lock, place);
}

/* @waits: how the second to come asks. */
static inline struct scene scene_of(const struct rowlock_client_options *client,
				    const struct rowlock_options *holds,
				    const struct rowlock_options *waits)
{
	struct scene scene = { .client = fake_client_with(client) };

	scene.held = lock_with(scene.client, holds);
	scene.bobs = lock_with(scene.client, waits);
	scene.bob = fake_person();
	assert_ok(rowlock_acquire(scene.held, 0, &err));
	wait_in_line(scene.bob, scene.bobs, 5000, 1);
	return scene;
}

static inline struct scene scene(enum rowlock_strategy strategy)
{
	const struct rowlock_client_options client = fake_options();
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;

	options.strategy = strategy;
	return scene_of(&client, &options, &options);
}

static inline void add_eve(struct scene *scene, unsigned int place)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;

	if (scene->held->name->strategy->pins_connection)
		options.strategy = ROWLOCK_ROW;
	scene->eves = lock_with(scene->client, &options);
	scene->eve = fake_person();
	wait_in_line(scene->eve, scene->eves, ROWLOCK_FOREVER, place);
}

static inline void scene_end(struct scene *scene)
{
	fake_person_end(scene->bob);
	fake_lock_end(scene->held);
	fake_lock_end(scene->bobs);
	if (scene->eve) {
		fake_person_end(scene->eve);
		fake_lock_end(scene->eves);
	}
	fake_client_end(scene->client);
}

/* Has the server been asked for it so often, and been given it back? */
static inline void assert_said(unsigned int acquires, unsigned int releases)
{
	assert_int_equal(fake_count(FAKE_ACQUIRE), acquires);
	assert_int_equal(fake_count(FAKE_RELEASE), releases);
}

static inline void release_to_bob(struct scene *scene)
{
	assert_ok(rowlock_release(scene->held, &err));
	assert_ok(fake_hear(scene->bob, &err));
	assert_int_equal(rowlock_held(scene->bobs), 1);
	assert_int_equal(rowlock_held(scene->held), 0);
}

static inline void bob_releases(struct scene *scene)
{
	assert_int_equal(fake_ask(scene->bob, FAKE_DO_RELEASE, scene->bobs, 0),
			 0);
}

#endif
