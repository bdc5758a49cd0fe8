/* SPDX-License-Identifier: MIT */
/*
 * Packets: several statements in one text, for many rows each; what each has
 * done, and what of it is known when it ends in the middle.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/conn_fence.h"
#include "db/packet.h"
#include "db_test.h"

static const struct rlk_conn_profile packets = { "lease", true, 1, 30, true };

static const struct rlk_many_def insert = {
	"insert",
	"INSERT INTO business_lease (name, slot, session, attempt, "
	"acquired_at, info) VALUES "
	"{(?0, 0, 4711, ?1, UTC_TIMESTAMP(6), ?2)|, }",
};
static const struct rlk_many_def read_back = {
	"read",
	"SELECT name, attempt, info, CAST(-5 AS SIGNED) FROM business_lease "
	"WHERE session = 4711 AND name IN ({?0|, }) ORDER BY attempt",
};
static const struct rlk_many_def delete = {
	"delete",
	"DELETE FROM business_lease WHERE session = 4711 AND "
	"(name IN ({?0|, }) OR attempt IN ({?1|, }))",
};
static const struct rlk_many_def nap = { "nap", "SELECT {SLEEP(?1)|, }" };
static const struct rlk_many_def mistake = { "mistake",
					     "SELECT nonsense {?1|, }" };
static const struct rlk_many_def draw = {
	"draw",
	"UPDATE business_lease SET attempt = LAST_INSERT_ID(attempt) "
	"WHERE session = 4711 AND attempt IN ({?1|, })",
};
static const struct rlk_many_def lock_row = {
	"lock",
	"UPDATE business_lease SET info = info WHERE name IN ({?0|, }) "
	"AND slot = 0",
};

struct row {
	const char *name;
	uint64_t attempt;
	const char *info;
};

static void values_of(const void *rows, size_t row, struct rlk_value *values)
{
	const struct row *of = rows;

	values[0] = rlk_text(of[row].name);
	values[1] = rlk_u64(of[row].attempt);
	values[2] = rlk_text(of[row].info);
}

static int add(struct rlk_packet *packet, const struct rlk_many_def *def,
	       const struct row *rows, size_t count)
{
	int number = rlk_packet_add(packet, def, values_of, rows, count);

	assert_true(number >= 0);
	return number;
}

static struct rlk_conn *open_one(void)
{
	struct rlk_conn *conn = db_open(NULL, &packets);

	db_exec(conn, "DELETE FROM business_lease WHERE session = 4711");
	return conn;
}

static void close_one(struct rlk_conn *conn)
{
	db_exec(conn, "DELETE FROM business_lease WHERE session = 4711");
	rlk_conn_close(conn);
}

/* What came back, compared with @rows in their order. */
struct check {
	const struct row *rows;
	size_t seen;
};

static void compare(const struct rlk_value *columns, void *arg)
{
	struct check *check = arg;
	const struct row *row = &check->rows[check->seen++];

	assert_string_equal(columns[0].text, row->name);
	assert_int_equal(columns[0].length, strlen(row->name));
	assert_int_equal(columns[1].type, RLK_U64);
	assert_true(columns[1].u64 == row->attempt);
	assert_int_equal(columns[2].type, row->info ? RLK_TEXT : RLK_NULL);
	if (row->info)
		assert_string_equal(columns[2].text, row->info);
	assert_int_equal(columns[3].type, RLK_I64);
	assert_true(columns[3].i64 == -5);
	/* What was not asked for reads as nothing. */
	assert_int_equal(columns[4].type, RLK_NULL);
	assert_string_equal(columns[4].text, "");
}

static void check_rows(struct rlk_packet *packet, int number,
		       const struct row *rows, size_t count)
{
	struct check check = { rows, 0 };

	rlk_packet_each(packet, number, compare, &check);
	assert_int_equal(check.seen, count);
}

CASE("each statement tells what it has done")
{
	static const struct row rows[] = {
		{ "db-packet a", 1, NULL },
		{ "db-packet b", UINT64_MAX, "some words" },
	};
	struct rlk_conn *conn = open_one();

	/* Twice: nothing of the first is left in the second. */
	for (int i = 0; i < 2; i++) {
		struct rlk_packet *packet = rlk_packet_begin(conn);
		int made = add(packet, &insert, rows, 2);
		int seen = add(packet, &read_back, rows, 2);
		int drawn = add(packet, &draw, &rows[1], 1);
		int gone = add(packet, &delete, rows, 2);

		assert_int_equal(rlk_packet_answered(packet), 0);
		assert_done(rlk_packet_run(packet, &err));
		assert_int_equal(rlk_packet_answered(packet), 4);
		assert_true(rlk_packet_affected(packet, made) == 2);
		check_rows(packet, made, rows, 0);
		check_rows(packet, seen, rows, 2);
		assert_true(rlk_packet_affected(packet, seen) == 0);
		assert_true(rlk_packet_insert_id(packet, drawn) == UINT64_MAX);
		assert_true(rlk_packet_affected(packet, gone) == 2);
		assert_true(rlk_conn_usable(conn));
	}
	close_one(conn);
}

