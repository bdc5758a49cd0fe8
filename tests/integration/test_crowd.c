// SPDX-License-Identifier: MIT
/*
 * A thousand threads of one process want one name: all get it, and the server
 * sees no crowd.
 */
#include <pthread.h>

#include "sql.h"
#include "test.h"

#define CROWD 1000

struct person {
	struct rowlock *lock;
	pthread_t thread;
	int *inside;
	int *served;
	int code;
};

static void *want_it(void *arg)
{
	struct person *person = arg;

	person->code = rowlock_acquire(person->lock, ROWLOCK_FOREVER, &err);
	if (person->code)
		return NULL;
	/* Plain memory: a second holder would spoil it (and TSan would say). */
	if (++*person->inside != 1)
		person->code = 1;
	++*person->served;
	--*person->inside;
	if (!person->code)
		person->code = rowlock_release(person->lock, &err);
	return NULL;
}

static void start_crowd(struct person *people, struct rowlock_client *client,
			enum rowlock_strategy strategy, const char *name)
{
	static int inside, served;
	pthread_attr_t small;
	size_t i;

	served = 0;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 256 * 1024);
	for (i = 0; i < CROWD; i++) {
		people[i].inside = &inside;
		people[i].served = &served;
		people[i].lock = test_lock(client, strategy, 0, name);
		assert_int_equal(pthread_create(&people[i].thread, &small,
						want_it, &people[i]),
				 0);
	}
	pthread_attr_destroy(&small);
}

static uint64_t more(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Returns how many connections there were at most. */
static uint64_t crowd(enum rowlock_strategy strategy)
{
	static struct person people[CROWD];
	struct rowlock_client_options options = test_client_options(30000);
	struct test_sql *sql = test_sql_open();
	const char *name = test_name("crowd");
	uint64_t peak = 0, began;
	struct rowlock_client *client;
	struct rowlock *first;
	size_t i;

	client = test_client_with(&options);
	first = test_lock(client, strategy, 0, name);
	assert_ok(rowlock_acquire(first, 0, &err));
	start_crowd(people, client, strategy, name);
	for (i = 0; i < 20; i++)
		peak = more(peak, test_sql_connections(sql));
	began = test_now_ns();
	assert_ok(rowlock_release(first, &err));
	for (i = 0; i < CROWD; i++) {
		if (i % 50 == 0)
			peak = more(peak, test_sql_connections(sql));
		pthread_join(people[i].thread, NULL);
	}
	test_figure(test_ms(began, test_now_ns()), "ms",
		    "%s: %d threads of one process get one name in turn",
		    strategy ? "row" : "lease", CROWD);
	for (i = 0; i < CROWD; i++) {
		assert_int_equal(people[i].code, 0);
		test_lock_end(people[i].lock);
	}
	assert_int_equal(*people[0].served, CROWD);
	test_end(first, client);
	test_sql_end(sql);
	return peak;
}

CASE("a thousand threads get one lease by two connections")
{
	uint64_t peak = crowd(ROWLOCK_LEASE);

	test_figure((double) peak, "",
		    "lease: connections at the peak of the "
		    "crowd, the keeper's included");
	assert_true(peak <= 4);
}

CASE("a thousand threads get one row by one connection")
{
	uint64_t peak = crowd(ROWLOCK_ROW);

	test_figure((double) peak, "",
		    "row: connections at the peak of the "
		    "crowd, the keeper's included");
	/* The keeper's two, the row's one, and one for the statements beside
	 * it: never one per thread. */
	assert_true(peak <= 4);
}

CASE_MAIN(test_main)
