// SPDX-License-Identifier: MIT
/*
 * What may be wrong with the server: tables missing, of another version or
 * engine, a server that takes no writes. Each is told by a code of its own and
 * a sentence that says what to do, and nothing is changed.
 *
 * On a server of its own, since each of these disturbs everybody.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "dsn.h"
#include "server.h"
#include "sql.h"
#include "test.h"

static void refused(int want, const char *named)
{
	struct rowlock_client_options options = test_client_options(10000);
	struct rowlock_client *client = NULL;

	assert_code(rowlock_client_new(&options, &client, &err), want, &err);
	assert_null(client);
	if (named && !strstr(err.message, named))
		fail_msg("'%s' is not named in: %s", named, err.message);
}

static void accepted(void)
{
	test_client_end(test_client(10000));
}

/* Break something, see the refusal, mend it, see that all is well. */
static void spoilt_by(const char *spoil, const char *mend, const char *named)
{
	struct test_sql *root = test_server_root();
	uint64_t sessions;

	accepted();
	sessions = test_sql_number(root, "SELECT COUNT(*) FROM lease_session");
	test_sql(root, "%s", spoil);
	refused(ROWLOCK_ESCHEMA, named);
	assert_true(
	    test_sql_number(root, "SELECT COUNT(*) FROM lease_session") ==
	    sessions);
	test_sql(root, "%s", mend);
	accepted();
	test_sql_end(root);
}

CASE("a database without tables is refused, with the command")
{
	struct test_sql *root = test_server_root();
	const char *before = test_dsn();
	char dsn[512];

	test_sql(root, "CREATE DATABASE empty_one");
	test_sql(root, "GRANT ALL ON empty_one.* TO rowlock");
	test_dsn_with(before, "database=empty_one", dsn, sizeof(dsn));
	test_use_dsn(dsn);
	refused(ROWLOCK_ESCHEMA, "rowlock-migrate");
	assert_int_equal(test_sql_number(root,
					 "SELECT COUNT(*) FROM "
					 "information_schema.tables WHERE "
					 "table_schema = 'empty_one'"),
			 0);
	test_use_dsn(before);
	test_sql(root, "REVOKE ALL ON empty_one.* FROM rowlock");
	test_sql(root, "DROP DATABASE empty_one");
	test_sql_end(root);
}

CASE("a missing table is named")
{
	spoilt_by("RENAME TABLE lock_token TO lock_token_away",
		  "RENAME TABLE lock_token_away TO lock_token", "lock_token");
}

CASE("an older schema is refused, with the command")
{
	struct test_sql *root = test_server_root();

	test_sql(root, "CREATE TABLE kept AS SELECT * FROM rowlock_schema");
	spoilt_by("DELETE FROM rowlock_schema ORDER BY version DESC LIMIT 2",
		  "INSERT IGNORE INTO rowlock_schema SELECT * FROM kept",
		  "rowlock-migrate");
	test_sql(root, "DROP TABLE kept");
	test_sql_end(root);
}

CASE("a newer schema is refused")
{
	spoilt_by("INSERT INTO rowlock_schema VALUES (999, REPEAT('0', 64), "
		  "UTC_TIMESTAMP(6), NULL)",
		  "DELETE FROM rowlock_schema WHERE version = 999", "999");
}

CASE("a table of another engine is refused")
{
	spoilt_by("ALTER TABLE business_lease ENGINE = MyISAM",
		  "ALTER TABLE business_lease ENGINE = InnoDB",
		  "business_lease");
	spoilt_by("ALTER TABLE business_lock ENGINE = MyISAM",
		  "ALTER TABLE business_lock ENGINE = InnoDB", "business_lock");
}

CASE("a name column that ignores case is refused")
{
	spoilt_by("ALTER TABLE business_lock MODIFY name VARCHAR(100) "
		  "CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL",
		  "ALTER TABLE business_lock MODIFY name VARCHAR(100) "
		  "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL",
		  "business_lock");
}

/* Refused where a client begins; one that is there finds the name busy, and
 * leaves the row of the other's hold as it is. */
