/* SPDX-License-Identifier: MIT */
/*
 * The table of keys, and what is wrong with a value.
 *
 * Connector/C 3.3 (mariadb_lib.c: mariadb_defaults) compares keys with strcmp()
 * after each '_' became '-', hence its own "unix_socket" is never found. It
 * reads numbers and booleans with atoi(): "on" and "true" are 0 to it, and so
 * is "tcp" for a protocol. "disable-local-infile" makes it dereference NULL.
 *
 * Failure modes: a key that a later Connector/C brings is refused until it
 * stands here.
 */
#include "config/setting.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/macro.h"

/* A key longer than this is none. */
#define KEY_MOST 40

#define TEXT RLK_SETTING_TEXT
#define ADDRESS RLK_SETTING_ADDRESS
#define SECRET RLK_SETTING_SECRET
#define NUMBER RLK_SETTING_NUMBER
#define BOOLEAN RLK_SETTING_BOOLEAN

/* The first ones in the order of enum rlk_whom. */
static const struct rlk_setting settings[] = {
	{ "host", ADDRESS, NULL },
	{ "port", RLK_SETTING_PORT, NULL },
	{ "user", TEXT, NULL },
	{ "password", SECRET, NULL },
	{ "database", TEXT, NULL },
	{ "socket", ADDRESS, NULL },
	{ "protocol", RLK_SETTING_PROTOCOL, NULL },
	{ "servername", ADDRESS, "host" },
	{ "passwd", SECRET, "password" },
	{ "db", TEXT, "database" },
	{ "connect-timeout", NUMBER, NULL },
	{ "timeout", NUMBER, "connect-timeout" },
	{ "init-command", TEXT, NULL },
	{ "bind-address", TEXT, NULL },
	{ "plugin-dir", TEXT, NULL },
	{ "default-auth", TEXT, NULL },
	{ "restricted-auth", TEXT, NULL },
	{ "server-public-key", TEXT, NULL },
	{ "secure-auth", BOOLEAN, NULL },
	{ "character-sets-dir", TEXT, NULL },
	{ "default-character-set", TEXT, NULL },
	{ "compress", BOOLEAN, NULL },
	{ "reconnect", BOOLEAN, NULL },
	{ "local-infile", BOOLEAN, NULL },
	{ "disable-local-infile", RLK_SETTING_DEADLY, NULL },
	{ "report-data-truncation", BOOLEAN, NULL },
	{ "bulk-unit-results", BOOLEAN, NULL },
	{ "multi-results", BOOLEAN, NULL },
	{ "multi-statements", BOOLEAN, NULL },
	{ "multi-queries", BOOLEAN, "multi-statements" },
	{ "return-found-rows", RLK_SETTING_SWITCH, NULL },
	{ "interactive-timeout", RLK_SETTING_SWITCH, NULL },
	{ "max-allowed-packet", NUMBER, NULL },
	{ "net-buffer-length", NUMBER, NULL },
	{ "debug", TEXT, NULL },
	{ "pipe", BOOLEAN, NULL },
	{ "shared-memory-base-name", TEXT, NULL },
	{ "ssl-enforce", BOOLEAN, NULL },
	{ "ssl-verify-server-cert", BOOLEAN, NULL },
	{ "ssl-ca", TEXT, NULL },
	{ "ssl-capath", TEXT, NULL },
	{ "ssl-cert", TEXT, NULL },
	{ "ssl-key", TEXT, NULL },
	{ "ssl-crl", TEXT, NULL },
	{ "ssl-crlpath", TEXT, NULL },
	{ "ssl-cipher", TEXT, NULL },
	{ "ssl-passphrase", SECRET, NULL },
	{ "ssl-fp", TEXT, NULL },
	{ "ssl-fp-list", TEXT, NULL },
	{ "ssl-fplist", TEXT, "ssl-fp-list" },
	{ "tls-version", TEXT, NULL },
	{ "tls-enforce", BOOLEAN, "ssl-enforce" },
	{ "tls-verify-peer", BOOLEAN, "ssl-verify-server-cert" },
	{ "tls-ca", TEXT, "ssl-ca" },
	{ "tls-capath", TEXT, "ssl-capath" },
	{ "tls-cert", TEXT, "ssl-cert" },
	{ "tls-key", TEXT, "ssl-key" },
	{ "tls-crl", TEXT, "ssl-crl" },
	{ "tls-crlpath", TEXT, "ssl-crlpath" },
	{ "tls-cipher", TEXT, "ssl-cipher" },
	{ "tls-passphrase", SECRET, "ssl-passphrase" },
	{ "tls-fp", TEXT, "ssl-fp" },
	{ "tls-fplist", TEXT, "ssl-fp-list" },
};
_Static_assert(RLK_ARRAY_SIZE(settings) < RLK_SETTINGS_MOST, "too many");

