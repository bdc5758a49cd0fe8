/* SPDX-License-Identifier: MIT */
#ifndef RLK_BASE_CLOCK_H
#define RLK_BASE_CLOCK_H

/*
 * Time, injected. The library asks nothing but a struct rlk_clock; tests put
 * one of their own behind it.
 *
 * The real one is CLOCK_BOOTTIME: CLOCK_MONOTONIC stands still while the host
 * is suspended, and a lease on the server does not. For the same reason timers
 * are timerfds on it: time-outs of poll() and of condition variables stand
 * still as well (timerfd_create(2), clock_gettime(2)).
 */

#include <stdbool.h>
#include <stdint.h>

/** Later than everything. */
#define RLK_NEVER INT64_MAX

struct rlk_clock;

struct rlk_clock_ops {
	/** Milliseconds since some fixed instant. Any thread. */
	int64_t (*now_ms)(const struct rlk_clock *clock);
	/** A descriptor that becomes readable when its time has come; close()
	 *  ends it. -1 with errno if none is available. */
	int (*timer_new)(const struct rlk_clock *clock);
	/** Let @timer become readable at @at_ms (RLK_NEVER: not at all), and
	 *  not readable until then. */
	void (*timer_set)(const struct rlk_clock *clock, int timer,
			  int64_t at_ms);
};

struct rlk_clock {
	const struct rlk_clock_ops *ops;
};

/** CLOCK_BOOTTIME. Static. */
const struct rlk_clock *rlk_clock_real(void);

static inline int64_t rlk_now(const struct rlk_clock *clock)
{
	return clock->ops->now_ms(clock);
}

/** @now + @duration without overflow; UINT64_MAX stands for ever. */
int64_t rlk_after(int64_t now, uint64_t duration_ms);

/* A thread sleeps here until a time comes, or until another thread wakes it. */
struct rlk_sleeper {
	const struct rlk_clock *clock;
	int timer; /* readable when the time has come */
	int wake;  /* an eventfd: readable when somebody woke us */
};

#define RLK_SLEEPER_NULL                                                       \
	{                                                                      \
		NULL, -1, -1                                                   \
	}

/** 0, or -errno. */
int rlk_sleeper_init(struct rlk_sleeper *sleeper,
		     const struct rlk_clock *clock);
void rlk_sleeper_fini(struct rlk_sleeper *sleeper);

/**
 * Sleep until @until_ms, rlk_sleeper_wake(), or until @fd (-1: none) is
 * readable. A wake that came before is not missed; returns true if there was
 * one.
 */
bool rlk_sleeper_wait(struct rlk_sleeper *sleeper, int64_t until_ms, int fd);

/** Any thread; also while nobody sleeps. */
void rlk_sleeper_wake(struct rlk_sleeper *sleeper);

#endif
