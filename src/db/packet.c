/* SPDX-License-Identifier: MIT */
/*
 * Building a packet's text, sending it, keeping its answers.
 *
 * Text and not prepared statements, because the number of rows differs from
 * packet to packet, and because only text can carry several statements. What
 * is in quotes has gone through mysql_real_escape_string(), which follows the
 * connection's character set and the server's NO_BACKSLASH_ESCAPES.
 *
 * Failure modes: as for one statement, but in the middle: the answers that came
 * count. A packet whose answers are not read to the end makes the connection
 * unusable, since its stage is not RLK_STAGE_NONE then.
 */
#include "db/packet.h"

#include "db/stmt_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct answer {
	const char *label;
	uint64_t affected;
	uint64_t insert_id;
	MYSQL_RES *result; /* NULL: it has none */
	bool open;         /* behind it a transaction of ours is open */
};

struct rlk_packet {
	struct rlk_conn *conn;
	char *text;
	size_t length;
	size_t room;
	size_t count;
	size_t answered;
	bool open; /* behind the last one, as answer.open */
	struct answer answers[RLK_PACKET_STATEMENTS];
};

static void clear(struct rlk_packet *packet)
{
	for (size_t i = 0; i < packet->answered; i++)
		mysql_free_result(TAKE_PTR(packet->answers[i].result));
	packet->length = 0;
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
	free(conn->packet->text);
	free(TAKE_PTR(conn->packet));
}

/* ----------------------------------------------------------------- text */

/* Room for @more bytes and an end, NULL if there is no memory. */
static char *make_room(struct rlk_packet *packet, size_t more)
{
	size_t room = packet->room ? packet->room : 4096;
	char *text;

	while (room < packet->length + more + 1)
		room *= 2;
	if (room != packet->room) {
		text = realloc(packet->text, room);
		if (!text)
			return NULL;
		packet->text = text;
		packet->room = room;
	}
	return packet->text + packet->length;
}

static bool put(struct rlk_packet *packet, const char *text, size_t length)
{
	char *at = make_room(packet, length);

	if (!at)
		return false;
	memcpy(at, text, length);
	packet->length += length;
	return true;
}

static bool put_quoted(struct rlk_packet *packet, const struct rlk_value *value)
{
	char *at = make_room(packet, 2 * value->length + 2);
	size_t length;

	if (!at)
		return false;
	at[0] = '\'';
	length = mysql_real_escape_string(packet->conn->mysql, at + 1,
					  value->text, value->length);
	if (length > 2 * value->length)
		return false; /* no text in this character set */
	at[1 + length] = '\'';
	packet->length += length + 2;
	return true;
}

static bool put_value(struct rlk_packet *packet, const struct rlk_value *value)
{
	char number[24];
	int length = 0;

	switch (value->type) {
	case RLK_NULL:
		return put(packet, "NULL", 4);
	case RLK_U64:
		length =
		    snprintf(number, sizeof(number), "%" PRIu64, value->u64);
		break;
	case RLK_I64:
		length =
		    snprintf(number, sizeof(number), "%" PRId64, value->i64);
		break;
	case RLK_TEXT:
		return put_quoted(packet, value);
	}
	return put(packet, number, (size_t) length);
}

/* One row's text: from @at to @end, with @row for ?0 to ?9. */
static bool put_row(struct rlk_packet *packet, const char *at, const char *end,
		    const struct rlk_value *row)
{
	while (at < end) {
		const char *mark = memchr(at, '?', (size_t) (end - at));

		if (!mark)
			mark = end;
		if (!put(packet, at, (size_t) (mark - at)))
			return false;
		at = mark;
		if (at == end)
			break;
		if (!put_value(packet, &row[at[1] - '0']))
			return false;
		at += 2;
	}
	return true;
}

/* What a statement is added from. */
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

		if (i > 0 && !put(packet, bar + 1, (size_t) (end - bar - 1)))
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

		if (!put(packet, sql, plain))
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
	size_t before = packet->length;

	if (packet->count == RLK_PACKET_STATEMENTS)
		return -1;
	if ((packet->count && !put(packet, "; ", 2)) ||
	    !put_statement(packet, &from, def->sql)) {
		packet->length = before;
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

/* The statement that is under way has been answered. */
static void keep_answer(struct rlk_packet *packet)
{
	struct rlk_conn *conn = packet->conn;
	struct answer *answer = &packet->answers[packet->answered++];

	answer->result = TAKE_PTR(conn->io.result);
	answer->insert_id = mysql_insert_id(conn->mysql);
	answer->affected =
	    answer->result ? 0 : mysql_affected_rows(conn->mysql);
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
		conn->label = packet->answers[packet->answered].label;
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
		conn->stage = RLK_STAGE_NEXT;
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

	conn->label = packet->answers[0].label;
	if (!rlk_conn_usable(conn))
		return rlk_stage_fail(conn, ROWLOCK_ECONNECT,
				      "the connection is not usable any more",
				      reterr);
	packet->text[packet->length] = '\0';
	conn->stmt = NULL;
	conn->again = false;
	conn->io.result = NULL;
	conn->io.sql = packet->text;
	conn->stage = RLK_STAGE_QUERY;
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

uint64_t rlk_packet_insert_id(const struct rlk_packet *packet, int statement)
{
	return packet->answers[statement].insert_id;
}

/* ----------------------------------------------------------------- rows */

static struct rlk_value value_of(const MYSQL_FIELD *field, const char *text,
				 size_t length)
{
	struct rlk_value value = { .type = RLK_NULL, .text = "" };

	if (!text)
		return value;
	if (!rlk_bind_is_number(field)) {
		value.type = RLK_TEXT;
		value.text = text;
		value.length = length;
	} else if (field->flags & UNSIGNED_FLAG) {
		value.type = RLK_U64;
		value.u64 = strtoull(text, NULL, 10);
	} else {
		value.type = RLK_I64;
		value.i64 = strtoll(text, NULL, 10);
	}
	return value;
}

void rlk_packet_each(struct rlk_packet *packet, int statement, rlk_row_fn fn,
		     void *arg)
{
	MYSQL_RES *result = packet->answers[statement].result;
	struct rlk_value columns[RLK_STMT_COLUMNS];
	const MYSQL_FIELD *fields;
	unsigned int count;
	MYSQL_ROW row;

	if (!result)
		return;
	fields = mysql_fetch_fields(result);
	count = mysql_num_fields(result);
	if (count > RLK_STMT_COLUMNS)
		count = RLK_STMT_COLUMNS;
	while ((row = mysql_fetch_row(result))) {
		const unsigned long *lengths = mysql_fetch_lengths(result);

		for (unsigned int i = 0; i < RLK_STMT_COLUMNS; i++)
			columns[i] =
			    i < count ? value_of(&fields[i], row[i], lengths[i])
				      : (struct rlk_value){ .type = RLK_NULL,
							    .text = "" };
		fn(columns, arg);
	}
}
