// SPDX-License-Identifier: MIT
/*
 * raw [OPTION]... DSN...: what a Galera cluster's word is worth, in plain SQL
 * and without the library. Threads on all nodes compete for a few names in a
 * table like business_lease (raw_worker.c).
 *
 * Each mode, a way to say the same statements, has a line of counts. Two are
 * known to lie, where the node runs again what has failed its certification
 * (wsrep_retry_autocommit is 1, the default); the library uses neither, and
 * their lies are reported. One of any other fails the program.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "raw.h"

#define MOST_NODES 9

static const struct mode modes[] = {
	{ "transaction", TRANSACTION, 1, true },
	{ "transaction-once", TRANSACTION, 0, false },
	{ "statements", STATEMENTS, 1, false },
	{ "statements-once", STATEMENTS, 0, false },
	{ "trips", TRIPS, 1, false },
	{ "trips-once", TRIPS, 0, false },
	{ "returning", RETURNING, 1, true },
	{ "returning-once", RETURNING, 0, false },
	{ "prepared", PREPARED, 1, false },
	{ "prepared-once", PREPARED, 0, false },
};

/* ------------------------------------------------------------------ modes */

static void clear_table(const struct plan *plan)
{
	MYSQL *mysql = raw_open_node(plan, 0);

	raw_do(mysql, "CREATE TABLE IF NOT EXISTS raw_lease ("
		      "name VARCHAR(100) COLLATE utf8mb4_bin NOT NULL, "
		      "slot INT UNSIGNED NOT NULL, "
		      "attempt BIGINT UNSIGNED NOT NULL, "
		      "acquired_at DATETIME(6) NOT NULL, "
		      "PRIMARY KEY (name, slot)) ENGINE=InnoDB "
		      "DEFAULT CHARACTER SET utf8mb4");
	raw_do(mysql, "DELETE FROM raw_lease");
	mysql_close(mysql);
}

static void drop_table(const struct plan *plan)
{
	MYSQL *mysql = raw_open_node(plan, 0);

	raw_do(mysql, "DROP TABLE IF EXISTS raw_lease");
	mysql_close(mysql);
}

/* All have let go of all that they had. */
static uint64_t count_rows(const struct plan *plan)
{
	MYSQL *mysql = raw_open_node(plan, 0);
	struct answer answer;

	raw_do(mysql, "SET SESSION wsrep_sync_wait = 7");
	answer = raw_query(mysql, "SELECT COUNT(*) FROM raw_lease");
	mysql_close(mysql);
	return answer.returned;
}

static void add_counts(struct counts *sum, const struct counts *more)
{
	sum->grants += more->grants;
	sum->conflicts += more->conflicts;
	sum->absent += more->absent;
	sum->others += more->others;
	sum->left += more->left;
	sum->ghosts += more->ghosts;
	sum->silent += more->silent;
}

static struct counts run_threads(struct run *run)
{
	struct timespec time = { (time_t) run->plan->seconds, 0 };
	unsigned int n = run->plan->threads;
	struct worker *workers = calloc(n, sizeof(*workers));
	struct counts sum = { 0 };
	unsigned int i;

	if (!workers)
		raw_give_up("threads", "out of memory");
	for (i = 0; i < n; i++) {
		workers[i].run = run;
		workers[i].number = i;
		workers[i].seed = i + 1;
		raw_open_worker(&workers[i]);
	}
	for (i = 0; i < n; i++)
		if (pthread_create(&workers[i].id, NULL, raw_work, &workers[i]))
			raw_give_up("threads", "the system refuses one");
	nanosleep(&time, NULL);
	atomic_store(&run->stop, true);
	for (i = 0; i < n; i++) {
		pthread_join(workers[i].id, NULL);
		raw_close_worker(&workers[i]);
		add_counts(&sum, &workers[i].counts);
	}
	free(workers);
	return sum;
}

static uint64_t count_lies(const struct counts *counts)
{
	return counts->absent + counts->others + counts->left;
}

