/* SPDX-License-Identifier: MIT */
/*
 * The lease strategy: a hold is a committed row of business_lease, there if
 * and only if it is held. Acquire is an INSERT, release a DELETE, each one
 * autocommitted statement by primary key.
 *
 * The row carries the attempt, the random number of the request that made it:
 * so a request whose answer was lost can be asked again, and a release can
 * never hit the row of a later holder.
 *
 * Why ON DUPLICATE KEY UPDATE and not a plain INSERT: the latter leaves a
 * shared lock on the duplicate, and two of those deadlock when the row goes
 * (MySQL manual, "Locks Set by Different SQL Statements in InnoDB").
 */
#include "strategy/lease_private.h"

#include "db/server.h"
#include "db/token_sql.h"
#include "strategy/attempt.h"
#include "strategy/bell.h"
#include "strategy/draw.h"
#include "strategy/lease_batch.h"
#include "strategy/page.h"
#include "strategy/sure.h"

static const struct rlk_stmt_def look = {
	"look",
	"SELECT " RLK_LEASE_HOLDER RLK_LEASE_OF_SESSION
	"WHERE l.name = ? AND l.slot = ?",
};

/*
 * The token is drawn while the lease's row is locked in share mode, so that
 * nobody can take the lock between the look and the draw. How large it is:
 * db/token_sql.h.
 */
static const struct rlk_stmt_def draw = {
	"token",
	"INSERT INTO lock_token (strategy, name, token, drawn_at, attempt)"
	" SELECT 'lease', name, LAST_INSERT_ID(" RLK_TOKEN_OF_NEW "),"
	" UTC_TIMESTAMP(6), attempt"
	" FROM business_lease WHERE name = ? AND slot = ? AND attempt = ?"
	" LOCK IN SHARE MODE"
	" ON DUPLICATE KEY UPDATE token = LAST_INSERT_ID(" RLK_TOKEN_OF_NEXT
	"), drawn_at = VALUES(drawn_at), attempt = VALUES(attempt)",
};

/* An earlier holder drew this token, so observers are not told that the present
 * one has it. */
static const struct rlk_stmt_def raise_token = {
	"raise the token",
	"UPDATE lock_token SET token = ?, attempt = NULL"
	" WHERE strategy = 'lease' AND name = ? AND attempt = ? AND token < ?",
};

enum rlk_fault rlk_lease_look(struct rlk_conn *conn,
			      const struct rlk_request *request,
			      struct rlk_holder *ret_holder,
			      struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = {
		rlk_text(request->name),
		rlk_u64(request->slot),
	};
	struct rlk_reply reply;
	enum rlk_fault fault;

	fault = rlk_stmt_run(conn, &look, params, &reply, reterr);
	if (fault)
		return fault;
	*ret_holder = (struct rlk_holder){ 0 };
	if (reply.has_row)
		rlk_lease_read_holder(reply.columns, ret_holder);
	return RLK_DONE;
}

/* The INSERT found a row: ours from an earlier sending, or another's? */
static enum rlk_fault who_has_it(struct rlk_conn *conn,
				 const struct rlk_request *request,
				 struct rlk_holder *ret_holder,
				 struct rowlock_errinfo *reterr)
{
	struct rlk_holder holder;
	enum rlk_fault fault = rlk_lease_look(conn, request, &holder, reterr);

	if (fault)
		return fault;
	if (!holder.known)
		return RLK_CONFLICT; /* gone meanwhile */
	if (holder.attempt == request->attempt)
		return RLK_DONE;
	*ret_holder = holder;
	return RLK_HELD;
}

/* @more: the two parameters that may come behind those of every INSERT. */
static enum rlk_fault insert(struct rlk_conn *conn,
			     const struct rlk_stmt_def *def,
			     const struct rlk_request *request,
			     const struct rlk_value more[2],
			     struct rlk_reply *ret_reply,
			     struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = {
		rlk_text(request->name),
		rlk_u64(request->slot),
		rlk_u64(request->session),
		rlk_u64(request->attempt),
		rlk_lease_max_us(request),
		rlk_text(request->info),
		more[0],
		more[1],
	};

	return rlk_stmt_run(conn, def, params, ret_reply, reterr);
}

static const struct rlk_value no_more[2];

/* As first(), and take the bell if it is free, so that those who come to wait
 * are woken when the row goes. */
static enum rlk_fault first_ringing(struct rlk_conn *conn,
				    const struct rlk_stmt_def *def,
				    const struct rlk_request *request,
				    struct rlk_holder *ret_holder,
				    struct rowlock_errinfo *reterr)
{
	struct rlk_bell bell = rlk_bell_of(conn, request);
	const struct rlk_value more[] = { rlk_u64(request->attempt),
					  rlk_text(bell.text) };
	struct rlk_reply reply;
	enum rlk_fault fault = insert(conn, def, request, more, &reply, reterr);

