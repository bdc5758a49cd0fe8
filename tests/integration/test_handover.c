// SPDX-License-Identifier: MIT
/*
 * Threads that pass a name among themselves, seen from the server: what that
 * costs, which tokens they draw, and whether another process gets its turn.
 *
 * The threads have to stand in line all the time for that, and nobody outside
 * can see whether they do; so what is counted is counted in several rounds, and
 * the least is believed.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "actor.h"
#include "sql.h"
#include "test.h"

#define CROWD 100
#define ROUNDS 20

struct crowd {
	struct rowlock_client *client;
	enum rowlock_strategy strategy;
	const char *name;
	bool draw;
	_Atomic unsigned int coming;
	_Atomic unsigned int failed;
	struct rowlock_errinfo why; /* of one that failed */
	unsigned int had;           /* under the lock: how many have had it */
	uint64_t tokens[CROWD];
	struct test_event all_come;
	struct test_event all_had;
	struct test_event let_go;
};

static void note_failure(struct crowd *crowd,
			 const struct rowlock_errinfo *error)
{
	if (atomic_fetch_add(&crowd->failed, 1) == 0)
		crowd->why = *error;
}

static void *take_turn(void *arg)
{
	struct crowd *crowd = arg;
	struct rowlock *lock =
	    test_lock(crowd->client, crowd->strategy, 0, crowd->name);
	unsigned int place;

	if (atomic_fetch_add(&crowd->coming, 1) + 1 == CROWD)
		test_event_set(&crowd->all_come);
	if (rowlock_acquire(lock, (uint64_t) test_patience_ms(), &err)) {
		note_failure(crowd, &err);
		return NULL;
	}
	place = crowd->had++;
	if (crowd->draw && rowlock_token(lock, &crowd->tokens[place], &err))
		note_failure(crowd, &err);
	if (place + 1 == CROWD) {
		test_event_set(&crowd->all_had);
		test_event_wait(&crowd->let_go);
	}
	if (rowlock_release(lock, &err))
		note_failure(crowd, &err);
	test_lock_end(lock);
	return NULL;
}

/* From the first release until the last has it, and has not released it yet:
 * how many statements did the server run? */
