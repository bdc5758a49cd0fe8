/* SPDX-License-Identifier: MIT */
/*
 * There are two processes: the one that was started becomes the command; its
 * keeper, an orphan, acquires the lock, sends its heartbeats, and releases it
 * when that process has ended in any way.
 *
 * Failure modes: if the first one ends while it waits, the keeper's wait ends.
 * A keeper that is killed leaves a lock that expires, as after a crash, and a
 * command that does not notice it.
 */
#include "run/in_place.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/report.h"
#include "run/environment.h"

/* The keeper's message; small enough for a pipe to carry it in one piece. */
struct word {
	int code; /* -1 if held, else the exit code */
	uint64_t tokens[ROWLOCK_MULTILOCK_MAX];
	uint64_t attempt; /* hold_attempt() */
	char guard_sql[ROWLOCK_GUARD_SQL_SIZE];
};

struct keeper {
	struct request *request;
	struct signals signals;
	int ward; /* pidfd of the process that it keeps the lock for */
	int out;  /* where the word goes */
	int lost_fd;
};

/* The reader may be gone, which watch() sees next. */
static void tell(const struct keeper *keeper, const struct word *word)
{
	ssize_t n;

	do {
		n = write(keeper->out, word, sizeof(*word));
	} while (n < 0 && errno == EINTR);
	close(keeper->out);
}

/* Wait until the ward has ended or the lock is lost. Returns true if lost. */
static bool watch(struct keeper *keeper)
{
	struct pollfd fds[] = {
		{ .fd = keeper->ward, .events = POLLIN },
		{ .fd = keeper->lost_fd, .events = POLLIN },
	};

	while (poll(fds, RLK_ARRAY_SIZE(fds), -1) < 0) {
		if (errno != EINTR)
			abort();
	}
	return !fds[0].revents;
}

/* Returns -1, or the exit code. */
static int fill(struct task *task, struct acquisition *acquisition,
		struct word *word)
{
	struct rowlock_errinfo error;
	int code = task_tokens(task, acquisition, word->tokens);

	word->attempt = hold_attempt(&acquisition->hold);
	if (code >= 0 || !task->guarded ||
	    hold_guard_sql(&acquisition->hold, task->guarded_by_call,
			   word->guard_sql, sizeof(word->guard_sql),
			   &error) == 0)
		return code;
	report(ROWLOCK_LOG_ERROR, "%s: %s", task->title, error.message);
	return EXIT_FAILED;
}

static void hold(struct keeper *keeper, struct acquisition *acquisition)
{
	struct task *task = &keeper->request->task;
	struct word word = { .code = -1 };

	rowlock_on_lost(acquisition->hold.lock, hold_lost, &keeper->lost_fd);
	word.code = fill(task, acquisition, &word);
	if (word.code < 0)
		task_tell(task, acquisition, word.tokens[0]);
	tell(keeper, &word);
	task->lost = word.code < 0 && watch(keeper);
	if (task->lost)
		report_event(
		    JOURNAL_LOST, task->name, ROWLOCK_LOG_ERROR,
		    "%s: the lock '%s' on %s was lost (%s); the command "
		    "runs on without it",
		    task->title, task->name, acquisition->hold.server,
		    hold_loss(acquisition->hold.lock));
	rowlock_on_lost(acquisition->hold.lock, NULL, NULL);
	task_release(task, acquisition, EXIT_DONE);
	if (task->lost)
		acquisition_leave(acquisition, EXIT_LOST);
}

static void keep(struct keeper *keeper)
{
	char program[256];
	_cleanup_(acquisition_fini) struct acquisition acquisition =
	    task_acquisition(&keeper->request->task, program, sizeof(program));
	struct word word = { .code = EXIT_FAILED };
	int signal;

	acquisition.quit_signal = SIGHUP;
	acquisition.quit_fd = keeper->ward;
	acquisition.quit_events = POLLIN;
	signal = acquisition_run(&acquisition, &keeper->signals);
	if (acquisition.result == 0 && !signal) {
		hold(keeper, &acquisition);
		return;
	}
	if (acquisition.result == 0)
		task_release(&keeper->request->task, &acquisition, EXIT_DONE);
	else if (!signal)
		word.code = request_not_acquired(keeper->request, &acquisition);
	tell(keeper, &word);
}

/* Output and input belong to the command: their readers must see its end. */
static void leave_standard_descriptors(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	close(null);
}

static void become_keeper(struct keeper *keeper)
{
	leave_standard_descriptors();
	/* Its command line cannot be changed: the names are used from there. */
	prctl(PR_SET_NAME, "rowlock-keeper");
	keeper->lost_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (keeper->lost_fd >= 0 && signals_start(&keeper->signals))
		keep(keeper);
	report_flush();
	_exit(EXIT_DONE);
}

/* Fork twice, so that the keeper is not a child of the command. */
static bool start(struct keeper *keeper)
{
	pid_t pid = fork();

	if (pid == 0) {
		setsid();
		if (fork() == 0)
			become_keeper(keeper);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return pid > 0;
}

static int execute(struct task *task, const struct word *word)
{
	char **environment = environment_new(&(struct environment_of){
	    .names = task->names,
	    .tokens = word->tokens,
	    .count = task->name_count,
	    .strategy = task->lock.strategy,
	    .attempt = word->attempt,
	    .guard = task->guarded ? word->guard_sql : NULL,
	    .command = task->argv[0],
	});
	int error;

	if (!environment) {
		report(ROWLOCK_LOG_ERROR,
		       "%s: out of memory; '%s' was not started", task->title,
		       task->argv[0]);
		return EXIT_FAILED;
	}
	execvpe(task->argv[0], task->argv, environment);
	error = errno;
	report(ROWLOCK_LOG_ERROR, "cannot execute '%s': %s%s", task->argv[0],
	       strerror(error),
	       strchr(task->argv[0], ' ') ? "; use -c for a shell command"
					  : "");
	return error == ENOENT || error == ENOTDIR ? 127 : 126;
}

int in_place_run(struct request *request)
{
	struct keeper keeper = { .request = request, .signals = { .fd = -1 } };
	struct word word;
	int fds[2] = { -1, -1 };
	ssize_t n;

	/* The kernel ends all others with it. */
	if (getpid() == 1) {
		report(ROWLOCK_LOG_ERROR,
		       "run: --no-supervise: the command would be process 1, "
		       "whose end is the keeper's, so that nobody would "
		       "release '%s': leave out --no-supervise",
		       request->task.name);
		return EXIT_FAILED;
	}
	/* It is close-on-exec, as the pipe is. */
	keeper.ward = (int) syscall(SYS_pidfd_open, getpid(), 0);
	if (keeper.ward < 0 || pipe2(fds, O_CLOEXEC) < 0) {
		report(ROWLOCK_LOG_ERROR,
		       "run: --no-supervise: no descriptor for '%s': %s; "
		       "nothing was locked",
		       request->task.name, strerror(errno));
		return EXIT_FAILED;
	}
	keeper.out = fds[1];
	if (!start(&keeper)) {
		report(ROWLOCK_LOG_ERROR,
		       "run: --no-supervise: cannot start a process that "
		       "holds '%s': %s; nothing was locked",
		       request->task.name, strerror(errno));
		return EXIT_FAILED;
	}
	close(fds[1]);
	do {
		n = read(fds[0], &word, sizeof(word));
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t) sizeof(word)) {
		report(ROWLOCK_LOG_ERROR,
		       "run: the process that was to hold '%s' has ended; the "
		       "command was not started",
		       request->task.name);
		return EXIT_FAILED;
	}
	return word.code >= 0 ? word.code : execute(&request->task, &word);
}
