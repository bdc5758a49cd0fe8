/* SPDX-License-Identifier: MIT */
#ifndef RLK_GUARD_GUARDED_H
#define RLK_GUARD_GUARDED_H

/*
 * What the calls share that tie the application's transaction to a lease.
 */

#include "hold/handle.h"

/** The hold, if it is the caller's, and good by our clock; else NULL, and the
 *  error in *@ret_code. @what begins the message: "begin". */
struct rlk_hold *rlk_guarded_hold_locked(struct rowlock *lock, const char *what,
					 int *ret_code,
					 struct rowlock_errinfo *reterr);

/** ROWLOCK_EUNSUPPORTED, for a lock of the row strategy. */
int rlk_guarded_fail_row(const struct rowlock *lock, const char *what,
			 struct rowlock_errinfo *reterr);

#endif
