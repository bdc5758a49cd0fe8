/* SPDX-License-Identifier: MIT */
#ifndef RLK_API_RELEASE_H
#define RLK_API_RELEASE_H

/* Giving a hold back. */

#include "hold/handle.h"

/** rowlock_release() with a deadline of its own, also of a hold that is not
 *  shown yet. */
int rlk_release(struct rowlock *lock, int64_t until_ms,
		struct rowlock_errinfo *reterr);

/** The row of @hold is given back already: let go of it, if @lock has it, which
 *  is its last level. Blocks only where it has a bell, until @until_ms. Takes
 *  client->mutex. */
void rlk_release_gone(struct rowlock *lock, const struct rlk_hold *hold,
		      int64_t until_ms);

/** Let go every level that @lock has, whoever owns it, as it is about to be
 *  freed: what the server says is logged. */
void rlk_release_all(struct rowlock *lock, int64_t until_ms);

#endif
