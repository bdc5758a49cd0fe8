/* SPDX-License-Identifier: MIT */
/* Statements: values both ways, one execution each, errors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/connect.h"
#include "db/stmt.h"
#include "db/stmt_private.h"
#include "db_test.h"

static const struct rlk_conn_profile plain = {
	"lease", true, 1, 30, false, true
};
static const struct rlk_conn_profile *profile = &db_lease;

static int as_text(void **state)
{
	(void) state;
	profile = &plain;
	return 0;
}

static int as_before(void **state)
{
	(void) state;
	profile = &db_lease;
	return 0;
}

/* Prepared, and as a text. */
#define CASE_BOTH(sentence)                                                    \
	CASES({ sentence, CASE_HERE, NULL, NULL, NULL },                       \
	      { sentence " (text)", CASE_HERE, as_text, as_before, NULL })

CASE_BOTH("values travel both ways")
{
	static const struct rlk_stmt_def def = {
		"values",
		"SELECT CAST(? AS UNSIGNED), CAST(? AS SIGNED), "
		"CAST(? AS CHAR(100)), CAST(? AS CHAR(100)), ?, "
		"CAST('2026-11-20 12:00:00.000001' AS DATETIME(6)), 1.5",
	};
	const struct rlk_value params[] = {
		rlk_u64(UINT64_MAX),
		{ .type = RLK_I64, .i64 = INT64_MIN },
		rlk_text("na\xc3\xafve"),
		rlk_text(""),
		rlk_null(),
	};
	DB_CONN(conn, db_open(NULL, profile));
	struct rlk_reply reply;

	for (int i = 0; i < 2; i++) {
		assert_done(rlk_stmt_run(conn, &def, params, &reply, &err));
		assert_true(reply.has_row);
		assert_int_equal(reply.affected, 0);
		assert_int_equal(reply.columns[0].type, RLK_U64);
		assert_true(reply.columns[0].u64 == UINT64_MAX);
		assert_int_equal(reply.columns[1].type, RLK_I64);
		assert_true(reply.columns[1].i64 == INT64_MIN);
		assert_string_equal(reply.columns[2].text, "na\xc3\xafve");
		assert_int_equal(reply.columns[2].length, 6);
		assert_string_equal(reply.columns[3].text, "");
		assert_int_equal(reply.columns[4].type, RLK_NULL);
		assert_string_equal(reply.columns[5].text,
				    "2026-11-20 12:00:00.000001");
		assert_string_equal(reply.columns[6].text, "1.5");
	}
}

/* A garbled reply once had a NULL where a name should be. */
/* In gbk the last two bytes of the first one are one character, and its quote
 * were the end of a literal. Behind a proxy that keeps to itself which
 * character set the server has, the driver would go by its own option. */
CASE_BOTH("a text is no SQL")
{
	static const struct rlk_stmt_def echo = {
		"echo",
		"SELECT CAST(? AS CHAR(100)), @@character_set_client",
	};
	static const char *const texts[] = {
		"\xe7\xb8\x97\\", "\xe7\xb8\x97\\' OR 1=1 -- ",
		"it's",           "\\",
		"\\' OR '' = '",  "NULL",
		"?0 {} %_",       "\xf0\x9f\x94\x92",
	};
	DB_CONN(conn,
		db_open(db_dsn_with("default-character-set=gbk"), profile));
	struct rlk_reply reply;

	assert_string_equal(mysql_character_set_name(conn->mysql), "utf8mb4");
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const struct rlk_value text = rlk_text(texts[i]);

		assert_done(rlk_stmt_run(conn, &echo, &text, &reply, &err));
		assert_string_equal(reply.columns[0].text, texts[i]);
		assert_string_equal(reply.columns[1].text, "utf8mb4");
		if (profile == &plain)
			assert_null(strstr(conn->run.plain.text, texts[i]));
	}
}

CASE_BOTH("what is not there reads as nothing")
{
	static const struct rlk_stmt_def def = { "shape",
						 "SELECT NULL, 5, 'x'" };
	DB_CONN(conn, db_open(NULL, profile));
	struct rlk_reply reply;

	memset(&reply, 0xa5, sizeof(reply));
	assert_done(rlk_stmt_run(conn, &def, NULL, &reply, &err));
	assert_int_equal(reply.columns[0].type, RLK_NULL);
	assert_string_equal(reply.columns[0].text, "");
	assert_true(reply.columns[0].u64 == 0);
	assert_true(reply.columns[1].u64 == 5);
	assert_string_equal(reply.columns[1].text, "");
	assert_string_equal(reply.columns[2].text, "x");
	assert_true(reply.columns[2].u64 == 0);
	for (int i = 3; i < RLK_STMT_COLUMNS; i++) {
		assert_int_equal(reply.columns[i].type, RLK_NULL);
		assert_string_equal(reply.columns[i].text, "");
		assert_true(reply.columns[i].u64 == 0);
	}
}

