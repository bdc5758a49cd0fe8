// SPDX-License-Identifier: MIT
/*
 * Odd things that networks and servers do, each with its own test: a request
 * that lands after its client gave up, a beat that is overtaken, another
 * server at the same address, a breaker that vanishes.
 *
 * Two servers: that of ROWLOCK_TEST_DSN, and one of the program's own.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dsn.h"
#include "odd.h"
#include "server.h"
#include "sql.h"
#include "test.h"
#include "timeouts.h"

static char first_dsn[512]; /* the server that others use, too */
static char other_dsn[512]; /* our own */

static struct test_sql *sql_on(const char *dsn)
{
	struct test_sql *sql;

	test_use_dsn(dsn);
	sql = test_sql_open();
	test_use_dsn(first_dsn);
	return sql;
}

/* Somebody who talks to the first server directly. */
struct rival {
	struct rowlock_client *client;
	struct rowlock *lock;
};

static struct rival rival_for(enum rowlock_strategy strategy, const char *name)
{
	struct rival rival = { .client = test_client(60000) };

	rival.lock = test_lock(rival.client, strategy, 0, name);
	return rival;
}

static void rival_end(struct rival *rival)
{
	rowlock_release(rival->lock, NULL);
	test_end(rival->lock, rival->client);
}

/* The other server lets in whom the first does; other_dsn says so. */
static void share_account(void)
{
	struct test_sql *sql = sql_on(test_server_dsn("--root"));
	char user[64], password[128], address[160];
	char *hosts, *host, *rest;

	assert_true(test_dsn_value(first_dsn, "user", user, sizeof(user)));
	assert_true(
	    test_dsn_value(first_dsn, "password", password, sizeof(password)));
	test_sql(sql, "CREATE USER IF NOT EXISTS '%s'@'127.0.0.1'", user);
	hosts = test_sql_text(sql,
			      "SELECT Host FROM mysql.user WHERE User = "
			      "'%s'",
			      user);
	for (rest = hosts; (host = strsep(&rest, "\n"));) {
		if (!*host)
			continue;
		test_sql(sql, "ALTER USER '%s'@'%s' IDENTIFIED BY '%s'", user,
			 host, password);
		test_sql(sql, "GRANT ALL ON rowlock.* TO '%s'@'%s'", user,
			 host);
	}
	free(hosts);
	test_sql_end(sql);
	proxy_server_of(other_dsn, address, sizeof(address));
	rest = strrchr(address, ':');
	assert_non_null(rest);
	*rest++ = '\0';
	snprintf(other_dsn, sizeof(other_dsn),
		 "host=%s;port=%s;user=%s;password=%s;database=rowlock",
		 address, rest, user, password);
}

CASE("there are two servers")
{
	snprintf(other_dsn, sizeof(other_dsn), "%s", test_dsn());
	test_use_dsn(NULL);
	snprintf(first_dsn, sizeof(first_dsn), "%s", test_dsn());
	test_use_dsn(first_dsn);
	assert_string_not_equal(first_dsn, other_dsn);
	share_account();
}

/* ------------------------------------------------------------- zombies */

/* The INSERT is on its way when its client gives up; then it arrives. */
CASE("a request that lands after its client gave up makes nobody a holder")
{
	const char *name = test_name("zombie");
	TEST_PROXY(proxy, proxy_to(first_dsn));
	struct rowlock_client *client =
	    client_by(proxy, first_dsn, 60000, test_timeout_ms(300));
	struct rowlock *lock = test_lock(client, ROWLOCK_LEASE, 0, name);
	struct rival rival = rival_for(ROWLOCK_LEASE, name);

	/* Nothing gets through until it has given up. */
	tell(proxy, "request command=execute sql=\"*INSERT INTO business_lease*"
		    "\" do hold then=silence\n"
		    "connect always do drop then=rst");
	assert_int_not_equal(rowlock_acquire(lock, 300, &err), 0);
	assert_int_equal(rowlock_held(lock), 0);
	tell(proxy, "deliver\nclear");
	/* It lands or not; the client takes it back, and others get it. */
	assert_ok(
	    rowlock_acquire(rival.lock, (uint64_t) test_patience_ms(), &err));
	assert_int_equal(rowlock_held(lock), 0);
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_EBUSY, &err);
	assert_ok(rowlock_release(rival.lock, &err));
	assert_ok(rowlock_acquire(lock, (uint64_t) test_patience_ms(), &err));
	assert_ok(rowlock_release(lock, &err));
	test_end(lock, client);
	rival_end(&rival);
}

