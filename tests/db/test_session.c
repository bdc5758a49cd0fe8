/* SPDX-License-Identifier: MIT */
/* A server whose global settings are hostile; on a sandbox of our own. */
#include <stdio.h>
#include <string.h>

#include "db_test.h"

static void expect(struct rlk_conn *conn, const char *sql)
{
	print_message("# %s\n", sql);
	assert_int_equal(db_number(conn, sql), 1);
}

static void check_state(void)
{
	struct rlk_conn *lease = db_open(NULL, &db_lease);
	struct rlk_conn *row = db_open(NULL, &db_row);

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
	expect(row, "SELECT @@lock_wait_timeout = 20");
	expect(lease, "SELECT @@wait_timeout = 30");
	expect(lease, "SELECT @@idle_transaction_timeout = 0");
	expect(lease, "SELECT @@completion_type = 'NO_CHAIN'");
	expect(lease, "SELECT @@sql_safe_updates = 0");
	expect(lease, "SELECT @@max_statement_time = 0");
	expect(lease, "SELECT @@sql_select_limit > 1000000");
	expect(lease, "SELECT @@collation_connection = 'utf8mb4_bin'");
	expect(lease, "SELECT ABS(TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), "
		      "SYSDATE())) < 60");
	rlk_conn_close(lease);
	rlk_conn_close(row);
}

static void hostile_settings_are_normalised(void **state)
{
	(void) state;
	db_root("SET GLOBAL autocommit = 0, GLOBAL sql_mode = "
		"'ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH', "
		"GLOBAL time_zone = '+05:30', GLOBAL tx_isolation = "
		"'SERIALIZABLE', GLOBAL tx_read_only = 1, "
		"GLOBAL innodb_lock_wait_timeout = 77, "
		"GLOBAL lock_wait_timeout = 77, GLOBAL wait_timeout = 77, "
		"GLOBAL idle_transaction_timeout = 1, "
		"GLOBAL completion_type = 'CHAIN', "
		"GLOBAL max_statement_time = 7, GLOBAL sql_select_limit = 1");
	db_root("SET GLOBAL init_connect = 'SET timestamp = 1000000000, "
		"sql_safe_updates = 1, collation_connection = "
		"''latin1_swedish_ci'''");
	check_state();
	db_root("SET GLOBAL init_connect = '', GLOBAL autocommit = 1, "
		"GLOBAL tx_read_only = 0, GLOBAL sql_mode = DEFAULT, "
		"GLOBAL idle_transaction_timeout = 0, "
		"GLOBAL completion_type = DEFAULT, "
		"GLOBAL max_statement_time = 0, "
		"GLOBAL sql_select_limit = DEFAULT");
}

static void init_command_changes_nothing(void **state)
{
	struct rlk_conn *conn = db_open(
	    db_dsn_with("init-command={SET autocommit=0, time_zone='+03:00'}"),
	    &db_lease);

	(void) state;
	expect(conn, "SELECT @@autocommit = 1 AND @@time_zone = '+00:00'");
	rlk_conn_close(conn);
}

/* The server takes a wait_timeout of 0 for 1. */
static void setting_that_does_not_take_is_refused(void **state)
{
	static const struct rlk_conn_profile odd = { "odd", true, 1, 0 };
	const struct rlk_conn_target target = db_target(NULL);
	struct rowlock_errinfo error = { 0 };
	struct rlk_conn *conn = NULL;

	(void) state;
	assert_int_equal(
	    rlk_conn_open(&target, &odd, db_in(GUARD_MS), &conn, &error),
	    ROWLOCK_EUNSUPPORTED);
	assert_null(conn);
	assert_says(error.message, "wait_timeout");
}

static void read_only_is_known_and_said(void **state)
{
	static const struct rlk_stmt_def write = {
		"write",
		"DELETE FROM business_lease WHERE name = 'nobody'",
	};
	struct rowlock_errinfo error = { 0 };
	struct rlk_reply reply;
	struct rlk_conn *conn;

	(void) state;
	conn = db_open(NULL, &db_lease);
	assert_false(rlk_conn_server(conn)->read_only);
	rlk_conn_close(conn);
	db_root("SET GLOBAL read_only = 1");
	conn = db_open(NULL, &db_lease);
	assert_true(rlk_conn_server(conn)->read_only);
	assert_int_equal(rlk_stmt_run(conn, &write, NULL, &reply, &error),
			 RLK_REFUSED);
	db_root("SET GLOBAL read_only = 0");
	print_message("# %s\n", error.message);
	assert_int_equal(error.code, ROWLOCK_EREADONLY);
	assert_says(error.message, "primary");
	rlk_conn_close(conn);
}

static void full_server_is_said(void **state)
{
	struct rowlock_errinfo error;
	struct rlk_conn *conns[32];
	int count = 0;
	int code;

	(void) state;
	/* 10 is the least there may be, and one more for root. */
	db_root("SET GLOBAL max_connections = 10");
	for (count = 0; count < 32; count++) {
		struct rlk_conn_target target = db_target(NULL);

		conns[count] = NULL;
		code = rlk_conn_open(&target, &db_lease, db_in(GUARD_MS),
				     &conns[count], &error);
		if (code)
			break;
	}
	print_message("# %s\n", error.message);
	assert_int_equal(code, ROWLOCK_ECONNECT);
	assert_int_equal(error.mysql, 1040);
	for (int i = 0; i < count; i++)
		rlk_conn_close(conns[i]);
	db_root("SET GLOBAL max_connections = 151");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST("hostile global settings are normalised",
		     hostile_settings_are_normalised),
		TEST("an init-command changes nothing that we rely on",
		     init_command_changes_nothing),
		TEST("a setting that does not take is refused",
		     setting_that_does_not_take_is_refused),
		TEST("a read-only server is known, and said",
		     read_only_is_known_and_said),
		TEST("a server that is full is said", full_server_is_said),
	};

	return db_main_own(tests);
}
