/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_LEASE_H
#define RLK_STRATEGY_LEASE_H

#include "strategy/strategy.h"

/** A committed row of business_lease that lives while its session beats. */
extern const struct rlk_strategy rlk_strategy_lease;

#endif
