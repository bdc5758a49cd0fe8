// SPDX-License-Identifier: MIT
/*
 * The sweep: list the runs, share them among processes (workers.c), count. The
 * output is TAP, a case per call and strategy.
 */
#include "sweep.h"
#include "workers.h"

#include <fnmatch.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

enum { MAX_SUITES = 112, ID_SIZE = 128 };

/** A call under a strategy. */
struct suite {
	const struct scenario *scenario;
	enum rowlock_strategy strategy;
	enum tried tried;
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
	bool missed;
	int code;
	char problem[400];
};

static struct shared {
	size_t suite_count;
	struct suite suites[MAX_SUITES];
} * shared;

static struct job *jobs;
static size_t job_count;
static struct outcome *outcomes; /* shared */

static struct {
	const char *only;
	const char *lot; /* NULL: all runs */
	bool full, list, table, verbose;
	unsigned int workers, seed;
} wanted = { .seed = 1 };

static const char *strategy_name(const struct suite *suite)
{
	static const char *const tried[] = {
		[TRIED_SET] = "sets",          [TRIED_READER] = "reader",
		[TRIED_WRITER] = "writer",     [TRIED_PERMITS] = "permits",
		[TRIED_ELECTION] = "election", [TRIED_KEPT] = "kept",
	};

	if (suite->tried != TRIED_LOCK)
		return tried[suite->tried];
	return suite->strategy == ROWLOCK_LEASE ? "lease" : "row";
}

static void id_of(const struct job *job, char *id)
{
	const struct suite *suite = &shared->suites[job->suite];
	const struct target *target = &suite->targets[job->target];

	snprintf(id, ID_SIZE, "%s/%s/%u-%s/%s", strategy_name(suite),
		 suite->scenario->name, job->target + 1u, target->command,
		 kinds[job->kind].name);
}

/* -------------------------------------------------------- what there is */

static void add_suite(const struct scenario *scenario,
		      enum rowlock_strategy strategy, enum tried tried)
{
	if (shared->suite_count == MAX_SUITES)
		abort();
	shared->suites[shared->suite_count++] = (struct suite){
		.scenario = scenario,
		.strategy = strategy,
		.tried = tried,
	};
}

static void list_suites(void)
{
	for (size_t i = 0; i < scenario_count; i++) {
		const struct scenario *scenario = &scenarios[i];

		if (scenario->with & WITH_LEASE)
			add_suite(scenario, ROWLOCK_LEASE, TRIED_LOCK);
		if (scenario->with & WITH_SETS)
			add_suite(scenario, ROWLOCK_LEASE, TRIED_SET);
		if (scenario->with & WITH_SIDES) {
			add_suite(scenario, ROWLOCK_LEASE, TRIED_READER);
			add_suite(scenario, ROWLOCK_LEASE, TRIED_WRITER);
		}
		if (scenario->with & WITH_PERMITS)
			add_suite(scenario, ROWLOCK_LEASE, TRIED_PERMITS);
		if (scenario->with & WITH_ELECTION)
			add_suite(scenario, ROWLOCK_LEASE, TRIED_ELECTION);
		if (scenario->with & WITH_KEPT)
			add_suite(scenario, ROWLOCK_LEASE, TRIED_KEPT);
		if (scenario->only)
			add_suite(scenario, ROWLOCK_LEASE, scenario->only);
		if (scenario->with & WITH_ROW)
			add_suite(scenario, ROWLOCK_ROW, TRIED_LOCK);
	}
}

/* May a run of it have a name that is wanted? The first two words tell. */
static bool is_wanted(const struct suite *suite)
{
	const char *rest = wanted.only ? strchr(wanted.only, '/') : NULL;
	char pattern[ID_SIZE], id[ID_SIZE];

	rest = rest ? strchr(rest + 1, '/') : NULL;
	if (!rest)
		return true;
	snprintf(pattern, sizeof(pattern), "%.*s", (int) (rest - wanted.only),
		 wanted.only);
	snprintf(id, sizeof(id), "%s/%s", strategy_name(suite),
		 suite->scenario->name);
	return fnmatch(pattern, id, 0) == 0;
}

static void look(struct stage *stage, size_t number)
{
	struct suite *suite = &shared->suites[number];

	if (!is_wanted(suite))
		return;
	stage->tried = suite->tried;
	suite->count = run_without_fault(stage, suite->scenario,
					 suite->strategy, suite->targets);
	snprintf(suite->problem, sizeof(suite->problem), "%s", stage->problem);
	suite->looked = true;
}

static void look_died(size_t number, int status)
{
	struct suite *suite = &shared->suites[number];

	workers_died_of(status, suite->problem, sizeof(suite->problem));
}

/* One of three: by another lot, others. */
static bool is_drawn(const char *id)
{
	const char *texts[] = { wanted.lot, id };
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < TEST_SIZE(texts); i++)
		for (const char *at = texts[i]; *at; at++)
			hash = (hash ^ (unsigned char) *at) * 16777619u;
	return (hash ^ hash >> 15) % 3 == 0;
}