/* It would be sent what is in memory behind those that there are. */
CASE("another count of parameters is refused")
{
	/* The server sees one, our count by the text is two. */
	static const struct rlk_stmt_def def = { "count", "SELECT ?, '?'" };
	const struct rlk_value params[] = { rlk_u64(1), rlk_u64(2) };
	DB_CONN(conn, db_open(NULL, &db_lease));
	struct rlk_reply reply;

	assert_int_equal(rlk_stmt_run(conn, &def, params, &reply, &err),
			 RLK_FAILED);
	assert_says(err.message, "counts the parameters differently");
	assert_false(rlk_conn_usable(conn));
}

CASE_BOTH("the longest name and info pass whole")
{
	static const struct rlk_stmt_def def = {
		"long",
		"SELECT name, info FROM business_lease WHERE name = ?",
	};
	static const struct rlk_stmt_def insert = {
		"long",
		"INSERT INTO business_lease (name, slot, session, attempt, "
		"acquired_at, info) VALUES (?, 0, 1, 1, UTC_TIMESTAMP(6), ?)",
	};
	DB_CONN(conn, db_open(NULL, profile));
	struct rlk_reply reply;
	struct rlk_value params[2];
	char name[4 * 100 + 1] = "";
	char info[4 * 255 + 1] = "";

	for (int i = 0; i < 100; i++)
		strcat(name, "\xf0\x9f\x94\x92");
	for (int i = 0; i < 255; i++)
		strcat(info, "\xf0\x9f\x94\x92");
	params[0] = rlk_text(name);
	params[1] = rlk_text(info);
	db_exec(conn, "DELETE FROM business_lease WHERE session = 1");
	assert_done(rlk_stmt_run(conn, &insert, params, &reply, &err));
	assert_done(rlk_stmt_run(conn, &def, params, &reply, &err));
	assert_string_equal(reply.columns[0].text, name);
	assert_string_equal(reply.columns[1].text, info);
	db_exec(conn, "DELETE FROM business_lease WHERE session = 1");
}

CASE_BOTH("a text that would be cut is an error")
{
	static const struct rlk_stmt_def def = {
		"cut",
		"SELECT 1, REPEAT('x', 5000)",
	};
	DB_CONN(conn, db_open(NULL, profile));
	struct rlk_reply reply;

	/* Not "refused": it was executed. */
	assert_int_equal(rlk_stmt_run(conn, &def, NULL, &reply, &err),
			 RLK_UNKNOWN);
	assert_says(err.message, "column 2");
	assert_false(rlk_conn_usable(conn));
}

static uint64_t status(struct rlk_conn *conn, const char *variable)
{
	return db_status(conn, variable, false);
}

/* Whatever the server's other programs have prepared. */
CASE("what there is no room to prepare is said as a text")
{
	static const struct rlk_stmt_def sleepy = {
		"sleepy",
		"SELECT SLEEP(?), ?",
	};
	const struct rlk_value params[] = { rlk_u64(0), rlk_text("it's") };
	DB_CONN(conn, db_open(NULL, &db_lease));
	uint64_t executed = status(conn, "COM_STMT_EXECUTE");
	struct rlk_reply reply;
	enum rlk_fault fault;

	db_root("SET GLOBAL max_prepared_stmt_count = 0");
	/* Given up for a while at the prepare, or at the text. */
	rlk_conn_set_until(conn, db_in(-1));
	fault = rlk_stmt_run(conn, &sleepy, params, &reply, &err);
	rlk_conn_set_until(conn, db_in(test_patience_ms()));
	while (fault == RLK_PENDING)
		fault = rlk_stmt_resume(conn, &reply, &err);
	assert_done(fault);
	assert_string_equal(reply.columns[1].text, "it's");
	assert_done(rlk_stmt_run(conn, &sleepy, params, &reply, &err));
	assert_string_equal(reply.columns[1].text, "it's");
	db_root("SET GLOBAL max_prepared_stmt_count = DEFAULT");
	/* Both looks are executes. */
	assert_int_equal(status(conn, "COM_STMT_EXECUTE") - executed, 1);
}

