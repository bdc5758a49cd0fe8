/* SPDX-License-Identifier: MIT */
/*
 * sim - play worlds until so many lock cycles are done, or a promise is broken.
 */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app.h"
#include "fault.h"
#include "judge.h"
#include "locks.h"
#include "packet.h"
#include "scheduler.h"
#include "sim.h"
#include "sql.h"
#include "tables_private.h"
#include "trace.h"
#include "world.h"

#ifdef SIM_VALGRIND
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

struct sim_options sim_options = {
	.cycles = 1000000,
	.world = UINT64_MAX,
};

static int lines = 60;
static uint64_t worlds;

static const char usage[] =
    "Usage: sim [OPTION]...\n"
    "\n"
    "Plays the library in simulated worlds: its own threads and clients over\n"
    "a simulated server, network and clock, all driven by one seed.\n"
    "\n"
    "  --cycles N        until N locks were acquired and released (1000000)\n"
    "  --seed S          the run's seed; without it one is drawn and printed\n"
    "  --strategy WHICH  lease, row or both (both)\n"
    "  --commits         only worlds in which transactions are committed "
    "whose\n"
    "                    answers are lost or late\n"
    "  --runs            only worlds in which jobs are run, by every other "
    "hold\n"
    "  --world W         only this world of the run, as a violation names it\n"
    "  --last N          print the last N events of a violation (60)\n"
    "  --verbose         print every event as it happens\n"
    "  --report          print how often each fault, statement and result was\n"
    "  --help\n"
    "\n"
    "The last line is the number of cycles, of worlds, and cycles per second\n"
    "of processor time. Exit status: 0, or 1 if a promise was broken\n"
    "or it was interrupted.\n";

_Noreturn void sim_violation(const char *format, ...)
{
	va_list args;

	if (!sim_verbose)
		sim_trace_print((unsigned int) lines);
	printf("\nsim: VIOLATION at %" PRId64 " ns: ", sim_now * 1000);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\nsim: world %" PRIu64 " of seed %" PRIu64 ", after %" PRIu64
	       " cycles of it and %" PRIu64
	       " of the run\nsim: again: sim --seed %" PRIu64
	       " --world %" PRIu64 "%s%s --last 1000\n",
	       sim_world.number, sim_options.seed, sim_world.cycles, sim_cycles,
	       sim_options.seed, sim_world.number,
	       sim_options.strategy == 1   ? " --strategy lease"
	       : sim_options.strategy == 2 ? " --strategy row"
					   : "",
	       sim_options.commits ? " --commits"
	       : sim_options.runs  ? " --runs"
				   : "");
	fflush(stdout);
	_exit(1);
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

static void report(void)
{
	static const char *const calls[SIM_CALLS] = {
		"client_new", "acquire",    "release",    "begin",
		"commit",     "commit_rel", "acquire_in", "draw_in",
		"fence",      "once_begin", "once_end",   "others",
	};

	for (int i = 0; i < SIM_FAULTS; i++)
		printf("fault %-24s %" PRIu64 "\n",
		       sim_fault_name((enum sim_fault_kind) i),
		       sim_fault_counts[i]);
	for (int i = 0; i < SIM_VERBS; i++)
		printf("statement %-20s %" PRIu64 "\n",
		       sim_verb_name((enum sim_verb) i), sim_verb_counts[i]);
	printf("packets %" PRIu64 " of %" PRIu64 " requests, the largest of "
	       "%" PRIu64 "; of several statements %" PRIu64
	       ", answered in part %" PRIu64 "\n",
	       sim_packet_counts.packets, sim_packet_counts.rows,
	       sim_packet_counts.largest, sim_packet_counts.mixed,
	       sim_packet_counts.halves);
	printf("bells waited for %" PRIu64 ", rung %" PRIu64 " (nobody was "
	       "there any more %" PRIu64 "), given up %" PRIu64
	       ", got and interrupted %" PRIu64 ", lost with their connection "
	       "%" PRIu64 ", let go by %" PRIu64 " (a writer waited for them "
	       "%" PRIu64 ")\n",
	       sim_bell_counts.waits, sim_bell_counts.woken,
	       sim_bell_counts.ghosts, sim_bell_counts.ended,
	       sim_bell_counts.slipped, sim_bell_counts.lost,
	       sim_bell_counts.passed, sim_bell_counts.drained);
	printf(
	    "rows of leases kept by transactions %" PRIu64 " (%" PRIu64
	    " committed under a hold that was lost by our clock), met by who "
	    "waited %" PRIu64 " (in vain %" PRIu64 "), by who did not %" PRIu64
	    ", deadlocks %" PRIu64 "\n",
	    sim_lock_counts.taken, sim_app_late_commits, sim_lock_counts.met,
	    sim_lock_counts.timeouts, sim_lock_counts.refused,
	    sim_lock_counts.deadlocks);
	for (int call = 0; call < SIM_CALLS; call++)
		for (int code = 0; code < SIM_CODES; code++)
			if (sim_app_codes[call][code])
				printf("%-12s %3d %-40s %" PRIu64 "\n",
				       calls[call], -code,
				       code ? rowlock_strerror(-code) : "done",
				       sim_app_codes[call][code]);
	printf("cycles lease %" PRIu64 " row %" PRIu64 " handed over %" PRIu64
	       " steps %" PRIu64 "\n",
	       sim_cycles_by[0], sim_cycles_by[1], sim_passes, sim_steps);
}

