/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_PACE_H
#define TOOLS_PACE_H

/*
 * The clock of the tools, and all that they wait for with a time limit. The
 * tests of the tools put another in its place, whose time they move.
 */

#include <poll.h>
#include <pthread.h>
#include <stdint.h>

/** Milliseconds of CLOCK_BOOTTIME, the clock of the library's deadlines. */
uint64_t pace_now_ms(void);

/** Sleep. */
void pace_rest(uint64_t ms);

/** As poll(); -1: no limit. */
int pace_poll(struct pollfd *fds, nfds_t count, int ms);

/** Make a condition for pace_wait(). */
void pace_init(pthread_cond_t *cond);

/** Wait for @cond until @until_ms of pace_now_ms(). It may return earlier. */
void pace_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t until_ms);

#endif