/* What other drivers call it, and no count of letters would find. */
static const char *const strangers[][2] = {
	{ "unix-socket", "socket" }, { "hostname", "host" },
	{ "server", "host" },        { "hostaddr", "host" },
	{ "username", "user" },      { "uid", "user" },
	{ "pwd", "password" },       { "pass", "password" },
	{ "dbname", "database" },    { "schema", "database" },
};

/* A file or a variable is read by many programs: one line there would take what
 * protects a lock from all of them, and from those that come later. So each is
 * told by itself. */
static const char *const of_programs[][2] = {
	{ "tls-unverified", "ROWLOCK_TLS_UNVERIFIED" },
	{ "unverified-auth", "client option unverified_auth" },
	{ "single-writer", "ROWLOCK_SINGLE_WRITER" },
	{ "observe-beats", "ROWLOCK_OBSERVE_BEATS" },
};

static char plain(char c)
{
	return c == '_' ? '-' : c;
}

static bool is_key(const char *key, const char *known)
{
	while (*key && plain(*key) == *known)
		key++, known++;
	return *key == *known;
}

const struct rlk_setting *rlk_setting_find(const char *key)
{
	for (size_t i = 0; i < RLK_ARRAY_SIZE(settings); i++)
		if (is_key(key, settings[i].key))
			return &settings[i];
	return NULL;
}

size_t rlk_setting_number(const struct rlk_setting *setting)
{
	if (setting->same_as)
		setting = rlk_setting_find(setting->same_as);
	return (size_t) (setting - settings);
}

void rlk_setting_note(const struct rlk_setting *setting, const char *value,
		      unsigned int *named)
{
	size_t number = rlk_setting_number(setting);

	if (number >= RLK_WHOMS)
		return;
	*named &= ~(1u << number);
	/* What is 0 to Connector/C stands for the default. */
	if (value && *value &&
	    (rlk_setting_is_text(setting->kind) || atoi(value)))
		*named |= 1u << number;
}

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* How many letters have to be changed, added, left out or swapped with their
 * neighbour (Damerau; optimal string alignment). */
