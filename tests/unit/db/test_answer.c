/* SPDX-License-Identifier: MIT */
/*
 * Answers as servers give them, and what is wrong with others: each is refused
 * at the packet that makes it wrong. And streams that come in pieces.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "case.h"
#include "db/answer.h"
#include "db/conn_private.h"

/* A packet without its header. */
struct said {
	const char *bytes;
	size_t size;
};
#define P(text)                                                                \
	{                                                                      \
		text, sizeof(text) - 1                                         \
	}
#define PACKETS 8

struct talk {
	enum rlk_call call;
	struct said packets[PACKETS]; /* ended by one without bytes */
};

#define OK "\0\0\0\2\0\0\0"
#define OK_MORE "\0\0\0\12\0\0\0"
#define ERROR "\377\5\4#42000no"
#define END "\376\0\0\2\0"
#define END_MORE "\376\0\0\12\0"
#define END_OUT "\376\0\0\2\20" /* parameters that came out */
#define END_CURSOR "\376\0\0\102\0"

/* Definitions: names, and the numbers, with the column's type. */
#define NAMES "\3def\1d\1t\1t\1c\1c"
#define COLUMN(type) NAMES "\14\77\0\1\0\0\0" type "\0\0\0\0\0"
#define BIG COLUMN("\10")
#define TEXT COLUMN("\375")
#define STAMP COLUMN("\14")
#define TIME COLUMN("\13")
#define DOUBLE COLUMN("\5")
#define UNKNOWN COLUMN("\310")
#define PREPARED(columns, params) "\0\1\0\0\0" columns "\0" params "\0\0\0\0"

/* A row of one text, and of one number. */
#define WORD "\4word"
#define SEVEN "\0\0\7\0\0\0\0\0\0\0"

static const struct talk good[] = {
	{ RLK_CALL_PING, { P(OK) } },
	{ RLK_CALL_PING, { P(ERROR) } },
	{ RLK_CALL_QUERY, { P(OK) } },
	{ RLK_CALL_QUERY, { P(OK_MORE), P(OK) } },
	{ RLK_CALL_QUERY, { P(OK_MORE), P(ERROR) } },
	{ RLK_CALL_QUERY, { P("\0\374\1\2\375\1\2\3\2\0\0\0\4word") } },
	{ RLK_CALL_QUERY, { P("\1"), P(TEXT), P(END), P(WORD), P(END) } },
	{ RLK_CALL_QUERY, { P("\1"), P(TEXT), P(END), P("\373"), P(END) } },
	{ RLK_CALL_QUERY, { P("\1"), P(UNKNOWN), P(END), P(END) } },
	{ RLK_CALL_QUERY, { P("\1"), P(TEXT), P(END), P(END_MORE), P(OK) } },
	{ RLK_CALL_QUERY, { P("\1"), P(TEXT), P(END), P(WORD), P(ERROR) } },
	/* How far it is, between the packets. */
	{ RLK_CALL_QUERY, { P("\377\377\377\1\1\1\0\0\0\0"), P(OK) } },
	{ RLK_CALL_PREPARE, { P(PREPARED("\0", "\0")) } },
	{ RLK_CALL_PREPARE, { P(PREPARED("\0", "\1")), P(TEXT), P(END) } },
	{ RLK_CALL_PREPARE,
	  { P(PREPARED("\1", "\1")), P(TEXT), P(END), P(DOUBLE), P(END) } },
	{ RLK_CALL_PREPARE, { P(ERROR) } },
	{ RLK_CALL_EXECUTE, { P(OK) } },
	{ RLK_CALL_EXECUTE, { P("\1"), P(BIG), P(END), P(SEVEN), P(END) } },
	{ RLK_CALL_EXECUTE, { P("\1"), P(BIG), P(END), P("\0\4"), P(END) } },
	{ RLK_CALL_EXECUTE,
	  { P("\1"), P(TEXT), P(END), P("\0\0" WORD), P(END) } },
	{ RLK_CALL_EXECUTE,
	  { P("\1"), P(STAMP), P(END), P("\0\0\0"), P("\0\0\4\352\7\13\32"),
	    P("\0\0\7\352\7\13\32\14\0\0"),
	    P("\0\0\13\352\7\13\32\14\0\0\77\102\17\0"), P(END) } },
	{ RLK_CALL_EXECUTE,
	  { P("\1"), P(TIME), P(END), P("\0\0\10\1\1\0\0\0\14\0\0"),
	    P("\0\0\14\1\1\0\0\0\14\0\0\77\102\17\0"), P(END) } },
};

