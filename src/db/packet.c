/* SPDX-License-Identifier: MIT */
/*
 * Building a packet's text, sending it, keeping its answers.
 *
 * Text and not prepared statements, because the number of rows differs from
 * packet to packet, and because only text can carry several statements.
 *
 * Failure modes: as for one statement, but in the middle: the answers that came
 * count. A packet whose answers are not read to the end makes the connection
 * unusable, since its stage is not RLK_STAGE_NONE then.
 */
#include "db/packet.h"

#include "db/sql.h"
#include "db/stage.h"
#include "db/stmt_bind.h"

#include <stdlib.h>
#include <string.h>

struct answer {
	const char *label;
	uint64_t affected;
	uint64_t met; /* rows that an INSERT has met and changed */
	uint64_t insert_id;
	MYSQL_RES *result; /* NULL if it has none */
	bool open;         /* behind it a transaction of ours is open */
};

struct rlk_packet {
	struct rlk_conn *conn;
	struct rlk_sql sql;
	size_t count;
	size_t answered;
	bool open; /* behind the last one, as answer.open */
	struct answer answers[RLK_PACKET_STATEMENTS];
};

static void clear(struct rlk_packet *packet)
{
	for (size_t i = 0; i < packet->answered; i++)
		mysql_free_result(TAKE_PTR(packet->answers[i].result));
	packet->sql.length = 0;
	packet->count = 0;
	packet->answered = 0;
	packet->open = false;
}

struct rlk_packet *rlk_packet_begin(struct rlk_conn *conn)
{
	if (!conn->packet)
		conn->packet = calloc(1, sizeof(*conn->packet));
	if (!conn->packet)
		return NULL;
	conn->packet->conn = conn;
	clear(conn->packet);
	return conn->packet;
}

void rlk_packet_drop(struct rlk_conn *conn)
{
	if (!conn->packet)
		return;
	clear(conn->packet);
	rlk_sql_fini(&conn->packet->sql);
	free(TAKE_PTR(conn->packet));
}

/* ----------------------------------------------------------------- text */

/* One row's text: from @at to @end, with @row for ?0 to ?9. */
static bool put_row(struct rlk_packet *packet, const char *at, const char *end,
		    const struct rlk_value *row)
{
	while (at < end) {
		const char *mark = memchr(at, '?', (size_t) (end - at));

		if (!mark)
			mark = end;
		if (!rlk_sql_put(&packet->sql, at, (size_t) (mark - at)))
			return false;
		at = mark;
		if (at == end)
			break;
		if (!rlk_sql_put_value(&packet->sql, &row[at[1] - '0']))
			return false;
		at += 2;
	}
	return true;
}

/* The rows that a statement is made of. */
struct rows {
	rlk_values_fn fn;
	const void *rows;
	size_t count;
};

/* {ROW|BETWEEN}, from behind the brace up to @end. */
static bool put_rows(struct rlk_packet *packet, const struct rows *rows,
		     const char *at, const char *end)
{
	const char *bar = memchr(at, '|', (size_t) (end - at));

	for (size_t i = 0; i < rows->count; i++) {
		struct rlk_value values[RLK_PACKET_VALUES];

		if (i > 0 && !rlk_sql_put(&packet->sql, bar + 1,
					  (size_t) (end - bar - 1)))
			return false;
		rows->fn(rows->rows, i, values);
		if (!put_row(packet, at, bar, values))
			return false;
	}
	return true;
}

static bool put_statement(struct rlk_packet *packet, const struct rows *rows,
			  const char *sql)
{
	while (*sql) {
		size_t plain = strcspn(sql, "{");
		const char *end;

		if (!rlk_sql_put(&packet->sql, sql, plain))
			return false;
		sql += plain;
		if (!*sql)
			break;
		end = strchr(sql, '}');
		if (!put_rows(packet, rows, sql + 1, end))
			return false;
		sql = end + 1;
	}
	return true;
}

int rlk_packet_add(struct rlk_packet *packet, const struct rlk_many_def *def,
		   rlk_values_fn fn, const void *rows, size_t count)
{
	const struct rows from = { fn, rows, count };
	size_t before = packet->sql.length;

	if (packet->count == RLK_PACKET_STATEMENTS)
		return -1;
	if ((packet->count && !rlk_sql_put(&packet->sql, "; ", 2)) ||
	    !put_statement(packet, &from, def->sql)) {
		packet->sql.length = before;
		return -1;
	}
	packet->open = strcmp(def->sql, "BEGIN") == 0 ||
		       (packet->open && strcmp(def->sql, "COMMIT") != 0 &&
			strcmp(def->sql, "ROLLBACK") != 0);
	packet->answers[packet->count] =
	    (struct answer){ .label = def->label, .open = packet->open };
	return (int) packet->count++;
}

