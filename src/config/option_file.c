/* SPDX-License-Identifier: MIT */
/*
 * Option files, read as MariaDB's own programs read them (my_default.c): first
 * /etc/my.cnf, then /etc/mysql/my.cnf, that in $MARIADB_HOME or $MYSQL_HOME,
 * and ~/.my.cnf; "!include FILE"; "!includedir DIR" for each *.cnf in DIR. A
 * later line is stronger than an earlier one.
 *
 * [client], [client-server] and [client-mariadb] also belong to other programs:
 * unknown keys there are passed over. In our own group they are errors. Where
 * no file names our group, one that is spelled nearly like it is an error.
 *
 * Failure modes: a file that cannot be read is an error if the user named it,
 * or if it is there and stronger sources leave something open.
 */
#include "config/option_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/macro.h"
#include "config/alike.h"
#include "config/dsn.h"

#define DEPTH_MOST 64

enum owner { NOBODY, CLIENT, OURS };

struct reader {
	const struct rlk_sources *sources;
	struct rlk_where *where;
	struct rowlock_errinfo *reterr;
	bool complete;          /* stronger sources say all that is needed */
	char misspelt[400];     /* a group that may be meant to be ours, */
	char misspelt_end[400]; /* or to have the suffix */
	char looked[300];       /* the files that were read */
	bool found;             /* our group, with the suffix if there is one */
	bool suffixed;          /* any group that is read, with the suffix */
	bool read;              /* any group that is read */
	bool others;            /* any other group */
};

struct place {
	const char *path;
	unsigned int line;
	char group[64];
	enum owner owner;
};

static void closep(FILE **file)
{
	if (*file)
		fclose(*file);
}

static int fail(const struct reader *reader, const struct place *place,
		const char *problem)
{
	return rlk_fail(reader->reterr, ROWLOCK_EINVAL, "%s:%u: group [%s]: %s",
			place->path, place->line, place->group, problem);
}

/* A file that was not read may name the server: without it the connection might
 * lead to another one. */
static int fail_unread(const struct reader *reader, const char *path)
{
	return rlk_fail(reader->reterr, ROWLOCK_EINVAL,
			"option file: cannot read '%s': %s; look whether it is "
			"there, and whether this user may read it",
			path, strerror(errno));
}

static void trim(char *text)
{
	size_t length = strlen(text);

	while (length && isspace((unsigned char) text[length - 1]))
		text[--length] = '\0';
}

/* ---------------------------------------------------------------- groups */

static bool is_group(const struct reader *reader, const char *group,
		     const char *known)
{
	const char *suffix = reader->sources->suffix;
	size_t length = strlen(known);

	return strncmp(group, known, length) == 0 &&
	       (!group[length] ||
		(suffix && strcmp(group + length, suffix) == 0));
}

static enum owner owner_of(const struct reader *reader, const char *group)
{
	if (is_group(reader, group, "client") ||
	    is_group(reader, group, "client-server") ||
	    is_group(reader, group, "client-mariadb"))
		return CLIENT;
	return is_group(reader, group, reader->sources->group) ? OURS : NOBODY;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), more = strlen(end);

	return more && length >= more && strcmp(text + length - more, end) == 0;
}

/* Notes groups that look like a misspelling of what is asked for. */
static void compare_group(struct reader *reader, const struct place *place)
{
	const char *ours = reader->sources->group;
	const char *suffix = reader->sources->suffix;
	size_t length = strlen(ours);
	bool begins = strncmp(place->group, ours, length) == 0;
	const char *rest = place->group + length;

	suffix = suffix ? suffix : "";
	if (begins && strcmp(rest, suffix) == 0)
		reader->found = true;
	else if (!begins && rlk_alike(place->group, ours))
		snprintf(reader->misspelt, sizeof(reader->misspelt),
			 "%s:%u: there is no group [%s], but [%s]: did you "
			 "mean that?",
			 place->path, place->line, ours, place->group);
	else if (begins && *suffix && *rest && rlk_alike(suffix, rest))
		snprintf(reader->misspelt_end, sizeof(reader->misspelt_end),
			 "%s:%u: no group has the suffix '%.60s', but there is "
			 "[%s]: did you mean that?",
			 place->path, place->line, suffix, place->group);
}

