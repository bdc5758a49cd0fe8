/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_SUGGEST_H
#define TOOLS_SUGGEST_H

/* Suggestions for an unknown word. */

#include <getopt.h>

/** A word of another tool, and ours for it. */
struct synonym {
	const char *theirs;
	const char *ours;
};

/** The one of @near and @candidate that is closer to @word, or NULL. @near may
 *  be NULL. */
const char *suggest_nearer(const char *word, const char *near,
			   const char *candidate);

/** getopt_long() that, for an unknown option, also reports the one that may be
 *  meant. */
int suggest_getopt(int argc, char **argv, const char *letters,
		   const struct option *options, int *ret_index);

#endif
