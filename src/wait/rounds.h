/* SPDX-License-Identifier: MIT */
#ifndef RLK_WAIT_ROUNDS_H
#define RLK_WAIT_ROUNDS_H

/*
 * Rounds of polls. Where leases are asked for again and again, those of one
 * client do it at the same moments, so that all names go in one packet: a
 * statement per round and client, not one per name.
 */

#include <stdint.h>

/** How far apart they are, on average; in milliseconds. */
#define RLK_ROUND_MS 50

/** When the next round after @now_ms is, of the client with the random number
 *  @seed. Each lies at a random point of its 50 ms: two clients are never in
 *  step for long, and neither is a client with a holder who comes and goes. */
int64_t rlk_rounds_next(uint64_t seed, int64_t now_ms);

#endif
