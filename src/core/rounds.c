/* SPDX-License-Identifier: MIT */
/*
 * A round's point in time is a hash of its number: whoever asks, and whenever,
 * is told the same.
 */
#include "core/rounds.h"

/* The finalizer of SplitMix64: each bit of @number bears on all of the result
 * (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
 */
static uint64_t scramble(uint64_t number)
{
	number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
	number = (number ^ number >> 27) * 0x94d049bb133111eb;
	return number ^ number >> 31;
}

int64_t rlk_rounds_next(uint64_t seed, int64_t now_ms)
{
	uint64_t round = (uint64_t) now_ms / RLK_ROUND_MS;
	uint64_t at;

	do {
		at = round * RLK_ROUND_MS +
		     scramble(seed + round) % RLK_ROUND_MS;
		round++;
	} while ((int64_t) at <= now_ms);
	return (int64_t) at;
}