static void show_progress(void)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr,
			"\rsim: %" PRIu64 " cycles in %" PRIu64 " worlds ",
			sim_cycles, worlds);
}

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
	(void) number;
	interrupted = 1;
}

/* Ctrl-C ends it after the world that is being played; then it has not passed.
 */
static void play(void)
{
	signal(SIGINT, interrupt);
	signal(SIGTERM, interrupt);
	while (sim_cycles < sim_options.cycles && !interrupted) {
		sim_world_play(sim_options.seed, worlds++);
		if (worlds % 64 == 0)
			show_progress();
	}
	if (isatty(STDERR_FILENO))
		fputc('\n', stderr);
}

static uint64_t number(const char *option, const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (strchr(text, 'e') && !*end && value >= 0 && value < 1e18)
		return (uint64_t) value; /* 1e8 */
	value = 0;
	if (*text >= '0' && *text <= '9') {
		uint64_t whole = strtoull(text, &end, 10);

		if (!*end)
			return whole;
	}
	fprintf(stderr, "sim: --%s wants a number, not '%s'\n", option, text);
	exit(2);
}

static unsigned int strategy(const char *text)
{
	static const char *const names[] = { "both", "lease", "row" };

	for (unsigned int i = 0; i < 3; i++)
		if (strcmp(text, names[i]) == 0)
			return i;
	fprintf(stderr, "sim: --strategy is lease, row or both, not '%s'\n",
		text);
	exit(2);
}

static bool parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "cycles", required_argument, NULL, 'c' },
		{ "seed", required_argument, NULL, 's' },
		{ "strategy", required_argument, NULL, 'y' },
		{ "world", required_argument, NULL, 'w' },
		{ "last", required_argument, NULL, 'l' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "report", no_argument, NULL, 'r' },
		{ "commits", no_argument, NULL, 'm' },
		{ "runs", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	bool wants_report = false;
	int option;

	sim_options.seed =
	    (uint64_t) time(NULL) * 1000003 % 1000000000 + (uint64_t) getpid();
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			sim_options.cycles = number("cycles", optarg);
			break;
		case 's':
			sim_options.seed = number("seed", optarg);
			break;
		case 'y':
			sim_options.strategy = strategy(optarg);
			break;
		case 'w':
			sim_options.world = number("world", optarg);
			break;
		case 'l':
			lines = (int) number("last", optarg);
			break;
		case 'v':
			sim_verbose = true;
			break;
		case 'r':
			wants_report = true;
			break;
		case 'm':
			sim_options.commits = true;
			break;
		case 'j':
			sim_options.runs = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			fputs(usage, stderr);
			exit(2);
		}
	}
	return wants_report;
}

/* Under valgrind a step takes a hundred times longer. */
static void be_modest(void)
{
	if (RUNNING_ON_VALGRIND)
		sim_options.cycles /= 200;
}

int main(int argc, char **argv)
{
	bool wants_report = parse(argc, argv);
	double seconds;

	be_modest();
	sim_peek_begin();

	printf("sim: seed %" PRIu64 "\n", sim_options.seed);
	fflush(stdout);
	if (sim_options.world != UINT64_MAX) {
		sim_world_play(sim_options.seed, sim_options.world);
		worlds = 1;
	} else {
		play();
	}
	seconds = cpu_seconds();
	if (wants_report)
		report();
	printf("sim: %" PRIu64 " cycles in %" PRIu64 " worlds, %.0f per second"
	       " of processor time, seed %" PRIu64 "\n",
	       sim_cycles, worlds, (double) sim_cycles / seconds,
	       sim_options.seed);
	sim_peek_end();
	return interrupted ? 1 : 0;
}
