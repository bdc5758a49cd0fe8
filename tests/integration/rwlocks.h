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

/* A reader and a writer, and calls that both kinds of waits and tests can be
 * given. */
struct rw {
	struct rowlock *reader;
	struct rowlock *writer;
};

typedef int (*rw_call)(struct rw rw, uint64_t wait_ms,
		       struct rowlock_errinfo *reterr);

enum rw_mode { RW_NONE, RW_READ, RW_WRITE };

static inline int rw_read(struct rw rw, uint64_t wait_ms,
			  struct rowlock_errinfo *reterr)
{
	return rowlock_acquire(rw.reader, wait_ms, reterr);
}

static inline int rw_write(struct rw rw, uint64_t wait_ms,
			   struct rowlock_errinfo *reterr)
{
	return rowlock_acquire(rw.writer, wait_ms, reterr);
}

static inline int rw_upgrade(struct rw rw, uint64_t wait_ms,
			     struct rowlock_errinfo *reterr)
{
	return rowlock_rwlock_upgrade(rw.reader, wait_ms, reterr);
}

static inline int rw_downgrade(struct rw rw, uint64_t wait_ms,
			       struct rowlock_errinfo *reterr)
{
	(void) wait_ms;
	return rowlock_rwlock_downgrade(rw.writer, reterr);
}

static inline enum rw_mode rw_held(struct rw rw)
{
	return rowlock_held(rw.reader)   ? RW_READ
	       : rowlock_held(rw.writer) ? RW_WRITE
					 : RW_NONE;
}

/* The one that is held, or was. */
static inline struct rowlock *rw_side(struct rw rw)
{
	return rowlock_verify(rw.reader, &err) == ROWLOCK_ENOTHELD ? rw.writer
								   : rw.reader;
}

static inline struct rw make(struct rowlock_client *client, const char *name)
{
	struct rw rw = { NULL, NULL };

	assert_ok(rowlock_rwlock_new(client, name, NULL, &rw.reader, &rw.writer,
				     &err));
	return rw;
}

static inline void end(struct rw rw)
{
	assert_ok(rowlock_try_free(rw.reader, &err));
	assert_ok(rowlock_try_free(rw.writer, &err));
}

static inline void expect_read(struct rw rw, int code)
{
	assert_code(rw_read(rw, 0, &err), code, &err);
}

static inline void expect_write(struct rw rw, int code)
{
	assert_code(rw_write(rw, 0, &err), code, &err);
}

static inline void release(struct rw rw)
{
	assert_ok(rowlock_release(
	    rw_held(rw) == RW_WRITE ? rw.writer : rw.reader, &err));
}

static inline uint64_t rows_of(struct test_sql *sql, const char *name)
{
	return test_sql_number(
	    sql, "SELECT COUNT(*) FROM business_lease WHERE name = '%s'", name);
}

/* ------------------------------------------------------------ two clients */

struct pair {
	struct rowlock_client *clients[2];
	struct rw one;
	struct rw two; /* of the other client */
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
	struct rw rw;
	rw_call call;
	uint64_t wait_ms;
	pthread_t thread;
	struct test_event over;
	int code;
	struct rowlock_errinfo err;
};

static inline void *run_wait(void *arg)
{
	struct wait *wait = arg;

	wait->code = wait->call(wait->rw, wait->wait_ms, &wait->err);
	test_event_set(&wait->over);
	return NULL;
}

static inline void begin_wait(struct wait *waiting, struct rw rw, rw_call call)
{
	*waiting = (struct wait){ .rw = rw,
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
