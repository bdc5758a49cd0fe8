/* SPDX-License-Identifier: MIT */
#ifndef RLK_BASE_SET_TEXT_H
#define RLK_BASE_SET_TEXT_H

/*
 * A set of names as one text: the names with a line feed between them, in the
 * order of their bytes. A name has no control characters (text.h), so no set
 * has the text of another one; a set of one name has that name's.
 */

#include <rowlock.h>
#include <stddef.h>

#include "base/text.h"

#define RLK_SET_BETWEEN '\n'

/** How many names @text has. */
size_t rlk_set_count(const char *text);

/** Bytes of the name that begins at @name, in the text of a set. */
size_t rlk_set_length(const char *name);

/** Which of the names of @text @name is, from 0; their count if it is none. */
size_t rlk_set_find(const char *text, const char *name);

/** A name; all that one may have fits. */
struct rlk_set_name {
	char text[RLK_NAME_SIZE];
};

/** Number @number, from 0, of the names of @text. */
struct rlk_set_name rlk_set_name_at(const char *text, size_t number);

#endif
