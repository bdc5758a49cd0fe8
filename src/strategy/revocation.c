/* SPDX-License-Identifier: MIT */
/*
 * See revocation.h. Each statement reads leases without a lock, or names none:
 * one that joined the holder's session by its lease would wait for each
 * transaction that is tied to the lease (MySQL 9.7, MariaDB 10.11: 1205).
 *
 * So the hold may end between two of them. A request that comes too late names
 * an attempt that never comes back, is told to nobody, and goes with the next
 * pass of a reaper.
 *
 * Failure modes: those of a statement; tables of version 7 lack this one.
 */
#include "strategy/revocation.h"

#include "base/random.h"
#include "strategy/sure.h"

#include <stdio.h>

/* A keep has the session of its client in `breaks`, and passes on nothing. */
static const struct rlk_stmt_def look = {
	"revoke",
	"SELECT l.attempt, c.id, r.request, r.answer, r.host, r.pid, r.program,"
	" r.reason, r.asked_at, l.name"
	" FROM business_lease l JOIN lease_session s ON s.id = l.session"
	" JOIN lease_session c"
	" ON c.id = IF(s.breaks > 4294967295, s.breaks, s.id)"
	" LEFT JOIN lease_revocation r"
	" ON r.name = l.name AND r.attempt = l.attempt"
	" WHERE l.name = ? AND l.slot = 0"
	" AND s.expires_at > UTC_TIMESTAMP(6)"
	" AND c.expires_at > UTC_TIMESTAMP(6)"
	" AND COALESCE(l.expires_at > UTC_TIMESTAMP(6), 1)",
	.once = true,
};

static const struct rlk_stmt_def ask = {
	"revoke",
	"INSERT INTO lease_revocation"
	" (name, attempt, request, host, pid, program, reason, asked_at)"
	" VALUES (?, ?, ?, ?, ?, ?, ?, UTC_TIMESTAMP(6))"
	" ON DUPLICATE KEY UPDATE request = VALUES(request),"
	" host = VALUES(host), pid = VALUES(pid), program = VALUES(program),"
	" reason = VALUES(reason), asked_at = VALUES(asked_at), answer = 0",
	.once = true,
};

/* As if a lease had been broken: the holder looks what there is. */
static const struct rlk_stmt_def call = {
	"revoke",
	"UPDATE lease_session SET breaks = breaks + 1 WHERE id = ?",
	.once = true,
};

static const struct rlk_stmt_def still = {
	"revoke",
	"SELECT id FROM lease_session WHERE id = ?",
	.once = true,
};

static const struct rlk_stmt_def of = {
	"look for requests",
	"SELECT r.attempt, s.id, r.request, r.answer, r.host, r.pid, r.program,"
	" r.reason, r.asked_at, r.name"
	" FROM lease_revocation r JOIN business_lease l"
	" ON l.name = r.name AND l.slot = 0 AND l.attempt = r.attempt"
	" JOIN lease_session s ON s.id = l.session"
	" WHERE r.answer = 0 AND (s.id = ? OR s.breaks = ?)"
	" ORDER BY r.name LIMIT ?",
	.once = true,
};

static const struct rlk_stmt_def answer_it = {
	"answer",
	"UPDATE lease_revocation SET answer = ?"
	" WHERE name = ? AND attempt = ? AND request = ?",
	.once = true,
};

static const struct rlk_stmt_def unanswered = {
	"answer",
	"SELECT request FROM lease_revocation"
	" WHERE name = ? AND attempt = ? AND request = ? AND answer <> ?",
	.once = true,
};

/* A lease that is not there with this attempt never comes again. */
static const struct rlk_stmt_def over = {
	"look for old requests",
	"SELECT r.name, r.attempt FROM lease_revocation r"
	" LEFT JOIN business_lease l"
	" ON l.name = r.name AND l.slot = 0 AND l.attempt = r.attempt"
	" WHERE l.name IS NULL LIMIT ?",
	.once = true,
};

static const struct rlk_stmt_def drop = {
	"drop request",
	"DELETE FROM lease_revocation WHERE name = ? AND attempt = ?",
	.once = true,
};

static enum rowlock_answer answer_of(uint64_t number)
{
	return number <= ROWLOCK_ANSWER_NO ? (enum rowlock_answer) number
					   : ROWLOCK_ANSWER_HEARD;
}

#define COPY(to, text) snprintf(to, sizeof(to), "%s", text)

static struct rlk_revocation read_row(const struct rlk_value *columns)
{
	struct rlk_revocation revocation = {
		.session = columns[1].u64,
		.request = columns[2].u64,
		.known = {
			.size = sizeof(revocation.known),
			.attempt = columns[0].u64,
			.answer = columns[2].u64 ? answer_of(columns[3].u64)
						 : ROWLOCK_ANSWER_UNASKED,
			.pid = (unsigned int) columns[5].u64,
		},
	};

