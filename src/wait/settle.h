/* SPDX-License-Identifier: MIT */
#ifndef RLK_WAIT_SETTLE_H
#define RLK_WAIT_SETTLE_H

#include "wait/step.h"

/**
 * No answer came on @asking->conn, or, if that is NULL, on the session of
 * @asking->doubt.mark. Give up the connection and end its session in the
 * server, so that the request cannot be executed any more; the attempt then
 * finds its outcome. Blocks up to the waiter's time. Returns RLK_STEP_AGAIN if
 * the request is over for good: ask again; RLK_STEP_LATER if its outcome is
 * unknown: ask as another attempt; RLK_STEP_END if the time is up, and
 * asking->error is set. Whether the present attempt may have left a row is
 * asking->doubt.unsure.
 */
enum rlk_step rlk_settle(struct rlk_asking *asking);

/** The call ends. If it ends without a grant and with a request in doubt, give
 *  that to the chores: they end its session, and delete the row that it may
 *  have made. */
void rlk_give_up(struct rlk_asking *asking);

/** Set asking->error for an acquire whose request is abandoned. */
void rlk_fail_abandoned(struct rlk_asking *asking);

/**
 * Take back, by KILL QUERY, a question that waits in the server, as our time is
 * up or we were canceled. Returns RLK_DONE if the grant was faster, RLK_UNKNOWN
 * if that is not known, else it was taken back.
 */
enum rlk_fault rlk_take_back(struct rlk_asking *asking);

/**
 * End the transaction of an interrupted question on a pinned connection by
 * @until_ms, or give up the connection: the row may be locked already, and
 * would stay locked beside the next one.
 */
void rlk_end_transaction(struct rlk_asking *asking, int64_t until_ms);

#endif
