/* SPDX-License-Identifier: MIT */
/*
 * Collects runs into rows: of each name the newest run, the newest that has
 * succeeded, and the newest that has not. The runs of a name come one behind
 * the other, the newest first.
 *
 * Failure modes: without memory the list is marked as incomplete.
 */
#include "show/jobs.h"

#include <stdlib.h>
#include <string.h>

static void run_fini(struct rowlock_run_entry *run)
{
	free((char *) run->name);
	free((char *) run->host);
	free((char *) run->program);
	free((char *) run->began_at);
	free((char *) run->ended_at);
	free((char *) run->from_at);
	free((char *) run->until_at);
	*run = (struct rowlock_run_entry){ .size = 0 };
}

static bool run_copy(const struct rowlock_run_entry *entry,
		     struct rowlock_run_entry *ret_run)
{
	struct rowlock_run_entry mine = *entry;

	mine.name = strdup(entry->name);
	mine.host = strdup(entry->host);
	mine.program = strdup(entry->program);
	mine.began_at = strdup(entry->began_at);
	mine.ended_at = strdup(entry->ended_at);
	mine.from_at = strdup(entry->from_at);
	mine.until_at = strdup(entry->until_at);
	if (mine.name && mine.host && mine.program && mine.began_at &&
	    mine.ended_at && mine.from_at && mine.until_at) {
		*ret_run = mine;
		return true;
	}
	run_fini(&mine);
	return false;
}

void jobs_clear(struct jobs *jobs)
{
	for (size_t i = 0; i < jobs->count; i++) {
		run_fini(&jobs->list[i].last);
		run_fini(&jobs->list[i].success);
		run_fini(&jobs->list[i].failure);
	}
	jobs->count = 0;
	jobs->known = false;
}

void jobs_fini(struct jobs *jobs)
{
	jobs_clear(jobs);
	free(jobs->list);
}

static bool grow(struct jobs *jobs)
{
	size_t room = jobs->room ? 2 * jobs->room : 64;
	struct job_row *list;

	if (jobs->count < jobs->room)
		return true;
	list = reallocarray(jobs->list, room, sizeof(*list));
	if (!list)
		return false;
	jobs->list = list;
	jobs->room = room;
	return true;
}

bool jobs_continue(const struct jobs *jobs,
		   const struct rowlock_run_entry *entry)
{
	return jobs->known && !jobs->history && jobs->count > 0 &&
	       strcmp(jobs->list[jobs->count - 1].last.name, entry->name) == 0;
}

/* Is it the newest of its kind? */
static bool note(struct job_row *row, const struct rowlock_run_entry *entry)
{
	struct rowlock_run_entry *of_kind =
	    entry->state == ROWLOCK_RUN_SUCCEEDED ? &row->success
						  : &row->failure;

	if (entry->state == ROWLOCK_RUN_RUNNING || of_kind->name)
		return true;
	return run_copy(entry, of_kind);
}

int jobs_add(struct jobs *jobs, const struct rowlock_run_entry *entry)
{
	struct job_row *row;

	if (!jobs_continue(jobs, entry)) {
		if (!grow(jobs) ||
		    !run_copy(entry, &jobs->list[jobs->count].last)) {
			jobs->failed = true;
			return 1;
		}
		row = &jobs->list[jobs->count++];
		*row = (struct job_row){ .last = row->last };
		jobs->known = true;
	}
	row = &jobs->list[jobs->count - 1];
	if (!jobs->history && !note(row, entry))
		jobs->failed = true;
	return jobs->failed;
}
