/* SPDX-License-Identifier: MIT */
/*
 * The session's row: open, beat, close, evict; and the sweep of its leases.
 *
 * The beat: GREATEST, because a beat that waited in the server must not move
 * the end backwards past one that overtook it (UTC_TIMESTAMP is the time at
 * which the statement began); beat + 1, because an UPDATE that changes nothing
 * reports 0 rows, which would look like an eviction. Its answer is the
 * statement's insert id (LAST_INSERT_ID(expression)): the server's time in
 * microseconds in the upper 52 bits, enough until 2112, and the count of breaks
 * in the lower 12.
 *
 * Each statement that changes a row has a SELECT beside it that finds the same
 * row: a change of no row is believed only if the SELECT finds none (sure.h).
 */
#include "strategy/session_row.h"

#include "strategy/sure.h"

/* A beat tells them modulo one more. */
#define BREAKS_MOST 4095

static const struct rlk_stmt_def open_row = {
	"open session",
	"INSERT INTO lease_session"
	" (id, ttl, expires_at, beat, breaks, host, pid, program, started_at)"
	" VALUES (?, ?, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND, 0, 0,"
	" ?, ?, ?, UTC_TIMESTAMP(6))",
	.once = true,
};

static const struct rlk_stmt_def beat = {
	"beat",
	"UPDATE lease_session SET expires_at = GREATEST(expires_at,"
	" UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND),"
	" beat = beat + 1 + 0 * LAST_INSERT_ID((breaks & 4095) |"
	" (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) << 12))"
	" WHERE id = ?",
};

static const struct rlk_stmt_def still_there = {
	"beat",
	"SELECT id FROM lease_session WHERE id = ?",
};

static const struct rlk_stmt_def look = {
	"look at the session", "SELECT beat FROM lease_session WHERE id = ?",
	true, /* a server has few prepared statements for many clients */
};

static const struct rlk_stmt_def look_at_breaks = {
	"look at the session",
	"SELECT breaks FROM lease_session WHERE id = ?",
	true,
};

/* A DELETE, and the SELECT that finds what it was to delete. */
struct removal {
	struct rlk_stmt_def remove;
	struct rlk_stmt_def still;
};

#define REMOVAL(label, columns, from)                                          \
	{                                                                      \
		{ label, "DELETE " from },                                     \
		{                                                              \
			label, "SELECT " columns " " from                      \
		}                                                              \
	}

#define SESSION "FROM lease_session WHERE id = ?"
#define LEASE "FROM business_lease WHERE name = ? AND slot = ? AND attempt = ?"

static const struct removal close_row = REMOVAL("close session", "id", SESSION);

static const struct removal evict_expired =
    REMOVAL("evict", "id", SESSION " AND expires_at <= UTC_TIMESTAMP(6)");

static const struct removal evict_silent =
    REMOVAL("evict", "id", SESSION " AND beat = ?");

static const struct removal sweep_dead =
    REMOVAL("sweep", "attempt",
	    LEASE " AND (SELECT COUNT(*) FROM lease_session s"
		  " WHERE s.id = session) = 0");

static const struct removal sweep_expired =
    REMOVAL("sweep", "attempt", LEASE " AND expires_at <= UTC_TIMESTAMP(6)");

enum rlk_fault rlk_session_open(struct rlk_conn *conn,
				const struct rlk_session_row *row,
				struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = {
		rlk_u64(row->id),
		rlk_u64(row->ttl_ms),
		rlk_u64(row->ttl_ms * 1000),
		rlk_text(row->host),
		rlk_u64(row->pid),
		rlk_text(row->program),
	};
	struct rlk_reply reply;

	return rlk_stmt_run(conn, &open_row, params, &reply, reterr);
}

