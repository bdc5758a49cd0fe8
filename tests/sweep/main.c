// SPDX-License-Identifier: MIT
/*
 * The sweep: list the runs, share them among processes, count.
 *
 * The parent has no threads and no connections: it forks workers that take the
 * next run from a counter in shared memory and write down there what came of
 * it. A worker that dies is one failed run, and is replaced. The output is
 * TAP, a case per call and strategy.
 */
#include "sweep.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fnmatch.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

enum { MAX_WORKERS = 64, MAX_SUITES = 64, ID_SIZE = 128, LEAST_WORKERS = 4 };

/** A call under a strategy. */
struct suite {
	const struct scenario *scenario;
	enum rowlock_strategy strategy;
	bool looked; /* the run without a fault came to its end */
	char problem[512];
	size_t count;
	struct target targets[MAX_TARGETS];
};

struct job {
	unsigned short suite, target, kind;
};

struct outcome {
	bool done, failed, in_driver;
	struct measure measure;
	unsigned int repeated;
	int code;
	char problem[400];
};

static struct shared {
	_Atomic size_t next;
	_Atomic size_t finished;
	size_t current[MAX_WORKERS]; /* + 1; 0: none */
	size_t suite_count;
	struct suite suites[MAX_SUITES];
} * shared;

static struct job *jobs;
static size_t job_count;
static struct outcome *outcomes; /* shared */

static struct {
	const char *only;
	bool full, list, table, verbose;
	unsigned int workers, seed;
} wanted = { .seed = 1 };

static volatile sig_atomic_t interrupted;

/** A worker's exit status: it crashed inside Connector/C. */
enum { IN_DRIVER = 98 };
static void *own_base;

static const char *strategy_name(enum rowlock_strategy strategy)
{
	return strategy == ROWLOCK_LEASE ? "lease" : "row";
}

static void id_of(const struct job *job, char *id)
{
	const struct suite *suite = &shared->suites[job->suite];
	const struct target *target = &suite->targets[job->target];

	snprintf(id, ID_SIZE, "%s/%s/%u-%s/%s", strategy_name(suite->strategy),
		 suite->scenario->name, job->target + 1u, target->command,
		 kinds[job->kind].name);
}

static void *share(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED) {
		perror("sweep: mmap");
		exit(99);
	}
	return memory;
}

/* ---------------------------------------------------------------- workers */

typedef void (*work_fn)(struct stage *stage, size_t number);

/* What takes so long hangs; SIGALRM ends the worker. */
static void guard(const struct stage *stage)
{
	alarm(4 * GUARD_MS / 1000 * stage->slow);
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
	stage->verbose = wanted.verbose;
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	watch_crashes();
	stage_open(stage, worker);
	while ((number = atomic_fetch_add(&shared->next, 1)) < count) {
		shared->current[worker] = number + 1;
		guard(stage);
		fn(stage, number);
		shared->current[worker] = 0;
		atomic_fetch_add(&shared->finished, 1);
	}
	stage_close(stage);
	free(stage);
	exit(0);
}

static void show_progress(const char *what, size_t count)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\rsweep: %s %zu of %zu\033[K", what,
			(size_t) shared->finished, count);
}

/* Note for what a dead worker was at. */
typedef void (*death_fn)(size_t number, int status);

/* In a child: the parent stays without connections. */
static void clean(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		stage_drop(wanted.workers);
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
	size_t current = shared->current[worker];

	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		if (!current) {
			fprintf(stderr, "sweep: a worker failed outside of a "
					"run\n");
			interrupted = 1;
			return false;
		}
		death(current - 1, status);
		atomic_fetch_add(&shared->finished, 1);
		shared->current[worker] = 0;
		return true;
	}
	return false;
}

/* Let @fn run for 0 to @count - 1, side by side. */
static void in_parallel(const char *what, size_t count, work_fn fn,
			death_fn death)
{
	unsigned int workers =
	    wanted.workers < count ? wanted.workers : (unsigned int) count;
	pid_t pids[MAX_WORKERS] = { 0 };
	unsigned int left = workers;
	int status;

	shared->next = 0;
	shared->finished = 0;
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
		clean();
		exit(130);
	}
}

static void died_of(int status, char *problem, size_t size)
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

/* -------------------------------------------------------- what there is */

static void list_suites(void)
{
	for (size_t i = 0; i < scenario_count; i++) {
		const struct scenario *scenario = &scenarios[i];

		if (scenario->lease)
			shared->suites[shared->suite_count++] = (struct suite){
				.scenario = scenario,
				.strategy = ROWLOCK_LEASE,
			};
		if (scenario->row)
			shared->suites[shared->suite_count++] = (struct suite){
				.scenario = scenario,
				.strategy = ROWLOCK_ROW,
			};
	}
}

