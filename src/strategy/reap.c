/* SPDX-License-Identifier: MIT */
/*
 * The reaper's questions. All are plain reads, which lock nothing, in pages by
 * primary key, so that a table of any size is read in small pieces. And how a
 * token is collected.
 */
#include "strategy/reap.h"

#include "db/packet.h"
#include "db/token_sql.h"
#include "strategy/page.h"
#include "strategy/strategy.h"
#include "strategy/sure.h"

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
	"SELECT attempt, name, slot FROM business_lease WHERE (session = ?"
	" OR session IN (SELECT k.id FROM lease_session k WHERE k.breaks = ?))"
	" AND (name > ? OR (name = ? AND slot >= ?))"
	" ORDER BY name, slot LIMIT ?",
};

/*
 * A token's row may go when the floor is not below it: each later draw of the
 * name is above the floor (db/token_sql.h). Time alone is no reason: `drawn_at`
 * and the token come from a clock that may have been days ahead, and so may the
 * one behind UTC_TIMESTAMP(6) here.
 *
 * There are two statements, each of which commits by itself, and no
 * transaction: the floor, which all draws of all names read, is locked for one
 * of them only, and nothing can be left open. A floor that was raised for
 * nothing does no harm, and the DELETE checks the floor itself. A draw that has
 * read the old floor keeps the UPDATE waiting until it is committed; then the
 * DELETE finds its row, which is young, or above the floor. By the order of
 * commits the floor is there first, also on a replica that keeps it.
 *
 * Not on a cluster with several writers (background/reaper.c).
 *
 * A token ahead of the clock stays, so the floor never gets there by itself: a
 * floor near the bound would end the draws of all new names. The token of a
 * lease that is there stays for those who look at it. Only the look, which
 * locks nothing, checks that, as a hold that has come since has drawn, or will.
 */
#define LONG_AGO "UTC_TIMESTAMP(6) - INTERVAL 30 DAY"
#define LONG_AGO_US RLK_TOKEN_US(LONG_AGO)

static const struct rlk_stmt_def tokens_old = {
	"look for old tokens",
	"SELECT t.strategy, t.name, t.token FROM lock_token t"
	" WHERE t.drawn_at < " LONG_AGO " AND t.token < " LONG_AGO_US
	" AND NOT EXISTS (SELECT 1 FROM business_lease l"
	" WHERE t.strategy = 'lease' AND l.name = t.name)"
	" LIMIT ?",
};

static const struct rlk_stmt_def raise_floor = {
	"raise the floor of tokens",
	"UPDATE lock_token_floor"
	" SET token = ?, raised_at = UTC_TIMESTAMP(6)"
	" WHERE id = 1 AND token < ?",
};

