/* SPDX-License-Identifier: MIT */
#ifndef RLK_HOLD_OWNER_END_H
#define RLK_HOLD_OWNER_END_H

/*
 * A thread ends while it owns holds: no other thread may release them, so they
 * are lost. Holds owned by handles have no thread, and stay.
 */

#include "core/client.h"

struct rlk_hold;

/** For client->thread_ends: the thread with this serial number has ended. */
void rlk_owner_ended(struct rlk_end_watch *watch, uint64_t serial);

/** Log that @hold was lost so. */
void rlk_owner_end_log(const struct rlk_hold *hold);

#endif
