/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_ENDED_H
#define ROWLOCK_TEST_ENDED_H

/* Transactions that have ended in the server, and are open as far as the driver
 * knows: it keeps the flags of the last answer that it has read some in. */

#include <pthread.h>

#include "guarded.h"

enum ending {
	ENDED_BY_ERROR,
	/* The driver forgets the error then, and its flags stay. */
	ENDED_BY_STATEMENT_CLOSED,
	ENDED_BY_RESET,
	ENDINGS,
};

static inline void *wait_for_first_account(void *arg)
{
	MYSQL *other = arg;

	mysql_query(other, "UPDATE " ACCOUNTS " SET balance = 1 WHERE id = 1");
	mysql_thread_end();
	return NULL;
}

/* It has written more, so that the server ends the other transaction. */
static inline MYSQL *begin_with_much(void)
{
	MYSQL *other = connect_to(test_dsn(), 0);

	say(other, "START TRANSACTION");
	for (int i = 10; i < 30; i++) {
		char sql[80];

		snprintf(sql, sizeof(sql),
			 "INSERT INTO " ACCOUNTS " VALUES (%d, 0)", i);
		say(other, sql);
	}
	return other;
}

static inline unsigned int say_prepared(MYSQL *mysql, const char *sql)
{
	MYSQL_STMT *stmt = mysql_stmt_init(mysql);
	unsigned int error;

	assert_int_equal(mysql_stmt_prepare(stmt, sql, strlen(sql)), 0);
	error = mysql_stmt_execute(stmt) ? mysql_stmt_errno(stmt) : 0;
	mysql_stmt_close(stmt);
	return error;
}

static inline void meet_deadlock(MYSQL *mysql, bool prepared)
{
	static const char sql[] =
	    "UPDATE " ACCOUNTS " SET balance = 7 WHERE id = 10";
	MYSQL *other = begin_with_much();
	unsigned int error;
	pthread_t thread;

	say(mysql, "UPDATE " ACCOUNTS " SET balance = 7 WHERE id = 1");
	assert_false(
	    pthread_create(&thread, NULL, wait_for_first_account, other));
	error = prepared ? say_prepared(mysql, sql) : try_to_say(mysql, sql);
	assert_false(pthread_join(thread, NULL));
	assert_int_equal(error, 1213);
	say(other, "ROLLBACK");
	mysql_close(other);
}

/* The transaction that is open on @mysql ends so. */
static inline void end_unnoticed(MYSQL *mysql, enum ending ending)
{
	if (ending == ENDED_BY_RESET)
		assert_false(mysql_reset_connection(mysql));
	else
		meet_deadlock(mysql, ending == ENDED_BY_STATEMENT_CLOSED);
	assert_true(mysql->server_status & SERVER_STATUS_IN_TRANS);
}

#endif
