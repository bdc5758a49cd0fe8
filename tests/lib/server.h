/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_SERVER_H
#define ROWLOCK_TEST_SERVER_H

/*
 * A server of the test's own (tools/sandbox in a temporary directory), for
 * tests that change what belongs to all: kill it, make it read-only, break its
 * tables. Needs mariadbd on this machine; without it the program is skipped.
 */

#include "sql.h"
#include "test.h"

/** Start it and let test_dsn() be its application account, play all cases, stop
 *  it; 77 if there is no mariadbd. For CASE_MAIN(). */
int test_main_own_server(void);

/** The same with one that can have a replica. */
int test_main_own_primary(void);

/** Make and start its replica, once; it stops with the tests. Returns a
 *  connection of its root. */
struct test_sql *test_replica_start(void);

/** The connection string of an account there, as test_server_dsn(). */
void test_replica_dsn(const char *account, char *dsn, size_t size);

/** Until @replica, such a connection, has all that was committed. */
void test_replica_catch_up(struct test_sql *replica);

/** Say which it is, as tools/lib/count-tests reads it. */
void test_tell_own_server(void);

/** Is ROWLOCK_TEST_TLS set? Then every program starts a server of its own, with
 *  a certificate, and verifies that. */
bool test_wants_tls(void);

/** End it with SIGKILL; start it again on the same data. */
void test_server_kill(void);
void test_server_restart(void);

/** Stop it with SIGSTOP: it keeps its connections and answers nobody; let it go
 *  on. */
void test_server_freeze(void);
void test_server_thaw(void);

/** A connection of the server's root, with the tables' database selected. */
struct test_sql *test_server_root(void);

/** The connection string of an account there, as test_server_dsn(). */
void test_replica_dsn(const char *account, char *dsn, size_t size);

/** Until @replica, such a connection, has all that was committed. */
void test_replica_catch_up(struct test_sql *replica);

/** Say which it is, as tools/lib/count-tests reads it. */
void test_tell_own_server(void);

/** Is ROWLOCK_TEST_TLS set? Then every program starts a server of its own, with
 *  a certificate, and verifies that. */
bool test_wants_tls(void);

/** End it with SIGKILL; start it again on the same data. */
void test_server_kill(void);
void test_server_restart(void);

/** Stop it with SIGSTOP: it keeps its connections and answers nobody; let it go
 *  on. */
void test_server_freeze(void);
void test_server_thaw(void);

/** A connection of the server's root, with the tables' database selected. */
struct test_sql *test_server_root(void);

/** The connection string of @account: "--root", "--app", or "" for the one
 *  that may do all in its database. Valid until the program ends. */
const char *test_server_dsn(const char *account);

#endif
