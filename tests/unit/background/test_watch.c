/* SPDX-License-Identifier: MIT */
/*
 * Watches: who has a name, told whenever that changes.
 */
#include "fake/fake.h"

#include <rowlock/watch.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/listing.h"
#include "test.h"

/* No other sleep of the client is as long: its end is that of a round. */
#define INTERVAL_MS 1013

static const struct fake_answer no_answer = { .given = true,
					      .skip = true,
					      .result = RLK_PENDING };

/* What a watch was told. The state is written last. */
struct told {
	_Atomic unsigned int count;
	enum rowlock_state state;
	uint64_t attempt;
	uint64_t token;
	uint64_t last_token;
	char name[128];
};

static void note(const struct rowlock_entry *entry, void *arg)
{
	struct told *told = arg;

	told->state = entry->state;
	told->attempt = entry->attempt;
	told->token = entry->token;
	told->last_token = entry->last_token;
	snprintf(told->name, sizeof(told->name), "%s", entry->name);
	told->count++;
}

static struct rowlock_watch *watch(struct rowlock_client *client,
				   const char *name, uint64_t interval_ms,
				   struct told *told)
{
	struct rowlock_watch_options options = ROWLOCK_WATCH_OPTIONS_DEFAULT;
	struct rowlock_watch *watch = NULL;

	options.interval_ms = interval_ms;
	assert_ok(rowlock_watch_new(client, name, &options, note, told, &watch,
				    &err));
	return watch;
}

static void end_watch(struct rowlock_watch *watch)
{
	rowlock_watch_free(watch);
}

/* All that the server was asked for has been told when it sleeps again. */
static void next_round(unsigned int rounds)
{
	fake_await_sleep(INTERVAL_MS);
	fake_advance(INTERVAL_MS);
	fake_await(FAKE_NAMES, rounds);
	/* Not only asked: what it answers is of this round. */
	fake_await_sleep(INTERVAL_MS);
}

FAKE("what changes is told, once")
{
	FAKE_CLIENT();
	struct rowlock_watch *one;
	struct told told = { 0 };

	one = watch(client, "seat", INTERVAL_MS, &told);
	fake_await(FAKE_NAMES, 1);
	fake_await_sleep(INTERVAL_MS);
	assert_int_equal(told.count, 1);
	assert_int_equal(told.state, ROWLOCK_STATE_FREE);
	assert_string_equal(told.name, "seat");
	fake_know("seat", ROWLOCK_STATE_HELD, 7, 0, 41);
	next_round(2);
	assert_int_equal(told.count, 2);
	assert_int_equal(told.state, ROWLOCK_STATE_HELD);
	assert_true(told.attempt == 7 && !told.token && told.last_token == 41);
	/* Nothing new. */
	next_round(3);
	assert_int_equal(told.count, 2);
	/* It draws; another has it; it is dead; it is free. */
	fake_know("seat", ROWLOCK_STATE_HELD, 7, 42, 42);
	next_round(4);
	fake_know("seat", ROWLOCK_STATE_HELD, 8, 42, 42);
	next_round(5);
	fake_know("seat", ROWLOCK_STATE_DEAD, 8, 42, 42);
	next_round(6);
	fake_know("seat", ROWLOCK_STATE_FREE, 0, 0, 42);
	next_round(7);
	assert_int_equal(told.count, 6);
	end_watch(one);
}

/* A server that knows less took over meanwhile. */
FAKE("a token is above all that was watched")
{
	FAKE_CLIENT();
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "seat");
	struct rowlock_watch *one;
	struct told told = { 0 };
	uint64_t token = 0;

	fake_know("seat", ROWLOCK_STATE_HELD, 7, 0, 41);
	one = watch(client, "seat", INTERVAL_MS, &told);
	fake_await(FAKE_NAMES, 1);
	fake_await_sleep(INTERVAL_MS);
	fake_know("seat", ROWLOCK_STATE_HELD, 8, 0, 11);
	next_round(2);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_token(lock, &token, &err));
	assert_true(token == 42);
	assert_ok(rowlock_release(lock, &err));
	fake_lock_end(lock);
	end_watch(one);
}

