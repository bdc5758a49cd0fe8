/* SPDX-License-Identifier: MIT */
#ifndef RLK_RECIPE_SEMAPHORE_PERMITS_H
#define RLK_RECIPE_SEMAPHORE_PERMITS_H

/*
 * Handles on permits (strategy/permits.h), for the recipe that makes a
 * semaphore of one. A handle on permits is a lock: all of rowlock.h that takes
 * a struct rowlock works on it, but that it is acquired here, and has no token.
 */

#include <rowlock.h>

/** rowlock_new() for permits. Only the lease strategy has them. */
int rlk_permits_new(struct rowlock_client *client, const char *name,
		    const struct rowlock_options *options,
		    struct rowlock **ret_lock, struct rowlock_errinfo *reterr);

/** rowlock_acquire() for @count of @permits; 0: of as many as is stored. */
int rlk_permits_acquire(struct rowlock *lock, unsigned int permits,
			unsigned int count, uint64_t wait_ms,
			struct rowlock_errinfo *reterr);

/** How many does it hold now, by our own clock? */
unsigned int rlk_permits_held(struct rowlock *lock);

/** How many has semaphore @name, and how many are in use? *@ret_permits 0: it
 *  is not there. Blocks for a call at the most. */
int rlk_permits_count(struct rowlock_client *client, const char *name,
		      unsigned int *ret_permits, unsigned int *ret_used,
		      struct rowlock_errinfo *reterr);

/** Have it @permits. Blocks for a call at the most. */
int rlk_permits_resize(struct rowlock_client *client, const char *name,
		       unsigned int permits, struct rowlock_errinfo *reterr);

#endif