static void look(struct stage *stage, size_t number)
{
	struct suite *suite = &shared->suites[number];

	suite->count = run_without_fault(stage, suite->scenario,
					 suite->strategy, suite->targets);
	snprintf(suite->problem, sizeof(suite->problem), "%s", stage->problem);
	suite->looked = true;
}

static void look_died(size_t number, int status)
{
	struct suite *suite = &shared->suites[number];

	died_of(status, suite->problem, sizeof(suite->problem));
}

static void add_job(unsigned int suite, unsigned int target, unsigned int kind)
{
	struct job job = { (unsigned short) suite, (unsigned short) target,
			   (unsigned short) kind };
	char id[ID_SIZE];

	id_of(&job, id);
	if (wanted.only && fnmatch(wanted.only, id, 0) != 0)
		return;
	if (job_count % 1024 == 0)
		jobs = realloc(jobs, (job_count + 1024) * sizeof(*jobs));
	if (!jobs)
		abort();
	jobs[job_count++] = job;
}

static void list_jobs(void)
{
	for (unsigned int s = 0; s < shared->suite_count; s++) {
		const struct suite *suite = &shared->suites[s];

		for (unsigned int t = 0; t < suite->count; t++)
			for (unsigned int k = 0; k < kind_count; k++)
				if (run_is_meant(suite->scenario,
						 &suite->targets[t], &kinds[k],
						 wanted.full || wanted.only))
					add_job(s, t, k);
	}
}

/* ------------------------------------------------------------------- runs */

static void do_job(struct stage *stage, size_t number)
{
	const struct job *job = &jobs[number];
	const struct suite *suite = &shared->suites[job->suite];
	struct outcome *outcome = &outcomes[number];

	/* The same run is the same, whatever ran before. */
	stage->seed = wanted.seed * 1000003 + job->suite * 10007u +
		      job->target * 101u + job->kind;
	outcome->failed = !run_with_fault(
	    stage, suite->scenario, suite->strategy,
	    &suite->targets[job->target], &kinds[job->kind], &outcome->measure);
	outcome->code = stage->code;
	outcome->repeated = stage->repeated;
	stage->repeated = 0;
	snprintf(outcome->problem, sizeof(outcome->problem), "%.399s",
		 stage->problem);
	outcome->done = true;
}

static void job_died(size_t number, int status)
{
	const struct kind *kind = &kinds[jobs[number].kind];

	outcomes[number].done = true;
	outcomes[number].in_driver = kind->effect == EFFECT_LIED &&
				     WIFEXITED(status) &&
				     WEXITSTATUS(status) == IN_DRIVER;
	if (outcomes[number].in_driver)
		return;
	outcomes[number].failed = true;
	died_of(status, outcomes[number].problem,
		sizeof(outcomes[number].problem));
}

/* ---------------------------------------------------------------- results */

static void explain(size_t number)
{
	const struct job *job = &jobs[number];
	const struct suite *suite = &shared->suites[job->suite];
	char id[ID_SIZE];

	id_of(job, id);
	printf("# sweep --seed %u --only %s: %s\n#   at: %s\n", wanted.seed, id,
	       outcomes[number].problem, suite->targets[job->target].pattern);
}

static size_t report_suite(size_t s, size_t *runs)
{
	const struct suite *suite = &shared->suites[s];
	size_t failed = !!*suite->problem;
	size_t count = 0;

	for (size_t i = 0; i < job_count; i++) {
		if (jobs[i].suite != s)
			continue;
		count++;
		failed += outcomes[i].failed;
		if (outcomes[i].failed)
			explain(i);
	}
	if (*suite->problem)
		printf("# without a fault: %s\n", suite->problem);
	printf("%s %zu - %s (%s) at %zu round trips\n",
	       failed ? "not ok" : "ok", s + 1, suite->scenario->name,
	       strategy_name(suite->strategy), suite->count);
	printf("# %zu runs, %zu failed\n", count, failed);
	*runs += count;
	return failed;
}

static void figures(void)
{
	struct measure most = { 0 };
	unsigned int in_driver = 0;
	unsigned int repeated = 0;

	for (size_t i = 0; i < job_count; i++) {
		const struct measure *measure = &outcomes[i].measure;

		in_driver += outcomes[i].in_driver;
		repeated += outcomes[i].repeated;
		if (measure->late_ms > most.late_ms)
			most.late_ms = measure->late_ms;
		if (measure->rival_ms > most.rival_ms)
			most.rival_ms = measure->rival_ms;
		if (measure->links_ms > most.links_ms)
			most.links_ms = measure->links_ms;
	}
	printf("# at most %.0f ms behind a call's deadline; another client "
	       "waited %.0f ms; connections were gone after %.0f ms\n",
	       most.late_ms, most.rival_ms, most.links_ms);
	printf("# %u repeated: the machine was too slow, or a fault did not "
	       "come to pass\n",
	       repeated);
	if (in_driver)
		printf("# %u garbled replies ended Connector/C itself\n",
		       in_driver);
	test_figure(most.late_ms, "ms",
		    "sweep: a call behind its deadline, at most");
	test_figure(most.rival_ms, "ms",
		    "sweep: until another client got the lock after a fault, "
		    "at most (TTL and idle bound %d ms)",
		    TTL_MS);
}

