/* SPDX-License-Identifier: MIT */
#ifndef CLI_CLOCK_H
#define CLI_CLOCK_H

#include <stdint.h>
#include <time.h>

/** Milliseconds of CLOCK_BOOTTIME, the clock of the library's deadlines. */
static inline uint64_t clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

#endif
