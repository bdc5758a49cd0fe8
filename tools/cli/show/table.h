/* SPDX-License-Identifier: MIT */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

/*
 * Entries as a table on stdout, block by block: its columns are as wide as the
 * first block wants them, and so the first line is there before the last one is
 * known.
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
	size_t columns; /* of the terminal; 0: as many as it takes */
	bool paint;
	bool begun;
	size_t width[COLUMN_COUNT]; /* 0: not shown */
};

/** @wide: also on a terminal all columns, in full. */
void table_init(struct table *table, bool wide);

/** Show @block; there is more to come if @more. Ends the process if there is no
 *  memory: it holds nothing. */
void table_put(struct table *table, const struct entries *block, bool more);

/**
 * Choose widths for a terminal of @columns. @width has those of the first
 * block; 0 becomes of a column that is not shown. @more: other blocks follow,
 * with what nobody knows yet.
 */
void table_fit(size_t *width, size_t columns, bool more);

#endif
