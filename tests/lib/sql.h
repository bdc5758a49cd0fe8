/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_SQL_H
#define ROWLOCK_TEST_SQL_H

/*
 * A connection beside the library, for statements typed by hand: what a
 * program in another language does, and what a look into the tables shows.
 * Every function fails the test if the server refuses.
 */

#include <stdbool.h>
#include <stdint.h>

struct test_sql;

struct test_sql *test_sql_open(void);
void test_sql_end(struct test_sql *sql);

static inline void test_sql_endp(struct test_sql **at)
{
	test_sql_end(*at);
}

/** A declaration of one that ends with its block. */
#define TEST_SQL(sql)                                                          \
	__attribute__((cleanup(test_sql_endp), unused)) struct test_sql *sql = \
	    test_sql_open()

/** Run one statement; returns the number of rows that it changed. */
uint64_t test_sql(struct test_sql *sql, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** The same, but an error is an answer: the server's errno, 0 if none. */
unsigned int test_sql_try(struct test_sql *sql, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** The first column of the first row as a number; 0 if there is no row. */
uint64_t test_sql_number(struct test_sql *sql, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** All rows, all columns, as one text for comparison; free() it. */
char *test_sql_text(struct test_sql *sql, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** A counter of the server, e.g. "Questions". */
uint64_t test_sql_status(struct test_sql *sql, const char *variable);

/** How many connections the account of test_dsn() has that are younger than
 *  this one. Older ones may be of a test before: the server forgets a closed
 *  connection a moment after its client. */
uint64_t test_sql_connections(struct test_sql *sql);

#endif
