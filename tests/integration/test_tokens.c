// SPDX-License-Identifier: MIT
/*
 * Tokens of a server that has lost what was drawn, and whose clock is behind:
 * what took over an hour back. Here it has the same clock, so that what was
 * drawn is put an hour ahead.
 */
#include <stdlib.h>

#include <rowlock/election.h>
#include <rowlock/multilock.h>
#include <rowlock/rwlock.h>

#include "sql.h"
#include "test.h"

#define TTL_MS 20000
#define HOUR_US 3600000000u

static void put_ahead(struct test_sql *sql, const char *name)
{
	test_sql(sql,
		 "UPDATE lock_token SET token = token + %u WHERE name = '%s'",
		 HOUR_US, name);
}

static void lose(struct test_sql *sql, const char *name)
{
	assert_int_equal(
	    test_sql(sql, "DELETE FROM lock_token WHERE name = '%s'", name), 1);
}

/* One after the other, by the handle of whatever it is. */
struct way {
	const char *called;
	uint64_t (*token)(struct rowlock *lock, const char *name);
	struct rowlock *lock;
};

static uint64_t of_lock(struct rowlock *lock, const char *name)
{
	uint64_t token = 0;

	(void) name;
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_token(lock, &token, &err));
	assert_ok(rowlock_release(lock, &err));
	return token;
}

static uint64_t of_multilock(struct rowlock *lock, const char *name)
{
	uint64_t token = 0;
	uint64_t again = 0;

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_multilock_token(lock, name, &token, &err));
	assert_ok(rowlock_multilock_token(lock, name, &again, &err));
	assert_true(token == again);
	assert_ok(rowlock_release(lock, &err));
	return token;
}

static void check_way(const struct way *way, struct test_sql *sql,
		      const char *name)
{
	uint64_t last = way->token(way->lock, name);
	uint64_t next;

	put_ahead(sql, name);
	for (int i = 0; i < 3; i++) {
		next = way->token(way->lock, name);
		if (next <= last)
			fail_msg("%s: after %llu came %llu", way->called,
				 (unsigned long long) last,
				 (unsigned long long) next);
		/* The server's clock is behind it, each time. */
		if (i > 0)
			assert_true(next == last + 1);
		last = next;
		lose(sql, name);
	}
}

CASE("tokens grow though the server has lost them")
{
	const char *name = test_name("lost");
	const char *names[] = { name, test_name("beside") };
	TEST_SQL(sql);
	struct rowlock_client *client = test_client(TTL_MS);
	struct rowlock *lease = test_lock(client, ROWLOCK_LEASE, 0, name);
	struct rowlock *granted =
	    test_lock(client, ROWLOCK_LEASE,
		      ROWLOCK_TOKEN_WITH_GRANT | ROWLOCK_NOT_REENTRANT, name);
	struct rowlock *row = test_lock(client, ROWLOCK_ROW, 0, name);
	struct rowlock *election = NULL;
	struct rowlock *multilock = NULL;
	struct rowlock *reader = NULL;
	struct rowlock *writer = NULL;

	assert_ok(rowlock_election_new(client, name, NULL, &election, &err));
	assert_ok(
	    rowlock_multilock_new(client, names, 2, NULL, &multilock, &err));
	assert_ok(
	    rowlock_rwlock_new(client, name, NULL, &reader, &writer, &err));
	{
		const struct way ways[] = {
			{ "lease", of_lock, lease },
			{ "with the grant", of_lock, granted },
			{ "row", of_lock, row },
			{ "election", of_lock, election },
			{ "multi-lock", of_multilock, multilock },
			{ "writer", of_lock, writer },
		};

		for (size_t i = 0; i < TEST_SIZE(ways); i++)
			check_way(&ways[i], sql, name);
	}
	assert_ok(rowlock_try_free(reader, &err));
	assert_ok(rowlock_try_free(writer, &err));
	assert_ok(rowlock_try_free(multilock, &err));
	assert_ok(rowlock_try_free(election, &err));
	test_lock_end(row);
	test_lock_end(granted);
	test_lock_end(lease);
	assert_ok(rowlock_client_try_free(client, &err));
}

/* ------------------------------------------------------------- observed */

struct seen {
	struct test_event event;
	_Atomic uint64_t term;
};

static void see(const struct rowlock_leader *leader, void *arg)
{
	struct seen *seen = arg;

	seen->term = leader->term;
	test_event_set(&seen->event);
}

/* A candidate that has seen the term of another. */
CASE("a term is larger than all that was observed")
{
	struct rowlock_watch_options options = ROWLOCK_WATCH_OPTIONS_DEFAULT;
	const char *name = test_name("observed");
	TEST_SQL(sql);
	struct rowlock_client *there = test_client(TTL_MS);
	struct rowlock_client *here = test_client(TTL_MS);
	struct seen seen = { .event = test_event_new() };
	struct rowlock_observer *observer = NULL;
	struct rowlock *one = NULL;
	struct rowlock *other = NULL;
	uint64_t term;

	options.interval_ms = 100;
	assert_ok(rowlock_election_new(there, name, NULL, &one, &err));
	assert_ok(rowlock_election_new(here, name, NULL, &other, &err));
	term = of_lock(one, name);
	put_ahead(sql, name);
	term += HOUR_US;
	assert_ok(rowlock_observer_new(here, name, &options, see, &seen,
				       &observer, &err));
	while (seen.term != term)
		assert_event(&seen.event, "term %llu",
			     (unsigned long long) term);
	rowlock_observer_free(observer);
	lose(sql, name);
	assert_true(of_lock(other, name) == term + 1);
	assert_ok(rowlock_try_free(other, &err));
	assert_ok(rowlock_try_free(one, &err));
	test_event_end(&seen.event);
	assert_ok(rowlock_client_try_free(here, &err));
	assert_ok(rowlock_client_try_free(there, &err));
}

CASE_MAIN(test_main)
