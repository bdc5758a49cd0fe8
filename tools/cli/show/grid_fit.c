/* SPDX-License-Identifier: MIT */
/*
 * Chooses the columns that a terminal shows, and their widths, by the steps of
 * the table. Failure modes: none; a terminal that is too narrow for all steps
 * has longer lines.
 */
#include "show/grid_private.h"

/* The length of a line. */
static size_t taken(const struct grid *grid)
{
	size_t sum = 0;

	for (size_t c = 0; c < grid->count; c++) {
		if (grid->width[c] > 0)
			sum += grid->width[c] + GRID_GAP;
	}
	return sum - GRID_GAP;
}

static void take(struct grid *grid, const struct grid_step *step)
{
	size_t *width = &grid->width[step->column];
	size_t much = taken(grid);
	size_t over = much > grid->limit ? much - grid->limit : 0;

	if (over > 0 && step->least == 0)
		*width = 0;
	else if (*width > step->least && *width - step->least > over)
		*width -= over;
	else if (*width > step->least && over > 0)
		*width = step->least;
}

/* Leave room for later blocks. */
static void leave_room(struct grid *grid)
{
	for (size_t c = 0; c < grid->count; c++) {
		if (grid->width[c] > 0 &&
		    grid->width[c] < grid->columns[c].widest)
			grid->width[c] = grid->columns[c].widest;
	}
}

void grid_fit(struct grid *grid, bool more)
{
	if (more)
		leave_room(grid);
	for (size_t i = 0; i < grid->step_count; i++)
		take(grid, &grid->steps[i]);
	if (more && taken(grid) < grid->limit)
		grid->width[grid->elastic] += grid->limit - taken(grid);
}
