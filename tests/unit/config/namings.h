/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_NAMINGS_H
#define ROWLOCK_TEST_NAMINGS_H

/*
 * Plays what is said of a key again by each of its other names. The names are
 * those of the table in config/setting.c, so that a new one is played as well.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/setting.h"
#include "test.h"

/** Where keys are in a text. */
struct namings {
	char before;        /* the character that parts settings */
	const char *behind; /* one of these follows a key */
};

static const struct namings namings_of_dsn = { ';', "=;" };
static const struct namings namings_of_file = { '\n', "= \t\n" };

/* The length of @key, if it stands at @at; else 0. */
static inline size_t naming_at(const struct namings *in, const char *at,
			       const char *key)
{
	const char *end = at;

	for (; *key; key++, end++)
		if (*end != *key && !(*end == '_' && *key == '-'))
			return 0;
	return strchr(in->behind, *end) ? (size_t) (end - at) : 0;
}

/* Writes @text with @by's name in place of the one that it is another of.
 * Returns false if that key is not there. */
static inline bool naming_put(const struct namings *in, const char *text,
			      const struct rlk_setting *by, char *put,
			      size_t size)
{
	bool begins = true; /* a setting, so far by blanks only */
	bool found = false;
	size_t length = 0;

	while (*text) {
		size_t key = begins ? naming_at(in, text, by->same_as) : 0;

		assert_true(length + strlen(by->name) + 2 < size);
		if (key) {
			strcpy(put + length, by->name);
			length += strlen(by->name);
			text += key;
			found = true;
			begins = false;
			continue;
		}
		begins =
		    *text == in->before || (begins && strchr(" \t", *text));
		put[length++] = *text++;
	}
	put[length] = '\0';
	return found;
}

/** Calls @take with @text, and again with each of its keys by each of their
 *  other names. A message names the key as it was written, so @words begin with
 *  that name if they begin with the key in quotes. Returns how often @take was
 *  called. */
static inline unsigned int each_naming(const struct namings *in,
				       const char *text, const char *words,
				       void (*take)(const char *text,
						    const char *words))
{
	const struct rlk_setting *key;
	unsigned int count = 1;

	take(text, words);
	for (size_t i = 0; (key = rlk_setting_at(i)); i++) {
		char other[512], said[512], quoted[64];
		size_t length;

		if (!key->same_as ||
		    !naming_put(in, text, key, other, sizeof(other)))
			continue;
		snprintf(quoted, sizeof(quoted), "'%s'", key->same_as);
		length = strlen(quoted);
		if (words && strncmp(words, quoted, length) == 0)
			snprintf(said, sizeof(said), "'%s'%s", key->name,
				 words + length);
		else
			snprintf(said, sizeof(said), "%s", words ? words : "");
		take(other, words ? said : NULL);
		count++;
	}
	return count;
}

/** Calls @take with each case of tests/lib/dsn_cases, by each name of its keys.
 */
static inline void each_dsn_case(void (*take)(const char *dsn,
					      const char *words))
{
	unsigned int count = 0;
	char line[512];
	FILE *cases;

	snprintf(line, sizeof(line), "%s/tests/lib/dsn_cases",
		 getenv("ROWLOCK_SOURCE"));
	cases = fopen(line, "r");
	assert_non_null(cases);
	while (fgets(line, sizeof(line), cases)) {
		char *dsn, *words;

		line[strcspn(line, "\n")] = '\0';
		if (*line == '#')
			continue;
		dsn = strchr(line, '\t');
		assert_non_null(dsn);
		*dsn++ = '\0';
		words = strchr(dsn, '\t');
		if (words)
			*words++ = '\0';
		assert_int_equal(words != NULL, strcmp(line, "no") == 0);
		count += each_naming(&namings_of_dsn, dsn, words, take);
	}
	fclose(cases);
	assert_true(count > 150);
}

#endif
