/* SPDX-License-Identifier: MIT */
#ifndef RLK_WAIT_SHARE_H
#define RLK_WAIT_SHARE_H

/*
 * Holds that handles of one client share. See share.c.
 */

#include "hold/handle.h"

/** May one more handle join the shared @hold without asking? */
bool rlk_may_join_locked(const struct rlk_hold *hold);

/** Has @waiter, which has not asked yet, joined the last hold of its name? */
bool rlk_joined_locked(struct rlk_waiter *waiter);

#endif
