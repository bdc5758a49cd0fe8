/* SPDX-License-Identifier: MIT */
/*
 * Checks the answers of a server.
 *
 * Connector/C trusts each length and each count in an answer. Given a
 * definition that is too short, a value that is longer than its row, or a type
 * that does not exist, it reads or writes out of bounds. So each packet of an
 * answer is checked here before Connector/C sees it (intake.c), as in "Text
 * Protocol" and "Prepared Statements" of MySQL Internals, and "Result Set
 * Packets" of the MariaDB documentation. Our statements' answers need only a
 * part of that; the rest is refused.
 *
 * Failure modes: a malformed answer ends the connection, with a reason.
 */
#include "db/answer.h"

#include <string.h>

#include "db/stmt.h"

#define GARBLED "its answer is garbled"
#define OUT_OF_STEP "it answers what was not asked"

/* First bytes. */
#define SAYS_OK 0
#define SAYS_FILE 251 /* it would like to have one (LOAD DATA LOCAL) */
#define SAYS_END 254
#define SAYS_ERROR 255

/* As first bytes of a value: NULL, and what its length's bytes are. */
#define NULL_VALUE 251
#define TWO_BYTES 252 /* and so on: three, eight */

/* Packets that begin with 254 and are shorter end what they are in. */
#define END_SIZE 5
#define LONGER 8

#define PREPARED_SIZE 12
#define ERROR_STATE_SIZE 9 /* an error's, as far as its SQLSTATE goes */
#define PROGRESS 0xffffu   /* the number of one that is none */
#define PROGRESS_SIZE 8

/* Texts before the numbers of a definition, and the numbers. */
#define DEFINITION_TEXTS 6
#define DEFINITION_NUMBERS 12
#define TYPE_AT 6

/* Bytes of its own that Connector/C needs for an answer: per row, per value,
 * and at most for all of it. */
#define ROW_WEIGHT 64
#define VALUE_WEIGHT 9
#define WEIGHT_MOST (4u * 1024u * 1024u)

/* The session's own text may be one of the user (init-command). */
#define TEXT_COLUMNS 256

#define MICROSECONDS_MOST 999999u

/* A packet, from where it was read so far to its end. */
struct rest {
	const unsigned char *at;
	const unsigned char *end;
};

static size_t left(const struct rest *rest)
{
	return (size_t) (rest->end - rest->at);
}

static uint64_t number_at(const unsigned char *at, size_t bytes)
{
	uint64_t number = 0;

	while (bytes--)
		number = number << 8 | at[bytes];
	return number;
}

static bool skip(struct rest *rest, uint64_t count)
{
	if (count > left(rest))
		return false;
	rest->at += count;
	return true;
}

/* A number of 1, 3, 4 or 9 bytes; NULL is none. */
static bool take_number(struct rest *rest, uint64_t *ret_number)
{
	static const size_t sizes[] = { 2, 3, 8 };
	size_t bytes;

	if (!left(rest) || *rest->at == NULL_VALUE || *rest->at == SAYS_ERROR)
		return false;
	*ret_number = *rest->at;
	if (*rest->at++ < TWO_BYTES)
		return true;
	bytes = sizes[*ret_number - TWO_BYTES];
	if (left(rest) < bytes)
		return false;
	*ret_number = number_at(rest->at, bytes);
	rest->at += bytes;
	return true;
}

static bool skip_text(struct rest *rest)
{
	uint64_t length;

	return take_number(rest, &length) && skip(rest, length);
}

/* -------------------------------------------------------------- OK, error */

/* One thing that has changed in the session. */
static bool skip_change(struct rest *rest)
{
	struct rest change;
	uint64_t type, length, encoding;
	int texts = 1;

	if (!take_number(rest, &type) || !take_number(rest, &length) ||
	    length > left(rest))
		return false;
	change = (struct rest){ rest->at, rest->at + length };
	rest->at += length;
	switch ((uint32_t) type) { /* of which Connector/C reads as much */
	case SESSION_TRACK_SYSTEM_VARIABLES:
		texts = 2;
		break;
	case SESSION_TRACK_GTIDS:
		if (!take_number(&change, &encoding))
			return false;
		break;
	case SESSION_TRACK_SCHEMA:
	case SESSION_TRACK_TRANSACTION_CHARACTERISTICS:
	case SESSION_TRACK_TRANSACTION_STATE:
		break;
	default:
		return true; /* read as a whole */
	}
	while (texts--)
		if (!skip_text(&change))
			return false;
	return !left(&change);
}

