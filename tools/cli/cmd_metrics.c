/* SPDX-License-Identifier: MIT */
/*
 * rowlock metrics: the figures of all locks, once, as Prometheus reads them.
 *
 * For node_exporter's textfile collector, and for people who want to see what
 * rowlock-reaperd --metrics serves. Failure modes: a server that does not
 * answer is a figure as well, rowlock_up 0; the reason is on stderr, and the
 * exit code is 1.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "common/report.h"
#include "metrics/exposition.h"

static const char help[] =
    "usage: rowlock metrics [OPTIONS]\n"
    "Print the figures of all locks once, in the text format of Prometheus.\n"
    "No name of a lock is printed: a name's class is, by your patterns, in\n"
    "which '*' stands for any text and '?' for one character. Exits with 0, or "
    "1\n"
    "if the server does not answer; then rowlock_up is 0.\n\n"
    "      --class=PATTERN=CLASS  names that match are in CLASS; the first\n"
    "                             pattern that matches decides, what none\n"
    "                             matches is 'other'; up to 64 times\n"
    "\nExamples:\n"
    "  rowlock metrics\n"
    "  rowlock metrics --class='nightly/*=nightly' --class='order-*=order'\n";

enum { OPTION_CLASS = 1 };

static const struct option options[] = {
	{ "class", required_argument, NULL, OPTION_CLASS },
	COMMON_OPTIONS,
};

static int metrics(const struct common *common, const struct classes *classes)
{
	struct look *look = malloc(sizeof(*look));
	struct lookout lookout;
	int code = EXIT_DONE;

	if (!look) {
		report(ROWLOCK_LOG_ERROR, "metrics: out of memory");
		return EXIT_FAILED;
	}
	lookout_init(&lookout, &common->connection, "rowlock", classes);
	lookout_look(&lookout, look);
	lookout_fini(&lookout);
	exposition_put(stdout, look, classes);
	if (look->error.code) {
		report(ROWLOCK_LOG_ERROR, "metrics: %s", look->error.message);
		code = EXIT_NOT;
	}
	free(look);
	return code;
}

int cmd_metrics(int argc, char **argv, struct common *common)
{
	struct classes classes = { .patterns_count = 0 };
	int option;

	while ((option = suggest_getopt(argc, argv, "vhV", options, NULL)) !=
	       -1) {
		const char *wrong;
		int code = -1;

		if (option != OPTION_CLASS)
			code = common_option(common, option, optarg, help);
		else if ((wrong = classes_add(&classes, optarg)))
			return command_misused("metrics", "--class: '%s' is %s",
					       optarg, wrong);
		if (code >= 0)
			return code;
	}
	if (argc > optind)
		return command_misused("metrics",
				       "give no name: it counts them all");
	return metrics(common, &classes);
}
