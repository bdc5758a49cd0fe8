// SPDX-License-Identifier: MIT
/*
 * The fault proxy does what its rules say: each kind of act is seen to happen,
 * from the client's side and in the server.
 */
#include <arpa/inet.h>
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "proxy.h"
#include "sql.h"
#include "test.h"

static struct proxy *open_proxy(const char *listen_at, const char *control,
				const char *history)
{
	char server[160];
	char reason[256] = "";
	struct proxy_options options = {
		.listen = listen_at,
		.server = server,
		.control = control,
		.history = history,
		.seed = 7,
	};
	struct proxy *proxy;

	proxy_server_of(test_dsn(), server, sizeof(server));
	proxy = proxy_start(&options, reason, sizeof(reason));
	if (!proxy)
		fail_msg("%s", reason);
	return proxy;
}

static struct proxy *new_proxy(void)
{
	return open_proxy(NULL, NULL, NULL);
}

static void tell(struct proxy *proxy, const char *words)
{
	char *problem = proxy_tell(proxy, words);

	if (problem)
		fail_msg("%s: %s", words, problem);
}

/* A plain client by way of the proxy: *@ret_errno is 0 or why not. A silent
 * peer is left after a second. */
static MYSQL *dial(struct proxy *proxy, unsigned int *ret_errno)
{
	const unsigned int second = 1;
	MYSQL *mysql = mysql_init(NULL);
	char dsn[512];

	proxy_dsn(proxy, test_dsn(), dsn, sizeof(dsn));
	mysql_optionsv(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &second);
	mysql_optionsv(mysql, MYSQL_OPT_READ_TIMEOUT, &second);
	*ret_errno = 0;
	if (!mysql_real_connect(mysql, dsn, NULL, NULL, NULL, 0, NULL, 0))
		*ret_errno = mysql_errno(mysql);
	return mysql;
}

static MYSQL *client(struct proxy *proxy)
{
	unsigned int number;
	MYSQL *mysql = dial(proxy, &number);

	if (number)
		fail_msg("connect: %s", mysql_error(mysql));
	return mysql;
}

/* Run @sql: 0, or the errno; the first value of its first row in @value. */
static unsigned int run(MYSQL *mysql, const char *sql, char *value, size_t size)
{
	MYSQL_RES *result;
	MYSQL_ROW row;

	if (value)
		*value = '\0';
	if (mysql_query(mysql, sql))
		return mysql_errno(mysql);
	result = mysql_store_result(mysql);
	if (!result)
		return mysql_errno(mysql);
	row = mysql_fetch_row(result);
	if (row && row[0] && value)
		snprintf(value, size, "%s", row[0]);
	mysql_free_result(result);
	return 0;
}

/* It has ended: noticed when sending (2006), or when receiving (2013). */
static void assert_gone(unsigned int number)
{
	if (number != 2006 && number != 2013)
		fail_msg("the connection should be gone: %u", number);
}

static void assert_answers(MYSQL *mysql)
{
	char value[16];

	assert_int_equal(run(mysql, "SELECT 6 * 7", value, sizeof(value)), 0);
	assert_string_equal(value, "42");
}

/* An effect that everybody sees: a name in business_lock. */
static const char *insert(const char *name)
{
	static char sql[512];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO business_lock (name, info, created_at) VALUES "
		 "('%s', NULL, UTC_TIMESTAMP(6))",
		 name);
	return sql;
}

static bool is_there(const char *name)
{
	struct test_sql *sql = test_sql_open();
	uint64_t count = test_sql_number(
	    sql, "SELECT COUNT(*) FROM business_lock WHERE name = '%s'", name);

	test_sql_end(sql);
	return count == 1;
}

static void remove_name(const char *name)
{
	struct test_sql *sql = test_sql_open();

	test_sql(sql, "DELETE FROM business_lock WHERE name = '%s'", name);
	test_sql_end(sql);
}

/* ----------------------------------------------------------- understands */

