/* SPDX-License-Identifier: MIT */
/*
 * rowlock reap: remove once what dead clients left behind.
 *
 * Failure modes: the server's; then it says how much was done before.
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
    "  -b, --batch=N              rows looked up at a time (256)\n";

static const struct option options[] = {
	{ "batch", required_argument, NULL, 'b' },
	COMMON_OPTIONS,
};

static int reap(const struct common *common, unsigned int batch)
{
	_cleanup_(client_freep) struct rowlock_client *client = NULL;
	struct rowlock_reap_options how = ROWLOCK_REAP_OPTIONS_DEFAULT;
	struct rowlock_reap_result result = { sizeof(result), 0, 0, 0 };
	struct rowlock_errinfo error;
	int code = command_open(common, &client);
	int r;

	if (code != 0)
		return code;
	if (batch > 0)
		how.batch = batch;
	r = rowlock_reap(client, &how, &result, &error);
	printf("evicted %" PRIu64 " sessions, swept %" PRIu64
	       " leases, removed %" PRIu64 " tokens\n",
	       result.evicted, result.swept, result.tokens);
	if (r < 0) {
		report(ROWLOCK_LOG_ERROR, "%s", error.message);
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}

int cmd_reap(int argc, char **argv, struct common *common)
{
	unsigned int batch = 0;
	int option;

	while ((option = getopt_long(argc, argv, "b:vhV", options, NULL)) !=
	       -1) {
		int code = -1;

		if (option != 'b')
			code = common_option(common, option, optarg, help);
		else if (!text_number(optarg, 1, 500, &batch))
			code = command_misused("reap",
					       "--batch: '%s' is not a number "
					       "from 1 to 500",
					       optarg);
		if (code >= 0)
			return code;
	}
	if (optind < argc)
		return command_misused("reap", "no argument is needed");
	/* To see that a session does not beat takes two looks. */
	if (common->connection.flags & ROWLOCK_OBSERVE_BEATS)
		return command_misused("reap",
				       "one pass cannot observe heartbeats: "
				       "run rowlock-reaperd --observe-beats");
	return reap(common, batch);
}
