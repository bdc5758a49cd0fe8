/* SPDX-License-Identifier: MIT */
/*
 * rowlock hold: hold a lock, and run nothing.
 *
 * Acquires, writes the token on standard output for a program that waits for
 * it, and holds until a signal asks for an end or standard input ends. Failure
 * modes: those of run; a lost lock ends it at once (124), also while nobody
 * reads the token.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/report.h"
#include "common/sink.h"
#include "run/request.h"

static const char help[] =
    "usage: rowlock hold [OPTIONS] NAME\n"
    "Hold the lock NAME until Ctrl-C (or SIGTERM, SIGHUP, SIGQUIT), or until\n"
    "standard input ends. When it is held, a line 'TOKEN NAME' is written on\n"
    "standard output.\n\n" REQUEST_HELP
    "\nExits with 0 when it was released; 1 not acquired; 124 lock lost; 125 "
    "own\n"
    "failure.\n"
    "\nExamples:\n"
    "  rowlock hold nightly\n"
    "  rowlock hold --also=weekly --info='upgrade of db1' nightly\n";

static const struct option options[] = {
	REQUEST_OPTIONS,
	TASK_OPTIONS,
	COMMON_OPTIONS,
};

/* Text that goes to standard output when there is room for it. */
struct output {
	struct sink sink;
	char *text;
	size_t size;
	size_t done;
};

static void output_fini(struct output *output)
{
	sink_fini(&output->sink);
	free(output->text);
}

static bool output_init(struct output *output, const struct task *task,
			const uint64_t *tokens)
{
	FILE *out = open_memstream(&output->text, &output->size);

	sink_init(&output->sink, STDOUT_FILENO);
	if (!out)
		return false;
	for (size_t i = 0; i < task->name_count; i++)
		fprintf(out, "%" PRIu64 " %s\n", tokens[i], task->names[i]);
	return !(ferror(out) | fclose(out));
}

/* Write what there is room for. Returns false if it cannot be written. */
static bool output_put(struct output *output)
{
	ssize_t n = sink_put(&output->sink, output->text + output->done,
			     output->size - output->done);

	if (n > 0)
		output->done += (size_t) n;
	return n >= 0;
}

/* Returns true if a signal asks for an end. */
static bool take_signals(struct signals *signals)
{
	bool over = false;
	int signal;

	while ((signal = signals_next(signals)) != 0) {
		if (signal == SIGTSTP)
			signals_suffer(signal);
		else if (signals_is_fatal(signal))
			over = true;
	}
	return over;
}

/* Returns true at the end of the input. The text is ignored. */
static bool take_input(struct pollfd *input)
{
	char text[4096];
	ssize_t n = read(input->fd, text, sizeof(text));

	if (n == 0)
		return true;
	/* EIO: in the background, where the terminal is another's. */
	if (n < 0 && errno != EINTR && errno != EAGAIN)
		input->fd = -1;
	return false;
}

/* Returns false if the token cannot be written. */
static bool watch(int lost_fd, struct signals *signals, struct output *output)
{
	struct pollfd fds[] = {
		{ .fd = signals->fd, .events = POLLIN },
		{ .fd = lost_fd, .events = POLLIN },
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = STDOUT_FILENO, .events = POLLOUT },
	};

	for (;;) {
		if (!output_put(output))
			return false;
		if (output->done == output->size)
			fds[3].fd = -1;
		if (poll(fds, RLK_ARRAY_SIZE(fds), -1) < 0) {
			if (errno != EINTR)
				abort();
			continue;
		}
		if (fds[1].revents ||
		    (fds[0].revents && take_signals(signals)) ||
		    (fds[2].revents && take_input(&fds[2])))
			return true;
	}
}

static int hold_on(struct task *task, struct acquisition *acquisition,
		   struct signals *signals, const uint64_t *tokens, int lost_fd)
{
	_cleanup_(output_fini) struct output output = { .text = NULL };

	errno = ENOMEM;
	if (output_init(&output, task, tokens) &&
	    (!rowlock_held(acquisition->hold.lock) ||
	     watch(lost_fd, signals, &output)))
		return EXIT_DONE;
	report(ROWLOCK_LOG_ERROR,
	       "hold: cannot write the token of '%s' to stdout: %s; it is "
	       "released",
	       task->name, strerror(errno));
	return EXIT_FAILED;
}

static int hold_it(struct task *task, struct acquisition *acquisition,
		   struct signals *signals)
{
	uint64_t tokens[ROWLOCK_MULTILOCK_MAX];
	int lost_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int code = task_tokens(task, acquisition, tokens);

	if (code < 0 && lost_fd < 0) {
		report(ROWLOCK_LOG_ERROR,
		       "hold: cannot watch '%s': %s; it is released",
		       task->name, strerror(errno));
		code = EXIT_FAILED;
	}
	if (code < 0) {
		rowlock_on_lost(acquisition->hold.lock, hold_lost, &lost_fd);
		task_tell(task, acquisition, tokens[0]);
		code = hold_on(task, acquisition, signals, tokens, lost_fd);
	}
	if (code == EXIT_DONE && !rowlock_held(acquisition->hold.lock)) {
		report(ROWLOCK_LOG_ERROR,
		       "hold: the lock '%s' on %s was lost: look at what was "
		       "done under it since",
		       task->name, acquisition->hold.server);
		code = EXIT_LOST;
		task->lost = true;
	}
	/* After this the callback does not run any more. */
	rowlock_on_lost(acquisition->hold.lock, NULL, NULL);
	if (lost_fd >= 0)
		close(lost_fd);
	return task_release(task, acquisition, code);
}

static int hold(struct request *request, struct signals *signals)
{
	char program[256];
	_cleanup_(acquisition_fini) struct acquisition acquisition =
	    task_acquisition(&request->task, program, sizeof(program));
	int code = request_acquire(request, &acquisition, signals);

	if (code >= 0)
		return code;
	code = hold_it(&request->task, &acquisition, signals);
	if (request->task.lost)
		acquisition_leave(&acquisition, code);
	return code;
}

int cmd_hold(int argc, char **argv, struct common *common)
{
	struct request request = {
		.task = {
			.title = "hold",
			.help = help,
			.common = common,
			.lock = ROWLOCK_OPTIONS_DEFAULT,
			.no_command = true,
			.wait_ms = ROWLOCK_FOREVER,
		},
		.conflict_code = EXIT_NOT,
	};
	struct signals signals = { .fd = -1 };
	int code = task_parse(&request.task, argc, argv, "s:nw:E:t:vhV",
			      options, request_option);

	if (code < 0)
		code = request_check(&request.task);
	if (code >= 0)
		return code;
	if (!signals_start(&signals))
		return EXIT_FAILED;
	/* In the background it holds on without the terminal's input. */
	signal(SIGTTIN, SIG_IGN);
	return hold(&request, &signals);
}