FAKE("the watches of a client share a statement")
{
	FAKE_CLIENT();
	struct rowlock_watch *watches[RLK_LIST_NAMES + 2];
	struct told told[RLK_LIST_NAMES + 2] = { { 0 } };
	char name[16];

	fake_always(FAKE_NAMES, (struct fake_answer){ .wait = true });
	watches[0] = watch(client, "seat 0", 5003, &told[0]);
	fake_await(FAKE_NAMES, 1);
	/* The second of a name is no name more. */
	watches[1] = watch(client, "seat 0", 2011, &told[1]);
	for (unsigned int i = 2; i < TEST_SIZE(watches); i++) {
		snprintf(name, sizeof(name), "seat %u", i - 1);
		watches[i] = watch(client, name, 9001, &told[i]);
	}
	fake_always(FAKE_NAMES, (struct fake_answer){ .given = false });
	fake_let(FAKE_NAMES);
	fake_await_sleep(2011);
	/* They are new, so they were asked for at once. */
	for (unsigned int i = 0; i < TEST_SIZE(watches); i++)
		assert_int_equal(told[i].count, 1);
	assert_int_equal(fake_count(FAKE_NAMES), 3);
	assert_true(fake_call(FAKE_NAMES, 1).id == RLK_LIST_NAMES);
	assert_true(fake_call(FAKE_NAMES, 2).id == 1);
	/* The shortest interval is that of all. */
	fake_advance(2011);
	fake_await(FAKE_NAMES, 5);
	fake_await_sleep(2011);
	end_watch(watches[1]);
	fake_advance(2011);
	fake_await_sleep(5003 - 2011);
	assert_int_equal(fake_count(FAKE_NAMES), 5);
	for (unsigned int i = 0; i < TEST_SIZE(watches); i++)
		if (i != 1)
			end_watch(watches[i]);
}

FAKE("silence is told after three intervals")
{
	FAKE_CLIENT();
	struct rowlock_watch *one;
	struct told told = { 0 };

	fake_know("seat", ROWLOCK_STATE_HELD, 7, 42, 42);
	one = watch(client, "seat", INTERVAL_MS, &told);
	fake_await(FAKE_NAMES, 1);
	fake_always(FAKE_NAMES, no_answer);
	next_round(2);
	next_round(3);
	assert_int_equal(told.count, 1);
	next_round(4);
	assert_int_equal(told.count, 2);
	assert_int_equal(told.state, ROWLOCK_STATE_UNKNOWN);
	assert_string_equal(told.name, "seat");
	assert_true(!told.attempt && !told.token && !told.last_token);
	fake_always(FAKE_NAMES, (struct fake_answer){ .given = false });
	next_round(5);
	assert_int_equal(told.count, 3);
	assert_int_equal(told.state, ROWLOCK_STATE_HELD);
	/* It counts from the last answer, not from the first. */
	fake_always(FAKE_NAMES, no_answer);
	next_round(6);
	next_round(7);
	assert_int_equal(told.count, 3);
	next_round(8);
	assert_int_equal(told.count, 4);
	assert_int_equal(told.state, ROWLOCK_STATE_UNKNOWN);
	end_watch(one);
}

/* Each answer ends what was silence until then, though it has nothing new. */
FAKE("single misses are not told")
{
	FAKE_CLIENT();
	struct rowlock_watch *one;
	struct told told = { 0 };
	unsigned int round = 1;

	fake_know("seat", ROWLOCK_STATE_HELD, 7, 42, 42);
	one = watch(client, "seat", INTERVAL_MS, &told);
	fake_await(FAKE_NAMES, 1);
	for (int i = 0; i < 4; i++) {
		fake_next(FAKE_NAMES, no_answer);
		next_round(++round);
		next_round(++round);
	}
	next_round(++round);
	next_round(++round);
	assert_int_equal(told.count, 1);
	fake_always(FAKE_NAMES, no_answer);
	next_round(++round);
	next_round(++round);
	assert_int_equal(told.count, 1);
	next_round(++round);
	assert_int_equal(told.count, 2);
	assert_int_equal(told.state, ROWLOCK_STATE_UNKNOWN);
	end_watch(one);
}

FAKE("a client that has watches is not freed")
{
	FAKE_CLIENT();
	struct told told = { 0 };
	struct rowlock_watch *one = watch(client, "seat", INTERVAL_MS, &told);

	assert_code(rowlock_client_try_free(client, &err), ROWLOCK_EHELD, &err);
	assert_non_null(strstr(err.message, "watches"));
	end_watch(one);
	rowlock_watch_free(NULL);
}