/* As many as a group has, and a bit of each kind of text. */
CASE("hundreds of rows pass")
{
	struct rlk_conn *conn = open_one();
	struct rlk_packet *packet = rlk_packet_begin(conn);
	static char names[256][4 * 100 + 1];
	static char info[4 * 255 + 1];
	static struct row rows[256];
	int seen;

	*info = '\0';
	for (int i = 0; i < 255; i++)
		strcat(info, "\xf0\x9f\x94\x92");
	for (size_t i = 0; i < 256; i++) {
		snprintf(names[i], sizeof(names[i]), "%03zu", i);
		for (int n = 0; n < 97; n++)
			strcat(names[i], "\xf0\x9f\x94\x92");
		rows[i] = (struct row){ names[i], i + 1, info };
	}
	add(packet, &insert, rows, 256);
	seen = add(packet, &read_back, rows, 256);
	assert_done(rlk_packet_run(packet, &err));
	check_rows(packet, seen, rows, 256);
	close_one(conn);
}

CASE("statements are counted")
{
	static const struct row rows[] = { { "db-packet", 1, NULL } };
	struct rlk_conn *conn = open_one();
	struct rlk_packet *packet = rlk_packet_begin(conn);

	for (int i = 0; i < RLK_PACKET_STATEMENTS; i++)
		assert_int_equal(add(packet, &draw, rows, 1), i);
	assert_int_equal(rlk_packet_add(packet, &draw, values_of, rows, 1), -1);
	assert_done(rlk_packet_run(packet, &err));
	assert_int_equal(rlk_packet_answered(packet), RLK_PACKET_STATEMENTS);
	close_one(conn);
}

static const struct row nasty[] = {
	{ "'", 1, "''" },
	{ "\\", 2, "\\\\'" },
	{ "a'; DROP TABLE business_lease; -- ", 3, "\\'; SELECT 1; -- " },
	{ "\"?0{|}", 4, "?1 {?0|, }" },
	{ "na\xc3\xafve \xf0\x9f\x94\x92", 5, "\xe2\x80\x99\\" },
	{ "%_\\%\\_", 6, "" },
	{ "\xc2\xa5\xef\xbc\x87", 7, "\n\t\x1a\"" },
};

static void check_nasty(struct rlk_conn *conn)
{
	struct rlk_packet *packet = rlk_packet_begin(conn);
	size_t count = sizeof(nasty) / sizeof(nasty[0]);
	int seen;
	int gone;

	add(packet, &insert, nasty, count);
	seen = add(packet, &read_back, nasty, count);
	gone = add(packet, &delete, nasty, count);
	assert_done(rlk_packet_run(packet, &err));
	check_rows(packet, seen, nasty, count);
	assert_true(rlk_packet_affected(packet, gone) == count);
}

CASE("names stay what they are")
{
	struct rlk_conn *conn = open_one();

	check_nasty(conn);
	/* Our sessions do not have it, but a proxy may lend us another's. */
	db_exec(conn, "SET sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'");
	check_nasty(conn);
	close_one(conn);
}

CASE("what came before an error counts")
{
	static const struct row rows[] = {
		{ "db-packet one", 1, NULL },
		{ "db-packet two", 2, NULL },
	};
	struct rlk_conn *conn = open_one();

	for (int i = 0; i < 2; i++) {
		struct rlk_packet *packet = rlk_packet_begin(conn);
		int made = add(packet, &insert, rows, 1);

		add(packet, &mistake, rows, 2);
		add(packet, &insert, &rows[1], 1);
		assert_int_equal(rlk_packet_run(packet, &err), RLK_REFUSED);
		assert_says(err.message, "mistake");
		assert_int_equal(rlk_packet_answered(packet), 1);
		assert_true(rlk_packet_affected(packet, made) == 1);
		/* And the connection can be used at once. */
		assert_true(rlk_conn_usable(conn));
		assert_int_equal(
		    db_number(conn, "SELECT COUNT(*) FROM business_lease "
				    "WHERE session = 4711"),
		    1);
		packet = rlk_packet_begin(conn);
		add(packet, &delete, rows, 1);
		assert_done(rlk_packet_run(packet, &err));
	}
	close_one(conn);
}

