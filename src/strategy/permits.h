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
 * they are given back. As long as there are such, only slots are taken of which
 * there would be few enough if all of them were: then no two requests can be
 * too many together, whatever each has seen.
 *
 * Who asks first while others stand in line for the bell is refused. Whoever
 * stands there is the only one that asks, and lets the bell go when it is
 * granted: so a request for many is not overtaken by requests for few.
 *
 * Slot 0 is that of locks: a lock and a semaphore do not exclude each other.
 */

#include "strategy/strategy.h"

extern const struct rlk_strategy rlk_strategy_permits;

/** What a look finds. */
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
