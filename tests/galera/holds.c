// SPDX-License-Identifier: MIT
/*
 * holds [OPTION]... DSN...: do leases exclude each other on a Galera cluster?
 * Clients on all nodes, threads in each, acquire a few names, with hand-over
 * between threads and without, with the token drawn by the grant, later, or not
 * at all. All of it is one process, so a word per name tells who believes to
 * hold it.
 *
 * Violations: two who hold one name, by their own clock; a token that is not
 * larger than the last one drawn before; a hold that the server does not know
 * of; an acquire that waits for ever, which is what a row does that nobody will
 * remove; and rows that are there when all have been given back. Any of them
 * makes the exit status 1, and so does an error where no fault was injected.
 */
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <rowlock/admin.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_NODES 9
#define MOST_NAMES 64
#define WAIT_MS 120000 /* longer than any queue of a sound run */
#define CLEAN_S 60     /* in which clients remove what is in doubt */
#define FEW_PASSES 3   /* of clients that hand over */
#define CODES 32       /* more than there are ROWLOCK_E* */
#define PREFIX "galera-holds-"

struct plan {
	char **dsns;
	unsigned int nodes;
	unsigned int clients; /* on each node */
	unsigned int threads; /* of each client */
	unsigned int names;
	uint64_t holds;
	uint64_t seed;
};

/* Who believes to hold a name, and what was drawn. */
struct name {
	char text[64];
	_Atomic uint64_t holder; /* a serial number; 0: nobody */
	_Atomic uint64_t token;
};

struct counts {
	_Atomic uint64_t holds;
	_Atomic uint64_t tokens;
	_Atomic uint64_t doubles;
	_Atomic uint64_t disorders; /* tokens out of order */
	_Atomic uint64_t unknown;   /* to the server */
	_Atomic uint64_t lost;
	_Atomic uint64_t stuck; /* names that could not be had */
	_Atomic uint64_t errors[CODES];
};

struct run {
	const struct plan *plan;
	struct name names[MOST_NAMES];
	struct counts counts;
	_Atomic uint64_t serial;
	_Atomic uint64_t taken; /* holds that somebody is about to have */
	atomic_uint working;
};

struct worker {
	struct run *run;
	struct rowlock *locks[MOST_NAMES];
	pthread_t id;
	unsigned int seed;
	bool draws; /* in each hold; the grant does if false */
};

static void give_up(const char *what, const char *why)
{
	fprintf(stderr, "holds: %s: %s\n", what, why);
	exit(1);
}

/* ---------------------------------------------------------------- a hold */

/* The first few of each kind are told. */
static void tell(_Atomic uint64_t *count, const char *name, const char *what)
{
	if (atomic_fetch_add(count, 1) < 3)
		fprintf(stderr, "holds: %s: %s\n", name, what);
}

static void failed(struct worker *worker, int code,
		   const struct rowlock_errinfo *err)
{
	_Atomic uint64_t *errors = worker->run->counts.errors;

	tell(&errors[-code % CODES], "error", err->message);
}

/* The holds before it are over, so their tokens are known. */
static void judge_token(struct run *run, struct name *name, uint64_t token)
{
	uint64_t last = atomic_load(&name->token);

	atomic_fetch_add(&run->counts.tokens, 1);
	if (token <= last)
		tell(&run->counts.disorders, name->text, "token out of order");
	while (last < token &&
	       !atomic_compare_exchange_weak(&name->token, &last, token))
		;
}

static void draw(struct worker *worker, struct name *name, struct rowlock *lock)
{
	struct rowlock_errinfo err;
	int held = rowlock_held(lock);
	uint64_t token;
	int code = rowlock_token(lock, &token, &err);

	if (code == 0)
		judge_token(worker->run, name, token);
	else if (code != ROWLOCK_ELOST)
		failed(worker, code, &err);
	else if (held)
		tell(&worker->run->counts.unknown, name->text,
		     "held, and no token for it");
}

static void verify(struct worker *worker, struct name *name,
		   struct rowlock *lock)
{
	struct rowlock_errinfo err;
	int held = rowlock_held(lock);
	int code = rowlock_verify(lock, &err);

	if (code == ROWLOCK_ELOST && held)
		tell(&worker->run->counts.unknown, name->text,
		     "held, and not there for the server");
	else if (code && code != ROWLOCK_ELOST)
		failed(worker, code, &err);
}

static void think(struct worker *worker, unsigned int most_us)
{
	unsigned int us = (unsigned int) rand_r(&worker->seed) % most_us;
	struct timespec time = { 0, (long) us * 1000 };

	nanosleep(&time, NULL);
}

/* Whoever finds another's serial when he leaves was not alone, unless his hold
 * was over. */
