/* SPDX-License-Identifier: MIT */
/* Lending: limits, order, interrupts, what the server has closed. */
#include <dirent.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/thread.h"
#include "db/conn_fence.h"
#include "db/lend.h"
#include "db/pool_private.h"
#include "db_test.h"

static struct rlk_pool *pool_open(const char *dsn, unsigned int limit,
				  unsigned int keep)
{
	const struct rlk_pool_bay bays[] = { { db_lease, limit, keep } };
	struct rlk_conn_target target = db_target(dsn);
	struct rowlock_errinfo error = { 0 };
	struct rlk_pool *pool = NULL;

	assert_int_equal(rlk_pool_new(&target, bays, 1, &pool, &error), 0);
	return pool;
}

static struct rlk_conn *get(struct rlk_pool *pool)
{
	struct rowlock_errinfo error = { 0 };
	struct rlk_conn *conn = NULL;

	if (rlk_pool_get(pool, 0, db_in(test_patience_ms()), false, NULL, &conn,
			 &error))
		print_error("%s\n", error.message);
	assert_non_null(conn);
	return conn;
}

CASE("a connection is used again")
{
	struct rlk_pool *pool = pool_open(NULL, 2, 2);
	struct rlk_conn *conn = get(pool);
	uint64_t id = rlk_conn_id(conn);

	assert_int_equal(db_pool_count(pool, 0), 1);
	rlk_pool_put(pool, conn);
	conn = get(pool);
	assert_int_equal(rlk_conn_id(conn), id);
	rlk_pool_put(pool, conn);
	assert_int_equal(db_pool_count(pool, 0), 1);
	rlk_pool_free(pool, test_patience_ms());
}

CASE("more connections than are kept are closed")
{
	struct rlk_pool *pool = pool_open(NULL, 0, 1);
	struct rlk_conn *conns[3];

	for (int i = 0; i < 3; i++)
		conns[i] = get(pool);
	assert_int_equal(db_pool_count(pool, 0), 3);
	for (int i = 0; i < 3; i++)
		rlk_pool_put(pool, conns[i]);
	assert_int_equal(db_pool_count(pool, 0), 1);
	rlk_pool_free(pool, test_patience_ms());
}

CASE("the limit holds until the deadline")
{
	struct rlk_pool *pool = pool_open(NULL, 1, 1);
	struct rlk_conn *conn = get(pool);
	struct rlk_conn *none = NULL;

	assert_code(rlk_pool_get(pool, 0, db_in(50), true, NULL, &none, &err),
		    ROWLOCK_ETIMEDOUT, &err);
	assert_null(none);
	assert_says(err.message, "no lease connection to ");
	assert_null(strstr(err.message, "to the server "));
	assert_int_equal(db_pool_count(pool, 0), 1);
	rlk_pool_put(pool, conn);
	rlk_pool_free(pool, test_patience_ms());
}

static int get_spare(struct rlk_pool *pool, struct rlk_conn **ret_conn)
{
	struct rowlock_errinfo error = { 0 };

	return rlk_pool_get_spare(pool, 0, db_in(test_patience_ms()), NULL,
				  ret_conn, &error);
}

/* One who waits in the pool, and the place that he got. */
struct client {
	struct rlk_pool *pool;
	struct rlk_thread thread;
	struct rlk_pool_waiter waiter;
	_Atomic unsigned int *served;
	unsigned int place;
	int code;
};

static void wait_for_one(void *arg)
{
	struct client *client = arg;
	struct rlk_conn *conn = NULL;

	client->code = rlk_pool_get(client->pool, 0, db_in(test_patience_ms()),
				    true, &client->waiter, &conn, NULL);
	if (client->code)
		return;
	client->place = atomic_fetch_add(client->served, 1);
	rlk_pool_put(client->pool, conn);
}

