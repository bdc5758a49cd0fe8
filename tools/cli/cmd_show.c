/* SPDX-License-Identifier: MIT */
/*
 * rowlock show: all that is known of one name, and who waits for it.
 *
 * Failure modes: 1 if the name is neither held nor known, 125 for the
 * server's errors.
 */
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "command.h"
#include "common/report.h"
#include "common/text.h"
#include "show/entries.h"
#include "show/request.h"
#include "show/sight.h"

static const char help[] =
    "usage: rowlock show [OPTIONS] NAME\n"
    "Show all that is known of NAME under both strategies: who has it, and "
    "who\n"
    "waits for it, in order. Exits with 1 if nothing is known.\n\n"
    "  -s, --strategy=lease|row   only this strategy\n"
    "  -p, --probe                look whether the row is locked: a try by\n"
    "                             another program in that instant finds it "
    "busy\n"
    "  -j, --json                 as one JSON array\n"
    "\nExamples:\n"
    "  rowlock show nightly\n"
    "  rowlock show --json nightly\n";

static const struct option options[] = {
	{ "strategy", required_argument, NULL, 's' },
	{ "probe", no_argument, NULL, 'p' },
	{ "json", no_argument, NULL, 'j' },
	COMMON_OPTIONS,
};

/* The request for the hold of @entry, or NULL. */
static const struct rowlock_revocation *request_of(
    const struct rowlock_entry *entry, const struct rowlock_revocation *asked)
{
	return request_is_for(asked, entry) ? asked : NULL;
}

static void put_lines(const struct entries *entries,
		      const struct rowlock_revocation *asked)
{
	for (size_t i = 0; i < entries->count; i++) {
		const struct rowlock_entry *entry = &entries->list[i];

		if (i > 0 && !(entry_waits(entry) && entry_waits(entry - 1)))
			putchar('\n');
		entry_put_lines(entry);
		if (request_of(entry, asked))
			request_put_lines(asked);
	}
}

static void put_incomplete(const struct rowlock_waiters_result *result)
{
	if (!*result->incomplete)
		return;
	fputs("\nwaiting:    some may be missing: ", stdout);
	text_escape(stdout, result->incomplete, true);
	putchar('\n');
}

/* For people: to a program the state says it. */
static void put_hints(const struct entries *entries, const char *server)
{
	for (size_t i = 0; i < entries->count; i++) {
		const struct rowlock_entry *entry = &entries->list[i];

		if (entry->state == ROWLOCK_STATE_UNKNOWN)
			report(ROWLOCK_LOG_INFO,
			       "'%s' (row) on %s may be held or free: --probe "
			       "looks",
			       entry->name, server);
		else if (entry_is_nameless(entry))
			report(ROWLOCK_LOG_INFO,
			       "'%s' (row) on %s is held, and by whom is not "
			       "known: rowlock(1) says who is told",
			       entry->name, server);
	}
}

static void put_json(const struct entries *entries,
		     const struct rowlock_revocation *asked)
{
	putchar('[');
	for (size_t i = 0; i < entries->count; i++) {
		fputs(i == 0 ? "\n" : ",\n", stdout);
		entry_put_json(&entries->list[i],
			       request_of(&entries->list[i], asked));
	}
	fputs(entries->count ? "\n]\n" : "]\n", stdout);
}

/* Tables of version 7 have none, and an account that was made for them may not
 * read it. */
static struct rowlock_revocation read_request(struct rowlock_client *client,
					      const char *name)
{
	struct rowlock_revocation asked = { .size = sizeof(asked) };

	if (rowlock_revoke(client, name, NULL, &asked, NULL) < 0)
		asked.answer = ROWLOCK_ANSWER_UNASKED;
	return asked;
}

static int show(const struct common *common,
		const struct rowlock_list_options *what, bool json)
{
	_cleanup_(client_freep) struct rowlock_client *client = NULL;
	_cleanup_(entries_fini) struct entries entries = { 0 };
	struct rowlock_waiters_result result;
	struct rowlock_revocation asked;
	struct rowlock_errinfo error;
	int code = command_open(common, &client);

	if (code != 0)
		return code;
	if (entries_read(&entries, client, what, &error) < 0 ||
	    entries_read_waiters(&entries, client, what, &result, &error) < 0) {
		report(ROWLOCK_LOG_ERROR, "%s", error.message);
		return EXIT_FAILED;
	}
	asked = read_request(client, what->name);
	if (json) {
		put_json(&entries, &asked);
		entries_report_incomplete(&result);
	} else if (entries.count > 0) {
		put_lines(&entries, &asked);
		put_incomplete(&result);
		command_flush();
		if (isatty(STDOUT_FILENO) == 1)
			put_hints(&entries, rowlock_client_server(client));
	} else
		report(ROWLOCK_LOG_INFO,
		       "'%s' on %s is not held, and not known", what->name,
		       rowlock_client_server(client));
	return entries.count > 0 ? EXIT_DONE : EXIT_NOT;
}

int cmd_show(int argc, char **argv, struct common *common)
{
	struct rowlock_list_options what = ROWLOCK_LIST_OPTIONS_DEFAULT;
	enum rowlock_strategy strategy;
	bool json = false;
	int option;

	while ((option = suggest_getopt(argc, argv, "s:pjvhV", options,
					NULL)) != -1) {
		int code = -1;

		if (option == 's') {
			if (!command_strategy(optarg, &strategy))
				return EXIT_FAILED;
			what.flags |= sight_flag(strategy);
		} else if (option == 'p')
			what.flags |= ROWLOCK_LIST_PROBE;
		else if (option == 'j')
			json = true;
		else
			code = common_option(common, option, optarg, help);
		if (code >= 0)
			return code;
	}
	if (argc - optind != 1)
		return command_misused("show", "give one name");
	what.name = argv[optind];
	return show(common, &what, json);
}