CASE("a key that is a prefix of the name is refused, and renames no hold")
{
	static const char back[] = "ALTER TABLE business_lease DROP PRIMARY "
				   "KEY, ADD PRIMARY KEY (name, slot)";
	static const char prefix[] = "ALTER TABLE business_lease DROP PRIMARY "
				     "KEY, ADD PRIMARY KEY (name(6), slot)";
	static const unsigned int flags[] = { 0, ROWLOCK_TOKEN_WITH_GRANT };
	struct test_sql *root = test_server_root();
	struct rowlock_client *client = test_client(60000);
	struct rowlock *held = test_lock(client, ROWLOCK_LEASE, 0, "prefix-1");

	assert_ok(rowlock_acquire(held, 0, &err));
	test_sql(root, "%s", prefix);
	for (size_t i = 0; i < TEST_SIZE(flags); i++) {
		struct rowlock *other =
		    test_lock(client, ROWLOCK_LEASE, flags[i], "prefix-2");

		assert_code(rowlock_acquire(other, 0, &err), ROWLOCK_EBUSY,
			    &err);
		test_lock_end(other);
		assert_ok(rowlock_verify(held, &err));
	}
	test_sql(root, "%s", back);
	assert_ok(rowlock_release(held, &err));
	test_end(held, client);
	test_sql_end(root);
	spoilt_by(prefix, back, "first characters");
}

CASE("a column of another type is refused")
{
	spoilt_by("ALTER TABLE business_lease MODIFY attempt INT UNSIGNED "
		  "NOT NULL",
		  "ALTER TABLE business_lease MODIFY attempt BIGINT UNSIGNED "
		  "NOT NULL",
		  "attempt");
}

CASE("a missing column is named")
{
	spoilt_by("ALTER TABLE lease_session DROP COLUMN breaks",
		  "ALTER TABLE lease_session ADD COLUMN breaks BIGINT "
		  "UNSIGNED NOT NULL DEFAULT 0 AFTER beat",
		  "breaks");
}

/* Nobody but somebody at a prompt can bring a name there. Of the draws that
 * share its packet the others are drawn. */
CASE("a token at the bound is told, with what to type")
{
	static const enum rowlock_strategy strategies[] = { ROWLOCK_LEASE,
							    ROWLOCK_ROW };
	struct test_sql *root = test_server_root();
	TEST_CLIENT(client, test_client(60000));

	for (size_t i = 0; i < TEST_SIZE(strategies); i++) {
		const char *name = test_name("bound");
		TEST_LOCK(lock, test_lock(client, strategies[i], 0, name));
		uint64_t token = 0;
		char *row;

		assert_ok(rowlock_acquire(lock, 0, &err));
		assert_ok(rowlock_token(lock, &token, &err));
		assert_ok(rowlock_release(lock, &err));
		/* Beyond the bound nobody can write. */
		assert_int_not_equal(
		    test_sql_try(root, "UPDATE lock_token SET token = "
				       "9007199254740992"),
		    0);
		test_sql(root,
			 "UPDATE lock_token SET token = 9007199254740991 "
			 "WHERE name = '%s'",
			 name);
		assert_ok(rowlock_acquire(lock, 0, &err));
		assert_code(rowlock_token(lock, &token, &err), ROWLOCK_EDB,
			    &err);
		assert_non_null(strstr(err.message, name));
		assert_non_null(strstr(err.message, "reached the bound"));
		assert_non_null(strstr(err.message, "somebody has written"));
		/* What it says to type. */
		row = strstr(err.message, "DELETE FROM lock_token");
		assert_non_null(row);
		*strchr(row, ';') = '\0';
		assert_int_equal(test_sql(root, "%s", row), 1);
		assert_ok(rowlock_token(lock, &token, &err));
		assert_ok(rowlock_release(lock, &err));
	}
	test_sql_end(root);
}

/* Which has been written over what was collected: new names start above that
 * again. Meanwhile no name draws: not one that has drawn before either, as the
 * row that would be made for it is checked first. */
