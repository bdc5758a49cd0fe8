/* SPDX-License-Identifier: MIT */
/*
 * Transactions that are tied to a lock, and a server that is not the lock's,
 * does not let the application do what it needs, or refuses to roll back.
 */
#define ACCOUNTS "guard_server_test"
#include "guarded.h"

#include <stdio.h>

#include "dsn.h"
#include "proxy_case.h"
#include "server.h"

/* The server that all tests are given, while test_dsn() is a private one. */
static const char *given_dsn(void)
{
	const char *dsn = getenv("ROWLOCK_TEST_DSN");

	return dsn && *dsn ? dsn : getenv("ROWLOCK_DSN");
}

/* A connection to the lock's server, of an account that may change the data,
 * and to business_lease has @rights. */
static MYSQL *connect_with(const struct app *app, const char *rights)
{
	struct test_sql *root = test_server_root();
	MYSQL *mysql = mysql_init(NULL);

	test_sql(root, "CREATE OR REPLACE USER few IDENTIFIED BY 'few'");
	test_sql(root, "GRANT SELECT, UPDATE ON %s TO few", ACCOUNTS);
	if (*rights)
		test_sql(root, "GRANT %s ON business_lease TO few", rights);
	test_sql_end(root);
	if (!mysql_real_connect(mysql, app->mysql->host, "few", "few",
				app->mysql->db, app->mysql->port, NULL,
				CLIENT_MULTI_STATEMENTS))
		fail_msg("connect: %s", mysql_error(mysql));
	return mysql;
}

/* Nothing is open on @mysql, and it commits by itself. */
static void assert_nothing_begun(MYSQL *mysql)
{
	assert_int_equal(number(mysql, "SELECT @@SESSION.autocommit"), 1);
	assert_false(mysql->server_status & SERVER_STATUS_IN_TRANS);
}

/* Where the lock's lease is as it is there: as a replica has it. */
static void copy_lease(const struct app *app, bool there)
{
	struct test_sql *sql;
	char *columns =
	    test_sql_text(app->sql,
			  "SELECT CONCAT('''', name, ''', 0, ', session, ', ', "
			  "attempt, ', ', guards) FROM business_lease WHERE "
			  "name = '%s'",
			  app->name);

	test_use_dsn(given_dsn());
	sql = test_sql_open();
	test_use_dsn(test_server_dsn(""));
	if (there)
		test_sql(sql,
			 "INSERT INTO business_lease (name, slot, session, "
			 "attempt, guards, acquired_at) VALUES (%s, "
			 "UTC_TIMESTAMP(6))",
			 columns);
	else
		test_sql(sql, "DELETE FROM business_lease WHERE name = '%s'",
			 app->name);
	free(columns);
	test_sql_end(sql);
}

/* Also one that has a copy of the row, as a replica has. */
GUARD("another server is refused")
{
	const struct app *app = *state;
	MYSQL *other;

	if (!given_dsn())
		skip();
	other = connect_to(given_dsn(), CLIENT_MULTI_STATEMENTS);
	assert_code(rowlock_begin(app->lock, other, 0, &err), ROWLOCK_EINVAL,
		    &err);
	assert_non_null(strstr(err.message, "another server"));
	assert_nothing_begun(other);
	copy_lease(app, true);
	assert_code(rowlock_begin(app->lock, other, 0, &err), ROWLOCK_EINVAL,
		    &err);
	assert_nothing_begun(other);
	copy_lease(app, false);
	mysql_close(other);
	assert_ok(rowlock_verify(app->lock, &err));
}

/* The application closes its connection and opens another one, which gets the
 * MYSQL of the first, and its number. */
GUARD("a server in another's place commits nothing")
{
	const struct app *app = *state;
	unsigned long id;
	MYSQL mysql;

	if (!given_dsn())
		skip();
	assert_non_null(mysql_init(&mysql));
	assert_non_null(mysql_real_connect(&mysql, test_dsn(), NULL, NULL, NULL,
					   0, NULL, CLIENT_MULTI_STATEMENTS));
	id = mysql.thread_id;
	assert_ok(rowlock_begin(app->lock, &mysql, 0, &err));
	assert_ok(rowlock_commit(app->lock, &mysql, &err));
	mysql_close(&mysql);
	assert_non_null(mysql_init(&mysql));
	assert_non_null(mysql_real_connect(&mysql, given_dsn(), NULL, NULL,
					   NULL, 0, NULL,
					   CLIENT_MULTI_STATEMENTS));
	mysql.thread_id = id;
	copy_lease(app, true);
	assert_ok(rowlock_begin(app->lock, &mysql, 0, &err));
	assert_code(rowlock_commit(app->lock, &mysql, &err), ROWLOCK_EBROKEN,
		    &err);
	assert_non_null(strstr(err.message, "another server"));
	assert_nothing_begun(&mysql);
	/* By now it is asked. */
	assert_code(rowlock_begin(app->lock, &mysql, 0, &err), ROWLOCK_EINVAL,
		    &err);
	assert_nothing_begun(&mysql);
	copy_lease(app, false);
	mysql_close(&mysql);
	assert_ok(rowlock_verify(app->lock, &err));
}

