/* SPDX-License-Identifier: MIT */
#ifndef REAPER_PAGE_H
#define REAPER_PAGE_H

/*
 * The page for people: who holds what. Every text of the database is escaped,
 * for HTML and against control characters, and keeps its direction of writing
 * to itself. There is no script in it.
 */

#include <stdio.h>

#include "metrics/look.h"

/** Rows at the most. */
#define PAGE_ROWS 200

extern const char page_style[];

/** Write the page: what @look counted, and a list that is asked of @client. */
void page_put(FILE *out, const struct look *look, struct rowlock_client *client,
	      const struct classes *classes);

/** Write a page that says why there is none. */
void page_put_failure(FILE *out, const char *reason);

#endif
