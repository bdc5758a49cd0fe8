/* SPDX-License-Identifier: MIT */
#ifndef RLK_GUARD_GUARDED_H
#define RLK_GUARD_GUARDED_H

/*
 * Shared by the calls that tie the application's transaction to a lease.
 */

#include "hold/handle.h"

/** The hold, if it is the caller's and valid by our clock; else NULL, with the
 *  error in *@ret_code. @what begins the message: "begin". */
struct rlk_hold *rlk_guarded_hold_locked(struct rowlock *lock, const char *what,
					 int *ret_code,
					 struct rowlock_errinfo *reterr);

/** May @lock guard a transaction? 0, or ROWLOCK_EUNSUPPORTED: it is of the row
 *  strategy, or has more than one row. */
int rlk_guarded_check_kind(const struct rowlock *lock, const char *what,
			   struct rowlock_errinfo *reterr);

#endif
