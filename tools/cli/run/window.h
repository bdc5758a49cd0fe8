/* SPDX-License-Identifier: MIT */
#ifndef CLI_WINDOW_H
#define CLI_WINDOW_H

/*
 * Windows of time, one after the other without a gap: of a length since 1970,
 * UTC, or the days or weeks of a zone.
 */

#include "run/zone.h"

enum window_kind {
	WINDOW_NONE,
	WINDOW_LENGTH,
	WINDOW_DAY,  /* from midnight, by the zone's clocks; 23 to 25 hours */
	WINDOW_WEEK, /* from that of a Monday */
};

struct window {
	enum window_kind kind;
	uint64_t length_ms; /* of WINDOW_LENGTH */
	uint64_t offset_ms; /* it begins later, by the zone's clocks */
	struct zone zone;
};

/** The window that has @now, in microseconds since 1970. */
void window_at(const struct window *window, int64_t now_us,
	       int64_t *ret_from_us, int64_t *ret_until_us);

#endif
