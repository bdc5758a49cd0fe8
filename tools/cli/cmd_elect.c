/* SPDX-License-Identifier: MIT */
/*
 * rowlock elect: run a command while leader, again and again.
 *
 * An election is a lock, and its term the token (rowlock/election.h). Each
 * round opens a client, waits for the lock, runs the command as 'run' does, and
 * gives back the lock; after a pause, so that others get their turn, the next
 * round begins. Failure modes: it waits for a server that is away; a permanent
 * failure (account, tables, the command is not found) ends it; but not for some
 * minutes, once it was in line: then the account is being changed, or a table,
 * or an option file.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "common/pace.h"
#include "common/report.h"
#include "common/text.h"
#include "run/task.h"

/* A command that ran for this long did not fail: the pause is short again.
 */
#define RAN_MS 10000
#define PAUSE_MOST_MS 30000

/* The library's default. */
#define REFUSAL_MS 300000

/* The exit status of a shell, and of our own child, if a command cannot be
 * executed.
 */
#define STATUS_NOT_EXECUTABLE 126
#define STATUS_NOT_FOUND 127

static const char help[] =
    "usage: rowlock elect [OPTIONS] NAME [--] COMMAND [ARGUMENTS]\n"
    "       rowlock elect [OPTIONS] NAME -c 'SHELL COMMAND'\n"
    "Run COMMAND while this process leads: of all that run 'rowlock elect' for "
    "NAME\n"
    "one does at a time. When COMMAND ends, another leads; then it stands "
    "again. If\n"
    "the lead is lost, COMMAND and its process group get SIGTERM, and SIGKILL "
    "before\n"
    "another can lead. A signal ends COMMAND, and this.\n\n"
    "  -1, --once                 end when COMMAND ends, with its status\n"
    "      --pause=TIME           before it stands again (1s; longer, up to "
    "30s,\n"
    "                             as long as COMMAND ends within 10s)\n"
    "      --weight=N             of those that wait the heaviest leads (1 to "
    "1000)\n"
    "      --preempt-after=TIME   end COMMAND, and let a heavier one lead that "
    "has\n"
    "                             waited for so long\n"
    "  -s, --strategy=lease|row   how the lock lives (lease)\n"
    "  -t, --ttl=TIME             how long it outlives a host that vanished\n"
    "                             (lease 30s, row 10s)\n"
    "      --refusal-timeout=TIME wait for so long for a login or a table "
    "that is\n"
    "                             refused, though it worked before (5m)\n"
    "      --info=TEXT            shown by 'rowlock list', told to observers\n"
    "  -c, --command=TEXT         run TEXT by $SHELL -c\n\n"
    "COMMAND gets ROWLOCK_NAME, ROWLOCK_TOKEN (the term), ROWLOCK_STRATEGY,\n"
    "ROWLOCK_TOKENS and ROWLOCK_HELD. Ends by a signal that was passed on and\n"
    "ended COMMAND; else exits with its status after a signal, or with --once\n"
    "(124 the lead was lost); 125 own failure; 126, 127 COMMAND not "
    "executable,\n"
    "not found.\n"
    "\nExamples:\n"
    "  rowlock elect scheduler -- /usr/local/bin/scheduler\n"
    "  rowlock elect --weight=10 --preempt-after=1m scheduler -- ./scheduler\n";

enum { OPTION_PAUSE = TASK_OPTION_MORE, OPTION_WEIGHT, OPTION_PREEMPT };

static const struct option options[] = {
	{ "once", no_argument, NULL, '1' },
	{ "pause", required_argument, NULL, OPTION_PAUSE },
	{ "weight", required_argument, NULL, OPTION_WEIGHT },
	{ "preempt-after", required_argument, NULL, OPTION_PREEMPT },
	TASK_OPTIONS,
	COMMON_OPTIONS,
};

