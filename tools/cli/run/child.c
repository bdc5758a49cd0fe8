/* SPDX-License-Identifier: MIT */
/*
 * Start, signal and await a process group.
 *
 * Between fork and exec only async-signal-safe calls are made, as other threads
 * exist. Parent and child both set the group, so that it exists whichever runs
 * first. The child executes the command at child_go(). Failure modes: fork (no
 * process), exec (126: found but not executable, 127: not found, as a shell
 * does).
 */
#include "run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "common/outbox.h"
#include "common/report.h"

/* A line, which is written in one piece so that it cannot lose a part. */
struct line {
	char text[4096];
	size_t size;
};

/* Add @text, of which half a line is enough. */
static void say(const char *text, struct line *line)
{
	size_t room = sizeof(line->text) - line->size;
	size_t size = strnlen(text, sizeof(line->text) / 2);

	if (size > room)
		size = room;
	memcpy(line->text + line->size, text, size);
	line->size += size;
}

/* From a table, without memory of its own; so is musl's strerror(). */
static const char *describe(int error)
{
#ifdef __GLIBC__
	return strerrordesc_np(error);
#else
	return strerror(error);
#endif
}

/* In the child: report() would allocate memory. */
static void fail_exec(const char *name, int error)
{
	const char *reason = describe(error);
	struct line line = { .size = 0 };

	say(report_priority(ROWLOCK_LOG_ERROR), &line);
	say("rowlock: cannot execute '", &line);
	say(name, &line);
	say("': ", &line);
	say(reason ? reason : "unknown error", &line);
	if (strchr(name, ' '))
		say("; use -c for a shell command", &line);
	say("\n", &line);
	outbox_put_now(line.text, line.size);
	_exit(error == ENOENT || error == ENOTDIR ? 127 : 126);
}

/* Wait for child_go(). The parent's death means no; signals sent to us
 * meanwhile wait for signals_restore(). */
static void await_go(const int fds[2])
{
	ssize_t n;
	char go;

	close(fds[1]);
	do {
		n = read(fds[0], &go, sizeof(go));
	} while (n < 0 && errno == EINTR);
	if (n != sizeof(go))
		_exit(EXIT_FAILED);
}

static void become(const struct child_command *command,
		   const struct signals *signals)
{
	signals_restore(signals);
	execvpe(command->argv[0], command->argv, command->environment);
	fail_exec(command->argv[0], errno);
}

bool child_start(struct child *child, const struct child_command *command,
		 const struct signals *signals, struct terminal *terminal)
{
	bool give = terminal->at_once && terminal_is_ours(terminal);
	int fds[2] = { -1, -1 };
	pid_t pid = -1;

	*child = (struct child){ .pid = -1, .go = -1 };
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (pipe2(fds, O_CLOEXEC) == 0)
		pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		if (give)
			terminal_give(terminal, getpid());
		await_go(fds);
		become(command, signals);
	}
	if (fds[0] >= 0)
		close(fds[0]);
	child->go = fds[1];
	if (pid < 0) {
		report(ROWLOCK_LOG_ERROR,
		       "cannot start a process for '%s': %s; it was not run",
		       command->argv[0], strerror(errno));
		return false;
	}
	/* Fails if the child has executed its program, having done it
	 * itself. */
	setpgid(pid, pid);
	if (give)
		terminal_give(terminal, pid);
	child->pid = pid;
	return true;
}

void child_go(struct child *child)
{
	const char go = 1;
	ssize_t n;

	/* The child may have been killed meanwhile: SIGPIPE is ignored. */
	do {
		n = write(child->go, &go, sizeof(go));
	} while (n < 0 && errno == EINTR);
	child_fini(child);
}

void child_fini(struct child *child)
{
	if (child->go >= 0)
		close(child->go);
	child->go = -1;
}

bool child_signal(const struct child *child, int signal)
{
	return kill(-child->pid, signal) == 0 || errno == ESRCH;
}

static void note(struct child *child, const siginfo_t *info)
{
	if (info->si_pid != child->pid)
		return;
	switch (info->si_code) {
	case CLD_EXITED:
		child->ended = true;
		child->code = info->si_status;
		break;
	case CLD_KILLED:
	case CLD_DUMPED:
		child->ended = true;
		child->code = EXIT_SIGNAL + info->si_status;
		child->killed = info->si_status;
		break;
	case CLD_STOPPED:
		child->stopped = info->si_status;
		break;
	case CLD_CONTINUED:
		child->stopped = 0;
		break;
	}
}

void child_reap(struct child *child)
{
	siginfo_t info = { 0 };

	while (waitid(P_ALL, 0, &info,
		      WEXITED | WSTOPPED | WCONTINUED | WNOHANG) == 0 &&
	       info.si_pid != 0) {
		note(child, &info);
		info.si_pid = 0;
	}
}

bool child_group_is_alive(const struct child *child)
{
	return kill(-child->pid, 0) == 0 || errno == EPERM;
}
