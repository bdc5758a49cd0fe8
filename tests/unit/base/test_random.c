/* SPDX-License-Identifier: MIT */
/*
 * Identities: never 0, never twice.
 */
#include "base/random.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

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
