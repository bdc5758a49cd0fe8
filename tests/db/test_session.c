/* SPDX-License-Identifier: MIT */
/* A server whose global settings are hostile; on a sandbox of our own. */
#include "db/connect.h"
#include <stdio.h>
#include <string.h>

#include "db_test.h"

static void expect(struct rlk_conn *conn, const char *sql)
{
	print_message("# %s\n", sql);
	assert_int_equal(db_number(conn, sql), 1);
}

/* Not every series of MariaDB has it. */
static bool has_snapshot_isolation(void)
{
	struct rlk_conn *conn = db_open(NULL, &db_lease);
	uint64_t count =
	    db_number(conn, "SELECT COUNT(*) FROM "
			    "information_schema.GLOBAL_VARIABLES WHERE "
			    "VARIABLE_NAME = 'INNODB_SNAPSHOT_ISOLATION'");

	rlk_conn_close(conn);
	return count > 0;
}

static void check_state(void)
{
	DB_CONN(lease, db_open(NULL, &db_lease));
	DB_CONN(row, db_open(NULL, &db_row));

	expect(lease, "SELECT @@autocommit = 1");
	expect(row, "SELECT @@autocommit = 0");
	expect(lease, "SELECT @@tx_isolation = 'READ-COMMITTED'");
	expect(row, "SELECT @@tx_isolation = 'READ-COMMITTED'");
	expect(lease, "SELECT @@tx_read_only = 0");
	expect(lease, "SELECT @@sql_mode = "
		      "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'");
	expect(lease, "SELECT @@time_zone = '+00:00'");
	expect(lease, "SELECT @@innodb_lock_wait_timeout = 1");
	expect(row, "SELECT @@innodb_lock_wait_timeout = 20");
	expect(lease, "SELECT @@lock_wait_timeout = 1");
	expect(row, "SELECT @@lock_wait_timeout = 1");
	expect(lease, "SELECT @@wait_timeout = 30");
	expect(lease, "SELECT @@idle_transaction_timeout = 0");
	expect(row, "SELECT @@idle_transaction_timeout = 0");
	expect(row, "SELECT @@idle_write_transaction_timeout = 0");
	expect(row, "SELECT @@idle_readonly_transaction_timeout = 0");
	expect(lease, "SELECT @@sql_big_selects = 1");
	expect(lease, "SELECT @@completion_type = 'NO_CHAIN'");
	expect(lease, "SELECT @@sql_safe_updates = 0");
	expect(lease, "SELECT @@max_statement_time = 0");
	expect(lease, "SELECT @@sql_select_limit > 1000000");
	expect(row, "SELECT COUNT(*) = 0 FROM "
		    "information_schema.SESSION_VARIABLES WHERE VARIABLE_NAME "
		    "= 'INNODB_SNAPSHOT_ISOLATION' AND VARIABLE_VALUE = 'ON'");
	expect(lease, "SELECT @@collation_connection = 'utf8mb4_bin'");
	expect(lease, "SELECT ABS(TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), "
		      "SYSDATE())) < 60");
}

CASE("hostile global settings are normalised")
{
	bool snapshot = has_snapshot_isolation();

	if (snapshot)
		db_root("SET GLOBAL innodb_snapshot_isolation = 1");
	db_root("SET GLOBAL autocommit = 0, GLOBAL sql_mode = "
		"'ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH', "
		"GLOBAL time_zone = '+05:30', GLOBAL tx_isolation = "
		"'SERIALIZABLE', GLOBAL tx_read_only = 1, "
		"GLOBAL innodb_lock_wait_timeout = 77, "
		"GLOBAL lock_wait_timeout = 77, GLOBAL wait_timeout = 77, "
		"GLOBAL idle_transaction_timeout = 1, "
		"GLOBAL idle_write_transaction_timeout = 1, "
		"GLOBAL idle_readonly_transaction_timeout = 1, "
		"GLOBAL max_join_size = 1, "
		"GLOBAL completion_type = 'CHAIN', "
		"GLOBAL max_statement_time = 7, GLOBAL sql_select_limit = 1");
	db_root("SET GLOBAL init_connect = 'SET timestamp = 1000000000, "
		"sql_safe_updates = 1, collation_connection = "
		"''latin1_swedish_ci'''");
	check_state();
	db_root("SET GLOBAL init_connect = '', GLOBAL autocommit = 1, "
		"GLOBAL tx_read_only = 0, GLOBAL sql_mode = DEFAULT, "
		"GLOBAL idle_transaction_timeout = 0, "
		"GLOBAL idle_write_transaction_timeout = 0, "
		"GLOBAL idle_readonly_transaction_timeout = 0, "
		"GLOBAL max_join_size = DEFAULT, "
		"GLOBAL completion_type = DEFAULT, "
		"GLOBAL max_statement_time = 0, "
		"GLOBAL sql_select_limit = DEFAULT");
	if (snapshot)
		db_root("SET GLOBAL innodb_snapshot_isolation = DEFAULT");
}