struct elect {
	struct task task;
	bool once;
	uint64_t pause_ms;
	uint64_t next_pause_ms;
	int trouble;            /* of the last round; 0: none */
	bool worked;            /* a client was opened */
	uint64_t refused_since; /* no client was opened since; 0 if one was */
};

static int take_weight(struct task *task, const char *text)
{
	char *end;
	long weight = strtol(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || weight < 1 ||
	    weight > ROWLOCK_WEIGHT_MAX)
		return command_misused("elect",
				       "--weight: '%s' is not a number from 1 "
				       "to %d",
				       text, ROWLOCK_WEIGHT_MAX);
	task->manner.elects = true;
	task->manner.weight = (unsigned int) weight;
	return -1;
}

static int take_preemption(struct task *task, const char *text)
{
	task->gives_way = true;
	return command_time("elect", "--preempt-after", text,
			    &task->gives_way_ms);
}

static int take_option(struct task *task, int option)
{
	struct elect *elect = container_of(task, struct elect, task);

	switch (option) {
	case '1':
		elect->once = true;
		return -1;
	case OPTION_PAUSE:
		if (text_duration(optarg, &elect->pause_ms) &&
		    elect->pause_ms > 0 && elect->pause_ms <= PAUSE_MOST_MS)
			return -1;
		return command_misused(
		    "elect", "--pause: '%s' is not a time up to 30s", optarg);
	case OPTION_WEIGHT:
		return take_weight(task, optarg);
	case OPTION_PREEMPT:
		return take_preemption(task, optarg);
	default:
		return task_option(task, option);
	}
}

/* Will the next round fail in the same way? */
static bool is_final(int result)
{
	switch (result) {
	case ROWLOCK_EDB:
	case ROWLOCK_ELOST:
	case ROWLOCK_ENOMEM:
	case ROWLOCK_ESYSTEM:
		return false;
	default:
		return !command_is_away(result);
	}
}

/* Was it refused what it had before, by a server, or by an option file that is
 * being written, for not too long? An open client has waited for that itself.
 */
static bool may_pass(struct elect *elect, const struct acquisition *acquisition)
{
	uint64_t most =
	    elect->task.refusal_ms ? elect->task.refusal_ms : REFUSAL_MS;
	uint64_t now = pace_now_ms();
	bool refused = acquisition->result == ROWLOCK_EAUTH ||
		       acquisition->result == ROWLOCK_ESCHEMA ||
		       acquisition->result == ROWLOCK_EINVAL;

	if (!refused)
		elect->refused_since = 0;
	else if (!elect->refused_since)
		elect->refused_since = now;
	return refused && !acquisition->client && elect->worked &&
	       now - elect->refused_since < most;
}

/* It does not lead. One trouble is reported once. */
static bool is_failed(struct elect *elect,
		      const struct acquisition *acquisition)
{
	int result = acquisition->result;
	bool over =
	    elect->once || (is_final(result) && !may_pass(elect, acquisition));

	if (over || result != elect->trouble || elect->task.common->verbose)
		report(ROWLOCK_LOG_ERROR, "elect: %s%s",
		       acquisition->error.message,
		       over ? "" : "; it stands again until it works");
	elect->trouble = result;
	return over;
}

/* A signal that has other uses, as HUP for a new configuration, counts if it
 * ended the command. */
static bool is_over(const struct elect *elect, int code)
{
	int told = elect->task.told;

	return elect->once || signals_is_for_good(told) || code > EXIT_KILLED ||
	       (told && code == EXIT_SIGNAL + told) ||
	       code == STATUS_NOT_EXECUTABLE || code == STATUS_NOT_FOUND;
}

