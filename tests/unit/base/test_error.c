/* SPDX-License-Identifier: MIT */
/*
 * Errors: code and text, in the caller's struct or nowhere.
 */
#include "base/error.h"

#include <string.h>

#include "test.h"

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
	for (int code = ROWLOCK_EBUSY; code >= ROWLOCK_EUNKNOWN; code--) {
		assert_string_not_equal(rowlock_strerror(code),
					"unknown error");
		for (int other = code + 1; other <= 0; other++)
			assert_string_not_equal(rowlock_strerror(code),
						rowlock_strerror(other));
	}
	assert_string_equal(rowlock_strerror(ROWLOCK_EUNKNOWN - 1),
			    "unknown error");
	assert_string_equal(rowlock_strerror(1), "unknown error");
	assert_string_equal(rowlock_strerror(0), "success");
}

CASE_MAIN(case_main)
