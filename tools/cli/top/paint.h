/* SPDX-License-Identifier: MIT */
#ifndef CLI_PAINT_H
#define CLI_PAINT_H

/*
 * Lines on a screen, by ncurses.
 */

#include <stdbool.h>
#include <stddef.h>

/** How a line looks. */
enum paint_look {
	PAINT_PLAIN,
	PAINT_TITLE,
	PAINT_CHOSEN,
};

/** Take the screen. Returns false, and reports, if the terminal has none. */
bool paint_begin(void);

/** Give it back; also before the process stops. */
void paint_end(void);

/** The terminal has another size. */
void paint_resize(void);

/**
 * Write @text, which is escaped and may have the colours of a grid, on the line
 * @y: as much as there is room for, and a mark if there is more. Other
 * characters that are not printable here become a mark, too.
 */
void paint_line(int y, const char *text, enum paint_look look);

#endif
