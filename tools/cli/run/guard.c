/* SPDX-License-Identifier: MIT */
/*
 * The guard of a command.
 *
 * It waits for messages on a pipe, and for the time in the last one. The pipe's
 * end is our death. Normally we kill it in the end. Failure modes: if the guard
 * itself is killed, no command is started; a running command goes on without a
 * guard, and nothing else changes. One that is stopped is killed when its pipe
 * is full: we wait for it at no time.
 */
#include "run/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/pace.h"
#include "common/report.h"
#include "run/deadline.h"

/* Small enough for a pipe to carry it in one piece. */
struct message {
	pid_t group;
	uint64_t due_ms;
};

static bool group_is_alive(pid_t group)
{
	return kill(-group, 0) == 0 || errno == EPERM;
}

/* The parent is dead. Poll the group, as only a parent learns when it is empty,
 * and its number must not be used after that. */
static void end_orphans(pid_t group)
{
	uint64_t end = pace_now_ms() + DEADLINE_GRACE_MS;

	kill(-group, SIGTERM);
	kill(-group, SIGCONT);
	while (group_is_alive(group) && pace_now_ms() < end)
		pace_rest(20);
	kill(-group, SIGKILL);
}

static void set_timer(int timer, uint64_t due_ms)
{
	struct itimerspec when = { 0 };

	if (due_ms != DEADLINE_NEVER) {
		when.it_value.tv_sec = (time_t) (due_ms / 1000);
		/* Zero would disarm it. */
		when.it_value.tv_nsec = (long) (due_ms % 1000) * 1000000 + 1;
	}
	timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void serve(int in, int timer)
{
	struct pollfd fds[] = {
		{ .fd = in, .events = POLLIN },
		{ .fd = timer, .events = POLLIN },
	};
	struct message message = { 0 }, next;
	ssize_t n;

	for (;;) {
		if (poll(fds, 2, -1) < 0)
			continue;
		/* Read a message first: it may have moved the time. */
		if (!fds[0].revents) {
			kill(-message.group, SIGKILL);
			return;
		}
		n = read(in, &next, sizeof(next));
		if (n != (ssize_t) sizeof(next)) {
			if (message.group > 0)
				end_orphans(message.group);
			return;
		}
		message = next;
		set_timer(timer, message.due_ms);
	}
}

/* Where the kernel looks for what ps(1) shows. */
static struct {
	char *start;
	size_t size;
} command_line;

void guard_init(int argc, char **argv)
{
	if (argc < 1)
		return;
	command_line.start = argv[0];
	for (int i = 0; i < argc; i++) {
		/* They follow each other, or are not ours. */
		if (argv[i] != command_line.start + command_line.size)
			break;
		command_line.size += strlen(argv[i]) + 1;
	}
}

/* Two processes with one command line would look like two runs. */
static void show_name(void)
{
	static const char name[] = "rowlock-guard";

	prctl(PR_SET_NAME, name);
	if (command_line.size < sizeof(name))
		return;
	memset(command_line.start, 0, command_line.size);
	memcpy(command_line.start, name, sizeof(name));
}

/* Nothing of ours is kept: an inherited pipe would seem open to its reader. */
static void become_guard(int in)
{
	int timer;

	show_name();
	/* Signals to our group or from the terminal are not for the guard. All
	 * signals that can be blocked are. */
	setsid();
	if (dup2(in, 3) < 0)
		_exit(1);
	syscall(SYS_close_range, 4, ~0u, 0); /* musl has no function */
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
	serve(3, timer);
	_exit(0);
}

bool guard_start(struct guard *guard)
{
	int fds[2];

	*guard = (struct guard){ .pid = -1, .pidfd = -1, .fd = -1 };
	if (pipe2(fds, O_CLOEXEC) == 0) {
		guard->pid = fork();
		if (guard->pid == 0)
			become_guard(fds[0]);
		close(fds[0]);
		fcntl(fds[1], F_SETFL, O_NONBLOCK);
		guard->fd = fds[1];
	}
	if (guard->pid > 0)
		guard->pidfd = (int) syscall(SYS_pidfd_open, guard->pid, 0);
	if (guard->pidfd < 0)
		report(ROWLOCK_LOG_ERROR,
		       "cannot start the process that guards the command: %s; "
		       "nothing was locked",
		       strerror(errno));
	return guard->pidfd >= 0;
}

/* By its descriptor: it may have ended, and its number be another's. */
static void end(const struct guard *guard)
{
	syscall(SYS_pidfd_send_signal, guard->pidfd, SIGKILL, NULL, 0);
}

static void tell(struct guard *guard, const struct message *message)
{
	ssize_t n;

	do {
		n = write(guard->fd, message, sizeof(*message));
	} while (n < 0 && errno == EINTR);
	guard->gone = n != (ssize_t) sizeof(*message);
	/* It was stopped; when continued it would act on an old time. */
	if (guard->gone)
		end(guard);
}

void guard_set(struct guard *guard, pid_t group, uint64_t due_ms)
{
	struct message message;

	if (due_ms == guard->due)
		return;
	/* The padding also goes over the pipe. */
	memset(&message, 0, sizeof(message));
	message.group = group;
	message.due_ms = due_ms;
	tell(guard, &message);
	guard->due = due_ms;
}

void guard_stop(struct guard *guard)
{
	if (guard->fd < 0)
		return;
	/* Before the pipe's end, which it would take for our death. */
	if (guard->pidfd >= 0)
		end(guard);
	close(guard->fd);
	while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (guard->pidfd >= 0)
		close(guard->pidfd);
	guard->fd = -1;
}
