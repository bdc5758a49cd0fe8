/* SPDX-License-Identifier: MIT */
/*
 * A keyed hash: as its authors define it, since all clients have to agree.
 */
#include "base/keyed.h"

#include "test.h"

/* Of the bytes 0, 1, ... with the key 00 01 ... 0f: the authors' test vectors,
 * and the example of their paper, of 15 bytes. */
CASE("the numbers are those of its authors")
{
	static const struct {
		size_t length;
		uint64_t hash;
	} vectors[] = {
		{ 0, 0x726fdb47dd0e0e31 },  { 1, 0x74f839c593dc67fd },
		{ 2, 0x0d6c8009d9a94f5a },  { 7, 0xab0200f58b01d137 },
		{ 8, 0x93f5f5799a932462 },  { 9, 0x9e0082df0ba9e4b0 },
		{ 15, 0xa129ca6149be45e5 },
	};
	const struct rlk_key key = { { 0x0706050403020100,
				       0x0f0e0d0c0b0a0908 } };
	unsigned char bytes[16];

	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char) i;
	for (size_t i = 0; i < TEST_SIZE(vectors); i++)
		assert_true(rlk_keyed_hash(&key, bytes, vectors[i].length) ==
			    vectors[i].hash);
}

CASE("a key is all of its text")
{
	const struct rlk_key key = rlk_key_of("a secret of some length");
	const struct rlk_key other = rlk_key_of("a secret of some lengti");

	assert_true(key.words[0] != other.words[0]);
	assert_true(key.words[1] != other.words[1]);
	assert_true(key.words[0] != key.words[1]);
}

CASE_MAIN(case_main)
