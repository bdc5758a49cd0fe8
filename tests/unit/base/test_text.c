/* SPDX-License-Identifier: MIT */
/*
 * Which texts may be names: limits of UTF-8, of length, of control characters.
 */
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

static char buffer[128];

static const char *name_problem(const char *name)
{
	return rlk_name_problem(name, buffer, sizeof(buffer));
}

static const char *text_problem(const char *text)
{
	return rlk_text_problem(text, 255, buffer, sizeof(buffer));
}

#define assert_problem(problem, words)                                         \
	do {                                                                   \
		const char *got = (problem);                                   \
                                                                               \
		assert_non_null(got);                                          \
		if (!strstr(got, words))                                       \
			fail_msg("\"%s\" does not say \"%s\"", got, words);    \
	} while (0)

CASE("first and last of each length are UTF-8")
{
	static const char *const good[] = {
		" a",
		"~",
		"\xc2\xa0",
		"\xdf\xbf",
		"\xe0\xa0\x80",
		"\xed\x9f\xbf",
		"\xee\x80\x80",
		"\xef\xbf\xbf",
		"\xf0\x90\x80\x80",
		"\xf4\x8f\xbf\xbf",
	};

	for (size_t i = 0; i < TEST_SIZE(good); i++)
		if (name_problem(good[i]))
			fail_msg("text %zu %s", i, name_problem(good[i]));
}

CASE("malformed bytes are refused")
{
	static const char *const bad[] = {
		"x\x80", /* a continuation alone */
		"x\xbf",
		"x\xc2", /* cut short by the end */
		"x\xe2\x82",
		"x\xf0\x9f\x92",
		"x\xc2y",            /* cut short by another */
		"x\xc0\x80",         /* overlong NUL */
		"x\xc1\xbf",         /* overlong 0x7f */
		"x\xe0\x9f\xbf",     /* overlong 0x7ff */
		"x\xf0\x8f\xbf\xbf", /* overlong 0xffff */
		"x\xed\xa0\x80",     /* first surrogate */
		"x\xed\xbf\xbf",     /* last surrogate */
		"x\xf4\x90\x80\x80", /* 0x110000 */
		"x\xf8\x88\x80\x80\x80",
		"x\xfe",
		"x\xff",
	};

	for (size_t i = 0; i < TEST_SIZE(bad); i++) {
		if (!name_problem(bad[i]))
			fail_msg("text %zu is taken for UTF-8", i);
		assert_problem(name_problem(bad[i]), "at byte 1");
		assert_problem(text_problem(bad[i]), "is not UTF-8");
	}
}

CASE("control characters are refused")
{
	for (unsigned int c = 1; c < 0x20; c++) {
		const char text[] = { 'x', (char) c, 'y', 0 };

		assert_problem(name_problem(text), "control character");
	}
	assert_problem(name_problem("\x7f"), "control character (at byte 0)");
	for (unsigned int c = 0x80; c < 0xa0; c++) {
		const char text[] = { (char) 0xc2, (char) c, 0 };

		assert_problem(text_problem(text), "control character");
	}
}

static char *repeat(const char *text, size_t times)
{
	size_t length = strlen(text);
	char *all = malloc(length * times + 1);

	assert_non_null(all);
	for (size_t i = 0; i < times; i++)
		memcpy(all + i * length, text, length);
	all[length * times] = '\0';
	return all;
}

CASE("length counts characters, not bytes")
{
	static const char *const units[] = { "n", "\xc3\xa4", "\xe2\x82\xac",
					     "\xf0\x9f\x94\x92" };

	for (size_t i = 0; i < TEST_SIZE(units); i++) {
		char *most = repeat(units[i], 100);
		char *more = repeat(units[i], 101);

		assert_null(name_problem(most));
		assert_problem(name_problem(more),
			       "has 101 characters; at most 100");
		free(most);
		free(more);
	}
}

CASE("a blank at the end is refused in names only")
{
	assert_problem(name_problem("job "), "blank at the end");
	assert_problem(name_problem(" "), "blank at the end");
	assert_null(name_problem(" job"));
	assert_null(name_problem("a job"));
	/* Another character altogether; the table's collation sees it. */
	assert_null(name_problem("job\xc2\xa0"));
	assert_null(text_problem("job "));
}

CASE("empty is refused in names only")
{
	assert_problem(name_problem(""), "is empty");
	assert_null(text_problem(""));
}

/* Numbered seats and shards are what names look like. */
CASE("names that differ in a letter are spread")
{
	unsigned int places[2][4] = { { 0 } };

	for (int i = 0; i < 1000; i++) {
		char name[32];
		uint64_t hash;

		snprintf(name, sizeof(name), "seat-%d", i);
		hash = rlk_scramble(rlk_text_hash(name));
		places[0][hash % 4]++;
		snprintf(name, sizeof(name), "seat-%c", ' ' + i % 90);
		hash = rlk_scramble(rlk_text_hash(name));
		places[1][hash % 4] += i < 90;
	}
	for (int i = 0; i < 4; i++) {
		assert_in_range(places[0][i], 200, 300);
		assert_in_range(places[1][i], 12, 36);
	}
}

/* So that nobody forges a line, or steers a terminal, by a message. */
CASE("what a message shows has no control characters")
{
	char *more = repeat("n", 10000);

	assert_string_equal(rlk_text_shown("seat 7\n\x1b[31m\xc2\x9b").text,
			    "seat 7\\x0a\\x1b[31m\\xc2\\x9b");
	assert_string_equal(rlk_text_shown("a\xff\xf0\x9f").text,
			    "a\\xff\\xf0\\x9f");
	assert_string_equal(rlk_text_shown("\xc3\xa9").text, "\xc3\xa9");
	assert_string_equal(rlk_text_shown(NULL).text, "");
	assert_in_range(strlen(rlk_text_shown(more).text), 100, 169);
	free(more);
}

CASE("a long answer is cut to the buffer")
{
	char *more = repeat("n", 101);
	char tiny[8];

	assert_string_equal(rlk_name_problem(more, tiny, sizeof(tiny)),
			    "has 101");
	free(more);
}

CASE_MAIN(case_main)
