/* SPDX-License-Identifier: MIT */
/*
 * rowlock break: end a hold against its holder's will.
 *
 * Failure modes: 1 if the name was not held, 125 otherwise, with the command
 * for a DBA if the account may not do it.
 */
#include <getopt.h>

#include "command.h"
#include "common/report.h"

static const char help[] =
    "usage: rowlock break [OPTIONS] NAME\n"
    "End the present hold of NAME, whoever has it. Its holder learns of it at\n"
    "its next heartbeat; what it does until then is not protected. Exits with\n"
    "1 if nobody held NAME.\n\n"
    "  -s, --strategy=lease|row   which lock of that name (lease)\n"
    "\nExamples:\n"
    "  rowlock break nightly\n"
    "  rowlock break -s row nightly\n";

static const struct option options[] = {
	{ "strategy", required_argument, NULL, 's' },
	COMMON_OPTIONS,
};

/* A rowlock_log_fn. The library's log says what was broken. */
static void on_log(enum rowlock_log_level level, const char *message, void *arg)
{
	if (level == ROWLOCK_LOG_INFO)
		report_event(JOURNAL_BROKEN, arg, level, "%s", message);
	else
		report_log(level, message, NULL);
}

static int break_hold(const struct common *common,
		      enum rowlock_strategy strategy, const char *name)
{
	_cleanup_(client_freep) struct rowlock_client *client = NULL;
	struct rowlock_client_options asks = command_client_options(common);
	struct rowlock_errinfo error;
	int code, r;

	asks.log = on_log;
	asks.log_arg = (void *) name;
	code = command_open_with(common, asks, &client);
	if (code != 0)
		return code;
	r = rowlock_break(client, strategy, name, &error);
	if (r == ROWLOCK_ENOTHELD) {
		report(ROWLOCK_LOG_INFO, "nobody holds '%s' (%s) on %s", name,
		       strategy_word(strategy), rowlock_client_server(client));
		return EXIT_NOT;
	}
	if (r < 0) {
		report(ROWLOCK_LOG_ERROR, "%s", error.message);
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}

int cmd_break(int argc, char **argv, struct common *common)
{
	enum rowlock_strategy strategy = ROWLOCK_LEASE;
	int option;

	while ((option = suggest_getopt(argc, argv, "s:vhV", options, NULL)) !=
	       -1) {
		int code = -1;

		if (option != 's')
			code = common_option(common, option, optarg, help);
		else if (!command_strategy(optarg, &strategy))
			code = EXIT_FAILED;
		if (code >= 0)
			return code;
	}
	if (argc - optind != 1)
		return command_misused("break", "give one name");
	return break_hold(common, strategy, argv[optind]);
}
