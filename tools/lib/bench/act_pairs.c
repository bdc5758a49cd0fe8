// SPDX-License-Identifier: MIT
/*
 * The act "pairs": each thread acquires and releases its name, over and over.
 *
 * "ready" when all threads have their connections; "go START END" lets them
 * begin at once, to warm up; what ends between START and END (CLOCK_MONOTONIC
 * in ns) counts. The answer is one line of JSON. Two threads that hold one name
 * at once end the process: a fast lock that does not lock is none.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include "bench.h"

/* What the threads wait at, and what they are told there. */
static pthread_barrier_t opened;
static pthread_barrier_t begin;
static uint64_t start_ns;
static uint64_t end_ns;

static void keep(unsigned int us)
{
	struct timespec time = { 0, (long) us * 1000 };

	while (nanosleep(&time, &time) && errno == EINTR)
		;
}

static void enter(struct bench_worker *worker)
{
	if (worker->options->system->shares)
		return;
	if (atomic_exchange_explicit(worker->inside, true,
				     memory_order_relaxed))
		bench_die("two threads hold '%s' at once", worker->name);
}

static void leave(struct bench_worker *worker)
{
	atomic_store_explicit(worker->inside, false, memory_order_relaxed);
}

/* false: it ended after the end, or was the last. A pair that began before the
 * start and ended after it counts: with waits that are longer than the run
 * there is no other.
 */
static bool pair(struct bench_worker *worker)
{
	const struct bench_system *system = worker->options->system;
	uint64_t began = bench_now();
	uint64_t granted;
	uint64_t ended;

	system->acquire(worker);
	granted = bench_now();
	enter(worker);
	if (worker->options->hold_us)
		keep(worker->options->hold_us);
	leave(worker);
	system->release(worker);
	ended = bench_now();
	if (ended >= end_ns)
		return false;
	if (ended < start_ns)
		return true;
	worker->pairs++;
	worker->held_ns += ended - granted;
	histogram_add(&worker->latency, ended - began);
	return worker->pairs != worker->options->count;
}

static void *run(void *arg)
{
	struct bench_worker *worker = arg;

	/* A sleep of 100 us is one of 100 us, not of 150. */
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	worker->options->system->open(worker);
	pthread_barrier_wait(&opened);
	pthread_barrier_wait(&begin);
	while (pair(worker))
		;
	return NULL;
}

static uint64_t cpu_us(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (uint64_t) (used.ru_utime.tv_sec + used.ru_stime.tv_sec) *
		   1000000 +
	       (uint64_t) (used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void report(struct bench_worker *workers, unsigned int n, uint64_t rss,
		   uint64_t cpu)
{
	struct histogram *all = bench_alloc(sizeof(*all));
	uint64_t held_ns = 0;

	printf("{\"rss\":%llu,\"cpu_us\":%llu,\"pairs\":[",
	       (unsigned long long) rss, (unsigned long long) cpu);
	for (unsigned int i = 0; i < n; i++) {
		printf("%s%llu", i ? "," : "",
		       (unsigned long long) workers[i].pairs);
		held_ns += workers[i].held_ns;
		histogram_merge(all, &workers[i].latency);
	}
	printf("],\"held_ns\":%llu,\"max_ns\":%llu,\"latency\":",
	       (unsigned long long) held_ns, (unsigned long long) all->most);
	histogram_print(all, stdout);
	bench_tell("}");
	free(all);
}

static void hear_times(void)
{
	char line[64];
	unsigned long long start;
	unsigned long long end;

	if (!bench_hear(line, sizeof(line)) ||
	    sscanf(line, "go %llu %llu", &start, &end) != 2)
		bench_die("was not told when to begin");
	start_ns = start;
	end_ns = end;
}

void bench_act_pairs(const struct bench_options *options)
{
	unsigned int n = options->threads;
	struct bench_worker *workers = bench_alloc(n * sizeof(*workers));
	pthread_t *threads = bench_alloc(n * sizeof(*threads));
	atomic_bool *inside = bench_alloc(n * sizeof(*inside));
	uint64_t rss;
	uint64_t cpu;

	pthread_barrier_init(&opened, NULL, n + 1);
	pthread_barrier_init(&begin, NULL, n + 1);
	for (unsigned int i = 0; i < n; i++) {
		bench_worker_init(&workers[i], options, i);
		workers[i].inside = &inside[i % options->names];
		if (pthread_create(&threads[i], NULL, run, &workers[i]))
			bench_die("no thread %u of %u", i + 1, n);
	}
	pthread_barrier_wait(&opened);
	bench_tell("ready");
	hear_times();
	pthread_barrier_wait(&begin);
	bench_sleep_until(start_ns);
	cpu = cpu_us();
	if (!options->count)
		bench_sleep_until(end_ns);
	cpu = cpu_us() - cpu;
	rss = bench_rss();
	for (unsigned int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	report(workers, n, rss, cpu);
	for (unsigned int i = 0; i < n; i++)
		options->system->close(&workers[i]);
	free(inside);
	free(threads);
	free(workers);
}
