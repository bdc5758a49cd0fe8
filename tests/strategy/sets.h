/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_SETS_H
#define ROWLOCK_TEST_SETS_H

/*
 * Sets of three names: "WORD-0" to "WORD-2".
 */

#include "ground.h"

#define SETS_NAMES 3

struct sets_trio {
	char names[SETS_NAMES][80];
	char all[300];       /* the text of the set of them */
	char first_two[200]; /* of the first two, */
	char last_two[200];  /* and of the last two */
	char last[80];
};

/** Names of this very test. */
struct sets_trio sets_trio(const char *word);

/** How many of the names has @attempt, or any, if that is 0? */
uint64_t sets_rows(const struct sets_trio *trio, uint64_t attempt);

/** The lease of a single name, as a request of client @who. It must be free. */
struct rlk_request sets_take_one(int who, const char *name);
void sets_release_one(int who, const struct rlk_request *request);

#endif
