/* SPDX-License-Identifier: MIT */
/*
 * The times of TERM and KILL: see deadline.h.
 *
 * There is no clock, signal or lock in here: it can be tested with numbers.
 */
#include "run/deadline.h"

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* a + b, which stays at DEADLINE_NEVER. */
static uint64_t later(uint64_t a, uint64_t b)
{
	return b > DEADLINE_NEVER - a ? DEADLINE_NEVER : a + b;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

void deadline_init(struct deadline *deadline, uint64_t ttl_ms)
{
	*deadline = (struct deadline){
		.term_ms = least(ttl_ms / 5, 30000),
		.kill_ms = least(ttl_ms / 20, 2000),
		.ends = 0,
		.kill_at = DEADLINE_NEVER,
		.max_from = DEADLINE_NEVER,
		.phase = DEADLINE_WATCH,
	};
}

/* Beats move the end up to the maximum, which is a tenth earlier here; the
 * grant may have come a while after its request, from which that counts. If the
 * maximum is not above the TTL, no beat is needed to get there. */
void deadline_limit(struct deadline *deadline, uint64_t now_ms, uint64_t max_ms,
		    uint64_t ttl_ms)
{
	if (max_ms == 0)
		return;
	deadline->max_from = 0;
	if (max_ms > ttl_ms)
		deadline->max_from =
		    less(later(now_ms, max_ms - max_ms / 10), ttl_ms / 3);
}

bool deadline_is_maximum(const struct deadline *deadline)
{
	return deadline->ends >= deadline->max_from;
}

bool deadline_is_near(const struct deadline *deadline, uint64_t remaining_ms)
{
	return remaining_ms <= deadline->term_ms;
}

static void watch(struct deadline *deadline, uint64_t now, uint64_t remaining)
{
	if (!deadline_is_near(deadline, remaining))
		return;
	deadline->phase = DEADLINE_TERM;
	if (remaining > 0)
		return;
	/* The lock was lost in an instant, or we slept for too long. */
	deadline_hasten(deadline, now);
	deadline->kill_at =
	    least(deadline->kill_at, less(deadline->ends, deadline->kill_ms));
}

static bool kill_is_due(const struct deadline *deadline, uint64_t now,
			uint64_t remaining)
{
	if (now >= deadline->kill_at)
		return true;
	/* Lost with a fixed time to come: the grace is not over. */
	if (remaining == 0 && deadline->kill_at != DEADLINE_NEVER)
		return false;
	return remaining <= deadline->kill_ms;
}

enum deadline_phase deadline_step(struct deadline *deadline, uint64_t now_ms,
				  uint64_t remaining_ms, uint64_t *ret_wake_ms)
{
	uint64_t wake = DEADLINE_NEVER;

	if (remaining_ms > 0)
		deadline->ends = later(now_ms, remaining_ms);
	if (deadline->phase == DEADLINE_WATCH)
		watch(deadline, now_ms, remaining_ms);
	if (deadline->phase == DEADLINE_TERM &&
	    kill_is_due(deadline, now_ms, remaining_ms))
		deadline->phase = DEADLINE_KILL;
	if (deadline->phase == DEADLINE_WATCH)
		wake = less(remaining_ms, deadline->term_ms);
	if (deadline->phase == DEADLINE_TERM) {
		wake = less(deadline->kill_at, now_ms);
		if (remaining_ms > 0)
			wake =
			    least(wake, less(remaining_ms, deadline->kill_ms));
	}
	*ret_wake_ms = wake;
	return deadline->phase;
}

uint64_t deadline_guard_time(const struct deadline *deadline)
{
	return least(later(deadline->kill_at, DEADLINE_GRACE_MS),
		     less(deadline->ends, deadline->kill_ms / 2));
}

void deadline_hasten(struct deadline *deadline, uint64_t now_ms)
{
	deadline->kill_at =
	    least(deadline->kill_at, later(now_ms, DEADLINE_GRACE_MS));
}
