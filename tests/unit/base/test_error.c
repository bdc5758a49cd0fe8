/* SPDX-License-Identifier: MIT */
/*
 * Errors: code and text, in the caller's struct or nowhere.
 */
#include "base/error.h"

#include <string.h>

#include "test.h"

static void failure_has_code_number_and_text(void **state)
{
	struct rowlock_errinfo err = { .mysql = 7 };

	(void) state;
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

static void nobody_need_listen(void **state)
{
	(void) state;
	assert_code(rlk_fail(NULL, ROWLOCK_EBUSY, "x"), ROWLOCK_EBUSY, NULL);
	assert_code(rlk_fail_db(NULL, ROWLOCK_EDB, 1, "x"), ROWLOCK_EDB, NULL);
	rlk_prefix(NULL, "x");
}

static void long_text_is_cut_and_terminated(void **state)
{
	struct rowlock_errinfo err;
	char text[2000];

	(void) state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	rlk_fail(&err, ROWLOCK_EDB, "%s", text);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
	rlk_prefix(&err, "%s", text);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
}

static void prefix_stands_before_the_text(void **state)
{
	struct rowlock_errinfo err;

	(void) state;
	rlk_fail_db(&err, ROWLOCK_EDB, 1205, "timeout");
	rlk_prefix(&err, "release '%s': ", "a%sb");
	assert_string_equal(err.message, "release 'a%sb': timeout");
	assert_code(err.code, ROWLOCK_EDB, NULL);
	assert_int_equal(err.mysql, 1205);
}

static void prefix_cuts_the_end_of_the_text(void **state)
{
	struct rowlock_errinfo err;
	char text[sizeof(err.message)];

	(void) state;
	memset(text, 'y', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	rlk_fail(&err, ROWLOCK_EDB, "%s", text);
	rlk_prefix(&err, "first: ");
	assert_memory_equal(err.message, "first: yyy", 10);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
}

static void every_code_has_words_of_its_own(void **state)
{
	(void) state;
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

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST("a failure has code, number and text",
		     failure_has_code_number_and_text),
		TEST("nobody need listen", nobody_need_listen),
		TEST("a long text is cut and terminated",
		     long_text_is_cut_and_terminated),
		TEST("a prefix stands before the text",
		     prefix_stands_before_the_text),
		TEST("a prefix cuts the end of the text",
		     prefix_cuts_the_end_of_the_text),
		TEST("every code has words of its own",
		     every_code_has_words_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