/* What came out, by call and kind: to see what the table should say. */
static void print_table(void)
{
	for (size_t i = 0; i < job_count; i++) {
		char id[ID_SIZE];

		id_of(&jobs[i], id);
		printf("# %-60s %3d %6.0f %6.0f %s\n", id, outcomes[i].code,
		       outcomes[i].measure.late_ms,
		       outcomes[i].measure.rival_ms,
		       shared->suites[jobs[i].suite]
			   .targets[jobs[i].target]
			   .pattern);
	}
}

static int report(double seconds)
{
	size_t failed = 0;
	size_t runs = 0;

	printf("1..%zu\n", shared->suite_count);
	for (size_t s = 0; s < shared->suite_count; s++)
		failed += report_suite(s, &runs);
	printf("# %zu runs in %.0f s, %zu failed\n", runs, seconds, failed);
	test_figure((double) runs, "", "sweep: runs, one fault each");
	figures();
	if (wanted.table)
		print_table();
	return failed ? 1 : 0;
}

static int print_list(void)
{
	for (size_t i = 0; i < job_count; i++) {
		char id[ID_SIZE];

		id_of(&jobs[i], id);
		printf("%s\t%s\n", id,
		       shared->suites[jobs[i].suite]
			   .targets[jobs[i].target]
			   .pattern);
	}
	return 0;
}

/* ----------------------------------------------------------- command line */

static const char usage[] =
    "Usage: sweep [OPTION]...\n"
    "\n"
    "Each call of the library at each of its round trips with each kind of\n"
    "fault: one fault per run. Needs a server, ROWLOCK_TEST_DSN, and somebody\n"
    "who may make databases there, ROWLOCK_TEST_ADMIN_DSN.\n"
    "\n"
    "  --only PATTERN  only runs whose name matches (a shell pattern), of all\n"
    "                  kinds; a failed run is printed with its name\n"
    "  --full          more kinds of faults, at more places\n"
    "  --jobs N        so many at a time; default 6 per processor\n"
    "  --seed N        which bytes are garbled; default 1\n"
    "  --list          print the names of the runs and what is said there\n"
    "  --table         print what came of each run\n"
    "  --verbose       print the library's log\n"
    "  --help\n";

static const struct option options[] = {
	{ "only", required_argument, NULL, 'o' },
	{ "full", no_argument, NULL, 'f' },
	{ "jobs", required_argument, NULL, 'j' },
	{ "seed", required_argument, NULL, 's' },
	{ "list", no_argument, NULL, 'l' },
	{ "table", no_argument, NULL, 't' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static void read_options(int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'o':
			wanted.only = optarg;
			break;
		case 'f':
			wanted.full = true;
			break;
		case 'j':
			wanted.workers = (unsigned int) atoi(optarg);
			break;
		case 's':
			wanted.seed = (unsigned int) atoi(optarg);
			break;
		case 'l':
			wanted.list = true;
			break;
		case 't':
			wanted.table = true;
			break;
		case 'v':
			wanted.verbose = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			exit(2);
		}
	}
	if (!wanted.workers)
		wanted.workers =
		    6 * (unsigned int) sysconf(_SC_NPROCESSORS_ONLN);
	if (wanted.workers > MAX_WORKERS)
		wanted.workers = MAX_WORKERS;
}

static void interrupt(int number)
{
	(void) number;
	interrupted = 1;
}

int main(int argc, char **argv)
{
	uint64_t began = test_now_ns();
	int status;

	read_options(argc, argv);
	if (!test_dsn() || !getenv("ROWLOCK_TEST_ADMIN_DSN"))
		return test_skip_all("needs a server, and an account that may "
				     "make databases: ROWLOCK_TEST_DSN, "
				     "ROWLOCK_TEST_ADMIN_DSN");
	signal(SIGINT, interrupt);
	signal(SIGTERM, interrupt);
	shared = share(sizeof(*shared));
	list_suites();
	in_parallel("looking at", shared->suite_count, look, look_died);
	list_jobs();
	if (wanted.list) {
		clean();
		return print_list();
	}
	outcomes = share((job_count + 1) * sizeof(*outcomes));
	in_parallel("run", job_count, do_job, job_died);
	clean();
	status = report(test_ms(began, test_now_ns()) / 1000);
	free(jobs);
	return status;
}
