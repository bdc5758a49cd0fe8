// SPDX-License-Identifier: MIT
/*
 * No call takes NULL where it needs an object, and no message has a password.
 * The limits of options and names are in unit/api/test_options.c, what is wrong
 * with a server in test_bad_server.c.
 */
#include <rowlock/election.h>
#include <rowlock/multilock.h>
#include <rowlock/mysql.h>
#include <rowlock/rwlock.h>
#include <rowlock/semaphore.h>

#include <string.h>

#include "dsn.h"
#include "test.h"

#define TTL_MS 10000

CASE("no message shows a password")
{
	struct rowlock_client_options options = test_client_options(TTL_MS);
	struct rowlock_client *client;
	char dsn[1024];

	test_dsn_with(test_dsn(), "password=hunter2", dsn, sizeof(dsn));
	options.dsn = dsn;
	assert_code(rowlock_client_new(&options, &client, &err), ROWLOCK_EAUTH,
		    &err);
	assert_null(strstr(err.message, "hunter2"));
}

static void see(const struct rowlock_entry *entry, void *arg)
{
	(void) entry;
	(void) arg;
}

static void run(struct rowlock *lock, void *arg)
{
	(void) lock;
	(void) arg;
}

/* A bit for each call that does not refuse NULL. */
static uint64_t wrong_with_null(struct rowlock_client *client,
				struct rowlock *lock)
{
	struct rowlock *made = NULL;
	unsigned int number;
	uint64_t token;
	uint64_t wrong = 0;
	const int codes[] = {
		rowlock_client_new(NULL, NULL, NULL),
		rowlock_new(NULL, "x", NULL, &made, NULL),
		rowlock_new(client, "x", NULL, NULL, NULL),
		rowlock_acquire(NULL, 0, NULL),
		rowlock_release(NULL, NULL),
		rowlock_verify(NULL, NULL),
		rowlock_token(NULL, &token, NULL),
		rowlock_token(lock, NULL, NULL),
		rowlock_execute(NULL, "x", NULL, 0, run, NULL, NULL),
		rowlock_execute(client, "x", NULL, 0, NULL, NULL, NULL),
		rowlock_list(NULL, NULL, NULL, NULL, NULL),
		rowlock_list(client, NULL, NULL, NULL, NULL),
		rowlock_break(NULL, ROWLOCK_LEASE, "x", NULL),
		rowlock_reap(NULL, NULL, NULL, NULL),
		rowlock_watch_new(NULL, "x", NULL, see, NULL, NULL, NULL),
		rowlock_watch_new(client, "x", NULL, see, NULL, NULL, NULL),
		rowlock_observer_new(client, "x", NULL, NULL, NULL, NULL, NULL),
		rowlock_election_new(NULL, "x", NULL, &made, NULL),
		rowlock_election_new(client, "x", NULL, NULL, NULL),
		rowlock_election_challenger(NULL, &number, &token, NULL),
		rowlock_election_challenger(lock, NULL, NULL, NULL),
		rowlock_semaphore_new(NULL, "x", 1, NULL, &made, NULL),
		rowlock_semaphore_new(client, "x", 1, NULL, NULL, NULL),
		rowlock_semaphore_acquire(NULL, 1, 0, NULL),
		rowlock_semaphore_count(NULL, "x", &number, &number, NULL),
		rowlock_semaphore_count(client, "x", NULL, NULL, NULL),
		rowlock_semaphore_resize(NULL, "x", 1, NULL),
		rowlock_rwlock_new(NULL, "x", NULL, &made, &made, NULL),
		rowlock_rwlock_new(client, "x", NULL, NULL, NULL, NULL),
		rowlock_rwlock_upgrade(NULL, 0, NULL),
		rowlock_rwlock_downgrade(NULL, NULL),
		rowlock_multilock_new(NULL, NULL, 0, NULL, &made, NULL),
		rowlock_multilock_new(client, NULL, 0, NULL, NULL, NULL),
		rowlock_multilock_token(NULL, "x", &token, NULL),
		rowlock_multilock_token(lock, "x", NULL, NULL),
		rowlock_begin(NULL, NULL, 0, NULL),
		rowlock_begin(lock, NULL, 0, NULL),
		rowlock_commit(NULL, NULL, NULL),
		rowlock_commit(lock, NULL, NULL),
		rowlock_commit_release(NULL, NULL, NULL),
		rowlock_rollback(NULL, NULL, NULL),
		rowlock_guard_sql(NULL, NULL, 0, NULL),
		rowlock_guard_call(lock, NULL, 0, NULL),
		rowlock_acquire_in_transaction(NULL, NULL, 0, NULL),
		rowlock_acquire_in_transaction(lock, NULL, 0, NULL),
		rowlock_token_in_transaction(NULL, NULL, NULL, NULL),
		rowlock_fence(NULL, "x", 1, NULL),
	};

	for (size_t i = 0; i < TEST_SIZE(codes); i++)
		if (codes[i] != ROWLOCK_EINVAL)
			wrong |= 1ull << i;
	return wrong;
}

CASE("NULL is refused")
{
	TEST_CLIENT(client, test_client(1000));
	TEST_LOCK(lock, test_lock(client, ROWLOCK_LEASE, 0, "job"));

	assert_int_equal(wrong_with_null(client, lock), 0);
	assert_code(rowlock_acquire(NULL, 0, &err), ROWLOCK_EINVAL, &err);
	assert_string_equal(err.message, "the lock is NULL");
	assert_code(rowlock_new(client, NULL, NULL, &lock, &err), ROWLOCK_ENAME,
		    &err);
	assert_int_equal(rowlock_held(NULL) + rowlock_cancel(NULL), 0);
	assert_int_equal(rowlock_depth(NULL) + rowlock_semaphore_held(NULL), 0);
	assert_int_equal(rowlock_remaining_ms(NULL), 0);
	assert_null(rowlock_name(NULL));
	assert_null(rowlock_client_server(NULL));
	rowlock_on_lost(NULL, run, NULL);
	rowlock_watch_free(NULL);
	rowlock_observer_free(NULL);
	rowlock_client_free(NULL);
	rowlock_free(NULL);
}

CASE_MAIN(test_main)
