// SPDX-License-Identifier: MIT
/*
 * The act "try": one thread that asks for a lease that somebody has, and does
 * not wait for it: one try every 5 ms.
 *
 * "ready"; "go START END" is answered at END (CLOCK_MONOTONIC in ns) by a line
 * of JSON: how long the tries took that began since START. Who gets the name
 * ends the process.
 */
#include <stdio.h>
#include <stdlib.h>

#include "system_rowlock.h"

#define PACE_NS UINT64_C(5000000)

static uint64_t try_once(struct rowlock *lock)
{
	struct rowlock_errinfo error = { 0, 0, "" };
	uint64_t began = bench_now();
	int code = rowlock_acquire(lock, 0, &error);

	if (!code)
		bench_rowlock_release(lock);
	if (code != ROWLOCK_EBUSY)
		bench_die("a try of '%s', which somebody has, is answered by "
			  "%d %s",
			  rowlock_name(lock), code, error.message);
	return bench_now() - began;
}

static void try_until(struct rowlock *lock, uint64_t start, uint64_t end)
{
	struct histogram *latency = bench_alloc(sizeof(*latency));

	for (uint64_t next = start; next < end;) {
		bench_sleep_until(next);
		histogram_add(latency, try_once(lock));
		/* Late ones are not made up for: they would come in a crowd. */
		while (next <= bench_now())
			next += PACE_NS;
	}
	printf("{\"max_ns\":%llu,\"latency\":",
	       (unsigned long long) latency->most);
	histogram_print(latency, stdout);
	bench_tell("}");
	free(latency);
}

void bench_act_try(const struct bench_options *options)
{
	struct bench_worker worker;
	unsigned long long start;
	unsigned long long end;
	struct rowlock *lock;
	char line[64];

	if (options->system != &bench_lease)
		bench_die("%s cannot be tried", options->system->name);
	bench_worker_init(&worker, options, 0);
	lock = bench_rowlock_new(worker.name, ROWLOCK_LEASE, 0);
	/* What the first one has to open does not count. */
	try_once(lock);
	bench_tell("ready");
	while (bench_hear(line, sizeof(line))) {
		if (sscanf(line, "go %llu %llu", &start, &end) != 2)
			bench_die("was told '%s'", line);
		try_until(lock, start, end);
	}
	rowlock_freep(&lock);
}
