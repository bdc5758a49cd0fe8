/* SPDX-License-Identifier: MIT */
#ifndef RLK_RECIPE_RECIPE_H
#define RLK_RECIPE_RECIPE_H

/*
 * Makes the lock of a recipe. Its owner is the handle.
 */

#include "hold/handle.h"

/**
 * Return the caller's options with the flags of a recipe's lock.
 *
 * @what     such as "semaphore", for messages; @name may be NULL
 * @options  NULL for the defaults
 *
 * Returns 0; ROWLOCK_EINVAL: their size; ROWLOCK_EUNSUPPORTED: the row
 * strategy, or a token with the grant.
 */
int rlk_recipe_options(const char *what, const char *name,
		       const struct rowlock_options *options,
		       struct rowlock_options *ret_options,
		       struct rowlock_errinfo *reterr);

/** rlk_lock_make() with the result of rlk_recipe_options(), for @recipe, which
 *  the lock owns from then on; a failure frees it. Returns NULL if memory is
 *  out. */
int rlk_recipe_make(struct rowlock_client *client, const char *name,
		    const struct rlk_strategy *strategy,
		    const struct rowlock_options *options,
		    struct rlk_recipe *recipe, struct rowlock **ret_lock,
		    struct rowlock_errinfo *reterr);

#endif
