/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_ROW_H
#define RLK_STRATEGY_ROW_H

#include "strategy/strategy.h"

/** An open transaction with SELECT ... FOR UPDATE on a row of business_lock. */
extern const struct rlk_strategy rlk_strategy_row;

#endif
