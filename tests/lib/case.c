// SPDX-License-Identifier: MIT
/* Constructors come in no promised order: the lines of cases tell theirs. */
#include "case.h"

#include <stdlib.h>

#define MOST_CASES 500

static struct CMUnitTest cases[MOST_CASES];
static int lines[MOST_CASES];
static size_t n_cases;

void case_add(int line, const struct CMUnitTest *rows, size_t count)
{
	size_t i;

	for (; count; count--, rows++, n_cases++) {
		if (n_cases == MOST_CASES)
			abort();
		for (i = n_cases; i && lines[i - 1] > line; i--) {
			cases[i] = cases[i - 1];
			lines[i] = lines[i - 1];
		}
		cases[i] = *rows;
		lines[i] = line;
	}
}

const struct CMUnitTest *case_all(size_t *ret_count)
{
	*ret_count = n_cases;
	return cases;
}

int case_run(CMFixtureFunction begin, CMFixtureFunction end)
{
	/* cmocka's macro wants an array: its function does not. */
	return _cmocka_run_group_tests("tests", cases, n_cases, begin, end);
}

int case_main(void)
{
	return case_run(NULL, NULL);
}
