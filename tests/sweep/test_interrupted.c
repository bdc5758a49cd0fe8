// SPDX-License-Identifier: MIT
/*
 * KILL QUERY meets one statement of a call: nothing was done, the connection is
 * good, and the call goes on. The proxy says what the server would.
 */
#include <rowlock/election.h>
#include <rowlock/rwlock.h>
#include <rowlock/semaphore.h>
#include <string.h>

#include "odd.h"
#include "sql.h"
#include "timeouts.h"

/* In none of these tests a beat is due. */
enum { BEATLESS_TTL_MS = 3600000 };

struct site {
	struct proxy *proxy;
	struct rowlock_client *client;
};

static struct site site_open(void)
{
	struct site site = { .proxy = proxy_to(test_dsn()) };

	site.client = client_by(site.proxy, test_dsn(), BEATLESS_TTL_MS,
				test_timeout_ms(5000));
	return site;
}

static void site_close(struct site *site)
{
	test_client_end(site->client);
	proxy_end(site->proxy);
}

/* The next statement of this form is answered by error @code. */
static void meet(const struct site *site, const char *sql, unsigned int code)
{
	tell(site->proxy, "clear\nreset\nrequest sql=\"%s\" do error code=%u",
	     sql, code);
}

static void assert_met(const struct site *site)
{
	assert_int_equal(proxy_counts(site->proxy).harms, 1);
}

static const unsigned int interruptions[] = { 1317, 1969, 3024 };

CASE("a new connection is had all the same")
{
	static const char *const statements[] = { "SET NAMES*", "SELECT 0,*" };
	static const enum rowlock_strategy strategies[] = { ROWLOCK_LEASE,
							    ROWLOCK_ROW };

	for (size_t i = 0; i < TEST_SIZE(statements) * 2; i++) {
		struct site site = site_open();
		struct rowlock *lock = test_lock(site.client, strategies[i / 2],
						 0, test_name("new"));

		meet(&site, statements[i % 2], 1317);
		assert_ok(try_it(lock, &err));
		assert_met(&site);
		assert_ok(rowlock_release(lock, &err));
		test_lock_end(lock);
		site_close(&site);
	}
}

CASE("a login is waited for")
{
	struct site site = site_open();
	struct rowlock *lock =
	    test_lock(site.client, ROWLOCK_LEASE, 0, test_name("login"));

	tell(site.proxy, "clear\nreset\nrequest command=login do error "
			 "code=1317");
	assert_ok(rowlock_acquire(lock, (uint64_t) test_patience_ms(), &err));
	assert_met(&site);
	assert_ok(rowlock_release(lock, &err));
	test_lock_end(lock);
	site_close(&site);
}

CASE("a lease is verified")
{
	struct site site = site_open();
	struct rowlock *lock =
	    test_lock(site.client, ROWLOCK_LEASE, 0, test_name("verify"));

	assert_ok(try_it(lock, &err));
	for (size_t i = 0; i < TEST_SIZE(interruptions); i++) {
		meet(&site, "SELECT s.id FROM business_lease*",
		     interruptions[i]);
		assert_ok(rowlock_verify(lock, &err));
		assert_met(&site);
	}
	assert_ok(rowlock_release(lock, &err));
	test_lock_end(lock);
	site_close(&site);
}

/* The transaction is open until a COMMIT is answered. */
CASE("a row that is let go was not lost")
{
	struct site site = site_open();
	struct rowlock *lock =
	    test_lock(site.client, ROWLOCK_ROW, 0, test_name("commit"));

	for (size_t i = 0; i < TEST_SIZE(interruptions); i++) {
		assert_ok(try_it(lock, &err));
		meet(&site, "COMMIT", interruptions[i]);
		assert_ok(rowlock_release(lock, &err));
		assert_met(&site);
	}
	test_lock_end(lock);
	site_close(&site);
}

CASE("permits are counted and changed")
{
	const char *name = test_name("permits");
	struct site site = site_open();
	unsigned int permits, used;

	for (size_t i = 0; i < TEST_SIZE(interruptions); i++) {
		meet(&site, "*INTO lock_permits*", interruptions[i]);
		assert_ok(rowlock_semaphore_resize(site.client, name,
						   (unsigned int) i + 2, &err));
		assert_met(&site);
		meet(&site, "*FROM lock_permits*", interruptions[i]);
		assert_ok(rowlock_semaphore_count(site.client, name, &permits,
						  &used, &err));
		assert_met(&site);
		assert_int_equal(permits, i + 2);
	}
	site_close(&site);
}

CASE("a challenger is looked for")
{
	const struct rowlock_election_options options = {
		.size = sizeof(options),
		.weight = 1,
	};
	struct site site = site_open();
	struct rowlock *lock = NULL;
	unsigned int weight = 7;
	uint64_t stood_ms = 7;

	assert_ok(rowlock_election_new(site.client, test_name("elect"),
				       &options, &lock, &err));
	assert_ok(rowlock_acquire(lock, (uint64_t) test_patience_ms(), &err));
	for (size_t i = 0; i < TEST_SIZE(interruptions); i++) {
		meet(&site, "SELECT l.info,*", interruptions[i]);
		assert_ok(rowlock_election_challenger(lock, &weight, &stood_ms,
						      &err));
		assert_met(&site);
		assert_int_equal(weight, 0);
	}
	assert_ok(rowlock_release(lock, &err));
	test_lock_end(lock);
	site_close(&site);
}

/* A read of the floor that is interrupted ends as NULL, which is no value for a
 * token (seen on both servers). */
CASE("a token is drawn")
{
	static const enum rowlock_strategy strategies[] = { ROWLOCK_LEASE,
							    ROWLOCK_ROW };

	for (size_t i = 0; i < TEST_SIZE(strategies); i++) {
		struct site site = site_open();
		struct rowlock *lock = test_lock(site.client, strategies[i], 0,
						 test_name("token"));
		uint64_t token;

		assert_ok(try_it(lock, &err));
		meet(&site, "INSERT INTO lock_token*", 1048);
		assert_ok(rowlock_token(lock, &token, &err));
		assert_met(&site);
		assert_ok(rowlock_release(lock, &err));
		test_lock_end(lock);
		site_close(&site);
	}
}

/* Another client reads, and no look at the readers is answered: whether there
 * are any is not known. */
CASE("readers that nobody tells of are no time-out")
{
	const char *name = test_name("readers");
	struct rowlock_client *other = test_client(BEATLESS_TTL_MS);
	struct site site = site_open();
	struct rowlock *reader, *none, *unread, *writer;

	assert_ok(rowlock_rwlock_new(other, name, NULL, &reader, &none, &err));
	assert_ok(rowlock_rwlock_new(site.client, name, NULL, &unread, &writer,
				     &err));
	assert_ok(try_it(reader, &err));
	tell(site.proxy,
	     "request sql=\"*l.slot >= 2147483648*\" always do drop "
	     "then=rst");
	assert_code(rowlock_acquire(writer, test_timeout_ms(500), &err),
		    ROWLOCK_ECONNECT, &err);
	assert_int_equal(err.code, ROWLOCK_ECONNECT);
	tell(site.proxy, "clear");
	assert_ok(rowlock_release(reader, &err));
	assert_ok(rowlock_acquire(writer, (uint64_t) test_patience_ms(), &err));
	assert_ok(rowlock_release(writer, &err));
	test_lock_end(reader);
	test_lock_end(none);
	test_lock_end(unread);
	test_lock_end(writer);
	test_client_end(other);
	site_close(&site);
}

CASE_MAIN(test_main)
