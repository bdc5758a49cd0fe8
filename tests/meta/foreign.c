/* SPDX-License-Identifier: MIT */
/*
 * Somebody else's program: C99 or C++11, knows rowlock by pkg-config only. It
 * asks for what needs no server, and takes a lock if there is one (77 if not).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rowlock.h>

static int take_a_lock(struct rowlock_client *client)
{
	struct rowlock_errinfo err;
	struct rowlock *lock = NULL;

	if (rowlock_new(client, "foreign program", NULL, &lock, &err) ||
	    rowlock_acquire(lock, ROWLOCK_FOREVER, &err) ||
	    rowlock_release(lock, &err) || rowlock_try_free(lock, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	return 0;
}

int main(void)
{
	struct rowlock_client_options options = ROWLOCK_CLIENT_OPTIONS_DEFAULT;
	struct rowlock_client *client = NULL;
	struct rowlock_errinfo err;
	int failed;

	if (strcmp(rowlock_version(), ROWLOCK_VERSION) != 0)
		return 1;
	options.dsn = getenv("ROWLOCK_TEST_DSN");
	if (!options.dsn || !*options.dsn)
		options.dsn = getenv("ROWLOCK_DSN");
	if (!options.dsn || !*options.dsn)
		return 77;
	/* The most, for a busy machine. */
	options.connect_timeout_ms = 60000;
	options.call_timeout_ms = 60000;
	if (rowlock_client_new(&options, &client, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	failed = take_a_lock(client);
	return rowlock_client_try_free(client, &err) || failed;
}