/* Start @client and wait until it is in the queue. */
static void start_client(struct client *client, struct rlk_pool *pool,
			 _Atomic unsigned int *served)
{
	unsigned int before = db_pool_waiting(pool, 0);
	int64_t since = db_in(0);

	*client = (struct client){ .pool = pool, .served = served };
	assert_int_equal(
	    rlk_thread_start(&client->thread, "client", wait_for_one, client),
	    0);
	while (db_pool_waiting(pool, 0) == before)
		db_keep_waiting(since, "a client to wait for the pool");
}

CASE("first come, first served")
{
	struct rlk_pool *pool = pool_open(NULL, 1, 1);
	struct rlk_conn *conn = get(pool);
	_Atomic unsigned int served = 0;
	struct client clients[8];

	for (unsigned int i = 0; i < 8; i++)
		start_client(&clients[i], pool, &served);
	rlk_pool_put(pool, conn);
	for (unsigned int i = 0; i < 8; i++) {
		rlk_thread_join(&clients[i].thread);
		assert_int_equal(clients[i].code, 0);
		assert_int_equal(clients[i].place, i);
	}
	assert_int_equal(db_pool_count(pool, 0), 1);
	rlk_pool_free(pool, test_patience_ms());
}

CASE("an interrupt ends one wait and no other")
{
	struct rlk_pool *pool = pool_open(NULL, 1, 1);
	struct rlk_conn *conn = get(pool);
	_Atomic unsigned int served = 0;
	struct client clients[2];

	for (int i = 0; i < 2; i++)
		start_client(&clients[i], pool, &served);
	rlk_pool_interrupt(pool, &clients[0].waiter);
	rlk_thread_join(&clients[0].thread);
	assert_code(clients[0].code, ROWLOCK_ECANCELED, NULL);
	rlk_pool_put(pool, conn);
	rlk_thread_join(&clients[1].thread);
	assert_int_equal(clients[1].code, 0);
	rlk_pool_free(pool, test_patience_ms());
}

CASE("an interrupt before the wait is not missed")
{
	struct rlk_pool *pool = pool_open(NULL, 1, 1);
	struct rlk_pool_waiter waiter = RLK_POOL_WAITER_NULL;
	struct rlk_conn *none = NULL;

	rlk_pool_interrupt(pool, &waiter);
	assert_code(
	    rlk_pool_get(pool, 0, RLK_NEVER, true, &waiter, &none, NULL),
	    ROWLOCK_ECANCELED, NULL);
	assert_null(none);
	rlk_pool_free(pool, test_patience_ms());
}

CASE("a connection that the server closed is replaced")
{
	struct rlk_pool *pool = pool_open(NULL, 1, 1);
	DB_CONN(other, db_open(NULL, &db_lease));
	struct rlk_conn *conn = get(pool);
	uint64_t id = rlk_conn_id(conn);
	struct rlk_mark mark;

	rlk_conn_mark(conn, &mark);
	rlk_pool_put(pool, conn);
	assert_done(rlk_conn_fence(other, &mark, RLK_NEVER, &err));
	conn = get(pool);
	assert_int_not_equal(rlk_conn_id(conn), id);
	assert_int_equal(db_number(conn, "SELECT 7"), 7);
	rlk_pool_put(pool, conn);
	assert_int_equal(db_pool_count(pool, 0), 1);
	rlk_pool_free(pool, test_patience_ms());
}

CASE("a connection with a reply outstanding is closed")
{
	struct rlk_pool *pool = pool_open(NULL, 1, 1);
	struct rlk_conn *conn = get(pool);

	rlk_conn_set_until(conn, db_in(20));
	assert_int_equal(rlk_stmt_text(conn, "SELECT SLEEP(20)", &err),
			 RLK_PENDING);
	rlk_pool_put(pool, conn);
	assert_int_equal(db_pool_count(pool, 0), 0);
	rlk_pool_free(pool, test_patience_ms());
}

