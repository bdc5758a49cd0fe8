/* SPDX-License-Identifier: MIT */
/*
 * A receipt that is deleted twice, or never, does no harm: it is found by its
 * attempt, and nobody else looks for it.
 *
 * Failure modes: those of a statement.
 */
#include "strategy/receipt.h"

#include <inttypes.h>
#include <stdio.h>

#include "db/packet.h"
#include "strategy/guard.h"
#include "strategy/sweep.h"

static const struct rlk_stmt_def look = {
	"outcome",
	"SELECT guards FROM business_lease WHERE name = ? AND slot = 0 "
	"AND attempt = ?",
	.once = true,
};

void rlk_receipt_name(uint64_t attempt, char *ret_name)
{
	snprintf(ret_name, RLK_RECEIPT_SIZE, "\x01%016" PRIx64, attempt);
}

enum rlk_fault rlk_receipt_look(struct rlk_conn *conn, uint64_t attempt,
				uint64_t *ret_guards,
				struct rowlock_errinfo *reterr)
{
	char name[RLK_RECEIPT_SIZE];
	struct rlk_value params[2];
	struct rlk_reply reply;
	enum rlk_fault fault;

	rlk_receipt_name(attempt, name);
	params[0] = rlk_text(name);
	params[1] = rlk_u64(attempt);
	fault = rlk_stmt_run(conn, &look, params, &reply, reterr);
	if (!fault)
		*ret_guards =
		    reply.has_row ? reply.columns[0].u64 : RLK_GUARD_NO_ROW;
	return fault;
}

enum rlk_fault rlk_receipts_delete(struct rlk_conn *conn,
				   const uint64_t *attempts, size_t count,
				   struct rowlock_errinfo *reterr)
{
	char names[RLK_RECEIPTS_MOST][RLK_RECEIPT_SIZE];
	struct rlk_dead_lease leases[RLK_RECEIPTS_MOST];
	const struct rlk_removal removal = { RLK_SWEEP_RECEIPTS, leases,
					     count };
	uint64_t deleted;

	for (size_t i = 0; i < count; i++) {
		rlk_receipt_name(attempts[i], names[i]);
		leases[i] = (struct rlk_dead_lease){ names[i], attempts[i] };
	}
	return rlk_remove_many(conn, &removal, &deleted, reterr);
}
