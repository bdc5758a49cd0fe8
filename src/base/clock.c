/* SPDX-License-Identifier: MIT */
/*
 * The real clock, and sleeping by descriptors.
 *
 * A sleeper is two descriptors and a poll(): a timer of its clock and an
 * eventfd. Nothing is lost if the wake comes first, as the eventfd stays
 * readable until it is read.
 */
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static int64_t real_now_ms(const struct rlk_clock *clock)
{
	struct timespec now;

	(void) clock;
	clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int real_timer_new(const struct rlk_clock *clock)
{
	(void) clock;
	return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
}

static void real_timer_set(const struct rlk_clock *clock, int timer,
			   int64_t at_ms)
{
	struct itimerspec at = { 0 };

	(void) clock;
	if (at_ms != RLK_NEVER) {
		/* All zeros would disarm the timer instead of firing it. */
		if (at_ms < 1)
			at_ms = 1;
		at.it_value.tv_sec = at_ms / 1000;
		at.it_value.tv_nsec = at_ms % 1000 * 1000000;
	}
	timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
}

const struct rlk_clock *rlk_clock_real(void)
{
	static const struct rlk_clock_ops ops = {
		.now_ms = real_now_ms,
		.timer_new = real_timer_new,
		.timer_set = real_timer_set,
	};
	static const struct rlk_clock clock = { &ops };

	return &clock;
}

int64_t rlk_after(int64_t now, uint64_t duration_ms)
{
	if (duration_ms > (uint64_t) RLK_NEVER - (uint64_t) now)
		return RLK_NEVER;
	return now + (int64_t) duration_ms;
}

int rlk_sleeper_init(struct rlk_sleeper *sleeper, const struct rlk_clock *clock)
{
	int error = 0;

	*sleeper = (struct rlk_sleeper){ clock, -1, -1 };
	sleeper->timer = clock->ops->timer_new(clock);
	if (sleeper->timer < 0)
		error = -errno;
	sleeper->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (sleeper->wake < 0)
		error = -errno;
	if (error)
		rlk_sleeper_fini(sleeper);
	return error;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void rlk_sleeper_fini(struct rlk_sleeper *sleeper)
{
	close_fd(&sleeper->timer);
	close_fd(&sleeper->wake);
}

bool rlk_sleeper_wait(struct rlk_sleeper *sleeper, int64_t until_ms, int fd)
{
	struct pollfd fds[] = {
		{ .fd = sleeper->wake, .events = POLLIN },
		{ .fd = sleeper->timer, .events = POLLIN },
		{ .fd = fd, .events = POLLIN },
	};
	uint64_t count;

	sleeper->clock->ops->timer_set(sleeper->clock, sleeper->timer,
				       until_ms);
	while (poll(fds, 3, -1) < 0 && errno == EINTR)
		;
	return read(sleeper->wake, &count, sizeof(count)) == sizeof(count);
}

void rlk_sleeper_wake(struct rlk_sleeper *sleeper)
{
	const uint64_t one = 1;

	/* It fails only when the counter is full: then it is readable. */
	if (write(sleeper->wake, &one, sizeof(one)) < 0)
		return;
}
