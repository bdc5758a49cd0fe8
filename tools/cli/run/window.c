/* SPDX-License-Identifier: MIT */
/*
 * See window.h. A day is counted by the zone's clocks, and its beginning looked
 * up: the first second at which they show that time. If they jump over it, it
 * is when they jump.
 */
#include "run/window.h"

#define SECOND_US 1000000ll
#define DAY_S 86400ll
#define WEEK_DAYS 7

/* 1970 began on a Thursday. */
#define MONDAY 4

static int64_t floor_to(int64_t value, int64_t step, int64_t from)
{
	int64_t rest = (value - from) % step;

	return value - (rest < 0 ? rest + step : rest);
}

/* The second at which the clocks of the zone show @local, in seconds since 1970
 * as if they were UTC's. */
static int64_t when(const struct zone *zone, int64_t local)
{
	int before = zone_offset(zone, local - 2 * DAY_S);
	int after = zone_offset(zone, local + 2 * DAY_S);
	int64_t early = local - before, late = local - after;

	for (size_t i = 0; i < zone->count; i++) {
		const struct zone_change *change = &zone->changes[i];

		if (i == 0 || change->at < local - 2 * DAY_S ||
		    change->at > local + 2 * DAY_S)
			continue;
		/* They jump over it there. */
		if (local - before >= change->at && local - after < change->at)
			return change->at;
	}
	if (early + zone_offset(zone, early) == local)
		return early;
	return late;
}

static void days_at(const struct window *window, int64_t now_us,
		    int64_t *ret_from_us, int64_t *ret_until_us)
{
	const struct zone *zone = &window->zone;
	int64_t offset = (int64_t) (window->offset_ms / 1000);
	int64_t step = window->kind == WINDOW_WEEK ? WEEK_DAYS * DAY_S : DAY_S;
	int64_t first = window->kind == WINDOW_WEEK ? MONDAY * DAY_S : 0;
	int64_t now = floor_to(now_us, SECOND_US, 0) / SECOND_US;
	int64_t day =
	    floor_to(now + zone_offset(zone, now) - offset, step, first);

	/* Near a change the clocks show a time twice. */
	while (when(zone, day + offset) > now)
		day -= step;
	while (when(zone, day + step + offset) <= now)
		day += step;
	*ret_from_us = when(zone, day + offset) * SECOND_US;
	*ret_until_us = when(zone, day + step + offset) * SECOND_US;
}

void window_at(const struct window *window, int64_t now_us,
	       int64_t *ret_from_us, int64_t *ret_until_us)
{
	int64_t length = (int64_t) window->length_ms * 1000;

	if (window->kind != WINDOW_LENGTH) {
		days_at(window, now_us, ret_from_us, ret_until_us);
		return;
	}
	*ret_from_us =
	    floor_to(now_us, length, (int64_t) window->offset_ms * 1000);
	*ret_until_us = *ret_from_us + length;
}