static bool are_changes(struct rest *rest)
{
	uint64_t length;

	if (!take_number(rest, &length) || length != left(rest))
		return false;
	while (left(rest))
		if (!skip_change(rest))
			return false;
	return true;
}

bool rlk_answer_is_ok(const struct rlk_conn *conn,
		      const struct rlk_frame *frame, unsigned int *ret_status)
{
	struct rest rest = { frame->bytes, frame->bytes + frame->size };
	uint64_t number;

	*ret_status = 0;
	if (!skip(&rest, 1) || !take_number(&rest, &number) ||
	    !take_number(&rest, &number) || left(&rest) < 4)
		return false;
	*ret_status = (unsigned int) number_at(rest.at, 2);
	rest.at += 4;
	if (!left(&rest))
		return true;
	if (!skip_text(&rest)) /* in words */
		return false;
	if (!(conn->mysql->server_capabilities & CLIENT_SESSION_TRACKING) ||
	    !(*ret_status & SERVER_SESSION_STATE_CHANGED) || !left(&rest))
		return !left(&rest);
	return are_changes(&rest);
}

static bool is_progress(const struct rlk_frame *frame)
{
	return frame->size >= 3 && frame->bytes[0] == SAYS_ERROR &&
	       number_at(frame->bytes + 1, 2) == PROGRESS;
}

bool rlk_answer_is_error(const struct rlk_frame *frame)
{
	return frame->size >= 3 && !is_progress(frame) &&
	       (frame->size == 3 || frame->bytes[3] != '#' ||
		frame->size >= ERROR_STATE_SIZE);
}

/* ---------------------------------------------------------------- types */

static bool is_number(unsigned int type)
{
	return type == MYSQL_TYPE_TINY || type == MYSQL_TYPE_SHORT ||
	       type == MYSQL_TYPE_INT24 || type == MYSQL_TYPE_LONG ||
	       type == MYSQL_TYPE_LONGLONG || type == MYSQL_TYPE_YEAR;
}

static bool is_time(unsigned int type)
{
	return type == MYSQL_TYPE_DATE || type == MYSQL_TYPE_TIME ||
	       type == MYSQL_TYPE_DATETIME || type == MYSQL_TYPE_TIMESTAMP;
}

static bool is_text(unsigned int type)
{
	return type == MYSQL_TYPE_DECIMAL || type == MYSQL_TYPE_VARCHAR ||
	       type == MYSQL_TYPE_JSON || type == MYSQL_TYPE_NEWDECIMAL ||
	       (type >= MYSQL_TYPE_ENUM && type <= MYSQL_TYPE_STRING);
}

/* No answer of ours has another: of the rest Connector/C makes texts, in rooms
 * that are not always large enough. */
static bool is_known(unsigned int type)
{
	return is_number(type) || is_time(type) || is_text(type) ||
	       type == MYSQL_TYPE_NULL;
}

/* -------------------------------------------------------------- answers */

static const char *judge_status(struct rlk_answer *answer, unsigned int status)
{
	bool more = status & SERVER_MORE_RESULTS_EXIST;

	if (answer->binary &&
	    (more ||
	     (status & (SERVER_PS_OUT_PARAMS | SERVER_STATUS_CURSOR_EXISTS))))
		return OUT_OF_STEP;
	answer->awaits = more ? RLK_AWAITS_ANSWER : RLK_AWAITS_NOTHING;
	return NULL;
}

static const char *judge_ok(struct rlk_conn *conn,
			    const struct rlk_frame *frame)
{
	unsigned int status;

	if (!rlk_answer_is_ok(conn, frame, &status))
		return GARBLED;
	return judge_status(&conn->io.answer, status);
}

/* The definitions are not sent again: they are as they were. */
static bool recall_columns(struct rlk_conn *conn)
{
	struct rlk_answer *answer = &conn->io.answer;
	const MYSQL_STMT *stmt = conn->io.stmt;

	if (!answer->binary || !stmt->fields ||
	    stmt->field_count != answer->columns)
		return false;
	for (unsigned int i = 0; i < answer->columns; i++) {
		if (!is_known(stmt->fields[i].type))
			return false;
		answer->types[i] = (unsigned char) stmt->fields[i].type;
	}
	return true;
}