/* Prepare, execute twice with one parameter, close. */
static unsigned int run_prepared(MYSQL *mysql, const char *sql)
{
	MYSQL_STMT *stmt = mysql_stmt_init(mysql);
	long long number = 5;
	MYSQL_BIND bind = { .buffer_type = MYSQL_TYPE_LONGLONG,
			    .buffer = &number };
	unsigned int error = 0;

	if (mysql_stmt_prepare(stmt, sql, strlen(sql)) ||
	    mysql_stmt_bind_param(stmt, &bind))
		error = mysql_stmt_errno(stmt);
	for (int i = 0; i < 2 && !error; i++)
		if (mysql_stmt_execute(stmt) || mysql_stmt_store_result(stmt) ||
		    mysql_stmt_num_rows(stmt) != 3)
			error =
			    mysql_stmt_errno(stmt) ? mysql_stmt_errno(stmt) : 1;
	mysql_stmt_close(stmt);
	return error;
}

static const char three_rows[] =
    "SELECT ? UNION ALL SELECT 2 UNION ALL SELECT 3";

static void knows_what_passes(void **state)
{
	struct proxy *proxy = new_proxy();
	MYSQL *mysql = client(proxy);
	char expected[512];
	char *log;

	(void) state;
	tell(proxy, "reset");
	assert_answers(mysql);
	assert_int_equal(run_prepared(mysql, three_rows), 0);
	assert_int_equal(mysql_ping(mysql), 0);
	mysql_close(mysql);
	log = proxy_log(proxy);
	snprintf(expected, sizeof(expected),
		 "1 query SELECT 6 * 7\n1 prepare %s\n1 execute %s\n"
		 "1 execute %s\n1 close %s\n1 ping \n",
		 three_rows, three_rows, three_rows, three_rows);
	assert_int_equal(strncmp(log, expected, strlen(expected)), 0);
	assert_int_equal(proxy_counts(proxy).replies, 5);
	free(log);
	proxy_end(proxy);
}

static void large_results_pass(void **state)
{
	struct proxy *proxy = new_proxy();
	MYSQL *mysql = client(proxy);
	char value[16];

	(void) state;
	assert_int_equal(
	    run(mysql, "SELECT REPEAT('x', 3000000)", value, sizeof(value)), 0);
	assert_string_equal(value, "xxxxxxxxxxxxxxx");
	assert_answers(mysql);
	mysql_close(mysql);
	proxy_end(proxy);
}

static void prepared_statement_is_known_by_its_text(void **state)
{
	struct proxy *proxy = new_proxy();
	MYSQL *mysql = client(proxy);

	(void) state;
	tell(proxy, "request command=execute sql=\"select * union*\" match=2 "
		    "do error code=1205 state=HY000 text=\"the second\"");
	assert_int_equal(run_prepared(mysql, three_rows), 1205);
	assert_int_equal(run_prepared(mysql, three_rows), 0);
	assert_int_equal(proxy_counts(proxy).acts, 1);
	mysql_close(mysql);
	proxy_end(proxy);
}

/* ------------------------------------------------------------------- acts */

static void a_delay_is_waited_for(void **state)
{
	struct proxy *proxy = new_proxy();
	MYSQL *mysql = client(proxy);
	uint64_t began = test_now_ns();

	(void) state;
	tell(proxy, "request do delay ms=60\nreply do delay ms=60");
	assert_answers(mysql);
	assert_true(test_ms(began, test_now_ns()) >= 119);
	assert_int_equal(proxy_counts(proxy).acts, 2);
	mysql_close(mysql);
	proxy_end(proxy);
}

/* Every way to end after @rule; is the statement executed? */
static void end_with(const char *rule, bool executed)
{
	static const char *const ends[] = { "fin", "rst", "silence", "vanish" };
	struct proxy *proxy = new_proxy();

	for (size_t i = 0; i < TEST_SIZE(ends); i++) {
		const char *name = test_name("dropped");
		MYSQL *mysql = client(proxy);
		char words[160];

		snprintf(words, sizeof(words), "clear\n%s then=%s", rule,
			 ends[i]);
		tell(proxy, words);
		assert_int_equal(run(mysql, insert(name), NULL, 0), 2013);
		assert_int_equal(is_there(name), executed);
		mysql_close(mysql);
		remove_name(name);
	}
	proxy_end(proxy);
}

