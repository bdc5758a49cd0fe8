/* SPDX-License-Identifier: MIT */
/*
 * Option files, read before Connector/C does.
 *
 * As Connector/C 3.3 reads them (ma_default.c): /etc/my.cnf, /etc/mysql/my.cnf,
 * that in $MARIADB_HOME or else $MYSQL_HOME, ~/.my.cnf; "!include FILE", and
 * "!includedir DIR" for DIR/my.cnf; a later line is the stronger one. What it
 * cannot open it does without; what a file wants included, or who called us has
 * named, or is one of these, is an error here if it cannot be read, but for one
 * of these where all is said elsewhere. It stops reading a file, without a
 * word, at a line before the first group and at a '[' without ']': those are
 * errors here, too, as they are for MariaDB's programs.
 *
 * Failure modes: a file may change between our look and Connector/C's. A value
 * is shown only if it should have been a number.
 */
#include "config/option_file.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "config/dsn.h"
#include "config/option_text.h"
#include "config/setting.h"

#define LINE_SIZE 4095 /* Connector/C's */
#define DEPTH_MOST 64  /* the same */

enum owner { NOBODY, CLIENT, OURS };

struct reader {
	const char *group;
	const char *suffix;
	const struct rlk_setting_taker *taker;
	struct rowlock_errinfo *reterr;
	/* What is wrong in a client's group, unless a later line sets it right;
	 * "" if nothing. */
	char port[400];
	char protocol[400];
	char alike[400];  /* a group that may be meant to be ours, */
	char other[400];  /* or with another suffix, to have that */
	char looked[300]; /* the files that were read */
	char unread[400]; /* a client's host where Connector/C does not look */
	bool found;       /* ours is there */
	bool others;      /* so is another program's, */
	bool read;        /* or one that we read, */
	bool suffixed;    /* or that with the suffix */
	bool remote;      /* the last host is another one */
	bool complete;    /* without the files, too */
	unsigned int named;
};

/* Where in a file we are. */
struct place {
	const char *path;
	unsigned int line;
	char group[64];
	enum owner owner;
	bool any_group;
	bool escaped; /* the line before began with a backslash */
};

static int fail(const struct reader *reader, const struct place *place,
		const char *problem)
{
	return rlk_fail(reader->reterr, ROWLOCK_EINVAL, "%s:%u: group [%s]: %s",
			place->path, place->line, place->group, problem);
}

static bool is_group(const struct reader *reader, const char *group,
		     const char *known)
{
	size_t length = strlen(known);

	return strncmp(group, known, length) == 0 &&
	       (group[length] == '\0' ||
		(reader->suffix &&
		 strcmp(group + length, reader->suffix) == 0));
}

static enum owner owner_of(const struct reader *reader, const char *group)
{
	if (is_group(reader, group, "client") ||
	    is_group(reader, group, "client-server") ||
	    is_group(reader, group, "client-mariadb"))
		return CLIENT;
	return reader->group && is_group(reader, group, reader->group) ? OURS
								       : NOBODY;
}

static bool is_local(const char *host)
{
	return !host || !*host || strcmp(host, "localhost") == 0;
}

/* Others may write here what Connector/C ignores; we care for what leads to
 * another server. */
static int check_client(struct reader *reader, const struct place *place,
			const struct rlk_setting *setting, const char *value)
{
	char problem[256], *room;
	size_t host = rlk_setting_number(rlk_setting_find("host"));

	if (!setting)
		return 0;
	rlk_setting_note(setting, value, &reader->named);
	if (setting->kind == RLK_SETTING_DEADLY) {
		rlk_setting_problem(setting, value, problem, sizeof(problem));
		return fail(reader, place, problem);
	}
	if (rlk_setting_number(setting) == host)
		reader->remote = !is_local(value);
	if (setting->kind != RLK_SETTING_PORT &&
	    setting->kind != RLK_SETTING_PROTOCOL)
		return 0;
	room =
	    setting->kind == RLK_SETTING_PORT ? reader->port : reader->protocol;
	*room = '\0';
	/* 0 stands for the default, and "socket" for what is done anyway. */
	if (value && (strcmp(value, "0") == 0 ||
		      (setting->kind == RLK_SETTING_PROTOCOL &&
		       strcasecmp(value, "socket") == 0)))
		return 0;
	if (rlk_setting_problem(setting, value, problem, sizeof(problem)))
		snprintf(room, sizeof(reader->port), "%s:%u: group [%s]: %s",
			 place->path, place->line, place->group, problem);
	return 0;
}

