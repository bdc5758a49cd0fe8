/* SPDX-License-Identifier: MIT */
#ifndef CLI_ZONE_H
#define CLI_ZONE_H

/* The offsets of a time zone from UTC, of all years from 1970 to 2100. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZONE_CHANGES 1024

struct zone {
	size_t count; /* 0: UTC */
	struct zone_change {
		int64_t at; /* from this second since 1970 on, */
		int offset; /* in seconds east of UTC */
	} changes[ZONE_CHANGES];
};

/** Read @name, such as "Europe/Berlin", from the system's data. Only while
 *  there is one thread: it sets TZ meanwhile. Returns false if there is no such
 *  zone. */
bool zone_read(struct zone *zone, const char *name);

/** The offset at @second. */
int zone_offset(const struct zone *zone, int64_t second);

#endif
