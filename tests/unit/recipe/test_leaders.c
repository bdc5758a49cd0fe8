/* SPDX-License-Identifier: MIT */
/*
 * Observers: who leads, told in the order of terms, whichever server answers.
 */
#include "fake/fake.h"

#include <rowlock/election.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

/* No other sleep of the client is as long: its end is that of a round. */
#define INTERVAL_MS 1013

/* What an observer was told, all of it. */
struct told {
	unsigned int count;
	size_t size; /* of what it was told last */
	enum rowlock_leader_state states[32];
	uint64_t terms[32];
	char since[64];
	char host[64];
};

static void note(const struct rowlock_leader *leader, void *arg)
{
	struct told *told = arg;

	told->size = leader->size;
	told->states[told->count] = leader->state;
	told->terms[told->count] = leader->term;
	snprintf(told->since, sizeof(told->since), "%s", leader->since);
	snprintf(told->host, sizeof(told->host), "%s", leader->host);
	told->count++;
}

struct scene {
	struct rowlock_client *client;
	struct rowlock_observer *observer;
	unsigned int rounds;
	struct told told;
};

static void begin(struct scene *scene)
{
	struct rowlock_watch_options options = ROWLOCK_WATCH_OPTIONS_DEFAULT;

	memset(scene, 0, sizeof(*scene));
	scene->client = fake_client();
	options.interval_ms = INTERVAL_MS;
	assert_ok(rowlock_observer_new(scene->client, "crown", &options, note,
				       &scene->told, &scene->observer, &err));
	fake_await(FAKE_NAMES, 1);
	fake_await_sleep(INTERVAL_MS);
	scene->rounds = 1;
}

static void end(struct scene *scene)
{
	assert_int_equal(scene->told.size, sizeof(struct rowlock_leader));
	rowlock_observer_free(scene->observer);
	fake_client_end(scene->client);
}

static void next_round(struct scene *scene)
{
	fake_advance(INTERVAL_MS);
	fake_await(FAKE_NAMES, ++scene->rounds);
	fake_await_sleep(INTERVAL_MS);
}

/* The server answers; @count says how often it was told of all in all. */
static void answer(struct scene *scene, enum rowlock_state state,
		   uint64_t attempt, uint64_t token, uint64_t last_token,
		   unsigned int count)
{
	fake_know("crown", state, attempt, token, last_token);
	next_round(scene);
	assert_int_equal(scene->told.count, count);
}

static void assert_told(const struct scene *scene,
			enum rowlock_leader_state state, uint64_t term)
{
	const struct told *told = &scene->told;

	assert_int_equal(told->states[told->count - 1], state);
	assert_true(told->terms[told->count - 1] == term);
}

FAKE("changes of leaders are told")
{
	struct scene scene;

	begin(&scene);
	assert_told(&scene, ROWLOCK_LEADER_NONE, 0);
	answer(&scene, ROWLOCK_STATE_HELD, 7, 10, 10, 2);
	assert_told(&scene, ROWLOCK_LEADER_PRESENT, 10);
	assert_string_equal(scene.told.since, "drawn");
	assert_string_equal(scene.told.host, "host");
	answer(&scene, ROWLOCK_STATE_HELD, 7, 10, 10, 2);
	answer(&scene, ROWLOCK_STATE_FREE, 0, 0, 10, 3);
	assert_told(&scene, ROWLOCK_LEADER_NONE, 10);
	assert_string_equal(scene.told.since, "");
	answer(&scene, ROWLOCK_STATE_HELD, 8, 11, 11, 4);
	assert_told(&scene, ROWLOCK_LEADER_PRESENT, 11);
	/* The next one, between two looks. */
	answer(&scene, ROWLOCK_STATE_HELD, 9, 12, 12, 5);
	assert_told(&scene, ROWLOCK_LEADER_PRESENT, 12);
	end(&scene);
}

/* Just elected, its term is not drawn yet: the one before is over. */
FAKE("a holder without a term is no leader")
{
	struct scene scene;

	begin(&scene);
	answer(&scene, ROWLOCK_STATE_HELD, 7, 10, 10, 2);
	answer(&scene, ROWLOCK_STATE_HELD, 8, 0, 10, 3);
	assert_told(&scene, ROWLOCK_LEADER_NONE, 10);
	answer(&scene, ROWLOCK_STATE_HELD, 8, 11, 11, 4);
	assert_told(&scene, ROWLOCK_LEADER_PRESENT, 11);
	end(&scene);
}

