// SPDX-License-Identifier: MIT
/*
 * The fault proxy does what its rules say: each kind of act is seen to happen,
 * from the client's side and in the server.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy_test.h"
#include "sql.h"

/* ------------------------------------------------------------------- acts */

CASE("a delay is waited for")
{
	TEST_PROXY(proxy, px_proxy());
	MYSQL *mysql = px_client(proxy);
	uint64_t began = test_now_ns();

	px_tell(proxy, "request do delay ms=60\nreply do delay ms=60");
	px_assert_answers(mysql);
	assert_true(test_ms(began, test_now_ns()) >= 119);
	assert_int_equal(proxy_counts(proxy).acts, 2);
	mysql_close(mysql);
}

/* Every way to end after @rule; is the statement executed? */
static void end_with(const char *rule, bool executed)
{
	static const char *const ends[] = { "fin", "rst", "silence", "vanish" };
	TEST_PROXY(proxy, px_proxy());

	for (size_t i = 0; i < TEST_SIZE(ends); i++) {
		const char *name = test_name("dropped");
		MYSQL *mysql = px_client(proxy);
		char words[160];

		snprintf(words, sizeof(words), "clear\n%s then=%s", rule,
			 ends[i]);
		px_tell(proxy, words);
		assert_int_equal(px_run(mysql, px_insert(name), NULL, 0), 2013);
		assert_int_equal(px_is_there(name), executed);
		mysql_close(mysql);
		px_remove_name(name);
	}
}

CASE("a dropped request is not executed")
{
	end_with("request sql=INSERT* do drop", false);
}

CASE("a request is executed although its reply is dropped")
{
	end_with("reply sql=INSERT* do drop", true);
}

CASE("a held request lands after its client has gone")
{
	const char *name = test_name("zombie");
	TEST_PROXY(proxy, px_proxy());
	MYSQL *mysql = px_client(proxy);

	px_tell(proxy, "request sql=INSERT* do hold then=rst");
	assert_int_equal(px_run(mysql, px_insert(name), NULL, 0), 2013);
	mysql_close(mysql);
	assert_false(px_is_there(name));
	px_tell(proxy, "deliver");
	while (!px_is_there(name))
		;
	while (proxy_counts(proxy).links > 0)
		;
	px_remove_name(name);
}

CASE("a held request is executed behind a silent client")
{
	const char *name = test_name("held");
	TEST_PROXY(proxy, px_proxy());
	MYSQL *mysql = px_client(proxy);

	px_tell(proxy, "request sql=INSERT* do hold then=silence");
	px_assert_gone(px_run(mysql, px_insert(name), NULL, 0));
	assert_false(px_is_there(name));
	px_tell(proxy, "deliver");
	while (!px_is_there(name))
		;
	mysql_close(mysql);
	/* Answered, and its client gone: the server's side ends as well. */
	while (proxy_counts(proxy).links > 0)
		;
	px_remove_name(name);
}

CASE("a cut packet never becomes whole")
{
	const char *name = test_name("cut");
	TEST_PROXY(proxy, px_proxy());
	MYSQL *mysql = px_client(proxy);

	px_tell(proxy, "request sql=INSERT* do cut byte=9");
	assert_int_equal(px_run(mysql, px_insert(name), NULL, 0), 2013);
	mysql_close(mysql);
	assert_false(px_is_there(name));
	mysql = px_client(proxy);
	px_tell(proxy, "reply command=query do cut byte=3 then=rst");
	assert_int_equal(px_run(mysql, "SELECT 1", NULL, 0), 2013);
	mysql_close(mysql);
}

CASE("a dribbled reply comes byte by byte")
{
	TEST_PROXY(proxy, px_proxy());
	MYSQL *mysql = px_client(proxy);
	uint64_t began = test_now_ns();

	px_tell(proxy, "reply do dribble ms=2");
	px_assert_answers(mysql);
	/* The smallest result set has more than 40 bytes. */
	assert_true(test_ms(began, test_now_ns()) >= 80);
	mysql_close(mysql);
}

static void garbled(char *value, size_t size)
{
	TEST_PROXY(proxy, px_proxy());
	MYSQL *mysql = px_client(proxy);

	/* The row's packet is nearly all of the reply. */
	px_tell(proxy, "reply sql=*REPEAT* do garble bytes=8");
	px_run(mysql, "SELECT REPEAT('a', 60000)", value, size);
	mysql_close(mysql);
}

CASE("garbling follows the seed")
{
	char *first = calloc(1, 60001);
	char *second = calloc(1, 60001);

	garbled(first, 60001);
	garbled(second, 60001);
	assert_true(strspn(first, "a") < 60000);
	assert_string_equal(first, second);
	free(first);
	free(second);
}

