/* SPDX-License-Identifier: MIT */
/*
 * rowlock run: run a command while holding a lock.
 *
 * Acquire with the token, run the command in a process group of its own under
 * the eyes of a guard, release. Options and exit codes follow flock(1). Failure
 * modes: not acquired (1, or the code of -E), lock lost (124), our own (125), a
 * signal while waiting (128 and its number); else the command's own status.
 */
#include <ctype.h>
#include <getopt.h>
#include <inttypes.h>
#include <paths.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acquisition.h"
#include "command.h"
#include "common/report.h"
#include "common/text.h"
#include "environment.h"
#include "supervise.h"

static const char help[] =
    "usage: rowlock run [OPTIONS] NAME [--] COMMAND [ARGUMENTS]\n"
    "       rowlock run [OPTIONS] NAME -c 'SHELL COMMAND'\n"
    "Run COMMAND while holding the lock NAME. If the lock is lost, COMMAND "
    "and\n"
    "its process group get SIGTERM, and SIGKILL before another can have it.\n\n"
    "  -n, --nb, --nonblock       do not wait if another holds it\n"
    "  -w, --wait, --timeout=TIME wait no longer (seconds, or 500ms 2m 1h)\n"
    "  -E, --conflict-exit-code=N exit with N if it was not acquired (1)\n"
    "  -s, --strategy=lease|row   how the lock lives (lease)\n"
    "  -t, --ttl=TIME             how long it outlives a host that vanished\n"
    "                             (lease 30s, row 10s)\n"
    "      --info=TEXT            shown by 'rowlock list'\n"
    "  -c, --command=TEXT         run TEXT by $SHELL -c\n\n"
    "COMMAND gets ROWLOCK_NAME, ROWLOCK_TOKEN and ROWLOCK_STRATEGY. Exits "
    "with\n"
    "its status (128+n if signal n ended it); 1 not acquired; 124 lock lost; "
    "125\n"
    "own failure; 126, 127 COMMAND not executable, not found.\n";

enum { OPTION_INFO = 1 };

static const struct option options[] = {
	{ "strategy", required_argument, NULL, 's' },
	{ "nb", no_argument, NULL, 'n' },
	{ "nonblock", no_argument, NULL, 'n' },
	{ "wait", required_argument, NULL, 'w' },
	{ "timeout", required_argument, NULL, 'w' },
	{ "conflict-exit-code", required_argument, NULL, 'E' },
	{ "ttl", required_argument, NULL, 't' },
	{ "info", required_argument, NULL, OPTION_INFO },
	{ "command", required_argument, NULL, 'c' },
	COMMON_OPTIONS,
};

struct request {
	struct common *common;
	struct rowlock_options lock;
	const char *name;
	const char *shell_command;
	char **argv;
	char *shell_argv[4];
	uint64_t wait_ms;
	uint64_t ttl_ms; /* 0: the default */
	unsigned int conflict_code;
};

/* Returns -1: taken; else the exit code. */
static int take_option(struct request *request, int option)
{
	switch (option) {
	case 's':
		return command_strategy(optarg, &request->lock.strategy)
			   ? -1
			   : EXIT_FAILED;
	case 'n':
		request->wait_ms = 0;
		return -1;
	case 'w':
		if (text_duration(optarg, &request->wait_ms))
			return -1;
		return command_misused("run", "--wait: '%s' is not a time",
				       optarg);
	case 'E':
		if (text_number(optarg, 0, 255, &request->conflict_code))
			return -1;
		return command_misused("run",
				       "--conflict-exit-code: '%s' is not a "
				       "number from 0 to 255",
				       optarg);
	case 't':
		if (text_duration(optarg, &request->ttl_ms) &&
		    request->ttl_ms > 0)
			return -1;
		return command_misused("run", "--ttl: '%s' is not a time",
				       optarg);
	case 'c':
		request->shell_command = optarg;
		return -1;
	case OPTION_INFO:
		request->lock.info = optarg;
		return -1;
	default:
		return common_option(request->common, option, optarg, help);
	}
}

/* Options up to the first word that is none. */
static int take_options(struct request *request, int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "+s:nw:E:t:c:vhV", options,
				     NULL)) != -1) {
		int code = take_option(request, option);

		if (code >= 0)
			return code;
	}
	return -1;
}

static int use_shell(struct request *request)
{
	const char *shell = getenv("SHELL");

	request->shell_argv[0] =
	    (char *) (shell && *shell ? shell : _PATH_BSHELL);
	request->shell_argv[1] = (char *) "-c";
	request->shell_argv[2] = (char *) request->shell_command;
	request->shell_argv[3] = NULL;
	request->argv = request->shell_argv;
	return -1;
}

/* flock(1) takes options behind the name too; those of COMMAND are its own. */
static int parse(struct request *request, int argc, char **argv)
{
	int code = take_options(request, argc, argv);

	if (code >= 0)
		return code;
	if (optind >= argc)
		return command_misused("run", "which lock? give a name");
	request->name = argv[optind];
	/* The title takes the name's place, for getopt_long() to skip. */
	argv[optind] = argv[0];
	argc -= optind;
	argv += optind;
	optind = 0;
	code = take_options(request, argc, argv);
	if (code >= 0)
		return code;
	if (request->shell_command && optind < argc)
		return command_misused("run",
				       "-c and a command exclude each other");
	if (request->shell_command)
		return use_shell(request);
	if (optind >= argc)
		return command_misused("run", "'%s': which command?",
				       request->name);
	request->argv = argv + optind;
	return -1;
}

