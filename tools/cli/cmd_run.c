/* SPDX-License-Identifier: MIT */
/*
 * rowlock run: run a command while holding a lock.
 *
 * Acquire with the token, run the command in a process group of its own under
 * the eyes of a guard, release. Options and exit codes follow flock(1). Failure
 * modes: not acquired (1, or the code of -E), lock lost (124), our own (125), a
 * signal while waiting (128 and its number); else the command's own status.
 */
#include <string.h>

#include "common/report.h"
#include "common/text.h"
#include "task.h"

static const char help[] =
    "usage: rowlock run [OPTIONS] NAME [--] COMMAND [ARGUMENTS]\n"
    "       rowlock run [OPTIONS] NAME -c 'SHELL COMMAND'\n"
    "Run COMMAND while holding the lock NAME: one at a time, on all hosts; "
    "when "
    "it\n"
    "has ended the next may run. If the lock is lost, COMMAND and its process "
    "group\n"
    "get SIGTERM, and SIGKILL before another can have it.\n\n"
    "  -n, --nb, --nonblock       do not wait if another holds it\n"
    "  -w, --wait, --timeout=TIME wait no longer (seconds, or 500ms 2m 1h)\n"
    "      --also=NAME            hold NAME as well, all of them or none\n"
    "      --read, --write        hold NAME as a read/write lock: many may "
    "read,\n"
    "                             or one writes\n"
    "      --permits=N            hold a permit of NAME, of which there are N\n"
    "                             (stored: as many as the database says)\n"
    "      --take=N               ... N permits at once, all or none\n"
    "      --guarded              give COMMAND the SQL that ties its "
    "transaction\n"
    "                             to the lock, as ROWLOCK_GUARD_SQL; "
    "--guarded=call:\n"
    "                             as a CALL of rowlock_guard()\n"
    "  -E, --conflict-exit-code=N exit with N if it was not acquired (1)\n"
    "  -s, --strategy=lease|row   how the lock lives (lease)\n"
    "  -t, --ttl=TIME             how long it outlives a host that vanished\n"
    "                             (lease 30s, row 10s)\n"
    "      --info=TEXT            shown by 'rowlock list'\n"
    "  -c, --command=TEXT         run TEXT by $SHELL -c\n\n"
    "COMMAND gets ROWLOCK_NAME, ROWLOCK_TOKEN, ROWLOCK_STRATEGY and "
    "ROWLOCK_TOKENS.\n"
    "Exits with its status (128+n if signal n ended it); 1 not acquired; 124 "
    "lock\n"
    "lost; 125 own failure; 126, 127 COMMAND not executable, not found.\n";

enum {
	OPTION_ALSO = TASK_OPTION_MORE,
	OPTION_READ,
	OPTION_WRITE,
	OPTION_PERMITS,
	OPTION_TAKE,
	OPTION_GUARDED,
};

static const struct option options[] = {
	{ "also", required_argument, NULL, OPTION_ALSO },
	{ "read", no_argument, NULL, OPTION_READ },
	{ "write", no_argument, NULL, OPTION_WRITE },
	{ "permits", required_argument, NULL, OPTION_PERMITS },
	{ "take", required_argument, NULL, OPTION_TAKE },
	{ "guarded", optional_argument, NULL, OPTION_GUARDED },
	{ "nb", no_argument, NULL, 'n' },
	{ "nonblock", no_argument, NULL, 'n' },
	{ "wait", required_argument, NULL, 'w' },
	{ "timeout", required_argument, NULL, 'w' },
	{ "conflict-exit-code", required_argument, NULL, 'E' },
	TASK_OPTIONS,
	COMMON_OPTIONS,
};

struct request {
	struct task task;
	unsigned int conflict_code;
};

static int take_mode(struct task *task, enum rowlock_rwlock_mode mode)
{
	if (task->manner.mode && task->manner.mode != mode)
		return command_misused("run", "--read, --write: give one of "
					      "them; who writes may read");
	task->manner.mode = mode;
	return -1;
}

static int take_number(const char *option, unsigned int *ret_number)
{
	if (text_number(optarg, 1, ROWLOCK_SEMAPHORE_MAX, ret_number))
		return -1;
	return command_misused("run", "%s: '%s' is not a number from 1 to %d",
			       option, optarg, ROWLOCK_SEMAPHORE_MAX);
}

static int take_guarded(struct task *task)
{
	if (optarg && strcmp(optarg, "call") != 0)
		return command_misused("run", "--guarded: '%s' is not 'call'",
				       optarg);
	task->guarded = true;
	task->guarded_by_call = optarg != NULL;
	return -1;
}