/* We adopt processes that a command leaves behind. */
static void reap_adopted(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* Stand once. Returns the exit code; *@ret_over: no further round. */
static int lead(struct elect *elect, struct signals *signals, bool *ret_over)
{
	struct task *task = &elect->task;
	_cleanup_(guard_stop) struct guard guard = { .fd = -1 };
	char program[256];
	_cleanup_(acquisition_fini) struct acquisition acquisition =
	    task_acquisition(task, program, sizeof(program));
	int signal, code;

	*ret_over = true;
	task->ran_ms = 0;
	if (!guard_start(&guard, NULL))
		return EXIT_FAILED;
	signal = acquisition_run(&acquisition, signals);
	if (acquisition.client) {
		elect->worked = true;
		elect->refused_since = 0;
	}
	if (acquisition.result < 0 && signal)
		return EXIT_KILLED + signal;
	if (acquisition.result < 0) {
		*ret_over = is_failed(elect, &acquisition);
		return EXIT_FAILED;
	}
	elect->trouble = 0;
	if (signal)
		return task_release(task, &acquisition, EXIT_KILLED + signal);
	code = task_run(task, &acquisition, signals, &guard);
	/* Another command must not run beside one that runs on. */
	*ret_over = is_over(elect, code) || acquisition.runs_on;
	if (*ret_over && task->lost) {
		guard_stop(&guard);
		acquisition_leave(&acquisition, code);
	}
	return code;
}

/* Sleep for @ms. Returns the signal that ended the sleep, or 0. */
static int sleep_for(struct signals *signals, uint64_t ms)
{
	uint64_t until = pace_now_ms() + ms, now;
	struct pollfd fd = { .fd = signals->fd, .events = POLLIN };
	int signal;

	while ((now = pace_now_ms()) < until) {
		if (pace_poll(&fd, 1, (int) (until - now)) < 0 &&
		    errno != EINTR)
			abort();
		while ((signal = signals_next(signals)) != 0) {
			if (signal == SIGTSTP)
				signals_suffer(signal);
			else if (signal == SIGCHLD)
				reap_adopted();
			else if (signals_is_fatal(signal))
				return signal;
		}
	}
	return 0;
}

static uint64_t next_pause(struct elect *elect)
{
	uint64_t pause = elect->task.ran_ms < RAN_MS ? elect->next_pause_ms
						     : elect->pause_ms;

	elect->next_pause_ms = 2 * pause;
	if (elect->next_pause_ms > PAUSE_MOST_MS)
		elect->next_pause_ms = PAUSE_MOST_MS;
	return pause;
}

static int stand(struct elect *elect, struct signals *signals)
{
	const struct task *task = &elect->task;

	elect->next_pause_ms = elect->pause_ms;
	for (;;) {
		uint64_t pause;
		bool over;
		int code = lead(elect, signals, &over), signal;

		if (over)
			return code;
		pause = next_pause(elect);
		if (task->common->verbose)
			report(ROWLOCK_LOG_INFO,
			       "elect: '%s': ended with %d, stands again in "
			       "%.1f s",
			       task->name, code, (double) pause / 1000);
		signal = sleep_for(signals, pause);
		if (signal)
			return EXIT_KILLED + signal;
	}
}

static int check_weight(const struct task *task)
{
	if (task->gives_way && !task->manner.elects)
		return command_misused(
		    "elect", "--preempt-after needs this one's --weight");
	if (task->manner.elects && task->lock.strategy != ROWLOCK_LEASE)
		return command_misused("elect", "--weight: for leases only");
	return -1;
}

int cmd_elect(int argc, char **argv, struct common *common)
{
	struct elect elect = {
		.task = {
			.title = "elect",
			.help = help,
			.common = common,
			.lock = ROWLOCK_OPTIONS_DEFAULT,
			.wait_ms = ROWLOCK_FOREVER,
			.or_else = "",
		},
		.pause_ms = 1000,
	};
	struct signals signals = { .fd = -1 };
	int code = task_parse(&elect.task, argc, argv, "+1s:t:c:vhV", options,
			      take_option);

	if (code >= 0)
		return code;
	code = check_weight(&elect.task);
	if (code >= 0)
		return code;
	if (!signals_start(&signals))
		return EXIT_FAILED;
	return stand(&elect, &signals);
}
