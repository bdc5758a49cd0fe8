/* SPDX-License-Identifier: MIT */
#ifndef RLK_WAIT_HANDOVER_H
#define RLK_WAIT_HANDOVER_H

/*
 * Local hand-over: a hold goes on with another owner. See handover.c.
 */

#include "hold/handle.h"

/**
 * Let HELD @hold, whose last level @from has just let go, go on with the next
 * local waiter, if it may. The waiter is the owner from here on; the caller
 * signals its waker, best without the mutex. Returns NULL if the hold must go
 * back to the server.
 */
struct rlk_waker *rlk_hand_over_locked(struct rlk_hold *hold,
				       const struct rowlock *from);

/** Was the name handed to @waiter, and is it still held? If it was lost before
 *  the thread ran, the waiter is first in line again. */
bool rlk_handed_over_locked(struct rlk_waiter *waiter);

#endif