GUARD("an account without the right is told")
{
	const struct app *app = *state;
	MYSQL *mysql = connect_with(app, "");

	assert_code(rowlock_begin(app->lock, mysql, 0, &err), ROWLOCK_EAUTH,
		    &err);
	assert_nothing_begun(mysql);
	mysql_close(mysql);
	mysql = connect_with(app, "SELECT");
	assert_ok(rowlock_begin(app->lock, mysql, 0, &err));
	say(mysql, "UPDATE " ACCOUNTS " SET balance = 0");
	assert_code(rowlock_commit(app->lock, mysql, &err), ROWLOCK_EAUTH,
		    &err);
	assert_nothing_begun(mysql);
	assert_balance(app, 100);
	mysql_close(mysql);
	mysql = connect_with(app, "SELECT, UPDATE");
	assert_ok(rowlock_begin(app->lock, mysql, 0, &err));
	say(mysql, "UPDATE " ACCOUNTS " SET balance = 7");
	assert_ok(rowlock_commit(app->lock, mysql, &err));
	assert_balance(app, 7);
	/* To give the lock back takes no other right. */
	assert_ok(rowlock_begin(app->lock, mysql, 0, &err));
	say(mysql, "UPDATE " ACCOUNTS " SET balance = 8");
	assert_ok(rowlock_commit_release(app->lock, mysql, &err));
	assert_balance(app, 8);
	mysql_close(mysql);
}

/* Whose database is another one than the lock's, and has data of its own. */
static MYSQL *connect_beside(const struct app *app)
{
	struct test_sql *root = test_server_root();
	MYSQL *mysql = mysql_init(NULL);
	char text[4096];

	test_sql(root, "CREATE DATABASE beside");
	test_sql(root, "USE beside");
	read_sql("fence.sql", text, sizeof(text));
	test_sql(root, "%s", text);
	test_sql(root, "CREATE TABLE ours (n INT) ENGINE=InnoDB");
	test_sql(root, "INSERT INTO ours VALUES (1)");
	test_sql(root, "CREATE OR REPLACE USER far IDENTIFIED BY 'far'");
	test_sql(root, "GRANT SELECT, UPDATE ON beside.ours TO far");
	test_sql_end(root);
	if (!mysql_real_connect(mysql, app->mysql->host, "far", "far", "beside",
				app->mysql->port, NULL,
				CLIENT_MULTI_STATEMENTS))
		fail_msg("connect: %s", mysql_error(mysql));
	return mysql;
}

/* To the lock's tables. */
static void grant_beside(const struct app *app)
{
	static const struct {
		const char *rights;
		const char *table;
	} grants[] = {
		{ "SELECT, UPDATE, DELETE", "business_lease" },
		{ "SELECT, UPDATE", "business_lock" },
		{ "SELECT, INSERT, UPDATE", "lock_token" },
		{ "SELECT, UPDATE", "lock_token_floor" },
	};
	struct test_sql *root = test_server_root();

	for (size_t i = 0; i < TEST_SIZE(grants); i++)
		test_sql(root, "GRANT %s ON %s.%s TO far", grants[i].rights,
			 app->mysql->db, grants[i].table);
	test_sql(root, "GRANT SELECT, INSERT, UPDATE ON beside.lock_fence TO "
		       "far");
	test_sql_end(root);
}

/* All that an application can tie to its locks; what each call returned. */
static void use_beside(const struct app *app, struct rowlock *row, MYSQL *mysql,
		       int codes[4])
{
	uint64_t token;

	codes[0] = rowlock_begin(app->lock, mysql, 0, &err);
	if (!codes[0]) {
		say(mysql, "UPDATE ours SET n = 2");
		codes[0] = rowlock_commit(app->lock, mysql, &err);
	}
	assert_nothing_begun(mysql);
	codes[1] = rowlock_acquire_in_transaction(row, mysql, 0, &err);
	if (codes[1])
		say(mysql, "START TRANSACTION");
	codes[2] = rowlock_token_in_transaction(row, mysql, &token, &err);
	codes[3] = rowlock_fence(mysql, "ours", 7, &err);
	say(mysql, "COMMIT");
	assert_nothing_begun(mysql);
}

