/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_LEASE_SWEEP_H
#define RLK_STRATEGY_LEASE_SWEEP_H

/* Many dead leases are removed at once. */

#include "strategy/lease_private.h"

/** batch() of sweeps. */
enum rlk_fault rlk_lease_sweep_batch(struct rlk_conn *conn,
				     struct rlk_part **parts, size_t count,
				     const struct rlk_patience *patience,
				     struct rowlock_errinfo *reterr);

#endif