static void use(struct worker *worker, struct name *name, struct rowlock *lock)
{
	struct counts *counts = &worker->run->counts;
	uint64_t me = atomic_fetch_add(&worker->run->serial, 1) + 1;
	uint64_t found = me;

	atomic_store(&name->holder, me);
	if (worker->draws ? rand_r(&worker->seed) % 2 : 1)
		draw(worker, name, lock);
	if (rand_r(&worker->seed) % 4 == 0)
		think(worker, 2000);
	if (rand_r(&worker->seed) % 8 == 0)
		verify(worker, name, lock);
	if (!rowlock_held(lock))
		tell(&counts->lost, name->text, "lost");
	else if (!atomic_compare_exchange_strong(&name->holder, &found, 0))
		tell(&counts->doubles, name->text, "held by two");
}

static void cycle(struct worker *worker)
{
	unsigned int i =
	    (unsigned int) rand_r(&worker->seed) % worker->run->plan->names;
	struct name *name = &worker->run->names[i];
	struct rowlock *lock = worker->locks[i];
	struct rowlock_errinfo err;
	int code = rowlock_acquire(lock, WAIT_MS, &err);

	if (code == ROWLOCK_ETIMEDOUT) {
		tell(&worker->run->counts.stuck, name->text, err.message);
		return;
	}
	if (code) {
		failed(worker, code, &err);
		return;
	}
	use(worker, name, lock);
	code = rowlock_release(lock, &err);
	if (code && code != ROWLOCK_ELOST)
		failed(worker, code, &err);
	atomic_fetch_add(&worker->run->counts.holds, 1);
}

static bool go_on(struct run *run)
{
	return atomic_load(&run->counts.stuck) == 0 &&
	       atomic_fetch_add(&run->taken, 1) < run->plan->holds;
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	while (go_on(worker->run)) {
		cycle(worker);
		think(worker, 500);
	}
	atomic_fetch_sub(&worker->run->working, 1);
	return NULL;
}

/* -------------------------------------------------------------- the crowd */

/* Every second client hands a name over between its threads, the others ask
 * the server each time. */
static struct rowlock_client *open_client(const struct plan *plan,
					  unsigned int number)
{
	struct rowlock_client_options options = ROWLOCK_CLIENT_OPTIONS_DEFAULT;
	struct rowlock_client *client;
	struct rowlock_errinfo err;

	options.dsn = plan->dsns[number % plan->nodes];
	options.program = "rowlock-galera-holds";
	if (number / plan->nodes % 2)
		options.handover_passes = FEW_PASSES;
	else
		options.flags |= ROWLOCK_NO_HANDOVER;
	options.flags |= ROWLOCK_NO_REAPER;
	options.call_timeout_ms = 30000;
	if (rowlock_client_new(&options, &client, &err))
		give_up("client", err.message);
	return client;
}

static void make_worker(struct worker *worker, struct run *run,
			struct rowlock_client *client, unsigned int number)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_errinfo err;

	worker->run = run;
	worker->seed = (unsigned int) run->plan->seed * 1000003u + number;
	worker->draws = number % 2;
	options.flags = worker->draws ? 0 : ROWLOCK_TOKEN_WITH_GRANT;
	for (unsigned int i = 0; i < run->plan->names; i++)
		if (rowlock_new(client, run->names[i].text, &options,
				&worker->locks[i], &err))
			give_up("lock", err.message);
	if (pthread_create(&worker->id, NULL, work, worker))
		give_up("threads", "the system refuses one");
}

static void show_progress(struct run *run)
{
	struct timespec time = { 0, 200000000 };

	while (atomic_load(&run->working)) {
		nanosleep(&time, NULL);
		if (isatty(STDERR_FILENO))
			fprintf(stderr, "\rholds: %" PRIu64 " of %" PRIu64 " ",
				atomic_load(&run->counts.holds),
				run->plan->holds);
	}
	if (isatty(STDERR_FILENO))
		fputc('\n', stderr);
}

static int count_entry(const struct rowlock_entry *entry, void *arg)
{
	uint64_t *rows = arg;

	if (strncmp(entry->name, PREFIX, strlen(PREFIX)) == 0)
		++*rows;
	return 0;
}

static uint64_t count_rows(struct rowlock_client *client)
{
	struct rowlock_list_options options = ROWLOCK_LIST_OPTIONS_DEFAULT;
	struct rowlock_errinfo err;
	uint64_t rows = 0;

	options.flags = ROWLOCK_LIST_LEASES;
	if (rowlock_list(client, &options, count_entry, &rows, &err))
		give_up("list", err.message);
	return rows;
}

/* What an answer that was lost may have left is removed by its client, while
 * that is there. */
static uint64_t await_no_rows(struct rowlock_client *client)
{
	uint64_t rows = count_rows(client);

	for (unsigned int s = 0; rows && s < CLEAN_S; s++) {
		sleep(1);
		rows = count_rows(client);
	}
	return rows;
}

static void end_clients(struct rowlock_client **clients, unsigned int count)
{
	struct rowlock_errinfo err;

	for (unsigned int i = 0; i < count; i++)
		if (rowlock_client_try_free(clients[i], &err))
			give_up("client", err.message);
}