CASE("a duplicated request is executed twice")
{
	TEST_PROXY(proxy, px_proxy());
	MYSQL *mysql = px_client(proxy);
	char sql[128];
	char value[16];

	/* GET_LOCK() counts. */
	px_tell(proxy, "request sql=*GET_LOCK* do duplicate");
	snprintf(sql, sizeof(sql), "SELECT GET_LOCK('%s', 0)",
		 test_name("twice"));
	assert_int_equal(px_run(mysql, sql, value, sizeof(value)), 0);
	assert_string_equal(value, "1");
	px_assert_answers(mysql);
	assert_int_equal(
	    px_run(mysql, "SELECT RELEASE_ALL_LOCKS()", value, sizeof(value)),
	    0);
	assert_string_equal(value, "2");
	mysql_close(mysql);
}

CASE("a forged error is the answer")
{
	const char *name = test_name("forged");
	TEST_PROXY(proxy, px_proxy());
	MYSQL *mysql = px_client(proxy);

	px_tell(proxy, "request sql=INSERT* do error code=1213 state=40001 "
		       "text=\"not at all\"");
	assert_int_equal(px_run(mysql, px_insert(name), NULL, 0), 1213);
	assert_string_equal(mysql_sqlstate(mysql), "40001");
	assert_string_equal(mysql_error(mysql), "not at all");
	assert_false(px_is_there(name));
	/* After the fact: it was executed, and the answer lies. */
	px_tell(proxy, "clear\nreply sql=INSERT* do error code=1053 then=fin");
	assert_int_equal(px_run(mysql, px_insert(name), NULL, 0), 1053);
	assert_true(px_is_there(name));
	px_assert_gone(px_run(mysql, "SELECT 1", NULL, 0));
	mysql_close(mysql);
	px_remove_name(name);
}

/* ------------------------------------------------------------ connections */

static unsigned int connecting(struct proxy *proxy)
{
	unsigned int number;

	mysql_close(px_dial(proxy, &number));
	return number;
}

CASE("connecting is refused in every way")
{
	TEST_PROXY(proxy, px_proxy());
	unsigned int number;

	px_tell(proxy,
		"connect do error code=1040 text=\"Too many connections\"");
	assert_int_equal(connecting(proxy), 1040);
	px_tell(proxy, "clear\nconnect do drop then=rst");
	number = connecting(proxy); /* before, or after, it is connected */
	assert_true(number == 2002 || number == 2013);
	px_tell(proxy, "clear\nconnect do drop then=silence");
	assert_int_equal(connecting(proxy), 2013);
	px_tell(proxy, "clear\nreply command=greeting do drop");
	assert_int_equal(connecting(proxy), 2013);
	px_tell(proxy, "clear\nreply command=login do error code=1045");
	assert_int_equal(connecting(proxy), 1045);
	px_tell(proxy, "clear\ndeaf");
	assert_int_equal(connecting(proxy), 2002);
	px_tell(proxy, "listen");
	assert_int_equal(connecting(proxy), 0);
}

CASE("the server is switched")
{
	TEST_PROXY(other, px_proxy());
	TEST_PROXY(proxy, px_proxy());
	MYSQL *before = px_client(proxy);
	MYSQL *after;
	char words[256];

	snprintf(words, sizeof(words), "server %s keep", proxy_address(other));
	px_tell(proxy, words);
	px_assert_answers(before);
	after = px_client(proxy);
	px_assert_answers(after);
	assert_int_equal(proxy_counts(other).connections, 1);
	/* As an act, and without mercy for those who are there. */
	snprintf(words, sizeof(words),
		 "request sql=\"SELECT 'now'\" do switch server=%s",
		 proxy_address(other));
	px_tell(proxy, words);
	assert_int_equal(px_run(after, "SELECT 'now'", NULL, 0), 2013);
	px_assert_gone(px_run(before, "SELECT 1", NULL, 0));
	mysql_close(before);
	mysql_close(after);
}

/* Is the connection @id still in the server? */
static uint64_t sessions(struct test_sql *sql, unsigned long long id)
{
	return test_sql_number(sql,
			       "SELECT COUNT(*) FROM "
			       "information_schema.PROCESSLIST WHERE ID = %llu",
			       id);
}

CASE("the server never hears of who vanished")
{
	TEST_SQL(sql);
	struct proxy *proxy = px_proxy();
	MYSQL *mysql = px_client(proxy);
	unsigned long long id = mysql_thread_id(mysql);

	px_tell(proxy, "request command=ping do drop then=vanish");
	assert_int_not_equal(mysql_ping(mysql), 0);
	mysql_close(mysql);
	assert_int_equal(sessions(sql, id), 1);
	assert_int_equal(proxy_counts(proxy).links, 1);
	proxy_end(proxy);
	while (sessions(sql, id))
		;
}

CASE("what is frozen goes on when it thaws")
{
	TEST_PROXY(proxy, px_proxy());
	MYSQL *mysql = px_client(proxy);
	unsigned long heard = proxy_counts(proxy).heard;

	px_tell(proxy, "freeze");
	assert_int_equal(mysql_send_query(mysql, "SELECT 9", 8), 0);
	assert_int_equal(proxy_counts(proxy).heard, heard);
	px_tell(proxy, "thaw");
	assert_int_equal(mysql_read_query_result(mysql), 0);
	mysql_free_result(mysql_store_result(mysql));
	assert_true(proxy_counts(proxy).heard > heard);
	mysql_close(mysql);
}

CASE_MAIN(test_main)