/* -------------------------------------------------------------- answers */

/* The second number of "Records: 2  Duplicates: 1  Warnings: 0", in whichever
 * language the server says it. An INSERT of one row has no such words. */
static uint64_t duplicates_of(const char *info)
{
	static const char digits[] = "0123456789";

	if (!info)
		return 0;
	info += strcspn(info, digits);
	info += strspn(info, digits);
	info += strcspn(info, digits);
	return strtoull(info, NULL, 10);
}

/* The statement that is under way has been answered. */
static void keep_answer(struct rlk_packet *packet)
{
	struct rlk_conn *conn = packet->conn;
	struct answer *answer = &packet->answers[packet->answered++];

	answer->result = TAKE_PTR(conn->io.result);
	answer->insert_id = mysql_insert_id(conn->mysql);
	answer->affected =
	    answer->result ? 0 : mysql_affected_rows(conn->mysql);
	answer->met = duplicates_of(mysql_info(conn->mysql));
}

/* One that is not committed is not answered. */
static enum rlk_fault check_commit(struct rlk_packet *packet,
				   struct rowlock_errinfo *reterr)
{
	struct answer *answer = &packet->answers[packet->answered - 1];
	enum rlk_fault fault =
	    answer->open ? RLK_DONE : rlk_stage_committed(packet->conn, reterr);

	if (fault) {
		mysql_free_result(TAKE_PTR(answer->result));
		packet->answered--;
	}
	return fault;
}

static enum rlk_fault advance(struct rlk_packet *packet,
			      struct rowlock_errinfo *reterr)
{
	struct rlk_conn *conn = packet->conn;
	enum rlk_fault fault;

	for (;;) {
		conn->run.label = packet->answers[packet->answered].label;
		fault = rlk_stage_advance(conn, reterr);
		if (fault)
			return fault;
		keep_answer(packet);
		fault = check_commit(packet, reterr);
		if (fault)
			return fault;
		if (packet->answered == packet->count)
			break;
		/* One that was not asked for: which answer is whose? */
		if (!mysql_more_results(conn->mysql))
			break;
		conn->run.stage = RLK_STAGE_NEXT;
	}
	if (packet->answered == packet->count &&
	    !mysql_more_results(conn->mysql))
		return RLK_DONE;
	conn->dead = true;
	rlk_stage_fail(conn, ROWLOCK_EDB, "not as many answers as statements",
		       reterr);
	return RLK_UNKNOWN;
}

enum rlk_fault rlk_packet_run(struct rlk_packet *packet,
			      struct rowlock_errinfo *reterr)
{
	struct rlk_conn *conn = packet->conn;

	conn->run.label = packet->answers[0].label;
	if (!rlk_conn_usable(conn))
		return rlk_stage_fail(conn, ROWLOCK_ECONNECT,
				      "the connection is not usable any more",
				      reterr);
	conn->run.stmt = NULL;
	conn->run.again = false;
	conn->io.result = NULL;
	conn->io.sql = rlk_sql_end(&packet->sql);
	conn->run.stage = RLK_STAGE_QUERY;
	return advance(packet, reterr);
}

enum rlk_fault rlk_packet_resume(struct rlk_packet *packet,
				 struct rowlock_errinfo *reterr)
{
	return advance(packet, reterr);
}

size_t rlk_packet_answered(const struct rlk_packet *packet)
{
	return packet->answered;
}

uint64_t rlk_packet_affected(const struct rlk_packet *packet, int statement)
{
	return packet->answers[statement].affected;
}

uint64_t rlk_packet_made(const struct rlk_packet *packet, int statement)
{
	const struct answer *answer = &packet->answers[statement];

	return answer->affected < 2 * answer->met
		   ? 0
		   : answer->affected - 2 * answer->met;
}

uint64_t rlk_packet_insert_id(const struct rlk_packet *packet, int statement)
{
	return packet->answers[statement].insert_id;
}

/* ----------------------------------------------------------------- rows */

void rlk_packet_each(struct rlk_packet *packet, int statement, rlk_row_fn fn,
		     void *arg)
{
	MYSQL_RES *result = packet->answers[statement].result;
	struct rlk_value columns[RLK_STMT_COLUMNS];

	if (result)
		mysql_data_seek(result, 0);
	while (result && rlk_bind_next(result, columns))
		fn(columns, arg);
}