static int check_ours(struct reader *reader, const struct place *place,
		      const struct rlk_setting *setting, const char *key,
		      const char *value)
{
	char buffer[300];

	if (!setting)
		return fail(
		    reader, place,
		    rlk_setting_unknown(key, false, buffer, sizeof(buffer)));
	if (rlk_setting_problem(setting, value, buffer, sizeof(buffer)))
		return fail(reader, place, buffer);
	return check_client(reader, place, setting, value);
}

/* Connector/C reads it at once, in whichever group it is. */
static int take_connection(struct reader *reader, const struct place *place,
			   const char *value)
{
	char from[300];

	snprintf(from, sizeof(from), "%s:%u: connection", place->path,
		 place->line);
	return rlk_dsn_read(value, from, &reader->named, reader->taker,
			    reader->reterr);
}

static void tell(const struct reader *reader, const struct rlk_setting *setting,
		 const char *value)
{
	char problem[256];

	if (setting && reader->taker &&
	    !rlk_setting_problem(setting, value, problem, sizeof(problem)))
		reader->taker->take(setting, value, reader->taker->arg);
}

static int take_setting(struct reader *reader, const struct place *place,
			char *line)
{
	const struct rlk_setting *setting;
	char *value = strchr(line, '=');
	int error;

	if (value)
		*value++ = '\0';
	rlk_option_trim(line);
	if (value)
		value = rlk_option_unquote(value);
	if (value && strcmp(line, "connection") == 0)
		return take_connection(reader, place, value);
	setting = rlk_setting_find(line);
	if (setting && value)
		rlk_option_cut(setting, value);
	error = place->owner == OURS
		    ? check_ours(reader, place, setting, line, value)
		    : check_client(reader, place, setting, value);
	if (!error)
		tell(reader, setting, value);
	return error;
}

/* Is @group the one that is asked for: with the suffix, if there is one? */
static bool is_asked_for(const struct reader *reader, const char *group)
{
	size_t length = strlen(reader->group);

	return strncmp(group, reader->group, length) == 0 &&
	       strcmp(group + length, reader->suffix ? reader->suffix : "") ==
		   0;
}

/* "[ rowlock ]" and "[rowlok]" are other groups to Connector/C; so are those
 * that only begin like ours, and somebody may want them. */
static void compare_group(struct reader *reader, const struct place *place,
			  const char *group)
{
	if (!reader->group)
		return;
	if (is_asked_for(reader, group))
		reader->found = true;
	else if (strncmp(group, reader->group, strlen(reader->group)) != 0 &&
		 rlk_setting_alike(group, reader->group))
		snprintf(reader->alike, sizeof(reader->alike),
			 "%s:%u: there is no group [%s], but [%.60s]: did you "
			 "mean that?",
			 place->path, place->line, reader->group, group);
}

/* [rowlock_mian] is there, and the suffix _main is asked for. */
static void compare_suffix(struct reader *reader, const struct place *place,
			   const char *group)
{
	size_t length = reader->group ? strlen(reader->group) : 0;

	if (!length || !reader->suffix ||
	    strncmp(group, reader->group, length) != 0 || !group[length] ||
	    !rlk_setting_alike(reader->suffix, group + length))
		return;
	snprintf(reader->other, sizeof(reader->other),
		 "%s:%u: no group has the suffix '%.60s', but there is "
		 "[%.60s]: did you mean that?",
		 place->path, place->line, reader->suffix, group);
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), more = end ? strlen(end) : 0;

	return more && length >= more && strcmp(text + length - more, end) == 0;
}

