/* SPDX-License-Identifier: MIT */
/*
 * How far two words are from each other. Failure modes: a word that is longer
 * than any key or switch is like no other.
 */
#include "config/alike.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#define LENGTH_MOST 40

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* Letters to change, insert, delete or swap with a neighbour (Damerau; optimal
 * string alignment). */
static unsigned int distance(const char *a, const char *b)
{
	size_t height = strlen(a), width = strlen(b);
	unsigned int d[LENGTH_MOST + 1][LENGTH_MOST + 1];

	for (size_t i = 0; i <= height; i++)
		d[i][0] = (unsigned int) i;
	for (size_t j = 0; j <= width; j++)
		d[0][j] = (unsigned int) j;
	for (size_t i = 1; i <= height; i++) {
		for (size_t j = 1; j <= width; j++) {
			unsigned int other = a[i - 1] != b[j - 1];

			d[i][j] = least(d[i - 1][j - 1] + other,
					least(d[i - 1][j], d[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[height][width];
}

/* From this distance on it is another word. */
static unsigned int too_far(size_t length)
{
	return length < 4 ? 2 : 3;
}

/* In small letters, without blanks. False: too long. */
static bool simplify(const char *word, char (*ret_simple)[LENGTH_MOST + 1])
{
	size_t length = 0;

	for (; *word; word++) {
		if (isspace((unsigned char) *word))
			continue;
		if (length == LENGTH_MOST)
			return false;
		(*ret_simple)[length++] =
		    *word == '_' ? '-' : (char) tolower((unsigned char) *word);
	}
	(*ret_simple)[length] = '\0';
	return true;
}

unsigned int rlk_unlikeness(const char *word, const char *other)
{
	char one[LENGTH_MOST + 1], two[LENGTH_MOST + 1];
	unsigned int far;

	if (!simplify(word, &one) || !simplify(other, &two))
		return RLK_NOT_ALIKE;
	far = distance(one, two);
	return far < too_far(strlen(one)) ? far : RLK_NOT_ALIKE;
}
