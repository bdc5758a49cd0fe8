/* SPDX-License-Identifier: MIT */
/*
 * Messages, answers and statements of a run.
 *
 * A question has a time limit for its answer. A migration has none, as DDL can
 * take hours.
 *
 * Failure modes: a stdout that cannot be written ends the run, as its reader
 * would take a part for the whole.
 */
#include "migrate/migrate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/report.h"
#include "common/text.h"

#ifndef QUESTION_MS
#define QUESTION_MS 60000
#endif

#define LOST 2013 /* of Connector/C: the connection ended */

/* The most looks for one answer: one that loses to DDL is repeated. */
#define LOOKS_MOST 20

static char *format_text(const char *format, va_list args) RLK_PRINTF(1, 0);

static char *format_text(const char *format, va_list args)
{
	char *text = text_format(format, args);

	if (!text)
		exit(EXIT_USAGE);
	return text;
}

void die(int code, const char *format, ...)
{
	_cleanup_(text_freep) char *text = NULL;
	va_list args;

	va_start(args, format);
	text = format_text(format, args);
	va_end(args);
	report(ROWLOCK_LOG_ERROR, "%s", text);
	exit(code);
}

void put_text(const char *text)
{
	fputs(text, stdout);
	if (fflush(stdout) != 0 || ferror(stdout))
		die(EXIT_USAGE,
		    "cannot write to stdout: is its disk full? What was to be "
		    "shown there is not all");
}

void put(const char *format, ...)
{
	_cleanup_(text_freep) char *text = NULL;
	va_list args;

	va_start(args, format);
	text = format_text(format, args);
	va_end(args);
	text_escape(stdout, text, false);
	put_text("\n");
}

/* The library's advice is for programs that use the tables. */
static void cut_advice(const struct run *run, struct rowlock_errinfo *error)
{
	char *end = strstr(error->message, run->where);

	if (end)
		end[strlen(run->where)] = '\0';
}

static int64_t question_ends(const struct run *run)
{
	return rlk_conn_now(run->conn) + QUESTION_MS + run->ddl_wait_s * 1000;
}

/* Another run makes the views that MySQL opens for an answer: it may have them
 * in another order, and then fails the look. */
static bool is_passed_over(unsigned int number, int *looks)
{
	return number == ERROR_DEADLOCK && ++*looks < LOOKS_MOST;
}

void query(struct run *run, const char *sql, rlk_row_fn fn, void *arg)
{
	const struct rlk_stmt_def def = { "look", sql, true };
	struct rowlock_errinfo error;
	int looks = 0;

	rlk_conn_set_until(run->conn, question_ends(run));
	do
		if (rlk_stmt_each(run->conn, &def, NULL, fn, arg, &error) ==
		    RLK_DONE)
			return;
	while (is_passed_over(error.mysql, &looks));
	cut_advice(run, &error);
	die(EXIT_SERVER, "%s%s; nothing was changed", error.message,
	    rights(error.mysql));
}

static void see_number(const struct rlk_value *columns, void *arg)
{
	*(uint64_t *) arg = columns[0].u64;
}

uint64_t query_number(struct run *run, const char *sql)
{
	uint64_t number = 0;

	query(run, sql, see_number, &number);
	return number;
}

static unsigned int try_sql(struct run *run, const char *sql, int64_t until_ms,
			    struct rowlock_errinfo *ret_error)
{
	enum rlk_fault fault;

	rlk_conn_set_until(run->conn, until_ms);
	fault = rlk_stmt_text(run->conn, sql, ret_error);
	if (fault == RLK_DONE)
		return 0;
	if (fault == RLK_PENDING)
		die(EXIT_SERVER, "no answer in time from %s", run->where);
	cut_advice(run, ret_error);
	return ret_error->mysql ? ret_error->mysql : LOST;
}

unsigned int ask(struct run *run, const char *sql,
		 struct rowlock_errinfo *ret_error)
{
	int64_t until = question_ends(run);
	unsigned int number;
	int looks = 0;

	do
		number = try_sql(run, sql, until, ret_error);
	while (is_passed_over(number, &looks));
	return number;
}

/* A body of a procedure, and some texts, have ';' in them. */
static void print_sql(const char *sql)
{
	if (strchr(sql, ';'))
		printf("DELIMITER //\n%s//\nDELIMITER ;\n", sql);
	else
		printf("%s;\n", sql);
}

unsigned int apply(struct run *run, const char *sql,
		   struct rowlock_errinfo *ret_error)
{
	if (run->mode != MODE_DRY)
		return try_sql(run, sql, RLK_NEVER, ret_error);
	print_sql(sql);
	return 0;
}

void remark(const struct run *run, const char *what, const char *which)
{
	if (run->mode == MODE_DRY)
		printf("\n-- %s%s\n", what, which);
}

const char *rights(unsigned int number)
{
	switch (number) {
	case ERROR_DB_DENIED:
	case ERROR_TABLE_DENIED:
	case ERROR_COLUMN_DENIED:
	case ERROR_NEEDS_PRIVILEGE:
	case ERROR_ROUTINE_DENIED:
		return "; check the database's name, and give the account the "
		       "rights that grants.sql has for rowlock_migrate";
	default:
		return "";
	}
}
