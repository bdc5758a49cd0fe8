/* SPDX-License-Identifier: MIT */
#ifndef RLK_CORE_NAMES_H
#define RLK_CORE_NAMES_H

/*
 * The names that this client holds or waits for: one struct rlk_name for each,
 * with the hold and the queue of local waiters. Only the first waiter talks to
 * the server. A name is there as long as it has a hold or a waiter.
 *
 * Not locked: the client's mutex protects all of it.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "strategy/strategy.h"

struct rlk_hold;

struct rlk_name {
	struct rlk_name *next; /* in its bucket */
	const struct rlk_strategy *strategy;
	struct rlk_hold *hold;   /* NULL: none */
	struct rlk_list waiters; /* struct rlk_waiter, first come first */
	/* When an answer last said that another client has it: then our own
	 * waiters must not take turns among themselves for ever. */
	int64_t others_seen_ms;
	/* Since when it has gone from one of our waiters to the next, and
	 * whether that has reached its bounds. */
	int64_t turn_began_ms;
	bool turn_over;
	/* When others were last let ask first. */
	int64_t probed_ms;
	uint64_t hash;
	char text[]; /* terminated */
};

struct rlk_names {
	struct rlk_name **buckets;
	size_t size; /* a power of two, 0 before the first */
	size_t count;
};

void rlk_names_fini(struct rlk_names *names);

/** NULL if nobody holds or waits for it. */
struct rlk_name *rlk_names_find(const struct rlk_names *names,
				const struct rlk_strategy *strategy,
				const char *text);

/** Find or make; NULL: out of memory. */
struct rlk_name *rlk_names_get(struct rlk_names *names,
			       const struct rlk_strategy *strategy,
			       const char *text);

/** Remove it if it has neither hold nor waiters. */
void rlk_names_put(struct rlk_names *names, struct rlk_name *name);

#endif
