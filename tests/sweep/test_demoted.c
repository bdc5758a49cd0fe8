/* SPDX-License-Identifier: MIT */
/*
 * A server that is of no use any more, and keeps its clients: a primary that
 * was demoted, which refuses what they write on the old connections as
 * read-only, or a node of Galera that has left the others. A new connection
 * would lead to the right one. Old and new are one server here; the proxy says
 * which is which.
 */
#include <string.h>

#include "odd.h"
#include "sql.h"
#include "timeouts.h"

#define REFUSED                                                                \
	"do error code=1290 state=HY000 text=\"The MariaDB server is running " \
	"with the --read-only option so it cannot execute this statement\"\n"

/* Of a client that beats in none of its tests: a beat may open a connection. */
enum { BEATLESS_TTL_MS = 3600000 };

#define NOT_READY                                                              \
	"do error code=1047 state=08S01 text=\"WSREP has not yet prepared "    \
	"node for application use\"\n"

static const char *const writes[] = { "*INSERT INTO*", "DELETE*", "UPDATE*" };

/* From now on those that there are lead to one that does nothing. */
static void refuse(struct proxy *proxy, const char *what)
{
	unsigned long count = proxy_counts(proxy).connections;

	for (unsigned long i = 1; i <= count; i++)
		for (size_t w = 0; w < TEST_SIZE(writes); w++)
			tell(proxy, "request conn=%lu sql=\"%s\" always %s", i,
			     writes[w], what);
}

static void demote(struct proxy *proxy)
{
	refuse(proxy, REFUSED);
}

CASE("the next try reaches the new primary")
{
	TEST_PROXY(proxy, proxy_to(test_dsn()));
	TEST_CLIENT(client,
		    client_by(proxy, test_dsn(), 60000, test_timeout_ms(5000)));
	TEST_LOCK(lock,
		  test_lock(client, ROWLOCK_LEASE, 0, test_name("demoted")));

	assert_ok(try_it(lock, &err));
	assert_ok(rowlock_release(lock, &err));
	demote(proxy);
	assert_code(try_it(lock, &err), ROWLOCK_EREADONLY, &err);
	assert_ok(try_it(lock, &err));
	assert_ok(rowlock_release(lock, &err));
}

CASE("a node that left the others is left")
{
	TEST_PROXY(proxy, proxy_to(test_dsn()));
	TEST_CLIENT(client,
		    client_by(proxy, test_dsn(), 60000, test_timeout_ms(5000)));
	TEST_LOCK(lock, test_lock(client, ROWLOCK_LEASE, 0, test_name("left")));

	assert_ok(try_it(lock, &err));
	assert_ok(rowlock_release(lock, &err));
	refuse(proxy, NOT_READY);
	assert_code(try_it(lock, &err), ROWLOCK_ECONNECT, &err);
	assert_non_null(strstr(err.message, "primary component"));
	assert_ok(try_it(lock, &err));
	assert_ok(rowlock_release(lock, &err));
}

/* It need not call again. */
CASE("who may wait is taken to another node")
{
	TEST_PROXY(proxy, proxy_to(test_dsn()));
	TEST_CLIENT(client,
		    client_by(proxy, test_dsn(), 60000, test_timeout_ms(5000)));
	TEST_LOCK(lock,
		  test_lock(client, ROWLOCK_LEASE, 0, test_name("waits")));

	assert_ok(try_it(lock, &err));
	assert_ok(rowlock_release(lock, &err));
	refuse(proxy, NOT_READY);
	assert_ok(rowlock_acquire(lock, test_patience_ms(), &err));
	assert_ok(rowlock_release(lock, &err));
}

static uint64_t beats_of(struct test_sql *sql, const char *name)
{
	return test_sql_number(sql,
			       "SELECT s.beat FROM lease_session s "
			       "JOIN business_lease l ON l.session = s.id "
			       "WHERE l.name = '%s'",
			       name);
}

CASE("no hold is lost by it")
{
	const char *name = test_name("kept");
	TEST_PROXY(proxy, proxy_to(test_dsn()));
	TEST_CLIENT(client, client_by(proxy, test_dsn(), test_ttl_ms(6000),
				      test_timeout_ms(5000)));
	TEST_LOCK(lock, test_lock(client, ROWLOCK_LEASE, 0, name));
	TEST_SQL(sql);
	uint64_t before, began;

	assert_ok(try_it(lock, &err));
	demote(proxy);
	before = beats_of(sql, name);
	began = test_now_ns();
	/* By then the old connections alone would have lost it. */
	while (beats_of(sql, name) < before + 4)
		test_keep_waiting(began, "4 beats; held is %d",
				  rowlock_held(lock));
	assert_ok(rowlock_verify(lock, &err));
	assert_ok(rowlock_release(lock, &err));
}

CASE("a server that stays read-only is not stormed")
{
	TEST_PROXY(proxy, proxy_to(test_dsn()));
	TEST_CLIENT(client,
		    client_by(proxy, test_dsn(), 60000, test_timeout_ms(5000)));
	TEST_LOCK(lock,
		  test_lock(client, ROWLOCK_LEASE, 0, test_name("stays")));
	unsigned long before, opened, most;
	uint64_t began;

	assert_ok(try_it(lock, &err));
	assert_ok(rowlock_release(lock, &err));
	for (size_t w = 0; w < TEST_SIZE(writes); w++)
		tell(proxy, "request sql=\"%s\" always " REFUSED, writes[w]);
	before = proxy_counts(proxy).connections;
	began = test_now_ns();
	for (int i = 0; i < 300; i++)
		assert_code(try_it(lock, &err), ROWLOCK_EREADONLY, &err);
	opened = proxy_counts(proxy).connections - before;
	/* Once in a second all of those that are in use: the commit connection,
	 * the keeper's two, and the chores' one. */
	most = 4 * (unsigned long) (2 + (test_now_ns() - began) / 1000000000);
	if (opened > most)
		fail_msg("%lu connections were opened, not %lu at the most",
			 opened, most);
}

/* Not every refusal of this number says that the server takes no writes. */
CASE("another option is named, and gives nothing up")
{
	TEST_PROXY(proxy, proxy_to(test_dsn()));
	TEST_CLIENT(client, client_by(proxy, test_dsn(), BEATLESS_TTL_MS,
				      test_timeout_ms(5000)));
	TEST_LOCK(lock,
		  test_lock(client, ROWLOCK_LEASE, 0, test_name("option")));
	unsigned long before;

	assert_ok(try_it(lock, &err));
	assert_ok(rowlock_release(lock, &err));
	before = proxy_counts(proxy).connections;
	tell(proxy, "request sql=\"*INSERT INTO business_lease*\" do error "
		    "code=1290 state=HY000 text=\"L\303\244uft mit der Option "
		    "--skip-grant-tables und kann nicht\"");
	assert_code(try_it(lock, &err), ROWLOCK_EDB, &err);
	assert_non_null(strstr(err.message, "without --skip-grant-tables"));
	assert_ok(try_it(lock, &err));
	assert_ok(rowlock_release(lock, &err));
	assert_int_equal(proxy_counts(proxy).connections, before);
}

CASE_MAIN(test_main)
