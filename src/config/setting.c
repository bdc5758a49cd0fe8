/* SPDX-License-Identifier: MIT */
/*
 * The keys of connection strings and option files: Connector/C's names for
 * them (mariadb_lib.c: mariadb_defaults), and the option each one sets.
 *
 * Failure modes: a key that a later Connector/C brings is refused until it is
 * added here.
 */
#include "config/setting.h"

#include <ctype.h>
#include <errno.h>
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/macro.h"
#include "config/alike.h"

/* No key is longer. */
#define LENGTH_MOST 40

#define TEXT RLK_SETTING_TEXT
#define ADDRESS RLK_SETTING_ADDRESS
#define SECRET RLK_SETTING_SECRET
#define BOOLEAN RLK_SETTING_BOOLEAN
#define IGNORED RLK_SETTING_IGNORED

/* The first ones in the order of the enum in setting.h. */
static const struct rlk_setting keys[] = {
	{ "host", ADDRESS, NULL, MARIADB_OPT_HOST },
	{ "port", RLK_SETTING_PORT, NULL, MARIADB_OPT_PORT },
	{ "user", TEXT, NULL, MARIADB_OPT_USER },
	{ "password", SECRET, NULL, MARIADB_OPT_PASSWORD },
	{ "database", TEXT, NULL, MARIADB_OPT_SCHEMA },
	{ "socket", ADDRESS, NULL, MARIADB_OPT_UNIXSOCKET },
	{ "protocol", RLK_SETTING_PROTOCOL, NULL, MYSQL_OPT_PROTOCOL },
	{ "connect-timeout", RLK_SETTING_NUMBER, NULL,
	  MYSQL_OPT_CONNECT_TIMEOUT },
	{ "servername", ADDRESS, "host", 0 },
	{ "passwd", SECRET, "password", 0 },
	{ "db", TEXT, "database", 0 },
	{ "timeout", RLK_SETTING_NUMBER, "connect-timeout", 0 },
	{ "init-command", TEXT, NULL, MYSQL_INIT_COMMAND },
	{ "bind-address", TEXT, NULL, MYSQL_OPT_BIND },
	{ "plugin-dir", TEXT, NULL, MYSQL_PLUGIN_DIR },
	{ "default-auth", TEXT, NULL, MYSQL_DEFAULT_AUTH },
	{ "restricted-auth", TEXT, NULL, MARIADB_OPT_RESTRICTED_AUTH },
	{ "server-public-key", TEXT, NULL, MYSQL_SERVER_PUBLIC_KEY },
	{ "character-sets-dir", TEXT, NULL, MYSQL_SET_CHARSET_DIR },
	{ "ssl-enforce", BOOLEAN, NULL, MYSQL_OPT_SSL_ENFORCE },
	{ "ssl-verify-server-cert", BOOLEAN, NULL,
	  MYSQL_OPT_SSL_VERIFY_SERVER_CERT },
	{ "ssl-ca", TEXT, NULL, MYSQL_OPT_SSL_CA },
	{ "ssl-capath", TEXT, NULL, MYSQL_OPT_SSL_CAPATH },
	{ "ssl-cert", TEXT, NULL, MYSQL_OPT_SSL_CERT },
	{ "ssl-key", TEXT, NULL, MYSQL_OPT_SSL_KEY },
	{ "ssl-crl", TEXT, NULL, MYSQL_OPT_SSL_CRL },
	{ "ssl-crlpath", TEXT, NULL, MYSQL_OPT_SSL_CRLPATH },
	{ "ssl-cipher", TEXT, NULL, MYSQL_OPT_SSL_CIPHER },
	{ "ssl-passphrase", SECRET, NULL, MARIADB_OPT_TLS_PASSPHRASE },
	{ "ssl-fp", TEXT, NULL, MARIADB_OPT_SSL_FP },
	{ "ssl-fp-list", TEXT, NULL, MARIADB_OPT_SSL_FP_LIST },
	{ "ssl-fplist", TEXT, "ssl-fp-list", 0 },
	{ "tls-version", TEXT, NULL, MARIADB_OPT_TLS_VERSION },
	{ "tls-enforce", BOOLEAN, "ssl-enforce", 0 },
	{ "tls-verify-peer", BOOLEAN, "ssl-verify-server-cert", 0 },
	{ "tls-ca", TEXT, "ssl-ca", 0 },
	{ "tls-capath", TEXT, "ssl-capath", 0 },
	{ "tls-cert", TEXT, "ssl-cert", 0 },
	{ "tls-key", TEXT, "ssl-key", 0 },
	{ "tls-crl", TEXT, "ssl-crl", 0 },
	{ "tls-crlpath", TEXT, "ssl-crlpath", 0 },
	{ "tls-cipher", TEXT, "ssl-cipher", 0 },
	{ "tls-passphrase", SECRET, "ssl-passphrase", 0 },
	{ "tls-fp", TEXT, "ssl-fp", 0 },
	{ "tls-fplist", TEXT, "ssl-fp-list", 0 },
	{ "return-found-rows", RLK_SETTING_REFUSED, NULL, 0 },
	{ "compress", IGNORED, NULL, 0 },
	{ "reconnect", IGNORED, NULL, 0 },
	{ "local-infile", IGNORED, NULL, 0 },
	{ "disable-local-infile", IGNORED, NULL, 0 },
	{ "secure-auth", IGNORED, NULL, 0 },
	{ "default-character-set", IGNORED, NULL, 0 },
	{ "report-data-truncation", IGNORED, NULL, 0 },
	{ "bulk-unit-results", IGNORED, NULL, 0 },
	{ "multi-results", IGNORED, NULL, 0 },
	{ "multi-statements", IGNORED, NULL, 0 },
	{ "multi-queries", IGNORED, "multi-statements", 0 },
	{ "interactive-timeout", IGNORED, NULL, 0 },
	{ "max-allowed-packet", IGNORED, NULL, 0 },
	{ "net-buffer-length", IGNORED, NULL, 0 },
	{ "debug", IGNORED, NULL, 0 },
	{ "pipe", IGNORED, NULL, 0 },
	{ "shared-memory-base-name", IGNORED, NULL, 0 },
};
_Static_assert(RLK_ARRAY_SIZE(keys) < RLK_SETTINGS, "too many keys");