CASE("one run is one statement in the server")
{
	static const struct rlk_stmt_def def = {
		"count",
		"SELECT ? + 1",
	};
	const struct rlk_value params[] = { rlk_u64(1) };
	DB_CONN(conn, db_open(NULL, &db_lease));
	/* MySQL shows these to SHOW STATUS only. */
	bool coms = rlk_conn_server(conn)->flavour == RLK_MARIADB;
	struct rlk_reply reply;
	uint64_t prepares = 0;
	uint64_t executes = 0;
	uint64_t questions;

	assert_done(rlk_stmt_run(conn, &def, params, &reply, &err));
	status(conn, "QUESTIONS");
	if (coms) {
		prepares = status(conn, "COM_STMT_PREPARE");
		executes = status(conn, "COM_STMT_EXECUTE");
	}
	questions = status(conn, "QUESTIONS");
	for (int i = 0; i < 10; i++)
		assert_done(rlk_stmt_run(conn, &def, params, &reply, &err));
	/* Each look counts itself: questions 1, executes 2, prepares none. */
	assert_int_equal(status(conn, "QUESTIONS") - questions, 10 + 1);
	if (coms) {
		assert_int_equal(status(conn, "COM_STMT_EXECUTE") - executes,
				 10 + 3);
		assert_int_equal(status(conn, "COM_STMT_PREPARE") - prepares,
				 0);
	}
}

CASE("a statement that the server forgot is prepared again")
{
	static const struct rlk_stmt_def def = {
		"forgotten",
		"SELECT CAST(? AS CHAR(20))",
	};
	const struct rlk_value params[] = { rlk_text("again") };
	DB_CONN(conn, db_open(NULL, &db_lease));
	struct rlk_reply reply;

	assert_done(rlk_stmt_run(conn, &def, params, &reply, &err));
	/* Let the server not know it: error 1243. */
	container_of(conn->stmts.prev, struct rlk_stmt, list)->stmt->stmt_id =
	    99999;
	assert_done(rlk_stmt_run(conn, &def, params, &reply, &err));
	assert_string_equal(reply.columns[0].text, "again");
}

/* The parameters of a first run that failed must not come back. */
CASE("it is prepared again with its own parameters")
{
	static const struct rlk_stmt_def def = {
		"own",
		"INSERT INTO lease_session (id, ttl, expires_at, started_at) "
		"VALUES (?, 1, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6))",
	};
	const struct rlk_value taken[] = { rlk_u64(1) };
	const struct rlk_value fresh[] = { rlk_u64(2) };
	DB_CONN(conn, db_open(NULL, &db_lease));
	struct rlk_reply reply;

	db_exec(conn, "DELETE FROM lease_session WHERE id IN (1, 2)");
	db_exec(conn, "INSERT INTO lease_session (id, ttl, expires_at, "
		      "started_at) VALUES (1, 1, UTC_TIMESTAMP(6), "
		      "UTC_TIMESTAMP(6))");
	assert_int_equal(rlk_stmt_run(conn, &def, taken, &reply, &err),
			 RLK_REFUSED);
	assert_int_equal(err.mysql, 1062);
	container_of(conn->stmts.prev, struct rlk_stmt, list)->stmt->stmt_id =
	    99999;
	assert_done(rlk_stmt_run(conn, &def, fresh, &reply, &err));
	assert_int_equal(reply.affected, 1);
	db_exec(conn, "DELETE FROM lease_session WHERE id IN (1, 2)");
}

CASE_BOTH("an error names the statement and the server")
{
	static const struct rlk_stmt_def def = {
		"wrong",
		"SELECT nothing FROM no_such_table_17",
	};
	DB_CONN(conn, db_open(NULL, profile));
	struct rlk_reply reply;

	assert_int_equal(rlk_stmt_run(conn, &def, NULL, &reply, &err),
			 RLK_REFUSED);
	print_message("# %s\n", err.message);
	assert_int_equal(err.code,
			 err.mysql == 1142 ? ROWLOCK_EAUTH : ROWLOCK_ESCHEMA);
	assert_says(err.message, "wrong: ");
	assert_says(err.message, "no_such_table_17");
	assert_says(err.message, rlk_conn_server(conn)->name);
	assert_true(rlk_conn_usable(conn));
	/* A second time: it was not kept half prepared. */
	assert_int_equal(rlk_stmt_run(conn, &def, NULL, &reply, &err),
			 RLK_REFUSED);
}

