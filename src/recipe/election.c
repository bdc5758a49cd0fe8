/* SPDX-License-Identifier: MIT */
/*
 * A candidate: a lock whose token, the term, comes with the grant; and, if it
 * has a weight, what recipe/campaign.h has for those.
 */
#include <rowlock/election.h>

#include <stdlib.h>

#include "base/error.h"
#include "core/call.h"
#include "recipe/campaign.h"

#define YIELD_MOST_MS 3600000ull

static int check(const struct rowlock_election_options *options,
		 const struct rowlock_options *lock,
		 struct rowlock_errinfo *reterr)
{
	if (options->size != sizeof(*options))
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"the options' size is wrong; begin with "
				"ROWLOCK_ELECTION_OPTIONS_DEFAULT");
	if (options->weight < ROWLOCK_UNWEIGHTED ||
	    options->weight > ROWLOCK_WEIGHT_MAX)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"the weight is %d; give 0 to %d, or "
				"ROWLOCK_UNWEIGHTED",
				options->weight, ROWLOCK_WEIGHT_MAX);
	if (options->yield_ms > YIELD_MOST_MS)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"yield_ms must be from 0 to %llu",
				YIELD_MOST_MS);
	if (options->weight != ROWLOCK_UNWEIGHTED &&
	    lock->strategy == ROWLOCK_ROW)
		return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
				"candidates of the row strategy have no "
				"weight; use ROWLOCK_LEASE");
	return 0;
}

static void forget(struct rlk_recipe *recipe)
{
	rowlock_free(
	    container_of(recipe, struct rlk_candidacy, recipe)->standing, NULL);
}

/* Nobody yields to a weight of 0: it needs no row. */
static int give_weight(struct rowlock *lock,
		       const struct rowlock_election_options *options,
		       struct rowlock_errinfo *reterr)
{
	struct rlk_candidacy *candidacy = calloc(1, sizeof(*candidacy));

	if (!candidacy)
		return rlk_fail(reterr, ROWLOCK_ENOMEM,
				"election '%s': out of memory",
				lock->name->text);
	candidacy->recipe.acquire = rlk_campaign;
	candidacy->recipe.fini = forget;
	candidacy->weight = (unsigned int) options->weight;
	candidacy->yield_ms = options->yield_ms;
	lock->recipe = &candidacy->recipe;
	return candidacy->weight
		   ? rlk_candidacy_stand(candidacy, lock->name->client,
					 lock->name->text, reterr)
		   : 0;
}

int rowlock_election_new(struct rowlock_client *client, const char *name,
			 const struct rowlock_election_options *options,
			 struct rowlock **ret_lock,
			 struct rowlock_errinfo *reterr)
{
	const struct rowlock_election_options defaults =
	    ROWLOCK_ELECTION_OPTIONS_DEFAULT;
	struct rowlock_options like = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock *lock;
	int code;

	if (!options)
		options = &defaults;
	if (options->size == sizeof(*options) && options->lock)
		like = *options->lock;
	code = check(options, &like, reterr);
	if (code) {
		rlk_prefix(reterr, "election '%.150s': ", name ? name : "");
		return code;
	}
	like.flags |= ROWLOCK_OWNER_HANDLE | ROWLOCK_NOT_REENTRANT |
		      ROWLOCK_TOKEN_WITH_GRANT;
	code = rowlock_new(client, name, &like, &lock, reterr);
	if (code)
		return code;
	if (options->weight != ROWLOCK_UNWEIGHTED)
		code = give_weight(lock, options, reterr);
	if (code) {
		rowlock_free(lock, NULL);
		return code;
	}
	*ret_lock = lock;
	return 0;
}

int rowlock_election_challenger(struct rowlock *lock, unsigned int *ret_weight,
				uint64_t *ret_stood_ms,
				struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock_errinfo error;
	unsigned int weight = 0;
	int code;

	if (rlk_client_forked(lock->name->client))
		return rlk_client_fail_forked(lock->name->client, reterr);
	if (lock->name->strategy != rlk_strategy(ROWLOCK_LEASE))
		return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
				"challenger of " RLK_LOCK_FORMAT
				": only leases have candidates with a weight",
				RLK_LOCK_ARGS(lock));
	if (lock->recipe && lock->recipe->acquire == rlk_campaign)
		weight =
		    container_of(lock->recipe, struct rlk_candidacy, recipe)
			->weight;
	rlk_lock_enter(lock);
	code = rlk_challenger(lock, weight, ret_weight, ret_stood_ms, &error);
	rlk_lock_leave(lock);
	if (code && reterr)
		*reterr = error;
	return code;
}
