/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SQL_H
#define BENCH_SQL_H

/*
 * Plain, blocking Connector/C, for the systems that are written by hand. All of
 * it ends the process if the server says no.
 */

#include <mysql.h>
#include <stdbool.h>

/** A connection with this, as SQL, said on it first. */
MYSQL *bench_sql_open(const char *dsn, const char *first);

void bench_sql(MYSQL *mysql, const char *text);

/** Does this query have a row? */
bool bench_sql_any(MYSQL *mysql, const char *text);

MYSQL_STMT *bench_sql_prepare(MYSQL *mysql, const char *text);

__attribute__((noreturn)) void bench_sql_die(MYSQL_STMT *statement);

/** A parameter or column of so many bytes at @buffer. */
MYSQL_BIND bench_sql_text(const char *buffer, unsigned long *length);
MYSQL_BIND bench_sql_number(unsigned long long *number);

void bench_sql_bind(MYSQL_STMT *statement, MYSQL_BIND *parameters);
void bench_sql_bind_result(MYSQL_STMT *statement, MYSQL_BIND *columns);

#endif
