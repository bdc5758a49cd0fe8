/* SPDX-License-Identifier: MIT */
#ifndef CLI_JOBS_H
#define CLI_JOBS_H

/*
 * Keeps and shows the answer of rowlock_list_runs(): a row for each name, or
 * for each run.
 */

#include <rowlock/admin.h>
#include <stdbool.h>
#include <stddef.h>

#include "show/grid.h"

/** A name. A run that there is none of has no name. */
struct job_row {
	struct rowlock_run_entry last; /* all of a row of one run */
	struct rowlock_run_entry success;
	struct rowlock_run_entry failure; /* or death */
};

/** All zero to begin with, but for history. */
struct jobs {
	bool history; /* a row for each run */
	struct job_row *list;
	size_t count;
	size_t room;
	bool known;  /* the last row's name may have more runs */
	bool failed; /* out of memory: the list is not complete */
};

/** Does @entry belong to the last row? */
bool jobs_continue(const struct jobs *jobs,
		   const struct rowlock_run_entry *entry);

/** Keep a copy of @entry. Returns 0, or not 0: no memory. */
int jobs_add(struct jobs *jobs, const struct rowlock_run_entry *entry);

/** Forget the rows, but keep the memory. */
void jobs_clear(struct jobs *jobs);

/** free for _cleanup_. */
void jobs_fini(struct jobs *jobs);

/** One row as a JSON object on stdout. */
void job_put_json(const struct jobs *jobs, const struct job_row *row);

/** Show the rows as a table; there is more to come if @more. Ends the process
 *  if there is no memory: it holds nothing. */
void jobs_put(const struct jobs *jobs, struct grid *grid, bool more);

/** @wide: all columns in full, even on a terminal. */
void jobs_grid(const struct jobs *jobs, struct grid *grid, bool wide);

#endif