enum rlk_fault rlk_session_beat(struct rlk_conn *conn,
				const struct rlk_session_row *row,
				struct rlk_beat *ret_beat,
				struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = {
		rlk_u64(row->ttl_ms * 1000),
		rlk_u64(row->id),
	};
	uint64_t told = 0;
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_stmt_run(conn, &beat, params, &reply, reterr);

	if (!fault)
		fault =
		    reply.affected
			? rlk_sure_number(conn, &reply, &told, reterr)
			: rlk_sure_gone(conn, &still_there, &params[1], reterr);
	if (fault)
		return fault;
	*ret_beat = (struct rlk_beat){
		.alive = reply.affected == 1,
		.breaks = told & BREAKS_MOST,
		.server_us = (int64_t) (told >> 12),
	};
	return RLK_DONE;
}

/* @def selects one number of the row; 0 if there is none. */
static enum rlk_fault read_row(struct rlk_conn *conn,
			       const struct rlk_stmt_def *def, uint64_t id,
			       bool *ret_found, uint64_t *ret_number,
			       struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = { rlk_u64(id) };
	struct rlk_reply reply;
	enum rlk_fault fault = rlk_sure_look(conn, def, params, &reply, reterr);

	if (fault)
		return fault;
	*ret_found = reply.has_row;
	*ret_number = reply.has_row ? reply.columns[0].u64 : 0;
	return RLK_DONE;
}

enum rlk_fault rlk_session_look(struct rlk_conn *conn, uint64_t id,
				bool *ret_found, uint64_t *ret_beat,
				struct rowlock_errinfo *reterr)
{
	return read_row(conn, &look, id, ret_found, ret_beat, reterr);
}

enum rlk_fault rlk_session_breaks(struct rlk_conn *conn, uint64_t id,
				  bool *ret_found, uint64_t *ret_breaks,
				  struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault =
	    read_row(conn, &look_at_breaks, id, ret_found, ret_breaks, reterr);

	if (!fault)
		*ret_breaks &= BREAKS_MOST;
	return fault;
}

static enum rlk_fault run_removal(struct rlk_conn *conn,
				  const struct removal *removal,
				  const struct rlk_value *params,
				  bool *ret_removed,
				  struct rowlock_errinfo *reterr)
{
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_stmt_run(conn, &removal->remove, params, &reply, reterr);

	if (!fault && !reply.affected)
		fault = rlk_sure_gone(conn, &removal->still, params, reterr);
	if (!fault)
		*ret_removed = reply.affected == 1;
	return fault;
}

enum rlk_fault rlk_session_close(struct rlk_conn *conn, uint64_t id,
				 struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = { rlk_u64(id) };
	bool closed;

	return run_removal(conn, &close_row, params, &closed, reterr);
}

enum rlk_fault rlk_session_evict_expired(struct rlk_conn *conn, uint64_t id,
					 bool *ret_evicted,
					 struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = { rlk_u64(id) };

	return run_removal(conn, &evict_expired, params, ret_evicted, reterr);
}

enum rlk_fault rlk_session_evict_silent(struct rlk_conn *conn, uint64_t id,
					uint64_t seen, bool *ret_evicted,
					struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = { rlk_u64(id), rlk_u64(seen) };

	return run_removal(conn, &evict_silent, params, ret_evicted, reterr);
}

static enum rlk_fault sweep(struct rlk_conn *conn,
			    const struct removal *removal,
			    const struct rlk_request *request, bool *ret_swept,
			    struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = {
		rlk_text(request->name),
		rlk_u64(request->slot),
		rlk_u64(request->attempt),
	};

	return run_removal(conn, removal, params, ret_swept, reterr);
}

enum rlk_fault rlk_lease_sweep_dead(struct rlk_conn *conn,
				    const struct rlk_request *request,
				    bool *ret_swept,
				    struct rowlock_errinfo *reterr)
{
	return sweep(conn, &sweep_dead, request, ret_swept, reterr);
}

enum rlk_fault rlk_lease_sweep_expired(struct rlk_conn *conn,
				       const struct rlk_request *request,
				       bool *ret_swept,
				       struct rowlock_errinfo *reterr)
{
	return sweep(conn, &sweep_expired, request, ret_swept, reterr);
}
