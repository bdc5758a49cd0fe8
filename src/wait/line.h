/* SPDX-License-Identifier: MIT */
#ifndef RLK_WAIT_LINE_H
#define RLK_WAIT_LINE_H

/* The local line of a name, and acquiring by it. */

#include "hold/handle.h"
#include "strategy/offer.h"

/** The core of rowlock_acquire(): see wait/line.c. If a token has to come with
 *  the grant, or readers have to leave, the hold is not shown yet. */
int rlk_acquire(struct rowlock *lock, uint64_t wait_ms,
		struct rowlock_errinfo *reterr);

/** As rlk_acquire(), without drawing a token with the grant: the caller gives
 *  the hold back before a token is shown, or calls rlk_draw_with_grant(). */
int rlk_acquire_undrawn(struct rowlock *lock, uint64_t wait_ms,
			struct rowlock_errinfo *reterr);

/** rlk_acquire(), without waiting for others, and with a deadline of its own.
 */
int rlk_try(struct rowlock *lock, int64_t until_ms,
	    struct rowlock_errinfo *reterr);

/** As rlk_try(), for a reader that @writer, the attempt of a hold of this
 *  client, lets in. */
int rlk_acquire_under(struct rowlock *lock, uint64_t writer,
		      struct rowlock_errinfo *reterr);

/** As rlk_acquire(), for @count permits of a semaphore that has @permits; 0:
 *  the stored number. */
int rlk_acquire_permits(struct rowlock *lock, unsigned int permits,
			unsigned int count, uint64_t wait_ms,
			struct rowlock_errinfo *reterr);

/** Hold the lease of @offer by @lock, which holds nothing. Blocks up to a
 * call's time. The hold is shown; its token is drawn later. */
int rlk_adopt(struct rowlock *lock, const struct rlk_offer *offer,
	      struct rowlock_errinfo *reterr);

#endif
