/* SPDX-License-Identifier: MIT */
#ifndef CLI_CLOCK_H
#define CLI_CLOCK_H

#include <stdint.h>
#include <sys/timerfd.h>
#include <time.h>

/** Milliseconds of CLOCK_BOOTTIME, the clock of the library's deadlines. */
static inline uint64_t clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

/** Set a timerfd to ring in @ms, or with TFD_TIMER_ABSTIME at @ms; UINT64_MAX:
 *  never. */
static inline void clock_set_timer(int timer_fd, int flags, uint64_t ms)
{
	struct itimerspec when = { 0 };

	if (ms != UINT64_MAX) {
		/* Zero would disarm it. */
		when.it_value.tv_sec = (time_t) (ms / 1000);
		when.it_value.tv_nsec = (long) (ms % 1000) * 1000000 + 1;
	}
	timerfd_settime(timer_fd, flags, &when, NULL);
}

#endif