GUARD("another database will do with the rights")
{
	const struct app *app = *state;
	MYSQL *mysql = connect_beside(app);
	TEST_LOCK(row, test_lock(app->client, ROWLOCK_ROW, 0, app->name));
	struct test_sql *root = test_server_root();
	int codes[4];

	/* So that its row is there. */
	assert_ok(rowlock_acquire(row, 0, &err));
	assert_ok(rowlock_release(row, &err));
	use_beside(app, row, mysql, codes);
	for (size_t i = 0; i < TEST_SIZE(codes); i++)
		assert_int_equal(codes[i], ROWLOCK_EAUTH);
	assert_int_equal(number(mysql, "SELECT n FROM ours"), 1);
	assert_int_equal(test_sql_number(root, "SELECT COUNT(*) FROM "
					       "beside.lock_fence"),
			 0);
	assert_ok(rowlock_verify(app->lock, &err));
	grant_beside(app);
	use_beside(app, row, mysql, codes);
	for (size_t i = 0; i < TEST_SIZE(codes); i++)
		assert_int_equal(codes[i], 0);
	assert_int_equal(number(mysql, "SELECT n FROM ours"), 2);
	assert_int_equal(test_sql_number(root, "SELECT COUNT(*) FROM "
					       "beside.lock_fence"),
			 1);
	mysql_close(mysql);
	test_sql(root, "DROP DATABASE beside");
	test_sql_end(root);
}

/* As rowlock-migrate --guard-procedure does. */
static void make_procedure(void)
{
	struct test_sql *root = test_server_root();
	char text[4096];
	char *end;

	read_sql("guard_procedure.sql", text, sizeof(text));
	end = strstr(text, "END//");
	assert_non_null(end);
	strcpy(end, "END");
	test_sql(root, "DROP PROCEDURE IF EXISTS rowlock_guard");
	test_sql(root, "%s", strstr(text, "CREATE PROCEDURE"));
	test_sql(root, "GRANT EXECUTE ON PROCEDURE rowlock_guard TO few");
	test_sql_end(root);
}

/* What needs no right on any table of rowlock's. */
GUARD("an account without rights may call the guard")
{
	const struct app *app = *state;
	MYSQL *mysql = connect_with(app, "");
	char text[ROWLOCK_GUARD_SQL_SIZE];

	make_procedure();
	assert_ok(rowlock_guard_call(app->lock, text, sizeof(text), &err));
	say(mysql, "START TRANSACTION");
	say(mysql, "UPDATE " ACCOUNTS " SET balance = 7");
	say(mysql, text);
	say(mysql, "COMMIT");
	assert_balance(app, 7);
	/* Whatever it fails with, a client that goes on commits nothing. */
	say(mysql, "SET SESSION innodb_lock_wait_timeout = 1");
	say(mysql, "START TRANSACTION");
	say(mysql, "UPDATE " ACCOUNTS " SET balance = 9");
	test_sql(app->sql, "START TRANSACTION");
	test_sql(app->sql, "UPDATE business_lease SET info = 'locked'");
	assert_int_equal(try_to_say(mysql, text), 1205);
	say(mysql, "COMMIT");
	test_sql(app->sql, "ROLLBACK");
	assert_balance(app, 7);
	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	steal(app);
	assert_code(rowlock_commit(app->lock, app->mysql, &err), ROWLOCK_ELOST,
		    &err);
	say(mysql, "START TRANSACTION");
	say(mysql, "UPDATE " ACCOUNTS " SET balance = 8");
	assert_int_equal(try_to_say(mysql, text), 1644);
	say(mysql, "ROLLBACK");
	assert_balance(app, 7);
	mysql_close(mysql);
}

GUARD("a server that takes no writes commits nothing")
{
	const struct app *app = *state;
	struct test_sql *root = test_server_root();

	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	test_sql(root, "SET GLOBAL read_only = 1");
	assert_code(rowlock_commit(app->lock, app->mysql, &err),
		    ROWLOCK_EREADONLY, &err);
	test_sql(root, "SET GLOBAL read_only = 0");
	assert_balance(app, 100);
	assert_as_before(app);
	assert_ok(rowlock_verify(app->lock, &err));
	test_sql_end(root);
}

/* MariaDB, from 11.6 on by itself, does not let a snapshot write behind others:
 * an error tells of the row, not how many are changed. */