/* Somebody between us and the server has begun one. */
CASE("what is not committed does not count")
{
	static const struct row rows[] = {
		{ "db-packet one", 1, NULL },
		{ "db-packet two", 2, NULL },
	};

	for (size_t with_error = 0; with_error < 2; with_error++) {
		DB_CONN(conn, open_one());
		struct rowlock_errinfo error = { 0 };
		struct rlk_packet *packet = rlk_packet_begin(conn);

		db_exec(conn, "BEGIN");
		add(packet, &insert, rows, 1);
		add(packet, with_error ? &mistake : &insert, &rows[1], 1);
		assert_int_equal(rlk_packet_run(packet, &error), RLK_UNKNOWN);
		assert_says(error.message, "transaction");
		assert_int_equal(rlk_packet_answered(packet), 0);
		assert_false(rlk_conn_usable(conn));
	}
}

CASE("a first error leaves nothing")
{
	static const struct row rows[] = { { "db-packet", 1, NULL } };
	struct rlk_conn *conn = open_one();
	struct rlk_packet *packet = rlk_packet_begin(conn);

	add(packet, &mistake, rows, 1);
	add(packet, &insert, rows, 1);
	assert_int_equal(rlk_packet_run(packet, &err), RLK_REFUSED);
	assert_int_equal(rlk_packet_answered(packet), 0);
	assert_true(rlk_conn_usable(conn));
	assert_int_equal(db_number(conn, "SELECT COUNT(*) FROM business_lease "
					 "WHERE session = 4711"),
			 0);
	close_one(conn);
}

/* Somebody's transaction has the row of the second statement. */
struct scene {
	struct rlk_conn *holder;
	struct rlk_conn *conn;
	struct rlk_conn *third;
	struct rlk_packet *packet;
};

static const struct row wanted[] = { { "db-packet wanted", 7, NULL } };
static const struct row other[] = { { "db-packet other", 8, NULL } };
static const struct row last[] = { { "db-packet last", 9, NULL } };

/* The second statement waits until the deadline, 50 ms or as long as another
 * session needs to see it wait. */
static struct scene scene_open(void)
{
	static const struct rlk_conn_profile patient = { "lease", true, 60, 90,
							 true };
	struct scene scene = {
		db_open(NULL, &db_row),
		db_open(NULL, &patient),
		open_one(),
		NULL,
	};

	scene.packet = rlk_packet_begin(scene.conn);
	add(scene.packet, &insert, wanted, 1);
	assert_done(rlk_packet_run(scene.packet, &err));
	db_exec(scene.holder, "UPDATE business_lease SET info = 'x' WHERE "
			      "name = 'db-packet wanted' AND slot = 0");
	scene.packet = rlk_packet_begin(scene.conn);
	add(scene.packet, &insert, other, 1);
	add(scene.packet, &lock_row, wanted, 1);
	add(scene.packet, &insert, last, 1);
	rlk_conn_set_until(scene.conn, db_in(50));
	assert_int_equal(rlk_packet_run(scene.packet, &err), RLK_PENDING);
	db_await_lock_wait(scene.third);
	/* The answer of the first may still be on its way. */
	rlk_conn_set_until(scene.conn, db_in(50));
	assert_int_equal(rlk_packet_resume(scene.packet, &err), RLK_PENDING);
	assert_false(rlk_conn_usable(scene.conn));
	rlk_conn_set_until(scene.conn, db_in(test_patience_ms()));
	return scene;
}

static void scene_close(struct scene *scene)
{
	rlk_conn_close(scene->conn);
	rlk_conn_close(scene->holder);
	close_one(scene->third);
}

static uint64_t rows_now(struct rlk_conn *conn)
{
	return db_number(conn, "SELECT COUNT(*) FROM business_lease WHERE "
			       "session = 4711");
}

CASE("a packet goes on after its deadline")
{
	struct scene scene = scene_open();

	assert_in_range(rlk_packet_answered(scene.packet), 0, 1);
	db_exec(scene.holder, "COMMIT");
	assert_done(rlk_packet_resume(scene.packet, &err));
	assert_int_equal(rlk_packet_answered(scene.packet), 3);
	assert_true(rlk_packet_affected(scene.packet, 0) == 1);
	assert_true(rlk_packet_affected(scene.packet, 2) == 1);
	assert_true(rlk_conn_usable(scene.conn));
	assert_int_equal(rows_now(scene.third), 3);
	scene_close(&scene);
}

CASE("an interrupted packet keeps what is done")
{
	struct scene scene = scene_open();
	struct rlk_mark mark;

	rlk_conn_mark(scene.conn, &mark);
	assert_done(rlk_conn_kill_query(scene.third, &mark, &err));
	assert_int_equal(rlk_packet_resume(scene.packet, &err), RLK_KILLED);
	assert_int_equal(rlk_packet_answered(scene.packet), 1);
	assert_true(rlk_conn_usable(scene.conn));
	assert_int_equal(rows_now(scene.third), 2);
	/* The next one finds nothing of it. */
	scene.packet = rlk_packet_begin(scene.conn);
	add(scene.packet, &insert, last, 1);
	assert_done(rlk_packet_run(scene.packet, &err));
	scene_close(&scene);
}