FAKE("a server that is late is not believed")
{
	struct scene scene;

	begin(&scene);
	answer(&scene, ROWLOCK_STATE_HELD, 8, 11, 11, 2);
	/* It has not heard of this term, nor that there was one. */
	answer(&scene, ROWLOCK_STATE_HELD, 7, 10, 10, 2);
	answer(&scene, ROWLOCK_STATE_FREE, 0, 0, 10, 2);
	answer(&scene, ROWLOCK_STATE_FREE, 0, 0, 0, 2);
	answer(&scene, ROWLOCK_STATE_FREE, 0, 0, 11, 3);
	/* Nor that it is over. */
	answer(&scene, ROWLOCK_STATE_HELD, 8, 11, 11, 3);
	answer(&scene, ROWLOCK_STATE_FREE, 0, 0, 11, 3);
	answer(&scene, ROWLOCK_STATE_HELD, 9, 12, 12, 4);
	assert_told(&scene, ROWLOCK_LEADER_PRESENT, 12);
	end(&scene);
}

/* Its time is up, but nobody has evicted it: a beat may still come. */
FAKE("a leader whose time is up may come back")
{
	struct scene scene;

	begin(&scene);
	answer(&scene, ROWLOCK_STATE_HELD, 7, 10, 10, 2);
	answer(&scene, ROWLOCK_STATE_DEAD, 7, 10, 10, 3);
	assert_told(&scene, ROWLOCK_LEADER_NONE, 10);
	answer(&scene, ROWLOCK_STATE_HELD, 7, 10, 10, 4);
	assert_told(&scene, ROWLOCK_LEADER_PRESENT, 10);
	end(&scene);
}

/* It led for months, and resigned; the reaper came before the next look. */
FAKE("a leader whose term was collected is over")
{
	struct scene scene;

	begin(&scene);
	answer(&scene, ROWLOCK_STATE_HELD, 7, 10, 10, 2);
	/* A server that is late has collected others at the most. */
	fake_collect(9);
	answer(&scene, ROWLOCK_STATE_FREE, 0, 0, 0, 2);
	answer(&scene, ROWLOCK_STATE_HELD, 7, 10, 10, 2);
	fake_collect(10);
	answer(&scene, ROWLOCK_STATE_FREE, 0, 0, 0, 3);
	assert_told(&scene, ROWLOCK_LEADER_NONE, 10);
	answer(&scene, ROWLOCK_STATE_HELD, 8, 11, 11, 4);
	assert_told(&scene, ROWLOCK_LEADER_PRESENT, 11);
	/* Likewise if the next one has not drawn yet. */
	fake_collect(11);
	answer(&scene, ROWLOCK_STATE_HELD, 9, 0, 0, 5);
	assert_told(&scene, ROWLOCK_LEADER_NONE, 11);
	end(&scene);
}

FAKE("silence is told, and forgets nothing")
{
	static const struct fake_answer silence = { .given = true,
						    .skip = true,
						    .result = RLK_PENDING };
	struct scene scene;

	begin(&scene);
	answer(&scene, ROWLOCK_STATE_HELD, 8, 11, 11, 2);
	fake_always(FAKE_NAMES, silence);
	for (int i = 0; i < 4; i++)
		next_round(&scene);
	assert_int_equal(scene.told.count, 3);
	assert_told(&scene, ROWLOCK_LEADER_UNKNOWN, 11);
	fake_always(FAKE_NAMES, (struct fake_answer){ .given = false });
	answer(&scene, ROWLOCK_STATE_HELD, 7, 10, 10, 3);
	answer(&scene, ROWLOCK_STATE_HELD, 8, 11, 11, 4);
	assert_told(&scene, ROWLOCK_LEADER_PRESENT, 11);
	end(&scene);
}

FAKE("bad observers are refused")
{
	FAKE_CLIENT();
	struct rowlock_watch_options options = ROWLOCK_WATCH_OPTIONS_DEFAULT;
	struct rowlock_observer *none = NULL;

	assert_code(
	    rowlock_observer_new(client, "a ", NULL, note, NULL, &none, &err),
	    ROWLOCK_ENAME, &err);
	assert_code(
	    rowlock_observer_new(client, "a", NULL, NULL, NULL, &none, &err),
	    ROWLOCK_EINVAL, &err);
	options = (struct rowlock_watch_options){ 0 };
	assert_code(rowlock_observer_new(client, "a", &options, note, NULL,
					 &none, &err),
		    ROWLOCK_EINVAL, &err);
	assert_null(none);
	rowlock_observer_free(NULL);
}

CASE_MAIN(case_main)
