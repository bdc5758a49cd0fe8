// SPDX-License-Identifier: MIT
/*
 * Row holds beside each other: what happens on the connection of one is
 * nothing to the others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "odd.h"
#include "test.h"
#include "timeouts.h"

enum { FEW = 4, MANY = 24, IDLE_MOST_MS = 15000 };

struct street {
	struct proxy *proxy;
	struct rowlock_client *client;
	struct rowlock *locks[MANY];
	int count;
	uint64_t idle_ms;
};

/* A test takes most of it. */
static uint64_t idle_ms(void)
{
	uint64_t ms = test_ttl_ms(3000);

	return ms < IDLE_MOST_MS ? ms : IDLE_MOST_MS;
}

static struct street street_of(int count)
{
	struct street street = {
		.proxy = proxy_to(test_dsn()),
		.count = count,
		.idle_ms = idle_ms(),
	};

	street.client = client_by(street.proxy, test_dsn(), street.idle_ms,
				  test_timeout_ms(5000));
	for (int i = 0; i < count; i++) {
		char part[16];

		snprintf(part, sizeof(part), "house-%d", i);
		street.locks[i] =
		    test_lock(street.client, ROWLOCK_ROW, 0, test_name(part));
		assert_ok(rowlock_acquire(street.locks[i],
					  (uint64_t) test_patience_ms(), &err));
	}
	return street;
}

static void street_end(struct street *street)
{
	for (int i = 0; i < street->count; i++) {
		rowlock_release(street->locks[i], NULL);
		test_lock_end(street->locks[i]);
	}
	test_client_end(street->client);
	proxy_end(street->proxy);
}

/* The proxy's number of the connection that has house @which. Each house was
 * locked on its own, one after the other; the first ask of a name whose row is
 * not there is repeated. */
static int connection_of(struct street *street, int which)
{
	char *log = proxy_log(street->proxy);
	int seen[MANY];
	int count = 0;

	for (char *line = strtok(log, "\n"); line; line = strtok(NULL, "\n")) {
		int number = atoi(line);
		bool known = false;

		if (!strstr(line, "FOR UPDATE") || !strstr(line, "execute"))
			continue;
		for (int i = 0; i < count; i++)
			known |= seen[i] == number;
		if (!known && count < MANY)
			seen[count++] = number;
	}
	free(log);
	if (which >= count)
		fail_msg("%d connections have asked for rows, not %d", count,
			 which + 1);
	return seen[which];
}

/* Until so many rules were carried out; those from house @first on are not to
 * be lost meanwhile. */
static void keep_until(struct street *street, unsigned long acts, int first)
{
	uint64_t began = test_now_ns();

	while (!proxy_await_acts(street->proxy, acts, 50)) {
		for (int i = first; i < street->count; i++)
			if (!rowlock_held(street->locks[i]))
				fail_msg("hold %d of %d was lost", i,
					 street->count);
		test_keep_waiting(began, "the proxy carries out %lu rules: %lu",
				  acts, proxy_counts(street->proxy).acts);
	}
}

CASE("swallowed neighbours cost no healthy hold")
{
	struct street street = street_of(FEW);
	uint64_t began;

	for (int i = 0; i < 2; i++)
		tell(street.proxy, "request conn=%d do drop then=silence",
		     connection_of(&street, i));
	for (int i = 2; i < FEW; i++)
		tell(street.proxy,
		     "request conn=%d command=ping match=2 "
		     "do pass",
		     connection_of(&street, i));
	/* Two are dropped; two have been asked twice. One after the other, the
	 * first time would have been after the idle bound. */
	keep_until(&street, 4, 2);
	began = test_now_ns();
	while (rowlock_held(street.locks[0]) || rowlock_held(street.locks[1]))
		test_keep_waiting(began, "those that were swallowed are lost");
	for (int i = 2; i < FEW; i++)
		assert_int_equal(rowlock_release(street.locks[i], NULL), 0);
	street_end(&street);
}

/* All of the answers one after the other would take twice the idle bound. */
CASE("many holds at a long round trip are kept")
{
	struct street street = street_of(MANY);

	tell(street.proxy, "reply command=ping always do delay ms=%llu",
	     (unsigned long long) street.idle_ms / 10);
	keep_until(&street, 2ul * MANY, 0);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(rowlock_release(street.locks[i], NULL), 0);
	street_end(&street);
}

CASE_MAIN(test_main)
