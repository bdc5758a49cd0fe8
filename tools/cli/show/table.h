/* SPDX-License-Identifier: MIT */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

/*
 * Entries as a table on stdout, block by block: its columns fit the first
 * block, so the first line is shown before the last one is known.
 */

#include <stdbool.h>
#include <stddef.h>

#include "show/entries.h"

enum table_column {
	COLUMN_STRATEGY,
	COLUMN_NAME,
	COLUMN_KIND,
	COLUMN_STATE,
	COLUMN_HELD,
	COLUMN_EXPIRES,
	COLUMN_HOLDER,
	COLUMN_TOKEN,
	COLUMN_INFO,
	COLUMN_COUNT,
};

/* Blanks between two columns. */
#define TABLE_GAP 2

struct table {
	size_t columns; /* of the terminal; 0: no limit */
	bool paint;
	bool waiters; /* the columns are of those that wait */
	bool begun;
	size_t width[COLUMN_COUNT]; /* 0: not shown */
};

/** @wide: all columns in full, even on a terminal. The caller sets waiters. */
void table_init(struct table *table, bool wide);

/** Show @block; there is more to come if @more. Ends the process if there is no
 *  memory: it holds nothing. */
void table_put(struct table *table, const struct entries *block, bool more);

/**
 * Choose widths for a terminal of @columns. @width has the widths of the first
 * block; a column that is not shown gets 0. @more: other blocks follow, with
 * unknown widths.
 */
void table_fit(size_t *width, size_t columns, bool more);

#endif
