/* SPDX-License-Identifier: MIT */
/*
 * The environment of the command, made before the fork: setenv() is not
 * async-signal-safe, and not safe while other threads read the environment.
 */
#include "run/environment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

#define OURS 6

extern char **environ;

static const char *const keys[OURS] = {
	"ROWLOCK_NAME=",   "ROWLOCK_TOKEN=", "ROWLOCK_STRATEGY=",
	"ROWLOCK_TOKENS=", "ROWLOCK_HELD=",  "ROWLOCK_GUARD_SQL=",
};

static bool is_ours(const char *entry)
{
	for (size_t i = 0; i < OURS; i++) {
		if (strncmp(entry, keys[i], strlen(keys[i])) == 0)
			return true;
	}
	return false;
}

/* One word of at most 60 bytes. */
static void put_command(FILE *out, const char *command)
{
	const char *slash = strrchr(command, '/');
	const char *name = slash ? slash + 1 : command;

	for (size_t i = 0; name[i] && i < 60; i++)
		fputc((unsigned char) name[i] > ' ' ? name[i] : '_', out);
}

/* NULL: out of memory. @key: ROWLOCK_TOKENS= or ROWLOCK_HELD=. */
static char *list_holds(const struct environment_of *of, const char *key,
			bool all)
{
	const char *before = all ? getenv("ROWLOCK_HELD") : NULL;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs(key, out);
	for (size_t i = 0; i < of->count; i++) {
		if (i)
			fputc('\n', out);
		if (all && of->attempt)
			fprintf(out, "attempt %" PRIu64 " ", of->attempt);
		else if (all)
			fprintf(out, "%s ", strategy_word(of->strategy));
		if (!all || !of->attempt)
			fprintf(out, "%" PRIu64 " ", of->tokens[i]);
		if (all) {
			put_command(out, of->command);
			fputc(' ', out);
		}
		fputs(of->names[i], out);
	}
	if (before)
		fprintf(out, "\n%s", before);
	if (ferror(out) | fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static bool put_ours(char **list, const char *name, uint64_t token,
		     enum rowlock_strategy strategy)
{
	if (asprintf(&list[0], "%s%s", keys[0], name) < 0)
		list[0] = NULL;
	else if (asprintf(&list[1], "%s%" PRIu64, keys[1], token) < 0)
		list[1] = NULL;
	else if (asprintf(&list[2], "%s%s", keys[2], strategy_word(strategy)) <
		 0)
		list[2] = NULL;
	return list[0] && list[1] && list[2];
}

/* Ours come first, the others belong to environ. */
char **environment_new(const struct environment_of *of)
{
	size_t others = 0, n = OURS - 1;
	char **list;
	bool whole;

	while (environ[others])
		others++;
	list = calloc(others + OURS + 1, sizeof(*list));
	if (!list)
		return NULL;
	whole = put_ours(list, of->names[0], of->tokens[0], of->strategy) &&
		(list[3] = list_holds(of, keys[3], false)) &&
		(list[4] = list_holds(of, keys[4], true));
	if (whole && of->guard) {
		if (asprintf(&list[5], "%s%s", keys[5], of->guard) < 0)
			list[5] = NULL;
		whole = list[5] != NULL;
		n++;
	}
	if (!whole) {
		environment_freep(&list);
		return NULL;
	}
	for (size_t i = 0; i < others; i++) {
		if (!is_ours(environ[i]))
			list[n++] = environ[i];
	}
	return list;
}

void environment_freep(char ***environment)
{
	char **list = *environment;

	for (size_t i = 0; list && list[i] && is_ours(list[i]); i++)
		free(list[i]);
	free(*environment);
}
