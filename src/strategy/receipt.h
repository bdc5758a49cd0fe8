/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_RECEIPT_H
#define RLK_STRATEGY_RECEIPT_H

/*
 * Receipts: rows that are left by transactions that have given their leases
 * back.
 *
 * Such a COMMIT does not delete the lease's row: it moves it to a name that no
 * lock can have. So the lock is free, and a row proves the commit where the
 * answer was lost. A missing row proves nothing: anybody may delete one.
 *
 * The client deletes receipts when it knows the outcome. One that is left
 * belongs to a session as leases do, and goes as they do when that is over.
 *
 * As for strategies: no mutex held, may block until @conn's deadline.
 */

#include "strategy/strategy.h"

/** A control character, which names of locks have none of, and the attempt. */
#define RLK_RECEIPT_SIZE 18

/** The most of one statement. */
#define RLK_RECEIPTS_MOST 64

void rlk_receipt_name(uint64_t attempt, char *ret_name);

/** The `guards` of the receipt that @attempt has left; RLK_GUARD_NO_ROW: there
 *  is none. */
enum rlk_fault rlk_receipt_look(struct rlk_conn *conn, uint64_t attempt,
				uint64_t *ret_guards,
				struct rowlock_errinfo *reterr);

/** Delete those of @attempts. One that is not there is no matter. @conn's
 *  profile allows packets; what gives no answer makes it unusable. */
enum rlk_fault rlk_receipts_delete(struct rlk_conn *conn,
				   const uint64_t *attempts, size_t count,
				   struct rowlock_errinfo *reterr);

#endif
