/* SPDX-License-Identifier: MIT */
/*
 * Suggestions. Failure modes: none is made for a short option, nor for an error
 * that getopt_long() explains itself.
 */
#include "suggest.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "config/alike.h"
#include "report.h"

const char *suggest_nearer(const char *word, const char *near,
			   const char *candidate)
{
	unsigned int best = near ? rlk_unlikeness(word, near) : RLK_NOT_ALIKE;

	return rlk_unlikeness(word, candidate) < best ? candidate : near;
}

/* Options of flock(1). */
static const struct synonym synonyms[] = {
	{ "shared", "read" },
	{ "exclusive", "write" },
	{ "no-fork", "no-supervise" },
};

static const char *in_our_words(const char *word)
{
	for (size_t i = 0; i < RLK_ARRAY_SIZE(synonyms); i++)
		if (strcmp(word, synonyms[i].theirs) == 0)
			return synonyms[i].ours;
	return word;
}

/* Returns NULL if no option is like it, or if it is ambiguous, or known. */
static const char *meant(const char *word, const struct option *options)
{
	char name[64];
	size_t length = strcspn(word, "=");
	const char *ours, *near = NULL;

	if (length >= sizeof(name))
		return NULL;
	memcpy(name, word, length);
	name[length] = '\0';
	ours = in_our_words(name);
	for (; options->name; options++) {
		if (strncmp(options->name, name, length) == 0)
			return NULL;
		near = suggest_nearer(ours, near, options->name);
	}
	return near;
}

/* getopt_long() writes argv[0] before its complaints, for which the journal
 * wants a priority. */
static int complaining_getopt(int argc, char **argv, const char *letters,
			      const struct option *options, int *ret_index)
{
	char title[256], *name = argv[0];
	int option;

	if (argc < 1)
		return -1;
	snprintf(title, sizeof(title), "%s%s",
		 report_priority(ROWLOCK_LOG_ERROR), name);
	argv[0] = title;
	option = getopt_long(argc, argv, letters, options, ret_index);
	argv[0] = name;
	return option;
}

int suggest_getopt(int argc, char **argv, const char *letters,
		   const struct option *options, int *ret_index)
{
	int option =
	    complaining_getopt(argc, argv, letters, options, ret_index);
	const char *word = option == '?' ? argv[optind - 1] : "";
	const char *near = NULL;

	if (optopt == 0 && strncmp(word, "--", 2) == 0)
		near = meant(word + 2, options);
	if (near)
		report(ROWLOCK_LOG_INFO, "did you mean '--%s'?", near);
	return option;
}
