// SPDX-License-Identifier: MIT
/*
 * Statements typed by hand, over a plain connection of Connector/C.
 *
 * Open, ask, end. A refusal fails the running test with the server's words,
 * except in test_sql_try(), where it is the answer.
 */
#include "sql.h"

#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

/* As Connector/C asks of a program with connections and threads of its own.
 * With it the process ignores SIGPIPE. */
__attribute__((constructor)) static void init_connector(void)
{
	mysql_library_init(0, NULL, NULL);
}

struct test_sql {
	MYSQL *mysql;
};

struct test_sql *test_sql_open(void)
{
	struct test_sql *sql = calloc(1, sizeof(*sql));

	assert_non_null(sql);
	sql->mysql = mysql_init(NULL);
	assert_non_null(sql->mysql);
	mysql_options(sql->mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	if (!mysql_real_connect(sql->mysql, test_dsn(), NULL, NULL, NULL, 0,
				NULL, 0))
		fail_msg("connect: %s", mysql_error(sql->mysql));
	return sql;
}

void test_sql_end(struct test_sql *sql)
{
	if (!sql)
		return;
	mysql_close(sql->mysql);
	free(sql);
}

__attribute__((format(printf, 2, 0))) static unsigned int run(
    struct test_sql *sql, const char *format, va_list args, char **ret_text)
{
	char *text = NULL;

	assert_true(vasprintf(&text, format, args) >= 0);
	*ret_text = text;
	if (mysql_query(sql->mysql, text))
		return mysql_errno(sql->mysql);
	return 0;
}

__attribute__((format(printf, 2, 0))) static void run_or_fail(
    struct test_sql *sql, const char *format, va_list args)
{
	char *text;

	if (run(sql, format, args, &text))
		fail_msg("%s: %s", text, mysql_error(sql->mysql));
	free(text);
}

/* Read and forget a result, so that the connection can be used again. */
static void drain(struct test_sql *sql)
{
	MYSQL_RES *result = mysql_store_result(sql->mysql);

	if (result)
		mysql_free_result(result);
}

uint64_t test_sql(struct test_sql *sql, const char *format, ...)
{
	uint64_t rows;
	va_list args;

	va_start(args, format);
	run_or_fail(sql, format, args);
	va_end(args);
	rows = mysql_affected_rows(sql->mysql);
	drain(sql);
	return rows;
}

unsigned int test_sql_try(struct test_sql *sql, const char *format, ...)
{
	unsigned int error;
	va_list args;
	char *text;

	va_start(args, format);
	error = run(sql, format, args, &text);
	va_end(args);
	free(text);
	if (!error)
		drain(sql);
	return error;
}

uint64_t test_sql_number(struct test_sql *sql, const char *format, ...)
{
	uint64_t number = 0;
	MYSQL_RES *result;
	MYSQL_ROW row;
	va_list args;

	va_start(args, format);
	run_or_fail(sql, format, args);
	va_end(args);
	result = mysql_store_result(sql->mysql);
	assert_non_null(result);
	row = mysql_fetch_row(result);
	if (row && row[0])
		number = strtoull(row[0], NULL, 10);
	mysql_free_result(result);
	return number;
}

/* All of @result as lines of columns, in memory that the caller frees. */
static char *as_text(MYSQL_RES *result)
{
	unsigned int column;
	size_t size = 0;
	char *text = NULL;
	MYSQL_ROW row;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	while ((row = mysql_fetch_row(result))) {
		for (column = 0; column < mysql_num_fields(result); column++)
			fprintf(out, "%s%s", column ? "\t" : "",
				row[column] ? row[column] : "NULL");
		fputc('\n', out);
	}
	fclose(out);
	return text;
}

char *test_sql_text(struct test_sql *sql, const char *format, ...)
{
	MYSQL_RES *result;
	va_list args;
	char *text;

	va_start(args, format);
	run_or_fail(sql, format, args);
	va_end(args);
	result = mysql_store_result(sql->mysql);
	assert_non_null(result);
	text = as_text(result);
	mysql_free_result(result);
	return text;
}

uint64_t test_sql_status(struct test_sql *sql, const char *variable)
{
	uint64_t number = 0;
	MYSQL_RES *result;
	MYSQL_ROW row;

	if (mysql_query(sql->mysql, "SHOW GLOBAL STATUS"))
		fail_msg("SHOW GLOBAL STATUS: %s", mysql_error(sql->mysql));
	result = mysql_store_result(sql->mysql);
	assert_non_null(result);
	while ((row = mysql_fetch_row(result)))
		if (!strcasecmp(row[0], variable))
			number = strtoull(row[1], NULL, 10);
	mysql_free_result(result);
	return number;
}

uint64_t test_sql_connections(struct test_sql *sql)
{
	return test_sql_number(
	    sql, "SELECT COUNT(*) FROM information_schema.processlist "
		 "WHERE id > CONNECTION_ID() "
		 "AND user = SUBSTRING_INDEX(CURRENT_USER(), '@', 1)");
}
