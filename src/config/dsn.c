/* SPDX-License-Identifier: MIT */
/*
 * A connection string, read before Connector/C does.
 *
 * "key=value;key={a value with ; in it};...": ';' ends an entry unless it is
 * between braces, "}}" in there is one '}', blanks before a key do not count,
 * all others do. Connector/C 3.3 (mariadb_lib.c: parse_connection_string) takes
 * more than that, and makes something else of it than what is written there:
 * "a=b=c" sets a to "c", "a=b{c}d" to "c", "a={b}c" to "b", and "}}}" does not
 * end a value. All of that is refused.
 *
 * Failure modes: a string that has a secret may be wrong at any place, so a
 * message shows keys, and values of numbers, but never what may be the rest of
 * a password.
 */
#include "config/dsn.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "config/setting.h"

#define EXAMPLE "write it like host=db1;user=app;database=app"

struct entry {
	char *key;
	char *value; /* NULL: none; without its braces */
	bool braced;
};

/* It comes apart at many NULs, so its length is kept. */
struct copy {
	char *text;
	size_t size;
};

static void copy_fini(struct copy *copy)
{
	if (copy->text)
		explicit_bzero(copy->text, copy->size);
	free(copy->text);
}

static char *skip_blanks(char *at)
{
	while (isspace((unsigned char) *at))
		at++;
	return at;
}

/* What follows the value that begins behind the '{' at @at, which is unquoted
 * in place; NULL and @ret_problem: it does not end. */
static char *read_braced(char *at, struct entry *entry,
			 const char **ret_problem)
{
	char *to = at;

	entry->value = at + 1;
	entry->braced = true;
	for (at++; *at; at++) {
		if (*at == '}' && at[1] != '}')
			break;
		if (*at == '}' && at[2] == '}') {
			*ret_problem = "has '}' at its end or twice in a row, "
				       "which Connector/C cannot read";
			return NULL;
		}
		if (*at == '}')
			at++;
		*++to = *at;
	}
	if (!*at) {
		*ret_problem = "has '{', but no '}' at its end";
		return NULL;
	}
	at = skip_blanks(at + 1);
	*++to = '\0';
	if (*at == ';' || *at == '\0')
		return at;
	*ret_problem = "goes on behind its '}'";
	return NULL;
}

static char *read_value(char *at, struct entry *entry, const char **ret_problem)
{
	char *begin = skip_blanks(at);

	if (*begin == '{')
		return read_braced(begin, entry, ret_problem);
	entry->value = at;
	at += strcspn(at, ";={");
	if (*at == ';' || *at == '\0')
		return at;
	*ret_problem = "has '=' or '{' in it, so it goes into braces: "
		       "KEY={VALUE}";
	return NULL;
}

/* Take the entry at @at apart; returns its end, ';' or NUL. */
static char *read_entry(char *at, struct entry *entry, const char **ret_problem)
{
	char *value;

	*entry = (struct entry){ .key = at };
	at += strcspn(at, ";={");
	if (*at == '{') {
		*ret_problem = "has '{' before its '='";
		return NULL;
	}
	if (*at != '=')
		return at;
	value = at + 1;
	*at = '\0';
	return read_value(value, entry, ret_problem);
}

/* Does @entry follow a secret whose end may be somewhere else? */
static bool may_be_secret(const struct rlk_setting *before,
			  const struct entry *last)
{
	return before && before->kind == RLK_SETTING_SECRET && !last->braced;
}

static int fail_syntax(const char *from, const struct entry *entry,
		       const char *problem, struct rowlock_errinfo *reterr)
{
	const struct rlk_setting *setting;

	entry->key[strcspn(entry->key, ";={")] = '\0';
	setting = rlk_setting_find(entry->key);
	if (!setting)
		return rlk_fail(
		    reterr, ROWLOCK_EINVAL,
		    "%s: an entry of the connection string %s; " EXAMPLE, from,
		    problem);
	return rlk_fail(reterr, ROWLOCK_EINVAL,
			"%s: the value of '%s' %s; " EXAMPLE, from,
			setting->key, problem);
}

/* What is known so far. */
struct known {
	const char *from;
	const char
	    *seen[RLK_SETTINGS_MOST]; /* values, by rlk_setting_number() */
	unsigned int *named;
	const struct rlk_setting_taker *taker; /* NULL: nobody */
};

static int check_entry(const struct entry *entry, bool hidden,
		       struct known *known, struct rowlock_errinfo *reterr)
{
	const struct rlk_setting *setting = rlk_setting_find(entry->key);
	const char *problem, *value = entry->value ? entry->value : "";
	const char *from = known->from;
	char buffer[256];
	size_t number;

	if (!setting) {
		problem = rlk_setting_unknown(entry->key, hidden, buffer,
					      sizeof(buffer));
		return rlk_fail(reterr, ROWLOCK_EINVAL, "%s: %s; " EXAMPLE,
				from, problem);
	}
	problem =
	    rlk_setting_problem(setting, entry->value, buffer, sizeof(buffer));
	if (problem)
		return rlk_fail(reterr, ROWLOCK_EINVAL, "%s: %s", from,
				problem);
	number = rlk_setting_number(setting);
	if (known->seen[number] && strcmp(known->seen[number], value) != 0)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"%s: '%s' is there twice, with different "
				"values; leave one of them out",
				from, setting->key);
	known->seen[number] = value;
	rlk_setting_note(setting, value, known->named);
	if (known->taker)
		known->taker->take(setting, entry->value, known->taker->arg);
	return 0;
}

static int check_text(char *at, struct known *known,
		      struct rowlock_errinfo *reterr)
{
	const char *from = known->from;
	struct entry entry = { NULL, NULL, false };

	for (at = skip_blanks(at); *at || !entry.key; at = skip_blanks(at)) {
		const struct entry last = entry;
		const char *problem = NULL;
		bool more, hidden;
		int error;

		if (*at == '\0' || *at == ';')
			return rlk_fail(reterr, ROWLOCK_EINVAL,
					"%s: the connection string has an "
					"empty entry; " EXAMPLE,
					from);
		at = read_entry(at, &entry, &problem);
		if (!at)
			return fail_syntax(from, &entry, problem, reterr);
		more = *at == ';';
		*at = '\0';
		hidden = last.key &&
			 may_be_secret(rlk_setting_find(last.key), &last);
		error = check_entry(&entry, hidden, known, reterr);
		if (error)
			return error;
		at += more;
	}
	return 0;
}

int rlk_dsn_read(const char *dsn, const char *from, unsigned int *named,
		 const struct rlk_setting_taker *taker,
		 struct rowlock_errinfo *reterr)
{
	_cleanup_(copy_fini) struct copy copy = { strdup(dsn), strlen(dsn) };
	struct known known = { .from = from, .named = named, .taker = taker };

	if (!copy.text)
		return rlk_fail(reterr, ROWLOCK_ENOMEM, "%s: out of memory",
				from);
	return check_text(copy.text, &known, reterr);
}

int rlk_dsn_check(const char *dsn, const char *from, unsigned int *named,
		  struct rowlock_errinfo *reterr)
{
	return rlk_dsn_read(dsn, from, named, NULL, reterr);
}
