/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_LEASE_PRIVATE_H
#define RLK_STRATEGY_LEASE_PRIVATE_H

/*
 * What the files of the lease strategy share.
 */

#include "strategy/lease.h"

/** From columns: attempt, session, left, maximum left, beat, ttl, maximum. */
void rlk_lease_read_holder(const struct rlk_value *columns,
			   struct rlk_holder *holder);

/** The maximum hold as the statements take it; SQL's NULL if there is none. */
struct rlk_value rlk_lease_max_us(const struct rlk_request *request);

/* lease_batch.c */

enum rlk_fault rlk_lease_batch(struct rlk_conn *conn, struct rlk_part **parts,
			       size_t count,
			       const struct rlk_patience *patience,
			       struct rowlock_errinfo *reterr);

#endif
