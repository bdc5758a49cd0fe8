/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_SET_BATCH_H
#define RLK_STRATEGY_SET_BATCH_H

/* A packet of sets. */

#include "strategy/set_private.h"

/** batch() of sets; of sweeps, that of leases. */
enum rlk_fault rlk_set_batch(struct rlk_conn *conn, struct rlk_part **parts,
			     size_t count, const struct rlk_patience *patience,
			     struct rowlock_errinfo *reterr);

#endif
