/* SPDX-License-Identifier: MIT */
/*
 * The guard of a command, or of a program that is told of its lock.
 *
 * It waits for messages on a pipe, and for the time in the last one. The pipe's
 * end is our death. Normally we kill it in the end. Failure modes: if the guard
 * itself is killed, no command is started; a running command goes on without a
 * guard, which is reported, and nothing else changes. One that is stopped is
 * killed when its pipe is full: we wait for it at no time. A program that does
 * not read its words sees the end of the output.
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
#include "common/sink.h"
#include "run/deadline.h"
#include "run/timer.h"

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

/* The guard's side. */
struct watch {
	int in;
	int timer;
	int pidfd; /* of the process that is guarded */
	const struct guard_words *words;
};

static void speak(const char *words)
{
	struct sink sink;
	ssize_t n;

	sink_init(&sink, STDOUT_FILENO);
	n = sink_put(&sink, words, strlen(words));
	(void) n;
}

/* It has not moved the time. */
static void be_late(const struct watch *watch, const struct message *message)
{
	if (!watch->words) {
		kill(-message->group, SIGKILL);
		return;
	}
	/* Its next line, once it is continued, would come too late. */
	syscall(SYS_pidfd_send_signal, watch->pidfd, SIGKILL, NULL, 0);
	speak(watch->words->stopped);
}

/* It is dead. */
static void be_left(const struct watch *watch, const struct message *message)
{
	if (watch->words && message->due_ms > 0)
		speak(watch->words->killed);
	if (message->group > 0)
		end_orphans(message->group);
}

static void serve(const struct watch *watch)
{
	struct pollfd fds[] = {
		{ .fd = watch->in, .events = POLLIN },
		{ .fd = watch->timer, .events = POLLIN },
	};
	struct message message = { 0 }, next;
	ssize_t n;

	for (;;) {
		if (poll(fds, 2, -1) < 0)
			continue;
		/* Read a message first: it may have moved the time. */
		if (!fds[0].revents) {
			be_late(watch, &message);
			return;
		}
		n = read(watch->in, &next, sizeof(next));
		if (n != (ssize_t) sizeof(next)) {
			be_left(watch, &message);
			return;
		}
		message = next;
		timer_set(watch->timer, TFD_TIMER_ABSTIME, message.due_ms);
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
static void become_guard(int in, int parent, const struct guard_words *words)
{
	struct watch watch = { .in = 3, .pidfd = 4, .words = words };

	show_name();
	/* Signals to our group or from the terminal are not for the guard. All
	 * signals that can be blocked are. */
	setsid();
	/* Out of the way of each other. */
	in = fcntl(in, F_DUPFD_CLOEXEC, 5);
	parent = fcntl(parent, F_DUPFD_CLOEXEC, 5);
	if (dup2(in, watch.in) < 0 || dup2(parent, watch.pidfd) < 0)
		_exit(1);
	syscall(SYS_close_range, 5, ~0u, 0); /* musl has no function */
	close(STDIN_FILENO);
	if (!words)
		close(STDOUT_FILENO);
	close(STDERR_FILENO);
	watch.timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
	serve(&watch);
	_exit(0);
}

static int pidfd_of(pid_t pid)
{
	return (int) syscall(SYS_pidfd_open, pid, 0);
}

bool guard_start(struct guard *guard, const struct guard_words *words)
{
	int fds[2], self = pidfd_of(getpid());

	*guard = (struct guard){ .pid = -1, .pidfd = -1, .fd = -1 };
	if (self >= 0 && pipe2(fds, O_CLOEXEC) == 0) {
		guard->pid = fork();
		if (guard->pid == 0)
			become_guard(fds[0], self, words);
		close(fds[0]);
		fcntl(fds[1], F_SETFL, O_NONBLOCK);
		guard->fd = fds[1];
	}
	if (guard->pid > 0)
		guard->pidfd = pidfd_of(guard->pid);
	if (guard->pidfd < 0)
		report(ROWLOCK_LOG_ERROR,
		       "cannot start the guard's process: %s; nothing was "
		       "locked",
		       strerror(errno));
	if (self >= 0)
		close(self);
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
	if (guard->gone && guard->due > 0 && !guard->missed) {
		guard->missed = true;
		report(ROWLOCK_LOG_WARNING,
		       "the guard's process was killed: if this one is stopped "
		       "or killed, nothing ends or tells in time what relies "
		       "on the lock");
	}
	guard->due = due_ms;
}

bool guard_is_due(const struct guard *guard, uint64_t now_ms)
{
	return guard->due > 0 && now_ms >= guard->due;
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
