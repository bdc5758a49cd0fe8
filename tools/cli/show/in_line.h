/* SPDX-License-Identifier: MIT */
#ifndef CLI_IN_LINE_H
#define CLI_IN_LINE_H

/*
 * The place of this process in the server's line for a name, in words.
 */

#include <rowlock.h>
#include <stdbool.h>
#include <stdint.h>

#include "show/sight.h"

/** All zero to begin with. */
struct in_line {
	bool looked;    /* the server has answered */
	uint64_t place; /* 1 is the first; 0: not known */
	/* Why others that are not shown may stand before it; or "". */
	char unseen[256];
};

/** Room for in_line_say(). */
#define IN_LINE_SIZE 64

/** Ask the server, by some statements. For one name: there is no line for
 *  several. Without an answer @ret_in_line is all zero. */
void in_line_look(struct rowlock_client *client, const struct sight_of *of,
		  struct in_line *ret_in_line);

/** ", third in line", or later if others are not shown; "" if the place is not
 *  known. */
void in_line_say(const struct in_line *in_line, char *ret_text);

#endif
