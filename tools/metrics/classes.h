/* SPDX-License-Identifier: MIT */
#ifndef METRICS_CLASSES_H
#define METRICS_CLASSES_H

/*
 * Classes of names. A lock's name is never a label: there may be millions, and
 * some tell about people. The operator lists patterns, each with a class; what
 * none matches is in the class "other".
 */

#include <stdbool.h>
#include <stddef.h>

/** Patterns at the most; so there is one class more at the most. */
#define CLASSES_MOST 64
#define CLASS_NAME_MOST 64

/** The first class is "other". All zero at first. */
struct classes {
	struct {
		const char *text; /* not terminated */
		size_t length;
		size_t class;
	} patterns[CLASSES_MOST];
	size_t patterns_count;
	const char *names[CLASSES_MOST];
	size_t names_count; /* without "other" */
};

/** Take "PATTERN=CLASS", which is kept, not copied. Returns NULL, or what is
 *  wrong with it. */
const char *classes_add(struct classes *classes, const char *argument);

/** Of the first pattern that matches @name: '*' is any text, '?' one character.
 *  A number below classes_count(). */
size_t classes_find(const struct classes *classes, const char *name);

size_t classes_count(const struct classes *classes);
const char *classes_name(const struct classes *classes, size_t number);

#endif
