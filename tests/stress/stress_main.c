// SPDX-License-Identifier: MIT
/*
 * stress [OPTION]...: let processes with threads compete for a few names, and
 * leave the history of what they saw in a directory for `check` to judge.
 *
 * The parent opens nothing; it starts the processes, kills and stops some if
 * told to, and ends the run. With --number it is one process of a run that
 * somebody else directs, and goes on until SIGTERM. Exit status 1 if a process
 * did not end well.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "worker.h"

#define MOST_PROCESSES 256

struct crew {
	const struct plan *plan;
	struct signs *signs;
	struct history *history;
	pid_t pids[MOST_PROCESSES];
	unsigned int number_of[MOST_PROCESSES]; /* of who is in a place */
	unsigned int last;                      /* number given to a process */
	unsigned int seed;
};

static const char usage[] =
    "Usage: stress --dir DIR [OPTION]...\n"
    "  --strategy row|lease   (lease)   --processes N    (8)\n"
    "  --threads N            (8)       --names N        (4)\n"
    "  --seconds N            (10)      --think-us N     at most (2000)\n"
    "  --ttl-ms N             (30000)   --prefix TEXT    of the names\n"
    "  --no-token             draw none --token-with-grant\n"
    "  --kills N              processes killed by SIGKILL and replaced\n"
    "  --stops N              processes stopped for two TTLs\n"
    "  --mixed                all kinds of calls, and some long holds, by lot\n"
    "  --observe              believe beats, not the server's clock\n"
    "  --tls-unverified       talk to another host all the same\n"
    "  --call-ms N            bound of calls without one (60000)\n"
    "  --reap-ms N            reaper's interval (60000)\n"
    "  --seed N               of the lots (1)\n"
    "  --number N             be process N, from 1, of another's run; with\n"
    "                         --threads 0 it does nothing but reap\n"
    "The server is that of ROWLOCK_TEST_DSN or ROWLOCK_DSN. Of several nodes,\n"
    "in ROWLOCK_TEST_NODES with blanks between, each process takes the next.\n";

static void nap_ms(unsigned int ms)
{
	struct timespec time = { ms / 1000, (long) (ms % 1000) * 1000000 };

	while (nanosleep(&time, &time) && errno == EINTR)
		;
}

/* The connection string of a process; called once in each. */
static const char *dsn_of(const struct plan *plan, unsigned int number)
{
	const char *nodes = getenv("ROWLOCK_TEST_NODES");
	static char text[2048];
	char *rest = text, *dsns[8];
	unsigned int count = 0;

	if (!nodes)
		return plan->dsn;
	snprintf(text, sizeof(text), "%s", nodes);
	while (count < 8 && (dsns[count] = strsep(&rest, " ")))
		count++;
	return dsns[number % count];
}

static int live(const struct crew *crew, unsigned int number)
{
	struct plan plan = *crew->plan;

	plan.dsn = dsn_of(&plan, number);
	return worker_process(&plan, crew->signs, number);
}

static void start_one(struct crew *crew, unsigned int place)
{
	unsigned int number = ++crew->last;
	pid_t pid = fork();

	if (pid < 0) {
		perror("stress: fork");
		exit(1);
	}
	if (!pid)
		exit(live(crew, number));
	crew->pids[place] = pid;
	crew->number_of[place] = number;
}

/* All begin together, or a late one would look starved. */
static int await_ready(struct crew *crew)
{
	unsigned int i;
	int status;

	while (atomic_load(&crew->signs->ready) < crew->plan->processes) {
		for (i = 0; i < crew->plan->processes; i++)
			if (waitpid(crew->pids[i], &status, WNOHANG) > 0)
				return -1;
		nap_ms(5);
	}
	atomic_store(&crew->signs->go, 1);
	return 0;
}

static void kill_one(struct crew *crew)
{
	unsigned int place =
	    (unsigned int) rand_r(&crew->seed) % crew->plan->processes;
	int status;

	history_write(crew->history, history_now(), 0,
		      "fault kind=kill target=%u", crew->number_of[place]);
	kill(crew->pids[place], SIGKILL);
	waitpid(crew->pids[place], &status, 0);
	start_one(crew, place);
}

static void stop_one(struct crew *crew)
{
	unsigned int place =
	    (unsigned int) rand_r(&crew->seed) % crew->plan->processes;

	history_write(crew->history, history_now(), 0,
		      "fault kind=stop target=%u", crew->number_of[place]);
	kill(crew->pids[place], SIGSTOP);
	nap_ms((unsigned int) crew->plan->ttl_ms * 2);
	kill(crew->pids[place], SIGCONT);
	history_write(crew->history, history_now(), 0,
		      "heal kind=stop target=%u", crew->number_of[place]);
}

static void disturb(struct crew *crew)
{
	unsigned int faults = crew->plan->kills + crew->plan->stops;
	unsigned int pause = crew->plan->seconds * 1000 / (faults + 1);
	unsigned int kills = crew->plan->kills, stops = crew->plan->stops;

	nap_ms(pause);
	while (kills || stops) {
		if (kills) {
			kills--;
			kill_one(crew);
			nap_ms(pause);
		}
		if (stops) {
			stops--;
			stop_one(crew);
			nap_ms(pause);
		}
	}
}

static int finish(struct crew *crew)
{
	int status, failed = 0;
	unsigned int i;

	atomic_store(&crew->signs->stop, 1);
	for (i = 0; i < crew->plan->processes; i++) {
		if (waitpid(crew->pids[i], &status, 0) != crew->pids[i])
			continue;
		if (WIFEXITED(status) && !WEXITSTATUS(status))
			continue;
		fprintf(stderr, "stress: a process ended with status %#x\n",
			(unsigned int) status);
		failed = 1;
	}
	return failed;
}