/* Other drivers' names that are too different to be found
 * by rlk_unlikeness(). */
static const char *const strangers[][2] = {
	{ "unix-socket", "socket" }, { "hostname", "host" },
	{ "server", "host" },        { "hostaddr", "host" },
	{ "username", "user" },      { "uid", "user" },
	{ "pwd", "password" },       { "pass", "password" },
	{ "dbname", "database" },    { "schema", "database" },
};

/* Deliberately no keys: a file or variable is read by many programs, and one
 * line there would weaken all of them. */
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

static bool is_key(const char *name, const char *known)
{
	while (*name && plain(*name) == *known)
		name++, known++;
	return *name == *known;
}

const struct rlk_setting *rlk_setting_find(const char *name)
{
	for (size_t i = 0; i < RLK_ARRAY_SIZE(keys); i++)
		if (is_key(name, keys[i].name))
			return &keys[i];
	return NULL;
}

const struct rlk_setting *rlk_setting_at(size_t number)
{
	return number < RLK_ARRAY_SIZE(keys) ? &keys[number] : NULL;
}

size_t rlk_setting_number(const struct rlk_setting *key)
{
	if (key->same_as)
		key = rlk_setting_find(key->same_as);
	return (size_t) (key - keys);
}

/* The key that @name may be a misspelling of, or NULL. */
static const char *nearest(const char *name)
{
	const char *near = NULL;
	unsigned int best = RLK_NOT_ALIKE;

	for (size_t i = 0; i < RLK_ARRAY_SIZE(strangers); i++)
		if (rlk_unlikeness(name, strangers[i][0]) == 0)
			return strangers[i][1];
	for (size_t i = 0; i < RLK_ARRAY_SIZE(keys); i++) {
		unsigned int now = rlk_unlikeness(name, keys[i].name);

		if (now < best) {
			best = now;
			near = keys[i].name;
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

static bool is_true(const char *value)
{
	return strcmp(value, "1") == 0 || strcasecmp(value, "on") == 0 ||
	       strcasecmp(value, "true") == 0;
}

static bool is_false(const char *value)
{
	return strcmp(value, "0") == 0 || strcasecmp(value, "off") == 0 ||
	       strcasecmp(value, "false") == 0;
}

static const char *wanted(const struct rlk_setting *key, const char *value)
{
	switch (key->kind) {
	case RLK_SETTING_ADDRESS:
		return *value ? NULL
			      : "leave it out if the local server is meant";
	case RLK_SETTING_PORT:
		return is_number(value, 0, 65535)
			   ? NULL
			   : "it must be a number from 1 to 65535, as in "
			     "port=3306";
	case RLK_SETTING_NUMBER:
		return is_number(value, 0, 2147483647)
			   ? NULL
			   : "it must be a number from 0 to 2147483647, "
			     "without a unit";
	case RLK_SETTING_BOOLEAN:
		return is_true(value) || is_false(value) ? NULL
							 : "it must be 0 or 1";
	case RLK_SETTING_PROTOCOL:
		return is_number(value, 0, 2) ||
			       strcasecmp(value, "tcp") == 0 ||
			       strcasecmp(value, "socket") == 0
			   ? NULL
			   : "it must be tcp or socket";
	default:
		return NULL;
	}
}

unsigned int rlk_setting_value(const struct rlk_setting *key, const char *value)
{
	if (key->kind == RLK_SETTING_BOOLEAN)
		return is_true(value);
	if (strcasecmp(value, "tcp") == 0)
		return MYSQL_PROTOCOL_TCP;
	if (strcasecmp(value, "socket") == 0)
		return MYSQL_PROTOCOL_SOCKET;
	return (unsigned int) strtoul(value, NULL, 10);
}

const char *rlk_setting_problem(const struct rlk_setting *key,
				const char *value, char *buffer, size_t size)
{
	const char *problem;

	if (key->kind == RLK_SETTING_IGNORED)
		return NULL;
	if (key->kind == RLK_SETTING_REFUSED) {
		snprintf(buffer, size,
			 "'%s' would make a held lock look free; remove it",
			 key->name);
		return buffer;
	}
	if (!value) {
		snprintf(buffer, size, "'%s' has no value; write %s=%s",
			 key->name, key->name,
			 key->kind < RLK_SETTING_NUMBER ? "TEXT" : "1");
		return buffer;
	}
	problem = wanted(key, value);
	if (!problem)
		return NULL;
	snprintf(buffer, size, "'%s' is '%.*s'; %s", key->name, LENGTH_MOST,
		 value, problem);
	return buffer;
}

static size_t shown_length(const char *name)
{
	size_t n = 0;

	while (n < LENGTH_MOST && (isalnum((unsigned char) name[n]) ||
				   (name[n] && strchr("-_ ", name[n]))))
		n++;
	return n;
}

/* The program's option for the same, or NULL. */
static const char *of_program(const char *name)
{
	for (size_t i = 0; i < RLK_ARRAY_SIZE(of_programs); i++)
		if (is_key(name, of_programs[i][0]))
			return of_programs[i][1];
	return NULL;
}

const char *rlk_setting_unknown(const char *name, bool hidden, char *buffer,
				size_t size)
{
	const char *near = nearest(name);
	const char *other = of_program(name);
	size_t shown = shown_length(name);
	int n;

	if (hidden)
		n = snprintf(buffer, size,
			     "unknown key after the password (not shown: a "
			     "password that contains ';' must be in braces)");
	else
		n = snprintf(buffer, size, "unknown key '%.*s%s'", (int) shown,
			     name, name[shown] ? "..." : "");
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

bool rlk_is_plugin_list(const char *list)
{
	size_t length;

	if (!list)
		return true;
	while ((length = strspn(list, RLK_PLUGIN_LETTERS)) &&
	       list[length] == ',')
		list += length + 1;
	return length && !list[length];
}
