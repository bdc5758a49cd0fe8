/* SPDX-License-Identifier: MIT */
#ifndef CLI_GRID_PRIVATE_H
#define CLI_GRID_PRIVATE_H

#include "show/grid.h"

/** Choose widths for a terminal. The grid's widths are those of the first
 *  block; a column that is not shown gets 0. @more: other blocks follow, with
 *  unknown widths. */
void grid_fit(struct grid *grid, bool more);

#endif
