/* SPDX-License-Identifier: MIT */
/*
 * rowlock top: who holds what, again and again.
 *
 * Failure modes: the server's, with 125; on a screen only before the first
 * answer, and later it is asked again.
 */
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "command.h"
#include "common/pace.h"
#include "common/report.h"
#include "common/text.h"
#include "show/sight.h"
#include "top/screen.h"

#define INTERVAL_MS 2000

static const char help[] =
    "usage: rowlock top [OPTIONS] [PATTERN]\n"
    "Watch who holds what, and how many wait for it, on a screen: all names, "
    "or\n"
    "those that match PATTERN, in which '*' stands for any text and '?' for "
    "one\n"
    "character. Keys: arrows choose, b breaks the chosen hold after a "
    "question,\n"
    "s sorts, r reverses, / filters, a shows all names, space asks now, q "
    "quits.\n\n"
    "  -i, --interval=TIME        ask again after this time (2s)\n"
    "      --sort=ORDER           by name, state, held, expires, waiters or "
    "host\n"
    "                             (name)\n"
    "  -r, --reverse              the other way round\n"
    "  -a, --all                  all names, also those that nobody holds\n"
    "  -s, --strategy=lease|row   only this strategy\n"
    "  -b, --batch                print, and need no screen\n"
    "  -n, --count=N              with -b: print N times, and end\n"
    "\nExamples:\n"
    "  rowlock top --sort=waiters\n"
    "  rowlock top -b -n 1 'cron/*'\n";

enum { OPTION_SORT = 1 };

static const struct option options[] = {
	{ "interval", required_argument, NULL, 'i' },
	{ "sort", required_argument, NULL, OPTION_SORT },
	{ "reverse", no_argument, NULL, 'r' },
	{ "all", no_argument, NULL, 'a' },
	{ "strategy", required_argument, NULL, 's' },
	{ "batch", no_argument, NULL, 'b' },
	{ "count", required_argument, NULL, 'n' },
	COMMON_OPTIONS,
};

struct request {
	struct rowlock_list_options what;
	struct rows_view view;
	uint64_t interval_ms;
	unsigned int count; /* 0: without an end */
	bool all, batch;
};

static int take_interval(struct request *request, const char *argument)
{
	int code =
	    command_time("top", "--interval", argument, &request->interval_ms);

	if (code < 0 &&
	    (request->interval_ms < 100 || request->interval_ms > 3600 * 1000))
		return command_misused(
		    "top", "--interval: '%s' is not a time from 100ms to 1h",
		    argument);
	return code;
}

/* -1 or the exit code. */
static int take_option(struct request *request, struct common *common,
		       int option)
{
	enum rowlock_strategy strategy;

	switch (option) {
	case 'i':
		return take_interval(request, optarg);
	case OPTION_SORT:
		if (rows_sort_of(optarg, &request->view.sort))
			return -1;
		return command_misused("top",
				       "--sort: '%s' is not an order: give "
				       "name, state, held, expires, waiters or "
				       "host",
				       optarg);
	case 'r':
		request->view.reverse = true;
		return -1;
	case 'a':
		request->all = true;
		return -1;
	case 's':
		if (!command_strategy(optarg, &strategy))
			return EXIT_FAILED;
		request->what.flags |= sight_flag(strategy);
		return -1;
	case 'b':
		request->batch = true;
		return -1;
	case 'n':
		if (text_number(optarg, 1, 1000000000, &request->count))
			return -1;
		return command_misused(
		    "top", "--count: '%s' is not a number from 1 on", optarg);
	default:
		return common_option(common, option, optarg, help);
	}
}

static void put(struct reading *reading, const struct rows *rows,
		const char *server)
{
	char head[ROWS_HEAD_SIZE];
	struct table table;

	rows_head(reading, head);
	printf("%s on ", head);
	text_escape(stdout, server, false);
	putchar('\n');
	table_init(&table, TABLE_WATCHED, false);
	rows_put(rows, 0, rows->count, &table);
	if (reading->cut)
		printf("This is a part: there is more than %d names. Give a "
		       "pattern, or see 'rowlock list'.\n",
		       ROWS_MOST);
}

static int print_once(const struct request *request,
		      struct rowlock_client *client, struct rows *rows)
{
	_cleanup_(reading_fini) struct reading reading = { .all =
							       request->all };
	struct rowlock_errinfo error;

	if (reading_read(&reading, client, &request->what, &error) < 0) {
		report(ROWLOCK_LOG_ERROR, "%s", error.message);
		return EXIT_FAILED;
	}
	if (!rows_make(rows, &reading, &request->view)) {
		report(ROWLOCK_LOG_ERROR, "top: out of memory; give a pattern");
		return EXIT_FAILED;
	}
	put(&reading, rows, rowlock_client_server(client));
	command_flush();
	entries_report_incomplete(&reading.result);
	return EXIT_DONE;
}

static int print(const struct common *common, const struct request *request)
{
	_cleanup_(client_freep) struct rowlock_client *client = NULL;
	struct rows rows = { .count = 0 };
	int code = command_open(common, &client);

	for (unsigned int i = 0;
	     code == 0 && (request->count == 0 || i < request->count); i++) {
		if (i > 0) {
			pace_rest(request->interval_ms);
			putchar('\n');
		}
		code = print_once(request, client, &rows);
	}
	rows_fini(&rows);
	return code;
}

/* Says why there can be no screen, if so. */
static int find_screen(void)
{
	if (!screen_is_built)
		report(ROWLOCK_LOG_ERROR,
		       "top: this rowlock was built without ncurses, and has "
		       "no screen: give -b");
	else if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1)
		report(ROWLOCK_LOG_ERROR,
		       "top: stdin and stdout are not a terminal: give -b, and "
		       "-n 1 to print once");
	else
		return -1;
	return EXIT_FAILED;
}

int cmd_top(int argc, char **argv, struct common *common)
{
	struct request request = { .what = ROWLOCK_LIST_OPTIONS_DEFAULT,
				   .interval_ms = INTERVAL_MS };
	int option, code;

	while ((option = suggest_getopt(argc, argv, "i:ras:bn:vhV", options,
					NULL)) != -1) {
		code = take_option(&request, common, option);
		if (code >= 0)
			return code;
	}
	if (argc - optind > 1)
		return command_misused("top", "give one pattern at most");
	if (request.count > 0 && !request.batch)
		return command_misused("top", "-n: give -b beside it");
	request.what.pattern = argv[optind];
	if (request.batch)
		return print(common, &request);
	code = find_screen();
	if (code >= 0)
		return code;
	return screen_run(common, &request.what, request.all, &request.view,
			  request.interval_ms);
}
