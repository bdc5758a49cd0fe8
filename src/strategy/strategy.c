/* SPDX-License-Identifier: MIT */
/*
 * The list of strategies.
 */
#include "strategy/strategy.h"

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
