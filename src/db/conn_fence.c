/* SPDX-License-Identifier: MIT */
/*
 * Ending another session of ours for good.
 *
 * A request can be executed long after its client gave up (MariaDB goes on with
 * a blocked INSERT whose client is dead). So its session is ended before its
 * outcome is looked at: find the holder of its mark, KILL that, and wait until
 * the mark is free. KILL of one's own sessions needs no privilege.
 *
 * Without a mark the connection is found by its number in the list of
 * processes: a server counts them up, and starts again only when it restarts,
 * which its identity shows.
 *
 * Failure modes: the session may be busy dying (a rollback) for longer than we
 * wait: RLK_PENDING, ask again. On another node of a cluster we see nothing of
 * it, and a proxy may forbid KILL: RLK_REFUSED, never "over". So may a proxy
 * that numbers sessions itself: it takes the number for one of its own, and
 * ends a stranger's (MariaDB MaxScale, "Limitations and Known Issues": "it is
 * highly likely that the wrong connection ends up being killed").
 */
#include "db/conn_fence.h"

#include "db/conn_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "db/io.h"

#define PAUSE_MIN_MS 1
#define PAUSE_MAX_MS 64

static const struct rlk_stmt_def find_mark = {
	"fence",
	"SELECT CAST(IS_USED_LOCK(?) AS UNSIGNED)",
};

static const struct rlk_stmt_def find_id = {
	"fence",
	"SELECT CAST(ID AS UNSIGNED) FROM information_schema.PROCESSLIST "
	"WHERE ID = ?",
};

/* Our own text has the pattern in it, where it is no parameter. */
static const struct rlk_stmt_def find_tag = {
	"fence",
	"SELECT CAST(ID AS UNSIGNED) FROM information_schema.PROCESSLIST "
	"WHERE INFO LIKE ? AND ID <> CONNECTION_ID()",
};

/* The number of the session that @def finds by @param, or 0. */
static enum rlk_fault find(struct rlk_conn *conn,
			   const struct rlk_stmt_def *def,
			   struct rlk_value param, uint64_t *ret_id,
			   struct rowlock_errinfo *reterr)
{
	struct rlk_reply reply;
	enum rlk_fault fault = rlk_stmt_run(conn, def, &param, &reply, reterr);

	if (fault != RLK_DONE)
		return rlk_stmt_give_up(conn, fault, reterr);
	*ret_id = reply.has_row ? reply.columns[0].u64 : 0;
	return RLK_DONE;
}

/* The number of the session that has the mark, or 0 if it is over. */
static enum rlk_fault find_marked(struct rlk_conn *conn,
				  const struct rlk_mark *mark, uint64_t *ret_id,
				  struct rowlock_errinfo *reterr)
{
	if (mark->lock[0])
		return find(conn, &find_mark, rlk_text(mark->lock), ret_id,
			    reterr);
	return find(conn, &find_id, rlk_u64(mark->id), ret_id, reterr);
}

static enum rlk_fault kill_id(struct rlk_conn *conn, const char *what,
			      uint64_t id, struct rowlock_errinfo *reterr)
{
	struct rowlock_errinfo error = { 0 };
	enum rlk_fault fault;
	char sql[64];

	snprintf(sql, sizeof(sql), "KILL %s %" PRIu64, what, id);
	fault =
	    rlk_stmt_give_up(conn, rlk_stmt_text(conn, sql, &error), &error);
	/* 1094: it went by itself. */
	if (fault == RLK_REFUSED && error.mysql == 1094)
		return RLK_DONE;
	if (fault != RLK_DONE && reterr)
		*reterr = error;
	return fault;
}

enum where { HERE, GONE, ELSEWHERE };

static enum where locate(const struct rlk_conn *conn,
			 const struct rlk_mark *mark)
{
	const char *ours = conn->server.identity;

	if (strcmp(ours, mark->identity) == 0)
		return HERE;
	/* The same server, restarted. */
	if (rlk_server_same(ours, mark->identity))
		return GONE;
	return rlk_server_many_writers(&conn->server) ? ELSEWHERE : GONE;
}

static enum rlk_fault out_of_reach(const struct rlk_conn *conn,
				   struct rowlock_errinfo *reterr)
{
	if (conn->session.renumbered)
		rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
			 "fence: what is between here and %s has its own "
			 "numbers for sessions, so none is ended by its number",
			 conn->server.name);
	else
		rlk_fail(
		    reterr, ROWLOCK_ECONNECT,
		    "fence: the connection is on another node than %s, or was",
		    conn->server.name);
	return RLK_REFUSED;
}

enum rlk_fault rlk_conn_fence(struct rlk_conn *conn,
			      const struct rlk_mark *mark,
			      int64_t dying_until_ms,
			      struct rowlock_errinfo *reterr)
{
	enum where where = locate(conn, mark);
	int pause_ms = PAUSE_MIN_MS;
	enum rlk_fault fault;
	uint64_t id = 0;

	if (where == GONE)
		return RLK_DONE;
	if (where == ELSEWHERE || conn->session.renumbered)
		return out_of_reach(conn, reterr);
	for (;;) {
		fault = find_marked(conn, mark, &id, reterr);
		if (fault != RLK_DONE || !id)
			return fault;
		fault = kill_id(conn, "CONNECTION", id, reterr);
		if (fault != RLK_DONE)
			return fault;
		if (rlk_conn_now(conn) >= dying_until_ms ||
		    !rlk_io_sleep(conn, pause_ms))
			return RLK_PENDING;
		if (pause_ms < PAUSE_MAX_MS)
			pause_ms *= 2;
	}
}

enum rlk_fault rlk_conn_kill_query(struct rlk_conn *conn,
				   const struct rlk_mark *mark,
				   struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault;
	uint64_t id = 0;

	if (locate(conn, mark) != HERE)
		return RLK_DONE;
	if (conn->session.renumbered)
		return out_of_reach(conn, reterr);
	fault = find_marked(conn, mark, &id, reterr);
	if (fault != RLK_DONE || !id)
		return fault;
	return kill_id(conn, "QUERY", id, reterr);
}

enum rlk_fault rlk_conn_end(struct rlk_conn *conn, uint64_t id,
			    struct rowlock_errinfo *reterr)
{
	if (conn->session.renumbered)
		return out_of_reach(conn, reterr);
	return kill_id(conn, "CONNECTION", id, reterr);
}

bool rlk_conn_rest(struct rlk_conn *conn, int ms)
{
	return rlk_io_sleep(conn, ms);
}

enum rlk_fault rlk_conn_kill_tagged(struct rlk_conn *conn, const char *tag,
				    struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault;
	char pattern[64];
	uint64_t id = 0;

	if (conn->session.renumbered)
		return out_of_reach(conn, reterr);
	snprintf(pattern, sizeof(pattern), "%%%s%%", tag);
	fault = find(conn, &find_tag, rlk_text(pattern), &id, reterr);
	if (fault != RLK_DONE || !id)
		return fault;
	return kill_id(conn, "QUERY", id, reterr);
}