/* The last packet of each is the one that is refused. */
static const struct talk bad[] = {
	/* More than was asked, or less, or something else. */
	{ RLK_CALL_PING, { P(OK), P(OK) } },
	{ RLK_CALL_PING, { P("\1") } },
	{ RLK_CALL_PING, { P("") } },
	{ RLK_CALL_QUERY, { P(OK), P("\1") } },
	{ RLK_CALL_QUERY, { P("\373file") } },
	{ RLK_CALL_QUERY, { P("\1"), P(TEXT), P(END), P(END), P(END) } },
	{ RLK_CALL_EXECUTE, { P(OK_MORE) } },
	{ RLK_CALL_EXECUTE, { P("\1"), P(BIG), P(END), P(END_MORE) } },
	{ RLK_CALL_EXECUTE, { P("\1"), P(BIG), P(END), P(END_OUT) } },
	{ RLK_CALL_EXECUTE, { P("\1"), P(BIG), P(END), P(END_CURSOR) } },
	{ RLK_CALL_PREPARE, { P(OK) } },
	{ RLK_CALL_PREPARE, { P(PREPARED("\0", "\0")), P(TEXT) } },
	/* What is done, and what has failed. */
	{ RLK_CALL_QUERY, { P("\0\0\0\2\0\0") } },
	{ RLK_CALL_QUERY, { P("\0\374\1") } },
	{ RLK_CALL_QUERY, { P("\0\373\0\2\0\0\0") } },
	{ RLK_CALL_QUERY, { P("\0\0\0\2\0\0\0\5word") } },
	{ RLK_CALL_QUERY, { P("\0\0\0\2\0\0\0\4wordy") } },
	{ RLK_CALL_QUERY, { P("\377\5") } },
	{ RLK_CALL_QUERY, { P("\377\5\4#42") } },
	{ RLK_CALL_QUERY, { P("\377\377\377\1\1\1\0") } },
	/* Counts. */
	{ RLK_CALL_QUERY, { P("\374\1\1") } },
	{ RLK_CALL_QUERY, { P("\375\377\377\377") } },
	{ RLK_CALL_QUERY, { P("\376\377\377\377\377\377\377\377\377") } },
	{ RLK_CALL_QUERY, { P("\1\1") } },
	{ RLK_CALL_QUERY, { P("\374\1") } },
	{ RLK_CALL_QUERY, { P("\1"), P(END) } },
	{ RLK_CALL_QUERY, { P("\1"), P(TEXT), P(TEXT) } },
	{ RLK_CALL_EXECUTE, { P("\25") } },
	{ RLK_CALL_PREPARE, { P(PREPARED("\25", "\0")) } },
	{ RLK_CALL_PREPARE, { P(PREPARED("\0", "\15")) } },
	{ RLK_CALL_PREPARE, { P(PREPARED("\1", "\1")), P(TEXT), P(TEXT) } },
	{ RLK_CALL_PREPARE, { P(PREPARED("\1", "\1") "\0") } },
	/* Definitions. */
	{ RLK_CALL_QUERY, { P("\1"), P(NAMES) } },
	{ RLK_CALL_QUERY, { P("\1"), P(NAMES "\14\77\0\1\0\0\0\375\0\0\0") } },
	{ RLK_CALL_QUERY, { P("\1"), P(TEXT "\0") } },
	{ RLK_CALL_QUERY, { P("\1"), P("\3def\1d\1t\1t\1c\377c") } },
	{ RLK_CALL_QUERY, { P("\1"), P("\373\1d\1t\1t\1c\1c\14") } },
	{ RLK_CALL_QUERY, { P("\1"), P(TEXT), P("\376\0\0\2") } },
	{ RLK_CALL_EXECUTE, { P("\1"), P(UNKNOWN) } },
	{ RLK_CALL_EXECUTE, { P("\1"), P(DOUBLE) } },
	/* Rows. */
	{ RLK_CALL_QUERY, { P("\1"), P(TEXT), P(END), P("\5word") } },
	{ RLK_CALL_QUERY, { P("\1"), P(TEXT), P(END), P("\4words") } },
	{ RLK_CALL_QUERY, { P("\2"), P(TEXT), P(TEXT), P(END), P(WORD) } },
	{ RLK_CALL_QUERY, { P("\1"), P(TEXT), P(END), P("\376\0\0\2\0\0") } },
	{ RLK_CALL_EXECUTE, { P("\1"), P(BIG), P(END), P("\0\0\7\0\0\0") } },
	{ RLK_CALL_EXECUTE, { P("\1"), P(BIG), P(END), P(SEVEN "\0") } },
	{ RLK_CALL_EXECUTE, { P("\1"), P(BIG), P(END), P("\0") } },
	{ RLK_CALL_EXECUTE, { P("\1"), P(BIG), P(END), P("\1" SEVEN) } },
	{ RLK_CALL_EXECUTE, { P("\1"), P(TEXT), P(END), P("\0\0\5word") } },
	{ RLK_CALL_EXECUTE, { P("\1"), P(TEXT), P(END), P("\0\0\373") } },
	{ RLK_CALL_EXECUTE, { P("\1"), P(STAMP), P(END), P("\0\0\1\1") } },
	{ RLK_CALL_EXECUTE,
	  { P("\1"), P(STAMP), P(END),
	    P("\0\0\13\352\7\13\32\14\0\0\100\102\17\0") } },
	{ RLK_CALL_EXECUTE, { P("\1"), P(TIME), P(END), P("\0\0\4\0\0\0\0") } },
	{ RLK_CALL_EXECUTE,
	  { P("\1"), P(TIME), P(END),
	    P("\0\0\14\1\1\0\0\0\14\0\0\377\377\377\377") } },
};

