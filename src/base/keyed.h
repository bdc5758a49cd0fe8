/* SPDX-License-Identifier: MIT */
#ifndef RLK_BASE_KEYED_H
#define RLK_BASE_KEYED_H

/*
 * Keyed hashes: without the key nobody can predict one, however many others are
 * known: SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input
 * PRF", 2012).
 */

#include <stddef.h>
#include <stdint.h>

struct rlk_key {
	uint64_t words[2];
};

/** A key of a text that nobody can guess. */
struct rlk_key rlk_key_of(const char *text);

uint64_t rlk_keyed_hash(const struct rlk_key *key, const void *bytes,
			size_t length);

#endif
