/* SPDX-License-Identifier: MIT */
/*
 * Sleepers, and an epoll: what the library waits with besides conditions.
 * Linked instead of what base/clock.c and the system have. A descriptor is the
 * number of one of them.
 */
#include "base/clock.h"

#include <stdlib.h>

#include "proc.h"
#include "sim.h"

/* A sleeper's eventfd, or an epoll: one that sleeps, and a wake for him. */
struct waker {
	const struct sim_proc *proc; /* NULL: a place that is free */
	struct sim_fiber *sleeps;
	bool readable;
};

#define WAKERS 4096

static struct waker wakers[WAKERS];
static int first_free;

static int waker_new(void)
{
	for (int i = first_free; i < WAKERS; i++) {
		if (wakers[i].proc)
			continue;
		wakers[i] = (struct waker){ .proc = sim_self->proc };
		first_free = i + 1;
		return i;
	}
	sim_violation("the library uses up all descriptors");
}

static void waker_free(int fd)
{
	wakers[fd] = (struct waker){ 0 };
	if (fd < first_free)
		first_free = fd;
}

void sim_sleepers_forget(const struct sim_proc *proc)
{
	for (int i = 0; i < WAKERS; i++)
		if (wakers[i].proc == proc)
			waker_free(i);
}

int sim_descriptors(const struct sim_proc *proc)
{
	int count = 0;

	for (int i = 0; i < WAKERS; i++)
		count += wakers[i].proc == proc;
	return count;
}

void sim_poke(int fd)
{
	sim_publish(&wakers[fd]);
	wakers[fd].readable = true;
	if (wakers[fd].sleeps)
		sim_fiber_wake(wakers[fd].sleeps);
}

bool sim_is_readable(int fd)
{
	sim_observe(&wakers[fd]);
	return wakers[fd].readable;
}

void sim_sleep_by(int fd, int64_t until)
{
	if (fd >= 0)
		wakers[fd].sleeps = sim_self;
	sim_block_until(until);
	if (fd >= 0)
		wakers[fd].sleeps = NULL;
}

/* What eventfd() and its kin become in the library. */
int sim_eventfd(unsigned int count, int flags);
int sim_eventfd_write(int fd, uint64_t more);

int sim_eventfd(unsigned int count, int flags)
{
	(void) count;
	(void) flags;
	return waker_new();
}

int sim_eventfd_write(int fd, uint64_t more)
{
	(void) more;
	sim_poke(fd);
	return 0;
}

/* ------------------------------------------------------------- clocks */

static int64_t local_us(const struct sim_clock *clock, int64_t true_us)
{
	return true_us + clock->offset_us + true_us * clock->ppm / 1000000;
}

static int64_t now_ms(const struct rlk_clock *clock)
{
	return local_us((const struct sim_clock *) (const void *) clock,
			sim_now) /
	       1000;
}

int64_t sim_proc_ms(const struct sim_proc *proc)
{
	return now_ms(&proc->clock.clock);
}

int64_t sim_proc_when(const struct sim_proc *proc, int64_t ms)
{
	const struct sim_clock *clock = &proc->clock;
	int64_t wanted;
	int64_t at;

	if (ms > INT64_MAX / 4000)
		return INT64_MAX;
	wanted = ms * 1000;
	at = (wanted - clock->offset_us) * 1000000 / (1000000 + clock->ppm) - 2;
	while (local_us(clock, at) < wanted)
		at++;
	return at;
}

const struct rlk_clock_ops *sim_clock_ops(void)
{
	static const struct rlk_clock_ops ops = { .now_ms = now_ms };

	return &ops;
}

const struct rlk_clock *rlk_clock_real(void)
{
	return &sim_self->proc->clock.clock;
}

/* ----------------------------------------------------------- sleepers */

int rlk_sleeper_init(struct rlk_sleeper *sleeper, const struct rlk_clock *clock)
{
	*sleeper = (struct rlk_sleeper){ clock, -1, waker_new() };
	return 0;
}

void rlk_sleeper_fini(struct rlk_sleeper *sleeper)
{
	if (sleeper->wake >= 0)
		waker_free(sleeper->wake);
	sleeper->wake = -1;
}

bool rlk_sleeper_wait(struct rlk_sleeper *sleeper, int64_t until_ms, int fd)
{
	struct waker *wake = &wakers[sleeper->wake];
	struct waker *other = fd >= 0 ? &wakers[fd] : NULL;
	int64_t until = sim_proc_when(sim_self->proc, until_ms);
	bool woken;

	if (sim_self->mutexes)
		sim_violation("a thread sleeps with a mutex locked");
	while (!wake->readable && !(other && other->readable) &&
	       sim_now < until) {
		wake->sleeps = sim_self;
		if (other)
			other->sleeps = sim_self;
		sim_block_until(until);
	}
	wake->sleeps = NULL;
	sim_observe(wake);
	if (other) {
		other->sleeps = NULL;
		sim_observe(other);
	}
	woken = wake->readable;
	wake->readable = false;
	return woken;
}

void rlk_sleeper_wake(struct rlk_sleeper *sleeper)
{
	if (sleeper->wake >= 0)
		sim_poke(sleeper->wake);
}

/* -------------------------------------------------------------- epoll */

int sim_epoll_new(void)
{
	return waker_new();
}

void sim_epoll_free(int fd)
{
	waker_free(fd);
}

void sim_epoll_clear(int fd)
{
	wakers[fd].readable = false;
}
