/* SPDX-License-Identifier: MIT */
/*
 * rowlock hold: hold a lock, and run nothing.
 *
 * Acquires, writes the token on standard output for a program that waits for
 * it, and holds until a signal asks for an end or standard input ends. With
 * --json it tells the program also how the hold ends, and before it ends, by
 * the rules of 'run' for its command (run/deadline.h); a guard tells it where
 * this process is stopped or killed. Failure modes: those of run; a lost lock
 * ends it at once (124), also while nobody reads what it writes.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "common/report.h"
#include "common/text.h"
#include "run/adoption.h"
#include "run/holding.h"
#include "run/request.h"

static const char help[] =
    "usage: rowlock hold [OPTIONS] NAME\n"
    "Hold the lock NAME until Ctrl-C (or SIGTERM, SIGHUP, SIGQUIT), or until\n"
    "standard input ends. When it is held, a line 'TOKEN NAME' is written on\n"
    "standard output.\n\n" REQUEST_HELP
    "  -j, --json                 a line of JSON when it is held, lost, "
    "released,\n"
    "                             refused; a line 'release' on standard input\n"
    "                             releases: rowlock-hold(7)\n"
    "      --guarded              ... with the SQL that ties a transaction to "
    "it;\n"
    "                             as a CALL by --guarded=call\n"
    "      --adopt                hold what another has exported, by the "
    "string in\n"
    "                             ROWLOCK_ADOPT, or in the first line of "
    "the input\n"
    "\nExits with 0 when it was released; 1 not acquired; 124 lock lost; 125 "
    "own\n"
    "failure.\n"
    "\nExamples:\n"
    "  rowlock hold nightly\n"
    "  rowlock hold --also=weekly --info='upgrade of db1' nightly\n";

enum { OPTION_ADOPT = REQUEST_OPTION_MORE };

static const struct option options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "adopt", no_argument, NULL, OPTION_ADOPT },
	REQUEST_OPTIONS,
	TASK_OPTIONS,
	COMMON_OPTIONS,
};

static int take_option(struct task *task, int option)
{
	if (option == 'j')
		task->json = true;
	else if (option == OPTION_ADOPT)
		task->adopts = true;
	else
		return request_option(task, option);
	return -1;
}

static int hold(struct request *request, struct signals *signals,
		struct guard *guard)
{
	char program[256];
	_cleanup_(acquisition_fini) struct acquisition acquisition =
	    task_acquisition(&request->task, program, sizeof(program));
	struct holding holding = {
		.task = &request->task,
		.acquisition = &acquisition,
		.signals = signals,
		.guard = guard,
		.timer_fd = -1,
	};
	int code;

	output_init(&holding.output);
	/* A program that has gone waits for nothing. 0 would be none. */
	if (request->task.json)
		acquisition.quit_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	acquisition.quit_events = POLLRDHUP;
	code = request_acquire(request, &acquisition, signals);
	if (code < 0)
		code = holding_run(&holding);
	else if (acquisition.result < 0)
		holding_fail(&holding);
	output_fini(&holding.output);
	if (request->task.lost || acquisition.stays)
		acquisition_leave(&acquisition, code);
	return code;
}

/* Returns false, and reports, on failure. */
static bool start_guard(const struct task *task, struct guard *guard)
{
	_cleanup_(text_freep) char *stopped = protocol_lost(
	    task, "stopped",
	    "rowlock was stopped for longer than its lock lasts: it is killed");
	_cleanup_(text_freep) char *killed = protocol_lost(
	    task, "killed", "rowlock was killed, and renews its lock no more");
	const struct guard_words words = { stopped, killed };

	if (stopped && killed)
		return guard_start(guard, &words);
	report(ROWLOCK_LOG_ERROR, "hold: out of memory; nothing was locked");
	return false;
}

/* @adopt is a room for the string. */
static int check(struct task *task, char *adopt)
{
	int code;

	if (task->guarded && !task->json)
		return command_misused("hold",
				       "--guarded: with --json, whose line has "
				       "room for the SQL");
	code = request_check(task);
	if (code < 0 && task->adopts)
		code = adoption_check(task);
	if (code < 0 && task->adopts) {
		code = adoption_read(task, adopt);
		task->manner.adopt = adopt;
	}
	/* A holder that is asked shows it, whether it has an answer or not. */
	if (code < 0 && task_can_be_asked(task) && !task_listen(task))
		code = EXIT_FAILED;
	return code;
}

int cmd_hold(int argc, char **argv, struct common *common)
{
	struct revocation revocation = { .answer = ROWLOCK_ANSWER_HEARD };
	struct request request = {
		.task = {
			.title = "hold",
			.help = help,
			.common = common,
			.lock = ROWLOCK_OPTIONS_DEFAULT,
			.no_command = true,
			.revocation = &revocation,
			.wait_ms = ROWLOCK_FOREVER,
		},
		.conflict_code = EXIT_NOT,
	};
	_cleanup_(guard_stop) struct guard guard = { .fd = -1 };
	struct signals signals = { .fd = -1 };
	char adopt[ADOPTION_SIZE];
	int code = task_parse(&request.task, argc, argv, "js:nw:E:t:vhV",
			      options, take_option);

	if (code < 0)
		code = check(&request.task, adopt);
	if (code >= 0)
		return code;
	if (!signals_start(&signals) ||
	    (request.task.json && !start_guard(&request.task, &guard)))
		return EXIT_FAILED;
	/* In the background it holds on without the terminal's input. */
	signal(SIGTTIN, SIG_IGN);
	return hold(&request, &signals, &guard);
}