static void end_worker(struct worker *worker)
{
	struct rowlock_errinfo err;

	for (unsigned int i = 0; i < worker->run->plan->names; i++)
		if (rowlock_try_free(worker->locks[i], &err))
			give_up("lock", err.message);
}

/* ---------------------------------------------------------------- outcome */

static uint64_t count_errors(const struct counts *counts)
{
	uint64_t errors = 0;

	for (unsigned int i = 0; i < CODES; i++)
		errors += counts->errors[i];
	return errors;
}

static bool report(const struct run *run, uint64_t left, double seconds)
{
	const struct counts *counts = &run->counts;
	uint64_t errors = count_errors(counts);

	printf("%" PRIu64 " holds, %" PRIu64 " tokens, %" PRIu64
	       " held by two, %" PRIu64 " out of order, %" PRIu64
	       " unknown to the server, %" PRIu64 " rows left, %" PRIu64
	       " names stuck, %" PRIu64 " lost, %" PRIu64
	       " errors, %.0f s, seed %" PRIu64 "\n",
	       counts->holds, counts->tokens, counts->doubles,
	       counts->disorders, counts->unknown, left, counts->stuck,
	       counts->lost, errors, seconds, run->plan->seed);
	for (int i = 0; i < CODES; i++)
		if (counts->errors[i])
			printf("%" PRIu64 " times: %s\n", counts->errors[i],
			       rowlock_strerror(-i));
	return counts->holds >= run->plan->holds && !counts->doubles &&
	       !counts->disorders && !counts->unknown && !left &&
	       !counts->stuck && !errors;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double) time.tv_sec + (double) time.tv_nsec / 1e9;
}

static bool play(const struct plan *plan)
{
	unsigned int n = plan->nodes * plan->clients, i;
	struct rowlock_client **clients =
	    calloc(n, sizeof(struct rowlock_client *));
	struct worker *workers =
	    calloc((size_t) n * plan->threads, sizeof(*workers));
	struct run *run = calloc(1, sizeof(*run));
	double since = now();
	uint64_t left;
	bool sound;

	if (!clients || !workers || !run)
		give_up("run", "out of memory");
	run->plan = plan;
	run->working = n * plan->threads;
	for (i = 0; i < plan->names; i++)
		snprintf(run->names[i].text, sizeof(run->names[i].text),
			 PREFIX "%u", i);
	for (i = 0; i < n; i++)
		clients[i] = open_client(plan, i);
	for (i = 0; i < n * plan->threads; i++)
		make_worker(&workers[i], run, clients[i % n], i / n);
	show_progress(run);
	for (i = 0; i < n * plan->threads; i++) {
		pthread_join(workers[i].id, NULL);
		end_worker(&workers[i]);
	}
	left = await_no_rows(clients[0]);
	end_clients(clients, n);
	sound = report(run, left, now() - since);
	free(run);
	free(workers);
	free(clients);
	return sound;
}

/* ----------------------------------------------------------- command line */

static void usage(void)
{
	printf(
	    "Usage: holds [OPTION]... DSN...\n\n"
	    "  --holds N    altogether; default 100000\n"
	    "  --clients N  on each node; default 2\n"
	    "  --threads N  of each client; default 4\n"
	    "  --names N    default 4, 1 to %d\n"
	    "  --seed N     of what the threads draw; default 1\n\n"
	    "A DSN for each node. Exit status 1 if two hold one name, a token "
	    "is out of\norder, a row stays, or something fails.\n",
	    MOST_NAMES);
}

static uint64_t number_of(const char *text, uint64_t most)
{
	char *end;
	uint64_t number = strtoull(text, &end, 10);

	if (!*text || *end || number < 1 || number > most)
		give_up(text, "not a number that is allowed here");
	return number;
}

static void parse(struct plan *plan, int argc, char **argv)
{
	static const struct option options[] = {
		{ "holds", required_argument, NULL, 'n' },
		{ "clients", required_argument, NULL, 'c' },
		{ "threads", required_argument, NULL, 't' },
		{ "names", required_argument, NULL, 'm' },
		{ "seed", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'n')
			plan->holds = number_of(optarg, UINT64_MAX / 2);
		else if (option == 'c')
			plan->clients = (unsigned int) number_of(optarg, 50);
		else if (option == 't')
			plan->threads = (unsigned int) number_of(optarg, 200);
		else if (option == 'm')
			plan->names =
			    (unsigned int) number_of(optarg, MOST_NAMES);
		else if (option == 's')
			plan->seed = number_of(optarg, UINT32_MAX);
		else {
			usage();
			exit(option == 'h' ? 0 : 1);
		}
	}
	plan->dsns = argv + optind;
	plan->nodes = (unsigned int) (argc - optind);
	if (!plan->nodes || plan->nodes > MOST_NODES) {
		usage();
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct plan plan = { .clients = 2,
			     .threads = 4,
			     .names = 4,
			     .holds = 100000,
			     .seed = 1 };

	parse(&plan, argc, argv);
	return play(&plan) ? 0 : 1;
}
