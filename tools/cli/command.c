/* SPDX-License-Identifier: MIT */
/*
 * Shared by the subcommands.
 *
 * Failure modes: a mistake on the command line is reported in one line that
 * names the command for its help, and ends with 125.
 */
#include "command.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/report.h"
#include "common/text.h"

static int put_help(const char *help)
{
	fputs(help, stdout);
	fputs("\nCommon options:\n"
	      "  -v, --verbose              say on stderr what happens\n"
	      "  -h, --help                 this text\n"
	      "  -V, --version              the version\n\n",
	      stdout);
	fputs(connection_help, stdout);
	return EXIT_DONE;
}

int common_option(struct common *common, int option, const char *argument,
		  const char *help)
{
	int taken;

	switch (option) {
	case 'h':
		return put_help(help);
	case 'V':
		printf("rowlock %s\n", rowlock_version());
		return EXIT_DONE;
	case 'v':
		common->verbose = true;
		return -1;
	}
	taken = connection_option(&common->connection, option, argument);
	/* getopt_long() has reported an unknown option. */
	if (taken == 0)
		report(ROWLOCK_LOG_INFO, "see 'rowlock %s%s--help'",
		       common->command ? common->command : "",
		       common->command ? " " : "");
	return taken > 0 ? -1 : EXIT_FAILED;
}

int command_misused(const char *command, const char *format, ...)
{
	_cleanup_(text_freep) char *message = NULL;
	va_list args;

	va_start(args, format);
	message = text_format(format, args);
	va_end(args);
	if (!message)
		return EXIT_FAILED;
	report(ROWLOCK_LOG_ERROR, "%s: %s; see 'rowlock %s --help'", command,
	       message, command);
	return EXIT_FAILED;
}

int command_time(const char *command, const char *option, const char *argument,
		 uint64_t *ret_ms)
{
	if (text_duration(argument, ret_ms))
		return -1;
	return command_misused(command,
			       "%s: '%s' is not a time: write 30s, 500ms, 2m, "
			       "1h or 1d",
			       option, argument);
}

bool command_strategy(const char *argument, enum rowlock_strategy *ret)
{
	if (strcmp(argument, "lease") == 0)
		*ret = ROWLOCK_LEASE;
	else if (strcmp(argument, "row") == 0)
		*ret = ROWLOCK_ROW;
	else {
		report(ROWLOCK_LOG_ERROR,
		       "--strategy: '%s' is not a strategy: give 'lease' or "
		       "'row'",
		       argument);
		return false;
	}
	return true;
}

struct rowlock_client_options command_client_options(
    const struct common *common)
{
	struct rowlock_client_options options = ROWLOCK_CLIENT_OPTIONS_DEFAULT;

	options.program = "rowlock";
	options.log = report_log;
	if (!common->verbose)
		options.log_level = ROWLOCK_LOG_ERROR;
	return options;
}

static atomic_bool has_opened;

/* A rowlock_log_fn. */
static void log_first_warnings(enum rowlock_log_level level,
			       const char *message, void *arg)
{
	if (level == ROWLOCK_LOG_ERROR || !atomic_load(&has_opened))
		report_log(level, message, arg);
}

int command_stay(const struct connection *connection,
		 struct rowlock_client_options options,
		 struct rowlock_client **ret_client,
		 struct rowlock_errinfo *reterr)
{
	int r;

	if (options.log_level == ROWLOCK_LOG_ERROR) {
		options.log_level = ROWLOCK_LOG_WARNING;
		options.log = log_first_warnings;
	}
	r = connection_open(connection, options, ret_client, reterr);
	if (r == 0)
		atomic_store(&has_opened, true);
	return r;
}

int command_open_with(const struct common *common,
		      struct rowlock_client_options options,
		      struct rowlock_client **ret_client)
{
	struct rowlock_errinfo error;

	/* Such a client lives for one question. */
	options.flags |= ROWLOCK_NO_REAPER;
	if (connection_open(&common->connection, options, ret_client, &error) <
	    0) {
		report(ROWLOCK_LOG_ERROR, "%s", error.message);
		return EXIT_FAILED;
	}
	return 0;
}

int command_open(const struct common *common,
		 struct rowlock_client **ret_client)
{
	return command_open_with(common, command_client_options(common),
				 ret_client);
}

bool command_is_away(int code)
{
	return code == ROWLOCK_ECONNECT || code == ROWLOCK_EREADONLY;
}

void command_flush(void)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return;
	if (errno == EPIPE) {
		signal(SIGPIPE, SIG_DFL);
		raise(SIGPIPE);
	}
	report(ROWLOCK_LOG_ERROR, "cannot write to stdout: %s",
	       strerror(errno ? errno : EIO));
	/* Threads of the library may be at work. */
	report_flush();
	_exit(EXIT_FAILED);
}

void command_forget_output(void)
{
	fflush(stdout);
	__fpurge(stdout);
	clearerr(stdout);
}

void client_freep(struct rowlock_client **client)
{
	rowlock_client_free(*client);
}
