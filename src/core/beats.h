/* SPDX-License-Identifier: MIT */
#ifndef RLK_CORE_BEATS_H
#define RLK_CORE_BEATS_H

/*
 * Deciding that a session is dead by our own clock only: it was seen, at two
 * times that are its TTL and a margin apart, with the same beat. The time
 * counts from the reply that showed this beat first. The same serves for a
 * maximum hold, with the attempt for the session and 0 for the beat. More are
 * remembered than a server can have clients; a server that reports more than
 * that lies, and then all are forgotten.
 *
 * Not locked: the client's mutex protects it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rlk_sight {
	uint64_t id; /* 0: an empty place */
	uint64_t beat;
	int64_t first_ms; /* this beat was first seen then */
	int64_t last_ms;
};

struct rlk_observer {
	struct rlk_sight *sights;
	size_t size; /* a power of two, or 0 */
	size_t count;
};

void rlk_observer_fini(struct rlk_observer *observer);

/**
 * Note that @id was seen with @beat, in a reply that came at @now_ms. Returns
 * for how many ms the beat has not changed. Without memory it forgets, which is
 * safe: the decision only takes longer.
 */
int64_t rlk_observer_see(struct rlk_observer *observer, uint64_t id,
			 uint64_t beat, int64_t now_ms);

/** Forget sessions not seen since @before_ms. */
void rlk_observer_prune(struct rlk_observer *observer, int64_t before_ms);

#endif