CASE_BOTH("a locked row is busy, and passed over by a probe")
{
	DB_CONN(holder, db_open(NULL, &db_row));
	DB_CONN(other, db_open(NULL, &db_row));
	const struct rlk_dialect *dialect =
	    rlk_server_dialect(rlk_conn_server(other));
	const struct rlk_value params[] = { rlk_text("db-test busy") };
	const struct rlk_value page[] = { params[0], rlk_text(""), rlk_u64(1),
					  params[0], rlk_u64(9) };
	struct rlk_reply reply;

	db_exec(holder, "REPLACE INTO business_lock (name) VALUES "
			"('db-test busy')");
	db_exec(holder, "COMMIT");
	assert_done(
	    rlk_stmt_run(holder, dialect->row_try, params, &reply, &err));
	assert_true(reply.has_row);
	assert_int_equal(
	    rlk_stmt_run(other, dialect->row_try, params, &reply, &err),
	    RLK_BUSY);
	assert_true(rlk_conn_usable(other));
	assert_done(
	    rlk_stmt_run(other, dialect->row_probe, page, &reply, &err));
	assert_false(reply.has_row);
	db_exec(holder, "ROLLBACK");
	assert_done(
	    rlk_stmt_run(other, dialect->row_probe, page, &reply, &err));
	assert_true(reply.has_row);
	db_exec(other, "DELETE FROM business_lock WHERE name = 'db-test busy'");
	db_exec(other, "COMMIT");
}

CASE_BOTH("acquire is granted once")
{
	DB_CONN(conn, db_open(NULL, profile));
	const struct rlk_dialect *dialect =
	    rlk_server_dialect(rlk_conn_server(conn));
	struct rlk_value params[] = {
		rlk_text("db-test acquire"),
		rlk_u64(0),
		rlk_u64(2),
		rlk_u64(11),
		rlk_null(),
		rlk_text("info"),
	};
	struct rlk_reply reply;

	db_exec(conn, "DELETE FROM business_lease WHERE name = "
		      "'db-test acquire'");
	for (uint64_t attempt = 11; attempt < 14; attempt++) {
		params[3] = rlk_u64(attempt);
		if (attempt == 12)
			params[4] = rlk_u64(5000000);
		assert_done(rlk_stmt_run(conn, dialect->lease_acquire, params,
					 &reply, &err));
		if (!dialect->lease_acquire_returns_row) {
			assert_int_equal(reply.affected, attempt == 11);
			continue;
		}
		assert_true(reply.has_row);
		assert_int_equal(reply.columns[0].u64, 11);
	}
	db_exec(conn, "DELETE FROM business_lease WHERE name = "
		      "'db-test acquire'");
}

CASE_BOTH("asking again does not wait behind a guard")
{
	DB_CONN(guard, db_open(NULL, &db_row));
	DB_CONN(conn, db_open(NULL, profile));
	const struct rlk_dialect *dialect =
	    rlk_server_dialect(rlk_conn_server(conn));
	const struct rlk_value params[] = {
		rlk_text("db-test again"),
		rlk_u64(0),
		rlk_u64(2),
		rlk_u64(12),
		rlk_null(),
		rlk_null(),
	};
	struct rlk_reply reply;

	db_exec(conn, "DELETE FROM business_lease WHERE name = "
		      "'db-test again'");
	db_exec(conn, "INSERT INTO business_lease (name, slot, session, "
		      "attempt, acquired_at) VALUES ('db-test again', 0, 1, 1, "
		      "UTC_TIMESTAMP(6))");
	db_exec(guard, "SELECT name FROM business_lease WHERE name = "
		       "'db-test again' AND slot = 0 FOR UPDATE");
	/* It would answer RLK_BUSY after a second if it touched the lock. */
	assert_done(
	    rlk_stmt_run(conn, dialect->lease_again, params, &reply, &err));
	assert_int_equal(reply.affected, 0);
	db_exec(guard, "ROLLBACK");
	db_exec(conn, "DELETE FROM business_lease WHERE name = "
		      "'db-test again'");
	assert_done(
	    rlk_stmt_run(conn, dialect->lease_again, params, &reply, &err));
	assert_int_equal(reply.affected, 1);
	db_exec(conn, "DELETE FROM business_lease WHERE name = "
		      "'db-test again'");
}

static void count_row(const struct rlk_value *columns, void *arg)
{
	uint64_t *next = arg;

	assert_int_equal(columns[0].u64, *next);
	(*next)++;
}

