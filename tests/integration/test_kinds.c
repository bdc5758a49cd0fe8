// SPDX-License-Identifier: MIT
/*
 * All kinds of locks are one handle: what a kind cannot serve it says, and what
 * comes after a loss is the same for all of them.
 */
#include <string.h>
#include <unistd.h>

#include <rowlock/election.h>
#include <rowlock/multilock.h>
#include <rowlock/mysql.h>
#include <rowlock/rwlock.h>
#include <rowlock/semaphore.h>

#include "sql.h"
#include "test.h"

#define TTL_MS 20000

enum { LOCK, SEMAPHORE, SET, READER, WRITER, CANDIDATE, HEAVY, KINDS };

struct kinds {
	struct rowlock_client *client;
	struct test_sql *sql;
	struct rowlock *locks[KINDS];
};

static struct kinds make_all(const char *word)
{
	struct rowlock_election_options heavy =
	    ROWLOCK_ELECTION_OPTIONS_DEFAULT;
	const char *names[] = { test_name("a"), test_name("b") };
	struct kinds kinds = { .client = test_client(TTL_MS),
			       .sql = test_sql_open() };
	const char *name = test_name(word);
	struct rowlock **locks = kinds.locks;

	heavy.weight = 3;
	locks[LOCK] = test_lock(kinds.client, ROWLOCK_LEASE, 0, name);
	assert_ok(rowlock_semaphore_new(kinds.client, name, 2, NULL,
					&locks[SEMAPHORE], &err));
	assert_ok(rowlock_multilock_new(kinds.client, names, 2, NULL,
					&locks[SET], &err));
	assert_ok(rowlock_rwlock_new(kinds.client, name, NULL, &locks[READER],
				     &locks[WRITER], &err));
	assert_ok(rowlock_election_new(kinds.client, test_name("lead"), NULL,
				       &locks[CANDIDATE], &err));
	assert_ok(rowlock_election_new(kinds.client, test_name("weight"),
				       &heavy, &locks[HEAVY], &err));
	return kinds;
}

static void end_all(struct kinds *kinds)
{
	for (int kind = 0; kind < KINDS; kind++)
		rowlock_freep(&kinds->locks[kind]);
	test_client_end(kinds->client);
	test_sql_end(kinds->sql);
}

static void expect_unsupported(int code, const struct rowlock_errinfo *error,
			       const char *says)
{
	assert_code(code, ROWLOCK_EUNSUPPORTED, error);
	if (!strstr(error->message, says))
		fail_msg("\"%s\" does not say \"%s\"", error->message, says);
}

CASE("what a kind of lock cannot serve it says")
{
	struct kinds kinds = make_all("kinds");
	char text[ROWLOCK_GUARD_SQL_SIZE];
	unsigned int weight;
	uint64_t stood_ms;
	uint64_t token;

	for (int kind = 0; kind < KINDS; kind++) {
		struct rowlock *lock = kinds.locks[kind];
		bool guards =
		    kind == LOCK || kind == CANDIDATE || kind == HEAVY;
		int code;

		assert_ok(rowlock_acquire(lock, 0, &err));
		assert_int_equal(rowlock_held(lock), 1);
		assert_int_equal(rowlock_depth(lock), 1);
		assert_true(rowlock_remaining_ms(lock) > 0);
		assert_ok(rowlock_verify(lock, &err));
		code = rowlock_token(lock, &token, &err);
		if (kind == SEMAPHORE)
			expect_unsupported(code, &err, "permits have none");
		else if (kind == SET)
			expect_unsupported(code, &err,
					   "rowlock_multilock_token");
		else
			assert_code(code, 0, &err);
		code = rowlock_guard_sql(lock, text, sizeof(text), &err);
		if (guards)
			assert_code(code, 0, &err);
		else
			expect_unsupported(code, &err, "single name");
		assert_int_equal(rowlock_semaphore_held(lock),
				 kind == SEMAPHORE);
		if (kind != SEMAPHORE)
			expect_unsupported(
			    rowlock_semaphore_acquire(lock, 1, 0, &err), &err,
			    "no semaphore");
		if (kind != SET)
			expect_unsupported(
			    rowlock_multilock_token(lock, "a", &token, &err),
			    &err, "no multi-lock");
		code =
		    rowlock_election_challenger(lock, &weight, &stood_ms, &err);
		if (guards)
			assert_code(code, 0, &err);
		else
			expect_unsupported(code, &err, "only leases");
		if (kind != READER)
			expect_unsupported(
			    rowlock_rwlock_upgrade(lock, 0, &err), &err,
			    "no reader");
		if (kind != WRITER)
			expect_unsupported(rowlock_rwlock_downgrade(lock, &err),
					   &err, "no writer");
		assert_int_equal(rowlock_held(lock), 1);
		assert_ok(rowlock_release(lock, &err));
		assert_int_equal(rowlock_held(lock), 0);
	}
	end_all(&kinds);
}

/* A re-entrant handle may be within what it lost: it is told, once. */
CASE("an acquire after a loss starts afresh")
{
	struct kinds kinds = make_all("afresh");

	for (int kind = 0; kind < KINDS; kind++) {
		struct rowlock *lock = kinds.locks[kind];
		bool nests = kind == LOCK || kind == READER;

		assert_ok(rowlock_acquire(lock, 0, &err));
		if (nests)
			assert_ok(rowlock_acquire(lock, 0, &err));
		test_sql(kinds.sql,
			 "DELETE l FROM business_lease l JOIN lease_session s "
			 "ON s.id = l.session WHERE s.pid = %d",
			 (int) getpid());
		assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
		if (nests)
			assert_code(rowlock_acquire(lock, 0, &err),
				    ROWLOCK_ELOST, &err);
		assert_int_equal(rowlock_depth(lock), 0);
		assert_ok(rowlock_acquire(lock, 0, &err));
		assert_int_equal(rowlock_depth(lock), 1);
		assert_ok(rowlock_release(lock, &err));
		assert_code(rowlock_release(lock, &err), ROWLOCK_ENOTHELD,
			    &err);
	}
	end_all(&kinds);
}

CASE_MAIN(test_main)
