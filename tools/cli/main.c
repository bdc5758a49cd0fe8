/* SPDX-License-Identifier: MIT */
/*
 * rowlock: locks of the database for shell scripts and for people.
 *
 * A table of subcommands. Options that say where the server is may stand
 * before the subcommand or behind it. Failure modes: see command.h for the
 * exit codes.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "command.h"
#include "common/report.h"
#include "run/guard.h"
#include "run/signals.h"

static const struct command commands[] = {
	{ "run", "run a command while holding a lock", cmd_run },
	{ "elect", "run a command while leader, again and again", cmd_elect },
	{ "hold", "hold a lock until Ctrl-C, and run nothing", cmd_hold },
	{ "list", "show who holds what", cmd_list },
	{ "top", "watch who holds what, on a screen", cmd_top },
	{ "show", "show all about one name", cmd_show },
	{ "jobs", "show which jobs of --once-per ran, and how they ended",
	  cmd_jobs },
	{ "wait", "wait until nobody holds a name", cmd_wait },
	{ "permits", "show how many permits a semaphore has, or change it",
	  cmd_permits },
	{ "ping", "check that locks can be acquired, for health checks",
	  cmd_ping },
	{ "doctor", "examine the server, the account and the way there",
	  cmd_doctor },
	{ "metrics", "print the figures of all locks for Prometheus",
	  cmd_metrics },
	{ "revoke", "ask the holder of a lease to give it back", cmd_revoke },
	{ "break", "end a hold against its holder's will", cmd_break },
	{ "reap", "remove what dead clients left behind", cmd_reap },
};

/* The words of other tools. */
static const struct synonym synonyms[] = {
	{ "lock", "run" },
	{ "flock", "run" },
	{ "exec", "run" },
	{ "acquire", "hold" },
	{ "ls", "list" },
	{ "ps", "list" },
	{ "status", "list" },
	{ "locks", "list" },
	{ "who", "list" },
	{ "watch", "top" },
	{ "htop", "top" },
	{ "info", "show" },
	{ "get", "show" },
	{ "history", "jobs" },
	{ "cron", "jobs" },
	{ "release", "break" },
	{ "unlock", "break" },
	{ "kill", "break" },
	{ "leader", "elect" },
	{ "campaign", "elect" },
	{ "semaphore", "permits" },
	{ "gc", "reap" },
	{ "health", "ping" },
	{ "isready", "ping" },
	{ "prometheus", "metrics" },
	{ "stats", "metrics" },
};

static const char help_head[] =
    "usage: rowlock COMMAND [OPTIONS] [ARGUMENTS]\n"
    "Named locks that live in a MySQL or MariaDB database.\n\n"
    "Commands:\n";

static const char help_tail[] =
    "\n'rowlock help COMMAND' tells more about each; so do the manual pages\n"
    "rowlock(1) and rowlock(7).\n";

/* The text of --help; common_option() adds the options. */
static const char *help_text(char *text, size_t size)
{
	size_t used = (size_t) snprintf(text, size, "%s", help_head);

	for (size_t i = 0; i < RLK_ARRAY_SIZE(commands); i++)
		used +=
		    (size_t) snprintf(text + used, size - used, "  %-7s %s\n",
				      commands[i].name, commands[i].summary);
	snprintf(text + used, size - used, "%s", help_tail);
	return text;
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < RLK_ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	}
	return NULL;
}

/* The command that may be meant, or NULL. */
static const struct command *nearest_command(const char *word)
{
	const char *near = NULL;

	for (size_t i = 0; i < RLK_ARRAY_SIZE(synonyms); i++)
		if (strcmp(word, synonyms[i].theirs) == 0)
			return find_command(synonyms[i].ours);
	for (size_t i = 0; i < RLK_ARRAY_SIZE(commands); i++)
		near = suggest_nearer(word, near, commands[i].name);
	return near ? find_command(near) : NULL;
}

/* @more: something follows it, as a command follows a name. */
static int refuse_command(const char *word, bool more)
{
	const struct command *near = nearest_command(word);

	if (near)
		report(ROWLOCK_LOG_ERROR,
		       "'%s' is not a command; did you mean '%s' (%s)? "
		       "'rowlock help' lists all",
		       word, near->name, near->summary);
	else if (more)
		report(ROWLOCK_LOG_ERROR,
		       "'%s' is not a command; to lock that name, say 'rowlock "
		       "run %s ...'; 'rowlock help' lists the commands",
		       word, word);
	else
		report(ROWLOCK_LOG_ERROR,
		       "'%s' is not a command; 'rowlock help' lists them",
		       word);
	return EXIT_FAILED;
}

/* getopt_long() writes argv[0] before its complaints. */
static int run_command(const struct command *command, int argc, char **argv,
		       struct common *common)
{
	char title[32];

	snprintf(title, sizeof(title), "rowlock: %s", command->name);
	argv[0] = title;
	common->command = command->name;
	/* 0, not 1: the next scan may permute, unlike ours. */
	optind = 0;
	return command->run(argc, argv, common);
}

/* A core file would hold the password. The commands that it runs may have
 * theirs: the flag ends at an exec(). */
static void forbid_core(void)
{
	prctl(PR_SET_DUMPABLE, 0);
}

/* Print the commands for beginners. */
static int ask_for_command(void)
{
	fputs("usage: rowlock COMMAND [OPTIONS] [ARGUMENTS]\n"
	      "  rowlock run NAME -- COMMAND   run a command while holding a "
	      "lock\n"
	      "  rowlock list                  show who holds what\n"
	      "  rowlock show NAME             show all about one name\n"
	      "  rowlock wait NAME             wait until nobody holds a name\n"
	      "  rowlock break NAME            end a hold against its holder's "
	      "will\n"
	      "'rowlock help' tells of all commands and options.\n",
	      stderr);
	return EXIT_FAILED;
}

/* "help", or "help COMMAND". */
static int show_help(int argc, char **argv, struct common *common)
{
	const struct command *command = argc > 1 ? find_command(argv[1]) : NULL;
	char help[] = "--help", *words[] = { NULL, help, NULL };
	char text[1024];

	if (command)
		return run_command(command, 2, words, common);
	if (argc > 1)
		return refuse_command(argv[1], false);
	return common_option(common, 'h', NULL, help_text(text, sizeof(text)));
}

static int run_line(int argc, char **argv)
{
	static const struct option options[] = { COMMON_OPTIONS };
	struct common common = { 0 };
	const struct command *command;
	char text[1024];
	int option;

	if (argc > 0)
		argv[0] = (char *) "rowlock";
	while ((option = suggest_getopt(argc, argv, "+hVv", options, NULL)) !=
	       -1) {
		int code = common_option(&common, option, optarg,
					 help_text(text, sizeof(text)));

		if (code >= 0)
			return code;
	}
	if (optind >= argc)
		return ask_for_command();
	if (strcmp(argv[optind], "help") == 0)
		return show_help(argc - optind, argv + optind, &common);
	command = find_command(argv[optind]);
	if (!command)
		return refuse_command(argv[optind], argc - optind > 1);
	return run_command(command, argc - optind, argv + optind, &common);
}

int main(int argc, char **argv)
{
	int code;

	forbid_core();
	guard_init(argc, argv);
	report_init("rowlock", REPORT_PLAIN);
	code = run_line(argc, argv);
	/* A failed command has reported why. */
	if (code != EXIT_FAILED)
		command_flush();
	if (code >= EXIT_KILLED)
		signals_die(code - EXIT_KILLED);
	return code;
}