static void a_dropped_request_is_not_executed(void **state)
{
	(void) state;
	end_with("request sql=INSERT* do drop", false);
}

static void a_request_is_executed_although_its_reply_is_dropped(void **state)
{
	(void) state;
	end_with("reply sql=INSERT* do drop", true);
}

static void a_held_request_lands_after_its_client_has_gone(void **state)
{
	const char *name = test_name("zombie");
	struct proxy *proxy = new_proxy();
	MYSQL *mysql = client(proxy);

	(void) state;
	tell(proxy, "request sql=INSERT* do hold then=rst");
	assert_int_equal(run(mysql, insert(name), NULL, 0), 2013);
	mysql_close(mysql);
	assert_false(is_there(name));
	tell(proxy, "deliver");
	while (!is_there(name))
		;
	while (proxy_counts(proxy).links > 0)
		;
	remove_name(name);
	proxy_end(proxy);
}

static void a_cut_packet_never_becomes_whole(void **state)
{
	const char *name = test_name("cut");
	struct proxy *proxy = new_proxy();
	MYSQL *mysql = client(proxy);

	(void) state;
	tell(proxy, "request sql=INSERT* do cut byte=9");
	assert_int_equal(run(mysql, insert(name), NULL, 0), 2013);
	mysql_close(mysql);
	assert_false(is_there(name));
	mysql = client(proxy);
	tell(proxy, "reply command=query do cut byte=3 then=rst");
	assert_int_equal(run(mysql, "SELECT 1", NULL, 0), 2013);
	mysql_close(mysql);
	proxy_end(proxy);
}

static void a_dribbled_reply_comes_byte_by_byte(void **state)
{
	struct proxy *proxy = new_proxy();
	MYSQL *mysql = client(proxy);
	uint64_t began = test_now_ns();

	(void) state;
	tell(proxy, "reply do dribble ms=2");
	assert_answers(mysql);
	/* The smallest result set has more than 40 bytes. */
	assert_true(test_ms(began, test_now_ns()) >= 80);
	mysql_close(mysql);
	proxy_end(proxy);
}

static void garbled(char *value, size_t size)
{
	struct proxy *proxy = new_proxy();
	MYSQL *mysql = client(proxy);

	/* The row's packet is nearly all of the reply. */
	tell(proxy, "reply sql=*REPEAT* do garble bytes=8");
	run(mysql, "SELECT REPEAT('a', 60000)", value, size);
	mysql_close(mysql);
	proxy_end(proxy);
}

static void garbling_follows_the_seed(void **state)
{
	char *first = calloc(1, 60001);
	char *second = calloc(1, 60001);

	(void) state;
	garbled(first, 60001);
	garbled(second, 60001);
	assert_true(strspn(first, "a") < 60000);
	assert_string_equal(first, second);
	free(first);
	free(second);
}

static void a_duplicated_request_is_executed_twice(void **state)
{
	struct proxy *proxy = new_proxy();
	MYSQL *mysql = client(proxy);
	char sql[128];
	char value[16];

	(void) state;
	/* GET_LOCK() counts. */
	tell(proxy, "request sql=*GET_LOCK* do duplicate");
	snprintf(sql, sizeof(sql), "SELECT GET_LOCK('%s', 0)",
		 test_name("twice"));
	assert_int_equal(run(mysql, sql, value, sizeof(value)), 0);
	assert_string_equal(value, "1");
	assert_answers(mysql);
	assert_int_equal(
	    run(mysql, "SELECT RELEASE_ALL_LOCKS()", value, sizeof(value)), 0);
	assert_string_equal(value, "2");
	mysql_close(mysql);
	proxy_end(proxy);
}

