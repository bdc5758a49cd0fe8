/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_CODE_H
#define ROWLOCK_TEST_CODE_H

/* Codes of the library. cmocka.h is included before. */

#include <rowlock.h>
#include <stdbool.h>

/** The error of the last call that was given it, in this file and on this
 *  thread. */
static _Thread_local __attribute__((unused)) struct rowlock_errinfo err;

static inline void test_code(int got, int want,
			     const struct rowlock_errinfo *error,
			     const char *what, const char *file, int line)
{
	bool said = got && error && error->code == got;

	if (got == want)
		return;
	print_error("%s\n  gave %d (%s), not %d (%s)\n  %s\n", what, got,
		    got ? rowlock_strerror(got) : "all is well", want,
		    want ? rowlock_strerror(want) : "all is well",
		    said ? error->message : "");
	_fail(file, line);
}

/** Fail unless @got is @want, and say what the library said. */
#define assert_code(got, want, error)                                          \
	test_code(got, want, error, #got, __FILE__, __LINE__)
/** Fail unless @call, whose last argument is &err, returns 0. */
#define assert_ok(call) assert_code(call, 0, &err)

#endif