GUARD("what is written on a stale snapshot is not")
{
	const struct app *app = *state;

	try_to_say(app->mysql, "SET SESSION innodb_snapshot_isolation = 1");
	assert_ok(rowlock_begin(app->lock, app->mysql, ROWLOCK_SNAPSHOT, &err));
	take_ten(app);
	steal(app);
	assert_nothing_is_committed(app);
}

/* The connection is over in the server, and its socket. */
static void await_end(const struct app *app, unsigned long id)
{
	uint64_t since = test_now_ns();

	while (test_sql_number(app->sql,
			       "SELECT COUNT(*) FROM "
			       "information_schema.PROCESSLIST WHERE ID = %lu",
			       id))
		test_keep_waiting(since, "the end of a connection");
}

/* The driver connects anew by itself, at the begin: it is begun there. */
GUARD("a transaction begins on a new connection")
{
	struct app *app = *state;
	my_bool on = 1;
	unsigned long before;

	mysql_optionsv(app->mysql, MYSQL_OPT_RECONNECT, &on);
	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	assert_ok(rowlock_rollback(app->lock, app->mysql, &err));
	before = mysql_thread_id(app->mysql);
	test_sql(app->sql, "KILL %lu", before);
	await_end(app, before);
	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	assert_int_not_equal(mysql_thread_id(app->mysql), before);
	take_ten(app);
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	assert_balance(app, 90);
	assert_as_before(app);
}

/* The application's connection, by way of a proxy with @rule for a ROLLBACK. */
static struct proxy *meet_rollback(struct app *app, const char *rule)
{
	struct proxy_options options = { .seed = 1 };
	char server[64];
	char words[128];
	char dsn[512];
	struct proxy *proxy;

	proxy_server_of(test_dsn(), server, sizeof(server));
	options.server = server;
	proxy = proxy_start(&options, words, sizeof(words));
	if (!proxy)
		fail_msg("proxy: %s", words);
	snprintf(words, sizeof(words), "request sql=\"*ROLLBACK*\" %s", rule);
	assert_null(proxy_tell(proxy, words));
	proxy_dsn(proxy, test_dsn(), dsn, sizeof(dsn));
	app->mysql = connect_to(dsn, CLIENT_MULTI_STATEMENTS);
	return proxy;
}

/* One that answers it with an error @times, as the server does that has a KILL
 * QUERY. */
static struct proxy *refuse_rollback(struct app *app, const char *times)
{
	char rule[64];

	snprintf(rule, sizeof(rule), "%s do error code=1317", times);
	return meet_rollback(app, rule);
}

GUARD("a rollback that is refused is said again")
{
	struct app app = *(struct app *) *state;
	TEST_PROXY(proxy, refuse_rollback(&app, "match=1"));

	assert_ok(rowlock_begin(app.lock, app.mysql, 0, &err));
	take_ten(&app);
	steal(&app);
	assert_code(rowlock_commit(app.lock, app.mysql, &err), ROWLOCK_ELOST,
		    &err);
	assert_int_equal(proxy_counts(proxy).acts, 1);
	assert_as_before(&app);
	assert_balance(&app, 100);
	mysql_close(app.mysql);
}

/* Nothing of what the application says next may be lost with it. */
GUARD("a session that cannot be had as it was is ended")
{
	struct app app = *(struct app *) *state;
	TEST_PROXY(proxy, refuse_rollback(&app, "always"));

	assert_ok(rowlock_begin(app.lock, app.mysql, 0, &err));
	take_ten(&app);
	assert_ok(rowlock_rollback(app.lock, app.mysql, &err));
	assert_int_not_equal(try_to_say(app.mysql,
					"UPDATE " ACCOUNTS
					" SET balance = 7 WHERE id = 1"),
			     0);
	assert_balance(&app, 100);
	assert_ok(rowlock_verify(app.lock, &err));
	mysql_close(app.mysql);
}

/* The tables once more, in a database whose name is not ASCII. */
static void make_far_schema(struct test_sql *root)
{
	static const char *const tables[] = {
		"business_lock",  "business_lease",   "lease_session",
		"lock_token",     "lock_token_floor", "lock_permits",
		"rowlock_schema",
	};

	test_sql(root, "CREATE DATABASE `fÃ¤r`");
	for (size_t i = 0; i < TEST_SIZE(tables); i++)
		test_sql(root, "CREATE TABLE `fÃ¤r`.%s LIKE %s", tables[i],
			 tables[i]);
	for (size_t i = 4; i < TEST_SIZE(tables); i++)
		test_sql(root, "INSERT INTO `fÃ¤r`.%s SELECT * FROM %s",
			 tables[i], tables[i]);
}