static void a_forged_error_is_the_answer(void **state)
{
	const char *name = test_name("forged");
	struct proxy *proxy = new_proxy();
	MYSQL *mysql = client(proxy);

	(void) state;
	tell(proxy, "request sql=INSERT* do error code=1213 state=40001 "
		    "text=\"not at all\"");
	assert_int_equal(run(mysql, insert(name), NULL, 0), 1213);
	assert_string_equal(mysql_sqlstate(mysql), "40001");
	assert_string_equal(mysql_error(mysql), "not at all");
	assert_false(is_there(name));
	/* After the fact: it was executed, and the answer lies. */
	tell(proxy, "clear\nreply sql=INSERT* do error code=1053 then=fin");
	assert_int_equal(run(mysql, insert(name), NULL, 0), 1053);
	assert_true(is_there(name));
	assert_gone(run(mysql, "SELECT 1", NULL, 0));
	mysql_close(mysql);
	remove_name(name);
	proxy_end(proxy);
}

/* ------------------------------------------------------------ connections */

static unsigned int connecting(struct proxy *proxy)
{
	unsigned int number;

	mysql_close(dial(proxy, &number));
	return number;
}

static void connecting_is_refused_in_every_way(void **state)
{
	struct proxy *proxy = new_proxy();
	unsigned int number;

	(void) state;
	tell(proxy, "connect do error code=1040 text=\"Too many connections\"");
	assert_int_equal(connecting(proxy), 1040);
	tell(proxy, "clear\nconnect do drop then=rst");
	number = connecting(proxy); /* before, or after, it is connected */
	assert_true(number == 2002 || number == 2013);
	tell(proxy, "clear\nconnect do drop then=silence");
	assert_int_equal(connecting(proxy), 2013);
	tell(proxy, "clear\nreply command=greeting do drop");
	assert_int_equal(connecting(proxy), 2013);
	tell(proxy, "clear\nreply command=login do error code=1045");
	assert_int_equal(connecting(proxy), 1045);
	tell(proxy, "clear\ndeaf");
	assert_int_equal(connecting(proxy), 2002);
	tell(proxy, "listen");
	assert_int_equal(connecting(proxy), 0);
	proxy_end(proxy);
}

static void the_server_is_switched(void **state)
{
	struct proxy *other = new_proxy();
	struct proxy *proxy = new_proxy();
	MYSQL *before = client(proxy);
	MYSQL *after;
	char words[256];

	(void) state;
	snprintf(words, sizeof(words), "server %s keep", proxy_address(other));
	tell(proxy, words);
	assert_answers(before);
	after = client(proxy);
	assert_answers(after);
	assert_int_equal(proxy_counts(other).connections, 1);
	/* As an act, and without mercy for those who are there. */
	snprintf(words, sizeof(words),
		 "request sql=\"SELECT 'now'\" do switch server=%s",
		 proxy_address(other));
	tell(proxy, words);
	assert_int_equal(run(after, "SELECT 'now'", NULL, 0), 2013);
	assert_gone(run(before, "SELECT 1", NULL, 0));
	mysql_close(before);
	mysql_close(after);
	proxy_end(proxy);
	proxy_end(other);
}

/* Is the connection @id still in the server? */
static uint64_t sessions(struct test_sql *sql, unsigned long long id)
{
	return test_sql_number(sql,
			       "SELECT COUNT(*) FROM "
			       "information_schema.PROCESSLIST WHERE ID = %llu",
			       id);
}

static void the_server_never_hears_of_who_vanished(void **state)
{
	struct test_sql *sql = test_sql_open();
	struct proxy *proxy = new_proxy();
	MYSQL *mysql = client(proxy);
	unsigned long long id = mysql_thread_id(mysql);

	(void) state;
	tell(proxy, "request command=ping do drop then=vanish");
	assert_int_not_equal(mysql_ping(mysql), 0);
	mysql_close(mysql);
	assert_int_equal(sessions(sql, id), 1);
	assert_int_equal(proxy_counts(proxy).links, 1);
	proxy_end(proxy);
	while (sessions(sql, id))
		;
	test_sql_end(sql);
}

