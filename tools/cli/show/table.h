/* SPDX-License-Identifier: MIT */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

/*
 * Entries as a table on stdout, block by block (grid.h).
 */

#include <stdbool.h>

#include "show/entries.h"
#include "show/grid.h"

struct table {
	struct grid grid;
	bool waiters; /* the columns are of those that wait */
};

/** @wide: all columns in full, even on a terminal. */
void table_init(struct table *table, bool waiters, bool wide);

/** Show @block; there is more to come if @more. Ends the process if there is no
 *  memory: it holds nothing. */
void table_put(struct table *table, const struct entries *block, bool more);

#endif
