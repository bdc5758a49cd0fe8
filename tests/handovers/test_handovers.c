/* SPDX-License-Identifier: MIT */
/*
 * Leases that are exported and adopted, in several lanes at a time, while each
 * side is killed at each step: never two that hold a name, never free in
 * between, never lost while one of the two lives.
 *
 * ROWLOCK_TEST_HANDOVERS: how many (200). ROWLOCK_TEST_SEED: of the choices.
 */
#include "lane.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "test.h"

#define LANES 8
#define TTL_MS 4000

static unsigned int number_of(const char *variable, unsigned int otherwise)
{
	const char *text = getenv(variable);

	return text ? (unsigned int) strtoul(text, NULL, 10) : otherwise;
}

static void print(const struct lane_counts *counts, unsigned int seed)
{
	static const char *const words[LANE_WAYS] = {
		"plain",
		"two adopters",
		"the exporter ended",
		"it was killed: exporting",
		"exported",
		"being adopted",
		"adopted",
		"the adopter was killed: adopting",
		"having adopted",
	};

	for (int i = 0; i < LANE_WAYS; i++)
		printf("# %6u %s\n", counts->ways[i], words[i]);
	printf("# %6u holders died; %u calls unanswered; %u tries of rivals; "
	       "seed %u\n",
	       counts->died_holding, counts->unanswered, counts->tries, seed);
	printf("# two holders: %u, free: %u, lost: %u, stale: %u\n",
	       counts->two, counts->free, counts->lost, counts->stale);
}

CASE("exported while each side dies, it has one holder, and is never free")
{
	unsigned int count = number_of("ROWLOCK_TEST_HANDOVERS", 200);
	unsigned int seed =
	    number_of("ROWLOCK_TEST_SEED", (unsigned int) time(NULL));
	struct {
		struct lane_counts counts;
		struct lane lanes[LANES];
	} *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[LANES];

	assert_true(shared != MAP_FAILED);
	for (unsigned int i = 0; i < LANES; i++) {
		struct lane *lane = &shared->lanes[i];

		lane->counts = &shared->counts;
		lane->ttl_ms = test_ttl_ms(TTL_MS);
		snprintf(lane->name, sizeof(lane->name), "%s",
			 test_name("lane"));
		pids[i] = lane_start(lane, count / LANES, seed + i);
	}
	for (unsigned int i = 0; i < LANES; i++) {
		int status = -1;

		waitpid(pids[i], &status, 0);
		assert_int_equal(status, 0);
	}
	print(&shared->counts, seed);
	if (shared->counts.said)
		fail_msg("%s", shared->counts.first);
	munmap(shared, sizeof(*shared));
}

CASE_MAIN(test_main)