static int take_group(struct reader *reader, struct place *place, char *line)
{
	char *end = strchr(line, ']');

	if (!end)
		return rlk_fail(reader->reterr, ROWLOCK_EINVAL,
				"%s:%u: a group without ']': Connector/C would "
				"read no further in this file",
				place->path, place->line);
	*end = '\0';
	rlk_option_trim(line);
	place->any_group = true;
	snprintf(place->group, sizeof(place->group), "%s", line);
	place->owner = owner_of(reader, line);
	if (place->owner == NOBODY)
		reader->others = true;
	else
		reader->read = true;
	if (place->owner != NOBODY && ends_with(line, reader->suffix))
		reader->suffixed = true;
	compare_group(reader, place, line);
	compare_suffix(reader, place, line);
	return 0;
}

static void wipe(char (*line)[LINE_SIZE])
{
	explicit_bzero(*line, sizeof(*line));
}

static void closep(FILE **file)
{
	if (*file)
		fclose(*file);
}

static int read_file(struct reader *reader, const char *path,
		     unsigned int depth);

/* Our group would be lost here, and so would a client's host, unless what is
 * read names one. */
static int pass_over(struct reader *reader, struct place *place, char *line)
{
	static const char advice[] =
	    "Connector/C reads no file of a directory but my.cnf: write "
	    "!include and this file's name, or move it to a file that is read";
	char *value = strchr(line, '='), *end = strchr(line, ']');

	rlk_option_trim(line);
	if (*line == '[' && end) {
		*end = '\0';
		rlk_option_trim(++line);
		snprintf(place->group, sizeof(place->group), "%s", line);
		place->owner = owner_of(reader, line);
		return place->owner == OURS ? fail(reader, place, advice) : 0;
	}
	if (place->owner != CLIENT || !value)
		return 0;
	*value++ = '\0';
	rlk_option_trim(line);
	if (rlk_setting_find(line) == rlk_setting_find("host") &&
	    !is_local(rlk_option_unquote(value)))
		snprintf(reader->unread, sizeof(reader->unread),
			 "%s:%u: group [%s]: %s", place->path, place->line,
			 place->group, advice);
	return 0;
}

/* It is read more than once, and by Connector/C after us; and a pipe to which
 * nobody writes, or a device like /dev/zero, has no end. NULL: it is neither,
 * or /dev/null, which says that nothing is said. */
static const char *endless(const char *path)
{
	struct stat facts, none;

	if (stat(path, &facts))
		return NULL;
	if (S_ISFIFO(facts.st_mode))
		return "pipe";
	if (!S_ISCHR(facts.st_mode) ||
	    (stat("/dev/null", &none) == 0 && none.st_rdev == facts.st_rdev))
		return NULL;
	return "device";
}

static int look_into(struct reader *reader, const char *path)
{
	_cleanup_(closep) FILE *file = endless(path) ? NULL : fopen(path, "re");
	_cleanup_(wipe) char line[LINE_SIZE] = "";
	struct place place = { .path = path };
	int error = 0;

	while (file && !error && fgets(line, sizeof(line), file)) {
		place.line++;
		error =
		    pass_over(reader, &place, line + strspn(line, " \t\r\v\f"));
	}
	return error;
}

static bool is_my_cnf(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && strcmp(name, "/my.cnf") == 0;
}

static int read_directory(struct reader *reader, const char *path,
			  unsigned int depth)
{
	char pattern[LINE_SIZE + 16];
	glob_t found = { 0 };
	int error = 0;

	if (!reader->suffix) {
		snprintf(pattern, sizeof(pattern), "%s/my.cnf", path);
		error = read_file(reader, pattern, depth);
	}
	snprintf(pattern, sizeof(pattern), "%s/*.cnf", path);
	if (!error && glob(pattern, 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc && !error; i++) {
			const char *one = found.gl_pathv[i];

			if (reader->suffix)
				error = read_file(reader, one, depth);
			else if (!is_my_cnf(one))
				error = look_into(reader, one);
		}
	}
	globfree(&found);
	return error;
}

