// SPDX-License-Identifier: MIT
/*
 * The server dies by SIGKILL and comes back, or ends a connection: a lease
 * lives on if it is back before the deadline, a row is lost at once.
 *
 * On a server of its own.
 */
#include "actor.h"
#include "server.h"
#include "sql.h"
#include "test.h"

static bool is_away(int64_t code)
{
	return code == ROWLOCK_ECONNECT || code == ROWLOCK_EDB;
}

/* Ask until the answer is not "the server is away". */
static int64_t ask_until_back(struct test_actor *actor, const char *word)
{
	uint64_t began = test_now_ns();
	int64_t code;

	while (is_away(code = test_actor_ask(actor, word)))
		test_keep_waiting(began, "the server to be back: '%s' gives %d",
				  word, (int) code);
	return code;
}

CASE("a lease survives the server's SIGKILL and restart")
{
	const char *name = test_name("survives");
	TEST_ACTOR(a,
		   test_actor_start(ROWLOCK_LEASE, name, test_ttl_ms(60000)));
	int64_t token;

	assert_int_equal(test_actor_ask(&a, "acquire 0"), 0);
	token = test_actor_ask(&a, "token");
	assert_true(token > 0);
	test_server_kill();
	assert_int_equal(test_actor_ask(&a, "held"), 1);
	assert_true(is_away(test_actor_ask(&a, "verify")));
	assert_int_equal(test_actor_ask(&a, "held"), 1);
	test_server_restart();
	assert_int_equal(ask_until_back(&a, "verify"), 0);
	assert_int_equal(test_actor_ask(&a, "held"), 1);
	assert_int_equal(test_actor_ask(&a, "lost"), 0);
	assert_true(test_actor_ask(&a, "token") == token);
	assert_int_equal(test_actor_ask(&a, "release"), 0);
	assert_int_equal(test_actor_ask(&a, "wait"), 0);
	assert_true(test_actor_ask(&a, "token") > token);
	assert_int_equal(test_actor_ask(&a, "release"), 0);
}

CASE("a lease is lost if the server stays away")
{
	const char *name = test_name("away");
	uint64_t ttl = test_ttl_ms(1000);
	TEST_ACTOR(a, test_actor_start(ROWLOCK_LEASE, name, ttl));
	uint64_t began;

	assert_int_equal(test_actor_ask(&a, "acquire 0"), 0);
	began = test_now_ns();
	test_server_kill();
	assert_int_equal(test_actor_ask(&a, "await_lost"), 1);
	test_figure(test_ms(began, a.at), "ms",
		    "lease: server gone to the lost callback, TTL %d ms",
		    (int) ttl);
	assert_int_equal(test_actor_ask(&a, "held"), 0);
	test_server_restart();
	assert_int_equal(test_actor_ask(&a, "release"), ROWLOCK_ELOST);
	assert_int_equal(ask_until_back(&a, "wait"), 0);
	assert_int_equal(test_actor_ask(&a, "verify"), 0);
	assert_int_equal(test_actor_ask(&a, "release"), 0);
}

CASE("a row is lost when the server dies")
{
	const char *name = test_name("row");
	TEST_ACTOR(a, test_actor_start(ROWLOCK_ROW, name, 10000));
	struct test_sql *root = test_server_root();
	uint64_t began;

	assert_int_equal(test_actor_ask(&a, "acquire 0"), 0);
	test_sql_end(root);
	began = test_now_ns();
	test_server_kill();
	assert_int_equal(test_actor_ask(&a, "await_lost"), 1);
	test_figure(test_ms(began, a.at), "ms",
		    "row: before the server's SIGKILL (by a script) to the "
		    "lost callback");
	assert_int_equal(test_actor_ask(&a, "held"), 0);
	test_server_restart();
	assert_int_equal(test_actor_ask(&a, "release"), ROWLOCK_ELOST);
	assert_int_equal(ask_until_back(&a, "wait"), 0);
	assert_int_equal(test_actor_ask(&a, "lost"), 1);
	assert_int_equal(test_actor_ask(&a, "release"), 0);
}

/* The connection that has a transaction open on business_lock. */
static uint64_t holder_of_a_row(struct test_sql *root)
{
	return test_sql_number(root, "SELECT trx_mysql_thread_id FROM "
				     "information_schema.innodb_trx LIMIT 1");
}

CASE("a row is lost when its connection ends")
{
	const char *name = test_name("cut");
	TEST_ACTOR(a, test_actor_start(ROWLOCK_ROW, name, 10000));
	struct test_sql *root = test_server_root();
	uint64_t began, id;

	assert_int_equal(test_actor_ask(&a, "acquire 0"), 0);
	id = holder_of_a_row(root);
	assert_true(id > 0);
	began = test_now_ns();
	test_sql(root, "KILL CONNECTION %llu", (unsigned long long) id);
	assert_int_equal(test_actor_ask(&a, "await_lost"), 1);
	test_figure(test_ms(began, a.at), "ms",
		    "row: KILL of the connection to the lost callback");
	assert_int_equal(test_actor_ask(&a, "held"), 0);
	assert_int_equal(test_actor_ask(&a, "release"), ROWLOCK_ELOST);
	assert_int_equal(test_actor_ask(&a, "wait"), 0);
	assert_int_equal(test_actor_ask(&a, "release"), 0);
	test_sql_end(root);
}

/* All of the client's connections are ended while it has a lease. */
CASE("a lease survives the end of its connections")
{
	const char *name = test_name("cut");
	TEST_ACTOR(a,
		   test_actor_start(ROWLOCK_LEASE, name, test_ttl_ms(60000)));
	struct test_sql *root = test_server_root();

	assert_int_equal(test_actor_ask(&a, "acquire 0"), 0);
	test_sql(root, "KILL CONNECTION USER rowlock");
	assert_int_equal(ask_until_back(&a, "verify"), 0);
	assert_int_equal(test_actor_ask(&a, "lost"), 0);
	assert_int_equal(ask_until_back(&a, "release"), 0);
	assert_int_equal(ask_until_back(&a, "wait"), 0);
	assert_int_equal(test_actor_ask(&a, "release"), 0);
	test_sql_end(root);
}

CASE_MAIN(test_main_own_server)
