/* SPDX-License-Identifier: MIT */
/*
 * The sources of a connection, merged: a stronger value replaces a weaker one.
 * Values are wiped when they are replaced or freed.
 */
#include "config/where.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/macro.h"
#include "config/dsn.h"
#include "config/option_file.h"

static bool copy(const char *from, const char **ret_to)
{
	*ret_to = from ? strdup(from) : NULL;
	return !from || *ret_to;
}

static void freep(char **text)
{
	free(*text);
}

/* Files are read before each connect, and a program may have changed its
 * directory by then, as daemon(3) does. */
static bool copy_path(const char *from, const char **ret_to)
{
	_cleanup_(freep) char *directory = NULL;
	char *path;

	if (from && *from && *from != '/')
		directory = getcwd(NULL, 0);
	if (!directory)
		return copy(from, ret_to);
	if (asprintf(&path, "%s/%s", directory, from) < 0)
		return false;
	*ret_to = path;
	return true;
}

bool rlk_sources_copy(const struct rlk_sources *sources,
		      struct rlk_sources *ret_copy)
{
	*ret_copy = (struct rlk_sources){ .no_files = sources->no_files };
	return copy(sources->arguments, &ret_copy->arguments) &&
	       copy(sources->dsn, &ret_copy->dsn) &&
	       copy_path(sources->file, &ret_copy->file) &&
	       copy_path(sources->extra_file, &ret_copy->extra_file) &&
	       copy(sources->group, &ret_copy->group) &&
	       copy(sources->suffix, &ret_copy->suffix);
}

void rlk_secret_fini(struct rlk_secret *secret)
{
	if (secret->text)
		explicit_bzero(secret->text, secret->size);
	free(secret->text);
}

static void wipe(const char *text)
{
	struct rlk_secret secret = { (char *) text, text ? strlen(text) : 0 };

	rlk_secret_fini(&secret);
}

void rlk_sources_fini(struct rlk_sources *copy)
{
	wipe(copy->arguments);
	wipe(copy->dsn);
	free((char *) copy->file);
	free((char *) copy->extra_file);
	free((char *) copy->group);
	free((char *) copy->suffix);
}

static void forget(struct rlk_where *where, size_t number)
{
	wipe(where->values[number]);
	free(where->places[number]);
	where->values[number] = NULL;
	where->places[number] = NULL;
}

void rlk_where_fini(struct rlk_where *where)
{
	for (size_t i = 0; i < RLK_SETTINGS; i++)
		forget(where, i);
}

bool rlk_where_set(struct rlk_where *where, const struct rlk_setting *key,
		   const char *value, const char *place)
{
	size_t number = rlk_setting_number(key);

	forget(where, number);
	if (key->kind == RLK_SETTING_IGNORED)
		return true;
	where->values[number] = strdup(value ? value : "1");
	where->places[number] = strdup(place);
	return where->values[number] && where->places[number];
}

/* Leave @number without a value, whatever a weaker source says. */
static bool silence(struct rlk_where *where, size_t number)
{
	forget(where, number);
	where->values[number] = strdup("");
	return where->values[number];
}

/* A connection goes to one address. */
static bool settle_address(struct rlk_where *where)
{
	static const size_t address[] = { RLK_SETTING_HOST,
					  RLK_SETTING_PORT_NUMBER,
					  RLK_SETTING_PROTOCOL_NUMBER };

	if (!rlk_where_says(where, RLK_SETTING_SOCKET) ||
	    rlk_where_says(where, RLK_SETTING_HOST))
		return true;
	for (size_t i = 0; i < RLK_ARRAY_SIZE(address); i++)
		if (!where->values[address[i]] && !silence(where, address[i]))
			return false;
	return true;
}

void rlk_where_lay_over(struct rlk_where *where, struct rlk_where *stronger)
{
	for (size_t i = 0; i < RLK_SETTINGS; i++) {
		if (!stronger->values[i])
			continue;
		forget(where, i);
		where->values[i] = TAKE_PTR(stronger->values[i]);
		where->places[i] = TAKE_PTR(stronger->places[i]);
	}
}

static int read_string(const char *dsn, const char *place,
		       struct rlk_where *where, struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_where_fini) struct rlk_where said = { 0 };
	int code = dsn ? rlk_dsn_read(dsn, place, &said, reterr) : 0;

	if (code)
		return code;
	if (!settle_address(&said))
		return rlk_fail(reterr, ROWLOCK_ENOMEM, "out of memory");
	rlk_where_lay_over(where, &said);
	return 0;
}

/* A value of [client] that is none matters only if nothing stronger replaces
 * it. */
static int check(const struct rlk_where *where, struct rowlock_errinfo *reterr)
{
	char buffer[256];

	for (size_t i = 0; i < RLK_SETTINGS; i++)
		if (rlk_where_says(where, i) &&
		    rlk_setting_problem(rlk_setting_at(i), where->values[i],
					buffer, sizeof(buffer)))
			return rlk_fail(reterr, ROWLOCK_EINVAL, "%s: %s",
					where->places[i], buffer);
	return 0;
}

/* An empty variable is most likely one of a script that was not set: the local
 * server is not what it was meant to name. */
static int read_environment(const struct rlk_sources *sources,
			    struct rlk_where *where,
			    struct rowlock_errinfo *reterr)
{
	const char *dsn = secure_getenv("ROWLOCK_DSN");

	if (!dsn || *dsn)
		return read_string(dsn, "ROWLOCK_DSN", where, reterr);
	if (sources->arguments || sources->dsn || sources->file ||
	    sources->extra_file || sources->suffix)
		return 0;
	return rlk_fail(reterr, ROWLOCK_EINVAL,
			"ROWLOCK_DSN is empty: write a connection string into "
			"it, like host=db1;user=app;database=app, or unset it "
			"for the standard option files");
}

static int read_files(const struct rlk_sources *sources,
		      const struct rlk_where *strings, struct rlk_where *where,
		      struct rowlock_errinfo *reterr)
{
	struct rlk_sources files = *sources;
	bool complete = (rlk_where_says(strings, RLK_SETTING_HOST) ||
			 rlk_where_says(strings, RLK_SETTING_SOCKET)) &&
			rlk_where_says(strings, RLK_SETTING_USER) &&
			rlk_where_says(strings, RLK_SETTING_DATABASE);

	if (sources->no_files)
		return 0;
	if (!files.suffix)
		files.suffix = secure_getenv("MARIADB_GROUP_SUFFIX");
	if (!files.suffix || !*files.suffix)
		files.suffix = secure_getenv("MYSQL_GROUP_SUFFIX");
	return rlk_option_files_read(&files, complete, where, reterr);
}

int rlk_where_read(const struct rlk_sources *sources,
		   struct rlk_where *ret_where, struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_where_fini) struct rlk_where strings = { 0 };
	_cleanup_(rlk_where_fini) struct rlk_where where = { 0 };
	int code = read_environment(sources, &strings, reterr);

	if (!code)
		code = read_string(sources->dsn, "the dsn", &strings, reterr);
	if (!code)
		code = read_string(sources->arguments, "the command line",
				   &strings, reterr);
	if (!code)
		code = read_files(sources, &strings, &where, reterr);
	if (code)
		return code;
	rlk_where_lay_over(&where, &strings);
	code = check(&where, reterr);
	if (code)
		return code;
	*ret_where = where;
	where = (struct rlk_where){ 0 };
	return 0;
}
