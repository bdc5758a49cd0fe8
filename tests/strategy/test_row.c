/* SPDX-License-Identifier: MIT */
/*
 * Rows: locked by an open transaction, and by nothing else.
 */
#include <pthread.h>
#include <string.h>

#include "db/conn_fence.h"
#include "ground.h"
#include "unit/fake/memory.h"

/* The deadline of a wait that shall not be granted. */
#define SHORT_MS 200

static void take(int who, const struct rlk_request *request)
{
	assert_int_equal(ground_ask(who, request, RLK_ASK_FIRST, NULL),
			 RLK_DONE);
}

/* Ask to wait, and let it stand in the server's line. */
static void stand_in_line(struct rlk_conn *conn,
			  const struct rlk_request *request)
{
	struct rlk_holder holder;

	rlk_conn_set_until(conn, rlk_conn_now(conn) + SHORT_MS);
	assert_int_equal(ground->strategy->acquire(conn, request, RLK_ASK_WAIT,
						   &holder, &err),
			 RLK_PENDING);
	rlk_conn_set_until(conn, rlk_conn_now(conn) + GROUND_UNTIL_MS);
}

ROW("an absent row is never a grant")
{
	static const enum rlk_ask asks[] = { RLK_ASK_FIRST, RLK_ASK_AGAIN,
					     RLK_ASK_WAIT };
	struct rlk_request a = ground_request(0, test_name("absent"));
	struct rlk_holder holder;

	for (size_t i = 0; i < TEST_SIZE(asks); i++)
		for (int who = 0; who < 2; who++)
			assert_int_equal(
			    ground->strategy->acquire(ground->conns[who], &a,
						      asks[i], &holder, &err),
			    RLK_ABSENT);
	/* Nobody's look is in the way of who makes it. */
	assert_done(ground->strategy->make(ground->beside, &a, &err));
	for (size_t i = 0; i < TEST_SIZE(asks); i++) {
		assert_int_equal(ground->strategy->acquire(ground->conns[0], &a,
							   asks[i], &holder,
							   &err),
				 RLK_DONE);
		assert_true(ground_release(0, &a));
	}
}

ROW("making a row twice does no harm and does not wait")
{
	struct rlk_request a = ground_request(0, test_name("twice"));
	struct rlk_conn *conn = ground_open(true, 50);

	a.info = "first";
	take(0, &a);
	a.info = "second";
	assert_done(ground->strategy->make(conn, &a, &err));
	assert_int_equal(test_sql_number(ground->sql,
					 "SELECT COUNT(*) FROM business_lock "
					 "WHERE name = '%s' AND info = 'first'",
					 a.name),
			 1);
	assert_true(ground_confirm(0, &a));
	assert_true(ground_release(0, &a));
	rlk_conn_close(conn);
}

ROW("a waiter is granted when the holder gives up")
{
	const char *name = test_name("wait");

	for (int one = 0; one < 2; one++) {
		struct rlk_request a = ground_request(one, name);
		struct rlk_request b = ground_request(!one, name);

		take(one, &a);
		stand_in_line(ground->conns[!one], &b);
		assert_true(ground_release(one, &a));
		assert_int_equal(
		    ground->strategy->resume(ground->conns[!one], &err),
		    RLK_DONE);
		assert_int_equal(ground_ask(one, &a, RLK_ASK_FIRST, NULL),
				 RLK_HELD);
		assert_true(ground_release(!one, &b));
	}
}

ROW("a hold ends with its connection")
{
	GROUND_TWO("ends");

	take(0, &a);
	stand_in_line(ground->conns[1], &b);
	ground->conns[0] = rlk_conn_close(ground->conns[0]);
	assert_int_equal(ground->strategy->resume(ground->conns[1], &err),
			 RLK_DONE);
	assert_true(ground_release(1, &b));
}

ROW("a question is taken back by a kill")
{
	GROUND_TWO("kill");
	struct rlk_mark mark;

	take(0, &a);
	stand_in_line(ground->conns[1], &b);
	rlk_conn_mark(ground->conns[1], &mark);
	assert_done(rlk_conn_kill_query(ground->beside, &mark, &err));
	assert_true(
	    rlk_fault_passes(ground->strategy->resume(ground->conns[1], &err)));
	assert_true(rlk_conn_usable(ground->conns[1]));
	/* It stands in no line any more. */
	assert_true(ground_release(0, &a));
	take(0, &a);
	assert_true(ground_release(0, &a));
	take(1, &b);
	assert_true(ground_release(1, &b));
}

ROW("a fence takes the name from a lost waiter")
{
	GROUND_TWO("fence");
	struct rlk_mark mark;

	take(0, &a);
	stand_in_line(ground->conns[1], &b);
	rlk_conn_mark(ground->conns[1], &mark);
	assert_done(rlk_conn_fence(ground->beside, &mark, RLK_NEVER, &err));
	/* Nobody is in the line now who could get it. */
	assert_true(ground_release(0, &a));
	take(0, &a);
	assert_true(ground_release(0, &a));
}

ROW("an interrupt ends a wait")
{
	GROUND_TWO("interrupt");
	struct rlk_holder holder;

	take(0, &a);
	rlk_conn_set_until(ground->conns[1], RLK_NEVER);
	rlk_conn_interrupt(ground->conns[1]);
	assert_int_equal(ground->strategy->acquire(ground->conns[1], &b,
						   RLK_ASK_WAIT, &holder, &err),
			 RLK_PENDING);
	rlk_conn_set_until(ground->conns[1],
			   rlk_conn_now(ground->conns[1]) + GROUND_UNTIL_MS);
	assert_true(ground_release(0, &a));
	assert_int_equal(ground->strategy->resume(ground->conns[1], &err),
			 RLK_DONE);
	assert_true(ground_release(1, &b));
}