static int take_group(struct reader *reader, struct place *place, char *line)
{
	char *end = strchr(line, ']');

	if (!end)
		return rlk_fail(reader->reterr, ROWLOCK_EINVAL,
				"%s:%u: a group without ']'", place->path,
				place->line);
	*end = '\0';
	trim(line);
	snprintf(place->group, sizeof(place->group), "%s", line);
	place->owner = owner_of(reader, place->group);
	if (place->owner == NOBODY)
		reader->others = true;
	else
		reader->read = true;
	if (place->owner != NOBODY && reader->sources->suffix)
		reader->suffixed =
		    reader->suffixed ||
		    ends_with(place->group, reader->sources->suffix);
	compare_group(reader, place);
	return 0;
}

/* -------------------------------------------------------------- settings */

static char unescaped(char c)
{
	static const char from[] = "ntrbs\"'\\", to[] = "\n\t\r\b \"'\\";
	const char *at = strchr(from, c);

	return at ? to[at - from] : '\0';
}

/* The '#' that begins a comment: one outside of quotes. NULL: none. */
static char *comment(char *text)
{
	char quote = '\0';
	bool escaped = false;

	for (; *text; text++) {
		if (!quote && *text == '#')
			return text;
		if ((*text == '\'' || *text == '"') && !escaped)
			quote = !quote ? *text : *text == quote ? '\0' : quote;
		escaped = quote && *text == '\\' && !escaped;
	}
	return NULL;
}

/* Without its quotes and escapes, in place. */
static char *unquote(char *value)
{
	char *from, *to;
	size_t length;

	while (isspace((unsigned char) *value))
		value++;
	trim(value);
	length = strlen(value);
	if (length > 1 && strchr("'\"", *value) &&
	    value[length - 1] == *value) {
		value[length - 1] = '\0';
		value++;
	}
	for (from = to = value; *from; from++) {
		char c = *from == '\\' && from[1] ? unescaped(from[1]) : '\0';

		*to++ = c ? c : *from;
		from += c != '\0';
	}
	*to = '\0';
	return value;
}

/* Does a value that is none lead to another server, or away from TLS? */
static bool matters(const struct rlk_setting *key)
{
	return key->kind == RLK_SETTING_PORT ||
	       key->kind == RLK_SETTING_PROTOCOL ||
	       key->kind == RLK_SETTING_BOOLEAN;
}

static int take_string(struct reader *reader, const char *dsn, const char *at)
{
	_cleanup_(rlk_where_fini) struct rlk_where said = { 0 };
	int code = rlk_dsn_read(dsn, at, &said, reader->reterr);

	if (!code)
		rlk_where_lay_over(reader->where, &said);
	return code;
}

static int take_setting(struct reader *reader, const struct place *place,
			char *line)
{
	char *value = strchr(line, '='), *hash = comment(line);
	const struct rlk_setting *key;
	char buffer[300], at[300], on[] = "1";
	bool glued = hash && !isspace((unsigned char) hash[-1]);

	if (value && hash && hash < value)
		value = NULL;
	if (hash)
		*hash = '\0';
	if (value)
		*value++ = '\0';
	trim(line);
	if (value)
		value = unquote(value);
	snprintf(at, sizeof(at), "%s:%u: group [%s]", place->path, place->line,
		 place->group);
	if (glued && value && place->owner == OURS)
		return fail(reader, place,
			    "'#' begins a comment: write a blank before it, or "
			    "the value in quotes");
	if (value && strcmp(line, "connection") == 0)
		return take_string(reader, value, at);
	key = rlk_setting_find(line);
	if (!key && place->owner == CLIENT)
		return 0;
	if (!key)
		return fail(
		    reader, place,
		    rlk_setting_unknown(line, false, buffer, sizeof(buffer)));
	if (!value && key->kind == RLK_SETTING_BOOLEAN)
		value = on;
	if (rlk_setting_problem(key, value, buffer, sizeof(buffer))) {
		if (place->owner == OURS)
			return fail(reader, place, buffer);
		if (!value || (*value && !matters(key)))
			return 0;
	}
	if (!rlk_where_set(reader->where, key, value, at))
		return rlk_fail(reader->reterr, ROWLOCK_ENOMEM,
				"out of memory");
	return 0;
}

