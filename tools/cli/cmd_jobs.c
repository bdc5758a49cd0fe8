/* SPDX-License-Identifier: MIT */
/*
 * rowlock jobs: which jobs of 'run --once-per' have run, where, and with which
 * result.
 *
 * Shows as it reads, a block at a time, as 'rowlock list' does. Failure modes:
 * the server's, with 125; if it fails after the first block the list ends
 * there, and an array of JSON is not closed.
 */
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "command.h"
#include "common/report.h"
#include "show/jobs.h"

#define BLOCK 256

static const char help[] =
    "usage: rowlock jobs [OPTIONS] [PATTERN]...\n"
    "Show the jobs of 'run --once-per', all or those that match a PATTERN, in\n"
    "which '*' stands for any text and '?' for one character: each with its "
    "last\n"
    "run, success and failure, and when its next window begins.\n\n"
    "  -H, --history              each run that is kept, the newest first\n"
    "      --wide                 on a terminal, too: all columns, in full\n"
    "  -j, --json                 as one JSON array\n"
    "\nExamples:\n"
    "  rowlock jobs\n"
    "  rowlock jobs --history nightly\n"
    "  rowlock jobs --json 'cron/*'\n";

enum { OPTION_WIDE = 1 };

static const struct option options[] = {
	{ "history", no_argument, NULL, 'H' },
	{ "wide", no_argument, NULL, OPTION_WIDE },
	{ "json", no_argument, NULL, 'j' },
	COMMON_OPTIONS,
};

struct view {
	bool wide, json;
	struct grid grid;
	struct jobs block;
	uint64_t shown;
};

static void put_block(struct view *view, bool more)
{
	const struct jobs *block = &view->block;

	if (!view->json)
		jobs_put(block, &view->grid, more);
	for (size_t i = 0; view->json && i < block->count; i++) {
		fputs(view->shown + i == 0 ? "[\n" : ",\n", stdout);
		job_put_json(block, &block->list[i]);
	}
	view->shown += block->count;
	jobs_clear(&view->block);
	command_flush();
}

/* A rowlock_list_runs_fn. */
static int see(const struct rowlock_run_entry *entry, void *arg)
{
	struct view *view = arg;

	if (view->block.count == BLOCK && !jobs_continue(&view->block, entry))
		put_block(view, true);
	return jobs_add(&view->block, entry);
}

static void put_end(struct view *view)
{
	if (view->block.count > 0 || (!view->json && view->shown == 0))
		put_block(view, false);
	if (view->json)
		fputs(view->shown > 0 ? "\n]\n" : "[]\n", stdout);
}

/* All jobs if @pattern is NULL. */
static int list(struct rowlock_client *client, const char *pattern,
		struct view *view)
{
	struct rowlock_list_options what = ROWLOCK_LIST_OPTIONS_DEFAULT;
	struct rowlock_errinfo error;

	what.pattern = pattern;
	view->block.known = false; /* an earlier pattern's last name is over */
	if (rowlock_list_runs(client, &what, see, view, &error) < 0)
		report(ROWLOCK_LOG_ERROR, "%s", error.message);
	else if (view->block.failed)
		report(ROWLOCK_LOG_ERROR,
		       "jobs: out of memory: what is shown is not all; give a "
		       "pattern");
	else
		return EXIT_DONE;
	return EXIT_FAILED;
}

static int jobs(const struct common *common, char **patterns, struct view *view)
{
	_cleanup_(client_freep) struct rowlock_client *client = NULL;
	int code = command_open(common, &client);

	if (code != 0)
		return code;
	do
		code = list(client, *patterns, view);
	while (code == EXIT_DONE && *patterns && *++patterns);
	if (code == EXIT_DONE)
		put_end(view);
	return code;
}

int cmd_jobs(int argc, char **argv, struct common *common)
{
	struct view view = { .shown = 0 };
	int option, code;

	while ((option = suggest_getopt(argc, argv, "HjvhV", options, NULL)) !=
	       -1) {
		switch (option) {
		case 'H':
			view.block.history = true;
			break;
		case OPTION_WIDE:
			view.wide = true;
			break;
		case 'j':
			view.json = true;
			break;
		default:
			code = common_option(common, option, optarg, help);
			if (code >= 0)
				return code;
		}
	}
	jobs_grid(&view.block, &view.grid, view.wide);
	code = jobs(common, argv + optind, &view);
	jobs_fini(&view.block);
	return code;
}