static int include(struct reader *reader, const struct place *place, char *line,
		   unsigned int depth)
{
	char *path = strchr(line, ' ');
	bool directory = path && strncmp(line, "includedir ", 11) == 0;

	if (!directory && !(path && strncmp(line, "include ", 8) == 0))
		return rlk_fail(reader->reterr, ROWLOCK_EINVAL,
				"%s:%u: Connector/C does not understand this "
				"line; write !include FILE or !includedir "
				"DIRECTORY",
				place->path, place->line);
	if (depth + 1 >= DEPTH_MOST)
		return 0;
	rlk_option_trim(++path);
	if (access(path, R_OK) < 0)
		return rlk_fail(reader->reterr, ROWLOCK_EINVAL,
				"%s:%u: cannot read '%s': %s; Connector/C "
				"would go on without it",
				place->path, place->line, path,
				strerror(errno));
	return directory ? read_directory(reader, path, depth + 1)
			 : read_file(reader, path, depth + 1);
}

static int take_line(struct reader *reader, struct place *place, char *line,
		     unsigned int depth)
{
	bool quoted;

	while (isspace((unsigned char) *line))
		line++;
	quoted = !place->escaped && (*line == '"' || *line == '\'');
	if (quoted && place->owner == OURS)
		return fail(reader, place,
			    "Connector/C does not read a line that begins with "
			    "a quote; remove it");
	if (quoted)
		return 0;
	if (*line == '!')
		return include(reader, place, line + 1, depth);
	if (*line == '#' || *line == ';' || *line == '\0')
		return 0;
	place->escaped = *line == '\\';
	if (*line == '[')
		return take_group(reader, place, line + 1);
	if (!place->any_group)
		return rlk_fail(reader->reterr, ROWLOCK_EINVAL,
				"%s:%u: a setting before the first [group]: "
				"Connector/C would read no further in this "
				"file; write [%s] above it",
				place->path, place->line,
				reader->group ? reader->group : "client");
	return place->owner == NOBODY ? 0 : take_setting(reader, place, line);
}

/* MariaDB's own client would go on without it. */
static bool is_everybodys(FILE *file)
{
	struct stat facts;

	return fstat(fileno(file), &facts) == 0 && S_ISREG(facts.st_mode) &&
	       facts.st_mode & S_IWOTH;
}

static int read_file(struct reader *reader, const char *path,
		     unsigned int depth)
{
	_cleanup_(closep) FILE *file = NULL;
	_cleanup_(wipe) char line[LINE_SIZE] = "";
	struct place place = { .path = path };
	bool whole = true; /* so far; a longer line comes in pieces */
	int error = 0;

	if (endless(path))
		return rlk_fail(reader->reterr, ROWLOCK_EINVAL,
				"option file: '%s' is a %s, and is read more "
				"than once; write a file that only this user "
				"may read (chmod 600)",
				path, endless(path));
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (is_everybodys(file))
		return rlk_fail(reader->reterr, ROWLOCK_EINVAL,
				"option file: everybody can write '%s', and so "
				"say where the password goes; chmod o-w it",
				path);
	while (!error && fgets(line, sizeof(line), file)) {
		place.line += whole;
		whole = strchr(line, '\n') || feof(file);
		if (!whole && place.owner == OURS)
			return fail(reader, &place,
				    "a line longer than Connector/C reads");
		error = take_line(reader, &place, line, depth);
	}
	if (!error && ferror(file))
		return rlk_fail(reader->reterr, ROWLOCK_EINVAL,
				"option file: cannot read '%s': %s; name a "
				"file",
				path, strerror(errno));
	return error;
}

static void note_looked(struct reader *reader, const char *path)
{
	size_t length = strlen(reader->looked);

	snprintf(reader->looked + length, sizeof(reader->looked) - length,
		 "%s%s", length ? ", " : "", path);
}

/* One that is there, and not for us, has what somebody wanted to be read. */
static int read_in(struct reader *reader, const char *directory,
		   const char *name)
{
	char path[LINE_SIZE];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (access(path, F_OK) < 0)
		return 0;
	if (access(path, R_OK) < 0 && !reader->complete)
		return rlk_fail(reader->reterr, ROWLOCK_EINVAL,
				"option file: cannot read '%s': %s; make it "
				"this user's own, or name another one",
				path, strerror(errno));
	note_looked(reader, path);
	return read_file(reader, path, 0);
}

