/* SPDX-License-Identifier: MIT */
/*
 * A connection string: "key=value;key={a value with ; in it};...".
 *
 * ';' ends a value unless it is in braces, where "}}" stands for '}'. Blanks
 * before a key or a brace do not count, all others do.
 *
 * Failure modes: a password may contain anything, so what follows an unbraced
 * one may be a part of it, and is not shown.
 */
#include "config/dsn.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/macro.h"

#define EXAMPLE "write it like host=db1;user=app;database=app"

struct entry {
	char *key;
	char *value; /* NULL: the key stands alone */
	bool braced;
};

static char *skip_blanks(char *at)
{
	while (isspace((unsigned char) *at))
		at++;
	return at;
}

/* Unquotes in place; @at is behind the '{'. Returns what follows the '}', NULL
 * if there is none. */
static char *take_braced(char *at, struct entry *entry)
{
	char *to = at;

	entry->value = at;
	entry->braced = true;
	for (; *at; at++) {
		if (*at == '}' && *++at != '}') {
			*to = '\0';
			return skip_blanks(at);
		}
		*to++ = *at;
	}
	return NULL;
}

/* Returns the end of the entry at @at: its ';' or the NUL. NULL: @ret_problem.
 */
static char *take_entry(char *at, struct entry *entry, const char **ret_problem)
{
	char *end = at + strcspn(at, ";=");
	char *value = skip_blanks(end + (*end == '='));
	char closed;

	*entry = (struct entry){ .key = at };
	if (*end != '=')
		return end;
	*end = '\0';
	if (*value != '{') {
		entry->value = end + 1;
		return entry->value + strcspn(entry->value, ";");
	}
	at = take_braced(value + 1, entry);
	closed = at ? *at : '\0';
	if (!at)
		*ret_problem = "has '{', but no '}' at its end";
	else if (closed && closed != ';')
		*ret_problem = "goes on behind its '}'";
	return *ret_problem ? NULL : at;
}

static int fail_syntax(const char *place, const struct entry *entry,
		       const char *problem, struct rowlock_errinfo *reterr)
{
	const struct rlk_setting *key = rlk_setting_find(entry->key);

	if (!key)
		return rlk_fail(
		    reterr, ROWLOCK_EINVAL,
		    "%s: an entry of the connection string %s; " EXAMPLE, place,
		    problem);
	return rlk_fail(reterr, ROWLOCK_EINVAL,
			"%s: the value of '%s' %s; " EXAMPLE, place, key->name,
			problem);
}

static int take(const struct entry *entry, bool hidden, const char *place,
		struct rlk_where *where, struct rowlock_errinfo *reterr)
{
	const struct rlk_setting *key = rlk_setting_find(entry->key);
	const char *before;
	char buffer[256];

	if (!key)
		return rlk_fail(reterr, ROWLOCK_EINVAL, "%s: %s; " EXAMPLE,
				place,
				rlk_setting_unknown(entry->key, hidden, buffer,
						    sizeof(buffer)));
	if (rlk_setting_problem(key, entry->value, buffer, sizeof(buffer)))
		return rlk_fail(reterr, ROWLOCK_EINVAL, "%s: %s", place,
				buffer);
	before = where->values[rlk_setting_number(key)];
	if (before && strcmp(before, entry->value) != 0)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"%s: '%s' is there twice, with different "
				"values; leave one of them out",
				place, key->name);
	if (!rlk_where_set(where, key, entry->value, place))
		return rlk_fail(reterr, ROWLOCK_ENOMEM, "out of memory");
	return 0;
}

int rlk_dsn_read(const char *dsn, const char *place, struct rlk_where *where,
		 struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_secret_fini) struct rlk_secret copy = { strdup(dsn),
							      strlen(dsn) };
	struct entry entry = { NULL, NULL, false };
	const struct rlk_setting *last = NULL;
	const char *problem = NULL;
	char *at = copy.text;
	int code = 0;

	if (!at)
		return rlk_fail(reterr, ROWLOCK_ENOMEM, "out of memory");
	for (at = skip_blanks(at); !code && (*at || !entry.key);
	     at = skip_blanks(at)) {
		bool hidden =
		    last && last->kind == RLK_SETTING_SECRET && !entry.braced;
		bool more;

		if (!*at || *at == ';')
			return rlk_fail(reterr, ROWLOCK_EINVAL,
					"%s: the connection string has an "
					"empty entry; " EXAMPLE,
					place);
		at = take_entry(at, &entry, &problem);
		if (!at)
			return fail_syntax(place, &entry, problem, reterr);
		more = *at == ';';
		*at = '\0';
		code = take(&entry, hidden, place, where, reterr);
		last = rlk_setting_find(entry.key);
		at += more;
	}
	return code;
}
