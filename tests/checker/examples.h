/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_CHECKER_EXAMPLES_H
#define ROWLOCK_CHECKER_EXAMPLES_H

#include "check.h"

#define NO_VIOLATION CHECK_KINDS

/** A history, times in milliseconds, and what there is to be found in it. */
struct example {
	const char *sentence;
	const char *history;
	enum check_kind kind;
	unsigned int count;
	size_t lines; /* of the excerpt of the first */
	bool fair;    /* judged too */
};

extern const struct example examples[];
extern const size_t n_examples;

#endif
