/* SPDX-License-Identifier: MIT */
/*
 * Doorbells, in SQL. A bell's name is a hash of the schema and the lock's name,
 * since a server has one room for all user-level locks, and MySQL allows 64
 * characters whose case it ignores. Two names with one hash only wait for each
 * other's bells. Any account may take any user-level lock, so a secret of the
 * schema is the key of the hash: an account that cannot read the tables cannot
 * find the bell of a name, not even from the bells of others, and so cannot see
 * whether anybody waits.
 *
 * On MariaDB the DELETE itself lets the bell go: the next in line is on its way
 * while the row's end is being committed, and its INSERT waits for just that.
 * On MySQL the same starves the waiters, so it takes a statement more.
 *
 * The bell of readers and writers is handed on in the server among readers that
 * may come in together: the first that was let in opens the gate, a user-level
 * lock "BELL/gate". A reader that gets the bell while that is in use takes a
 * lane, "BELL/1" and so on, and lets the bell go, all in the statement in which
 * it waits: N readers are on their way at once. A lane says that its reader has
 * yet to come in. A writer behind them waits for each lane before it asks, or
 * it would overtake them. If all lanes are in use, a reader keeps the bell. The
 * select list is evaluated from left to right; no table is named, as a wait
 * would keep DDL out of it.
 */
#include "strategy/bell.h"

#include "base/error.h"
#include "base/set_text.h"
#include "db/server.h"
#include "strategy/attempt.h"
#include "strategy/sides.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct rlk_stmt_def wait_def = {
	"wait",
	"SELECT CAST(GET_LOCK(?, ?) AS SIGNED)",
	/* The list of connections shows the values of a text only: by the bell
	 * people see the name that is waited for (waiting.h). */
	.once = true,
	.waits = true,
};

/* clang-format off */
#define EACH_LANE(X)                                                           \
	X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)                                \
	X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)
/* clang-format on */
#define LANE(n) "CONCAT(b.bell, '/" #n "')"
/* CASE takes the first lane that is free, and looks at no further one. */
#define PASS(n) "WHEN GET_LOCK(" LANE(n) ", 0) THEN " #n " * " LET_GO " "
#define DRAIN(n) " + GET_LOCK(" LANE(n) ", 3600) + RELEASE_LOCK(" LANE(n) ")"
#define LET_GO "RELEASE_LOCK(b.bell)"
#define HAS_IT "IS_USED_LOCK(b.bell) = CONNECTION_ID()"
#define IS_OPEN "IS_USED_LOCK(CONCAT(b.bell, '/gate')) IS NOT NULL"
#define OF_BELL " FROM (SELECT ? AS bell) b"

static const struct rlk_stmt_def wait_reader_def = {
	"wait",
	"SELECT CAST(GET_LOCK(?, ?) AS SIGNED), "
	"CAST(IF(" HAS_IT " AND " IS_OPEN ", "
	"CASE " EACH_LANE(PASS) "ELSE 0 END, 0) AS SIGNED)" OF_BELL,
	.once = true,
	.waits = true,
};

static const struct rlk_stmt_def wait_writer_def = {
	"wait",
	"SELECT CAST(GET_LOCK(?, ?) AS SIGNED), "
	"CAST(IF(" HAS_IT
	", 0 * (0" EACH_LANE(DRAIN) "), 0) AS SIGNED)" OF_BELL,
	.once = true,
	.waits = true,
};

#define USED(n) ", IS_USED_LOCK(" LANE(n) ")"
#define ANY_LANE "COALESCE(NULL" EACH_LANE(USED) ")"
#define LEAVE(n) " + COALESCE(RELEASE_LOCK(" LANE(n) "), 0)"
#define LEAVE_ALL "COALESCE(" LET_GO ", 0)" EACH_LANE(LEAVE)

/* The number is RLK_BELL_PASSES. */
static const struct rlk_stmt_def owner_with_gate_def = {
	"look who is first in line",
	"SELECT CAST(IF(" ANY_LANE " IS NULL, IS_USED_LOCK(b.bell), "
	"9223372036854775807) AS UNSIGNED)" OF_BELL,
	.once = true,
};

static const struct rlk_stmt_def leave_with_gate_def = {
	"ring",
	"SELECT CAST(" LEAVE_ALL " AS SIGNED), "
	"CAST(IS_USED_LOCK(b.bell) AS UNSIGNED)" OF_BELL,
	.once = true,
};

static const struct rlk_stmt_def open_def = {
	"ring",
	"SELECT CAST(GET_LOCK(CONCAT(?, '/gate'), 0) AS SIGNED), "
	"CAST(RELEASE_LOCK(?) AS SIGNED), "
	"CAST(IS_USED_LOCK(?) AS UNSIGNED)",
};

