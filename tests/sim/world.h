/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SIM_WORLD_H
#define ROWLOCK_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

/** What the command line asked for. */
struct sim_options {
	uint64_t seed;
	uint64_t cycles;
	uint64_t world;        /* play only this one; UINT64_MAX: all */
	unsigned int strategy; /* 0: both, 1: lease, 2: row */
	bool commits;          /* only such as draw_for_commits() makes, */
	bool runs;             /* or in which jobs are run */
};

extern struct sim_options sim_options;

/** Play world @number of the run with @seed; returns its cycles. */
uint64_t sim_world_play(uint64_t seed, uint64_t number);

/** Let a holder die, and judge when its name can be acquired again. To be
 * called when all is healed, by a fiber of no process. */
void sim_death_play(void);

/** Let a process hold many rows, far from the server or beside connections that
 *  go dead, and judge that it loses no more than these. To be called when all
 *  is healed, by a fiber of no process. */
void sim_neighbours_play(void);

#endif
