/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_LEASE_BATCH_ANSWER_H
#define RLK_STRATEGY_LEASE_BATCH_ANSWER_H

/* The answers to a packet of leases. */

#include "strategy/lease_batch.h"

/** Read the answers that came, also if not all did. Returns @fault, of the
 *  packet, but RLK_DONE where a set has lost a race: it is asked for again.
 *  *@ret_unclear: who has the names of some is not known yet. */
enum rlk_fault rlk_batch_read(struct rlk_batch *batch, enum rlk_fault fault,
			      bool *ret_unclear);

/** Read the holders. A lease that is free by now is sent again. */
void rlk_batch_read_who(struct rlk_batch *batch);

#endif
