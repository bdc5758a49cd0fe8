/* SPDX-License-Identifier: MIT */
#ifndef RLK_RECIPE_SET_HANDLE_H
#define RLK_RECIPE_SET_HANDLE_H

/*
 * Handles on sets of names (strategy/set.h), for the recipe that makes a
 * multi-lock of one. A handle on a set is a lock: all of rowlock.h that takes a
 * struct rowlock works on it, but rowlock_token(): each name has its own.
 */

#include <rowlock.h>

/** rowlock_new() for @count names, all different, in any order; the options as
 *  there. Only the lease strategy has sets. */
int rlk_set_new(struct rowlock_client *client, const char *const *names,
		size_t count, const struct rowlock_options *options,
		struct rowlock **ret_lock, struct rowlock_errinfo *reterr);

/** Does the calling thread hold one of the names by itself? Then waiting for
 *  the set would be waiting for itself: ROWLOCK_EDEADLOCK; else 0. */
int rlk_set_check_own(struct rowlock *lock, struct rowlock_errinfo *reterr);

#endif
