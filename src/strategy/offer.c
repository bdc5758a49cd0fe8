/* SPDX-License-Identifier: MIT */
/*
 * Adopts a lease. The one UPDATE joins the lease with the sessions of its
 * exporter and of its adopter, and writes all three rows. So it has all of them
 * locked: whoever evicts the exporter comes before it, and then nothing is
 * changed, or behind it, and then the lease is the adopter's. A form that only
 * asks whether the session EXISTS reads it without a lock, and adopted leases
 * whose holder had been evicted (MariaDB 10.11: in 260 of 600 rounds; this one
 * in none).
 *
 * A request to give the lease back goes on to the adopter, in the same
 * statement, as if it was never answered: no reaper may find it without its
 * lease. Tables of version 7, and accounts that were made for them, have none:
 * they get a statement without it.
 *
 * The row counts guards anew, as that of an acquire does: the adopter does not
 * know how often its exporter has committed.
 *
 * The exporter's session counts a break, by which its client finds out; the
 * adopter's counts one too, as its row has to be written. The lease has another
 * attempt from then on, so that what the exporter sends yet by its own, a
 * release, a draw, a guard, finds no row.
 *
 * Failure modes: those of a statement. One that changes no row is believed if a
 * SELECT finds no such row either (sure.h).
 */
#include "strategy/offer.h"

#include "strategy/revocation.h"
#include "strategy/sure.h"

#include <stdio.h>

#define ADOPT(join, set)                                                       \
	"UPDATE business_lease l JOIN lease_session s ON s.id = l.session"     \
	" JOIN lease_session c ON c.id = ?" join " SET" set                    \
	" l.session = c.id, l.attempt = ?,"                                    \
	" l.guards = 0, l.acquired_at = UTC_TIMESTAMP(6),"                     \
	" s.breaks = s.breaks + 1, c.breaks = c.breaks + 1"                    \
	" WHERE l.name = ? AND l.slot = ? AND l.attempt = ?"                   \
	" AND l.session = ?"

static const struct rlk_stmt_def adopt = {
	"adopt",
	ADOPT(" LEFT JOIN lease_revocation r"
	      " ON r.name = ? AND r.attempt = ?",
	      " r.attempt = ?, r.answer = 0,"),
	.once = true,
};

static const struct rlk_stmt_def adopt_alone = {
	"adopt",
	ADOPT("", ""),
	.once = true,
};

static const struct rlk_stmt_def holder = {
	"look for the adopter",
	"SELECT s.host, s.pid, s.program, l.acquired_at"
	" FROM business_lease l JOIN lease_session s ON s.id = l.session"
	" WHERE l.name = ? AND l.slot = ?",
	.once = true,
};

static const struct rlk_stmt_def look = {
	"adopt",
	"SELECT l.attempt, l.session, s.id IS NULL, c.id IS NULL"
	" FROM business_lease l"
	" LEFT JOIN lease_session s ON s.id = l.session"
	" LEFT JOIN lease_session c ON c.id = ?"
	" WHERE l.name = ? AND l.slot = ?",
	.once = true,
};

/* The UPDATE has changed nothing: why? */
static enum rlk_fault find_out(struct rlk_conn *conn,
			       const struct rlk_request *request,
			       const struct rlk_offer *offer,
			       struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = {
		rlk_u64(request->session),
		rlk_text(request->name),
		rlk_u64(request->slot),
	};
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_sure_look(conn, &look, params, &reply, reterr);
	const struct rlk_value *row = reply.columns;

	if (fault)
		return fault;
	if (!reply.has_row)
		return RLK_ABSENT;
	if (row[0].u64 == request->attempt)
		return RLK_DONE; /* by an earlier sending */
	if (row[2].u64)
		return RLK_ABSENT; /* it is dead */
	if (row[0].u64 != offer->attempt || row[1].u64 != offer->session)
		return RLK_HELD;
	if (row[3].u64)
		return RLK_CONFLICT; /* our own session was evicted */
	return rlk_sure_fail(conn, look.label, reterr);
}

static enum rlk_fault update(struct rlk_conn *conn,
			     const struct rlk_request *request,
			     const struct rlk_offer *offer,
			     struct rlk_reply *ret_reply,
			     struct rowlock_errinfo *reterr)
{
	const struct rlk_value to = rlk_u64(request->session);
	const struct rlk_value attempt = rlk_u64(request->attempt);
	const struct rlk_value name = rlk_text(request->name);
	const struct rlk_value slot = rlk_u64(request->slot);
	const struct rlk_value old = rlk_u64(offer->attempt);
	const struct rlk_value from = rlk_u64(offer->session);
	const struct rlk_value params[] = { to,   name, old, attempt, attempt,
					    name, slot, old, from };
	const struct rlk_value alone[] = { to, attempt, name, slot, old, from };
	struct rowlock_errinfo error = { .code = 0 };
	enum rlk_fault fault =
	    rlk_stmt_run(conn, &adopt, params, ret_reply, &error);

	if (fault && rlk_revocations_lack(fault, &error))
		return rlk_stmt_run(conn, &adopt_alone, alone, ret_reply,
				    reterr);
	if (fault && reterr)
		*reterr = error;
	return fault;
}

enum rlk_fault rlk_offer_adopt(struct rlk_conn *conn,
			       const struct rlk_request *request,
			       const struct rlk_offer *offer,
			       struct rowlock_errinfo *reterr)
{
	struct rlk_reply reply;
	enum rlk_fault fault = update(conn, request, offer, &reply, reterr);

	return fault || reply.affected ? fault
				       : find_out(conn, request, offer, reterr);
}

enum rlk_fault rlk_offer_holder(struct rlk_conn *conn,
				const struct rlk_request *request, char *text,
				size_t size, struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = { rlk_text(request->name),
					    rlk_u64(request->slot) };
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_stmt_run(conn, &holder, params, &reply, reterr);
	const struct rlk_value *row = reply.columns;

	if (fault)
		return fault;
	if (reply.has_row)
		snprintf(text, size, "%s[%u]@%s has it since %s UTC",
			 row[2].text, (unsigned int) row[1].u64, row[0].text,
			 row[3].text);
	else
		snprintf(text, size, "nobody has it now");
	return RLK_DONE;
}
