// SPDX-License-Identifier: MIT
/*
 * The act "hold": one thread that takes its name and gives it back when told.
 *
 * "ready"; "take" is answered by "held NS" as soon as it is held, "give" by
 * "gave NS", which is when the release was called. Or it is killed meanwhile.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

void bench_act_hold(const struct bench_options *options)
{
	struct bench_worker *worker = bench_alloc(sizeof(*worker));
	const struct bench_system *system = options->system;
	char line[64];
	uint64_t now;

	bench_worker_init(worker, options, 0);
	system->open(worker);
	bench_tell("ready");
	while (bench_hear(line, sizeof(line))) {
		if (strcmp(line, "take") == 0) {
			system->acquire(worker);
			now = bench_now();
			bench_tell("held %llu", (unsigned long long) now);
		} else if (strcmp(line, "give") == 0) {
			now = bench_now();
			system->release(worker);
			bench_tell("gave %llu", (unsigned long long) now);
		} else {
			bench_die("was told '%s'", line);
		}
	}
	system->close(worker);
	free(worker);
}