	if (fault) {
		rlk_lease_drop_bell(conn, request);
		return fault;
	}
	if (!reply.has_row)
		return RLK_CONFLICT;
	if (reply.columns[0].u64 == request->attempt) {
		*ret_holder = (struct rlk_holder){ 0 };
		rlk_lease_read_bell(&reply.columns[1], ret_holder);
		return RLK_DONE;
	}
	return who_has_it(conn, request, ret_holder, reterr);
}

/* As first(), and look whether it overtakes somebody in line. */
static enum rlk_fault first_seeing_line(struct rlk_conn *conn,
					const struct rlk_stmt_def *def,
					const struct rlk_request *request,
					struct rlk_holder *ret_holder,
					struct rowlock_errinfo *reterr)
{
	struct rlk_bell bell = rlk_bell_of(conn, request);
	const struct rlk_value more[2] = { rlk_text(bell.text) };
	struct rlk_reply reply;
	enum rlk_fault fault = insert(conn, def, request, more, &reply, reterr);

	if (fault)
		return fault;
	if (reply.affected != 1)
		return who_has_it(conn, request, ret_holder, reterr);
	*ret_holder = (struct rlk_holder){ 0 };
	rlk_lease_read_line(conn, reply.insert_id, ret_holder);
	return RLK_DONE;
}

static enum rlk_fault first(struct rlk_conn *conn,
			    const struct rlk_request *request,
			    struct rlk_holder *ret_holder,
			    struct rowlock_errinfo *reterr)
{
	const struct rlk_dialect *dialect = rlk_conn_dialect(conn);
	struct rlk_reply reply;
	enum rlk_fault fault;

	if (request->bell && dialect->lease_acquire_ringing)
		return first_ringing(conn, dialect->lease_acquire_ringing,
				     request, ret_holder, reterr);
	if (request->bell && dialect->lease_acquire_seeing_line)
		return first_seeing_line(conn,
					 dialect->lease_acquire_seeing_line,
					 request, ret_holder, reterr);
	fault = insert(conn, dialect->lease_acquire, request, no_more, &reply,
		       reterr);
	if (fault)
		return fault;
	if (!dialect->lease_acquire_returns_row)
		return reply.affected == 1
			   ? RLK_DONE
			   : who_has_it(conn, request, ret_holder, reterr);
	if (!reply.has_row)
		return RLK_CONFLICT;
	if (reply.columns[0].u64 == request->attempt)
		return RLK_DONE;
	return who_has_it(conn, request, ret_holder, reterr);
}

static enum rlk_fault again(struct rlk_conn *conn,
			    const struct rlk_request *request,
			    struct rlk_holder *ret_holder,
			    struct rowlock_errinfo *reterr)
{
	const struct rlk_dialect *dialect = rlk_conn_dialect(conn);
	struct rlk_reply reply;
	enum rlk_fault fault;

	fault = insert(conn, dialect->lease_again, request, no_more, &reply,
		       reterr);
	if (fault)
		return fault;
	if (reply.affected == 1)
		return RLK_DONE;
	*ret_holder = (struct rlk_holder){ 0 };
	return RLK_HELD;
}

enum rlk_fault rlk_lease_acquire(struct rlk_conn *conn,
				 const struct rlk_request *request,
				 enum rlk_ask ask,
				 struct rlk_holder *ret_holder,
				 struct rowlock_errinfo *reterr)
{
	if (ask == RLK_ASK_AGAIN)
		return again(conn, request, ret_holder, reterr);
	return first(conn, request, ret_holder, reterr);
}

enum rlk_fault rlk_lease_release(struct rlk_conn *conn,
				 const struct rlk_request *request,
				 bool *ret_found,
				 struct rowlock_errinfo *reterr)
{
	if (request->bell_conn && request->bell_conn == rlk_conn_id(conn))
		return rlk_bell_release(conn, request, ret_found, reterr);
	return rlk_attempt_release(conn, request, ret_found, reterr);
}

enum rlk_fault rlk_lease_draw(struct rlk_conn *conn,
			      const struct rlk_request *request,
			      uint64_t *ret_token,
			      struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = {
		rlk_text(request->name),
		rlk_u64(request->slot),
		rlk_u64(request->attempt),
	};
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_draw_run(conn, &draw, params, &reply, reterr);

	return fault ? fault : rlk_sure_number(conn, &reply, ret_token, reterr);
}

enum rlk_fault rlk_lease_raise(struct rlk_conn *conn,
			       const struct rlk_request *request,
			       uint64_t token, struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = {
		rlk_u64(token),
		rlk_text(request->name),
		rlk_u64(request->attempt),
		rlk_u64(token),
	};
	struct rlk_reply reply;

	return rlk_draw_run(conn, &raise_token, params, &reply, reterr);
}

