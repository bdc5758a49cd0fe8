/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_CASE_H
#define ROWLOCK_TEST_CASE_H

/*
 * Cases of cmocka that register themselves, so that no table repeats them:
 *
 *	CASE(function, "the sentence that it proves")
 *	{
 *		...
 *	}
 *
 *	CASE_MAIN(case_main)
 *
 * They are played in the order of their lines. In the body, `state` is
 * cmocka's.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/** One function that is several cases: what follows it are their rows, each as
 *  in an array of struct CMUnitTest. */
#define CASES(function, ...)                                                   \
	static void function(void **state);                                    \
	__attribute__((constructor)) static void function##_is_a_case(void)    \
	{                                                                      \
		static const struct CMUnitTest rows_[] = { __VA_ARGS__ };      \
                                                                               \
		case_add(__LINE__, rows_, sizeof(rows_) / sizeof(rows_[0]));   \
	}                                                                      \
	static void function(void **state __attribute__((unused)))

/** With a setup and a teardown: NULL, or as cmocka's. */
#define CASE_WITH(function, sentence, begin, end)                              \
	CASES(function, { sentence, function, begin, end, NULL })

#define CASE(function, sentence) CASE_WITH(function, sentence, NULL, NULL)

/** @run is case_main(), or a ring's own. */
#define CASE_MAIN(run)                                                         \
	int main(void)                                                         \
	{                                                                      \
		return run();                                                  \
	}

/** Play all, between @begin and @end of the whole; returns main()'s result. */
int case_run(CMFixtureFunction begin, CMFixtureFunction end);
int case_main(void);

/** All of the program, in their order. */
const struct CMUnitTest *case_all(size_t *ret_count);

void case_add(int line, const struct CMUnitTest *rows, size_t count);

#endif
