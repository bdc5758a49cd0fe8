/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_GOES_ON_H
#define ROWLOCK_TEST_GOES_ON_H

/*
 * What comes after a transaction whose end was in doubt. The first one after it
 * asks the server for what it does not know; the next ones go by what was
 * learned then, so that a slip shows in the second or third.
 */

#include <mysql.h>

#include <rowlock/mysql.h>

#include "dsn.h"
#include "test.h"

/** Three more transactions under @lock, which is held, are committed. On a
 *  connection of their own, straight to the server of test_dsn(). */
static inline void assert_goes_on(struct rowlock *lock)
{
	MYSQL *mysql = mysql_init(NULL);

	assert_non_null(mysql);
	if (!mysql_real_connect(mysql, test_dsn(), NULL, NULL, NULL, 0, NULL,
				CLIENT_MULTI_STATEMENTS))
		fail_msg("connect: %s", mysql_error(mysql));
	for (int i = 0; i < 3; i++) {
		assert_ok(rowlock_begin(lock, mysql, 0, &err));
		assert_int_equal(mysql_query(mysql, "DO 1"), 0);
		assert_ok(rowlock_commit(lock, mysql, &err));
	}
	mysql_close(mysql);
	assert_ok(rowlock_verify(lock, &err));
}

#endif
