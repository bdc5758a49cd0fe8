/* SPDX-License-Identifier: MIT */
/*
 * Chooses the columns that a terminal shows, and their widths.
 *
 * The holder and the name matter most. If not everything fits, first the token
 * goes, then the info is cut or goes, then the holder is cut, and then the
 * name; if that does not help, kind, expiry and age go as well. Failure modes:
 * none; below some 30 columns lines are longer than the terminal.
 */
#include "show/table.h"

/* A shorter part of a text is useless. */
#define NAME_LEAST 16
#define HOLDER_LEAST 16
#define INFO_LEAST 12
#define LEAST 6 /* of either, if nothing else helps */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The length of a line. */
static size_t taken(const size_t *width)
{
	size_t sum = 0;

	for (size_t c = 0; c < COLUMN_COUNT; c++) {
		if (width[c] > 0)
			sum += width[c] + TABLE_GAP;
	}
	return sum - TABLE_GAP;
}

/* Make column @c narrower by the excess, but not below @floor. */
static void narrow(size_t *width, enum table_column c, size_t columns,
		   size_t floor)
{
	size_t much = taken(width);
	size_t over = much > columns ? much - columns : 0;

	if (width[c] > floor)
		width[c] -= least(over, width[c] - floor);
}

/* Leave room for later blocks: "candidate", "waiting", "12h34m ago". */
static void leave_room(size_t *width)
{
	static const size_t widest[COLUMN_COUNT] = {
		[COLUMN_KIND] = 9,     [COLUMN_STATE] = 7,  [COLUMN_HELD] = 6,
		[COLUMN_EXPIRES] = 10, [COLUMN_TOKEN] = 16,
	};

	for (size_t c = 0; c < COLUMN_COUNT; c++) {
		if (width[c] > 0 && width[c] < widest[c])
			width[c] = widest[c];
	}
}

void table_fit(size_t *width, size_t columns, bool more)
{
	static const enum table_column last_to_go[] = {
		COLUMN_KIND,
		COLUMN_EXPIRES,
		COLUMN_HELD,
	};

	width[COLUMN_STRATEGY] = 0; /* the kind says it */
	if (more)
		leave_room(width);
	if (taken(width) > columns)
		width[COLUMN_TOKEN] = 0;
	narrow(width, COLUMN_INFO, columns, INFO_LEAST);
	if (taken(width) > columns)
		width[COLUMN_INFO] = 0;
	narrow(width, COLUMN_HOLDER, columns, HOLDER_LEAST);
	narrow(width, COLUMN_NAME, columns, NAME_LEAST);
	for (size_t i = 0; i < sizeof(last_to_go) / sizeof(*last_to_go); i++) {
		if (taken(width) > columns)
			width[last_to_go[i]] = 0;
	}
	narrow(width, COLUMN_HOLDER, columns, LEAST);
	narrow(width, COLUMN_NAME, columns, LEAST);
	if (more && taken(width) < columns)
		width[COLUMN_NAME] += columns - taken(width);
}
