/* SPDX-License-Identifier: MIT */
/*
 * Is there a secret in a connection string on a command line? The library reads
 * the string later (config/dsn.c), and refuses a malformed one.
 */
#include "dsn.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* The end of the pair that begins at @pair: its ';' or the string's NUL. Only a
 * '{' that begins the value quotes, and "}}" within is one '}'. */
static const char *pair_end(const char *pair)
{
	const char *at = pair + strcspn(pair, ";=");

	if (*at != '=')
		return at;
	at++;
	while (isspace((unsigned char) *at))
		at++;
	if (*at == '{')
		for (at++; *at && (*at != '}' || at[1] == '}'); at++)
			at += *at == '}';
	return at + strcspn(at, ";");
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