static bool is_wrong(const struct mode *mode, const struct counts *sum)
{
	return !mode->lies && (count_lies(sum) || sum->silent);
}

static void report(const struct mode *mode, const struct counts *sum)
{
	printf("%-16s %7" PRIu64 " grants, %7" PRIu64 " conflicts, %5" PRIu64
	       " lies (%" PRIu64 " nobody's, %" PRIu64 " another's, %" PRIu64
	       " rows left)",
	       mode->name, sum->grants, sum->conflicts, count_lies(sum),
	       sum->absent, sum->others, sum->left);
	if (sum->ghosts)
		printf(", %" PRIu64 " rows in spite of a conflict",
		       sum->ghosts);
	if (sum->silent)
		printf(", %" PRIu64 " without an answer", sum->silent);
	printf("%s\n", mode->lies            ? "; known to lie"
		       : is_wrong(mode, sum) ? "; MUST NOT"
					     : "");
	fflush(stdout);
}

/* Returns false if it lied and is not known to. */
static bool play(const struct plan *plan, const struct mode *mode)
{
	struct run *run = calloc(1, sizeof(*run));
	struct counts sum;

	if (!run)
		raw_give_up("run", "out of memory");
	run->plan = plan;
	run->mode = mode;
	clear_table(plan);
	sum = run_threads(run);
	sum.left += count_rows(plan);
	free(run);
	report(mode, &sum);
	return sum.grants && !is_wrong(mode, &sum);
}

/* ----------------------------------------------------------- command line */

static void usage(void)
{
	printf("Usage: raw [OPTION]... DSN...\n\n"
	       "  --seconds N    for each mode; default 10\n"
	       "  --threads N    default 12, 1 to %d\n"
	       "  --names N      default 2\n"
	       "  --sync-wait N  wsrep_sync_wait of those who ask; default 7\n"
	       "  --only MODE    one mode instead of all of these:\n",
	       MOST_THREADS);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		printf("                 %s%s\n", modes[i].name,
		       modes[i].lies ? " (known to lie)" : "");
	printf("\nA DSN for each node. Exit status 1 if a mode lies that must "
	       "not.\n");
}

static unsigned int number_of(const char *text, unsigned int most)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (!*text || *end || number > most)
		raw_give_up(text, "not a number that is allowed here");
	return (unsigned int) number;
}

static void parse(struct plan *plan, int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 's' },
		{ "threads", required_argument, NULL, 't' },
		{ "names", required_argument, NULL, 'n' },
		{ "sync-wait", required_argument, NULL, 'w' },
		{ "only", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 's')
			plan->seconds = number_of(optarg, 86400);
		else if (option == 't')
			plan->threads = number_of(optarg, MOST_THREADS);
		else if (option == 'n')
			plan->names = number_of(optarg, 1000);
		else if (option == 'w')
			plan->sync_wait = number_of(optarg, 15);
		else if (option == 'o')
			plan->only = optarg;
		else {
			usage();
			exit(option == 'h' ? 0 : 1);
		}
	}
	plan->dsns = argv + optind;
	plan->nodes = (unsigned int) (argc - optind);
	if (!plan->nodes || plan->nodes > MOST_NODES || !plan->threads ||
	    !plan->names) {
		usage();
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct plan plan = {
		.threads = 12, .names = 2, .seconds = 10, .sync_wait = 7
	};
	unsigned int played = 0;
	bool sound = true;

	parse(&plan, argc, argv);
	if (mysql_library_init(0, NULL, NULL))
		raw_give_up("Connector/C", "cannot be initialised");
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (plan.only && strcmp(plan.only, modes[i].name) != 0)
			continue;
		played++;
		sound &= play(&plan, &modes[i]);
	}
	if (!played)
		raw_give_up(plan.only, "no such mode; see --help");
	drop_table(&plan);
	mysql_library_end();
	return sound ? 0 : 1;
}