static const struct rlk_frame *frame_of(const struct said *said)
{
	static struct rlk_frame frame;

	frame = (struct rlk_frame){
		.state = RLK_FRAME_WHOLE,
		.bytes = (const unsigned char *) said->bytes,
		.size = said->size,
	};
	return &frame;
}

static void begin(struct rlk_conn *conn, enum rlk_call call)
{
	conn->io.call = call;
	rlk_answer_begin(conn);
}

/* The number of the packet that is refused, -1 if none is. */
static int refused(struct rlk_conn *conn, const struct talk *talk)
{
	begin(conn, talk->call);
	for (int i = 0; i < PACKETS && talk->packets[i].bytes; i++)
		if (rlk_answer_judge(conn, frame_of(&talk->packets[i])))
			return i;
	return -1;
}

static int last(const struct talk *talk)
{
	int count = 0;

	while (count < PACKETS && talk->packets[count].bytes)
		count++;
	return count - 1;
}

static int set_up(void **state)
{
	static struct rlk_conn conn;

	conn = (struct rlk_conn){ .mysql = mysql_init(NULL) };
	*state = &conn;
	return conn.mysql ? 0 : -1;
}

static int tear_down(void **state)
{
	struct rlk_conn *conn = *state;

	mysql_close(conn->mysql);
	return 0;
}

#define ANSWER(sentence) CASE_WITH(sentence, set_up, tear_down)

ANSWER("what a server says is let through")
{
	struct rlk_conn *conn = *state;

	for (size_t i = 0; i < RLK_ARRAY_SIZE(good); i++) {
		int packet = refused(conn, &good[i]);

		if (packet >= 0)
			fail_msg("packet %d of answer %zu is refused", packet,
				 i);
		assert_int_equal(conn->io.answer.awaits, RLK_AWAITS_NOTHING);
	}
}