static const char *judge_columns(struct rlk_conn *conn,
				 const struct rlk_frame *frame)
{
	struct rlk_answer *answer = &conn->io.answer;
	struct rest rest = { frame->bytes, frame->bytes + frame->size };
	bool told = true;
	uint64_t count;

	if (!take_number(&rest, &count) || count == 0)
		return GARBLED;
	if (count > (answer->binary ? RLK_STMT_COLUMNS : TEXT_COLUMNS))
		return "its answer has more columns than there is room for";
	if (left(&rest) && (conn->extended & RLK_EXTENDED_CACHE_METADATA))
		told = *rest.at++ != 0;
	if (left(&rest))
		return GARBLED;
	answer->columns = (unsigned int) count;
	if (!told && !recall_columns(conn))
		return GARBLED;
	answer->defined = told ? 0 : answer->columns;
	answer->awaits = RLK_AWAITS_COLUMNS;
	return NULL;
}

static const char *judge_answer(struct rlk_conn *conn,
				const struct rlk_frame *frame)
{
	if (frame->bytes[0] == SAYS_OK)
		return judge_ok(conn, frame);
	if (frame->bytes[0] == SAYS_FILE)
		return "it asks for a file";
	return judge_columns(conn, frame);
}

static const char *judge_prepared(struct rlk_answer *answer,
				  const struct rlk_frame *frame)
{
	uint64_t columns, params;

	if (frame->size != PREPARED_SIZE || frame->bytes[0] != SAYS_OK)
		return GARBLED;
	columns = number_at(frame->bytes + 5, 2);
	params = number_at(frame->bytes + 7, 2);
	if (columns > RLK_STMT_COLUMNS || params > RLK_STMT_PARAMS)
		return "its answer has more columns or parameters than there "
		       "is room for";
	answer->columns = (unsigned int) columns;
	answer->params = (unsigned int) params;
	answer->defined = 0;
	answer->awaits = params    ? RLK_AWAITS_PARAMS
			 : columns ? RLK_AWAITS_COLUMNS
				   : RLK_AWAITS_NOTHING;
	return NULL;
}

/* --------------------------------------------------------- definitions */

static bool define(struct rlk_conn *conn, const struct rlk_frame *frame)
{
	struct rlk_answer *answer = &conn->io.answer;
	struct rest rest = { frame->bytes, frame->bytes + frame->size };
	int texts = DEFINITION_TEXTS;
	uint64_t numbers;
	unsigned int type;

	if (conn->extended & RLK_EXTENDED_METADATA)
		texts++;
	while (texts--)
		if (!skip_text(&rest))
			return false;
	if (!take_number(&rest, &numbers) || numbers != DEFINITION_NUMBERS ||
	    left(&rest) != DEFINITION_NUMBERS)
		return false;
	type = rest.at[TYPE_AT];
	/* A prepare's types are provisional; an execute's are final. */
	if (answer->binary) {
		if (!is_known(type))
			return false;
		answer->types[answer->defined] = (unsigned char) type;
	}
	answer->defined++;
	return true;
}

static bool is_end(const struct rlk_frame *frame)
{
	return frame->bytes[0] == SAYS_END && frame->size < LONGER;
}

static const char *judge_definition(struct rlk_conn *conn,
				    const struct rlk_frame *frame)
{
	struct rlk_answer *answer = &conn->io.answer;
	bool params = answer->awaits == RLK_AWAITS_PARAMS;

	if (answer->defined < (params ? answer->params : answer->columns))
		return define(conn, frame) ? NULL : GARBLED;
	if (!is_end(frame) || frame->size != END_SIZE)
		return GARBLED;
	answer->defined = 0;
	if (params && answer->columns)
		answer->awaits = RLK_AWAITS_COLUMNS;
	else if (params || answer->prepares)
		answer->awaits = RLK_AWAITS_NOTHING;
	else
		answer->awaits = RLK_AWAITS_ROWS;
	return NULL;
}

/* ----------------------------------------------------------------- rows */

static bool is_text_row(const struct rlk_answer *answer, struct rest *rest)
{
	for (unsigned int i = 0; i < answer->columns; i++) {
		if (left(rest) && *rest->at == NULL_VALUE)
			rest->at++;
		else if (!skip_text(rest))
			return false;
	}
	return !left(rest);
}

/* Nothing, a date, a date or days with a time, or that with microseconds: more
 * of them than a second has, Connector/C writes beyond their room. */
static bool skip_time(struct rest *rest, unsigned int type)
{
	size_t bytes, whole = type == MYSQL_TYPE_TIME ? 12 : 11;

	if (!left(rest))
		return false;
	bytes = *rest->at++;
	if (left(rest) < bytes)
		return false;
	rest->at += bytes;
	if (bytes == whole)
		return number_at(rest->at - 4, 4) <= MICROSECONDS_MOST;
	return bytes == 0 || bytes == whole - 4 ||
	       (bytes == 4 && type != MYSQL_TYPE_TIME);
}