/* ----------------------------------------------------------------- files */

static int read_file(struct reader *reader, const char *path,
		     unsigned int depth);

static int is_option_file(const struct dirent *entry)
{
	return ends_with(entry->d_name, ".cnf");
}

static int read_directory(struct reader *reader, const char *path,
			  unsigned int depth)
{
	struct dirent **entries = NULL;
	int count = scandir(path, &entries, is_option_file, alphasort);
	char file[4096];
	int code = count < 0 ? fail_unread(reader, path) : 0;

	for (int i = 0; i < count; i++) {
		snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
		/* Another's secret, as the servers' own settings may be. */
		if (!code && eaccess(file, R_OK) == 0)
			code = read_file(reader, file, depth);
		free(entries[i]);
	}
	free(entries);
	return code;
}

static int include(struct reader *reader, const struct place *place, char *line,
		   unsigned int depth)
{
	size_t length = strcspn(line, " \t\r\n");
	bool directory = length == 10 && strncmp(line, "includedir", 10) == 0;
	bool one = length == 7 && strncmp(line, "include", 7) == 0;
	char *path = line + length;

	if ((!directory && !one) || !*path)
		return rlk_fail(reader->reterr, ROWLOCK_EINVAL,
				"%s:%u: write !include FILE or !includedir "
				"DIRECTORY",
				place->path, place->line);
	if (depth + 1 >= DEPTH_MOST)
		return 0;
	path += strspn(path, " \t");
	trim(path);
	if (eaccess(path, R_OK) < 0)
		return rlk_fail(reader->reterr, ROWLOCK_EINVAL,
				"%s:%u: cannot read '%s': %s", place->path,
				place->line, path, strerror(errno));
	return directory ? read_directory(reader, path, depth + 1)
			 : read_file(reader, path, depth + 1);
}

static int take_line(struct reader *reader, struct place *place, char *line,
		     unsigned int depth)
{
	line += strspn(line, " \t\r\v\f");
	if (*line == '!')
		return include(reader, place, line + 1, depth);
	if (*line == '#' || *line == ';' || *line == '\n' || !*line)
		return 0;
	if (*line == '[')
		return take_group(reader, place, line + 1);
	if (!*place->group)
		return rlk_fail(reader->reterr, ROWLOCK_EINVAL,
				"%s:%u: a setting before the first [group]; "
				"write [%s] above it",
				place->path, place->line,
				reader->sources->group);
	return place->owner == NOBODY ? 0 : take_setting(reader, place, line);
}

/* Files are read again for each connection, so they must not be pipes. Their
 * writers decide where the password goes. */
static int check_file(const struct reader *reader, const char *path, int fd)
{
	struct stat facts;

	if (fstat(fd, &facts))
		return 0;
	if (S_ISFIFO(facts.st_mode) ||
	    (S_ISCHR(facts.st_mode) && strcmp(path, "/dev/null") != 0))
		return rlk_fail(reader->reterr, ROWLOCK_EINVAL,
				"option file: '%s' is a %s, and "
				"is read more than once; write a file that "
				"only this user may read (chmod 600)",
				path,
				S_ISFIFO(facts.st_mode) ? "pipe" : "device");
	if (S_ISREG(facts.st_mode) && facts.st_mode & S_IWOTH)
		return rlk_fail(reader->reterr, ROWLOCK_EINVAL,
				"option file: everybody can write '%s', and so "
				"say where the password goes; chmod o-w it",
				path);
	return 0;
}

