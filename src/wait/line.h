/* SPDX-License-Identifier: MIT */
#ifndef RLK_WAIT_LINE_H
#define RLK_WAIT_LINE_H

/* The local line of a name, and acquiring by it. */

#include "hold/handle.h"

/** A new attempt of @waiter, with all the memory that a grant will need. NULL:
 *  there is not so much. */
struct rlk_hold *rlk_make_hold_locked(const struct rlk_waiter *waiter);

/** The error of a wait that ended with ROWLOCK_EBUSY, ROWLOCK_ETIMEDOUT or
 *  ROWLOCK_ECANCELED. */
int rlk_fail_waiting(const struct rowlock *lock, int code,
		     struct rowlock_errinfo *reterr);

/** Where rowlock_acquire() does its work: see wait/line.c. Where a token
 *  has to come with the grant, or readers have to go, the hold is not shown
 * yet. */
int rlk_acquire(struct rowlock *lock, uint64_t wait_ms,
		struct rowlock_errinfo *reterr);

/** The same, and nothing is drawn with the grant: the caller may give it back
 *  before anybody is shown a token, or calls rlk_draw_with_grant(). */
int rlk_acquire_undrawn(struct rowlock *lock, uint64_t wait_ms,
			struct rowlock_errinfo *reterr);

/** rlk_acquire(), without waiting for others, and with a deadline of its own.
 */
int rlk_try(struct rowlock *lock, int64_t until_ms,
	    struct rowlock_errinfo *reterr);

/** The same for a reader that attempt @writer lets in, a hold of this client:
 *  without waiting. */
int rlk_acquire_under(struct rowlock *lock, uint64_t writer,
		      struct rowlock_errinfo *reterr);

/** The same for @count permits of a semaphore that has @permits; 0: as many as
 *  is stored. */
int rlk_acquire_permits(struct rowlock *lock, unsigned int permits,
			unsigned int count, uint64_t wait_ms,
			struct rowlock_errinfo *reterr);

#endif
