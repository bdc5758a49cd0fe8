// SPDX-License-Identifier: MIT
/*
 * Bad input gets a code of its own and a sentence that names it, and changes
 * nothing. What is wrong with the server itself: test_bad_server.c.
 */
#include <rowlock/election.h>
#include <rowlock/multilock.h>
#include <rowlock/mysql.h>
#include <rowlock/rwlock.h>
#include <rowlock/semaphore.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor.h"
#include "dsn.h"
#include "sql.h"
#include "test.h"

#define TTL_MS 10000

static char *repeat(const char *word, int times, const char *end)
{
	char *text = malloc(strlen(word) * (size_t) times + strlen(end) + 1);

	assert_non_null(text);
	*text = '\0';
	while (times--)
		strcat(text, word);
	return strcat(text, end);
}

static void refused_name(struct rowlock_client *client, const char *name)
{
	struct rowlock *lock = NULL;

	assert_code(rowlock_new(client, name, NULL, &lock, &err), ROWLOCK_ENAME,
		    &err);
	assert_null(lock);
	assert_true(strlen(err.message) > 10);
}

CASE("a name that cannot be locked is refused")
{
	static const char *const names[] = {
		"",
		"blank at the end ",
		"tab\there",
		"line\nfeed",
		"del\x7f",
		"c1 \xc2\x85",
		"\xff",
		"cut \xe2\x82",
		"overlong \xc0\xaf",
		"surrogate \xed\xa0\x80",
		"\xf5\x80\x80\x80",
		" ",
	};
	TEST_CLIENT(client, test_client(TTL_MS));
	char *long_name = repeat("\xc3\xa9", 101, "");
	size_t i;

	for (i = 0; i < TEST_SIZE(names); i++)
		refused_name(client, names[i]);
	refused_name(client, long_name);
	free(long_name);
}

CASE("a name of 100 characters is not cut")
{
	struct rowlock_client *client = test_client(TTL_MS);
	/* 100 characters of four bytes; two names that differ in the last. */
	char *one = repeat("\xf0\x9f\x94\x92", 99, "1");
	char *two = repeat("\xf0\x9f\x94\x92", 99, "2");
	struct rowlock *a = test_lock(client, ROWLOCK_LEASE, 0, one);
	struct rowlock *b =
	    test_lock(client, ROWLOCK_LEASE, ROWLOCK_NOT_REENTRANT, two);

	assert_ok(rowlock_acquire(a, (uint64_t) test_patience_ms(), &err));
	assert_ok(rowlock_acquire(b, (uint64_t) test_patience_ms(), &err));
	assert_string_equal(rowlock_name(a), one);
	assert_ok(rowlock_release(a, &err));
	assert_ok(rowlock_release(b, &err));
	test_lock_end(a);
	test_lock_end(b);
	test_client_end(client);
	free(one);
	free(two);
}

static void refused_client(struct rowlock_client_options options, int want,
			   const char *named)
{
	struct rowlock_client *client = NULL;

	assert_code(rowlock_client_new(&options, &client, &err), want, &err);
	assert_null(client);
	if (named && !strstr(err.message, named))
		fail_msg("'%s' is not named in: %s", named, err.message);
}

