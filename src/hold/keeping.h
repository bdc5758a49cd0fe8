/* SPDX-License-Identifier: MIT */
#ifndef RLK_HOLD_KEEPING_H
#define RLK_HOLD_KEEPING_H

/*
 * A hold whose name stays taken for some time after its grant, or after its
 * loss, by a keep (strategy/keep.h):
 *
 *     t0 = now                     read before the keep's row is sent
 *     keep's row committed         expires after max(TTL, time), and the delay,
 *                                  or later
 *     the lease belongs to it      only then the acquire returns
 *     the hold is good until       t0 + max(TTL, time), less a tenth, on the
 *                                  client's clock
 *
 * The keeper beats the keeps behind each beat of the session, for as long as
 * the holds last (background/keeps.c).
 */

#include "hold/hold.h"

/** The hold of @lock was just granted, and not shown yet: keep its name for the
 *  handle's time, unless it is kept already. Returns 0; ROWLOCK_ELOST: it was
 *  lost; or an error, and the hold is not kept. */
int rlk_keep_grant(struct rowlock *lock, int64_t until_ms,
		   struct rowlock_errinfo *reterr);

/** Is @hold kept? */
bool rlk_hold_is_kept(const struct rlk_hold *hold);

/** Release the lease of @hold, which is kept, but leave its row for as long as
 *  it is to be kept. *@ret_kept: it stays; else that time is over, or the row
 *  is gone, and the row is to be deleted. *@ret_unsure: a sending was not
 *  answered, and may have left it for others to remove. */
enum rlk_fault rlk_keep_leave(struct rlk_hold *hold, int64_t until_ms,
			      bool *ret_kept, bool *ret_unsure,
			      struct rowlock_errinfo *reterr);

/** The row of @hold is gone: delete its keep, which expires anyway. */
void rlk_keep_close(struct rlk_hold *hold, int64_t until_ms);

#endif
