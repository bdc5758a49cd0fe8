/* SPDX-License-Identifier: MIT */
#ifndef CLI_ENTRIES_H
#define CLI_ENTRIES_H

/*
 * The answer of rowlock_list(), kept, and how it is shown.
 */

#include <rowlock.h>
#include <stdbool.h>
#include <stddef.h>

/** Entries whose strings are ours. */
struct entries {
	struct rowlock_entry *list;
	size_t count;
	size_t room;
	bool failed; /* out of memory: the list is not complete */
};

/** free for _cleanup_. */
void entries_fini(struct entries *entries);

/** Ask the server. Returns rowlock_list()'s codes. */
int entries_read(struct entries *entries, struct rowlock_client *client,
		 const struct rowlock_list_options *options,
		 struct rowlock_errinfo *reterr);

/** As an aligned table on stdout. */
void entries_put_table(const struct entries *entries);

/** As one JSON array on stdout. */
void entries_put_json(const struct entries *entries);

/** One entry as "key: value" lines on stdout. */
void entry_put_lines(const struct rowlock_entry *entry);

/** The word for a state. */
const char *kind_word(enum rowlock_kind kind);
const char *state_word(enum rowlock_state state);

#endif
