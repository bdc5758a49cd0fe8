// SPDX-License-Identifier: MIT
/*
 * check [OPTION]... DIR...: judge the run whose history is in each DIR; print
 * the lines that show each violation, and figures.
 *
 * Exit status: 0 no violation, 1 violations, 2 nothing to judge (no such
 * directory, nobody ever held anything).
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <rowlock.h>

#include "check.h"

static const char usage[] =
    "Usage: check [OPTION]... DIR...\n"
    "Judge the runs whose histories (*.history) are in the directories.\n"
    "  --fair             a thread below a third of the mean is a violation\n"
    "  --call-slack-ms N  how late a call may return (100)\n"
    "  --idle-slack-ms N  how long a name that is waited for may be free "
    "(1000)\n"
    "  --most N           violations of one kind that are shown (5)\n"
    "Exit status: 0 no violation, 1 violations, 2 nothing to judge.\n";

static void show(enum check_kind kind, const char *what,
		 const struct check_excerpt *excerpt, void *arg)
{
	size_t i;

	(void) arg;
	printf("VIOLATION (%s): %s\n", check_kind_name(kind), what);
	for (i = 0; i < excerpt->n; i++)
		printf("  %.*s\n", (int) excerpt->lines[i].length,
		       excerpt->lines[i].text);
}

static void print_codes(const struct check_result *r)
{
	int code;

	for (code = 1; code < CHECK_CODES; code++)
		if (r->codes[code])
			printf("  %" PRIu64 " times: %s\n", r->codes[code],
			       rowlock_strerror(-code));
}

static void print_times(const struct check_result *r)
{
	if (r->losses)
		printf("  cut off: %" PRIu64 " holds told lost, the latest "
		       "%.1f ms after its deadline\n",
		       r->losses, r->worst_loss);
	if (r->worst_call > 0)
		printf("  the latest return %.1f ms after its deadline\n",
		       r->worst_call);
	if (r->excused_calls)
		printf("  %" PRIu64 " late returns of callers that were "
		       "stopped or starved\n",
		       r->excused_calls);
	if (r->worst_idle > 0)
		printf("  a name free and waited for: %.0f ms at most\n",
		       r->worst_idle);
	if (r->vanished)
		printf("  row: %" PRIu64 " names of hosts that vanished had by "
		       "others, the last after %.0f ms\n",
		       r->vanished, r->worst_vanished);
	if (r->worst_notice > 0)
		printf("  row: held() spoke for %.1f ms for an ended "
		       "connection\n",
		       r->worst_notice);
}

static void print_result(const struct check_result *r)
{
	double per_second = r->seconds > 0 ? (double) r->holds / r->seconds : 0;
	const char *comma = "";
	int kind;

	printf("%" PRIu64 " holds in %.1f s (%.0f per second), %" PRIu64
	       " acquires, %" PRIu64 " tokens, %" PRIu64 " lost, %" PRIu64
	       " faults, %" PRIu64 " lines\n",
	       r->holds, r->seconds, per_second, r->acquires, r->tokens,
	       r->lost, r->faults, r->lines);
	printf("  %" PRIu64 " threads, holds per thread: fewest %" PRIu64
	       ", mean %.1f, most %" PRIu64 "\n",
	       r->threads, r->fewest, r->mean, r->most);
	print_codes(r);
	print_times(r);
	printf("violations: ");
	for (kind = 0; kind < CHECK_KINDS; kind++) {
		if (!r->violations[kind])
			continue;
		printf("%s%s %" PRIu64, comma, check_kind_name(kind),
		       r->violations[kind]);
		comma = ", ";
	}
	puts(*comma ? "" : "none");
}

static int check_dir(const char *dir, const struct check_rules *rules)
{
	struct history_files *files = history_files_open(dir);
	struct check_result result;
	bool good;

	if (!files)
		return 2;
	good = check_files(files, rules, &result);
	history_files_close(files);
	print_result(&result);
	if (result.holds)
		return good ? 0 : 1;
	fprintf(stderr, "check: %s: nobody ever held anything\n", dir);
	return 2;
}

static const struct option options[] = {
	{ "fair", no_argument, NULL, 'f' },
	{ "call-slack-ms", required_argument, NULL, 'c' },
	{ "idle-slack-ms", required_argument, NULL, 'i' },
	{ "most", required_argument, NULL, 'm' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

int main(int argc, char **argv)
{
	struct check_rules rules = CHECK_RULES_DEFAULT;
	int option, status = 0, one;

	rules.report = show;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (option) {
		case 'f':
			rules.fair = true;
			break;
		case 'c':
			rules.call_slack_ms = strtoull(optarg, NULL, 10);
			break;
		case 'i':
			rules.idle_slack_ms = strtoull(optarg, NULL, 10);
			break;
		case 'm':
			rules.most = (unsigned int) strtoul(optarg, NULL, 10);
			break;
		default:
			fputs(usage, option == 'h' ? stdout : stderr);
			return option == 'h' ? 0 : 2;
		}
	if (optind == argc) {
		fputs(usage, stderr);
		return 2;
	}
	for (; optind < argc; optind++) {
		one = check_dir(argv[optind], &rules);
		status = one > status ? one : status;
	}
	return status;
}
