// SPDX-License-Identifier: MIT
/*
 * Ten thousand times acquire and release, and a hundred clients: afterwards
 * there are as many descriptors, threads, connections and rows as before. A
 * client that lives may have opened a connection more, of those that it keeps.
 * (Memory: the sanitizer and valgrind runs of the same program.)
 */
#include <dirent.h>
#include <unistd.h>

#include "sql.h"
#include "test.h"

/* More than a client of one thread keeps of all kinds together. A connection
 * has two descriptors; a thread may be opening one. */
#define KEPT_MOST 16

struct census {
	size_t descriptors;
	size_t threads;
	uint64_t connections;
	uint64_t sessions;
};

static size_t entries(const char *path)
{
	DIR *dir = opendir(path);
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static struct census take_census(struct test_sql *sql)
{
	struct census census;

	census.descriptors = entries("/proc/self/fd");
	census.threads = entries("/proc/self/task");
	census.connections = test_sql_connections(sql);
	census.sessions = test_sql_number(
	    sql, "SELECT COUNT(*) FROM lease_session WHERE pid = %d",
	    (int) getpid());
	return census;
}

static void assert_same(const struct census *before, const struct census *after)
{
	assert_int_equal(after->descriptors, before->descriptors);
	assert_int_equal(after->threads, before->threads);
	assert_int_equal(after->sessions, before->sessions);
}

static void assert_kept(const struct census *before, const struct census *after)
{
	assert_in_range(after->descriptors, 0,
			before->descriptors + 2 * KEPT_MOST);
	assert_in_range(after->threads, 0, before->threads + KEPT_MOST);
	assert_int_equal(after->sessions, before->sessions);
}

/* The server forgets a closed connection a moment after us; a look that takes
 * its time is all the waiting there is. */
static void await_connections(struct test_sql *sql, uint64_t n)
{
	uint64_t began = test_now_ns();
	uint64_t seen;

	while ((seen = test_sql_connections(sql)) > n)
		test_keep_waiting(began, "%llu connections: there are %llu",
				  (unsigned long long) n,
				  (unsigned long long) seen);
}

static void cycle(struct rowlock *lock, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		assert_ok(rowlock_acquire(lock, ROWLOCK_FOREVER, &err));
		assert_ok(rowlock_release(lock, &err));
	}
}

static void cycles(enum rowlock_strategy strategy)
{
	int n = test_slowness() > 1 ? 1000 : 10000;
	TEST_SQL(sql);
	TEST_CLIENT(client, test_client(30000));
	const char *name = test_name("cycles");
	TEST_LOCK(lock, test_lock(client, strategy, 0, name));
	struct census before, after;
	uint64_t began;

	cycle(lock, 10);
	before = take_census(sql);
	began = test_now_ns();
	cycle(lock, n);
	test_figure(n * 1000.0 / test_ms(began, test_now_ns()), "/s",
		    "%s: pairs of one thread", strategy ? "row" : "lease");
	after = take_census(sql);
	assert_kept(&before, &after);
	await_connections(sql, before.connections + KEPT_MOST);
	assert_int_equal(
	    test_sql_number(
		sql, "SELECT COUNT(*) FROM business_lease WHERE name = '%s'",
		name),
	    0);
}

CASE("ten thousand leases leave nothing behind")
{
	cycles(ROWLOCK_LEASE);
}

CASE("ten thousand rows leave nothing behind")
{
	cycles(ROWLOCK_ROW);
}

static void use_a_client(void)
{
	TEST_CLIENT(client, test_client(30000));
	TEST_LOCK(lease,
		  test_lock(client, ROWLOCK_LEASE, 0, test_name("client")));
	TEST_LOCK(row, test_lock(client, ROWLOCK_ROW, 0, rowlock_name(lease)));

	cycle(lease, 1);
	cycle(row, 1);
}

CASE("a hundred clients leave nothing behind")
{
	TEST_SQL(sql);
	struct census before, after;
	int i;

	use_a_client();
	await_connections(sql, 0);
	before = take_census(sql);
	for (i = 0; i < 100; i++)
		use_a_client();
	await_connections(sql, before.connections);
	after = take_census(sql);
	assert_same(&before, &after);
	assert_int_equal(after.sessions, 0);
}

CASE_MAIN(test_main)
