/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_DUTY_H
#define RLK_STRATEGY_DUTY_H

/*
 * Elects the client that reaps. A row of lock_token, under a strategy that is
 * none, has a number, which grows each time that another takes the duty, and
 * the time at which it was last taken or kept. A client that finds the time
 * recent leaves the work to the one that keeps it; of those that find it old
 * one gets the duty.
 *
 * Nothing depends on it: every removal checks for itself, so two clients that
 * reap at a time only do the work twice. A clock that jumps makes the duty
 * old, whichever way it went.
 *
 * As for strategies: no mutex held, may block until @conn's deadline.
 */

#include "strategy/strategy.h"

/** How far its time is from the server's present; INT64_MAX if it was never
 *  taken. Locks nothing. */
enum rlk_fault rlk_duty_look(struct rlk_conn *conn, int64_t *ret_age_us,
			     struct rowlock_errinfo *reterr);

/** Take it, unless its time is less than @fresh_ms away. *@ret_number is its
 *  number, 0 if another client has it. */
enum rlk_fault rlk_duty_take(struct rlk_conn *conn, uint64_t fresh_ms,
			     uint64_t *ret_number,
			     struct rowlock_errinfo *reterr);

/** Go on with the duty of @number; *@ret_kept false: another has it by now. */
enum rlk_fault rlk_duty_keep(struct rlk_conn *conn, uint64_t number,
			     bool *ret_kept, struct rowlock_errinfo *reterr);

#endif