static const struct rlk_stmt_def close_def = {
	"close the gate",
	"DO RELEASE_LOCK(CONCAT(?, '/gate'))",
};

static const struct rlk_stmt_def leave_lane_def = {
	"leave the lane",
	"DO RELEASE_LOCK(CONCAT(?, '/', ?))",
};

static const struct rlk_stmt_def owner_def = {
	"look who is first in line",
	"SELECT CAST(IS_USED_LOCK(?) AS UNSIGNED)",
};

static const struct rlk_stmt_def ring_def = {
	"ring",
	"DO RELEASE_LOCK(?)",
};

static const struct rlk_stmt_def leave_def = {
	"ring",
	"SELECT CAST(RELEASE_LOCK(?) AS SIGNED),"
	" CAST(IS_USED_LOCK(?) AS UNSIGNED)",
};

/* Kind, schema and name: each may have 64 or 100 characters of four bytes. */
#define WORDS_SIZE (1 + 64 * 4 + 1 + 100 * 4 + 1)

/* Rows have one of their own, and so have readers and writers, and permits: a
 * lock of the same name is another. */
static char kind_of(const struct rlk_request *request)
{
	if (request->row)
		return 'x';
	if (request->count)
		return 'p';
	return request->slot ? 's' : 'l';
}

struct rlk_bell rlk_bell_named(const struct rlk_key *key, char kind,
			       const char *schema, const char *name)
{
	struct rlk_bell bell;
	char words[WORDS_SIZE];

	snprintf(words, sizeof(words), "%c%s/%s", kind, schema, name);
	snprintf(bell.text, sizeof(bell.text), "rlb:%016" PRIx64,
		 rlk_keyed_hash(key, words, strlen(words)));
	return bell;
}

struct rlk_bell rlk_bell_of(struct rlk_conn *conn,
			    const struct rlk_request *request)
{
	struct rlk_set_name name =
	    rlk_set_name_at(request->name, request->which);

	return rlk_bell_named(&request->key, kind_of(request),
			      rlk_conn_schema(conn), name.text);
}

bool rlk_bell_has_gate(const struct rlk_request *request)
{
	return kind_of(request) == 's';
}

static struct rlk_bell_turn turn_of(const struct rlk_reply *reply)
{
	unsigned int lane = (unsigned int) reply->columns[1].i64;

	if (!reply->has_row || reply->columns[0].i64 != 1)
		return (struct rlk_bell_turn){ .got = false };
	return (struct rlk_bell_turn){ .got = !lane, .lane = lane };
}

struct seconds {
	char text[32];
};

static struct seconds seconds_of(struct rlk_conn *conn, uint64_t ms)
{
	const struct rlk_dialect *dialect = rlk_conn_dialect(conn);
	struct seconds seconds;

	if (dialect->bell_fractions)
		snprintf(seconds.text, sizeof(seconds.text), "%" PRIu64 ".%03u",
			 ms / 1000, (unsigned int) (ms % 1000));
	else
		snprintf(seconds.text, sizeof(seconds.text), "%" PRIu64,
			 (ms + 999) / 1000);
	return seconds;
}

static const struct rlk_stmt_def *wait_of(const struct rlk_request *request)
{
	if (!rlk_bell_has_gate(request))
		return &wait_def;
	return request->slot == RLK_SLOT_WRITER ? &wait_writer_def
						: &wait_reader_def;
}

enum rlk_fault rlk_bell_wait(struct rlk_conn *conn,
			     const struct rlk_request *request,
			     uint64_t wait_ms, struct rlk_bell_turn *ret_turn,
			     struct rowlock_errinfo *reterr)
{
	struct rlk_bell bell = rlk_bell_of(conn, request);
	struct seconds seconds = seconds_of(conn, wait_ms);
	const struct rlk_value params[] = { rlk_text(bell.text),
					    rlk_text(seconds.text),
					    rlk_text(bell.text) };
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_stmt_run(conn, wait_of(request), params, &reply, reterr);

	if (!fault)
		*ret_turn = turn_of(&reply);
	return fault;
}

enum rlk_fault rlk_bell_resume(struct rlk_conn *conn,
			       struct rlk_bell_turn *ret_turn,
			       struct rowlock_errinfo *reterr)
{
	struct rlk_reply reply;
	enum rlk_fault fault = rlk_stmt_resume(conn, &reply, reterr);

	if (!fault)
		*ret_turn = turn_of(&reply);
	return fault;
}