static uint64_t kills(struct test_sql *sql)
{
	return test_sql_number(sql, "SELECT VARIABLE_VALUE FROM "
				    "information_schema.GLOBAL_STATUS "
				    "WHERE VARIABLE_NAME = 'COM_KILL'");
}

/* The breaker's KILL is on its way when the breaker gives up. Meanwhile the
 * hold ends, and its connection locks another name; then the KILL arrives. */
CASE("a KILL that lands after its breaker gave up ends no other hold")
{
	const char *root = test_server_dsn("--root");
	struct rowlock_client_options options = test_client_options(60000);
	const char *broken = test_name("broken");
	struct proxy *proxy = proxy_to(root);
	struct rowlock_client *breaker =
	    client_by(proxy, root, 60000, test_timeout_ms(300));
	struct test_sql *sql = test_server_root();
	struct rowlock_client *client;
	struct rowlock *lock, *other;
	uint64_t before, began;

	options.dsn = root;
	client = test_client_with(&options);
	lock = test_lock(client, ROWLOCK_ROW, 0, broken);
	other = test_lock(client, ROWLOCK_ROW, 0, test_name("other"));
	assert_ok(rowlock_acquire(lock, 0, &err));
	tell(proxy, "request sql=\"*KILL CONNECTION*\" do hold then=fin");
	assert_code(rowlock_break(breaker, ROWLOCK_ROW, broken, &err),
		    ROWLOCK_ECONNECT, &err);
	assert_ok(rowlock_release(lock, &err));
	assert_ok(rowlock_acquire(other, 0, &err));
	before = kills(sql);
	tell(proxy, "deliver");
	began = test_now_ns();
	while (kills(sql) == before)
		test_keep_waiting(began,
				  "the server has got the late KILL: "
				  "it counts %llu, as before",
				  (unsigned long long) before);
	assert_ok(rowlock_verify(other, &err));
	assert_ok(rowlock_release(other, &err));
	test_lock_end(lock);
	test_lock_end(other);
	test_client_end(client);
	test_client_end(breaker);
	test_sql_end(sql);
	proxy_end(proxy);
}

/* The breaker's other connection waits for the row, for a second. */
CASE("a KILL that comes when its breaker waits no more is no break")
{
	const char *root = test_server_dsn("--root");
	struct rowlock_client_options options = test_client_options(60000);
	const char *name = test_name("unbroken");
	TEST_PROXY(proxy, proxy_to(root));
	TEST_CLIENT(breaker,
		    client_by(proxy, root, 60000, test_timeout_ms(10000)));

	options.dsn = root;
	TEST_CLIENT(client, test_client_with(&options));
	TEST_LOCK(lock, test_lock(client, ROWLOCK_ROW, 0, name));

	assert_ok(rowlock_acquire(lock, 0, &err));
	tell(proxy, "request sql=\"*KILL CONNECTION*\" do delay ms=1500");
	assert_code(rowlock_break(breaker, ROWLOCK_ROW, name, &err),
		    ROWLOCK_EDB, &err);
	assert_ok(rowlock_verify(lock, &err));
	assert_ok(rowlock_break(breaker, ROWLOCK_ROW, name, &err));
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
}

/* ----------------------------------------------------- half-open: rows */

/* Nothing gets through on its connection any more, nor that it was closed. The
 * idle bound is far away: only its client can end the session. */
CASE("a row on a silent connection is free at once")
{
	const char *name = test_name("half-open");
	struct proxy *proxy = proxy_to(first_dsn);
	/* An hour: longer than any patience. */
	struct rowlock_client *client =
	    client_by(proxy, first_dsn, 3600000, test_timeout_ms(300));
	struct rowlock *lock = test_lock(client, ROWLOCK_ROW, 0, name);
	struct rival rival = rival_for(ROWLOCK_ROW, name);

	assert_ok(rowlock_acquire(lock, 0, &err));
	tell(proxy, "request sql=\"COMMIT\" do drop then=vanish");
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	assert_ok(
	    rowlock_acquire(rival.lock, (uint64_t) test_patience_ms(), &err));
	test_end(lock, client);
	rival_end(&rival);
	proxy_end(proxy);
}