#define REFUSED(field, value)                                                  \
	do {                                                                   \
		struct rowlock_client_options o_ = test_client_options(1000);  \
		o_.field = value;                                              \
		refused_client(o_, ROWLOCK_EINVAL, #field);                    \
	} while (0)

CASE("a client's options are checked and named")
{
	struct rowlock_client_options options = test_client_options(1000);
	char *program = repeat("x", 256, "");

	options.defaults_file = "/nonexistent";
	refused_client(options, ROWLOCK_EINVAL, "cannot read '/nonexistent'");
	REFUSED(ttl_ms, 999);
	REFUSED(ttl_ms, 86400001);
	REFUSED(connect_timeout_ms, 99);
	REFUSED(connect_timeout_ms, 60001);
	REFUSED(call_timeout_ms, 99);
	REFUSED(call_timeout_ms, 60001);
	REFUSED(row_idle_ms, 1999);
	REFUSED(row_idle_ms, 3600001);
	REFUSED(reap_interval_ms, 99);
	REFUSED(handover_ms, 60001);
	REFUSED(handover_passes, 1000001);
	REFUSED(batch_size, 257);
	REFUSED(flags, 1u << 20);
	REFUSED(program, program);
	REFUSED(size, 3);
	free(program);
}

CASE("a TTL of one second or one day is taken")
{
	static const uint64_t ttls[] = { 1000, 86400000 };
	size_t i;

	for (i = 0; i < TEST_SIZE(ttls); i++) {
		struct rowlock_client *client = test_client(ttls[i]);
		struct rowlock *lock =
		    test_lock(client, ROWLOCK_LEASE, 0, test_name("bound"));

		assert_ok(rowlock_acquire(lock, 0, &err));
		assert_true(rowlock_remaining_ms(lock) <= ttls[i]);
		assert_true(rowlock_remaining_ms(lock) > ttls[i] / 4);
		assert_ok(rowlock_release(lock, &err));
		test_end(lock, client);
	}
}

static void refused_lock(struct rowlock_client *client,
			 struct rowlock_options options, const char *named)
{
	struct rowlock *lock = NULL;

	assert_code(rowlock_new(client, "x", &options, &lock, &err),
		    ROWLOCK_EINVAL, &err);
	assert_null(lock);
	if (!strstr(err.message, named))
		fail_msg("'%s' is not named in: %s", named, err.message);
}

#define REFUSED_LOCK(client, field, value)                                     \
	do {                                                                   \
		struct rowlock_options o_ = ROWLOCK_OPTIONS_DEFAULT;           \
		o_.field = value;                                              \
		refused_lock(client, o_, #field);                              \
	} while (0)

CASE("a lock's options are checked and named")
{
	TEST_CLIENT(client, test_client(TTL_MS));
	char *info = repeat("x", 256, "");

	REFUSED_LOCK(client, max_hold_ms, 999);
	REFUSED_LOCK(client, max_hold_ms, UINT64_C(2592000001));
	REFUSED_LOCK(client, flags, 1u << 20);
	REFUSED_LOCK(client, strategy, (enum rowlock_strategy) 7);
	REFUSED_LOCK(client, info, info);
	REFUSED_LOCK(client, info, "line\nfeed");
	REFUSED_LOCK(client, size, 3);
	free(info);
}

CASE("calls out of turn are refused and change nothing")
{
	const char *name = test_name("turn");
	struct rowlock_client *client = test_client(TTL_MS);
	struct rowlock *lock = test_lock(client, ROWLOCK_LEASE, 0, name);
	struct test_sql *sql = test_sql_open();
	char *before, *after;
	uint64_t token;

	assert_code(rowlock_release(lock, &err), ROWLOCK_ENOTHELD, &err);
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ENOTHELD, &err);
	assert_code(rowlock_token(lock, &token, &err), ROWLOCK_ENOTHELD, &err);
	assert_int_equal(rowlock_held(lock), 0);
	assert_int_equal(rowlock_depth(lock), 0);
	assert_true(rowlock_remaining_ms(lock) == 0);
	assert_ok(rowlock_acquire(lock, 0, &err));
	before = test_sql_rows(sql, name);
	assert_code(rowlock_try_free(lock, &err), ROWLOCK_EHELD, &err);
	assert_code(rowlock_client_try_free(client, &err), ROWLOCK_EHELD, &err);
	after = test_sql_rows(sql, name);
	assert_string_equal(before, after);
	assert_ok(rowlock_verify(lock, &err));
	assert_ok(rowlock_release(lock, &err));
	assert_code(rowlock_release(lock, &err), ROWLOCK_ENOTHELD, &err);
	assert_non_null(strstr(err.message, name));
	assert_code(rowlock_client_try_free(client, &err), ROWLOCK_EHELD, &err);
	test_end(lock, client);
	assert_ok(rowlock_try_free(NULL, &err));
	assert_ok(rowlock_client_try_free(NULL, &err));
	test_sql_end(sql);
	free(before);
	free(after);
}

static char *dsn_but(const char *change)
{
	size_t size = strlen(test_dsn()) + strlen(change) + 2;
	char *dsn = malloc(size);

	assert_non_null(dsn);
	test_dsn_with(test_dsn(), change, dsn, size);
	return dsn;
}

static void refused_dsn(const char *change, int want, const char *named)
{
	struct rowlock_client_options options = test_client_options(TTL_MS);
	char *dsn = dsn_but(change);

	options.dsn = dsn;
	refused_client(options, want, named);
	free(dsn);
}

CASE("a server that does not let us in is told apart")
{
	refused_dsn("password=wrong", ROWLOCK_EAUTH, NULL);
	refused_dsn("user=nobody-of-this-name", ROWLOCK_EAUTH, NULL);
	refused_dsn("host=no-such-host.invalid", ROWLOCK_ECONNECT,
		    "no-such-host.invalid");
	refused_dsn("host=127.0.0.1;port=1", ROWLOCK_ECONNECT, "127.0.0.1");
}

CASE("no message shows a password")
{
	struct rowlock_client_options options = test_client_options(TTL_MS);
	struct rowlock_client *client;
	char *dsn = dsn_but("password=hunter2");

	options.dsn = dsn;
	assert_code(rowlock_client_new(&options, &client, &err), ROWLOCK_EAUTH,
		    &err);
	assert_null(strstr(err.message, "hunter2"));
	free(dsn);
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

CASE("every code has words of its own")
{
	int code;

	for (code = ROWLOCK_EFORKED; code < 0; code++) {
		assert_non_null(rowlock_strerror(code));
		assert_string_not_equal(rowlock_strerror(code),
					rowlock_strerror(-1000));
	}
	assert_string_equal(rowlock_strerror(-1000), "unknown error");
	assert_string_equal(rowlock_version(), ROWLOCK_VERSION);
}

CASE_MAIN(test_main)