static const struct option options[] = {
	{ "strategy", required_argument, NULL, 's' },
	{ "processes", required_argument, NULL, 'p' },
	{ "threads", required_argument, NULL, 't' },
	{ "names", required_argument, NULL, 'n' },
	{ "seconds", required_argument, NULL, 'S' },
	{ "think-us", required_argument, NULL, 'u' },
	{ "ttl-ms", required_argument, NULL, 'T' },
	{ "dir", required_argument, NULL, 'd' },
	{ "prefix", required_argument, NULL, 'P' },
	{ "no-token", no_argument, NULL, 'N' },
	{ "token-with-grant", no_argument, NULL, 'g' },
	{ "kills", required_argument, NULL, 'k' },
	{ "stops", required_argument, NULL, 'z' },
	{ "mixed", no_argument, NULL, 'm' },
	{ "observe", no_argument, NULL, 'o' },
	{ "call-ms", required_argument, NULL, 'c' },
	{ "reap-ms", required_argument, NULL, 'r' },
	{ "seed", required_argument, NULL, 'x' },
	{ "tls-unverified", no_argument, NULL, 'V' },
	{ "number", required_argument, NULL, '#' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static unsigned int *number_of(struct plan *plan, int option)
{
	switch (option) {
	case 'p':
		return &plan->processes;
	case 't':
		return &plan->threads;
	case 'n':
		return &plan->names;
	case 'S':
		return &plan->seconds;
	case 'u':
		return &plan->think_us;
	case 'k':
		return &plan->kills;
	case 'z':
		return &plan->stops;
	case '#':
		return &plan->number;
	default:
		return NULL;
	}
}

static uint64_t *long_number_of(struct plan *plan, int option)
{
	switch (option) {
	case 'T':
		return &plan->ttl_ms;
	case 'c':
		return &plan->call_ms;
	case 'r':
		return &plan->reap_ms;
	case 'x':
		return &plan->seed;
	default:
		return NULL;
	}
}

static bool *flag_of(struct plan *plan, int option)
{
	switch (option) {
	case 'g':
		return &plan->token_with_grant;
	case 'm':
		return &plan->mixed;
	case 'o':
		return &plan->observe;
	case 'V':
		return &plan->tls_unverified;
	default:
		return NULL;
	}
}

static int take_text(struct plan *plan, int option)
{
	if (option == 's' && !strcmp(optarg, "row"))
		plan->strategy = ROWLOCK_ROW;
	else if (option == 's' && !strcmp(optarg, "lease"))
		plan->strategy = ROWLOCK_LEASE;
	else if (option == 'd')
		plan->dir = optarg;
	else if (option == 'P')
		plan->prefix = optarg;
	else
		return -1;
	return 0;
}

static int take(struct plan *plan, int option)
{
	unsigned int *number = number_of(plan, option);
	uint64_t *long_number = long_number_of(plan, option);
	bool *flag = flag_of(plan, option);

	if (number)
		*number = (unsigned int) strtoul(optarg, NULL, 10);
	else if (long_number)
		*long_number = strtoull(optarg, NULL, 10);
	else if (flag)
		*flag = true;
	else if (option == 'N')
		plan->token = false;
	else
		return take_text(plan, option);
	return 0;
}

static int parse(int argc, char **argv, struct plan *plan)
{
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (take(plan, option))
			return -1;
	plan->dsn = getenv("ROWLOCK_TEST_DSN");
	if (!plan->dsn || !*plan->dsn)
		plan->dsn = getenv("ROWLOCK_DSN");
	if (optind != argc || !plan->dir || !plan->names ||
	    (!plan->threads && !plan->number))
		return -1;
	return plan->processes && plan->processes <= MOST_PROCESSES ? 0 : -1;
}

/* ------------------------------------------------ of another's run */

static struct signs *own_signs;

static void come_to_an_end(int signal)
{
	(void) signal;
	atomic_store(&own_signs->stop, 1);
}

/* Dies with who directs the run. */
static int be_one(struct plan *plan, struct signs *signs)
{
	struct sigaction action = { .sa_handler = come_to_an_end };

	own_signs = signs;
	sigaction(SIGTERM, &action, NULL);
	signal(SIGINT, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	atomic_store(&signs->go, 1);
	plan->patient = true;
	return worker_process(plan, signs, plan->number);
}

static int run_all(struct crew *crew)
{
	unsigned int i;
	int failed;

	crew->history = history_open(crew->plan->dir, 0);
	if (!crew->history)
		return 1;
	for (i = 0; i < crew->plan->processes; i++)
		start_one(crew, i);
	if (!await_ready(crew))
		disturb(crew);
	failed = finish(crew);
	history_close(crew->history);
	return failed;
}

int main(int argc, char **argv)
{
	struct plan plan = { .prefix = "stress-",
			     .processes = 8,
			     .threads = 8,
			     .names = 4,
			     .seconds = 10,
			     .think_us = 2000,
			     .ttl_ms = 30000,
			     .call_ms = 60000,
			     .reap_ms = 60000,
			     .seed = 1,
			     .token = true };
	struct crew crew = { .plan = &plan, .seed = 1 };

	if (parse(argc, argv, &plan)) {
		fputs(usage, stderr);
		return 2;
	}
	crew.signs = mmap(NULL, sizeof(*crew.signs), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (crew.signs == MAP_FAILED) {
		perror("stress: mmap");
		return 1;
	}
	return plan.number ? be_one(&plan, crew.signs) : run_all(&crew);
}