CASE("so is a floor, and its advice keeps what it stands for")
{
	struct test_sql *root = test_server_root();
	TEST_CLIENT(client, test_client(60000));
	TEST_LOCK(lock,
		  test_lock(client, ROWLOCK_LEASE, 0, test_name("floor")));
	struct rowlock *drawn =
	    test_lock(client, ROWLOCK_LEASE, 0, test_name("drawn"));
	uint64_t token = 0, last = 0;
	char *update;

	assert_ok(rowlock_acquire(drawn, 0, &err));
	assert_ok(rowlock_token(drawn, &last, &err));
	assert_ok(rowlock_release(drawn, &err));
	test_sql(root, "UPDATE lock_token_floor SET token = 9007199254740991");
	assert_ok(rowlock_acquire(drawn, 0, &err));
	assert_code(rowlock_token(drawn, &token, &err), ROWLOCK_EDB, &err);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_code(rowlock_token(lock, &token, &err), ROWLOCK_EDB, &err);
	assert_non_null(strstr(err.message, "reached the bound"));
	update = strstr(err.message, "UPDATE lock_token_floor");
	assert_non_null(update);
	assert_int_equal(test_sql(root, "%s", update), 1);
	assert_ok(rowlock_token(lock, &token, &err));
	assert_ok(rowlock_token(drawn, &token, &err));
	assert_true(token > last);
	assert_ok(rowlock_release(drawn, &err));
	test_lock_end(drawn);
	assert_int_equal(test_sql_number(root,
					 "SELECT token > 1700000000000000 "
					 "FROM lock_token_floor"),
			 1);
	assert_int_equal(
	    test_sql(root, "UPDATE lock_token_floor SET token = 0"), 1);
	assert_ok(rowlock_release(lock, &err));
	test_sql_end(root);
}

CASE("a server that takes no writes is told apart")
{
	struct test_sql *root = test_server_root();
	const char *name = test_name("readonly");
	TEST_CLIENT(client, test_client(10000));
	TEST_LOCK(lock, test_lock(client, ROWLOCK_LEASE, 0, name));

	test_sql(root, "SET GLOBAL read_only = 1");
	refused(ROWLOCK_EREADONLY, NULL);
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_EREADONLY, &err);
	assert_int_equal(rowlock_held(lock), 0);
	test_sql(root, "SET GLOBAL read_only = 0");
	assert_ok(rowlock_acquire(lock, (uint64_t) test_patience_ms(), &err));
	assert_ok(rowlock_release(lock, &err));
	test_sql_end(root);
}

static void no_room(enum rowlock_strategy strategy)
{
	struct test_sql *root = test_server_root();
	TEST_CLIENT(client, test_client(1000));
	TEST_CLIENT(other, test_client(1000));
	const char *name = test_name("no-room");
	TEST_LOCK(lock, test_lock(client, strategy, 0, name));
	TEST_LOCK(rival, test_lock(other, strategy, 0, name));
	uint64_t since = test_now_ns();
	uint64_t token;

	test_sql(root, "SET GLOBAL max_prepared_stmt_count = 0");
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_token(lock, &token, &err));
	assert_code(rowlock_acquire(rival, 0, &err), ROWLOCK_EBUSY, &err);
	/* It is kept for longer than it would last by itself. */
	while (strategy == ROWLOCK_LEASE &&
	       test_sql_number(root,
			       "SELECT s.beat FROM lease_session s JOIN "
			       "business_lease l ON l.session = s.id "
			       "WHERE l.name = '%s'",
			       name) < 5)
		test_keep_waiting(since, "five beats of the holder");
	assert_ok(rowlock_verify(lock, &err));
	assert_ok(rowlock_release(lock, &err));
	assert_ok(rowlock_acquire(rival, test_patience_ms(), &err));
	assert_ok(rowlock_release(rival, &err));
	test_sql(root, "SET GLOBAL max_prepared_stmt_count = DEFAULT");
	test_sql_end(root);
}

CASE("a lease lives without prepared statements")
{
	no_room(ROWLOCK_LEASE);
}

CASE("a row lives without prepared statements")
{
	no_room(ROWLOCK_ROW);
}

/* The release is a statement that no connection has prepared yet. */
CASE("a row is let go where nothing more can be prepared")
{
	struct test_sql *root = test_server_root();
	TEST_CLIENT(client, test_client(10000));
	TEST_CLIENT(other, test_client(10000));
	const char *name = test_name("unprepared");
	TEST_LOCK(lock, test_lock(client, ROWLOCK_ROW, 0, name));
	TEST_LOCK(rival, test_lock(other, ROWLOCK_ROW, 0, name));

	assert_ok(rowlock_acquire(lock, 0, &err));
	test_sql(root, "SET GLOBAL max_prepared_stmt_count = 0");
	assert_ok(rowlock_release(lock, &err));
	test_sql(root, "SET GLOBAL max_prepared_stmt_count = DEFAULT");
	assert_ok(rowlock_acquire(rival, 0, &err));
	assert_ok(rowlock_release(rival, &err));
	test_sql_end(root);
}

