/* SPDX-License-Identifier: MIT */
#ifndef RLK_HOLD_PING_H
#define RLK_HOLD_PING_H

/* The pings of a hold's connection. */

#include "hold/hold.h"

/** The connection of @hold answered at @answered_ms: ping it in time. */
void rlk_pinger_plan_locked(struct rlk_hold *hold, int64_t answered_ms);
/** Look at once at the ping that is under way. */
void rlk_pinger_hurry_locked(struct rlk_hold *hold);
/** Plan no more pings for @hold. A ping that is under way goes on: hold->conn
 *  stays busy until it has ended. */
void rlk_pinger_forget_locked(struct rlk_hold *hold);

/** Have the pinger read the answer that the connection of @hold owes. If epoll
 *  has no memory for it, the pinger looks when its patience ends. */
void rlk_pinger_watch(struct rlk_hold *hold);

/** Ping on @hold's own connection, which the caller has taken, and give it
 *  back. Returns false without an answer: the hold is lost if the connection
 *  has ended; if the time is up, the pinger waits on for the answer. Blocks; no
 *  mutex held. */
bool rlk_ping(struct rlk_hold *hold, int64_t until_ms);

/** The interval of pings of @hold's connection. */
uint64_t rlk_ping_ms(const struct rlk_hold *hold);

#endif
