/* SPDX-License-Identifier: MIT */
#ifndef RLK_WAIT_SETTLE_H
#define RLK_WAIT_SETTLE_H

#include "wait/asking.h"

enum rlk_settled {
	RLK_SETTLED,   /* the request is over for good: ask again */
	RLK_ANEW,      /* it cannot be known: ask later, as another attempt */
	RLK_UNSETTLED, /* the time is up; the chores go on. asking->error */
};

/**
 * No answer came on @asking->conn, or, if that is NULL, on the session of
 * @asking->mark. Give the connection up, and end its session in the server, so
 * that the request cannot be executed any more; then its outcome can be asked
 * for by its attempt. Blocks up to the waiter's time.
 */
enum rlk_settled rlk_settle(struct rlk_asking *asking);

/** The words for an acquire whose request is abandoned: asking->error. */
void rlk_fail_abandoned(struct rlk_asking *asking);

/**
 * The server makes us wait and our time is up, or we were canceled: take the
 * question back, by KILL QUERY. Returns RLK_GRANTED if the grant was faster,
 * RLK_AGAIN if it was taken back, RLK_UNCLEAR if there is no telling.
 */
enum rlk_verdict rlk_take_back(struct rlk_asking *asking);

/**
 * After a question on a pinned connection that was interrupted: the row may be
 * locked already, and would stay so with the connection, beside whatever is
 * locked on it next. Ends its transaction by @until_ms, or gives it up.
 */
void rlk_end_transaction(struct rlk_asking *asking, int64_t until_ms);

/** The deadline or an interrupt has come while the server makes us wait on
 *  asking->conn: interrupt the statement, by KILL QUERY. Its end can be waited
 *  for, until the time that is returned, and set for the connection. */
int64_t rlk_interrupt_wait(struct rlk_asking *asking);

#endif