ANSWER("what none says is refused")
{
	for (size_t i = 0; i < RLK_ARRAY_SIZE(bad); i++) {
		struct rlk_conn *conn = *state;
		int packet;

		conn->io.answer.awaits = RLK_AWAITS_NOTHING;
		packet = refused(conn, &bad[i]);
		if (packet != last(&bad[i]))
			fail_msg("packet %d of answer %zu is refused, not %d",
				 packet, i, last(&bad[i]));
	}
}

/* Rows of the answer before would be taken for the next one. */
ANSWER("what is left over is no answer")
{
	static const struct talk half = { RLK_CALL_QUERY,
					  { P("\1"), P(TEXT), P(END) } };
	static const struct talk next = { RLK_CALL_QUERY, { P(OK) } };
	struct rlk_conn *conn = *state;

	assert_int_equal(refused(conn, &half), -1);
	assert_int_equal(refused(conn, &next), 0);
}

/* A server that is leaving says so unasked. */
ANSWER("a farewell is let through")
{
	static const struct talk talk = { RLK_CALL_PING, { P(OK), P(ERROR) } };

	assert_int_equal(refused(*state, &talk), -1);
}

/* The second time a server may leave the definitions out, if they are the same
 * for sure. */
ANSWER("columns that are known are counted")
{
	static const struct talk same = {
		RLK_CALL_EXECUTE, { P("\1\0"), P(END), P(SEVEN), P(END) }
	};
	static const struct talk more = { RLK_CALL_EXECUTE,
					  { P("\2\0"), P(END) } };
	static const struct talk told = {
		RLK_CALL_EXECUTE, { P("\1\1"), P(BIG), P(END), P(END) }
	};
	static const struct talk text = { RLK_CALL_QUERY, { P("\1\0") } };
	MYSQL_FIELD field = { .type = MYSQL_TYPE_LONGLONG };
	MYSQL_STMT stmt = { .fields = &field, .field_count = 1 };
	struct rlk_conn *conn = *state;

	conn->extended = RLK_EXTENDED_CACHE_METADATA;
	conn->io.stmt = &stmt;
	assert_int_equal(refused(conn, &same), -1);
	assert_int_equal(refused(conn, &told), -1);
	assert_int_equal(refused(conn, &more), 0);
	assert_int_equal(refused(conn, &text), 0);
	stmt.fields = NULL;
	assert_int_equal(refused(conn, &same), 0);
	field.type = MYSQL_TYPE_DOUBLE;
	stmt.fields = &field;
	assert_int_equal(refused(conn, &same), 0);
	field.type = MYSQL_TYPE_LONG;
	conn->io.answer.awaits = RLK_AWAITS_NOTHING;
	assert_int_equal(refused(conn, &same), 2);
}

/* One text more, for the type's other name. */
ANSWER("extended definitions have one text more")
{
	static const struct talk longer = { RLK_CALL_QUERY,
					    { P("\1"),
					      P(NAMES "\2ab\14\77\0\1\0\0\0\375"
						      "\0\0\0\0\0"),
					      P(END), P(END) } };
	static const struct talk shorter = { RLK_CALL_QUERY,
					     { P("\1"), P(TEXT) } };
	struct rlk_conn *conn = *state;

	conn->extended = RLK_EXTENDED_METADATA;
	assert_int_equal(refused(conn, &longer), -1);
	assert_int_equal(refused(conn, &shorter), 1);
}

#define CHANGED "\0\0\0\2\100\0\0\0" /* and no words */