static int read_file(struct reader *reader, const char *path,
		     unsigned int depth)
{
	/* A pipe that nobody writes to is not waited for. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_(closep) FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	_cleanup_(rlk_secret_fini) struct rlk_secret line = { NULL, 0 };
	struct place place = { .path = path };
	int code = 0;

	if (file)
		code = check_file(reader, path, fd);
	else
		code = fail_unread(reader, path);
	if (!file && fd >= 0)
		close(fd);
	while (!code && getline(&line.text, &line.size, file) >= 0) {
		place.line++;
		code = take_line(reader, &place, line.text, depth);
	}
	return !code && ferror(file) ? fail_unread(reader, path) : code;
}

static int read_named(struct reader *reader, const char *path)
{
	size_t length = strlen(reader->looked);

	if (eaccess(path, R_OK) < 0)
		return fail_unread(reader, path);
	snprintf(reader->looked + length, sizeof(reader->looked) - length,
		 "%s%s", length ? ", " : "", path);
	return read_file(reader, path, 0);
}

/* An unreadable file may have what is still open. */
static int read_if_there(struct reader *reader, const char *path)
{
	if (eaccess(path, F_OK) < 0 ||
	    (reader->complete && eaccess(path, R_OK) < 0))
		return 0;
	return read_named(reader, path);
}

static int read_standard(struct reader *reader)
{
	const char *home = secure_getenv("MARIADB_HOME");
	const struct {
		const char *directory;
		const char *name;
	} files[] = {
		{ "/etc", "my.cnf" },
		{ "/etc/mysql", "my.cnf" },
		{ home ? home : secure_getenv("MYSQL_HOME"), "my.cnf" },
		{ secure_getenv("HOME"), ".my.cnf" },
	};
	const size_t last = RLK_ARRAY_SIZE(files) - 1;
	const char *extra = reader->sources->extra_file;
	char path[4096];
	int code = 0;

	for (size_t i = 0; i <= last && !code; i++) {
		if (i == last && extra)
			code = read_named(reader, extra);
		if (code || !files[i].directory)
			continue;
		snprintf(path, sizeof(path), "%s/%s", files[i].directory,
			 files[i].name);
		code = read_if_there(reader, path);
	}
	return code;
}

/* Were the file and the groups found that were asked for? */
static int check_found(const struct reader *reader)
{
	const char *file = reader->sources->file;
	const char *group = reader->sources->group;
	const char *suffix = reader->sources->suffix;

	if (*reader->misspelt && !reader->found)
		return rlk_fail(reader->reterr, ROWLOCK_EINVAL, "%s",
				reader->misspelt);
	if (file && reader->others && !reader->read)
		return rlk_fail(reader->reterr, ROWLOCK_EINVAL,
				"option file: '%s' has groups, but neither "
				"[client] nor [%s], so it names no server; add "
				"[%s]",
				file, group, group);
	if (!suffix || !*suffix || reader->suffixed)
		return 0;
	if (*reader->misspelt_end)
		return rlk_fail(reader->reterr, ROWLOCK_EINVAL, "%s",
				reader->misspelt_end);
	return rlk_fail(reader->reterr, ROWLOCK_EINVAL,
			"option files: no group has the suffix '%s' (%s%s); "
			"write [client%s] or [%s%s], or leave the suffix out",
			suffix, *reader->looked ? "read: " : "there is no file",
			reader->looked, suffix, group, suffix);
}

int rlk_option_files_read(const struct rlk_sources *sources, bool complete,
			  struct rlk_where *where,
			  struct rowlock_errinfo *reterr)
{
	struct reader reader = { .sources = sources,
				 .where = where,
				 .complete = complete,
				 .reterr = reterr };
	int code = sources->file ? read_named(&reader, sources->file)
				 : read_standard(&reader);

	return code ? code : check_found(&reader);
}