/* ---------------------------------------------------------------- beats */

static uint64_t expires_us(struct test_sql *sql, uint64_t session)
{
	return test_sql_number(sql,
			       "SELECT TIMESTAMPDIFF(MICROSECOND, "
			       "'1970-01-01', expires_at) FROM lease_session "
			       "WHERE id = %llu",
			       (unsigned long long) session);
}

static uint64_t session_of(struct test_sql *sql, const char *name)
{
	return test_sql_number(
	    sql, "SELECT session FROM business_lease WHERE name = '%s'", name);
}

static void await_acts(struct proxy *proxy, unsigned long acts)
{
	uint64_t since = test_now_ns();

	while (!proxy_await_acts(proxy, acts, 1000))
		test_keep_waiting(since, "%lu acts of the proxy: there are %lu",
				  acts, proxy_counts(proxy).acts);
}

/* One beat waits in the server for the session's row, its client gives it up
 * and beats on the other connection; the overtaken one executes last. */
CASE("a beat that was overtaken shortens nothing")
{
	const char *name = test_name("overtaken");
	struct proxy *proxy = proxy_to(first_dsn);
	struct rowlock_client *client = client_by(
	    proxy, first_dsn, test_ttl_ms(3000), test_timeout_ms(5000));
	struct rowlock *lock = test_lock(client, ROWLOCK_LEASE, 0, name);
	struct test_sql *sql = sql_on(first_dsn);
	uint64_t session, before;

	assert_ok(rowlock_acquire(lock, 0, &err));
	session = session_of(sql, name);
	/* The first is held back; the next two pass it. */
	tell(proxy, "reset\n"
		    "request command=query sql=\"UPDATE lease_session*\" do "
		    "hold then=silence\n"
		    "reply command=query sql=\"UPDATE lease_session*\" "
		    "always do pass");
	await_acts(proxy, 3);
	before = expires_us(sql, session);
	tell(proxy, "deliver");
	/* It has been executed when its link is gone: only a live one's reply
	 * would be an act. Two more beats pass meanwhile. */
	await_acts(proxy, 5);
	assert_true(expires_us(sql, session) >= before);
	assert_int_equal(rowlock_held(lock), 1);
	assert_ok(rowlock_verify(lock, &err));
	assert_ok(rowlock_release(lock, &err));
	test_end(lock, client);
	test_sql_end(sql);
	proxy_end(proxy);
}

/* -------------------------------------------------------- another server */

/* Does @dsn's server know a live lease of this name? */
static bool is_leased(const char *dsn, const char *name)
{
	struct test_sql *sql = sql_on(dsn);
	uint64_t count = test_sql_number(
	    sql,
	    "SELECT COUNT(*) FROM business_lease l JOIN lease_session s ON "
	    "s.id = l.session WHERE l.name = '%s'",
	    name);

	test_sql_end(sql);
	return count > 0;
}

/* Let the address be the other server's; @keep: old connections live on. */
static void switch_server(struct proxy *proxy, bool keep)
{
	char server[160];

	proxy_server_of(other_dsn, server, sizeof(server));
	tell(proxy, "server %s%s", server, keep ? " keep" : "");
}

/* As after a failover that lost everything: the connections break, and the
 * server behind the address is one that has never heard of us. */
CASE("a lease is lost to a server that does not know it")
{
	TEST_EVENT(lost);
	const char *name = test_name("failover");
	TEST_PROXY(proxy, proxy_to(first_dsn));
	TEST_CLIENT(client, client_by(proxy, first_dsn, test_ttl_ms(3000),
				      test_timeout_ms(5000)));
	TEST_LOCK(lock, test_lock(client, ROWLOCK_LEASE, 0, name));

	rowlock_on_lost(lock, test_event_note, &lost);
	assert_ok(rowlock_acquire(lock, 0, &err));
	switch_server(proxy, false);
	assert_event(&lost, "the lost callback of '%s': held is %d", name,
		     rowlock_held(lock));
	assert_int_equal(rowlock_held(lock), 0);
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	/* And goes on with that one. */
	assert_ok(rowlock_acquire(lock, (uint64_t) test_patience_ms(), &err));
	assert_true(is_leased(other_dsn, name));
	assert_ok(rowlock_release(lock, &err));
}

