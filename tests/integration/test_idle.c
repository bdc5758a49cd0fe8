/* SPDX-License-Identifier: MIT */
/*
 * What a client costs the server while it does nothing: thousands of them share
 * max_connections and max_prepared_stmt_count with everybody else.
 */
#include <stdio.h>

#include "server.h"
#include "test.h"

#define CLIENTS 10
#define BEATS 3

/* The least that a client's session has beaten. */
static uint64_t beats(struct test_sql *sql)
{
	return test_sql_number(sql,
			       "SELECT IF(COUNT(*) = %d, MIN(beat), 0) "
			       "FROM lease_session",
			       CLIENTS);
}

/* Each has had a lease once. */
CASE("an idle client has few statements and connections")
{
	struct test_sql *root = test_server_root();
	struct rowlock_client *clients[CLIENTS];
	uint64_t since, statements, connections;

	for (int i = 0; i < CLIENTS; i++) {
		char name[40];

		snprintf(name, sizeof(name), "%s-%d", test_name("idle"), i);
		clients[i] = test_client(2000);
		TEST_LOCK(lock, test_lock(clients[i], ROWLOCK_LEASE, 0, name));
		assert_ok(rowlock_acquire(lock, test_patience_ms(), &err));
		assert_ok(rowlock_release(lock, &err));
	}
	since = test_now_ns();
	while (beats(root) < BEATS)
		test_keep_waiting(since, "%d beats of each client", BEATS);
	statements = test_sql_status(root, "Prepared_stmt_count");
	connections = test_sql_status(root, "Threads_connected") - 1;
	test_figure((double) statements / CLIENTS, "",
		    "statements prepared per idle client");
	test_figure((double) connections / CLIENTS, "",
		    "connections per idle client");
	/* Acquire, release. One may have looked twice. */
	assert_true(statements <= 2 * CLIENTS + 3);
	/* Two that beat, the commit connection. */
	assert_true(connections <= 3 * CLIENTS + 3);
	for (int i = 0; i < CLIENTS; i++)
		test_client_end(clients[i]);
	test_sql_end(root);
}

CASE_MAIN(test_main_own_server)
