/* SPDX-License-Identifier: MIT */
#ifndef RLK_WAIT_ROUNDS_H
#define RLK_WAIT_ROUNDS_H

/*
 * Rounds of polls. All waiters of a client poll for their leases at the same
 * moments, so that all names go in one batch: a statement per round and client,
 * not one per name.
 */

#include <stdint.h>

/** The average time between rounds, in milliseconds. */
#define RLK_ROUND_MS 50

/** The time of the next round after @now_ms for the client with the random
 *  number @seed. Each is at a random point of its 50 ms: a client is never in
 *  step for long with another, or with a holder that comes and goes. */
int64_t rlk_rounds_next(uint64_t seed, int64_t now_ms);

#endif