static const struct rlk_stmt_def token_drop = {
	"drop token",
	"DELETE FROM lock_token WHERE strategy = ? AND name = ?"
	" AND drawn_at < " LONG_AGO " AND token < " LONG_AGO_US
	" AND token <= (SELECT f.token FROM lock_token_floor f WHERE f.id = 1)",
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
		.host = columns[3].text,
		.pid = columns[4].u64,
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

/* Below all names: receipts come before '', as the collation pads with blanks
 * (MySQL manual, "Collation Pad Attributes"). */
#define FIRST_NAME "\x01"

enum rlk_fault rlk_leases_dead(struct rlk_conn *conn,
			       const struct rlk_lease_cursor *cursor,
			       void (*fn)(const struct rlk_lease_seen *,
					  void *),
			       void *arg, struct rowlock_errinfo *reterr)
{
	const char *name = *cursor->name ? cursor->name : FIRST_NAME;
	const struct rlk_value params[] = {
		rlk_text(name),         rlk_text(name),
		rlk_u64(cursor->slot),  rlk_u64(cursor->all_with_max),
		rlk_u64(cursor->batch),
	};
	struct leases leases = { fn, arg };

	return rlk_stmt_each(conn, &leases_dead, params, lease_row, &leases,
			     reterr);
}

/* Fewer rows than an answer may have bytes for. */
#define ATTEMPTS_PAGE 2000

struct attempts {
	void (*fn)(uint64_t attempt, void *arg);
	void *arg;
	struct rlk_page page;
};

static void attempt_row(const struct rlk_value *columns, void *arg)
{
	struct attempts *attempts = arg;

	if (rlk_page_note(&attempts->page, columns[1].text, columns[2].u64))
		attempts->fn(columns[0].u64, attempts->arg);
}

enum rlk_fault rlk_leases_of(struct rlk_conn *conn, uint64_t id,
			     void (*fn)(uint64_t attempt, void *), void *arg,
			     struct rowlock_errinfo *reterr)
{
	struct attempts attempts = { fn, arg, rlk_page_begin(ATTEMPTS_PAGE) };
	enum rlk_fault fault = rlk_sure_begin(conn, reterr);
	struct rlk_page from;

	while (!fault && rlk_page_turn(&attempts.page, &from)) {
		const struct rlk_value params[] = {
			rlk_u64(id),         rlk_u64(id),
			rlk_text(from.name), rlk_text(from.name),
			rlk_u64(from.slot),  rlk_u64(from.limit),
		};

		fault = rlk_stmt_each(conn, &leases_of, params, attempt_row,
				      &attempts, reterr);
	}
	rlk_sure_end(conn);
	return fault;
}

static const struct rlk_many_def leases_there = {
	"look at our leases",
	"SELECT l.attempt FROM business_lease l WHERE " RLK_ATTEMPT_ROWS,
};

struct there {
	const struct rlk_lease_key *keys;
	size_t count;
	struct rlk_packet *packet;
};

static void count_row(const struct rlk_value *columns, void *arg)
{
	(void) columns;
	(*(size_t *) arg)++;
}

static enum rlk_fault ask_there(struct rlk_conn *conn, void *arg, bool *ret_all,
				struct rowlock_errinfo *reterr)
{
	struct there *there = arg;
	struct rlk_packet *packet = rlk_packet_begin(conn);
	size_t found = 0;
	enum rlk_fault fault;

	if (!packet || rlk_packet_add(packet, &leases_there, rlk_values_of_key,
				      there->keys, there->count) < 0)
		return rlk_fail_memory(reterr);
	there->packet = packet;
	fault = rlk_stmt_give_up(conn, rlk_packet_run(packet, reterr), reterr);
	if (!fault)
		rlk_packet_each(packet, 0, count_row, &found);
	*ret_all = found >= there->count;
	return fault;
}

static void there_row(const struct rlk_value *columns, void *arg)
{
	struct attempts *attempts = arg;

	attempts->fn(columns[0].u64, attempts->arg);
}

enum rlk_fault rlk_leases_there(struct rlk_conn *conn,
				const struct rlk_lease_key *keys, size_t count,
				void (*fn)(uint64_t attempt, void *), void *arg,
				struct rowlock_errinfo *reterr)
{
	struct attempts attempts = { .fn = fn, .arg = arg };
	struct there there = { keys, count, NULL };
	bool all;
	enum rlk_fault fault =
	    rlk_sure_read(conn, ask_there, &there, &all, reterr);

	if (!fault)
		rlk_packet_each(there.packet, 0, there_row, &attempts);
	return fault;
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
		.token = columns[2].u64,
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

static enum rlk_fault raise_to(struct rlk_conn *conn, uint64_t token,
			       struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = { rlk_u64(token), rlk_u64(token) };
	struct rlk_reply reply;

	return rlk_stmt_run(conn, &raise_floor, params, &reply, reterr);
}

enum rlk_fault rlk_token_collect(struct rlk_conn *conn,
				 const struct rlk_token_seen *token,
				 uint64_t *floor, bool *ret_collected,
				 struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = {
		rlk_text(token->strategy),
		rlk_text(token->name),
	};
	struct rlk_reply reply;
	enum rlk_fault fault = RLK_DONE;

	if (token->token > *floor)
		fault = raise_to(conn, token->token, reterr);
	if (fault)
		return fault;
	if (token->token > *floor)
		*floor = token->token;
	fault = rlk_stmt_run(conn, &token_drop, params, &reply, reterr);
	if (!fault)
		*ret_collected = reply.affected == 1;
	return fault;
}
