/* SPDX-License-Identifier: MIT */
#ifndef RLK_API_ACQUIRE_H
#define RLK_API_ACQUIRE_H

/* The token that comes with a grant. */

#include "hold/handle.h"

/** Draw the token that comes with the grant, until @until_ms, the end of
 *  @wait_ms. The hold is not shown yet; a failure gives it back. ROWLOCK_ELOST:
 *  it was lost before. */
int rlk_draw_with_grant(struct rowlock *lock, uint64_t wait_ms,
			int64_t until_ms, struct rowlock_errinfo *reterr);

#endif
