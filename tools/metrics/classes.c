/* SPDX-License-Identifier: MIT */
/*
 * A name's class: that of the first pattern that matches.
 *
 * A class is a label's value, so it has no character that would need quotes.
 * Failure modes: none but a wrong argument.
 */
#include "metrics/classes.h"

#include <string.h>

static const char other[] = "other";

static const char class_letters[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-./:";

/* The number of @name, which is made if it is new. */
static size_t number_of(struct classes *classes, const char *name)
{
	if (strcmp(name, other) == 0)
		return 0;
	for (size_t i = 0; i < classes->names_count; i++)
		if (strcmp(classes->names[i], name) == 0)
			return i + 1;
	classes->names[classes->names_count] = name;
	return ++classes->names_count;
}

const char *classes_add(struct classes *classes, const char *argument)
{
	/* A name may have '=' in it, a class has none. */
	const char *equals = strrchr(argument, '=');
	size_t length = equals ? strlen(equals + 1) : 0;

	if (!equals || equals == argument || length == 0)
		return "not PATTERN=CLASS";
	if (length > CLASS_NAME_MOST ||
	    strspn(equals + 1, class_letters) < length)
		return "with a class that is not 1 to 64 of the characters "
		       "a-z, A-Z, 0-9, _ - . / :";
	if (classes->patterns_count == CLASSES_MOST)
		return "one more than the 64 that there may be";
	classes->patterns[classes->patterns_count].text = argument;
	classes->patterns[classes->patterns_count].length =
	    (size_t) (equals - argument);
	classes->patterns[classes->patterns_count].class =
	    number_of(classes, equals + 1);
	classes->patterns_count++;
	return NULL;
}

/* Behind the character of UTF-8 at @text. */
static const char *next(const char *text)
{
	text++;
	while (((unsigned char) *text & 0xc0) == 0x80)
		text++;
	return text;
}

/* After a mismatch the last '*' takes one character more: so the time is that
 * of both lengths multiplied, whatever the pattern. */
static bool matches(const char *pattern, const char *end, const char *name)
{
	const char *star = NULL, *from = name;

	while (*name) {
		if (pattern < end && *pattern == '*') {
			star = ++pattern;
			from = name;
		} else if (pattern < end && *pattern == '?') {
			pattern++;
			name = next(name);
		} else if (pattern < end && *pattern == *name) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star;
			name = from = next(from);
		} else {
			return false;
		}
	}
	while (pattern < end && *pattern == '*')
		pattern++;
	return pattern == end;
}

size_t classes_find(const struct classes *classes, const char *name)
{
	for (size_t i = 0; i < classes->patterns_count; i++) {
		const char *text = classes->patterns[i].text;

		if (matches(text, text + classes->patterns[i].length, name))
			return classes->patterns[i].class;
	}
	return 0;
}

size_t classes_count(const struct classes *classes)
{
	return classes->names_count + 1;
}

const char *classes_name(const struct classes *classes, size_t number)
{
	return number ? classes->names[number - 1] : other;
}
