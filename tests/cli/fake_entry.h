/* SPDX-License-Identifier: MIT */
#ifndef FAKE_ENTRY_H
#define FAKE_ENTRY_H

/*
 * An entry of a list, as the test tells it to the fake: harness.py, entry().
 */

#include <inttypes.h>
#include <rowlock/admin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A word of an entry line, decoded; "-" is the empty text. */
static inline const char *unhex(char *word)
{
	char *out = word;
	unsigned int byte;

	if (strcmp(word, "-") == 0)
		return "";
	for (char *in = word; sscanf(in, "%2x", &byte) == 1; in += 2)
		*out++ = (char) byte;
	*out = '\0';
	return word;
}

static inline int put_entry(char *line, rowlock_list_fn fn, void *arg)
{
	static char word[5][2048];
	struct rowlock_entry entry = { .size = sizeof(entry) };
	int strategy, state, kind;

	if (sscanf(line,
		   "%d %d %d %u %2047s %2047s %2047s %u %2047s %2047s %" SCNu64
		   " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64,
		   &strategy, &state, &kind, &entry.slot, word[0], word[1],
		   word[2], &entry.pid, word[3], word[4], &entry.held_ms,
		   &entry.remaining_ms, &entry.session, &entry.attempt,
		   &entry.token, &entry.expired_ms, &entry.connection,
		   &entry.place) != 18)
		abort();
	entry.strategy = (enum rowlock_strategy) strategy;
	entry.state = (enum rowlock_state) state;
	entry.kind = (enum rowlock_kind) kind;
	entry.name = unhex(word[0]);
	entry.info = unhex(word[1]);
	entry.host = unhex(word[2]);
	entry.program = unhex(word[3]);
	entry.acquired_at = unhex(word[4]);
	return fn(&entry, arg);
}

#endif