static int take_option(struct task *task, int option)
{
	struct request *request = container_of(task, struct request, task);

	switch (option) {
	case OPTION_ALSO:
		return task_also(task, optarg);
	case OPTION_READ:
		return take_mode(task, ROWLOCK_RWLOCK_READ);
	case OPTION_WRITE:
		return take_mode(task, ROWLOCK_RWLOCK_WRITE);
	case OPTION_PERMITS:
		if (strcmp(optarg, "stored") == 0) {
			task->manner.permits = ROWLOCK_PERMITS_STORED;
			return -1;
		}
		return take_number("--permits", &task->manner.permits);
	case OPTION_TAKE:
		return take_number("--take", &task->manner.count);
	case OPTION_GUARDED:
		return take_guarded(task);
	case 'n':
		task->wait_ms = 0;
		return -1;
	case 'w':
		if (text_duration(optarg, &task->wait_ms))
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
	default:
		return task_option(task, option);
	}
}

static int not_acquired(const struct request *request,
			struct acquisition *acquisition)
{
	char seen[SIGHT_SIZE] = "";
	bool conflict = acquisition->result == ROWLOCK_EBUSY ||
			acquisition->result == ROWLOCK_ETIMEDOUT;

	if (conflict && request->task.common->verbose)
		acquisition_sight(acquisition, seen);
	if (!conflict || request->task.common->verbose)
		report(conflict ? ROWLOCK_LOG_INFO : ROWLOCK_LOG_ERROR,
		       "run: %s%s%s", acquisition->error.message,
		       *seen ? "; now " : "", seen);
	return conflict ? (int) request->conflict_code : EXIT_FAILED;
}

static int run(struct request *request, struct signals *signals,
	       struct guard *guard)
{
	char program[256];
	_cleanup_(acquisition_fini) struct acquisition acquisition =
	    task_acquisition(&request->task, program, sizeof(program));
	int signal = acquisition_run(&acquisition, signals);

	if (acquisition.result < 0) {
		/* Nothing is held: let a second signal end us at once. */
		signals_restore(signals);
		return signal ? EXIT_SIGNAL + signal
			      : not_acquired(request, &acquisition);
	}
	if (signal)
		return task_release(&request->task, &acquisition,
				    EXIT_SIGNAL + signal);
	return task_run(&request->task, &acquisition, signals, guard);
}

/* -1 or the exit code. */
static int check_permits(struct task *task)
{
	struct hold_manner *manner = &task->manner;

	if (manner->count && !manner->permits)
		return command_misused("run", "--take: also say how many there "
					      "are, with --permits");
	if (!manner->permits)
		return -1;
	if (manner->mode || task->name_count > 1 ||
	    task->lock.strategy != ROWLOCK_LEASE)
		return command_misused("run", "--permits: only leases, of one "
					      "name, without --read, --write "
					      "and --also");
	if (!manner->count)
		manner->count = 1;
	if (manner->count > manner->permits)
		return command_misused("run", "--take: %u permits of %u",
				       manner->count, manner->permits);
	return -1;
}

/* What does not go together: -1 or the exit code. */
static int check(struct task *task)
{
	if (task->name_count > 1 && task->lock.strategy != ROWLOCK_LEASE)
		return command_misused("run", "--also: only leases can be held "
					      "together");
	if (task->manner.mode && task->lock.strategy != ROWLOCK_LEASE)
		return command_misused("run", "--read, --write: only leases "
					      "can be shared");
	if (task->manner.mode && task->name_count > 1)
		return command_misused("run", "--read, --write: one name at a "
					      "time, so without --also");
	if (task->guarded &&
	    (task->lock.strategy != ROWLOCK_LEASE || task->name_count > 1 ||
	     task->manner.mode || task->manner.permits))
		return command_misused("run", "--guarded: only a lease, of one "
					      "name, without --read, --write, "
					      "--permits and --also");
	return check_permits(task);
}

int cmd_run(int argc, char **argv, struct common *common)
{
	struct request request = {
		.task = {
			.title = "run",
			.help = help,
			.common = common,
			.lock = ROWLOCK_OPTIONS_DEFAULT,
			.wait_ms = ROWLOCK_FOREVER,
		},
		.conflict_code = EXIT_NOT,
	};
	_cleanup_(guard_stop) struct guard guard = { .fd = -1 };
	struct signals signals = { .fd = -1 };
	int code = task_parse(&request.task, argc, argv, "+s:nw:E:t:c:vhV",
			      options, take_option);

	if (code < 0)
		code = check(&request.task);
	if (code >= 0)
		return code;
	if (!connection_check(&common->connection) ||
	    !signals_start(&signals) || !guard_start(&guard))
		return EXIT_FAILED;
	return run(&request, &signals, &guard);
}
