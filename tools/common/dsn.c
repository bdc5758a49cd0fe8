/* SPDX-License-Identifier: MIT */
/*
 * Connector/C's connection string.
 *
 * Read as parse_connection_string() of Connector/C 3.3 does: ';' ends a pair
 * unless it is between braces, blanks before a key do not count, '_' and '-'
 * are one. That parser undoubles "}}" in place and then skips the character
 * behind it, and what follows the string's end is doubled for each; hence
 * dsn_append()'s limits and dsn_finish().
 */
#include "dsn.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* The end of the pair that begins at @pair: its ';' or the string's NUL. */
static const char *pair_end(const char *pair)
{
	bool quoted = false;

	for (; *pair; pair++) {
		if (*pair == '{')
			quoted = true;
		else if (*pair == '}')
			quoted = false;
		else if (*pair == ';' && !quoted)
			break;
	}
	return pair;
}

/* password, passwd, and whatever names or abbreviates a pass phrase: refusing
 * too much costs a sentence, refusing too little shows a secret to ps(1). */
static bool is_secret_key(const char *key, size_t length)
{
	for (size_t i = 0; i + 4 <= length; i++) {
		if (strncasecmp(key + i, "pass", 4) == 0)
			return true;
	}
	return length == 3 && strncasecmp(key, "pwd", 3) == 0;
}

bool dsn_has_secret(const char *dsn)
{
	while (*dsn) {
		const char *end = pair_end(dsn);
		size_t length;

		while (dsn < end && isspace((unsigned char) *dsn))
			dsn++;
		length = strcspn(dsn, "={");
		if (length > (size_t) (end - dsn))
			length = (size_t) (end - dsn);
		if (is_secret_key(dsn, length))
			return true;
		dsn = *end ? end + 1 : end;
	}
	return false;
}

static bool append_quoted(FILE *out, const char *value)
{
	fputc('{', out);
	for (; *value; value++) {
		if (*value == '}') {
			if (value[1] == '}' || value[1] == '\0')
				return false;
			fputc('}', out);
		}
		fputc(*value, out);
	}
	fputc('}', out);
	return true;
}

bool dsn_append(FILE *out, const char *key, const char *value)
{
	fputs(key, out);
	if (value) {
		fputc('=', out);
		if (!strpbrk(value, "=;{"))
			fputs(value, out);
		else if (!append_quoted(out, value))
			return false;
	}
	fputc(';', out);
	return true;
}

void dsn_finish(FILE *out)
{
	fputs("  ", out);
}
