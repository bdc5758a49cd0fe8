/* SPDX-License-Identifier: MIT */
#ifndef RLK_API_RELEASE_H
#define RLK_API_RELEASE_H

/* Giving back a hold. */

#include "hold/handle.h"

/** rowlock_release() with a deadline of its own, even of a hold that is not
 *  shown yet. */
int rlk_release(struct rowlock *lock, int64_t until_ms,
		struct rowlock_errinfo *reterr);

/** Release @hold, whose row is deleted already, if @lock has its last level.
 *  Blocks only for a bell, until @until_ms. Takes client->mutex. */
void rlk_release_gone(struct rowlock *lock, const struct rlk_hold *hold,
		      int64_t until_ms);

/** Release every level of @lock, whatever its owner, as it is about to be
 *  freed. Errors are logged. */
void rlk_release_all(struct rowlock *lock, int64_t until_ms);

/** Let go of the bell of @hold, if it has one, which wakes its waiter. Takes
 *  client->mutex. */
void rlk_release_bell(struct rlk_hold *hold, int64_t until_ms);

#endif