/* A proxy, or a floating address, leads new connections elsewhere while old
 * ones live on. A lease is never half here and half there: a session that
 * beats on one server keeps no lease alive on the other. */
CASE("a hold is never spread over two servers")
{
	const char *name = test_name("spread");
	struct proxy *proxy = proxy_to(first_dsn);
	struct rowlock_client *client = client_by(
	    proxy, first_dsn, test_ttl_ms(3000), test_timeout_ms(2000));
	struct rowlock *first =
	    test_lock(client, ROWLOCK_LEASE, 0, test_name("first"));
	struct rowlock *lock = test_lock(client, ROWLOCK_LEASE, 0, name);
	struct rowlock_client_options options = test_client_options(60000);
	struct rowlock_client *rival_client;
	struct rowlock *rival;
	int code;

	/* The session is on the first server, and beats there. */
	assert_ok(rowlock_acquire(first, 0, &err));
	switch_server(proxy, true);
	/* The connections of acquire are gone, the keeper's are not. */
	tell(proxy, "request sql=\"*INSERT INTO business_lease*\" do drop "
		    "then=rst");
	code = rowlock_acquire(lock, 2000, &err);
	print_message("# acquire after the switch: %d %s\n", code,
		      code ? err.message : "");
	options.dsn = other_dsn;
	rival_client = test_client_with(&options);
	rival = test_lock(rival_client, ROWLOCK_LEASE, 0, name);
	if (code == 0 && rowlock_held(lock) &&
	    rowlock_acquire(rival, 0, &err) == 0) {
		if (rowlock_held(lock))
			fail_msg("two have it: one of them by a session that "
				 "beats on another server");
		rowlock_release(rival, NULL);
	}
	rowlock_release(lock, NULL);
	rowlock_release(first, NULL);
	test_end(rival, rival_client);
	test_lock_end(lock);
	test_lock_end(first);
	test_client_end(client);
	proxy_end(proxy);
}

/* --------------------------------------------------------------- breaks */

/* The host of who breaks a lease vanishes in the middle: the holder's session
 * must go on beating, or all its leases would be lost. */
CASE("a breaker that vanishes holds nobody up")
{
	const char *name = test_name("broken");
	const char *kept = test_name("kept");
	struct proxy *proxy = proxy_to(first_dsn);
	struct rowlock_client *breaker =
	    client_by(proxy, first_dsn, 60000, test_timeout_ms(300));
	struct rival holder = rival_for(ROWLOCK_LEASE, name);
	struct rowlock *other =
	    test_lock(holder.client, ROWLOCK_LEASE, 0, kept);
	struct test_sql *sql = sql_on(first_dsn);

	assert_ok(rowlock_acquire(holder.lock, 0, &err));
	assert_ok(rowlock_acquire(other, 0, &err));
	/* After the first write that succeeds. */
	tell(proxy, "reply command=query sql=\"UPDATE *\" do drop "
		    "then=vanish\n"
		    "reply command=query sql=\"DELETE *\" do drop "
		    "then=vanish");
	assert_int_not_equal(rowlock_break(breaker, ROWLOCK_LEASE, name, &err),
			     0);
	/* Free, or a wait that fails at once. */
	test_sql(sql, "SET SESSION innodb_lock_wait_timeout = 1");
	assert_int_equal(
	    test_sql_try(sql,
			 "UPDATE lease_session SET beat = beat + 1 WHERE id = "
			 "%llu",
			 (unsigned long long) session_of(sql, kept)),
	    0);
	assert_ok(rowlock_verify(other, &err));
	assert_ok(rowlock_release(other, &err));
	test_end(other, breaker);
	rival_end(&holder);
	test_sql_end(sql);
	proxy_end(proxy);
}

int main(void)
{
	if (!test_dsn())
		return test_skip_all("needs a server: ROWLOCK_TEST_DSN");
	return test_main_own_server();
}
