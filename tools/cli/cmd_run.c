/* SPDX-License-Identifier: MIT */
/*
 * rowlock run: run a command while holding a lock.
 *
 * Acquires with the token, runs the command in a process group of its own,
 * watched by a guard, and releases. Options and exit codes follow flock(1).
 * Failure modes: not acquired (1, or the code of -E), lock lost (124), our own
 * (125), a signal while waiting, which ends this process too; else the
 * command's own status.
 */
#include "run/in_place.h"
#include "run/request.h"

static const char help[] =
    "usage: rowlock run [OPTIONS] NAME [--] COMMAND [ARGUMENTS]\n"
    "       rowlock run [OPTIONS] NAME -c 'SHELL COMMAND'\n"
    "Run COMMAND while holding the lock NAME: one at a time, on all hosts; "
    "when "
    "it\n"
    "has ended the next may run. If the lock is lost, COMMAND and its process "
    "group\n"
    "get SIGTERM, and SIGKILL before another can have it.\n\n" REQUEST_HELP
	JOB_HELP
    "      --guarded              give COMMAND the SQL that ties its "
    "transaction\n"
    "                             to the lock, as ROWLOCK_GUARD_SQL; "
    "--guarded=call:\n"
    "                             as a CALL of rowlock_guard()\n"
    "      --no-supervise         COMMAND takes the place of this process, and "
    "is\n"
    "                             not ended if the lock is lost\n"
    "  -c, --command=TEXT         run TEXT by $SHELL -c\n\n"
    "COMMAND gets ROWLOCK_NAME, ROWLOCK_TOKEN, ROWLOCK_STRATEGY, "
    "ROWLOCK_TOKENS and\n"
    "ROWLOCK_HELD. Ends by a signal that was passed on and ended COMMAND; "
    "else\n"
    "exits with its status (128+n if signal n ended it); 1 not acquired; 124\n"
    "lock lost; 125 own failure; 126, 127 COMMAND not executable, not found.\n"
    "\nExamples:\n"
    "  rowlock run --once-per day nightly -- /usr/local/bin/backup\n"
    "  rowlock run -w 10m report -c './report.sh >report.txt'\n";

enum { OPTION_NO_SUPERVISE = REQUEST_OPTION_MORE };

static const struct option options[] = {
	{ "no-supervise", no_argument, NULL, OPTION_NO_SUPERVISE },
	REQUEST_OPTIONS,
	JOB_OPTIONS,
	TASK_OPTIONS,
	COMMON_OPTIONS,
};

static int take_option(struct task *task, int option)
{
	if (option >= JOB_OPTION_FIRST && option <= JOB_OPTION_LAST) {
		job_option(task->job, option, optarg);
		return -1;
	}
	if (option != OPTION_NO_SUPERVISE)
		return request_option(task, option);
	task->in_place = true;
	return -1;
}

static int run(struct request *request, struct signals *signals,
	       struct guard *guard)
{
	char program[256];
	_cleanup_(acquisition_fini) struct acquisition acquisition =
	    task_acquisition(&request->task, program, sizeof(program));
	int code = request_acquire(request, &acquisition, signals);

	if (code >= 0)
		return code;
	code = task_run(&request->task, &acquisition, signals, guard);
	if (request->task.lost || acquisition.stays) {
		guard_stop(guard);
		acquisition_leave(&acquisition, code);
	}
	return code;
}

int cmd_run(int argc, char **argv, struct common *common)
{
	struct signals signals = { .fd = -1 };
	struct job job = { .signals = &signals };
	struct revocation revocation = { .started = false };
	struct request request = {
		.task = {
			.title = "run",
			.help = help,
			.common = common,
			.job = &job,
			.revocation = &revocation,
			.lock = ROWLOCK_OPTIONS_DEFAULT,
			.wait_ms = ROWLOCK_FOREVER,
			.or_else = ", or give --no-supervise",
		},
		.conflict_code = EXIT_NOT,
	};
	_cleanup_(guard_stop) struct guard guard = { .fd = -1 };
	int code = task_parse(&request.task, argc, argv, "+s:nw:E:t:c:vhV",
			      options, take_option);

	if (code < 0)
		code = request_check(&request.task);
	if (code >= 0)
		return code;
	if (request.task.in_place)
		return in_place_run(&request);
	if (!signals_start(&signals) || !guard_start(&guard, NULL))
		return EXIT_FAILED;
	return run(&request, &signals, &guard);
}