enum rlk_fault rlk_bell_owner(struct rlk_conn *conn,
			      const struct rlk_request *request,
			      uint64_t *ret_owner,
			      struct rowlock_errinfo *reterr)
{
	struct rlk_bell bell = rlk_bell_of(conn, request);
	const struct rlk_value params[] = { rlk_text(bell.text) };
	struct rlk_reply reply;
	enum rlk_fault fault = rlk_stmt_run(
	    conn,
	    rlk_bell_has_gate(request) ? &owner_with_gate_def : &owner_def,
	    params, &reply, reterr);

	if (!fault)
		*ret_owner = reply.has_row ? reply.columns[0].u64 : 0;
	return fault;
}

enum rlk_fault rlk_bell_ring(struct rlk_conn *conn,
			     const struct rlk_request *request,
			     struct rowlock_errinfo *reterr)
{
	struct rlk_bell bell = rlk_bell_of(conn, request);
	const struct rlk_value params[] = { rlk_text(bell.text) };
	struct rlk_reply reply;

	return rlk_stmt_run(conn, &ring_def, params, &reply, reterr);
}

/* A user-level lock counts how often it was got. */
static enum rlk_fault check_left(struct rlk_conn *conn, uint64_t owner,
				 struct rowlock_errinfo *reterr)
{
	if (owner != rlk_conn_id(conn))
		return RLK_DONE;
	rlk_fail(reterr, ROWLOCK_EDB, "ring: %s has executed a wait twice",
		 rlk_conn_server(conn)->name);
	return RLK_REFUSED;
}

enum rlk_fault rlk_bell_leave(struct rlk_conn *conn,
			      const struct rlk_request *request,
			      struct rowlock_errinfo *reterr)
{
	struct rlk_bell bell = rlk_bell_of(conn, request);
	const struct rlk_value params[] = { rlk_text(bell.text),
					    rlk_text(bell.text) };
	struct rlk_reply reply;
	enum rlk_fault fault = rlk_stmt_run(
	    conn,
	    rlk_bell_has_gate(request) ? &leave_with_gate_def : &leave_def,
	    params, &reply, reterr);

	if (fault || !reply.has_row)
		return fault;
	return check_left(conn, reply.columns[1].u64, reterr);
}

enum rlk_fault rlk_bell_leave_open(struct rlk_conn *conn,
				   const struct rlk_request *request,
				   struct rowlock_errinfo *reterr)
{
	struct rlk_bell bell = rlk_bell_of(conn, request);
	const struct rlk_value params[] = { rlk_text(bell.text),
					    rlk_text(bell.text),
					    rlk_text(bell.text) };
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_stmt_run(conn, &open_def, params, &reply, reterr);

	if (fault || !reply.has_row)
		return fault;
	fault = check_left(conn, reply.columns[2].u64, reterr);
	if (fault || reply.columns[0].i64 != 1)
		return fault;
	return rlk_stmt_run(conn, &close_def, params, &reply, reterr);
}

enum rlk_fault rlk_bell_leave_lane(struct rlk_conn *conn,
				   const struct rlk_request *request,
				   unsigned int lane,
				   struct rowlock_errinfo *reterr)
{
	struct rlk_bell bell = rlk_bell_of(conn, request);
	const struct rlk_value params[] = { rlk_text(bell.text),
					    rlk_u64(lane) };
	struct rlk_reply reply;

	return rlk_stmt_run(conn, &leave_lane_def, params, &reply, reterr);
}

enum rlk_fault rlk_bell_release(struct rlk_conn *conn,
				const struct rlk_request *request,
				bool *ret_found, struct rowlock_errinfo *reterr)
{
	const struct rlk_dialect *dialect = rlk_conn_dialect(conn);
	struct rlk_bell bell = rlk_bell_of(conn, request);
	const struct rlk_value params[] = {
		rlk_text(request->name),
		rlk_u64(request->slot),
		rlk_u64(request->attempt),
		rlk_text(bell.text),
	};
	struct rlk_reply reply;
	enum rlk_fault fault;
	bool rung;

	fault = rlk_stmt_run(conn, dialect->lease_release_ringing, params,
			     &reply, reterr);
	if (fault)
		return fault;
	rung = reply.has_row;
	*ret_found = rung || reply.affected == 1;
	if (!*ret_found)
		fault = rlk_attempt_make_sure(conn, request, reterr);
	if (fault)
		return fault;
	/* Without a row nothing was rung. The row is gone in any case: what
	 * fails here only makes others wait until they look. */
	if (!rung) {
		struct rowlock_errinfo error;

		if (rlk_bell_ring(conn, request, &error))
			rlk_conn_spoil(conn);
	}
	return RLK_DONE;
}
