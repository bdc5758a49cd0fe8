/* SPDX-License-Identifier: MIT */
/*
 * A round's point in time is a hash of its number, so all waiters of a client
 * compute the same one, whenever they ask.
 */
#include "wait/rounds.h"

#include "base/text.h"

int64_t rlk_rounds_next(uint64_t seed, int64_t now_ms)
{
	uint64_t round = (uint64_t) now_ms / RLK_ROUND_MS;
	uint64_t at;

	do {
		at = round * RLK_ROUND_MS +
		     rlk_scramble(seed + round) % RLK_ROUND_MS;
		round++;
	} while ((int64_t) at <= now_ms);
	return (int64_t) at;
}
