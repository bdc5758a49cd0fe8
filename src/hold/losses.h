/* SPDX-License-Identifier: MIT */
#ifndef RLK_HOLD_LOSSES_H
#define RLK_HOLD_LOSSES_H

/*
 * Counts the begin of each hold, its end, and its loss by the reason.
 */

#include <rowlock/admin.h>

#include "hold/hold.h"

/** The acquire of a level of @hold is about to return: with the first one the
 *  hold of its present owner begins. */
void rlk_count_shown_locked(struct rlk_hold *hold);

/** The hold of its present owner, if that was shown one, ends. */
void rlk_count_end_locked(struct rlk_hold *hold);

/** The same, if it has not ended, and it is lost. */
void rlk_count_loss_locked(struct rlk_hold *hold, const char *reason);

/** The ROWLOCK_LOSS_* of @reason. */
int rlk_loss_of(const char *reason);

/** NULL if there is no such loss. */
const char *rlk_loss_text(int loss);

#endif
