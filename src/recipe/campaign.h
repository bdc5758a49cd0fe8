/* SPDX-License-Identifier: MIT */
#ifndef RLK_RECIPE_CAMPAIGN_H
#define RLK_RECIPE_CAMPAIGN_H

/*
 * Standing for election with a weight: the heaviest of the waiting candidates
 * is elected first. For recipe/election.c.
 */

#include "hold/handle.h"

/** The part of a lock that makes it a candidate with a weight. */
struct rlk_candidacy {
	struct rlk_recipe recipe;
	struct rowlock *standing; /* its row while it waits */
	unsigned int weight;
	uint64_t yield_ms; /* the longest that it yields */
};

/** Make candidacy->standing. */
int rlk_candidacy_stand(struct rlk_candidacy *candidacy,
			struct rowlock_client *client, const char *name,
			struct rowlock_errinfo *reterr);

/** rowlock_acquire() for a candidate with a weight. @reterr is not NULL. */
int rlk_campaign(struct rowlock *lock, uint64_t wait_ms,
		 struct rowlock_errinfo *reterr);

/** Find the heaviest candidate above @weight that stands for @lock's name, and
 *  for how long. *@ret_weight 0: none. Blocks for at most a call. */
int rlk_challenger(const struct rowlock *lock, unsigned int weight,
		   unsigned int *ret_weight, uint64_t *ret_stood_ms,
		   struct rowlock_errinfo *reterr);

#endif