/*
 * The lease gets an attempt and a session that nobody has, so it is dead, and
 * its client's session counts the break: both, or nothing. A lease that belongs
 * to a keep has the client's session in the `breaks` of that (keep.c), a number
 * that no count of breaks comes to. It is one statement: a transaction that its
 * client cannot end any more would keep the session's row locked and its beats
 * out, and all its other leases would be lost.
 */
static const struct rlk_stmt_def break_lease = {
	"break",
	"UPDATE business_lease l LEFT JOIN lease_session s ON s.id = l.session"
	" LEFT JOIN lease_session c"
	" ON c.id = IF(s.breaks > 4294967295, s.breaks, s.id)"
	" SET l.attempt = 0, l.session = 0, c.breaks = c.breaks + 1"
	" WHERE l.name = ? AND l.slot = ? AND l.attempt = ?",
};

/* The keep of a broken lease. It goes behind the break, so that a holder that
 * misses it finds the break counted. */
static const struct rlk_stmt_def drop_keep = {
	"break",
	"DELETE FROM lease_session WHERE id = ? AND breaks > 4294967295",
	.once = true,
};

/* Slots of the lock, permits, the writer and readers to break at a time. */
#define BREAK_MOST 256
static const struct rlk_stmt_def leases_of_name = {
	"break",
	"SELECT slot, attempt, session FROM business_lease"
	" WHERE name = ? AND slot >= ?"
	" ORDER BY slot LIMIT ?",
};

struct breaking {
	struct rlk_conn *conn;
	const char *name;
	struct rlk_page page;
	bool found;
	enum rlk_fault fault;
	struct rowlock_errinfo *reterr;
};

static void break_one(const struct rlk_value *columns, void *arg)
{
	struct breaking *breaking = arg;
	struct rlk_request request = {
		.name = breaking->name,
		.slot = (unsigned int) columns[0].u64,
		.attempt = columns[1].u64,
	};
	const struct rlk_value session[] = { rlk_u64(columns[2].u64) };
	struct rowlock_errinfo error;
	struct rlk_reply reply;
	bool swept;

	rlk_page_note(&breaking->page, breaking->name, request.slot);
	if (breaking->fault)
		return;
	reply.affected = 0;
	breaking->fault = rlk_attempt_run(breaking->conn, &break_lease,
					  &request, &reply, breaking->reterr);
	if (!breaking->fault && !reply.affected)
		breaking->fault = rlk_attempt_make_sure(
		    breaking->conn, &request, breaking->reterr);
	if (breaking->fault || !reply.affected)
		return;
	breaking->found = true;
	/* The hold is over; if this does not succeed, the next request removes
	 * the dead row. */
	request.attempt = 0;
	rlk_lease_release(breaking->conn, &request, &swept, &error);
	/* Only a plain lease has one. */
	if (request.slot == 0)
		rlk_stmt_run(breaking->conn, &drop_keep, session, &reply,
			     &error);
}

static enum rlk_fault break_all(struct rlk_conn *conn, const char *name,
				bool *ret_found, struct rowlock_errinfo *reterr)
{
	struct breaking breaking = { .conn = conn,
				     .name = name,
				     .page = rlk_page_begin(BREAK_MOST),
				     .reterr = reterr };
	enum rlk_fault fault = RLK_DONE;
	struct rlk_page from;

	while (!fault && rlk_page_turn(&breaking.page, &from)) {
		const struct rlk_value params[] = { rlk_text(name),
						    rlk_u64(from.slot),
						    rlk_u64(from.limit) };

		fault = rlk_stmt_each(conn, &leases_of_name, params, break_one,
				      &breaking, reterr);
		if (!fault)
			fault = breaking.fault;
	}
	if (!fault)
		*ret_found = breaking.found;
	return fault;
}

/* Nobody holds it if none is found behind the barrier either. From there on a
 * member has what was committed before. */
static enum rlk_fault lease_end(struct rlk_conn *conn, const char *name,
				bool *ret_found, struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = { rlk_text(name), rlk_u64(0),
					    rlk_u64(1) };
	struct rlk_reply reply;
	enum rlk_fault fault = break_all(conn, name, ret_found, reterr);

	if (fault || *ret_found || !rlk_sure_sends(conn))
		return fault;
	fault = rlk_sure_look(conn, &leases_of_name, params, &reply, reterr);
	return fault || !reply.has_row
		   ? fault
		   : break_all(conn, name, ret_found, reterr);
}

const struct rlk_strategy rlk_strategy_lease = {
	.name = "lease",
	.bells = true,
	.acquire = rlk_lease_acquire,
	.release = rlk_lease_release,
	.batch = rlk_lease_batch,
	.confirm = rlk_attempt_confirm,
	.draw = rlk_lease_draw,
	.raise = rlk_lease_raise,
	.look = rlk_lease_look,
	.end = lease_end,
};
