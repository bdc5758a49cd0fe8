/* SPDX-License-Identifier: MIT */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

/*
 * Entries as a table, block by block (grid.h).
 */

#include <stdbool.h>

#include "show/entries.h"
#include "show/grid.h"

/** The rows that the columns describe. */
enum table_of {
	TABLE_HOLDS,
	TABLE_WAITERS,
	TABLE_WATCHED, /* holds, and how many wait for each */
};

struct table {
	struct grid grid;
	enum table_of of;
	const uint64_t *waiting; /* for each entry of the block; NULL: none */
};

/** @wide: all columns in full, even on a terminal. */
void table_init(struct table *table, enum table_of of, bool wide);

/** Show @block; there is more to come if @more. Ends the process if there is no
 *  memory: it holds nothing. */
void table_put(struct table *table, const struct entries *block, bool more);

#endif
