// SPDX-License-Identifier: MIT
/*
 * The fault proxy understands what passes, its rules have their turn, and it
 * can be talked to from outside.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "proxy_test.h"

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

CASE("commands and their SQL are known")
{
	TEST_PROXY(proxy, px_proxy());
	MYSQL *mysql = px_client(proxy);
	char expected[512];
	char *log;

	px_tell(proxy, "reset");
	px_assert_answers(mysql);
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
}

CASE("large results pass")
{
	TEST_PROXY(proxy, px_proxy());
	MYSQL *mysql = px_client(proxy);
	char value[16];

	assert_int_equal(
	    px_run(mysql, "SELECT REPEAT('x', 3000000)", value, sizeof(value)),
	    0);
	assert_string_equal(value, "xxxxxxxxxxxxxxx");
	px_assert_answers(mysql);
	mysql_close(mysql);
}

CASE("a prepared statement is known by its text")
{
	TEST_PROXY(proxy, px_proxy());
	MYSQL *mysql = px_client(proxy);

	px_tell(proxy,
		"request command=execute sql=\"select * union*\" match=2 "
		"do error code=1205 state=HY000 text=\"the second\"");
	assert_int_equal(run_prepared(mysql, three_rows), 1205);
	assert_int_equal(run_prepared(mysql, three_rows), 0);
	assert_int_equal(proxy_counts(proxy).acts, 1);
	mysql_close(mysql);
}

/* ------------------------------------------------------------------ rules */

/* Which of ten pings are answered with an error: a digit each. */
static void ten(const char *rule, char *pattern)
{
	TEST_PROXY(proxy, px_proxy());
	MYSQL *mysql = px_client(proxy);

	px_tell(proxy, rule);
	for (int i = 0; i < 10; i++)
		pattern[i] = mysql_ping(mysql) ? '1' : '0';
	pattern[10] = '\0';
	mysql_close(mysql);
}

CASE("a rule has its turn")
{
	char first[11];
	char second[11];

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

CASE("what is not understood is refused")
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
	TEST_PROXY(proxy, px_proxy());

	for (size_t i = 0; i < TEST_SIZE(lines); i++) {
		char *problem = proxy_tell(proxy, lines[i]);

		if (!problem)
			fail_msg("'%s' was understood", lines[i]);
		free(problem);
	}
	px_tell(proxy, "# a remark\n\n  request do pass # another\nclear");
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

CASE("it listens on sockets of both kinds")
{
	const char *path = in_tmp("listen");
	const char *control = in_tmp("control");
	struct proxy *proxy = px_proxy_at(path, control, NULL);
	MYSQL *mysql = px_client(proxy);
	char answer[512];

	px_assert_answers(mysql);
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

CASE("every act is in the history")
{
	const char *dir = in_tmp("history");
	struct proxy *proxy;
	MYSQL *mysql;
	char path[160];
	char text[2048] = "";
	FILE *file;

	assert_int_equal(mkdir(dir, 0700), 0);
	proxy = px_proxy_at(NULL, NULL, dir);
	mysql = px_client(proxy);
	px_tell(proxy,
		"reply sql=\"SELECT 6*\" do drop then=rst\nfreeze\nthaw");
	assert_int_equal(px_run(mysql, "SELECT 6 * 7", NULL, 0), 2013);
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

CASE_MAIN(test_main)
