// SPDX-License-Identifier: MIT
/*
 * The act "meanwhile": a transaction of the system's is open, or none, while
 * other threads of the same client acquire and release leases of their own. For
 * systems whose transaction is tied to a lock: its name is the first.
 *
 * "ready"; "begin" is answered by "begun", "end" by "ended". "go START END"
 * lets the others begin at once, to warm up; the pairs that end between START
 * and END (CLOCK_MONOTONIC in ns) count, and are answered by "made N".
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static uint64_t start_ns;
static uint64_t end_ns;

static void *run(void *arg)
{
	struct bench_worker *worker = arg;
	uint64_t now;

	worker->pairs = 0;
	do {
		bench_lease.acquire(worker);
		bench_lease.release(worker);
		now = bench_now();
		if (now >= start_ns && now < end_ns)
			worker->pairs++;
	} while (now < end_ns);
	return NULL;
}

static void let_others_work(struct bench_worker *others, unsigned int n)
{
	pthread_t *threads = bench_alloc(n * sizeof(*threads));
	unsigned long long pairs = 0;

	for (unsigned int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, run, &others[i]))
			bench_die("no thread %u of %u", i + 1, n);
	for (unsigned int i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		pairs += others[i].pairs;
	}
	bench_tell("made %llu", pairs);
	free(threads);
}

static void heed(const char *line, struct bench_worker *guarded,
		 struct bench_worker *others)
{
	const struct bench_options *options = guarded->options;
	unsigned long long start;
	unsigned long long end;

	if (strcmp(line, "begin") == 0) {
		options->system->acquire(guarded);
		bench_tell("begun");
	} else if (strcmp(line, "end") == 0) {
		options->system->release(guarded);
		bench_tell("ended");
	} else if (sscanf(line, "go %llu %llu", &start, &end) == 2) {
		start_ns = start;
		end_ns = end;
		let_others_work(others, options->threads);
	} else {
		bench_die("was told '%s'", line);
	}
}

void bench_act_meanwhile(const struct bench_options *options)
{
	struct bench_options with_names = *options;
	unsigned int n = options->threads;
	struct bench_worker *workers = bench_alloc((n + 1) * sizeof(*workers));
	char line[64];

	with_names.names = n + 1;
	for (unsigned int i = 0; i <= n; i++)
		bench_worker_init(&workers[i], &with_names, i);
	options->system->open(&workers[0]);
	for (unsigned int i = 1; i <= n; i++)
		bench_lease.open(&workers[i]);
	bench_tell("ready");
	while (bench_hear(line, sizeof(line)))
		heed(line, &workers[0], &workers[1]);
	for (unsigned int i = 1; i <= n; i++)
		bench_lease.close(&workers[i]);
	options->system->close(&workers[0]);
	free(workers);
}
