/* SPDX-License-Identifier: MIT */
#ifndef CLI_ENTRIES_H
#define CLI_ENTRIES_H

/*
 * Keeps and shows the answer of rowlock_list().
 */

#include <rowlock/admin.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/terms.h"

/** The most bytes of texts that are kept. A name held by all of a server's
 *  connections, of which there may be 100,000, has fewer. */
#define ENTRIES_MOST (16 * 1024 * 1024)

/** Entries whose strings are ours. */
struct entries {
	struct rowlock_entry *list;
	size_t count;
	size_t room;
	size_t bytes; /* of their texts */
	bool failed;  /* out of memory: the list is not complete */
	bool full;    /* ENTRIES_MOST: the list is not complete */
};

/** free for _cleanup_. */
void entries_fini(struct entries *entries);

/** Ask the server for the entries of @options->name. Returns rowlock_list()'s
 *  codes. */
int entries_read(struct entries *entries, struct rowlock_client *client,
		 const struct rowlock_list_options *options,
		 struct rowlock_errinfo *reterr);

/** Add those that wait for @options->name. Writes @ret_result. Returns
 *  rowlock_list_waiters()'s codes. */
int entries_read_waiters(struct entries *entries, struct rowlock_client *client,
			 const struct rowlock_list_options *options,
			 struct rowlock_waiters_result *ret_result,
			 struct rowlock_errinfo *reterr);

/** Say in one line that waiters may be missing, if so. */
void entries_report_incomplete(const struct rowlock_waiters_result *result);

/** Keep a copy of @entry. A rowlock_list_fn; @arg is the entries. */
int entries_add(const struct rowlock_entry *entry, void *arg);

/** Forget the entries, but keep the memory. */
void entries_clear(struct entries *entries);

/** One entry as a JSON object on stdout, with the request @asked for its hold;
 *  NULL: none. */
void entry_put_json(const struct rowlock_entry *entry,
		    const struct rowlock_revocation *asked);

/** One entry as "key: value" lines on stdout. */
void entry_put_lines(const struct rowlock_entry *entry);

/** Is it one that waits in line? */
bool entry_waits(const struct rowlock_entry *entry);

/** Is it of the process @pid of this host? */
bool entry_is_of(const struct rowlock_entry *entry, unsigned int pid);

/** Is it a held row whose holder this account may not see? */
bool entry_is_nameless(const struct rowlock_entry *entry);

#endif