	COPY(revocation.known.host, columns[4].text);
	COPY(revocation.known.program, columns[6].text);
	COPY(revocation.known.reason, columns[7].text);
	COPY(revocation.known.asked_at, columns[8].text);
	COPY(revocation.known.name, columns[9].text);
	return revocation;
}

enum rlk_fault rlk_revocation_look(struct rlk_conn *conn, const char *name,
				   struct rlk_revocation *ret_revocation,
				   bool *ret_held,
				   struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = { rlk_text(name) };
	struct rlk_reply reply;
	enum rlk_fault fault = rlk_sure_begin(conn, reterr);

	if (fault)
		return fault;
	fault = rlk_stmt_run(conn, &look, params, &reply, reterr);
	if (!fault) {
		*ret_held = reply.has_row;
		if (reply.has_row)
			*ret_revocation = read_row(reply.columns);
	}
	rlk_sure_end(conn);
	return fault;
}

enum rlk_fault rlk_revocation_ask(struct rlk_conn *conn,
				  const struct rlk_asking *asking,
				  struct rlk_revocation *found, bool *ret_told,
				  struct rowlock_errinfo *reterr)
{
	const uint64_t request = rlk_random() | 1; /* 0 is none */
	const struct rlk_value row[] = {
		rlk_text(asking->name),   rlk_u64(found->known.attempt),
		rlk_u64(request),         rlk_text(asking->host),
		rlk_u64(asking->pid),     rlk_text(asking->program),
		rlk_text(asking->reason),
	};
	const struct rlk_value session[] = { rlk_u64(found->session) };
	struct rlk_reply reply;
	enum rlk_fault fault = rlk_stmt_run(conn, &ask, row, &reply, reterr);

	if (!fault)
		fault = rlk_stmt_run(conn, &call, session, &reply, reterr);
	if (!fault && !reply.affected)
		fault = rlk_sure_gone(conn, &still, session, reterr);
	if (fault)
		return fault;
	*ret_told = reply.affected == 1;
	found->request = request;
	found->known.answer = ROWLOCK_ANSWER_NONE;
	found->known.pid = asking->pid;
	COPY(found->known.host, asking->host);
	COPY(found->known.program, asking->program);
	COPY(found->known.reason, asking->reason);
	found->known.asked_at[0] = '\0';
	return RLK_DONE;
}

struct told {
	void (*fn)(const struct rlk_revocation *, void *);
	void *arg;
	size_t count;
};

static void tell(const struct rlk_value *columns, void *arg)
{
	struct told *told = arg;
	const struct rlk_revocation revocation = read_row(columns);

	told->count++;
	told->fn(&revocation, told->arg);
}

enum rlk_fault rlk_revocations_of(struct rlk_conn *conn, uint64_t id,
				  void (*fn)(const struct rlk_revocation *,
					     void *),
				  void *arg, size_t *ret_count,
				  struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = { rlk_u64(id), rlk_u64(id),
					    rlk_u64(RLK_REVOCATIONS_MOST) };
	struct told told = { .fn = fn, .arg = arg };
	enum rlk_fault fault = rlk_sure_begin(conn, reterr);

	if (!fault)
		fault = rlk_stmt_each(conn, &of, params, tell, &told, reterr);
	rlk_sure_end(conn);
	*ret_count = told.count;
	return fault;
}

enum rlk_fault rlk_revocation_answer(struct rlk_conn *conn,
				     const struct rlk_revocation *to,
				     enum rowlock_answer answer,
				     struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = {
		rlk_u64(answer),
		rlk_text(to->known.name),
		rlk_u64(to->known.attempt),
		rlk_u64(to->request),
	};
	const struct rlk_value left[] = { params[1], params[2], params[3],
					  params[0] };
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_stmt_run(conn, &answer_it, params, &reply, reterr);

	if (fault || reply.affected)
		return fault;
	return rlk_sure_gone(conn, &unanswered, left, reterr);
}

struct dropping {
	struct rlk_conn *conn;
	size_t count;
	enum rlk_fault fault;
	struct rowlock_errinfo *reterr;
};

static void drop_one(const struct rlk_value *columns, void *arg)
{
	struct dropping *dropping = arg;
	const struct rlk_value params[] = { rlk_text(columns[0].text),
					    rlk_u64(columns[1].u64) };
	struct rlk_reply reply;

	dropping->count++;
	if (!dropping->fault)
		dropping->fault = rlk_stmt_run(dropping->conn, &drop, params,
					       &reply, dropping->reterr);
}

enum rlk_fault rlk_revocations_drop(struct rlk_conn *conn, unsigned int most,
				    size_t *ret_count,
				    struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = { rlk_u64(most) };
	struct dropping dropping = { .conn = conn, .reterr = reterr };
	enum rlk_fault fault =
	    rlk_stmt_each(conn, &over, params, drop_one, &dropping, reterr);

	*ret_count = dropping.count;
	return fault ? fault : dropping.fault;
}
