/* SPDX-License-Identifier: MIT */
/*
 * Connector/C copies what it is told of server and account, and does not look
 * whether there was memory for it: without a host it would go to the local
 * server, without a user to another account. The dynamic linker gives it this
 * program's strdup() instead of libc's.
 */
#include "db/connect.h"
#include <errmsg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db_test.h"

/* Far more than are made. */
#define MOST 100

/* The copy that fails, counted down; 0: none does any more. */
static _Atomic unsigned int countdown;
static _Atomic unsigned int failed;

/* Only of what is said there: it falls over without others. */
static bool is_said(const char *text)
{
	const char *at = *text ? strstr(db_dsn(), text) : NULL;
	char end = at ? at[strlen(text)] : 'x';

	return at && at > db_dsn() && at[-1] == '=' &&
	       (end == ';' || end == '\0');
}

char *strdup(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy;

	if (countdown && is_said(text) && --countdown == 0) {
		failed++;
		return NULL;
	}
	copy = malloc(size);
	if (copy)
		memcpy(copy, text, size);
	return copy;
}

static int open_once(const struct rlk_conn_target *target, unsigned int number,
		     struct rowlock_errinfo *error)
{
	struct rlk_conn *conn = NULL;
	int code;

	*error = (struct rowlock_errinfo){ 0 };
	failed = 0;
	countdown = number;
	code = rlk_conn_open(target, &db_lease, db_in(test_patience_ms()),
			     &conn, error);
	countdown = 0;
	assert_int_equal(code != 0, conn == NULL);
	rlk_conn_close(conn);
	return code;
}

/* Each copy fails once: the connection is right, or there is none and the
 * message says why. */
static void try_each(const struct rlk_conn_target *target)
{
	struct rowlock_errinfo error;
	unsigned int number = 0;
	unsigned int refused = 0;

	assert_int_equal(open_once(target, 0, &error), 0);
	do {
		int code = open_once(target, ++number, &error);

		assert_true(number < MOST);
		/* Without the CA no server is believed. */
		if (code && code != ROWLOCK_ENOMEM &&
		    error.mysql != CR_SSL_CONNECTION_ERROR)
			fail_msg("copy %u: %d (%s)", number, code,
				 error.message);
		refused += code != 0;
	} while (failed);
	print_message("# %u copies, %u refusals\n", number - 1, refused);
	assert_true(refused >= 5); /* host, port or socket, account, database */
}

CASE("a connection string that is half copied leads nowhere")
{
	const struct rlk_conn_target target = db_target(NULL);

	try_each(&target);
}

CASE("an option file that is half copied leads nowhere")
{
	struct rlk_conn_target target = db_target(NULL);
	char path[] = "/tmp/rowlock-copies.XXXXXX";
	int fd = mkstemp(path);
	char text[600];
	int length;

	assert_true(fd >= 0);
	length = snprintf(text, sizeof(text), "[rowlock]\nconnection=%s\n",
			  db_dsn());
	assert_true(length > 0 && length < (int) sizeof(text));
	assert_int_equal(write(fd, text, (size_t) length), length);
	close(fd);
	target.sources =
	    (struct rlk_sources){ .file = path, .group = "rowlock" };
	try_each(&target);
	unlink(path);
}

CASE_MAIN(db_main)
