/* SPDX-License-Identifier: MIT */
/*
 * The reaper's questions. All are plain reads, which lock nothing, in pages by
 * primary key, so that a table of any size is read in small pieces.
 */
#include "strategy/reap.h"

static const struct rlk_stmt_def sessions_after = {
	"look at sessions",
	"SELECT id, beat, ttl, host, pid,"
	" TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires_at)"
	" FROM lease_session WHERE id > ? ORDER BY id LIMIT ?",
};

static const struct rlk_stmt_def leases_dead = {
	"look for dead leases",
	"SELECT l.attempt, l.session, s.id IS NULL,"
	" TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.expires_at),"
	" TIMESTAMPDIFF(MICROSECOND, l.acquired_at, l.expires_at) DIV 1000,"
	" l.name, l.slot"
	" FROM business_lease l LEFT JOIN lease_session s ON s.id = l.session"
	" WHERE (l.name > ? OR (l.name = ? AND l.slot > ?))"
	" AND (s.id IS NULL OR l.expires_at <= UTC_TIMESTAMP(6)"
	" OR (? = 1 AND l.expires_at IS NOT NULL))"
	" ORDER BY l.name, l.slot LIMIT ?",
};

static const struct rlk_stmt_def leases_of = {
	"look at leases",
	"SELECT attempt FROM business_lease WHERE session = ?",
};

static const struct rlk_stmt_def tokens_old = {
	"look for old tokens",
	"SELECT strategy, name FROM lock_token"
	" WHERE drawn_at < UTC_TIMESTAMP(6) - INTERVAL 30 DAY LIMIT ?",
};

static const struct rlk_stmt_def token_drop = {
	"drop token",
	"DELETE FROM lock_token WHERE strategy = ? AND name = ?"
	" AND drawn_at < UTC_TIMESTAMP(6) - INTERVAL 30 DAY",
};

struct sessions {
	void (*fn)(const struct rlk_session_seen *, void *);
	void *arg;
};

static void session_row(const struct rlk_value *columns, void *arg)
{
	const struct sessions *sessions = arg;
	const struct rlk_session_seen seen = {
		.id = columns[0].u64,
		.beat = columns[1].u64,
		.ttl_ms = columns[2].u64,
		.host = columns[3].type == RLK_TEXT ? columns[3].text : "",
		.pid = columns[4].type == RLK_NULL ? 0 : columns[4].u64,
		.left_us = columns[5].i64,
	};

	sessions->fn(&seen, sessions->arg);
}

enum rlk_fault rlk_sessions_after(struct rlk_conn *conn, uint64_t after,
				  unsigned int batch,
				  void (*fn)(const struct rlk_session_seen *,
					     void *),
				  void *arg, struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = { rlk_u64(after), rlk_u64(batch) };
	struct sessions sessions = { fn, arg };

	return rlk_stmt_each(conn, &sessions_after, params, session_row,
			     &sessions, reterr);
}

struct leases {
	void (*fn)(const struct rlk_lease_seen *, void *);
	void *arg;
};

static void lease_row(const struct rlk_value *columns, void *arg)
{
	const struct leases *leases = arg;
	const struct rlk_lease_seen seen = {
		.name = columns[5].text,
		.slot = (unsigned int) columns[6].u64,
		.holder = {
			.known = true,
			.attempt = columns[0].u64,
			.session = columns[1].u64,
			.absent = columns[2].u64 != 0,
			.has_max = columns[3].type != RLK_NULL,
			.max_left_us = columns[3].i64,
			.looked = true,
			.max_ms = columns[4].u64,
		},
	};

	leases->fn(&seen, leases->arg);
}

enum rlk_fault rlk_leases_dead(struct rlk_conn *conn,
			       const struct rlk_lease_cursor *cursor,
			       void (*fn)(const struct rlk_lease_seen *,
					  void *),
			       void *arg, struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = {
		rlk_text(cursor->name), rlk_text(cursor->name),
		rlk_u64(cursor->slot),  rlk_u64(cursor->all_with_max),
		rlk_u64(cursor->batch),
	};
	struct leases leases = { fn, arg };

	return rlk_stmt_each(conn, &leases_dead, params, lease_row, &leases,
			     reterr);
}

struct attempts {
	void (*fn)(uint64_t attempt, void *arg);
	void *arg;
};

static void attempt_row(const struct rlk_value *columns, void *arg)
{
	const struct attempts *attempts = arg;

	attempts->fn(columns[0].u64, attempts->arg);
}

enum rlk_fault rlk_leases_of(struct rlk_conn *conn, uint64_t id,
			     void (*fn)(uint64_t attempt, void *), void *arg,
			     struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = { rlk_u64(id) };
	struct attempts attempts = { fn, arg };

	return rlk_stmt_each(conn, &leases_of, params, attempt_row, &attempts,
			     reterr);
}

struct tokens {
	void (*fn)(const struct rlk_token_seen *, void *);
	void *arg;
};

static void token_row(const struct rlk_value *columns, void *arg)
{
	const struct tokens *tokens = arg;
	const struct rlk_token_seen seen = {
		.strategy = columns[0].text,
		.name = columns[1].text,
	};

	tokens->fn(&seen, tokens->arg);
}

enum rlk_fault rlk_tokens_old(struct rlk_conn *conn, unsigned int batch,
			      void (*fn)(const struct rlk_token_seen *, void *),
			      void *arg, struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = { rlk_u64(batch) };
	struct tokens tokens = { fn, arg };

	return rlk_stmt_each(conn, &tokens_old, params, token_row, &tokens,
			     reterr);
}

enum rlk_fault rlk_token_drop(struct rlk_conn *conn,
			      const struct rlk_token_seen *token,
			      bool *ret_dropped, struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = {
		rlk_text(token->strategy),
		rlk_text(token->name),
	};
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_stmt_run(conn, &token_drop, params, &reply, reterr);

	if (!fault)
		*ret_dropped = reply.affected == 1;
	return fault;
}
