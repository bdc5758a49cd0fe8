/* SPDX-License-Identifier: MIT */
/* See pace.h. */
#include "common/pace.h"

#include <errno.h>
#include <time.h>

uint64_t pace_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

void pace_rest(uint64_t ms)
{
	const struct timespec time = {
		.tv_sec = (time_t) (ms / 1000),
		.tv_nsec = (long) (ms % 1000) * 1000000,
	};

	nanosleep(&time, NULL);
}

int pace_poll(struct pollfd *fds, nfds_t count, int ms)
{
	return poll(fds, count, ms);
}

/* The wall clock may be set meanwhile, and CLOCK_BOOTTIME is for no condition.
 */
void pace_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

void pace_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t until_ms)
{
	uint64_t now = pace_now_ms(), ms = until_ms > now ? until_ms - now : 0;
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long) (ms % 1000) * 1000000;
	until.tv_sec += (time_t) (ms / 1000) + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(cond, mutex, &until);
}