static struct rowlock_client_options client_options(
    const struct request *request, char *program, size_t size)
{
	struct rowlock_client_options client =
	    command_client_options(request->common);
	const char *name = strrchr(request->argv[0], '/');

	/* The command's name, not its arguments: those may be secret. */
	snprintf(program, size, "rowlock run %s",
		 name ? name + 1 : request->argv[0]);
	client.program = program;
	if (request->ttl_ms == 0)
		return client;
	if (request->lock.strategy == ROWLOCK_ROW)
		client.row_idle_ms = request->ttl_ms;
	else
		client.ttl_ms = request->ttl_ms;
	return client;
}

static int not_acquired(const struct request *request,
			const struct acquisition *acquisition)
{
	bool conflict = acquisition->result == ROWLOCK_EBUSY ||
			acquisition->result == ROWLOCK_ETIMEDOUT;

	if (!conflict || request->common->verbose)
		report(conflict ? ROWLOCK_LOG_INFO : ROWLOCK_LOG_ERROR,
		       "run: %s", acquisition->error.message);
	return conflict ? (int) request->conflict_code : EXIT_FAILED;
}

static int run_command(const struct request *request,
		       struct acquisition *acquisition, struct signals *signals,
		       struct guard *guard)
{
	_cleanup_(environment_freep) char **environment = NULL;
	struct child_command command = { .argv = request->argv };
	struct supervision supervision = {
		.lock = acquisition->lock,
		.name = request->name,
		.ttl_ms = request->lock.strategy == ROWLOCK_ROW
			      ? acquisition->client_options.row_idle_ms
			      : acquisition->client_options.ttl_ms,
		.command = &command,
		.signals = signals,
		.guard = guard,
		.verbose = request->common->verbose,
	};
	struct rowlock_errinfo error;
	uint64_t token;
	int r;

	/* No I/O: it was drawn with the grant. */
	r = rowlock_token(acquisition->lock, &token, &error);
	if (r < 0) {
		report(ROWLOCK_LOG_ERROR, "run: %s", error.message);
		return r == ROWLOCK_ELOST ? EXIT_LOST : EXIT_FAILED;
	}
	environment =
	    environment_new(request->name, token, request->lock.strategy);
	if (!environment) {
		report(ROWLOCK_LOG_ERROR, "run: out of memory");
		return EXIT_FAILED;
	}
	command.environment = environment;
	if (request->common->verbose)
		report(ROWLOCK_LOG_INFO,
		       "run: acquired '%s' (%s, token %" PRIu64 ")",
		       request->name, strategy_word(request->lock.strategy),
		       token);
	return supervise(&supervision);
}

/* A release that says LOST tells what nobody saw before: the command was not
 * protected to its end. */
static int release(const struct request *request,
		   struct acquisition *acquisition, int code)
{
	struct rowlock_errinfo error;
	int r = rowlock_release(acquisition->lock, &error);

	if (r == ROWLOCK_ELOST && code != EXIT_LOST && code != EXIT_FAILED) {
		report(ROWLOCK_LOG_ERROR,
		       "run: the lock '%s' was lost before the command ended",
		       request->name);
		return EXIT_LOST;
	}
	if (r < 0 && request->common->verbose)
		report(ROWLOCK_LOG_WARNING, "run: %s", error.message);
	else if (request->common->verbose)
		report(ROWLOCK_LOG_INFO, "run: released '%s'", request->name);
	return code;
}

static int run(const struct request *request, struct signals *signals,
	       struct guard *guard)
{
	char program[256];
	_cleanup_(acquisition_fini) struct acquisition acquisition = {
		.connection = &request->common->connection,
		.client_options =
		    client_options(request, program, sizeof(program)),
		.lock_options = request->lock,
		.name = request->name,
		.wait_ms = request->wait_ms,
	};
	int signal, code;

	acquisition.lock_options.flags |= ROWLOCK_TOKEN_WITH_GRANT;
	signal = acquisition_run(&acquisition, signals);
	if (acquisition.result < 0) {
		/* Nothing is held: let a second signal end us at once. */
		signals_restore(signals);
		return signal ? EXIT_SIGNAL + signal
			      : not_acquired(request, &acquisition);
	}
	code = signal ? EXIT_SIGNAL + signal
		      : run_command(request, &acquisition, signals, guard);
	return release(request, &acquisition, code);
}

int cmd_run(int argc, char **argv, struct common *common)
{
	struct request request = {
		.common = common,
		.lock = ROWLOCK_OPTIONS_DEFAULT,
		.wait_ms = ROWLOCK_FOREVER,
		.conflict_code = EXIT_NOT,
	};
	_cleanup_(guard_stop) struct guard guard = { .fd = -1 };
	struct signals signals = { .fd = -1 };
	int code = parse(&request, argc, argv);

	if (code >= 0)
		return code;
	if (!connection_check(&common->connection) ||
	    !signals_start(&signals) || !guard_start(&guard))
		return EXIT_FAILED;
	return run(&request, &signals, &guard);
}
