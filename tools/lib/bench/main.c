// SPDX-License-Identifier: MIT
/*
 * bench-client: one process of a benchmark. README.md has the words that it
 * speaks with the driver.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/macro.h"
#include "bench.h"

static const char usage[] =
    "Usage: bench-client --system NAME --act ACT [OPTION]...\n"
    "  ACT           pairs, hold, many, meanwhile, try\n"
    "  --threads N   (1)      --names N     (1); thread i has name i mod N\n"
    "  --prefix P    of the names (bench-)\n"
    "  --redis PORT  --zookeeper PORT       on 127.0.0.1\n"
    "  --hold-us N   keep each hold so long (0)\n"
    "  --ttl-ms N    of what the system calls so (its default)\n"
    "  --count N     many: of locks; pairs: end when each thread has made N\n"
    "  --list        the systems that this program was built with\n"
    "It is started and told when to do what by tools/bench; see\n"
    "tools/lib/bench/README.md. The database is that of ROWLOCK_DSN.\n";

static const struct bench_system *const systems[] = {
	&bench_row,
	&bench_lease,
	&bench_lease_token,
	&bench_multilock,
	&bench_readers,
	&bench_semaphore,
	&bench_observer,
	&bench_raw_row,
	&bench_raw_lease,
	&bench_get_lock,
#ifdef BENCH_REDIS
	&bench_redis,
#endif
#ifdef BENCH_ZOOKEEPER
	&bench_zookeeper,
#endif
	&bench_mutex,
	&bench_transfer,
	&bench_transfer_guarded,
	&bench_transfer_early,
	&bench_transfer_release,
	&bench_transfer_commit_release,
};

static const struct {
	const char *name;
	void (*run)(const struct bench_options *options);
} acts[] = {
	{ "pairs", bench_act_pairs }, { "hold", bench_act_hold },
	{ "many", bench_act_many },   { "meanwhile", bench_act_meanwhile },
	{ "try", bench_act_try },
};

static const struct bench_system *find_system(const char *name)
{
	for (size_t i = 0; i < RLK_ARRAY_SIZE(systems); i++)
		if (strcmp(systems[i]->name, name) == 0)
			return systems[i];
	bench_die("there is no system '%s' in this build", name);
}

static void list(void)
{
	for (size_t i = 0; i < RLK_ARRAY_SIZE(systems); i++)
		puts(systems[i]->name);
}

static unsigned int number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (!*text || *end || value > 1000000000)
		bench_die("'%s' is not a number", text);
	return (unsigned int) value;
}

static const struct option words[] = {
	{ "system", required_argument, NULL, 's' },
	{ "act", required_argument, NULL, 'a' },
	{ "threads", required_argument, NULL, 't' },
	{ "names", required_argument, NULL, 'n' },
	{ "prefix", required_argument, NULL, 'p' },
	{ "redis", required_argument, NULL, 'r' },
	{ "zookeeper", required_argument, NULL, 'z' },
	{ "hold-us", required_argument, NULL, 'u' },
	{ "ttl-ms", required_argument, NULL, 'm' },
	{ "count", required_argument, NULL, 'c' },
	{ "list", no_argument, NULL, 'l' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

/* Nonzero: there is no such option. */
static int take(struct bench_options *options, int option)
{
	unsigned int *const numbers[] = {
		['t'] = &options->threads,    ['n'] = &options->names,
		['r'] = &options->redis_port, ['z'] = &options->zookeeper_port,
		['u'] = &options->hold_us,    ['m'] = &options->ttl_ms,
		['c'] = &options->count,
	};
	const char **const texts[] = {
		['a'] = &options->act,
		['p'] = &options->prefix,
	};

	if (option == 's')
		options->system = find_system(optarg);
	else if (option < (int) RLK_ARRAY_SIZE(numbers) && numbers[option])
		*numbers[option] = number(optarg);
	else if (option < (int) RLK_ARRAY_SIZE(texts) && texts[option])
		*texts[option] = optarg;
	else
		return -1;
	return 0;
}

static void run(const struct bench_options *options)
{
	for (size_t i = 0; i < RLK_ARRAY_SIZE(acts); i++) {
		if (strcmp(acts[i].name, options->act) != 0)
			continue;
		if (options->system->start)
			options->system->start(options);
		acts[i].run(options);
		if (options->system->stop)
			options->system->stop();
		return;
	}
	bench_die("there is no act '%s'", options->act);
}

int main(int argc, char **argv)
{
	struct bench_options options = {
		.act = "",
		.prefix = "bench-",
		.dsn = getenv("ROWLOCK_DSN"),
		.threads = 1,
		.names = 1,
	};
	int option;

	while ((option = getopt_long(argc, argv, "", words, NULL)) != -1) {
		if (option == 'l') {
			list();
			return 0;
		}
		if (option == 'h' || take(&options, option)) {
			fputs(usage, option == 'h' ? stdout : stderr);
			return option == 'h' ? 0 : 2;
		}
	}
	if (!options.system || !options.threads || !options.names) {
		fputs(usage, stderr);
		return 2;
	}
	/* Whoever starts us ends us, even if it is killed. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	run(&options);
	return 0;
}
