/* SPDX-License-Identifier: MIT */
#ifndef RLK_HOLD_PING_H
#define RLK_HOLD_PING_H

/* When the connection of a hold is pinged. */

#include "hold/hold.h"

/** The connection of @hold answered at @answered_ms: ping it in time. */
void rlk_pinger_plan_locked(struct rlk_hold *hold, int64_t answered_ms);
/** Plan no more for @hold. A ping that is under way goes on: hold->conn stays
 *  busy until it has ended. */
void rlk_pinger_forget_locked(struct rlk_hold *hold);

/** Ask on @hold's own connection, which the caller has taken, and give it
 *  back. False: no answer, and the hold is lost. Blocks; no mutex held. */
bool rlk_ping(struct rlk_hold *hold, int64_t until_ms);

/** How often the connection of @hold is pinged. */
uint64_t rlk_ping_ms(const struct rlk_hold *hold);

#endif