CASE("the longest idle is taken to be pinged")
{
	struct rlk_pool *pool = pool_open(NULL, 2, 2);
	struct rlk_conn *first = get(pool);
	struct rlk_conn *second = get(pool);
	struct rlk_conn *taken;

	assert_null(rlk_pool_take_idle(pool, 0, 0));
	rlk_pool_put(pool, first);
	rlk_pool_put(pool, second);
	assert_null(rlk_pool_take_idle(pool, 0, test_patience_ms()));
	taken = rlk_pool_take_idle(pool, 0, 0);
	assert_ptr_equal(taken, first);
	rlk_pool_put(pool, taken);
	rlk_pool_free(pool, test_patience_ms());
}

CASE("a spare one is not waited for")
{
	struct rlk_pool *pool = pool_open(NULL, 2, 2);
	struct rlk_conn *conns[2];
	struct rlk_conn *none = NULL;

	assert_int_equal(get_spare(pool, &conns[0]), 0);
	assert_int_equal(get_spare(pool, &conns[1]), 0);
	assert_code(get_spare(pool, &none), ROWLOCK_EBUSY, NULL);
	assert_null(none);
	rlk_pool_put(pool, conns[0]);
	assert_int_equal(get_spare(pool, &conns[0]), 0);
	rlk_pool_put(pool, conns[0]);
	rlk_pool_put(pool, conns[1]);
	rlk_pool_free(pool, test_patience_ms());
}

CASE("a refused connection is told, at once or at the deadline")
{
	struct rlk_pool *pool = pool_open("host=127.0.0.1;port=1;user=u", 1, 1);
	struct rlk_conn *none = NULL;

	assert_code(rlk_pool_get(pool, 0, RLK_NEVER, false, NULL, &none, &err),
		    ROWLOCK_ECONNECT, &err);
	assert_says(err.message, "127.0.0.1:1");
	/* With patience it is the deadline that ends it, and the reason is
	 * the last failure. */
	assert_code(rlk_pool_get(pool, 0, db_in(100), true, NULL, &none, &err),
		    ROWLOCK_ECONNECT, &err);
	assert_says(err.message, "127.0.0.1:1");
	assert_null(none);
	rlk_pool_free(pool, test_patience_ms());
}

CASE("a wrong password is told at once, also to the patient")
{
	struct rlk_pool *pool = pool_open(db_dsn_with("password=no17"), 1, 1);
	struct rlk_conn *none = NULL;

	assert_code(rlk_pool_get(pool, 0, RLK_NEVER, true, NULL, &none, &err),
		    ROWLOCK_EAUTH, &err);
	rlk_pool_free(pool, test_patience_ms());
}

CASE("patience outlasts a server that is away")
{
	DB_RELAY(relay, relay_start(RELAY_SILENT, NULL));
	struct rlk_pool *pool = pool_open(relay_dsn(relay), 1, 1);
	_Atomic unsigned int served = 0;
	struct client client;
	struct rlk_conn *none = NULL;

	assert_code(rlk_pool_get(pool, 0, db_in(50), false, NULL, &none, &err),
		    ROWLOCK_ECONNECT, &err);
	start_client(&client, pool, &served);
	relay_set_mode(relay, RELAY_STRAIGHT);
	rlk_thread_join(&client.thread);
	assert_int_equal(client.code, 0);
	rlk_pool_free(pool, test_patience_ms());
}

static size_t count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* The pool ends while an opener is stuck: it goes by itself. */
CASE("an opener that is stuck does not hold the end up")
{
	struct relay *relay = relay_start(RELAY_SILENT, NULL);
	struct rlk_pool *pool = pool_open(relay_dsn(relay), 1, 1);
	size_t threads = count_threads();
	_Atomic unsigned int served = 0;
	struct client client;
	int64_t since;

	start_client(&client, pool, &served);
	rlk_pool_interrupt(pool, &client.waiter);
	rlk_thread_join(&client.thread);
	assert_code(client.code, ROWLOCK_ECANCELED, NULL);
	rlk_pool_free(pool, 20);
	/* Its peer has gone, and so does it. The relay's thread was counted. */
	relay_end(relay);
	since = db_in(0);
	while (count_threads() >= threads) {
		db_keep_waiting(since, "the thread of a stuck opener to end");
		sched_yield();
	}
}

