/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_SEMAPHORES_H
#define ROWLOCK_TEST_SEMAPHORES_H

/*
 * Two clients with a handle each on one semaphore, and waits on threads of
 * their own: for the tests of semaphores.
 */
#include <pthread.h>

#include <rowlock/semaphore.h>

#include "sql.h"
#include "test.h"

#define TTL_MS 10000

static inline struct rowlock *make(struct rowlock_client *client,
				   const char *name, unsigned int permits)
{
	struct rowlock *semaphore = NULL;

	assert_ok(rowlock_semaphore_new(client, name, permits, NULL, &semaphore,
					&err));
	return semaphore;
}

static inline void end(struct rowlock *semaphore)
{
	assert_ok(rowlock_try_free(semaphore, &err));
}

static inline void expect(struct rowlock *semaphore, unsigned int count,
			  int code)
{
	assert_code(rowlock_semaphore_acquire(semaphore, count, 0, &err), code,
		    &err);
	assert_int_equal(rowlock_semaphore_held(semaphore),
			 code == 0 ? count : 0);
}

static inline void release(struct rowlock *semaphore)
{
	assert_ok(rowlock_release(semaphore, &err));
	assert_int_equal(rowlock_semaphore_held(semaphore), 0);
}

static inline void expect_count(struct rowlock_client *client, const char *name,
				unsigned int permits, unsigned int used)
{
	unsigned int had[2];

	assert_ok(
	    rowlock_semaphore_count(client, name, &had[0], &had[1], &err));
	assert_int_equal(had[0], permits);
	assert_int_equal(had[1], used);
}

/* ------------------------------------------------------------ two clients */

struct pair {
	struct rowlock_client *clients[2];
	struct rowlock *one;
	struct rowlock *two; /* of the other client */
	struct test_sql *sql;
	const char *name;
};

static inline struct pair pair_new(const char *word, unsigned int permits)
{
	struct pair pair = {
		.clients = { test_client(test_ttl_ms(TTL_MS)),
			     test_client(test_ttl_ms(TTL_MS)) },
		.sql = test_sql_open(),
		.name = test_name(word),
	};

	pair.one = make(pair.clients[0], pair.name, permits);
	pair.two = make(pair.clients[1], pair.name, permits);
	return pair;
}

static inline uint64_t rows_of(struct test_sql *sql, const char *name)
{
	return test_sql_number(
	    sql, "SELECT COUNT(*) FROM business_lease WHERE name = '%s'", name);
}

static inline void pair_end(struct pair *pair)
{
	assert_int_equal(rows_of(pair->sql, pair->name), 0);
	end(pair->one);
	end(pair->two);
	test_client_end(pair->clients[0]);
	test_client_end(pair->clients[1]);
	test_sql_end(pair->sql);
}

/* ------------------------------------------------------------------ waits */

struct wait {
	struct rowlock *semaphore;
	unsigned int count;
	pthread_t thread;
	struct test_event over;
	int code;
	struct rowlock_errinfo err;
};

static inline void *run_wait(void *arg)
{
	struct wait *wait = arg;

	wait->code = rowlock_semaphore_acquire(wait->semaphore, wait->count,
					       ROWLOCK_FOREVER, &wait->err);
	test_event_set(&wait->over);
	return NULL;
}

static inline void begin_wait(struct wait *wait, struct rowlock *semaphore,
			      unsigned int count)
{
	*wait = (struct wait){ .semaphore = semaphore,
			       .count = count,
			       .over = test_event_new() };
	assert_int_equal(pthread_create(&wait->thread, NULL, run_wait, wait),
			 0);
}

static inline void end_wait(struct wait *wait, int code, const char *what)
{
	assert_event(&wait->over, "%s", what);
	pthread_join(wait->thread, NULL);
	test_event_end(&wait->over);
	assert_code(wait->code, code, &wait->err);
}

/* Until somebody stands in line: then who comes is refused, also if there are
 * enough. */
static inline void await_line(struct rowlock *other)
{
	uint64_t began = test_now_ns();
	int code;

	while ((code = rowlock_semaphore_acquire(other, 1, 0, NULL)) == 0) {
		assert_ok(rowlock_release(other, &err));
		test_keep_waiting(began, "somebody to stand in line");
	}
	assert_int_equal(code, ROWLOCK_EBUSY);
}

#endif
