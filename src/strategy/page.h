/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_PAGE_H
#define RLK_STRATEGY_PAGE_H

/*
 * Tables are read in pages, in the order of a key: each is one statement, so
 * that no answer is as long as a table. Each row is noted by its name, and a
 * number that tells apart those of a name; the next page begins behind the last
 * row of the one before.
 */

#include <rowlock.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

struct rlk_page {
	unsigned int limit; /* rows of a page */
	unsigned int rows;  /* that were noted of this one */
	bool first;
	char name[RLK_NAME_SIZE]; /* of the last row, */
	uint64_t slot;            /* and the first one behind it */
};

/** Before the first page. */
static inline struct rlk_page rlk_page_begin(unsigned int limit)
{
	return (struct rlk_page){
		.limit = limit,
		.rows = limit,
		.first = true,
	};
}

/** Is there another page? */
static inline bool rlk_page_more(const struct rlk_page *page)
{
	return page->rows >= page->limit;
}

/** Is there another page? Then *@ret_from is where it begins; it stays as it is
 *  while rows are noted. */
bool rlk_page_turn(struct rlk_page *page, struct rlk_page *ret_from);

/** Note a row of the page. False: the page is full; do not report the row. */
bool rlk_page_note(struct rlk_page *page, const char *name, uint64_t slot);

#endif
