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

#define OURS 5

extern char **environ;

static const char *const keys[OURS] = {
	"ROWLOCK_NAME=",   "ROWLOCK_TOKEN=",     "ROWLOCK_STRATEGY=",
	"ROWLOCK_TOKENS=", "ROWLOCK_GUARD_SQL=",
};

static bool is_ours(const char *entry)
{
	for (size_t i = 0; i < OURS; i++) {
		if (strncmp(entry, keys[i], strlen(keys[i])) == 0)
			return true;
	}
	return false;
}

/* NULL: out of memory. */
static char *list_tokens(const char *const *names, const uint64_t *tokens,
			 size_t count)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;
	fputs(keys[3], stream);
	for (size_t i = 0; i < count; i++)
		fprintf(stream, "%s%" PRIu64 " %s", i ? "\n" : "", tokens[i],
			names[i]);
	if (ferror(stream) | fclose(stream)) {
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
char **environment_new(const char *const *names, const uint64_t *tokens,
		       size_t count, enum rowlock_strategy strategy,
		       const char *guard)
{
	size_t others = 0, n = OURS - 1;
	char **list;

	while (environ[others])
		others++;
	list = calloc(others + OURS + 1, sizeof(*list));
	if (!list)
		return NULL;
	if (!put_ours(list, names[0], tokens[0], strategy)) {
		environment_freep(&list);
		return NULL;
	}
	list[3] = list_tokens(names, tokens, count);
	if (guard && asprintf(&list[4], "%s%s", keys[4], guard) < 0)
		list[4] = NULL;
	if (!list[3] || (guard && !list[4])) {
		environment_freep(&list);
		return NULL;
	}
	if (guard)
		n++;
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
