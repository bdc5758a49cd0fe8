/* SPDX-License-Identifier: MIT */
/*
 * The tools' clock (tools/common/pace.h), in place of the real one. With
 * ROWLOCK_FAKE_PACE in the environment it stands still until the test says
 * "pass MS", which is answered by "passed"; and a wait with a time limit is
 * told, as "pause ms=N", before it begins. Without, and in children, it is the
 * real one.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/pace.h"
#include "fake_pace.h"

/* How often a wait looks at the clock that the test moves. */
#define LOOK_MS 2

static pthread_mutex_t now_mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t now_ms;
static pid_t process;

static uint64_t real_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

__attribute__((constructor)) static void begin(void)
{
	now_ms = real_ms(CLOCK_BOOTTIME);
	process = getpid();
}

static bool is_fake(void)
{
	return getenv("ROWLOCK_FAKE_PACE") && getpid() == process;
}

void fake_pass(uint64_t ms)
{
	/* Nobody says anything of the new time before that. */
	pthread_mutex_lock(&now_mutex);
	now_ms += ms;
	fake_say("passed");
	pthread_mutex_unlock(&now_mutex);
}

uint64_t pace_now_ms(void)
{
	uint64_t now;

	if (!is_fake())
		return real_ms(CLOCK_BOOTTIME);
	pthread_mutex_lock(&now_mutex);
	now = now_ms;
	pthread_mutex_unlock(&now_mutex);
	return now;
}

int pace_poll(struct pollfd *fds, nfds_t count, int ms)
{
	uint64_t until = pace_now_ms() + (uint64_t) ms;
	int n;

	if (ms <= 0 || !is_fake())
		return poll(fds, count, ms);
	fake_say("pause ms=%d", ms);
	do
		n = poll(fds, count, LOOK_MS);
	while (n == 0 && pace_now_ms() < until);
	return n;
}

void pace_rest(uint64_t ms)
{
	pace_poll(NULL, 0, (int) ms);
}

void pace_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

static int look_at(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t ms)
{
	uint64_t end = real_ms(CLOCK_MONOTONIC) + ms;
	const struct timespec until = {
		.tv_sec = (time_t) (end / 1000),
		.tv_nsec = (long) (end % 1000) * 1000000,
	};

	return pthread_cond_timedwait(cond, mutex, &until);
}

void pace_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t until_ms)
{
	uint64_t now = pace_now_ms(), ms = until_ms > now ? until_ms - now : 0;

	if (!is_fake()) {
		look_at(cond, mutex, ms);
		return;
	}
	fake_say("pause ms=%llu", (unsigned long long) ms);
	while (look_at(cond, mutex, LOOK_MS) == ETIMEDOUT &&
	       pace_now_ms() < until_ms)
		;
}
