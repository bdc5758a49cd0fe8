/* SPDX-License-Identifier: MIT */
#ifndef TEST_DSN_H
#define TEST_DSN_H

/*
 * A connection string with some entries instead of its own: the library refuses
 * one that has the same key twice, with different values.
 */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static inline size_t test_dsn_key(const char *entry)
{
	return strcspn(entry, "=;");
}

/* The end of the entry, ';' or NUL; braces around the whole value only. */
static inline const char *test_dsn_end(const char *entry)
{
	const char *value = entry + test_dsn_key(entry);

	if (value[0] == '=' && value[1] == '{')
		entry = value + strcspn(value, "}");
	return entry + strcspn(entry, ";");
}

/* '-' and '_' are one. */
static inline bool test_dsn_same_key(const char *a, const char *b)
{
	size_t length = test_dsn_key(a);

	if (test_dsn_key(b) != length)
		return false;
	for (size_t i = 0; i < length; i++)
		if (a[i] != b[i] && !(strchr("-_", a[i]) && strchr("-_", b[i])))
			return false;
	return true;
}

static inline bool test_dsn_has(const char *dsn, const char *entry)
{
	for (;; dsn++) {
		if (test_dsn_same_key(dsn, entry))
			return true;
		dsn = test_dsn_end(dsn);
		if (!*dsn)
			return false;
	}
}

/** Write to @buffer what is in @dsn and not in @changes, then @changes, which
 *  ends it. */
static inline void test_dsn_with(const char *dsn, const char *changes,
				 char *buffer, size_t size)
{
	size_t used = 0;

	while (*dsn) {
		const char *end = test_dsn_end(dsn);

		if (*dsn != ';' && !test_dsn_has(changes, dsn))
			used += (size_t) snprintf(
			    buffer + used, used < size ? size - used : 0,
			    "%.*s;", (int) (end - dsn), dsn);
		dsn = *end ? end + 1 : end;
	}
	snprintf(buffer + used, used < size ? size - used : 0, "%s", changes);
}

/** Write to @buffer the value that @key has in @dsn, which is in no braces.
 *  False: it is not there. */
static inline bool test_dsn_value(const char *dsn, const char *key,
				  char *buffer, size_t size)
{
	while (!test_dsn_same_key(dsn, key)) {
		dsn = test_dsn_end(dsn);
		if (!*dsn)
			return false;
		dsn++;
	}
	dsn += test_dsn_key(dsn) + 1;
	snprintf(buffer, size, "%.*s", (int) (test_dsn_end(dsn) - dsn), dsn);
	return true;
}

/** Write to @buffer what is in @dsn but @key. */
static inline void test_dsn_without(const char *dsn, const char *key,
				    char *buffer, size_t size)
{
	test_dsn_with(dsn, key, buffer, size);
	buffer[strlen(buffer) - strlen(key)] = '\0';
}

#endif
