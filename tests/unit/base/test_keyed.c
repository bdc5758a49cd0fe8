/* SPDX-License-Identifier: MIT */
/*
 * A keyed hash: as its authors define it, since all clients have to agree.
 */
#include "base/keyed.h"

#include "test.h"

/* Of the bytes 0, 1, ... with the key 00 01 ... 0f: the authors' test vectors,
 * and the example of their paper, of 15 bytes. */
static void numbers_are_those_of_its_authors(void **state)
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

	(void) state;
	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char) i;
	for (size_t i = 0; i < TEST_SIZE(vectors); i++)
		assert_true(rlk_keyed_hash(&key, bytes, vectors[i].length) ==
			    vectors[i].hash);
}

static void key_is_all_of_its_text(void **state)
{
	const struct rlk_key key = rlk_key_of("a secret of some length");
	const struct rlk_key other = rlk_key_of("a secret of some lengti");

	(void) state;
	assert_true(key.words[0] != other.words[0]);
	assert_true(key.words[1] != other.words[1]);
	assert_true(key.words[0] != key.words[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST("the numbers are those of its authors",
		     numbers_are_those_of_its_authors),
		TEST("a key is all of its text", key_is_all_of_its_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
