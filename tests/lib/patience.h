/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_PATIENCE_H
#define ROWLOCK_TEST_PATIENCE_H

/*
 * How long an event may stay away before a test is called hung. It has nothing
 * to do with how long something should take: only a hang reaches it, however
 * busy the machine is. So it grows with the load. patience.py says the same to
 * the tests in Python.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** How many times more patience a slow build (valgrind, sanitizers) needs. */
static inline unsigned int test_slowness(void)
{
	const char *slow = getenv("ROWLOCK_TEST_SLOW");

	return slow && *slow && strcmp(slow, "0") != 0 ? 4 : 1;
}

/** How many want to run for each processor, as of the last minute or now,
 *  whichever is more: a load that begins is in no mean yet. At least 1, 64 at
 *  most. 1 for a test that has a clock of its own, as it needs milliseconds. */
static inline double test_load(void)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	FILE *file = fopen("/proc/loadavg", "re");
	unsigned int running = 0;
	double load = 0;

	if (getenv("ROWLOCK_TEST_OWN_CLOCK")) {
		if (file)
			fclose(file);
		return 1;
	}
	if (file && fscanf(file, "%lf %*s %*s %u/", &load, &running) == 2 &&
	    running > load)
		load = running;
	if (file)
		fclose(file);
	load /= (double) (processors < 1 ? 1 : processors);
	if (load < 1)
		return 1;
	return load < 64 ? load : 64;
}

/** In milliseconds: a minute on a machine with nothing else to do. Ask again
 *  each time: the load may grow meanwhile. */
static inline int test_patience_ms(void)
{
	return (int) (60000 * test_slowness() * test_load());
}

#endif
