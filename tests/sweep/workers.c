// SPDX-License-Identifier: MIT
/*
 * Processes side by side.
 *
 * The parent has no threads and no connections: it forks workers that take the
 * next number from a counter in shared memory and write down there what came of
 * it. A worker that dies is told, and replaced.
 */
#include "workers.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_WORKERS = 64, PER_PROCESSOR = 6 };

static struct state {
	_Atomic size_t next;
	_Atomic size_t finished;
	size_t current[MAX_WORKERS]; /* + 1; 0: none */
} * state;

static unsigned int worker_count;
static bool verbose;
static volatile sig_atomic_t interrupted;

/** A worker's exit status: it crashed inside Connector/C. */
enum { IN_DRIVER = 98 };
static void *own_base;

void *workers_share(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED) {
		perror("sweep: mmap");
		exit(99);
	}
	return memory;
}

/* Connector/C believes what it reads: a NULL where the name of a column should
 * be ends it. That is no fault of the library, nor one that it could prevent
 * (TLS does): such a run is counted by itself. */
static void on_crash(int number)
{
	void *frames[16];
	int count = backtrace(frames, 16);
	Dl_info info;

	for (int i = 1; i < count; i++) {
		if (!dladdr(frames[i], &info) || !info.dli_fname ||
		    strstr(info.dli_fname, "/libc.so") ||
		    strstr(info.dli_fname, "san.so") ||
		    info.dli_fbase == own_base)
			continue;
		if (strstr(info.dli_fname, "libmariadb"))
			_exit(IN_DRIVER);
		break;
	}
	signal(number, SIG_DFL);
}

static void watch_crashes(void)
{
	void *frame;
	Dl_info info;

	/* The first call loads a library: not in a handler. */
	backtrace(&frame, 1);
	if (dladdr((void *) (uintptr_t) &on_crash, &info))
		own_base = info.dli_fbase;
	signal(SIGSEGV, on_crash);
	signal(SIGBUS, on_crash);
}

static void work(unsigned int worker, size_t count, work_fn fn)
{
	struct stage *stage = calloc(1, sizeof(*stage));
	size_t number;

	if (!stage)
		exit(99);
	stage->verbose = verbose;
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	watch_crashes();
	stage_open(stage, worker);
	while ((number = atomic_fetch_add(&state->next, 1)) < count) {
		state->current[worker] = number + 1;
		fn(stage, number);
		state->current[worker] = 0;
		atomic_fetch_add(&state->finished, 1);
	}
	stage_close(stage);
	free(stage);
	exit(0);
}

static void show_progress(const char *what, size_t count)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\rsweep: %s %zu of %zu\033[K", what,
			(size_t) state->finished, count);
}

/* In a child: the parent stays without connections. */
void workers_clean(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		stage_drop(worker_count);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static pid_t start(unsigned int worker, size_t count, work_fn fn)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		work(worker, count, fn);
	if (pid < 0) {
		perror("sweep: fork");
		exit(99);
	}
	return pid;
}

static void kill_all(const pid_t *pids, unsigned int workers)
{
	for (unsigned int i = 0; i < workers; i++)
		if (pids[i] > 0)
			kill(pids[i], SIGKILL);
}

/* One worker has ended; true: it has to be replaced. */
static bool ended(unsigned int worker, int status, death_fn death)
{
	size_t current = state->current[worker];

	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		if (!current) {
			fprintf(stderr, "sweep: a worker failed outside of a "
					"run\n");
			interrupted = 1;
			return false;
		}
		death(current - 1, status);
		atomic_fetch_add(&state->finished, 1);
		state->current[worker] = 0;
		return true;
	}
	return false;
}

/* Let @fn run for 0 to @count - 1, side by side. */
void workers_run(const char *what, size_t count, work_fn fn, death_fn death)
{
	unsigned int workers =
	    worker_count < count ? worker_count : (unsigned int) count;
	pid_t pids[MAX_WORKERS] = { 0 };
	unsigned int left = workers;
	int status;

	state->next = 0;
	state->finished = 0;
	for (unsigned int i = 0; i < workers; i++)
		pids[i] = start(i, count, fn);
	while (left > 0) {
		pid_t pid = waitpid(-1, &status, WNOHANG);

		show_progress(what, count);
		if (interrupted)
			kill_all(pids, workers);
		if (pid == 0)
			nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
		for (unsigned int i = 0; pid > 0 && i < workers; i++) {
			if (pids[i] != pid)
				continue;
			pids[i] = 0;
			if (ended(i, status, death) && !interrupted)
				pids[i] = start(i, count, fn);
			else
				left--;
		}
	}
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	if (interrupted) {
		workers_clean();
		exit(130);
	}
}

void workers_died_of(int status, char *problem, size_t size)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		snprintf(problem, size, "it hung");
	else if (WIFSIGNALED(status))
		snprintf(problem, size, "it died of signal %d (%s)",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(problem, size, "it ended with status %d",
			 WEXITSTATUS(status));
}

bool workers_died_in_driver(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == IN_DRIVER;
}

static void interrupt(int number)
{
	(void) number;
	interrupted = 1;
}

void workers_init(unsigned int count, bool talkative)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	worker_count =
	    count ? count : PER_PROCESSOR * (unsigned int) processors;
	if (worker_count > MAX_WORKERS)
		worker_count = MAX_WORKERS;
	verbose = talkative;
	state = workers_share(sizeof(*state));
	signal(SIGINT, interrupt);
	signal(SIGTERM, interrupt);
}
