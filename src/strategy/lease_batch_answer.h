/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_LEASE_BATCH_ANSWER_H
#define RLK_STRATEGY_LEASE_BATCH_ANSWER_H

/* The answers to a packet of leases. */

#include "strategy/lease_batch.h"

/** What was answered counts, also if not all was. False: who has the names that
 *  were asked for is not known yet. */
bool rlk_batch_read(struct rlk_batch *batch);

/** Who has them. One that nobody has any more is asked for again. */
void rlk_batch_read_who(struct rlk_batch *batch);

#endif
