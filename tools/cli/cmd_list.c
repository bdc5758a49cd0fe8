/* SPDX-License-Identifier: MIT */
/*
 * rowlock list: who holds what, or who waits for what.
 *
 * Shows as it reads, a block at a time: the first lines of a long list appear
 * at once, and it takes no more memory than a short one. Failure modes: the
 * server's, with 125; if it fails after the first block the list ends there,
 * and an array of JSON is not closed.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "command.h"
#include "common/report.h"
#include "show/entries.h"
#include "show/sight.h"
#include "show/table.h"

/* As many as the library asks for at a time. */
#define BLOCK 256

static const char help[] =
    "usage: rowlock list [OPTIONS] [PATTERN]\n"
    "Show the names that are held or known, or those that match PATTERN, in\n"
    "which '*' stands for any text and '?' for one character.\n\n"
    "      --held                 only what is held, waits or is dead: as a "
    "table\n"
    "                             on a terminal the default\n"
    "  -a, --all                  all names, also those that nobody holds\n"
    "      --waiting              who waits in line for a name, and in which "
    "order;\n"
    "                             exits with 1 if some may not be shown\n"
    "      --wide                 on a terminal, too: all columns, in full\n"
    "  -s, --strategy=lease|row   only this strategy\n"
    "  -p, --probe                look whether each row is locked: a try by\n"
    "                             another program in that instant finds it "
    "busy\n"
    "  -j, --json                 as one JSON array\n"
    "\nExamples:\n"
    "  rowlock list --waiting\n"
    "  rowlock list --json 'cron/*'\n";

enum { OPTION_HELD = 1, OPTION_WAITING, OPTION_WIDE };

static const struct option options[] = {
	{ "held", no_argument, NULL, OPTION_HELD },
	{ "all", no_argument, NULL, 'a' },
	{ "waiting", no_argument, NULL, OPTION_WAITING },
	{ "wide", no_argument, NULL, OPTION_WIDE },
	{ "strategy", required_argument, NULL, 's' },
	{ "probe", no_argument, NULL, 'p' },
	{ "json", no_argument, NULL, 'j' },
	COMMON_OPTIONS,
};

struct view {
	bool held_only;
	bool json;
	struct table table;
	struct entries block;
	uint64_t shown;
	uint64_t unknown;  /* rows that may be held, */
	uint64_t nameless; /* and held ones without a known holder */
};

static void put_json(struct view *view)
{
	for (size_t i = 0; i < view->block.count; i++) {
		fputs(view->shown + i == 0 ? "[\n" : ",\n", stdout);
		entry_put_json(&view->block.list[i], NULL);
	}
}

static void put_block(struct view *view, bool more)
{
	if (view->json)
		put_json(view);
	else
		table_put(&view->table, &view->block, more);
	view->shown += view->block.count;
	entries_clear(&view->block);
	command_flush();
}

/* A rowlock_list_fn. */
static int see(const struct rowlock_entry *entry, void *arg)
{
	struct view *view = arg;

	view->unknown += entry->state == ROWLOCK_STATE_UNKNOWN;
	view->nameless += entry_is_nameless(entry);
	if (view->held_only && (entry->state == ROWLOCK_STATE_FREE ||
				entry->state == ROWLOCK_STATE_UNKNOWN))
		return 0;
	if (view->block.count == BLOCK)
		put_block(view, true);
	return entries_add(entry, &view->block);
}

/* For people: a program reads the state. */
static void put_hints(const struct view *view)
{
	if (view->unknown > 0 && view->held_only)
		report(ROWLOCK_LOG_INFO,
		       "%" PRIu64 " %s under row may be held as well "
		       "(--probe looks, --all lists)",
		       view->unknown, view->unknown == 1 ? "name" : "names");
	else if (view->unknown > 0)
		report(ROWLOCK_LOG_INFO,
		       "%" PRIu64 " %s under row may be held or free "
		       "(--probe looks)",
		       view->unknown, view->unknown == 1 ? "name" : "names");
	if (view->nameless > 0)
		report(ROWLOCK_LOG_INFO,
		       "%" PRIu64 " %s held, and by whom is not known "
		       "(rowlock(1) says who is told)",
		       view->nameless,
		       view->nameless == 1 ? "name under row is"
					   : "names under row are");
}

static void put_end(struct view *view)
{
	if (view->block.count > 0 || (!view->json && view->shown == 0))
		put_block(view, false);
	if (view->json)
		fputs(view->shown > 0 ? "\n]\n" : "[]\n", stdout);
	else if (isatty(STDOUT_FILENO) == 1)
		put_hints(view);
}

static int list(const struct common *common,
		const struct rowlock_list_options *what, struct view *view)
{
	_cleanup_(client_freep) struct rowlock_client *client = NULL;
	struct rowlock_waiters_result result = { .size = sizeof(result) };
	struct rowlock_errinfo error;
	int code = command_open(common, &client);

	if (code != 0)
		return code;
	code =
	    view->table.of == TABLE_WAITERS
		? rowlock_list_waiters(client, what, see, view, &result, &error)
		: rowlock_list(client, what, see, view, &error);
	if (code < 0) {
		report(ROWLOCK_LOG_ERROR, "%s", error.message);
		return EXIT_FAILED;
	}
	if (view->block.failed) {
		report(ROWLOCK_LOG_ERROR,
		       "list: out of memory: what is shown is not all; give a "
		       "pattern");
		return EXIT_FAILED;
	}
	put_end(view);
	entries_report_incomplete(&result);
	return *result.incomplete ? EXIT_NOT : EXIT_DONE;
}

struct request {
	struct rowlock_list_options what;
	bool held, all, waiting, wide, json;
};

/* -1 or the exit code. */
static int take_option(struct request *request, struct common *common,
		       int option)
{
	enum rowlock_strategy strategy;

	switch (option) {
	case OPTION_HELD:
		request->held = true;
		return -1;
	case OPTION_WAITING:
		request->waiting = true;
		return -1;
	case OPTION_WIDE:
		request->wide = true;
		return -1;
	case 'a':
		request->all = true;
		return -1;
	case 's':
		if (!command_strategy(optarg, &strategy))
			return EXIT_FAILED;
		request->what.flags |= sight_flag(strategy);
		return -1;
	case 'p':
		request->what.flags |= ROWLOCK_LIST_PROBE;
		return -1;
	case 'j':
		request->json = true;
		return -1;
	default:
		return common_option(common, option, optarg, help);
	}
}

int cmd_list(int argc, char **argv, struct common *common)
{
	struct request request = { .what = ROWLOCK_LIST_OPTIONS_DEFAULT };
	struct view view = { .shown = 0 };
	int option, code;

	while ((option = suggest_getopt(argc, argv, "as:pjvhV", options,
					NULL)) != -1) {
		code = take_option(&request, common, option);
		if (code >= 0)
			return code;
	}
	if (argc - optind > 1)
		return command_misused("list", "give one pattern at most");
	if (request.held && request.all)
		return command_misused("list", "--held, --all: give one of "
					       "them");
	if (request.waiting && (request.held || request.all ||
				request.what.flags & ROWLOCK_LIST_PROBE))
		return command_misused("list", "--waiting: no --held, --all or "
					       "--probe beside it");
	request.what.pattern = argv[optind];
	view.json = request.json;
	view.held_only = request.held || (!request.all && !request.json &&
					  isatty(STDOUT_FILENO) == 1);
	table_init(&view.table, request.waiting ? TABLE_WAITERS : TABLE_HOLDS,
		   request.wide);
	code = list(common, &request.what, &view);
	entries_fini(&view.block);
	return code;
}
