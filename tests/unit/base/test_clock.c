/* SPDX-License-Identifier: MIT */
/*
 * Arithmetic of time, and sleeping on the real clock.
 */
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/thread.h"
#include "test.h"

CASE("a sum of times never overflows")
{
	assert_int_equal(rlk_after(5, 7), 12);
	assert_int_equal(rlk_after(-5, 3), -2);
	assert_true(rlk_after(0, ROWLOCK_FOREVER) == RLK_NEVER);
	assert_true(rlk_after(1, INT64_MAX) == RLK_NEVER);
	assert_true(rlk_after(0, INT64_MAX) == RLK_NEVER);
	assert_true(rlk_after(1, INT64_MAX - 1) == RLK_NEVER);
	assert_true(rlk_after(1, INT64_MAX - 2) == RLK_NEVER - 1);
	assert_true(rlk_after(RLK_NEVER, 0) == RLK_NEVER);
	assert_true(rlk_after(RLK_NEVER, 1) == RLK_NEVER);
}

CASE("time does not go back")
{
	const struct rlk_clock *clock = rlk_clock_real();
	int64_t last = rlk_now(clock);

	for (int i = 0; i < 100000; i++) {
		int64_t now = rlk_now(clock);

		assert_true(now >= last);
		last = now;
	}
}

static clockid_t asked_clock;

/* In the place of libc's: which clock does base ask? */
int clock_gettime(clockid_t id, struct timespec *ret_now)
{
	asked_clock = id;
	return (int) syscall(SYS_clock_gettime, id, ret_now);
}

/* The clock of a timer, as the kernel tells it; -1: it does not. */
static int clock_of(int timer)
{
	char path[64];
	char line[128];
	int id = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", timer);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		sscanf(line, "clockid: %d", &id);
	fclose(file);
	return id;
}

/* Only CLOCK_BOOTTIME counts a suspend and is set by nobody. */
CASE("time goes on while the host is suspended")
{
	const struct rlk_clock *clock = rlk_clock_real();
	struct rlk_sleeper sleeper;

	assert_true(rlk_now(clock) > 0);
	assert_int_equal(asked_clock, CLOCK_BOOTTIME);
	assert_int_equal(rlk_sleeper_init(&sleeper, clock), 0);
	assert_int_equal(clock_of(sleeper.timer), CLOCK_BOOTTIME);
	rlk_sleeper_fini(&sleeper);
}

CASE("a wake before the sleep is not missed")
{
	struct rlk_sleeper sleeper;

	assert_int_equal(rlk_sleeper_init(&sleeper, rlk_clock_real()), 0);
	rlk_sleeper_wake(&sleeper);
	rlk_sleeper_wake(&sleeper);
	assert_true(rlk_sleeper_wait(&sleeper, RLK_NEVER, -1));
	/* It was taken; what ends the next sleep is its time. */
	assert_false(
	    rlk_sleeper_wait(&sleeper, rlk_now(rlk_clock_real()) + 1, -1));
	rlk_sleeper_fini(&sleeper);
}

CASE("a sleep ends at its time and not before")
{
	const struct rlk_clock *clock = rlk_clock_real();
	int64_t until = rlk_now(clock) + 20;
	struct rlk_sleeper sleeper;

	assert_int_equal(rlk_sleeper_init(&sleeper, clock), 0);
	assert_false(rlk_sleeper_wait(&sleeper, until, -1));
	assert_true(rlk_now(clock) >= until);
	/* A time that has passed, however long ago, ends it at once. */
	assert_false(rlk_sleeper_wait(&sleeper, until, -1));
	assert_false(rlk_sleeper_wait(&sleeper, 0, -1));
	assert_false(rlk_sleeper_wait(&sleeper, -RLK_NEVER, -1));
	rlk_sleeper_fini(&sleeper);
}

CASE("a sleep ends when its descriptor is readable")
{
	struct rlk_sleeper sleeper;
	int ends[2];

	assert_int_equal(rlk_sleeper_init(&sleeper, rlk_clock_real()), 0);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_false(rlk_sleeper_wait(&sleeper, RLK_NEVER, ends[0]));
	close(ends[0]);
	close(ends[1]);
	rlk_sleeper_fini(&sleeper);
}

static void wake(void *arg)
{
	rlk_sleeper_wake(arg);
}

CASE("another thread wakes the sleeper")
{
	struct rlk_thread thread;
	struct rlk_sleeper sleeper;

	assert_int_equal(rlk_sleeper_init(&sleeper, rlk_clock_real()), 0);
	assert_int_equal(rlk_thread_start(&thread, "waker", wake, &sleeper), 0);
	assert_true(rlk_sleeper_wait(&sleeper, RLK_NEVER, -1));
	rlk_thread_join(&thread);
	rlk_sleeper_fini(&sleeper);
}

CASE("no descriptor is an error and leaks none")
{
	struct rlimit before;
	struct rlimit none;
	struct rlk_sleeper sleeper;
	int spare = dup(0);

	assert_true(spare >= 0);
	close(spare);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	/* Room for the timer, none for the eventfd. */
	none.rlim_cur = (rlim_t) spare + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(rlk_sleeper_init(&sleeper, rlk_clock_real()), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(sleeper.timer, -1);
	assert_int_equal(sleeper.wake, -1);
	assert_int_equal(dup(0), spare);
	close(spare);
	rlk_sleeper_fini(&sleeper);
}

CASE_MAIN(case_main)
