/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_RWLOCKS_H
#define ROWLOCK_TEST_RWLOCKS_H

/*
 * Two clients with a handle each on one name, and waits on threads of their
 * own: for the tests of read/write locks.
 */
#include <pthread.h>

#include <rowlock/rwlock.h>

#include "sql.h"
#include "test.h"

#define TTL_MS 10000

static inline struct rowlock_rwlock *make(struct rowlock_client *client,
					  const char *name)
{
	struct rowlock_rwlock *rwlock = NULL;
	struct rowlock_errinfo err;

	assert_ok(rowlock_rwlock_new(client, name, NULL, &rwlock, &err));
	return rwlock;
}

static inline void end(struct rowlock_rwlock *rwlock)
{
	struct rowlock_errinfo err;

	assert_ok(rowlock_rwlock_free(rwlock, &err));
}

static inline void expect_read(struct rowlock_rwlock *rwlock, int code)
{
	struct rowlock_errinfo err;

	assert_code(rowlock_rwlock_acquire_read(rwlock, 0, &err), code, &err);
}

static inline void expect_write(struct rowlock_rwlock *rwlock, int code)
{
	struct rowlock_errinfo err;

	assert_code(rowlock_rwlock_acquire_write(rwlock, 0, &err), code, &err);
}

static inline void release(struct rowlock_rwlock *rwlock)
{
	struct rowlock_errinfo err;

	assert_ok(rowlock_rwlock_release(rwlock, &err));
}

static inline uint64_t rows_of(struct test_sql *sql, const char *name)
{
	return test_sql_number(
	    sql, "SELECT COUNT(*) FROM business_lease WHERE name = '%s'", name);
}

/* ------------------------------------------------------------ two clients */

struct pair {
	struct rowlock_client *clients[2];
	struct rowlock_rwlock *one;
	struct rowlock_rwlock *two; /* of the other client */
	struct test_sql *sql;
	const char *name;
};

static inline struct pair pair_new(const char *word)
{
	struct pair pair = {
		.clients = { test_client(test_ttl_ms(TTL_MS)),
			     test_client(test_ttl_ms(TTL_MS)) },
		.sql = test_sql_open(),
		.name = test_name(word),
	};

	pair.one = make(pair.clients[0], pair.name);
	pair.two = make(pair.clients[1], pair.name);
	return pair;
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
	struct rowlock_rwlock *rwlock;
	int (*call)(struct rowlock_rwlock *rwlock, uint64_t wait_ms,
		    struct rowlock_errinfo *reterr);
	uint64_t wait_ms;
	pthread_t thread;
	struct test_event over;
	int code;
	struct rowlock_errinfo err;
};

static inline void *run_wait(void *arg)
{
	struct wait *wait = arg;

	wait->code = wait->call(wait->rwlock, wait->wait_ms, &wait->err);
	test_event_set(&wait->over);
	return NULL;
}

static inline void begin_wait(struct wait *waiting,
			      struct rowlock_rwlock *rwlock,
			      int (*call)(struct rowlock_rwlock *, uint64_t,
					  struct rowlock_errinfo *))
{
	*waiting = (struct wait){ .rwlock = rwlock,
				  .call = call,
				  .wait_ms = ROWLOCK_FOREVER,
				  .over = test_event_new() };
	assert_int_equal(
	    pthread_create(&waiting->thread, NULL, run_wait, waiting), 0);
}

static inline void end_wait(struct wait *waiting, int code, const char *what)
{
	assert_event(&waiting->over, "%s", what);
	pthread_join(waiting->thread, NULL);
	test_event_end(&waiting->over);
	assert_code(waiting->code, code, &waiting->err);
}

/* Until a writer's row is there: it keeps readers out from then on. */
static inline void await_writer(const struct pair *pair)
{
	uint64_t began = test_now_ns();

	while (!test_sql_number(pair->sql,
				"SELECT COUNT(*) FROM business_lease WHERE "
				"name = '%s' AND slot = 2147483648",
				pair->name))
		test_keep_waiting(began, "a writer's row");
}

#endif