ANSWER("changes of the session are counted")
{
	static const struct {
		struct talk talk;
		bool good;
	} changes[] = {
		{ { RLK_CALL_QUERY, { P(CHANGED) } }, true },
		{ { RLK_CALL_QUERY, { P(CHANGED "\6\1\4\3abc") } }, true },
		{ { RLK_CALL_QUERY, { P(CHANGED "\5\1\3\2ab") } }, true },
		{ { RLK_CALL_QUERY, { P(CHANGED "\5\1\3\3ab") } }, false },
		{ { RLK_CALL_QUERY, { P(CHANGED "\5\1\4\2ab") } }, false },
		{ { RLK_CALL_QUERY, { P(CHANGED "\6\1\3\2ab") } }, false },
		{ { RLK_CALL_QUERY, { P(CHANGED "\4\1\3\2ab") } }, false },
		{ { RLK_CALL_QUERY, { P(CHANGED "\7\0\5\2ab\1c") } }, true },
		{ { RLK_CALL_QUERY, { P(CHANGED "\5\0\3\2ab") } }, false },
		{ { RLK_CALL_QUERY, { P(CHANGED "\6\3\4\0\2ab") } }, true },
		{ { RLK_CALL_QUERY, { P(CHANGED "\3\2\1\61") } }, true },
		{ { RLK_CALL_QUERY, { P(CHANGED "\3\2\2\61") } }, false },
		{ { RLK_CALL_QUERY, { P(CHANGED "\3\143\1\0") } }, true },
		/* Of nine bytes Connector/C reads the second to the fifth. */
		{ { RLK_CALL_QUERY,
		    { P(CHANGED "\x0d\xfe\0\0\0\0\1\0\0\0\3\2ab") } },
		  false },
	};
	struct rlk_conn *conn = *state;

	conn->mysql->server_capabilities = CLIENT_SESSION_TRACKING;
	for (size_t i = 0; i < RLK_ARRAY_SIZE(changes); i++) {
		conn->io.answer.awaits = RLK_AWAITS_NOTHING;
		if ((refused(conn, &changes[i].talk) < 0) != changes[i].good)
			fail_msg("changes %zu", i);
	}
}

/* Rows are small where they come and larger where they are kept. */
ANSWER("rows without an end are refused")
{
	static const struct talk head = { RLK_CALL_QUERY,
					  { P("\1"), P(TEXT), P(END) } };
	static const struct said row = P("\373");
	struct rlk_conn *conn = *state;
	size_t count = 0;

	assert_int_equal(refused(conn, &head), -1);
	while (!rlk_answer_judge(conn, frame_of(&row)))
		count++;
	/* A page of a list has 1,000. */
	assert_in_range(count, 10000, 100000);
}

/* ---------------------------------------------------------------- frames */

/* "ab", nothing, and "cde". */
static const unsigned char stream[] = "\2\0\0\7ab\0\0\0\10\3\0\0\11cde";
#define STREAM (sizeof(stream) - 1)

/* @piece bytes at a time; what was whole, as a text. */
static void cut(size_t piece, char *ret_text)
{
	struct rlk_frames frames = { .seen = 0 };
	struct rlk_frame frame;

	for (size_t from = 0; from < STREAM; from += piece) {
		size_t end = from + piece < STREAM ? from + piece : STREAM;
		size_t at = from;

		while (at < end) {
			at += rlk_frames_take(&frames, stream + at, end - at, 3,
					      &frame);
			if (frame.state == RLK_FRAME_WHOLE)
				ret_text += sprintf(
				    ret_text, "%u:%.*s ", frame.number,
				    (int) frame.size, (char *) frame.bytes);
			else
				assert_int_equal(frame.state, RLK_FRAME_COMES);
		}
	}
	rlk_frames_drop(&frames);
}

ANSWER("a stream is cut however it comes")
{
	for (size_t piece = 1; piece <= STREAM; piece++) {
		char text[64] = "";

		cut(piece, text);
		assert_string_equal(text, "7:ab 8: 9:cde ");
	}
}

ANSWER("a long packet is seen by its header")
{
	struct rlk_frames frames = { .seen = 0 };
	struct rlk_frame frame;

	rlk_frames_take(&frames, stream + 10, 4, 2, &frame);
	assert_int_equal(frame.state, RLK_FRAME_LONG);
	rlk_frames_drop(&frames);
}

CASE_MAIN(case_main)
