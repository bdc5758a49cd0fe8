/* SPDX-License-Identifier: MIT */
#ifndef RLK_CONFIG_ALIKE_H
#define RLK_CONFIG_ALIKE_H

/* The word that a misspelt one may stand for. The tools compile this file. */

#include <limits.h>
#include <stdbool.h>

#define RLK_NOT_ALIKE UINT_MAX

/**
 * The number of letters to change, insert, delete or swap with a neighbour, to
 * make @other of @word. Ignores blanks and case; '_' is '-'. RLK_NOT_ALIKE:
 * they are different words.
 */
unsigned int rlk_unlikeness(const char *word, const char *other);

/** Is one a misspelling of the other? */
static inline bool rlk_alike(const char *word, const char *other)
{
	return rlk_unlikeness(word, other) != RLK_NOT_ALIKE;
}

#endif