/* A callback that ends its own watch. */
struct ending {
	struct rowlock_client *client;
	struct rowlock_watch *watch;
	_Atomic int free_code;
	_Atomic int done;
};

static void end_itself(const struct rowlock_entry *entry, void *arg)
{
	struct ending *ending = arg;

	(void) entry;
	rowlock_watch_free(ending->watch);
	ending->free_code = rowlock_client_try_free(ending->client, NULL);
	ending->done = 1;
}

FAKE("a callback may end its watch, but not the client")
{
	struct ending ending = { .client = fake_client() };

	fake_next(FAKE_NAMES, (struct fake_answer){ .wait = true });
	assert_ok(rowlock_watch_new(ending.client, "seat", NULL, end_itself,
				    &ending, &ending.watch, &err));
	fake_await(FAKE_NAMES, 1);
	fake_let(FAKE_NAMES);
	fake_until(fake_is_one, &ending.done);
	assert_code(ending.free_code, ROWLOCK_EINVAL, NULL);
	fake_client_end(ending.client);
}

/* What was given back is had again by who asks for as much. */
static void write_over_what_is_free(void)
{
	void *blocks[32];

	for (size_t i = 0; i < TEST_SIZE(blocks); i++) {
		size_t size = 16 * (i + 1);

		blocks[i] = malloc(size);
		assert_non_null(blocks[i]);
		memset(blocks[i], 'x', size);
	}
	for (size_t i = 0; i < TEST_SIZE(blocks); i++)
		free(blocks[i]);
}

struct last {
	struct rowlock_watch *watch;
	enum rowlock_state state;
	char name[128];
	_Atomic int done;
};

static void end_and_read(const struct rowlock_entry *entry, void *arg)
{
	struct last *last = arg;

	last->state = entry->state;
	end_watch(last->watch);
	write_over_what_is_free();
	snprintf(last->name, sizeof(last->name), "%.100s", entry->name);
	last->done = 1;
}

FAKE("what is told outlives a watch that is ended there")
{
	FAKE_CLIENT();
	struct rowlock_watch_options options = ROWLOCK_WATCH_OPTIONS_DEFAULT;
	struct last last = { .watch = NULL };

	options.interval_ms = INTERVAL_MS;
	fake_always(FAKE_NAMES, no_answer);
	assert_ok(rowlock_watch_new(client, "seat", &options, end_and_read,
				    &last, &last.watch, &err));
	fake_await(FAKE_NAMES, 1);
	for (unsigned int rounds = 2; rounds <= 4; rounds++) {
		fake_await_sleep(INTERVAL_MS);
		fake_advance(INTERVAL_MS);
		fake_await(FAKE_NAMES, rounds);
	}
	fake_until(fake_is_one, &last.done);
	assert_int_equal(last.state, ROWLOCK_STATE_UNKNOWN);
	assert_string_equal(last.name, "seat");
}

FAKE("bad watches are refused")
{
	FAKE_CLIENT();
	struct rowlock_watch_options options = ROWLOCK_WATCH_OPTIONS_DEFAULT;
	struct rowlock_watch *none = NULL;
	struct told told;

	assert_code(
	    rowlock_watch_new(client, NULL, NULL, note, &told, &none, &err),
	    ROWLOCK_ENAME, &err);
	assert_code(
	    rowlock_watch_new(client, "a ", NULL, note, &told, &none, &err),
	    ROWLOCK_ENAME, &err);
	assert_code(
	    rowlock_watch_new(client, "a", NULL, NULL, &told, &none, &err),
	    ROWLOCK_EINVAL, &err);
	options.interval_ms = 99;
	assert_code(
	    rowlock_watch_new(client, "a", &options, note, &told, &none, &err),
	    ROWLOCK_EINVAL, &err);
	options.interval_ms = 3600001;
	assert_code(
	    rowlock_watch_new(client, "a", &options, note, &told, &none, &err),
	    ROWLOCK_EINVAL, &err);
	assert_non_null(strstr(err.message, "interval_ms is 3600001"));
	options = (struct rowlock_watch_options){ 0 };
	assert_code(
	    rowlock_watch_new(client, "a", &options, note, &told, &none, &err),
	    ROWLOCK_EINVAL, &err);
	assert_null(none);
}

CASE_MAIN(case_main)