static void add_job(unsigned int suite, unsigned int target, unsigned int kind)
{
	struct job job = { (unsigned short) suite, (unsigned short) target,
			   (unsigned short) kind };
	char id[ID_SIZE];

	id_of(&job, id);
	if (wanted.only ? fnmatch(wanted.only, id, 0) != 0
			: wanted.lot && !is_drawn(id))
		return;
	if (job_count % 1024 == 0)
		jobs = realloc(jobs, (job_count + 1024) * sizeof(*jobs));
	if (!jobs)
		abort();
	jobs[job_count++] = job;
}

/* The two sides of a read/write lock, permits, and leadership are asked for as
 * leases are: most kinds of faults only with --full. */
static bool is_meant(const struct suite *suite, unsigned int target,
		     unsigned int kind)
{
	bool full = wanted.full || wanted.only;
	bool like_leases =
	    suite->tried != TRIED_LOCK && suite->tried != TRIED_SET;

	if (like_leases && !full && !kinds[kind].main)
		return false;
	return run_is_meant(suite->scenario, &suite->targets[target],
			    &kinds[kind], full);
}

static void list_jobs(void)
{
	for (unsigned int s = 0; s < shared->suite_count; s++) {
		const struct suite *suite = &shared->suites[s];

		for (unsigned int t = 0; t < suite->count; t++)
			for (unsigned int k = 0; k < kind_count; k++)
				if (is_meant(suite, t, k))
					add_job(s, t, k);
	}
}

/* ------------------------------------------------------------------- runs */

static void do_job(struct stage *stage, size_t number)
{
	const struct job *job = &jobs[number];
	const struct suite *suite = &shared->suites[job->suite];
	struct outcome *outcome = &outcomes[number];

	stage->tried = suite->tried;
	/* The same run is the same, whatever ran before. */
	stage->seed = wanted.seed * 1000003 + job->suite * 10007u +
		      job->target * 101u + job->kind;
	outcome->failed = !run_with_fault(
	    stage, suite->scenario, suite->strategy,
	    &suite->targets[job->target], &kinds[job->kind], &outcome->measure);
	outcome->code = stage->code;
	outcome->repeated = stage->repeated;
	outcome->missed = stage->missed;
	stage->repeated = 0;
	stage->missed = false;
	snprintf(outcome->problem, sizeof(outcome->problem), "%.399s",
		 stage->problem);
	outcome->done = true;
}

static void job_died(size_t number, int status)
{
	const struct kind *kind = &kinds[jobs[number].kind];

	outcomes[number].done = true;
	outcomes[number].in_driver =
	    kind->effect == EFFECT_LIED && workers_died_in_driver(status);
	if (outcomes[number].in_driver)
		return;
	outcomes[number].failed = true;
	workers_died_of(status, outcomes[number].problem,
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
	size_t missed = 0;
	size_t count = 0;

	for (size_t i = 0; i < job_count; i++) {
		if (jobs[i].suite != s)
			continue;
		count++;
		missed += outcomes[i].missed;
		failed += outcomes[i].failed;
		if (outcomes[i].failed)
			explain(i);
	}
	if (*suite->problem)
		printf("# without a fault: %s\n", suite->problem);
	/* One may have no place any more; not all of them. */
	if (missed && missed == count && !wanted.only && !wanted.lot) {
		printf("# no fault came to pass\n");
		failed++;
	}
	printf("%s %zu - %s (%s) at %zu round trips\n",
	       failed ? "not ok" : "ok", s + 1, suite->scenario->name,
	       strategy_name(suite), suite->count);
	printf("# %zu runs, %zu failed\n", count, failed);
	*runs += count;
	return failed;
}

static void figures(void)
{
	struct measure most = { 0 };
	unsigned int in_driver = 0;
	unsigned int repeated = 0;
	unsigned int missed = 0;

	for (size_t i = 0; i < job_count; i++) {
		const struct measure *measure = &outcomes[i].measure;

		in_driver += outcomes[i].in_driver;
		repeated += outcomes[i].repeated;
		missed += outcomes[i].missed;
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
	if (missed)
		printf("# %u without a fault: its place was not reached "
		       "again\n",
		       missed);
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
	if (wanted.lot)
		printf("# a third of the runs, by ROWLOCK_TEST_LOT=%s\n",
		       wanted.lot);
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
    "  --help\n"
    "\n"
    "With ROWLOCK_TEST_LOT=WORD it plays a third of the runs, drawn by the "
    "word.\n";

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
}

int main(int argc, char **argv)
{
	uint64_t began = test_now_ns();
	int status;

	wanted.lot = getenv("ROWLOCK_TEST_LOT");
	read_options(argc, argv);
	if (!test_dsn() || !getenv("ROWLOCK_TEST_ADMIN_DSN"))
		return test_skip_all("needs a server, and an account that may "
				     "make databases: ROWLOCK_TEST_DSN, "
				     "ROWLOCK_TEST_ADMIN_DSN");
	workers_init(wanted.workers, wanted.verbose);
	shared = workers_share(sizeof(*shared));
	list_suites();
	workers_run("looking at", shared->suite_count, look, look_died);
	list_jobs();
	if (wanted.list) {
		workers_clean();
		return print_list();
	}
	outcomes = workers_share((job_count + 1) * sizeof(*outcomes));
	workers_run("run", job_count, do_job, job_died);
	workers_clean();
	status = report(test_ms(began, test_now_ns()) / 1000);
	free(jobs);
	return status;
}
