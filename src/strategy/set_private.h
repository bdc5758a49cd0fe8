/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_SET_PRIVATE_H
#define RLK_STRATEGY_SET_PRIVATE_H

/*
 * What the files of sets share: set.c asks for one, set_batch.c for many.
 */

#include "base/set_text.h"
#include "strategy/lease_private.h"
#include "strategy/set.h"

#include <rowlock/multilock.h>

/** One name of a set that is asked for. */
struct rlk_set_row {
	const struct rlk_request *request;
	const char *name; /* in the request's, not terminated */
	size_t length;
};

/** Write a row for each name of @request, at most ROWLOCK_MULTILOCK_MAX.
 *  Returns how many. */
size_t rlk_set_rows(const struct rlk_request *request,
		    struct rlk_set_row *ret_rows);

/**
 * Make the rows of sets that have no name in common: of each set all, if none
 * of its names has a row; else none. Values: rlk_set_values_of_row(). 1242, by
 * which no row is made at all: one of the names has got its row since this
 * statement began.
 */
extern const struct rlk_many_def rlk_set_insert;
#define RLK_SET_RACE 1242

/** Both for an array of struct rlk_set_row. */
void rlk_set_values_of_row(const void *rows, size_t row,
			   struct rlk_value *ret_values);
void rlk_set_values_of_pair(const void *rows, size_t row,
			    struct rlk_value *ret_values);

/* set_batch.c */

/** Who has the names of one set, as a look finds it. */
struct rlk_set_seen {
	size_t own;               /* names that its attempt has */
	unsigned int others;      /* so many have a name, */
	struct rlk_holder holder; /* and of those, this one is told of */
};

/** Count in what @columns, a row of rlk_lease_look_many, tells of one of @rows:
 *  those of one set, @count of them. Nothing if it is about another name. */
void rlk_set_see(struct rlk_set_seen *seen, const struct rlk_set_row *rows,
		 size_t count, const struct rlk_value *columns);

#endif
