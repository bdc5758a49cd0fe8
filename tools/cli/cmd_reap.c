/* SPDX-License-Identifier: MIT */
/*
 * rowlock reap: remove the rows of dead clients, once.
 *
 * Failure modes: the server's; then it reports how much was done before.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

#include "command.h"
#include "common/report.h"
#include "common/text.h"

static const char help[] =
    "usage: rowlock reap [OPTIONS]\n"
    "Remove what dead clients left behind, once: expired sessions, their\n"
    "leases, and tokens that were not drawn for 30 days. rowlock-reaperd(8)\n"
    "does so regularly; without it, each client does.\n\n"
    "  -b, --batch=N              rows looked up at a time (256)\n"
    "      --timeout=TIME         no longer (60s); what is left is for the "
    "next one\n"
    "\nExamples:\n"
    "  rowlock reap\n"
    "  rowlock reap --timeout=10m\n";

enum { OPTION_TIMEOUT = 1 };

static const struct option options[] = {
	{ "batch", required_argument, NULL, 'b' },
	{ "timeout", required_argument, NULL, OPTION_TIMEOUT },
	COMMON_OPTIONS,
};

static int reap(const struct common *common,
		const struct rowlock_reap_options *how)
{
	_cleanup_(client_freep) struct rowlock_client *client = NULL;
	struct rowlock_reap_result result = { .size = sizeof(result) };
	struct rowlock_errinfo error;
	int code = command_open(common, &client);
	int r;

	if (code != 0)
		return code;
	r = rowlock_reap(client, how, &result, &error);
	printf("evicted %" PRIu64 " sessions, swept %" PRIu64
	       " leases, removed %" PRIu64 " tokens\n",
	       result.evicted, result.swept, result.tokens);
	if (r < 0) {
		report(ROWLOCK_LOG_ERROR, "%s", error.message);
		return EXIT_FAILED;
	}
	if (result.more)
		report(ROWLOCK_LOG_WARNING,
		       "the time is up, and there may be more on %s: reap "
		       "again, or give it longer by --timeout",
		       rowlock_client_server(client));
	return EXIT_DONE;
}

/* -1 or the exit code. */
static int take_option(struct rowlock_reap_options *how, struct common *common,
		       int option)
{
	int code;

	switch (option) {
	case 'b':
		if (text_number(optarg, 1, 500, &how->batch))
			return -1;
		return command_misused("reap",
				       "--batch: '%s' is not a number from 1 "
				       "to 500",
				       optarg);
	case OPTION_TIMEOUT:
		code = command_time("reap", "--timeout", optarg,
				    &how->time_limit_ms);
		return code >= 0 || how->time_limit_ms > 0
			   ? code
			   : command_misused(
				 "reap", "--timeout: it must be more than 0");
	default:
		return common_option(common, option, optarg, help);
	}
}

int cmd_reap(int argc, char **argv, struct common *common)
{
	struct rowlock_reap_options how = ROWLOCK_REAP_OPTIONS_DEFAULT;
	int option;

	while ((option = suggest_getopt(argc, argv, "b:vhV", options, NULL)) !=
	       -1) {
		int code = take_option(&how, common, option);

		if (code >= 0)
			return code;
	}
	if (optind < argc)
		return command_misused("reap", "no argument is needed");
	/* Two looks are needed to see that a session does not beat. */
	if (common->connection.flags & ROWLOCK_OBSERVE_BEATS)
		return command_misused("reap",
				       "one pass cannot observe heartbeats: "
				       "run rowlock-reaperd --observe-beats");
	return reap(common, &how);
}