/* The opener works for the one that waits longer, and has no reason yet. */
CASE("a server that does not answer in time is named")
{
	struct relay *relay = relay_start(RELAY_SILENT, NULL);
	struct rlk_pool *pool = pool_open(relay_dsn(relay), 1, 1);
	_Atomic unsigned int served = 0;
	struct client longer;
	struct rlk_conn *none = NULL;
	int64_t since = db_in(0);

	start_client(&longer, pool, &served);
	do {
		db_keep_waiting(since, "the opener to ask");
		assert_code(
		    rlk_pool_get(pool, 0, db_in(20), true, NULL, &none, &err),
		    ROWLOCK_ECONNECT, &err);
	} while (strstr(err.message, "connect to the server:"));
	assert_says(err.message, "connect to 127.0.0.1:");
	assert_says(err.message, ": no answer in time for a lease connection");
	rlk_pool_interrupt(pool, &longer.waiter);
	rlk_thread_join(&longer.thread);
	relay_end(relay);
	rlk_pool_free(pool, test_patience_ms());
}

/* One that waits longer keeps the opener at a server that is silent, so that
 * no try ends in the time of a get. */
static void get_from_silent(struct rlk_pool *pool, int64_t wait_ms)
{
	_Atomic unsigned int served = 0;
	struct client longer;
	struct rlk_conn *none = NULL;

	start_client(&longer, pool, &served);
	rlk_pool_get(pool, 0, db_in(wait_ms), true, NULL, &none, &err);
	assert_null(none);
	rlk_pool_interrupt(pool, &longer.waiter);
	rlk_thread_join(&longer.thread);
}

CASE("a thread that no try answers hears why the last one failed")
{
	struct relay *relay = relay_start(RELAY_STRAIGHT, NULL);
	struct rlk_conn *none = NULL;
	struct rlk_pool *pool;
	char wrong[700];

	test_dsn_with(relay_dsn(relay), "password=no17", wrong, sizeof(wrong));
	pool = pool_open(wrong, 1, 1);
	assert_code(rlk_pool_get(pool, 0, RLK_NEVER, true, NULL, &none, &err),
		    ROWLOCK_EAUTH, &err);
	relay_set_mode(relay, RELAY_SILENT);
	get_from_silent(pool, 20);
	assert_code(err.code, ROWLOCK_EAUTH, &err);
	/* It was longer ago. */
	rlk_mutex_lock(&pool->mutex);
	pool->bays[0].failed_ms -= 11000;
	rlk_mutex_unlock(&pool->mutex);
	get_from_silent(pool, 20);
	assert_code(err.code, ROWLOCK_ECONNECT, &err);
	assert_says(err.message, "no answer in time");
	relay_end(relay);
	rlk_pool_free(pool, test_patience_ms());
}

CASE("a failure before a success is no reason any more")
{
	struct relay *relay = relay_start(RELAY_STRAIGHT, NULL);
	struct rlk_pool *pool = pool_open(relay_dsn(relay), 2, 2);
	struct rlk_conn *conn = NULL;

	relay_stop_after(relay, 0, true);
	assert_code(rlk_pool_get(pool, 0, RLK_NEVER, false, NULL, &conn, &err),
		    ROWLOCK_ECONNECT, &err);
	assert_null(strstr(err.message, "no answer in time"));
	relay_stop_after(relay, SIZE_MAX, false);
	assert_int_equal(
	    rlk_pool_get(pool, 0, RLK_NEVER, true, NULL, &conn, &err), 0);
	relay_set_mode(relay, RELAY_SILENT);
	get_from_silent(pool, 20);
	assert_says(err.message, "no answer in time");
	rlk_pool_discard(pool, conn);
	relay_end(relay);
	rlk_pool_free(pool, test_patience_ms());
}

CASE_MAIN(db_main)