CASE_BOTH("each row is seen, in order")
{
	static const struct rlk_stmt_def def = {
		"each",
		"SELECT CAST(n AS UNSIGNED) FROM (SELECT 2 n UNION SELECT 1 "
		"UNION SELECT 3) t ORDER BY 1",
	};
	static const struct rlk_stmt_def none = {
		"none",
		"SELECT 1 FROM DUAL WHERE FALSE",
	};
	DB_CONN(conn, db_open(NULL, profile));
	uint64_t next = 1;

	for (int i = 0; i < 2; i++) {
		next = 1;
		assert_done(
		    rlk_stmt_each(conn, &def, NULL, count_row, &next, &err));
		assert_int_equal(next, 4);
	}
	assert_done(rlk_stmt_each(conn, &none, NULL, count_row, &next, &err));
	assert_int_equal(next, 4);
}

static void run_another(const struct rlk_value *columns, void *arg)
{
	static const struct rlk_stmt_def other = { "other", "SELECT ? + 1" };
	struct rlk_conn **conn = arg;
	struct rlk_reply reply;

	assert_done(rlk_stmt_run(*conn, &other, columns, &reply, &err));
}

CASE_BOTH("the reader of rows may run other statements")
{
	static const struct rlk_stmt_def def = {
		"rows",
		"SELECT CAST(n AS UNSIGNED) FROM (SELECT 2 n UNION SELECT 1 "
		"UNION SELECT 3) t ORDER BY 1",
	};
	DB_CONN(conn, db_open(NULL, profile));
	uint64_t before = status(conn, "QUESTIONS");

	assert_done(rlk_stmt_each(conn, &def, NULL, run_another, &conn, &err));
	assert_int_equal(status(conn, "QUESTIONS") - before, 1 + 3 + 1);
}

CASE_BOTH("the server tells the time")
{
	DB_CONN(conn, db_open(NULL, profile));
	int64_t first;
	int64_t second;

	assert_done(rlk_conn_server_time(conn, &first, &err));
	assert_done(rlk_conn_server_time(conn, &second, &err));
	assert_true(first > INT64_C(1700000000000000));
	assert_true(second >= first);
	assert_done(rlk_conn_ping(conn, &err));
}

/* People see by it which of the server's connections waits for what. */
CASE_BOTH("a statement that waits tells its program")
{
	static const struct rlk_stmt_def defs[] = {
		{ "waits",
		  "SELECT INFO FROM information_schema.PROCESSLIST "
		  "WHERE ID = CONNECTION_ID() AND ? = 7",
		  .waits = true },
		{ "does not", "SELECT INFO FROM information_schema.PROCESSLIST "
			      "WHERE ID = CONNECTION_ID() AND ? = 7" },
	};
	static const char end[] = " /* rowlock my job_/_[42]@db_7 */";
	const struct rlk_value params[] = { rlk_u64(7) };
	struct rlk_conn_target target = db_target(NULL);
	DB_CONN(conn, NULL);
	struct rlk_reply reply;

	target.who = "my job*/?[42]@db'7";
	assert_int_equal(rlk_conn_open(&target, profile,
				       db_in(test_patience_ms()), &conn, &err),
			 0);
	for (int i = 0; i < 4; i++) {
		const char *info;

		assert_done(
		    rlk_stmt_run(conn, &defs[i % 2], params, &reply, &err));
		info = reply.columns[0].text;
		assert_true(strlen(info) > strlen(end));
		if (i % 2)
			assert_null(strstr(info, "/*"));
		else
			assert_string_equal(info + strlen(info) - strlen(end),
					    end);
	}
}

CASE_BOTH("a dead connection says so")
{
	DB_CONN(conn, db_open(NULL, profile));
	DB_CONN(other, db_open(NULL, profile));
	struct rlk_reply reply;
	char sql[64];

	snprintf(sql, sizeof(sql), "KILL %llu",
		 (unsigned long long) rlk_conn_id(conn));
	db_exec(other, sql);
	assert_int_equal(rlk_stmt_text(conn, "DO 1", &err), RLK_UNKNOWN);
	assert_code(err.code, ROWLOCK_ECONNECT, NULL);
	assert_false(rlk_conn_usable(conn));
	assert_int_equal(rlk_stmt_text(conn, "DO 1", &err), RLK_FAILED);
	assert_int_equal(rlk_stmt_resume(conn, &reply, &err), RLK_FAILED);
}

CASE_MAIN(db_main_own)
