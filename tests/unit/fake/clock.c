/* SPDX-License-Identifier: MIT */
/*
 * A clock that stands still. Its timers are eventfds, made readable when a
 * test moves the time past them; so the library's own sleepers work unchanged.
 * Linked instead of rlk_clock_real().
 */
#include "world.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define TIMERS 1024

static _Atomic int64_t now_ms;

/* By descriptor; a closed one is overwritten when its number comes back. */
static int64_t timers[TIMERS];

static _Thread_local unsigned int looks_left;
static _Thread_local uint64_t late_ms;

static int64_t clock_now(const struct rlk_clock *clock)
{
	(void) clock;
	if (looks_left && --looks_left == 0)
		now_ms += (int64_t) late_ms;
	return now_ms;
}

static void ring(int timer)
{
	const uint64_t one = 1;

	if (write(timer, &one, sizeof(one)) < 0)
		return;
}

static int timer_new(const struct rlk_clock *clock)
{
	int timer = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	(void) clock;
	if (timer >= TIMERS) {
		fake_problem("too many descriptors");
		close(timer);
		return -1;
	}
	world_lock();
	if (timer >= 0)
		timers[timer] = RLK_NEVER;
	world_unlock();
	return timer;
}

static void timer_set(const struct rlk_clock *clock, int timer, int64_t at_ms)
{
	uint64_t count;

	(void) clock;
	world_lock();
	if (read(timer, &count, sizeof(count)) < 0)
		count = 0;
	timers[timer] = at_ms;
	if (at_ms <= now_ms)
		ring(timer);
	world_changed();
	world_unlock();
}

const struct rlk_clock *rlk_clock_real(void)
{
	static const struct rlk_clock_ops ops = {
		.now_ms = clock_now,
		.timer_new = timer_new,
		.timer_set = timer_set,
	};
	static const struct rlk_clock clock = { &ops };

	return &clock;
}

void world_clock_reset(void)
{
	for (int i = 0; i < TIMERS; i++)
		timers[i] = RLK_NEVER;
	now_ms = 1000000;
}

int64_t world_next_timer(void)
{
	int64_t next = RLK_NEVER;

	for (int i = 0; i < TIMERS; i++)
		if (timers[i] < next)
			next = timers[i];
	return next;
}

int64_t fake_now(void)
{
	return now_ms;
}

void fake_advance(uint64_t ms)
{
	world_lock();
	now_ms += (int64_t) ms;
	for (int i = 0; i < TIMERS; i++) {
		if (timers[i] > now_ms)
			continue;
		timers[i] = RLK_NEVER;
		ring(i);
	}
	world_changed();
	world_unlock();
}

void fake_creep_at_look(unsigned int look, uint64_t ms)
{
	looks_left = look;
	late_ms = ms;
}

void fake_creep(uint64_t ms)
{
	now_ms += (int64_t) ms;
}

static bool is_set(void *arg)
{
	const int64_t *at_ms = arg;
	bool found = false;

	world_lock();
	for (int i = 0; i < TIMERS; i++)
		found |= timers[i] == *at_ms;
	world_unlock();
	return found;
}

static bool is_set_before(void *arg)
{
	const int64_t *at_ms = arg;
	bool found = false;

	world_lock();
	for (int i = 0; i < TIMERS; i++)
		found |= timers[i] > now_ms && timers[i] <= *at_ms;
	world_unlock();
	return found;
}

void fake_await_sleep_within(uint64_t ms)
{
	int64_t at_ms = now_ms + (int64_t) ms;

	fake_until(is_set_before, &at_ms);
}

void fake_await_sleep(uint64_t ms)
{
	int64_t at_ms = now_ms + (int64_t) ms;

	fake_until(is_set, &at_ms);
}
