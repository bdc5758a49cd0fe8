/* SPDX-License-Identifier: MIT */
/*
 * The list of strategies, and what they share.
 */
#include "strategy/strategy.h"

#include "base/error.h"
#include "strategy/lease.h"
#include "strategy/row.h"

enum rlk_verdict rlk_verdict_of(enum rlk_fault fault)
{
	switch (fault) {
	case RLK_BUSY:
	case RLK_CONFLICT:
	case RLK_KILLED:
		/* Somebody else's transaction was in the way for a moment. */
		return RLK_AGAIN;
	case RLK_PENDING:
		return RLK_WAITING;
	case RLK_UNKNOWN:
		return RLK_UNCLEAR;
	default:
		return RLK_FAILURE;
	}
}

const struct rlk_strategy *rlk_strategy(enum rowlock_strategy which)
{
	switch (which) {
	case ROWLOCK_LEASE:
		return &rlk_strategy_lease;
	case ROWLOCK_ROW:
		return &rlk_strategy_row;
	default:
		return NULL;
	}
}

enum rlk_fault rlk_fail_memory(struct rowlock_errinfo *reterr)
{
	rlk_fail(reterr, ROWLOCK_ENOMEM, "out of memory");
	return RLK_FAILED;
}
