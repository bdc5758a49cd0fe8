// SPDX-License-Identifier: MIT
/* Plain, blocking Connector/C: as few calls as it can be done with. */
#include "sql.h"

#include <string.h>

#include "bench.h"

MYSQL *bench_sql_open(const char *dsn, const char *first)
{
	MYSQL *mysql = mysql_init(NULL);

	if (!mysql)
		bench_die("out of memory");
	mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	/* A host with ';' in it is a connection string. */
	if (!mysql_real_connect(mysql, dsn, NULL, NULL, NULL, 0, NULL,
				CLIENT_MULTI_STATEMENTS))
		bench_die("connect: %s", mysql_error(mysql));
	if (first)
		bench_sql(mysql, first);
	return mysql;
}

void bench_sql(MYSQL *mysql, const char *text)
{
	if (mysql_real_query(mysql, text, strlen(text)))
		bench_die("%s: %s", text, mysql_error(mysql));
}

bool bench_sql_any(MYSQL *mysql, const char *text)
{
	MYSQL_RES *result;
	bool any;

	bench_sql(mysql, text);
	result = mysql_store_result(mysql);
	if (!result)
		bench_die("%s: %s", text, mysql_error(mysql));
	any = mysql_num_rows(result) > 0;
	mysql_free_result(result);
	return any;
}

MYSQL_STMT *bench_sql_prepare(MYSQL *mysql, const char *text)
{
	MYSQL_STMT *statement = mysql_stmt_init(mysql);

	if (!statement || mysql_stmt_prepare(statement, text, strlen(text)))
		bench_die("%s: %s", text, mysql_error(mysql));
	return statement;
}

void bench_sql_die(MYSQL_STMT *statement)
{
	bench_die("execute: %s", mysql_stmt_error(statement));
}

MYSQL_BIND bench_sql_text(const char *buffer, unsigned long *length)
{
	MYSQL_BIND bind = { 0 };

	bind.buffer_type = MYSQL_TYPE_STRING;
	bind.buffer = (void *) (uintptr_t) buffer;
	bind.buffer_length = *length;
	bind.length = length;
	return bind;
}

MYSQL_BIND bench_sql_number(unsigned long long *number)
{
	MYSQL_BIND bind = { 0 };

	bind.buffer_type = MYSQL_TYPE_LONGLONG;
	bind.buffer = number;
	bind.is_unsigned = 1;
	return bind;
}

void bench_sql_bind(MYSQL_STMT *statement, MYSQL_BIND *parameters)
{
	if (mysql_stmt_bind_param(statement, parameters))
		bench_sql_die(statement);
}

void bench_sql_bind_result(MYSQL_STMT *statement, MYSQL_BIND *columns)
{
	if (mysql_stmt_bind_result(statement, columns))
		bench_sql_die(statement);
}