/* Its letters would be others, and the table perhaps, too. */
GUARD("a name that cannot be said is refused")
{
	/* In some a letter of UTF-8 takes the quote behind it along. */
	static const char *const sets[] = { "latin1", "gbk", "big5", "sjis" };
	const struct app *app = *state;
	struct test_sql *root = test_server_root();
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(TTL_MS));
	uint64_t token;
	char dsn[512];

	make_far_schema(root);
	test_dsn_with(test_server_dsn("--root"), "database=fÃ¤r", dsn,
		      sizeof(dsn));
	options.dsn = dsn;
	TEST_CLIENT(client, test_client_with(&options));
	TEST_LOCK(lease, test_lock(client, ROWLOCK_LEASE, 0, app->name));
	TEST_LOCK(row, test_lock(client, ROWLOCK_ROW, 0, app->name));
	assert_ok(rowlock_acquire(lease, 0, &err));
	for (size_t i = 0; i < TEST_SIZE(sets); i++) {
		assert_false(mysql_set_character_set(app->mysql, sets[i]));
		assert_code(rowlock_begin(lease, app->mysql, 0, &err),
			    ROWLOCK_EINVAL, &err);
		assert_non_null(strstr(err.message, "utf8mb4"));
		assert_code(
		    rowlock_acquire_in_transaction(row, app->mysql, 0, &err),
		    ROWLOCK_EINVAL, &err);
		say(app->mysql, "START TRANSACTION");
		assert_code(
		    rowlock_token_in_transaction(row, app->mysql, &token, &err),
		    ROWLOCK_EINVAL, &err);
		say(app->mysql, "ROLLBACK");
	}
	assert_false(mysql_set_character_set(app->mysql, "utf8mb4"));
	assert_code(rowlock_begin(lease, app->mysql, 0, &err), ROWLOCK_EAUTH,
		    &err);
	assert_ok(rowlock_release(lease, &err));
	test_sql_end(root);
}

/* Whoever alters it would wait for the end of an application's work, and all
 * who come behind for both. */
GUARD("an open transaction keeps no table")
{
	static const unsigned int flags[] = { 0, ROWLOCK_SNAPSHOT };
	const struct app *app = *state;
	char text[ROWLOCK_GUARD_SQL_SIZE];

	test_sql(app->sql, "SET SESSION lock_wait_timeout = 1");
	/* From here on each begin asks. */
	assert_ok(rowlock_guard_sql(app->lock, text, sizeof(text), &err));
	for (size_t i = 0; i < 2 * TEST_SIZE(flags); i++) {
		say(app->mysql, i % 2 ? "SET SESSION autocommit = 0"
				      : "SET SESSION autocommit = 1");
		assert_ok(
		    rowlock_begin(app->lock, app->mysql, flags[i / 2], &err));
		take_ten(app);
		test_sql(app->sql, "LOCK TABLES business_lease WRITE");
		test_sql(app->sql, "UNLOCK TABLES");
		assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	}
	assert_balance(app, 60);
}

/* Nor does it keep others from the name that it has lost, or from those beside
 * it, if nobody rolls it back. */
GUARD("who has lost it locks nothing")
{
	struct app app = *(struct app *) *state;
	struct proxy *proxy = meet_rollback(&app, "always do drop then=vanish");
	const char *name = test_name("beside");
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(TTL_MS));
	TEST_LOCK(same, test_lock(app.client, ROWLOCK_LEASE,
				  ROWLOCK_OWNER_HANDLE, name));

	options.call_timeout_ms = 1000; /* as long as it tries to roll back */
	TEST_CLIENT(client, test_client_with(&options));
	TEST_LOCK(lock, test_lock(client, ROWLOCK_LEASE, 0, name));
	assert_ok(rowlock_acquire(lock, test_patience_ms(), &err));
	assert_int_equal(test_sql(app.sql,
				  "DELETE FROM business_lease WHERE name = "
				  "'%s'",
				  name),
			 1);
	assert_code(rowlock_begin(lock, app.mysql,
				  ROWLOCK_EARLY_GUARD | ROWLOCK_SNAPSHOT, &err),
		    ROWLOCK_ELOST, &err);
	assert_int_equal(proxy_counts(proxy).acts, 1);
	assert_ok(rowlock_acquire(same, 0, &err));
	assert_ok(rowlock_release(same, &err));
	mysql_close(app.mysql);
	proxy_end(proxy);
}

CASE_MAIN(test_main_own_server)
