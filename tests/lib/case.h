/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_CASE_H
#define ROWLOCK_TEST_CASE_H

/*
 * Cases of cmocka that register themselves, so that no table repeats them:
 *
 *	CASE("the sentence that it proves")
 *	{
 *		...
 *	}
 *
 *	CASE_MAIN(case_main)
 *
 * They are played in the order of their lines, by which their functions are
 * named. In the body, `state` is cmocka's, and the file's `err` is empty.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "code.h"

#define CASE_GLUE_(word, line) word##line
#define CASE_GLUE(word, line) CASE_GLUE_(word, line)
/** The function of the case on this line. */
#define CASE_HERE CASE_GLUE(case_on_line_, __LINE__)

/** One function that is several cases: their rows, each as in an array of
 * struct CMUnitTest. */
#define CASES(...)                                                             \
	static void CASE_GLUE(body_of_line_, __LINE__)(void **state);          \
	static void CASE_HERE(void **state)                                    \
	{                                                                      \
		err = (struct rowlock_errinfo){ 0 };                           \
		CASE_GLUE(body_of_line_, __LINE__)(state);                     \
	}                                                                      \
	__attribute__((constructor)) static void CASE_GLUE(register_line_,     \
							   __LINE__)(void)     \
	{                                                                      \
		static const struct CMUnitTest rows_[] = { __VA_ARGS__ };      \
                                                                               \
		case_add(__LINE__, rows_, sizeof(rows_) / sizeof(rows_[0]));   \
	}                                                                      \
	static void CASE_GLUE(body_of_line_,                                   \
			      __LINE__)(void **state __attribute__((unused)))

/** With a setup and a teardown: NULL, or as cmocka's. */
#define CASE_WITH(sentence, begin, end)                                        \
	CASES({ sentence, CASE_HERE, begin, end, NULL })

#define CASE(sentence) CASE_WITH(sentence, NULL, NULL)

/** Ends with its block, as a case does. */
#define CASE_ENDS(end) __attribute__((cleanup(end), unused))

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
