/* SPDX-License-Identifier: MIT */
#ifndef CLI_ROWS_H
#define CLI_ROWS_H

/*
 * The content of rowlock top: the holds, how many wait for each, in an order.
 */

#include <rowlock/admin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "show/entries.h"
#include "show/table.h"

/** The most holds, and waiters, that are kept of an answer; and the most names
 *  that are looked at. This bounds the cost of a reading for the server. */
#define ROWS_MOST 10000
#define ROWS_SEEN_MOST 50000

/** Room for rows_head(). */
#define ROWS_HEAD_SIZE 160

enum rows_sort {
	ROWS_BY_NAME,
	ROWS_BY_STATE,
	ROWS_BY_HELD,
	ROWS_BY_EXPIRES,
	ROWS_BY_WAITERS,
	ROWS_BY_HOST,
	ROWS_SORTS,
};

/** One answer of the server. All zero to begin with, but for @all. */
struct reading {
	bool all; /* also names that nobody is known to hold */
	struct entries holds;
	struct entries waiters;
	uint64_t states[ROWLOCK_STATE_KEPT + 1]; /* holds in each state */
	uint64_t seen;
	bool cut;                             /* there is more than was kept */
	struct rowlock_waiters_result result; /* size 0: not asked for */
};

struct row {
	const struct rowlock_entry *entry;
	uint64_t waiting;
	uint64_t rank;    /* what it is sorted by: this, */
	const char *text; /* this, */
	size_t place;     /* and the order of the answer */
};

/** Those of a reading that are shown. The reading must stay. */
struct rows {
	struct row *list;
	size_t count;
};

/** Which, and in which order. */
struct rows_view {
	enum rows_sort sort;
	bool reverse;
	char filter[128]; /* part of a name, a holder or an info; "": all */
};

/** The word for an order, and the order for a word. Returns false if there is
 *  none. */
const char *rows_sort_word(enum rows_sort sort);
bool rows_sort_of(const char *word, enum rows_sort *ret_sort);

/** Ask the server. Returns 0 or a code of rowlock_list(). */
int reading_read(struct reading *reading, struct rowlock_client *client,
		 const struct rowlock_list_options *what,
		 struct rowlock_errinfo *reterr);

void reading_fini(struct reading *reading);

/** Choose and sort. Takes what @rows had before back. Returns false without
 *  memory: then there are none. */
bool rows_make(struct rows *rows, struct reading *reading,
	       const struct rows_view *view);

void rows_fini(struct rows *rows);

/** Show @count of them from @first on, which is one of them. */
void rows_put(const struct rows *rows, size_t first, size_t count,
	      struct table *table);

/** "3 held, 1 dead, 2 waiting", into a room of ROWS_HEAD_SIZE. */
void rows_head(const struct reading *reading, char *ret_head);

#endif