static bool skip_value(struct rest *rest, unsigned int type)
{
	switch (type) {
	case MYSQL_TYPE_NULL:
		return true;
	case MYSQL_TYPE_TINY:
		return skip(rest, 1);
	case MYSQL_TYPE_SHORT:
	case MYSQL_TYPE_YEAR:
		return skip(rest, 2);
	case MYSQL_TYPE_INT24:
	case MYSQL_TYPE_LONG:
		return skip(rest, 4);
	case MYSQL_TYPE_LONGLONG:
		return skip(rest, 8);
	default:
		return is_time(type) ? skip_time(rest, type) : skip_text(rest);
	}
}

/* A byte, a bit for each column that is NULL, behind two that are none, and the
 * others' values. */
static bool is_binary_row(const struct rlk_answer *answer, struct rest *rest)
{
	const unsigned char *nulls = rest->at + 1;

	if (*rest->at != SAYS_OK || !skip(rest, 1 + (answer->columns + 9) / 8))
		return false;
	for (unsigned int i = 0; i < answer->columns; i++) {
		if (nulls[(i + 2) / 8] & 1u << (i + 2) % 8)
			continue;
		if (!skip_value(rest, answer->types[i]))
			return false;
	}
	return !left(rest);
}

static const char *judge_row(struct rlk_answer *answer,
			     const struct rlk_frame *frame)
{
	struct rest rest = { frame->bytes, frame->bytes + frame->size };

	if (is_end(frame)) {
		if (frame->size != END_SIZE)
			return GARBLED;
		return judge_status(
		    answer, (unsigned int) number_at(frame->bytes + 3, 2));
	}
	if (answer->binary ? is_binary_row(answer, &rest)
			   : is_text_row(answer, &rest))
		return NULL;
	return GARBLED;
}

/* -------------------------------------------------------------- packets */

static bool is_too_much(struct rlk_answer *answer,
			const struct rlk_frame *frame)
{
	answer->weight +=
	    frame->size + ROW_WEIGHT + (size_t) VALUE_WEIGHT * answer->columns;
	return answer->weight > WEIGHT_MOST;
}

const char *rlk_answer_judge(struct rlk_conn *conn,
			     const struct rlk_frame *frame)
{
	struct rlk_answer *answer = &conn->io.answer;

	/* The session begins with text statements only. */
	if (conn->io.call == RLK_CALL_CONNECT &&
	    answer->awaits == RLK_AWAITS_NOTHING)
		rlk_answer_begin(conn);
	if (!frame->size)
		return GARBLED;
	if (is_too_much(answer, frame))
		return "its answer has no end: it has too many rows";
	/* How far an ALTER TABLE has come; there is more to come. */
	if (is_progress(frame))
		return frame->size >= PROGRESS_SIZE ? NULL : GARBLED;
	if (frame->bytes[0] == SAYS_ERROR) {
		answer->awaits = RLK_AWAITS_NOTHING;
		return rlk_answer_is_error(frame) ? NULL : GARBLED;
	}
	switch (answer->awaits) {
	case RLK_AWAITS_NOTHING:
		return OUT_OF_STEP;
	case RLK_AWAITS_OK:
		return frame->bytes[0] == SAYS_OK ? judge_ok(conn, frame)
						  : GARBLED;
	case RLK_AWAITS_ANSWER:
		return judge_answer(conn, frame);
	case RLK_AWAITS_PREPARED:
		return judge_prepared(answer, frame);
	case RLK_AWAITS_PARAMS:
	case RLK_AWAITS_COLUMNS:
		return judge_definition(conn, frame);
	case RLK_AWAITS_ROWS:
		return judge_row(answer, frame);
	}
	return NULL;
}

void rlk_answer_begin(struct rlk_conn *conn)
{
	struct rlk_answer *answer = &conn->io.answer;
	bool over = answer->awaits == RLK_AWAITS_NOTHING;
	enum rlk_call call = conn->io.call;

	*answer = (struct rlk_answer){
		.binary = call == RLK_CALL_EXECUTE,
		.prepares = call == RLK_CALL_PREPARE,
	};
	/* Of what was asked before there is more to come: which is whose? */
	if (!over)
		return;
	if (call == RLK_CALL_PING)
		answer->awaits = RLK_AWAITS_OK;
	else if (call == RLK_CALL_PREPARE)
		answer->awaits = RLK_AWAITS_PREPARED;
	else
		answer->awaits = RLK_AWAITS_ANSWER;
}
