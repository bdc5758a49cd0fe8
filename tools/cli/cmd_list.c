/* SPDX-License-Identifier: MIT */
/*
 * rowlock list: who holds what.
 *
 * Reads all, then prints. Failure modes: the server's; then nothing is
 * printed on stdout and the exit code is 125.
 */
#include <getopt.h>
#include <stdio.h>

#include "command.h"
#include "common/report.h"
#include "entries.h"

static const char help[] =
    "usage: rowlock list [OPTIONS] [PATTERN]\n"
    "Show the names that are held or known, or those that match PATTERN, in\n"
    "which '*' stands for any text and '?' for one character.\n\n"
    "  -s, --strategy=lease|row   only this strategy\n"
    "  -p, --probe                look whether each row is locked: a try by\n"
    "                             another program in that instant finds it "
    "busy\n"
    "  -j, --json                 as one JSON array\n";

static const struct option options[] = {
	{ "strategy", required_argument, NULL, 's' },
	{ "probe", no_argument, NULL, 'p' },
	{ "json", no_argument, NULL, 'j' },
	COMMON_OPTIONS,
};

static int list(const struct common *common,
		const struct rowlock_list_options *what, bool json)
{
	_cleanup_(client_freep) struct rowlock_client *client = NULL;
	_cleanup_(entries_fini) struct entries entries = { 0 };
	struct rowlock_errinfo error;
	int code = command_open(common, &client);

	if (code != 0)
		return code;
	if (entries_read(&entries, client, what, &error) < 0) {
		report(ROWLOCK_LOG_ERROR, "%s", error.message);
		return EXIT_FAILED;
	}
	if (json)
		entries_put_json(&entries);
	else
		entries_put_table(&entries);
	return EXIT_DONE;
}

int cmd_list(int argc, char **argv, struct common *common)
{
	struct rowlock_list_options what = ROWLOCK_LIST_OPTIONS_DEFAULT;
	enum rowlock_strategy strategy;
	bool json = false;
	int option;

	while ((option = getopt_long(argc, argv, "s:pjvhV", options, NULL)) !=
	       -1) {
		int code = -1;

		if (option == 's') {
			if (!command_strategy(optarg, &strategy))
				return EXIT_FAILED;
			what.row = strategy == ROWLOCK_ROW;
			what.lease = strategy == ROWLOCK_LEASE;
		} else if (option == 'p')
			what.probe = 1;
		else if (option == 'j')
			json = true;
		else
			code = common_option(common, option, optarg, help);
		if (code >= 0)
			return code;
	}
	if (argc - optind > 1)
		return command_misused("list", "one pattern at most");
	what.pattern = argv[optind];
	return list(common, &what, json);
}