static uint64_t round_of(struct crowd *crowd, struct test_sql *sql)
{
	struct rowlock *first =
	    test_lock(crowd->client, crowd->strategy, 0, crowd->name);
	pthread_t threads[CROWD];
	uint64_t before, after;
	int i;

	crowd->coming = crowd->had = 0;
	assert_ok(rowlock_acquire(first, (uint64_t) test_patience_ms(), &err));
	for (i = 0; i < CROWD; i++)
		assert_int_equal(
		    pthread_create(&threads[i], NULL, take_turn, crowd), 0);
	assert_event(&crowd->all_come, "%d threads to come: %u have", CROWD,
		     crowd->coming);
	before = test_sql_status(sql, "Questions");
	assert_ok(rowlock_release(first, &err));
	assert_event(&crowd->all_had,
		     "%d threads to have it: %u have had it, %u failed%s%s",
		     CROWD, crowd->had, crowd->failed,
		     crowd->failed ? ": " : "", crowd->why.message);
	after = test_sql_status(sql, "Questions") - 1;
	test_event_set(&crowd->let_go);
	for (i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
	if (crowd->failed)
		fail_msg("%u failed: %s", crowd->failed, crowd->why.message);
	test_lock_end(first);
	return after - before;
}

/* The least of some rounds; the search ends early with @want. */
static uint64_t least(enum rowlock_strategy strategy, unsigned int passes,
		      uint64_t want)
{
	struct rowlock_client_options options = test_client_options(600000);
	struct test_sql *sql = test_sql_open();
	struct crowd crowd = {
		.strategy = strategy,
		.name = test_name("crowd"),
		.all_come = test_event_new(),
		.all_had = test_event_new(),
		.let_go = test_event_new(),
	};
	uint64_t fewest = UINT64_MAX;
	int i;

	options.handover_passes = passes;
	if (!passes)
		options.flags |= ROWLOCK_NO_HANDOVER;
	options.handover_ms = 60000;
	crowd.client = test_client_with(&options);
	for (i = 0; i < ROUNDS && fewest != want; i++) {
		uint64_t count = round_of(&crowd, sql);

		fewest = count < fewest ? count : fewest;
	}
	test_client_end(crowd.client);
	test_sql_end(sql);
	test_event_end(&crowd.all_come);
	test_event_end(&crowd.all_had);
	test_event_end(&crowd.let_go);
	return fewest;
}

CASE("a hundred passes cost no statement")
{
	assert_int_equal(least(ROWLOCK_LEASE, 1000000, 0), 0);
	assert_int_equal(least(ROWLOCK_ROW, 1000000, 0), 0);
}

/* Of 101 holders 26 have it by one grant: three times it goes back. */
CASE("after a turn it goes back, once")
{
	assert_int_equal(least(ROWLOCK_LEASE, 25, 6), 6);
	assert_int_equal(least(ROWLOCK_ROW, 25, 6), 6);
}

CASE("without hand-over each asks")
{
	assert_int_equal(least(ROWLOCK_LEASE, 0, 2 * CROWD), 2 * CROWD);
	assert_int_equal(least(ROWLOCK_ROW, 0, 2 * CROWD), 2 * CROWD);
}

static void tokens_grow(enum rowlock_strategy strategy)
{
	struct rowlock_client_options options = test_client_options(600000);
	struct test_sql *sql = test_sql_open();
	struct crowd crowd = {
		.strategy = strategy,
		.name = test_name("tokens"),
		.draw = true,
		.all_come = test_event_new(),
		.all_had = test_event_new(),
		.let_go = test_event_new(),
	};
	int i;

	options.handover_passes = 10;
	options.handover_ms = 60000;
	crowd.client = test_client_with(&options);
	round_of(&crowd, sql);
	for (i = 1; i < CROWD; i++)
		assert_true(crowd.tokens[i] > crowd.tokens[i - 1]);
	test_client_end(crowd.client);
	test_sql_end(sql);
	test_event_end(&crowd.all_come);
	test_event_end(&crowd.all_had);
	test_event_end(&crowd.let_go);
}

CASE("tokens grow with each pass")
{
	tokens_grow(ROWLOCK_LEASE);
	tokens_grow(ROWLOCK_ROW);
}

/* ---------------------------------------------------- another process */

#define GREEDY 8

struct greedy {
	struct rowlock_client *client;
	enum rowlock_strategy strategy;
	const char *name;
	_Atomic bool stop;
	_Atomic unsigned int failed;
};

static void *take_again_and_again(void *arg)
{
	struct greedy *greedy = arg;
	struct rowlock *lock =
	    test_lock(greedy->client, greedy->strategy, 0, greedy->name);

	while (!greedy->stop)
		if (rowlock_acquire(lock, (uint64_t) test_patience_ms(),
				    &err) ||
		    rowlock_release(lock, &err))
			atomic_fetch_add(&greedy->failed, 1);
	test_lock_end(lock);
	return NULL;
}

static void gets_its_turn(enum rowlock_strategy strategy)
{
	struct greedy greedy = {
		.client = test_client(600000),
		.strategy = strategy,
		.name = test_name("greedy"),
	};
	struct test_actor actor =
	    test_actor_start(strategy, greedy.name, 600000);
	pthread_t threads[GREEDY];
	int i;

	for (i = 0; i < GREEDY; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
						take_again_and_again, &greedy),
				 0);
	for (i = 0; i < 3; i++) {
		assert_int_equal(test_actor_ask(&actor, "wait"), 0);
		assert_int_equal(test_actor_ask(&actor, "release"), 0);
	}
	greedy.stop = true;
	for (i = 0; i < GREEDY; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(greedy.failed, 0);
	test_actor_end(&actor);
	test_client_end(greedy.client);
}

CASE("another process gets its turn")
{
	gets_its_turn(ROWLOCK_LEASE);
	gets_its_turn(ROWLOCK_ROW);
}

CASE_MAIN(test_main)
