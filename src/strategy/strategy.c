/* SPDX-License-Identifier: MIT */
/*
 * The list of strategies, and what they share.
 */
#include "strategy/strategy.h"

#include "base/error.h"
#include "strategy/lease.h"
#include "strategy/row.h"

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
