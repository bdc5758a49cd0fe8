/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_SET_H
#define RLK_STRATEGY_SET_H

#include "strategy/strategy.h"

/**
 * Leases on several names that are acquired and given back together, all of
 * them or none, by one attempt. To core a set is one more name, with the text
 * of base/set_text.h. Its rows are what leases on these names are: a set and a
 * lease exclude each other wherever they share a name.
 */
extern const struct rlk_strategy rlk_strategy_set;

#endif
