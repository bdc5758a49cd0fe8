/* SPDX-License-Identifier: MIT */
/*
 * rowlock permits: prints or sets how many permits a semaphore has, and prints
 * how many are in use.
 *
 * Failure modes: 1 if the number was never set, 125 for the server's errors.
 */
#include <rowlock/semaphore.h>

#include <getopt.h>
#include <stdio.h>

#include "command.h"
#include "common/report.h"
#include "common/text.h"

static const char help[] =
    "usage: rowlock permits [OPTIONS] NAME [N]\n"
    "Show how many permits the semaphore NAME has, and how many are in use, "
    "or\n"
    "have it have N from now on. Nobody loses permits: where N is less than "
    "are\n"
    "in use, none are granted until enough were given back. Exits with 1 if\n"
    "there is no such semaphore yet.\n\n"
    "  -j, --json                 as one JSON array\n"
    "\nExamples:\n"
    "  rowlock permits downloads\n"
    "  rowlock permits downloads 4\n";

static const struct option options[] = {
	{ "json", no_argument, NULL, 'j' },
	COMMON_OPTIONS,
};

static void put(const char *name, unsigned int permits, unsigned int used)
{
	fputs("name:      ", stdout);
	text_escape(stdout, name, true);
	printf("\n%-10s %u\n%-10s %u\n", "permits:", permits, "used:", used);
}

static void put_json(const char *name, unsigned int permits, unsigned int used)
{
	putchar('[');
	if (permits) {
		fputs("{\"name\":", stdout);
		text_json(stdout, name);
		printf(",\"permits\":%u,\"used\":%u}", permits, used);
	}
	fputs("]\n", stdout);
}

static int show(struct rowlock_client *client, const char *name, bool json)
{
	struct rowlock_errinfo error;
	unsigned int permits;
	unsigned int used;

	if (rowlock_semaphore_count(client, name, &permits, &used, &error) <
	    0) {
		report(ROWLOCK_LOG_ERROR, "%s", error.message);
		return EXIT_FAILED;
	}
	if (json)
		put_json(name, permits, used);
	else if (permits)
		put(name, permits, used);
	else
		report(ROWLOCK_LOG_INFO,
		       "'%s' on %s is not a semaphore yet: give it permits by "
		       "'rowlock permits NAME N'",
		       name, rowlock_client_server(client));
	return permits ? EXIT_DONE : EXIT_NOT;
}

static int resize(const struct common *common, struct rowlock_client *client,
		  const char *name, unsigned int permits)
{
	struct rowlock_errinfo error;

	if (rowlock_semaphore_resize(client, name, permits, &error) < 0) {
		report(ROWLOCK_LOG_ERROR, "%s", error.message);
		return EXIT_FAILED;
	}
	if (common->verbose)
		report(ROWLOCK_LOG_INFO, "'%s' on %s has %u permits now", name,
		       rowlock_client_server(client), permits);
	return EXIT_DONE;
}

static int permits(const struct common *common, const char *name,
		   unsigned int number, bool json)
{
	_cleanup_(client_freep) struct rowlock_client *client = NULL;
	int code = command_open(common, &client);

	if (code != 0)
		return code;
	return number ? resize(common, client, name, number)
		      : show(client, name, json);
}

int cmd_permits(int argc, char **argv, struct common *common)
{
	unsigned int number = 0;
	bool json = false;
	int option;

	while ((option = suggest_getopt(argc, argv, "jvhV", options, NULL)) !=
	       -1) {
		int code = -1;

		if (option == 'j')
			json = true;
		else
			code = common_option(common, option, optarg, help);
		if (code >= 0)
			return code;
	}
	argc -= optind;
	argv += optind;
	if (argc < 1 || argc > 2)
		return command_misused("permits",
				       "give one name, and perhaps a number");
	if (argc == 2 &&
	    !text_number(argv[1], 1, ROWLOCK_SEMAPHORE_MAX, &number))
		return command_misused("permits",
				       "'%s' is not a number from 1 to %d",
				       argv[1], ROWLOCK_SEMAPHORE_MAX);
	if (number && json)
		return command_misused("permits", "--json: give no number with "
						  "it");
	return permits(common, argv[0], number, json);
}