static void what_is_frozen_goes_on_when_it_thaws(void **state)
{
	struct proxy *proxy = new_proxy();
	MYSQL *mysql = client(proxy);
	unsigned long heard = proxy_counts(proxy).heard;

	(void) state;
	tell(proxy, "freeze");
	assert_int_equal(mysql_send_query(mysql, "SELECT 9", 8), 0);
	assert_int_equal(proxy_counts(proxy).heard, heard);
	tell(proxy, "thaw");
	assert_int_equal(mysql_read_query_result(mysql), 0);
	mysql_free_result(mysql_store_result(mysql));
	assert_true(proxy_counts(proxy).heard > heard);
	mysql_close(mysql);
	proxy_end(proxy);
}

/* ------------------------------------------------------------------ rules */

/* Which of ten pings are answered with an error: a digit each. */
static void ten(const char *rule, char *pattern)
{
	struct proxy *proxy = new_proxy();
	MYSQL *mysql = client(proxy);

	tell(proxy, rule);
	for (int i = 0; i < 10; i++)
		pattern[i] = mysql_ping(mysql) ? '1' : '0';
	pattern[10] = '\0';
	mysql_close(mysql);
	proxy_end(proxy);
}

static void a_rule_has_its_turn(void **state)
{
	char first[11];
	char second[11];

	(void) state;
	ten("request command=ping do error code=1105", first);
	assert_string_equal(first, "1000000000");
	ten("request command=ping match=3 do error code=1105", first);
	assert_string_equal(first, "0010000000");
	ten("request command=ping match=3 always do error code=1105", first);
	assert_string_equal(first, "0011111111");
	ten("request command=ping match=1 do pass\n"
	    "request command=p* always do error code=1105",
	    first);
	assert_string_equal(first, "0111111111");
	/* The login is the first. */
	ten("request at=3 do error code=1105", first);
	assert_string_equal(first, "0100000000");
	ten("reset\nreply all=2 conn=1 do error code=1105", first);
	assert_string_equal(first, "0100000000");
	ten("request conn=2 always do error code=1105", first);
	assert_string_equal(first, "0000000000");
	ten("request always chance=50 do error code=1105", first);
	ten("seed 7\nrequest always chance=50 do error code=1105", second);
	assert_non_null(strchr(first, '1'));
	assert_non_null(strchr(first, '0'));
	assert_string_equal(first, second);
}

static void what_is_not_understood_is_refused(void **state)
{
	static const char *const lines[] = {
		"nonsense",
		"request",
		"request do",
		"request do explode",
		"request do cut",
		"request do delay",
		"request do drop then=again",
		"request match=0 do drop",
		"request match=x do drop",
		"request chance=101 do drop",
		"request always=1 do drop",
		"request do drop byte=1",
		"request do error",
		"request do error code=1 state=123",
		"reply do hold",
		"connect do dribble ms=1",
		"request do hold then=on",
		"request do switch server=example.org:1",
		"server nowhere",
		"end softly",
		"seed x",
	};
	struct proxy *proxy = new_proxy();

	(void) state;
	for (size_t i = 0; i < TEST_SIZE(lines); i++) {
		char *problem = proxy_tell(proxy, lines[i]);

		if (!problem)
			fail_msg("'%s' was understood", lines[i]);
		free(problem);
	}
	tell(proxy, "# a remark\n\n  request do pass # another\nclear");
	proxy_end(proxy);
}

/* ---------------------------------------------------------------- outside */

static const char *in_tmp(const char *name)
{
	static char paths[3][100];
	static int next;
	const char *base = getenv("TMPDIR");

	snprintf(paths[next], sizeof(paths[0]), "%.60s/%s-%d",
		 base && *base ? base : "/tmp", name, (int) getpid());
	return paths[next++];
}

/* Say @words on the control socket; returns all that comes back until "ok" or
 * an error. */
static void talk(const char *path, const char *words, char *answer, size_t size)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	size_t at = 0;

	snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	assert_int_equal(connect(fd, (struct sockaddr *) &un, sizeof(un)), 0);
	assert_true(send(fd, words, strlen(words), 0) > 0);
	do {
		ssize_t got = recv(fd, answer + at, size - at - 1, 0);

		assert_true(got > 0);
		at += (size_t) got;
		answer[at] = '\0';
	} while (!strstr(answer, "ok\n") && !strstr(answer, "error:"));
	close(fd);
}