static unsigned int distance(const char *a, const char *b)
{
	size_t height = strlen(a), width = strlen(b);
	unsigned int d[KEY_MOST + 1][KEY_MOST + 1];

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

/* From so many letters on it is another word. */
static unsigned int too_far(size_t length)
{
	return length < 4 ? 2 : 3;
}

/* Without blanks, in small letters; false: it is too long to be a key. */
static bool simplify(const char *word, char (*ret_simple)[KEY_MOST + 1])
{
	size_t length = 0;

	for (; *word; word++) {
		if (isspace((unsigned char) *word))
			continue;
		if (length == KEY_MOST)
			return false;
		(*ret_simple)[length++] =
		    plain((char) tolower((unsigned char) *word));
	}
	(*ret_simple)[length] = '\0';
	return true;
}

bool rlk_setting_alike(const char *a, const char *b)
{
	char one[KEY_MOST + 1], other[KEY_MOST + 1];

	return simplify(a, &one) && simplify(b, &other) &&
	       distance(one, other) < too_far(strlen(one));
}

const char *rlk_setting_near(const char *key)
{
	char lower[KEY_MOST + 1];
	size_t length = strlen(key);
	unsigned int best = too_far(length);
	const char *near = NULL;

	if (length > KEY_MOST)
		return NULL;
	for (size_t i = 0; i <= length; i++)
		lower[i] = plain((char) tolower((unsigned char) key[i]));
	for (size_t i = 0; i < RLK_ARRAY_SIZE(strangers); i++)
		if (strcmp(lower, strangers[i][0]) == 0)
			return strangers[i][1];
	for (size_t i = 0; i < RLK_ARRAY_SIZE(settings); i++) {
		unsigned int now = distance(lower, settings[i].key);

		if (now < best && settings[i].kind != RLK_SETTING_DEADLY) {
			best = now;
			near = settings[i].key;
		}
	}
	return near;
}

static bool is_number(const char *value, long lowest, long highest)
{
	char *end;
	long number;

	if (!isdigit((unsigned char) *value))
		return false;
	errno = 0;
	number = strtol(value, &end, 10);
	return errno == 0 && *end == '\0' && number >= lowest &&
	       number <= highest;
}

static const char *wanted(const struct rlk_setting *setting, const char *value)
{
	switch (setting->kind) {
	case RLK_SETTING_ADDRESS:
		return *value ? NULL
			      : "leave it out if the local server is meant";
	case RLK_SETTING_PORT:
		if (is_number(value, 1, 65535))
			return NULL;
		return is_number(value, 0, 0)
			   ? "leave it out for the default port, 3306"
			   : "it must be a number from 1 to 65535, as in "
			     "port=3306";
	case RLK_SETTING_NUMBER:
		return is_number(value, 0, 2147483647)
			   ? NULL
			   : "it must be a number from 0 to 2147483647, "
			     "without a unit";
	case RLK_SETTING_BOOLEAN:
		return is_number(value, 0, 1) ? NULL
					      : "it must be 0 or 1, as "
						"Connector/C takes any other "
						"word for 0";
	case RLK_SETTING_PROTOCOL:
		return is_number(value, 1, 2)
			   ? NULL
			   : "it must be 1 (TCP) or 2 (a socket file), as "
			     "Connector/C ignores any word for it";
	case RLK_SETTING_SWITCH:
		return is_number(value, 1, 1)
			   ? NULL
			   : "it counts whatever its value is: leave it out";
	default:
		return NULL;
	}
}

const char *rlk_setting_problem(const struct rlk_setting *setting,
				const char *value, char *buffer, size_t size)
{
	const char *problem;

	if (setting->kind == RLK_SETTING_DEADLY) {
		snprintf(buffer, size,
			 "'%s' makes Connector/C crash; write local-infile=0",
			 setting->key);
		return buffer;
	}
	if (!value && setting->kind == RLK_SETTING_SWITCH)
		return NULL;
	if (!value) {
		snprintf(buffer, size, "'%s' has no value; write %s=%s",
			 setting->key, setting->key,
			 rlk_setting_is_text(setting->kind) ? "TEXT" : "1");
		return buffer;
	}
	problem = wanted(setting, value);
	if (!problem)
		return NULL;
	snprintf(buffer, size, "'%s' is '%.*s'; %s", setting->key, KEY_MOST,
		 value, problem);
	return buffer;
}

static size_t shown_length(const char *key)
{
	size_t n = 0;

	while (n < KEY_MOST && (isalnum((unsigned char) key[n]) ||
				(key[n] && strchr("-_ ", key[n]))))
		n++;
	return n;
}

/* What tells a program the same; NULL: nothing. */
static const char *of_program(const char *key)
{
	for (size_t i = 0; i < RLK_ARRAY_SIZE(of_programs); i++)
		if (is_key(key, of_programs[i][0]))
			return of_programs[i][1];
	return NULL;
}

const char *rlk_setting_unknown(const char *key, bool hidden, char *buffer,
				size_t size)
{
	const char *near = rlk_setting_near(key);
	const char *other = of_program(key);
	size_t shown = shown_length(key);
	int n;

	if (hidden)
		n = snprintf(buffer, size,
			     "what follows the password is no known key (it is "
			     "not shown: a password with ';' in it goes into "
			     "braces)");
	else
		n = snprintf(buffer, size, "unknown key '%.*s%s'", (int) shown,
			     key, key[shown] ? "..." : "");
	if (other)
		snprintf(buffer + n, size - (size_t) n,
			 ": each program is told that by itself, so give %s "
			 "instead",
			 other);
	else if (near)
		snprintf(buffer + n, size - (size_t) n, ": did you mean '%s'?",
			 near);
	return buffer;
}
