/* SPDX-License-Identifier: MIT */
/*
 * Log lines: for whom, from which level, and that nobody can forge one.
 */
#include "base/log.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

struct lines {
	unsigned int count;
	enum rowlock_log_level level;
	char last[4096];
};

static void keep(enum rowlock_log_level level, const char *message, void *arg)
{
	struct lines *lines = arg;

	lines->count++;
	lines->level = level;
	snprintf(lines->last, sizeof(lines->last), "%s", message);
}

CASE("lines above the level are not made")
{
	struct lines lines = { 0 };
	const struct rlk_log log = { keep, &lines, ROWLOCK_LOG_WARNING };

	rlk_log(&log, ROWLOCK_LOG_INFO, "no");
	rlk_log(&log, ROWLOCK_LOG_DEBUG, "no");
	assert_int_equal(lines.count, 0);
	rlk_log(&log, ROWLOCK_LOG_WARNING, "yes %d", 1);
	assert_int_equal(lines.count, 1);
	assert_int_equal(lines.level, ROWLOCK_LOG_WARNING);
	assert_string_equal(lines.last, "yes 1");
	rlk_log(&log, ROWLOCK_LOG_ERROR, "yes 2");
	assert_int_equal(lines.count, 2);
}

CASE("without a function it is silent")
{
	const struct rlk_log log = { NULL, NULL, ROWLOCK_LOG_DEBUG };

	rlk_log(&log, ROWLOCK_LOG_ERROR, "nobody hears %s", "this");
	rlk_log(NULL, ROWLOCK_LOG_ERROR, "nor this");
}

CASE("control characters are escaped")
{
	struct lines lines = { 0 };
	const struct rlk_log log = { keep, &lines, ROWLOCK_LOG_INFO };

	rlk_log(&log, ROWLOCK_LOG_INFO, "a%sz", "\n\x1b[2J\x7f\x01");
	assert_string_equal(lines.last, "a\\x0a\\x1b[2J\\x7f\\x01z");
	rlk_log(&log, ROWLOCK_LOG_INFO, "n\xc3\xa4me");
	assert_string_equal(lines.last, "n\xc3\xa4me");
}

/* Some terminals obey 0x9b, alone or as U+009B, as they do ESC [. In a letter
 * it is a part of that. */
CASE("a byte of C1 is escaped, and a letter is not")
{
	struct lines lines = { 0 };
	const struct rlk_log log = { keep, &lines, ROWLOCK_LOG_INFO };
	const char *letters =
	    "\xc3\x9b\xe6\xbc\xa2\xe2\x9b\xb5\xf0\x9f\x94\x92";

	rlk_log(&log, ROWLOCK_LOG_INFO, "a%sz",
		"\x9b"
		"2J");
	assert_string_equal(lines.last, "a\\x9b2Jz");
	rlk_log(&log, ROWLOCK_LOG_INFO, "a%sz",
		"\xc2\x9b"
		"2J\xc2\x80\xc2\xa0");
	assert_string_equal(lines.last, "a\\xc2\\x9b2J\\xc2\\x80\xc2\xa0z");
	rlk_log(&log, ROWLOCK_LOG_INFO, "%s", letters);
	assert_string_equal(lines.last, letters);
	/* In what is no letter: too long for it, or cut. */
	rlk_log(&log, ROWLOCK_LOG_INFO, "%s", "\xe0\x82\x9b\xc3");
	assert_string_equal(lines.last, "\\xe0\\x82\\x9b\\xc3");
}

CASE("a long line is cut and terminated")
{
	struct lines lines = { 0 };
	const struct rlk_log log = { keep, &lines, ROWLOCK_LOG_INFO };
	char text[5000];

	memset(text, '\n', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	rlk_log(&log, ROWLOCK_LOG_INFO, "%s", text);
	assert_int_equal(lines.count, 1);
	assert_true(strlen(lines.last) < 2048);
	/* Never cut inside an escape. */
	assert_int_equal(strlen(lines.last) % 4, 0);
}

CASE_MAIN(case_main)