CASE("an init-command changes nothing that we rely on")
{
	DB_CONN(
	    conn,
	    db_open(db_dsn_with(
			"init-command={SET autocommit=0, time_zone='+03:00'}"),
		    &db_lease));

	expect(conn, "SELECT @@autocommit = 1 AND @@time_zone = '+00:00'");
}

static const struct rlk_stmt_def insert = {
	"insert",
	"INSERT INTO lock_token (strategy, name, token, drawn_at) "
	"VALUES ('lease', 'open', 1, UTC_TIMESTAMP(6))",
};

static const struct rlk_stmt_def insert_returning = {
	"insert",
	"INSERT INTO lock_token (strategy, name, token, drawn_at) "
	"VALUES ('lease', 'open', 1, UTC_TIMESTAMP(6)) RETURNING token",
};

CASE("a new connection's open transaction is ended")
{
	DB_CONN(other, db_open(NULL, &db_lease));
	struct rlk_reply reply;

	db_root("SET GLOBAL init_connect = 'START TRANSACTION'");
	DB_CONN(conn, db_open(NULL, &db_lease));
	db_root("SET GLOBAL init_connect = ''");
	assert_int_equal(rlk_stmt_run(conn, &insert, NULL, &reply, &err),
			 RLK_DONE);
	expect(other, "SELECT COUNT(*) FROM lock_token WHERE name = 'open'");
	db_root("DELETE FROM lock_token WHERE name = 'open'");
}

/* As a proxy might that keeps a transaction open, or begins one. */
CASE("what is not committed is not done")
{
	static const struct rlk_stmt_def *const defs[] = { &insert,
							   &insert_returning };
	DB_CONN(other, db_open(NULL, &db_lease));

	for (size_t i = 0; i < RLK_ARRAY_SIZE(defs); i++) {
		DB_CONN(conn, db_open(NULL, &db_lease));
		struct rowlock_errinfo error;
		struct rlk_reply reply;

		assert_int_equal(rlk_stmt_text(conn, "BEGIN", &error),
				 RLK_DONE);
		assert_int_equal(
		    rlk_stmt_run(conn, defs[i], NULL, &reply, &error),
		    RLK_UNKNOWN);
		assert_code(error.code, ROWLOCK_EDB, NULL);
		assert_says(error.message, "transaction");
		assert_false(rlk_conn_usable(conn));
	}
	expect(other,
	       "SELECT COUNT(*) = 0 FROM lock_token WHERE name = 'open'");
}

CASE("a read-only server is known, and said")
{
	static const struct rlk_stmt_def write = {
		"write",
		"DELETE FROM business_lease WHERE name = 'nobody'",
	};
	struct rlk_reply reply;
	struct rlk_conn *conn;

	conn = db_open(NULL, &db_lease);
	assert_false(rlk_conn_server(conn)->read_only);
	rlk_conn_close(conn);
	db_root("SET GLOBAL read_only = 1");
	conn = db_open(NULL, &db_lease);
	assert_true(rlk_conn_server(conn)->read_only);
	assert_int_equal(rlk_stmt_run(conn, &write, NULL, &reply, &err),
			 RLK_REFUSED);
	db_root("SET GLOBAL read_only = 0");
	print_message("# %s\n", err.message);
	assert_code(err.code, ROWLOCK_EREADONLY, NULL);
	assert_says(err.message, "primary");
	rlk_conn_close(conn);
}

CASE("a server that is full is said")
{
	/* Kept: the server ends others a moment after us, and then has no
	 * place for root either. */
	DB_CONN(root, db_open(db_root_dsn(), &db_lease));
	struct rlk_conn *conns[32];
	int count = 0;
	int code;

	/* 10 is the least there may be, and one more for root. */
	db_exec(root, "SET GLOBAL max_connections = 10");
	for (count = 0; count < 32; count++) {
		struct rlk_conn_target target = db_target(NULL);

		conns[count] = NULL;
		code =
		    rlk_conn_open(&target, &db_lease, db_in(test_patience_ms()),
				  &conns[count], &err);
		if (code)
			break;
	}
	print_message("# %s\n", err.message);
	assert_code(code, ROWLOCK_ECONNECT, NULL);
	assert_int_equal(err.mysql, 1040);
	for (int i = 0; i < count; i++)
		rlk_conn_close(conns[i]);
	db_exec(root, "SET GLOBAL max_connections = 151");
}

/* A proxy between that changes what is asked or told, in so many bytes. */
struct change {
	bool reply;
	const char *from;
	const char *to;
	int code;
	const char *says;
};

static int open_changed(const struct change *change, struct relay **ret_relay,
			struct rlk_conn **ret_conn,
			struct rowlock_errinfo *ret_error)
{
	static struct rlk_conn_target target; /* the connection keeps it */

	*ret_relay = relay_start(RELAY_STRAIGHT, NULL);
	relay_replace(*ret_relay, change->from, change->to, change->reply);
	target = db_target(relay_dsn(*ret_relay));
	*ret_error = (struct rowlock_errinfo){ 0 };
	*ret_conn = NULL;
	return rlk_conn_open(&target, &db_lease, db_in(test_patience_ms()),
			     ret_conn, ret_error);
}