static int read_standard(struct reader *reader)
{
	const char *home = getenv("MARIADB_HOME");
	const char *directories[] = { "/etc", "/etc/mysql", NULL };
	int error = 0;

	if (!home)
		home = getenv("MYSQL_HOME");
	if (home && strcmp(home, "/etc") != 0 &&
	    strcmp(home, "/etc/mysql") != 0)
		directories[2] = home;
	for (size_t i = 0; i < RLK_ARRAY_SIZE(directories) && !error; i++)
		if (directories[i])
			error = read_in(reader, directories[i], "my.cnf");
	home = getenv("HOME");
	return error || !home ? error : read_in(reader, home, ".my.cnf");
}

/* Something was asked for that is in none of them, and what would be read
 * without it leads elsewhere. */
static int check_asked_for(const struct reader *reader,
			   const struct rlk_option_files *files)
{
	const char *file = files->file;
	unsigned int named = reader->named | files->told;
	const char *group = reader->group ? reader->group : "client";
	const char *suffix = reader->suffix ? reader->suffix : "";

	if (*reader->alike && !reader->found)
		return rlk_fail(reader->reterr, ROWLOCK_EINVAL, "%s",
				reader->alike);
	if (*reader->unread && !(named & 1u << RLK_WHOM_HOST))
		return rlk_fail(reader->reterr, ROWLOCK_EINVAL, "%s",
				reader->unread);
	if (file && reader->others && !reader->read)
		return rlk_fail(reader->reterr, ROWLOCK_EINVAL,
				"option file: '%s' has groups, but neither "
				"[client] nor [%s], so it names no server; add "
				"[%s]",
				file, group, group);
	if (!*suffix || reader->suffixed)
		return 0;
	if (*reader->other)
		return rlk_fail(reader->reterr, ROWLOCK_EINVAL, "%s",
				reader->other);
	return rlk_fail(
	    reader->reterr, ROWLOCK_EINVAL,
	    "option files: no group has the suffix '%s' (%s%s); write "
	    "[client%s] or [%s%s], or leave the suffix out",
	    suffix, *reader->looked ? "read: " : "there is no file to be read",
	    reader->looked, suffix, group, suffix);
}

/* Do stronger sources say all that a connection takes? */
static bool is_complete(unsigned int told)
{
	const unsigned int needed =
	    1u << RLK_WHOM_HOST | 1u << RLK_WHOM_USER | 1u << RLK_WHOM_DATABASE;

	return (told & needed) == needed;
}

int rlk_option_files_check(const struct rlk_option_files *files,
			   unsigned int *ret_named,
			   struct rowlock_errinfo *reterr)
{
	struct reader reader = { .group = files->group,
				 .suffix = files->suffix,
				 .taker = files->taker,
				 .reterr = reterr,
				 .complete = is_complete(files->told) };
	const char *file = files->file;
	unsigned int told = files->told;
	bool remote;
	int error;

	if (file && access(file, R_OK) < 0)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"option file: cannot read '%s': %s; look "
				"whether it is there, and whether this user "
				"may read it",
				file, strerror(errno));
	if (file)
		note_looked(&reader, file);
	error = file ? read_file(&reader, file, 0) : read_standard(&reader);
	if (!error)
		error = check_asked_for(&reader, files);
	if (error)
		return error;
	remote = files->told_host ? !is_local(files->told_host) : reader.remote;
	if (*reader.port && !(told & 1u << RLK_WHOM_PORT))
		return rlk_fail(reterr, ROWLOCK_EINVAL, "%s", reader.port);
	if (*reader.protocol && !remote && !(told & 1u << RLK_WHOM_PROTOCOL))
		return rlk_fail(reterr, ROWLOCK_EINVAL, "%s", reader.protocol);
	*ret_named = reader.named;
	return 0;
}