CASE("a killed session leaves it open")
{
	struct scene scene = scene_open();
	struct rlk_mark mark;

	rlk_conn_mark(scene.conn, &mark);
	assert_done(rlk_conn_fence(scene.third, &mark, RLK_NEVER, &err));
	assert_int_equal(rlk_packet_resume(scene.packet, &err), RLK_UNKNOWN);
	assert_in_range(rlk_packet_answered(scene.packet), 0, 1);
	assert_false(rlk_conn_usable(scene.conn));
	/* Fenced: what is there now is all that there will be. */
	assert_int_equal(rows_now(scene.third), 2);
	/* Nothing is sent on it any more. */
	scene.packet = rlk_packet_begin(scene.conn);
	add(scene.packet, &insert, last, 1);
	assert_int_equal(rlk_packet_run(scene.packet, &err), RLK_FAILED);
	scene_close(&scene);
}

CASE("a packet that is given up ends its connection")
{
	struct scene scene = scene_open();

	assert_false(rlk_conn_usable(scene.conn));
	scene_close(&scene);
}

/* The server's answer ends, or stops, after each so many bytes. */
CASE("an answer that is cut anywhere is no answer")
{
	char name[40];
	const struct row rows[] = { { name, 1, "words" } };
	struct rlk_conn *third = open_one();
	struct relay *relay = relay_start(RELAY_STRAIGHT, NULL);
	bool whole = false;
	size_t bytes;

	for (bytes = 0; !whole; bytes += 7) {
		DB_CONN(conn, db_open(relay_dsn(relay), &packets));
		struct rlk_packet *packet = rlk_packet_begin(conn);
		struct rowlock_errinfo error = { 0 };
		enum rlk_fault fault;

		/* The one before may still be there. */
		snprintf(name, sizeof(name), "db-packet %04zu", bytes);
		add(packet, &insert, rows, 1);
		add(packet, &read_back, rows, 1);
		add(packet, &delete, rows, 1);
		relay_stop_after(relay, bytes, true);
		fault = rlk_packet_run(packet, &error);
		whole = fault == RLK_DONE;
		if (!whole) {
			assert_int_equal(fault, RLK_UNKNOWN);
			assert_in_range(rlk_packet_answered(packet), 0, 2);
			assert_false(rlk_conn_usable(conn));
		}
		relay_stop_after(relay, SIZE_MAX, false);
	}
	assert_true(bytes > 70);
	relay_end(relay);
	close_one(third);
}

CASE("a connection without leave refuses packets")
{
	static const struct row rows[] = { { "db-packet x", 1, NULL } };
	struct rlk_conn *third = open_one();
	struct rlk_conn *conn = db_open(NULL, &db_lease);
	struct rlk_packet *packet = rlk_packet_begin(conn);

	/* As by a proxy that does not let several statements pass. */
	add(packet, &insert, rows, 1);
	add(packet, &delete, rows, 1);
	assert_int_equal(rlk_packet_run(packet, &err), RLK_REFUSED);
	assert_int_equal(err.mysql, 1064);
	assert_int_equal(rlk_packet_answered(packet), 0);
	assert_true(rlk_conn_usable(conn));
	assert_int_equal(rows_now(third), 0);
	rlk_conn_close(conn);
	close_one(third);
}

CASE("answers in pieces are not mixed up")
{
	static const struct row zero[] = { { "", 0, NULL } };
	static const struct row rows[] = { { "db-packet x", 1, NULL } };
	DB_RELAY(relay, relay_start(RELAY_BYTES, NULL));
	DB_CONN(conn, db_open(relay_dsn(relay), &packets));
	struct rlk_packet *packet = rlk_packet_begin(conn);
	enum rlk_fault fault;
	int seen;

	add(packet, &insert, rows, 1);
	add(packet, &nap, zero, 1);
	seen = add(packet, &read_back, rows, 1);
	add(packet, &delete, rows, 1);
	/* Each millisecond anew, with the answer byte by byte. */
	rlk_conn_set_until(conn, db_in(1));
	fault = rlk_packet_run(packet, &err);
	while (fault == RLK_PENDING) {
		rlk_conn_set_until(conn, db_in(1));
		fault = rlk_packet_resume(packet, &err);
	}
	assert_done(fault);
	check_rows(packet, seen, rows, 1);
	assert_true(rlk_packet_affected(packet, 3) == 1);
}

CASE_MAIN(db_main)
