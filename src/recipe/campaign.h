/* SPDX-License-Identifier: MIT */
#ifndef RLK_RECIPE_CAMPAIGN_H
#define RLK_RECIPE_CAMPAIGN_H

/*
 * To stand for election with a weight: of those who wait, the one with the
 * largest is elected first. For the recipe that makes an election of a lock.
 */

#include "hold/handle.h"

/** A candidate with a weight: what its lock has besides. */
struct rlk_candidacy {
	struct rlk_recipe recipe;
	struct rowlock *standing; /* its row as long as it waits */
	unsigned int weight;
	uint64_t yield_ms; /* it yields for so long, and no longer */
};

/** Make candidacy->standing. */
int rlk_candidacy_stand(struct rlk_candidacy *candidacy,
			struct rowlock_client *client, const char *name,
			struct rowlock_errinfo *reterr);

/** rowlock_acquire() of such a candidate. @reterr is not NULL. */
int rlk_campaign(struct rowlock *lock, uint64_t wait_ms,
		 struct rowlock_errinfo *reterr);

/** Who of a larger weight than @weight stands for @lock's name, and for how
 *  long? *@ret_weight 0: nobody. Blocks for a call at the most. */
int rlk_challenger(const struct rowlock *lock, unsigned int weight,
		   unsigned int *ret_weight, uint64_t *ret_stood_ms,
		   struct rowlock_errinfo *reterr);

#endif
