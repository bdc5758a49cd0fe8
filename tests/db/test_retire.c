/* SPDX-License-Identifier: MIT */
/*
 * Connections to a server that has become read-only: all are given up, once in
 * a while.
 */
#include "db/lend.h"
#include "db/retire.h"
#include <string.h>

#include "db_test.h"

/* Time stands still, but for what a test adds. */
static int64_t stands_at_ms;

static int64_t now_ms(const struct rlk_clock *clock)
{
	(void) clock;
	return stands_at_ms;
}

static int timer_new(const struct rlk_clock *clock)
{
	(void) clock;
	return rlk_clock_real()->ops->timer_new(rlk_clock_real());
}

/* Nothing here waits for a time. */
static void timer_set(const struct rlk_clock *clock, int timer, int64_t at_ms)
{
	(void) clock;
	(void) timer;
	(void) at_ms;
}

static const struct rlk_clock_ops still = { now_ms, timer_new, timer_set };
static const struct rlk_clock clock_of_test = { &still };

static int64_t until(void)
{
	return stands_at_ms + test_patience_ms();
}

static struct rlk_pool *pool_open(void)
{
	const struct rlk_pool_bay bays[] = { { db_lease, 0, 8 },
					     { db_row, 0, 8 } };
	struct rlk_conn_target target = db_target(NULL);
	struct rowlock_errinfo error = { 0 };
	struct rlk_pool *pool = NULL;

	stands_at_ms = db_in(0);
	target.clock = &clock_of_test;
	assert_int_equal(rlk_pool_new(&target, bays, 2, &pool, &error), 0);
	return pool;
}

static struct rlk_conn *get(struct rlk_pool *pool, size_t bay)
{
	struct rowlock_errinfo error = { 0 };
	struct rlk_conn *conn = NULL;

	if (rlk_pool_get(pool, bay, until(), false, NULL, &conn, &error))
		fail_msg("%s", error.message);
	return conn;
}

/* @conn is told what has become of its server. */
static void is_refused(struct rlk_conn *conn)
{
	static const struct rlk_stmt_def write = {
		"write",
		"DELETE FROM business_lease WHERE name = 'nobody'",
	};
	struct rowlock_errinfo error = { 0 };
	struct rlk_reply reply;
	enum rlk_fault fault;

	/* To others of this server nothing has become of it. */
	db_exec(conn, "SET SESSION TRANSACTION READ ONLY");
	fault = rlk_stmt_run(conn, &write, NULL, &reply, &error);
	db_exec(conn, "SET SESSION TRANSACTION READ WRITE");
	assert_int_equal(fault, RLK_REFUSED);
	assert_code(error.code, ROWLOCK_EREADONLY, NULL);
}

CASE("read-only retires all connections to that server")
{
	struct rlk_pool *pool = pool_open();
	struct rlk_conn *told = get(pool, 0);
	struct rlk_conn *idle = get(pool, 0);
	struct rlk_conn *lent = get(pool, 1);
	uint64_t id = rlk_conn_id(idle);

	rlk_pool_put(pool, idle);
	is_refused(told);
	assert_false(rlk_conn_retired(lent));
	rlk_pool_put(pool, told);
	/* The one that was told is closed, and the idle one is not lent. */
	assert_int_equal(db_pool_count(pool, 0), 1);
	idle = get(pool, 0);
	assert_true(rlk_conn_id(idle) > id);
	assert_false(rlk_conn_retired(idle));
	assert_int_equal(db_pool_count(pool, 0), 1);
	rlk_pool_put(pool, idle);
	/* What the other keeps in the server is unharmed. */
	assert_true(rlk_conn_retired(lent));
	assert_true(rlk_conn_alive(lent));
	assert_done(rlk_stmt_text(lent, "COMMIT", &err));
	rlk_pool_put(pool, lent);
	assert_int_equal(db_pool_count(pool, 1), 0);
	rlk_pool_free(pool, test_patience_ms());
}

CASE("what is told of a lent one retires the others")
{
	struct rlk_pool *pool = pool_open();
	struct rlk_conn *told = get(pool, 0);
	struct rlk_conn *lent = get(pool, 1);

	rlk_pool_note(pool, told);
	assert_false(rlk_conn_retired(lent));
	is_refused(told);
	rlk_pool_note(pool, told);
	assert_true(rlk_conn_retired(lent));
	assert_true(rlk_conn_retired(told));
	rlk_pool_put(pool, told);
	rlk_pool_put(pool, lent);
	rlk_pool_free(pool, test_patience_ms());
}

/* Where it leads to the same server again, each refusal would cost a
 * connection. */
CASE("a server that stays read-only is not stormed")
{
	struct rlk_pool *pool = pool_open();
	struct rlk_conn *conn = get(pool, 0);
	uint64_t id;

	is_refused(conn);
	rlk_pool_put(pool, conn);
	conn = get(pool, 0);
	id = rlk_conn_id(conn);
	for (int i = 0; i < 5; i++) {
		is_refused(conn);
		rlk_pool_put(pool, conn);
		conn = get(pool, 0);
		assert_int_equal(rlk_conn_id(conn), id);
	}
	stands_at_ms += 1000;
	is_refused(conn);
	rlk_pool_put(pool, conn);
	conn = get(pool, 0);
	assert_true(rlk_conn_id(conn) > id);
	rlk_pool_put(pool, conn);
	rlk_pool_free(pool, test_patience_ms());
}

CASE("connections to others stay")
{
	struct rlk_pool *pool = pool_open();
	struct rlk_conn *told = get(pool, 0);
	struct rlk_conn *other = get(pool, 0);
	struct rlk_server *node =
	    (struct rlk_server *) (uintptr_t) rlk_conn_server(other);

	strcpy(node->identity, "another node@1");
	is_refused(told);
	rlk_pool_put(pool, told);
	assert_false(rlk_conn_retired(other));
	rlk_pool_put(pool, other);
	assert_int_equal(db_pool_count(pool, 0), 1);
	rlk_pool_free(pool, test_patience_ms());
}

CASE_MAIN(db_main)
