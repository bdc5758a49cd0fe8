// SPDX-License-Identifier: MIT
/*
 * What things cost, counted by the server: its statistics before and after.
 *
 * The server may serve others as well, and the keeper beats now and then, so
 * each count is taken a few times and the smallest is believed.
 */
#include <stdlib.h>

#include "actor.h"
#include "sql.h"
#include "test.h"

#define ROUNDS 5
#define PAIRS 100
#define TRIES 20

/* How many statements of ours the server ran during @fn(@lock). */
static uint64_t count(struct test_sql *sql, void (*fn)(struct rowlock *lock),
		      struct rowlock *lock)
{
	uint64_t least = UINT64_MAX, before, after;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		before = test_sql_status(sql, "Questions");
		fn(lock);
		/* One is the question itself. */
		after = test_sql_status(sql, "Questions") - 1;
		if (after - before < least)
			least = after - before;
	}
	return least;
}

static void nothing(struct rowlock *lock)
{
	(void) lock;
}

static void pairs(struct rowlock *lock)
{
	int i;

	for (i = 0; i < PAIRS; i++) {
		assert_ok(rowlock_acquire(lock, 0, &err));
		assert_ok(rowlock_release(lock, &err));
	}
}

static void try_once(struct rowlock *lock)
{
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_EBUSY, &err);
}

static void reentries(struct rowlock *lock)
{
	int i;

	for (i = 0; i < PAIRS; i++)
		assert_ok(rowlock_acquire(lock, 0, &err));
	for (i = 0; i < PAIRS; i++)
		assert_ok(rowlock_release(lock, &err));
}

static void costs_two(enum rowlock_strategy strategy)
{
	TEST_CLIENT(client, test_client(600000));
	TEST_SQL(sql);
	TEST_LOCK(lock, test_lock(client, strategy, 0, test_name("cost")));

	pairs(lock); /* the session and the name's row are there from now on */
	assert_int_equal(count(sql, nothing, lock), 0);
	assert_int_equal(count(sql, pairs, lock), 2 * PAIRS);
}

CASE("a lease costs one statement to acquire, one to release")
{
	costs_two(ROWLOCK_LEASE);
}

CASE("a row costs one statement to acquire, one to release")
{
	costs_two(ROWLOCK_ROW);
}

CASE("re-entry costs no statement")
{
	TEST_CLIENT(client, test_client(600000));
	TEST_SQL(sql);
	TEST_LOCK(lock,
		  test_lock(client, ROWLOCK_LEASE, 0, test_name("again")));

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_int_equal(count(sql, reentries, lock), 0);
	assert_ok(rowlock_release(lock, &err));
}

/* One question, and a look at who has it; under row, whether it is the table
 * that is locked, and whether it is the row. There the connection is made ready
 * again in the background, by a ROLLBACK; a try that comes before that opens a
 * new one, as most do on a busy host, so tries are counted one by one. */
static uint64_t most_per_try(enum rowlock_strategy strategy)
{
	return strategy == ROWLOCK_ROW ? 5 : 2;
}

static void a_try_costs(enum rowlock_strategy strategy)
{
	const char *name = test_name("busy");
	TEST_ACTOR(actor, test_actor_start(strategy, name, 600000));
	TEST_CLIENT(client, test_client(600000));
	TEST_SQL(sql);
	TEST_LOCK(lock, test_lock(client, strategy, 0, name));
	uint64_t n = UINT64_MAX, once;
	int i;

	assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
	try_once(lock);
	for (i = 0; i < TRIES; i++) {
		once = count(sql, try_once, lock);
		n = once < n ? once : n;
	}
	test_figure((double) n, "", "%s: statements per try on a busy name",
		    strategy ? "row" : "lease");
	assert_in_range(n, 1, most_per_try(strategy));
	assert_int_equal(test_actor_ask(&actor, "release"), 0);
}

CASE("a try on a busy name is two round trips")
{
	a_try_costs(ROWLOCK_LEASE);
	a_try_costs(ROWLOCK_ROW);
}

#define HOLDS 300
#define PAGES 2
#define BEATS 4

static uint64_t beats(struct test_sql *sql, const char *name)
{
	return test_sql_number(
	    sql,
	    "SELECT beat FROM lease_session WHERE id = (SELECT session FROM "
	    "business_lease WHERE name = '%s')",
	    name);
}

/* How many beats there were, and statements, at one moment. */
struct sight {
	uint64_t beats;
	uint64_t statements; /* others', from any beginning */
};

/* A beat that comes while we look is none of a moment's: look again. */
static struct sight look(struct test_sql *sql, const char *name,
			 uint64_t *asked)
{
	struct sight sight;
	uint64_t before;

	do {
		before = beats(sql, name);
		*asked += 2;
		sight.statements = test_sql_status(sql, "Questions") - *asked;
		sight.beats = beats(sql, name);
		*asked += 1;
	} while (sight.beats != before);
	return sight;
}

/* Look until there have been BEATS more. */
static struct sight look_later(struct test_sql *sql, const char *name,
			       uint64_t *asked, uint64_t first)
{
	uint64_t since = test_now_ns();
	struct sight sight;

	do {
		free(test_sql_text(sql, "SELECT SLEEP(0.05)"));
		*asked += 1;
		sight = look(sql, name, asked);
		test_keep_waiting(since, "%d beats: there were %llu", BEATS,
				  (unsigned long long) (sight.beats - first));
	} while (sight.beats < first + BEATS);
	return sight;
}

CASE("a beat is one statement, and a look for 256 holds another")
{
	TEST_CLIENT(client, test_client(test_ttl_ms(1500)));
	TEST_SQL(sql);
	uint64_t asked = 0, spent, beaten;
	struct sight first, last;
	struct rowlock *locks[HOLDS];
	int i, counts = 0;

	for (i = 0; i < HOLDS; i++) {
		locks[i] =
		    test_lock(client, ROWLOCK_LEASE, 0, test_name("beat"));
		assert_ok(rowlock_acquire(locks[i], 0, &err));
	}
	last = look(sql, rowlock_name(locks[0]), &asked);
	do {
		first = last;
		last = look_later(sql, rowlock_name(locks[0]), &asked,
				  first.beats);
		spent = last.statements - first.statements;
		beaten = last.beats - first.beats;
	} while (++counts < ROUNDS && spent > (2 + PAGES) * (beaten + 1));
	test_figure((double) spent / (double) beaten, "",
		    "statements per beat with %d holds", HOLDS);
	/* The beat; in each third of the TTL the look at its row, and those at
	 * the rows of the holds, 256 at a time. One beat may be on its way when
	 * we look. */
	assert_in_range(spent, beaten - 1, (2 + PAGES) * (beaten + 1));
	for (i = 0; i < HOLDS; i++) {
		assert_int_equal(rowlock_held(locks[i]), 1);
		assert_ok(rowlock_release(locks[i], &err));
		test_lock_end(locks[i]);
	}
}

CASE_MAIN(test_main)