CASE("a state that is not as it was set is refused")
{
	static const struct change changes[] = {
		{ true, "STRICT_ALL_TABLES", "STRICT_ALL_CHAIRS",
		  ROWLOCK_EUNSUPPORTED, "is there a proxy in between?" },
		{ true, "utf8mb4 utf8mb4_bin", "utf8mb4 utf8mb4_bun",
		  ROWLOCK_EUNSUPPORTED, "character set and collation" },
		{ false, "' ', @@c", "NULL,@@c", ROWLOCK_EUNSUPPORTED,
		  "are 'NULL'" },
		{ false, ", DATABASE()", ",     NULL  ", ROWLOCK_ESCHEMA,
		  "no database is selected" },
		/* As after init_connect = 'SET timestamp = ...'. */
		{ false, "SYSDATE(6)", "'1990-1-1'", ROWLOCK_EUNSUPPORTED,
		  "stands still" },
		{ false, "SYSDATE(6)", "      NULL", ROWLOCK_EUNSUPPORTED,
		  "stands still" },
		{ false, " FOR UPDATE", " LIMIT 0   ", ROWLOCK_EDB,
		  "did not tell its state" },
		{ false, "SELECT 0,", "SELECT   ", ROWLOCK_EDB,
		  "did not tell its state" },
		{ false, ", VERSION()", ", '5.7.44' ", ROWLOCK_EUNSUPPORTED,
		  "too old" },
		{ false, "SET NAMES", "SET MANES", ROWLOCK_EUNSUPPORTED,
		  "SQL syntax" },
		{ false, "SELECT 0,", "SELEKT 0,", ROWLOCK_EUNSUPPORTED,
		  "SQL syntax" },
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct rowlock_errinfo error;
		struct rlk_conn *conn;
		struct relay *relay;
		int code;

		code = open_changed(&changes[i], &relay, &conn, &error);
		print_message("# %s: %s\n", changes[i].to, error.message);
		assert_int_equal(code, changes[i].code);
		assert_null(conn);
		assert_says(error.message, changes[i].says);
		relay_end(relay);
	}
}

static void is_used(const struct change *change)
{
	struct rowlock_errinfo error;
	struct rlk_conn *conn;
	struct relay *relay;

	assert_int_equal(open_changed(change, &relay, &conn, &error), 0);
	expect(conn, "SELECT @@time_zone = '+00:00'");
	rlk_conn_close(conn);
	relay_end(relay);
}

/* The server's clock jumped while the statement ran that compares its time
 * with the session's; only that one is changed. */
CASE("a clock that jumped once is no clock that stands still")
{
	static const struct change change = { false, ", ABS(TIMESTAMPDIFF",
					      ",9e9+(TIMESTAMPDIFF", 0, NULL };

	is_used(&change);
}

/* secure_timestamp lets nobody touch the session's clock; there is nothing to
 * be put right then. */
CASE("a server that protects its clock is used")
{
	static const struct change change = { false, "timestamp = DEFAULT",
					      "timestump = DEFAULT", 0, NULL };

	is_used(&change);
}

CASE("a server without user locks is used without marks")
{
	static const struct change changes[] = {
		{ false, "GET_LOCK(", "GET_LUCK(", 0, NULL },
		/* As where another has it: then it tells nothing of us. */
		{ false, "GET_LOCK(", "    LEFT(", 0, NULL },
	};

	for (size_t i = 0; i < 2; i++) {
		struct rowlock_errinfo error;
		struct rlk_conn *conn;
		struct relay *relay;
		struct rlk_mark mark;
		int code;

		code = open_changed(&changes[i], &relay, &conn, &error);
		print_message("# %s\n", error.message);
		assert_int_equal(code, 0);
		rlk_conn_mark(conn, &mark);
		assert_string_equal(mark.lock, "");
		assert_true(mark.id != 0);
		rlk_conn_close(conn);
		relay_end(relay);
	}
}

/* Any variable that is on stands for it: here there is no cluster. */
CASE("a Galera node waits for what is committed")
{
	static const struct change change = { false, "'WSREP_ON'", "'VERSION '",
					      0, NULL };
	struct rlk_conn *conn;
	struct relay *relay;
	struct rlk_mark mark;

	assert_int_equal(open_changed(&change, &relay, &conn, &err), 0);
	assert_true(rlk_conn_server(conn)->galera);
	expect(conn, "SELECT @@wsrep_sync_wait = 7");
	/* Or it would run an INSERT again, and tell of the rows of both. */
	expect(conn, "SELECT @@wsrep_retry_autocommit = 0");
	/* A user lock would be one node's. */
	rlk_conn_mark(conn, &mark);
	assert_string_equal(mark.lock, "");
	rlk_conn_close(conn);
	relay_end(relay);
}

CASE_MAIN(db_main_own)