/* A global setting would change our sessions if they did not set their own. */
CASE("odd global settings do no harm")
{
	static const char *const odd[][2] = {
		{ "autocommit = 0", "autocommit = 1" },
		{ "sql_mode = 'ANSI_QUOTES'", "sql_mode = DEFAULT" },
		{ "tx_isolation = 'SERIALIZABLE'", "tx_isolation = DEFAULT" },
		{ "completion_type = 'CHAIN'", "completion_type = DEFAULT" },
		{ "time_zone = '+05:00'", "time_zone = DEFAULT" },
		{ "sql_safe_updates = 1", "sql_safe_updates = DEFAULT" },
		{ "init_connect = 'START TRANSACTION'", "init_connect = ''" },
	};
	struct test_sql *root = test_server_root();
	size_t i;

	for (i = 0; i < TEST_SIZE(odd); i++) {
		const char *name = test_name("odd");
		struct rowlock_client *client, *other;
		struct rowlock *a, *b;

		test_sql(root, "SET GLOBAL %s", odd[i][0]);
		client = test_client(10000);
		other = test_client(10000);
		a = test_lock(client, ROWLOCK_LEASE, 0, name);
		b = test_lock(other, ROWLOCK_LEASE, 0, name);
		assert_ok(rowlock_acquire(a, 0, &err));
		assert_code(rowlock_acquire(b, 0, &err), ROWLOCK_EBUSY, &err);
		assert_ok(rowlock_release(a, &err));
		assert_ok(rowlock_acquire(b, 0, &err));
		assert_ok(rowlock_verify(b, &err));
		assert_ok(rowlock_release(b, &err));
		test_lock_end(a);
		test_lock_end(b);
		test_client_end(client);
		test_client_end(other);
		test_sql(root, "SET GLOBAL %s", odd[i][1]);
	}
	test_sql_end(root);
}

CASE("a server without room for connections is told apart")
{
	struct test_sql *root = test_server_root();
	TEST_CLIENT(client, test_client(test_ttl_ms(1500)));
	TEST_LOCK(lock, test_lock(client, ROWLOCK_LEASE, 0, test_name("full")));

	assert_ok(rowlock_acquire(lock, 0, &err));
	test_sql(root, "SET GLOBAL max_connections = 10");
	test_sql(root, "ALTER USER rowlock WITH MAX_USER_CONNECTIONS 1");
	refused(ROWLOCK_ECONNECT, NULL);
	/* The keeper has its connections since before. */
	assert_ok(rowlock_verify(lock, &err));
	test_sql(root, "ALTER USER rowlock WITH MAX_USER_CONNECTIONS 0");
	test_sql(root, "SET GLOBAL max_connections = 2000");
	assert_ok(rowlock_release(lock, &err));
	test_sql_end(root);
}

static void on_log(enum rowlock_log_level level, const char *message, void *arg)
{
	(void) message;
	if (level == ROWLOCK_LOG_ERROR)
		test_event_set(arg);
}

struct wait {
	struct rowlock *lock;
	int code;
	struct rowlock_errinfo err;
};

static void *acquire(void *arg)
{
	struct wait *wait = arg;

	wait->code = rowlock_acquire(wait->lock, ROWLOCK_FOREVER, &wait->err);
	return NULL;
}

/* A client that has worked asks while the server refuses it; @back comes when
 * it has reported that. */
static void outlasted(const char *away, const char *back)
{
	struct rowlock_client_options options = test_client_options(60000);
	TEST_EVENT(reported);
	struct test_sql *root = test_server_root();
	struct rowlock_client *client;
	struct wait wait = { .code = 0 };
	pthread_t thread;

	options.log = on_log;
	options.log_arg = &reported;
	options.log_level = ROWLOCK_LOG_ERROR;
	client = test_client_with(&options);
	wait.lock = test_lock(client, ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE,
			      test_name("refused"));
	test_sql(root, "%s", away);
	test_sql(root, "KILL CONNECTION USER rowlock");
	assert_int_equal(pthread_create(&thread, NULL, acquire, &wait), 0);
	assert_event(&reported, "the report of the refusal");
	test_sql(root, "%s", back);
	pthread_join(thread, NULL);
	assert_code(wait.code, 0, &wait.err);
	assert_code(rowlock_release(wait.lock, &wait.err), 0, &wait.err);
	test_end(wait.lock, client);
	test_sql_end(root);
}

CASE("a wait outlasts a refusal of what worked before")
{
	outlasted("ALTER USER rowlock ACCOUNT LOCK",
		  "ALTER USER rowlock ACCOUNT UNLOCK");
	outlasted("RENAME TABLE business_lease TO away",
		  "RENAME TABLE away TO business_lease");
}

CASE_MAIN(test_main_own_server)