static void it_listens_on_sockets_of_both_kinds(void **state)
{
	const char *path = in_tmp("listen");
	const char *control = in_tmp("control");
	struct proxy *proxy = open_proxy(path, control, NULL);
	MYSQL *mysql = client(proxy);
	char answer[512];

	(void) state;
	assert_answers(mysql);
	talk(control, "count\n", answer, sizeof(answer));
	assert_non_null(strstr(answer, "connections=1 "));
	talk(control, "log\n", answer, sizeof(answer));
	assert_non_null(strstr(answer, "1 query SELECT 6 * 7\nok\n"));
	talk(control, "request do fly\n", answer, sizeof(answer));
	assert_string_equal(answer, "error: 'do' needs an act, not 'fly'\n");
	talk(control, "request do error code=1105\n", answer, sizeof(answer));
	assert_int_equal(mysql_ping(mysql) != 0, 1);
	mysql_close(mysql);
	proxy_end(proxy);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_not_equal(access(control, F_OK), 0);
}

static void every_act_is_in_the_history(void **state)
{
	const char *dir = in_tmp("history");
	struct proxy *proxy;
	MYSQL *mysql;
	char path[160];
	char text[2048] = "";
	FILE *file;

	(void) state;
	assert_int_equal(mkdir(dir, 0700), 0);
	proxy = open_proxy(NULL, NULL, dir);
	mysql = client(proxy);
	tell(proxy, "reply sql=\"SELECT 6*\" do drop then=rst\nfreeze\nthaw");
	assert_int_equal(run(mysql, "SELECT 6 * 7", NULL, 0), 2013);
	mysql_close(mysql);
	proxy_end(proxy);
	snprintf(path, sizeof(path), "%s/process-0.history", dir);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	unlink(path);
	rmdir(dir);
	assert_non_null(strstr(text, " fault kind=proxy-freeze target=server"));
	assert_non_null(strstr(text, " heal kind=proxy-freeze target=server"));
	assert_non_null(strstr(text,
			       " fault kind=proxy-drop-reply target=server "
			       "then=rst conn=1 command=query "
			       "sql=SELECT%206%20*%207\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST("commands and their SQL are known", knows_what_passes),
		TEST("large results pass", large_results_pass),
		TEST("a prepared statement is known by its text",
		     prepared_statement_is_known_by_its_text),
		TEST("a delay is waited for", a_delay_is_waited_for),
		TEST("a dropped request is not executed",
		     a_dropped_request_is_not_executed),
		TEST("a request is executed although its reply is dropped",
		     a_request_is_executed_although_its_reply_is_dropped),
		TEST("a held request lands after its client has gone",
		     a_held_request_lands_after_its_client_has_gone),
		TEST("a cut packet never becomes whole",
		     a_cut_packet_never_becomes_whole),
		TEST("a dribbled reply comes byte by byte",
		     a_dribbled_reply_comes_byte_by_byte),
		TEST("garbling follows the seed", garbling_follows_the_seed),
		TEST("a duplicated request is executed twice",
		     a_duplicated_request_is_executed_twice),
		TEST("a forged error is the answer",
		     a_forged_error_is_the_answer),
		TEST("connecting is refused in every way",
		     connecting_is_refused_in_every_way),
		TEST("the server is switched", the_server_is_switched),
		TEST("the server never hears of who vanished",
		     the_server_never_hears_of_who_vanished),
		TEST("what is frozen goes on when it thaws",
		     what_is_frozen_goes_on_when_it_thaws),
		TEST("a rule has its turn", a_rule_has_its_turn),
		TEST("what is not understood is refused",
		     what_is_not_understood_is_refused),
		TEST("it listens on sockets of both kinds",
		     it_listens_on_sockets_of_both_kinds),
		TEST("every act is in the history",
		     every_act_is_in_the_history),
	};

	return test_main(tests);
}
