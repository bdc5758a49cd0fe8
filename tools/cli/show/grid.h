/* SPDX-License-Identifier: MIT */
#ifndef CLI_GRID_H
#define CLI_GRID_H

/*
 * A table on stdout, or elsewhere, block by block: its columns fit the first
 * block, so the first line is shown before the last one is known.
 *
 * In a pipe all columns are shown, in full, padded with blanks, and the text is
 * the same in every locale. On a terminal a line fits its width. An empty or
 * unknown field is "-".
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define GRID_COLUMNS_MOST 12

/* Blanks between two columns. */
#define GRID_GAP 2

struct grid_column {
	const char *title; /* without one it is not shown */
	size_t widest;     /* that later blocks may have; 0: any */
	bool tail;         /* it is cut at its beginning */
};

/** If a line is too long still: make a column narrower, but not below @least;
 *  0: leave it out. */
struct grid_step {
	size_t column;
	size_t least;
};

struct grid {
	/* Set by the caller, before the first block. */
	const char *command; /* for messages */
	struct grid_column columns[GRID_COLUMNS_MOST];
	size_t count;
	const struct grid_step *steps;
	size_t step_count;
	size_t elastic; /* the column that gets what is left */
	size_t painted; /* the column that has the line's colour */

	/* grid_init() sets these. */
	FILE *out;    /* stdout */
	size_t limit; /* columns of the terminal; 0: no limit */
	bool paint;

	/* Private. */
	bool begun;
	size_t width[GRID_COLUMNS_MOST]; /* 0: not shown */
};

struct grid_line {
	char *cell[GRID_COLUMNS_MOST]; /* escaped; on the heap */
	const char *colour;
};

/** @wide: all columns in full, even on a terminal. */
void grid_init(struct grid *grid, const char *command, bool wide);

/** Room for @count lines. Ends the process if there is no memory: it holds
 *  nothing. */
struct grid_line *grid_lines(const struct grid *grid, size_t count);

/** Show @count @lines, and free them; there is more to come if @more. Ends the
 *  process if a cell is NULL. */
void grid_put(struct grid *grid, struct grid_line *lines, size_t count,
	      bool more);

/* Cells; NULL without memory. "" and 0 are "-". */
char *cell_text(const char *text);
char *cell_number(uint64_t number);
char *cell_span(const char *head, uint64_t ms, const char *tail);

#define COLOUR_GOOD "\033[32m"
#define COLOUR_BAD "\033[31m"
#define COLOUR_DIM "\033[2m"
#define COLOUR_END "\033[0m"

#endif
