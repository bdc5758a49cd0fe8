/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_TEXT_H
#define TOOLS_TEXT_H

/*
 * Text from the database, made safe for a terminal and for JSON, and numbers
 * from the command line.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/macro.h"

/** free() for _cleanup_. */
void text_freep(char **text);

/** Format into memory of its own. Returns NULL without memory. */
char *text_format(const char *format, va_list args) RLK_PRINTF(1, 0);

/**
 * Write @text so that it cannot steer a terminal nor look like another text:
 * control characters, marks of writing direction and bytes that are not UTF-8
 * become \xNN or \u{NNNN}; with @unambiguous the backslash is doubled too.
 */
void text_escape(FILE *out, const char *text, bool unambiguous);

/** Copy @text, such as a file's name, as UTF-8: a character that is not safe,
 *  or a byte that is not UTF-8, becomes '?'. A text that does not fit is cut.
 */
void text_plain(const char *text, char *ret_text, size_t size);

/** The columns that a terminal needs for @text: escaped text only. */
size_t text_width(const char *text);

/** The mark that something is missing: an ellipsis if the locale has one. */
const char *text_cut_mark(void);

/** Write @text, escaped text of more columns than @width, on @width of them:
 *  its beginning, or with @tail its end, and the mark.
 */
void text_put_cut(FILE *out, const char *text, size_t width, bool tail);

/** Room for text_span(). */
#define TEXT_SPAN_SIZE 24

/** @ms as people read it: 0.2s, 12.0s, 4m05s, 3h20m, 2d03h. */
void text_span(uint64_t ms, char *ret_text);

/** Write @text as a JSON string with its quotes. Bytes that are not UTF-8
 *  become U+FFFD. */
void text_json(FILE *out, const char *text);

/**
 * Read a duration: seconds, with a fraction if need be, or a number with the
 * suffix ms, s, m, h or d. Rounded up to whole milliseconds; at most a million
 * hours.
 */
bool text_duration(const char *text, uint64_t *ret_ms);

/** Read a decimal number from @min to @max. */
bool text_number(const char *text, unsigned int min, unsigned int max,
		 unsigned int *ret_number);

#endif
