/* SPDX-License-Identifier: MIT */
#ifndef RLK_CORE_FORKED_H
#define RLK_CORE_FORKED_H

#include <rowlock.h>

/** For recipes, before they take a mutex of their own: 0; or ROWLOCK_EFORKED,
 *  in a child of fork(), where another thread of the parent may have had it.
 *  Does not block. */
int rlk_check_forked(const struct rowlock *lock,
		     struct rowlock_errinfo *reterr);

#endif
