/* SPDX-License-Identifier: MIT */
/*
 * The small things of base, each by itself.
 */
#include "base/error.h"
#include "base/keyed.h"
#include "base/list.h"
#include "base/log.h"
#include "base/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

/* ------------------------------------------------------------------ error */

/* Errors: code and text, in the caller's struct or nowhere. */

CASE("a failure has code, number and text")
{
	err.mysql = 7;
	assert_code(rlk_fail(&err, ROWLOCK_EDB, "%s %d", "it", 3), ROWLOCK_EDB,
		    &err);
	assert_code(err.code, ROWLOCK_EDB, NULL);
	assert_int_equal(err.mysql, 0);
	assert_string_equal(err.message, "it 3");
	assert_code(rlk_fail_db(&err, ROWLOCK_EAUTH, 1045, "denied"),
		    ROWLOCK_EAUTH, &err);
	assert_int_equal(err.mysql, 1045);
	assert_string_equal(err.message, "denied");
}

CASE("nobody need listen")
{
	assert_code(rlk_fail(NULL, ROWLOCK_EBUSY, "x"), ROWLOCK_EBUSY, NULL);
	assert_code(rlk_fail_db(NULL, ROWLOCK_EDB, 1, "x"), ROWLOCK_EDB, NULL);
	rlk_prefix(NULL, "x");
}

CASE("a long text is cut and terminated")
{
	char text[2000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	rlk_fail(&err, ROWLOCK_EDB, "%s", text);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
	rlk_prefix(&err, "%s", text);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
}

CASE("a prefix stands before the text")
{
	rlk_fail_db(&err, ROWLOCK_EDB, 1205, "timeout");
	rlk_prefix(&err, "release '%s': ", "a%sb");
	assert_string_equal(err.message, "release 'a%sb': timeout");
	assert_code(err.code, ROWLOCK_EDB, NULL);
	assert_int_equal(err.mysql, 1205);
}

CASE("a prefix cuts the end of the text")
{
	char text[sizeof(err.message)];

	memset(text, 'y', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	rlk_fail(&err, ROWLOCK_EDB, "%s", text);
	rlk_prefix(&err, "first: ");
	assert_memory_equal(err.message, "first: yyy", 10);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
}

CASE("every code has words of its own")
{
	for (int code = ROWLOCK_EBUSY; code >= ROWLOCK_EOVER; code--) {
		assert_string_not_equal(rowlock_strerror(code),
					"unknown error");
		for (int other = code + 1; other <= 0; other++)
			assert_string_not_equal(rowlock_strerror(code),
						rowlock_strerror(other));
	}
	assert_string_equal(rowlock_strerror(ROWLOCK_EOVER - 1),
			    "unknown error");
	assert_string_equal(rowlock_strerror(1), "unknown error");
	assert_string_equal(rowlock_strerror(0), "success");
}

/* ------------------------------------------------------------------ keyed */

/* A keyed hash: as its authors define it, since all clients have to agree. */

/* The hashes of the bytes 0, 1, ... with the key 00 01 ... 0f: the authors'
 * test vectors, and the example of their paper, of 15 bytes. */
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

/* ------------------------------------------------------------------- list */

/* The intrusive list. */

struct item {
	int number;
	struct rlk_list node;
};

static int number_of(struct rlk_list *node)
{
	return container_of(node, struct item, node)->number;
}

CASE("nodes stand in the order they came")
{
	struct rlk_list list = RLK_LIST_INIT(list);
	struct item items[5];
	struct rlk_list *node;
	struct rlk_list *after;
	int expected = 0;

	assert_true(rlk_list_empty(&list));
	assert_null(rlk_list_first(&list));
	for (int i = 0; i < 5; i++) {
		items[i].number = i;
		rlk_list_append(&list, &items[i].node);
	}
	assert_false(rlk_list_empty(&list));
	assert_int_equal(number_of(rlk_list_first(&list)), 0);
	rlk_list_for_each(node, after, &list)
	{
		assert_int_equal(number_of(node), expected++);
	}
	assert_int_equal(expected, 5);
}

CASE("the present node may be removed while walking")
{
	struct rlk_list list = RLK_LIST_INIT(list);
	struct item items[6];
	struct rlk_list *node;
	struct rlk_list *after;
	int sum = 0;

	for (int i = 0; i < 6; i++) {
		items[i].number = i;
		rlk_list_append(&list, &items[i].node);
	}
	rlk_list_for_each(node, after, &list)
	{
		if (number_of(node) % 2)
			rlk_list_remove(node);
	}
	rlk_list_for_each(node, after, &list)
	{
		sum += number_of(node);
	}
	assert_int_equal(sum, 0 + 2 + 4);
}

CASE("removing twice does no harm")
{
	struct rlk_list list = RLK_LIST_INIT(list);
	struct item first = { .number = 1 };
	struct item second = { .number = 2 };

	rlk_list_append(&list, &first.node);
	rlk_list_append(&list, &second.node);
	rlk_list_remove(&first.node);
	rlk_list_remove(&first.node);
	assert_true(rlk_list_empty(&first.node));
	assert_int_equal(number_of(rlk_list_first(&list)), 2);
	rlk_list_append(&list, &first.node);
	assert_int_equal(number_of(list.prev), 1);
}

/* -------------------------------------------------------------------- log */

/* Log lines: for whom, from which level, and that nobody can forge one. */

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

/* ----------------------------------------------------------------- random */

/* Identities: never 0, never twice. */

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a;
	const uint64_t *y = b;

	return (*x > *y) - (*x < *y);
}

CASE("numbers do not repeat and use all bits")
{
	enum { COUNT = 100000 };
	uint64_t *numbers = calloc(COUNT, sizeof(*numbers));
	uint64_t ones = 0;
	uint64_t zeros = 0;

	assert_non_null(numbers);
	for (int i = 0; i < COUNT; i++) {
		numbers[i] = rlk_random();
		assert_true(numbers[i] != 0);
		ones |= numbers[i];
		zeros |= ~numbers[i];
	}
	assert_true(ones == UINT64_MAX);
	assert_true(zeros == UINT64_MAX);
	qsort(numbers, COUNT, sizeof(*numbers), compare);
	for (int i = 1; i < COUNT; i++)
		assert_true(numbers[i] != numbers[i - 1]);
	free(numbers);
}

CASE("a child of fork draws other numbers")
{
	uint64_t theirs = 0;
	uint64_t ours;
	int ends[2];
	pid_t pid;

	rlk_random();
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		theirs = rlk_random();
		if (write(ends[1], &theirs, sizeof(theirs)) < 0)
			_exit(1);
		_exit(0);
	}
	ours = rlk_random();
	assert_int_equal(read(ends[0], &theirs, sizeof(theirs)),
			 sizeof(theirs));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(ours != theirs);
	close(ends[0]);
	close(ends[1]);
}

CASE_MAIN(case_main)