ROW("a slice of waiting ends by the server")
{
	GROUND_TWO("slice");

	take(0, &a);
	/* Its innodb_lock_wait_timeout is a second. */
	assert_int_equal(ground_ask(1, &b, RLK_ASK_WAIT, NULL), RLK_WAITED);
	assert_true(rlk_conn_usable(ground->conns[1]));
	assert_true(ground_release(0, &a));
	assert_int_equal(ground_ask(1, &b, RLK_ASK_WAIT, NULL), RLK_DONE);
	assert_true(ground_release(1, &b));
}

ROW("another connection's commit releases nothing")
{
	struct rlk_request a = ground_request(0, test_name("commit"));

	take(0, &a);
	ground_release(1, &a);
	assert_int_equal(ground_ask(1, &a, RLK_ASK_FIRST, NULL), RLK_HELD);
	assert_true(ground_release(0, &a));
}

/* Its first COMMIT has nothing yet to be prepared in. */
ROW("a row is let go without memory")
{
	struct rlk_request a = ground_request(0, test_name("memory"));
	struct rlk_request b = ground_request(1, a.name);
	bool found = false;
	enum rlk_fault fault;

	take(0, &a);
	rlk_conn_set_until(ground->conns[0],
			   rlk_conn_now(ground->conns[0]) + GROUND_UNTIL_MS);
	fake_memory_fail(1);
	fault = ground->strategy->release(ground->conns[0], &a, &found, &err);
	assert_true(fake_memory_failed());
	assert_done(fault);
	assert_true(found);
	take(1, &b);
	assert_true(ground_release(1, &b));
}

ROW("statements typed by hand exclude and are excluded")
{
	struct rlk_request a = ground_request(0, test_name("hand"));

	take(0, &a);
	test_sql(ground->sql, "SET autocommit = 0");
	assert_int_not_equal(test_sql_try(ground->sql,
					  "SELECT * FROM business_lock WHERE "
					  "name = '%s' FOR UPDATE NOWAIT",
					  a.name),
			     0);
	test_sql(ground->sql, "ROLLBACK");
	assert_true(ground_release(0, &a));
	test_sql_number(ground->sql,
			"SELECT 1 FROM business_lock WHERE name = '%s' FOR "
			"UPDATE",
			a.name);
	assert_int_equal(ground_ask(0, &a, RLK_ASK_FIRST, NULL), RLK_HELD);
	/* A row that is deleted under us is no grant either. */
	test_sql(ground->sql, "DELETE FROM business_lock WHERE name = '%s'",
		 a.name);
	test_sql(ground->sql, "COMMIT");
	take(0, &a);
	assert_int_equal(test_sql_number(ground->sql,
					 "SELECT COUNT(*) FROM business_lock "
					 "WHERE name = '%s'",
					 a.name),
			 1);
	assert_true(ground_release(0, &a));
}

/* -------------------------------------------------------------- the table */

/* Waits for the end of all holds, and all others wait behind it. */
static void *optimize(void *arg)
{
	struct test_sql *sql = arg;

	free(test_sql_text(sql, "OPTIMIZE TABLE business_lock"));
	return NULL;
}

static bool waits_for_table(void)
{
	return test_sql_number(ground->sql,
			       "SELECT COUNT(*) FROM "
			       "information_schema.PROCESSLIST WHERE STATE "
			       "LIKE 'Waiting for table metadata lock%%' AND "
			       "INFO = 'OPTIMIZE TABLE business_lock'");
}

ROW("a try behind DDL does not name a holder")
{
	struct rlk_request a = ground_request(0, test_name("held"));
	struct rlk_request b = ground_request(1, test_name("free"));
	struct rlk_request c = ground_request(1, a.name);
	struct test_sql *ddl = test_sql_open();
	uint64_t began = test_now_ns();
	enum rlk_fault verdicts[2];
	struct rlk_holder holder;
	pthread_t thread;

	take(1, &b);
	assert_true(ground_release(1, &b));
	take(0, &a);
	assert_int_equal(pthread_create(&thread, NULL, optimize, ddl), 0);
	while (!waits_for_table())
		test_keep_waiting(began, "the DDL waits for the hold");
	rlk_conn_set_until(ground->conns[1],
			   rlk_conn_now(ground->conns[1]) + GROUND_UNTIL_MS);
	for (int i = 0; i < 2; i++)
		verdicts[i] = ground->strategy->acquire(
		    ground->conns[1], &b, RLK_ASK_FIRST, &holder, &err);
	/* The DDL's turn. */
	assert_true(ground_release(0, &a));
	pthread_join(thread, NULL);
	test_sql_end(ddl);
	assert_int_equal(verdicts[0], RLK_REFUSED);
	assert_int_equal(verdicts[1], RLK_REFUSED);
	assert_int_equal(err.code, ROWLOCK_EDB);
	assert_int_equal(err.mysql, 1205);
	assert_non_null(strstr(err.message, "table business_lock"));
	/* Then a row is a row again. */
	take(0, &a);
	assert_int_equal(ground_ask(1, &c, RLK_ASK_FIRST, NULL), RLK_HELD);
	take(1, &b);
	assert_true(ground_release(1, &b));
	assert_true(ground_release(0, &a));
}

CASE_MAIN(test_main)
