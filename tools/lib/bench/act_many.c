// SPDX-License-Identifier: MIT
/*
 * The act "many": threads that share --count locks, take all of them, keep
 * them, give them back. For the library's own systems.
 *
 * "ready"; "take" is answered by "took NS RSS_BEFORE RSS_AFTER", "give" by
 * "gave NS". The handles are made before the clock starts; their memory counts
 * all the same.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "system_rowlock.h"

static const struct bench_options *told;
static struct rowlock **locks;
static pthread_barrier_t together;

static void each(unsigned int thread, void (*what)(struct rowlock *lock))
{
	for (unsigned int i = thread; i < told->count; i += told->threads)
		what(locks[i]);
}

/* The other threads go with this one through the same steps. */
static void *run(void *arg)
{
	unsigned int thread = *(unsigned int *) arg;

	/* Once before it counts: what a thread's first call allocates. */
	bench_rowlock_acquire(locks[told->count + thread]);
	bench_rowlock_release(locks[told->count + thread]);
	pthread_barrier_wait(&together);
	pthread_barrier_wait(&together);
	each(thread, bench_rowlock_acquire);
	pthread_barrier_wait(&together);
	pthread_barrier_wait(&together);
	each(thread, bench_rowlock_release);
	pthread_barrier_wait(&together);
	return NULL;
}

static enum rowlock_strategy strategy(void)
{
	if (told->system == &bench_row)
		return ROWLOCK_ROW;
	if (told->system == &bench_lease)
		return ROWLOCK_LEASE;
	bench_die("%s has no handles to keep", told->system->name);
}

static void make_locks(unsigned int from, unsigned int to)
{
	char name[BENCH_NAME_SIZE];

	for (unsigned int i = from; i < to; i++) {
		snprintf(name, sizeof(name), "%s%u", told->prefix, i);
		locks[i] = bench_rowlock_new(name, strategy(), 0);
	}
}

/* Let the threads do one step; how long it took. */
static uint64_t step(void)
{
	uint64_t began = bench_now();

	pthread_barrier_wait(&together);
	pthread_barrier_wait(&together);
	return bench_now() - began;
}

static void take_and_give(void)
{
	uint64_t before = bench_rss();
	uint64_t ns;

	make_locks(0, told->count);
	bench_tell("ready");
	bench_await("take");
	ns = step();
	bench_tell("took %llu %llu %llu", (unsigned long long) ns,
		   (unsigned long long) before,
		   (unsigned long long) bench_rss());
	bench_await("give");
	ns = step();
	bench_tell("gave %llu", (unsigned long long) ns);
}

void bench_act_many(const struct bench_options *options)
{
	unsigned int n = options->threads;
	pthread_t *threads = bench_alloc(n * sizeof(*threads));
	unsigned int *numbers = bench_alloc(n * sizeof(*numbers));
	unsigned int all = options->count + n;

	told = options;
	locks = bench_alloc(all * sizeof(struct rowlock *));
	make_locks(options->count, all);
	pthread_barrier_init(&together, NULL, n + 1);
	for (unsigned int i = 0; i < n; i++) {
		numbers[i] = i;
		if (pthread_create(&threads[i], NULL, run, &numbers[i]))
			bench_die("no thread %u of %u", i + 1, n);
	}
	pthread_barrier_wait(&together);
	take_and_give();
	for (unsigned int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	for (unsigned int i = 0; i < all; i++)
		rowlock_freep(&locks[i]);
	free(locks);
	free(numbers);
	free(threads);
}
