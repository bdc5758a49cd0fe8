/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_PERMITS_H
#define RLK_STRATEGY_PERMITS_H

/*
 * Permits of a semaphore: leases of one name on slots from 1, as many at a time
 * as lock_permits says. A request for several makes all of its rows or none, in
 * one statement, on slots that looked free: the key arbitrates, so the look may
 * be old by then.
 *
 * A semaphore whose number was lowered may have rows on slots above it, until
 * they are given back. Until then a request takes only slots of a set that
 * would not be too large if all of it were taken: so no two requests can be too
 * many together, whatever each has seen.
 *
 * A newcomer is refused while others stand in line for the bell. Only the first
 * in line asks, and lets the bell go when it is granted: so requests for few do
 * not overtake a request for many.
 *
 * Slot 0 is that of locks: a lock and a semaphore do not exclude each other.
 */

#include "strategy/strategy.h"

extern const struct rlk_strategy rlk_strategy_permits;

/** The result of a look. */
struct rlk_permits_seen {
	bool known;           /* the semaphore is there; else all are 0 */
	unsigned int permits; /* how many it has, */
	unsigned int used;    /* and of these, and above, are in use */
};

/** As for strategies: no mutex held, may block until @conn's deadline. */
enum rlk_fault rlk_permits_look(struct rlk_conn *conn, const char *name,
				struct rlk_permits_seen *ret_seen,
				struct rowlock_errinfo *reterr);

/** Have it @permits from now on; made if it is not there. */
enum rlk_fault rlk_permits_set(struct rlk_conn *conn, const char *name,
			       unsigned int permits,
			       struct rowlock_errinfo *reterr);

#endif
