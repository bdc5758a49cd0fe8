/* SPDX-License-Identifier: MIT */
#ifndef CLI_TIMER_H
#define CLI_TIMER_H

#include <stdint.h>
#include <sys/timerfd.h>

/** Set a timerfd to ring in @ms, or with TFD_TIMER_ABSTIME at @ms; UINT64_MAX:
 *  never. */
static inline void timer_set(int timer_fd, int flags, uint64_t ms)
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
