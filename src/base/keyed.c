/* SPDX-License-Identifier: MIT */
#include "base/keyed.h"

#include <string.h>

struct state {
	uint64_t v[4];
};

static uint64_t turn(uint64_t word, unsigned int bits)
{
	return word << bits | word >> (64 - bits);
}

static void rounds(struct state *state, int count)
{
	uint64_t *v = state->v;

	for (int i = 0; i < count; i++) {
		v[0] += v[1];
		v[1] = turn(v[1], 13) ^ v[0];
		v[0] = turn(v[0], 32);
		v[2] += v[3];
		v[3] = turn(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = turn(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = turn(v[1], 17) ^ v[2];
		v[2] = turn(v[2], 32);
	}
}

static void take(struct state *state, uint64_t word)
{
	state->v[3] ^= word;
	rounds(state, 2);
	state->v[0] ^= word;
}

/* Little-endian, whatever the machine is. */
static uint64_t word_of(const unsigned char *bytes, size_t count)
{
	uint64_t word = 0;

	for (size_t i = 0; i < count; i++)
		word |= (uint64_t) bytes[i] << 8 * i;
	return word;
}

uint64_t rlk_keyed_hash(const struct rlk_key *key, const void *bytes,
			size_t length)
{
	const unsigned char *at = bytes;
	const unsigned char *end = at + length / 8 * 8;
	struct state state = { {
	    key->words[0] ^ 0x736f6d6570736575u,
	    key->words[1] ^ 0x646f72616e646f6du,
	    key->words[0] ^ 0x6c7967656e657261u,
	    key->words[1] ^ 0x7465646279746573u,
	} };

	for (; at < end; at += 8)
		take(&state, word_of(at, 8));
	take(&state, word_of(at, length % 8) | (uint64_t) length << 56);
	state.v[2] ^= 0xff;
	rounds(&state, 4);
	return state.v[0] ^ state.v[1] ^ state.v[2] ^ state.v[3];
}

struct rlk_key rlk_key_of(const char *text)
{
	const struct rlk_key first = { { 1, 0 } };
	const struct rlk_key second = { { 2, 0 } };
	size_t length = strlen(text);

	return (struct rlk_key){ {
	    rlk_keyed_hash(&first, text, length),
	    rlk_keyed_hash(&second, text, length),
	} };
}
