/* SPDX-License-Identifier: MIT */
/*
 * A candidate: a lock whose token, the term, comes with the grant. One with a
 * weight campaigns (recipe/campaign.h).
 */
#include <rowlock/election.h>

#include <stdlib.h>

#include "base/error.h"
#include "base/sized.h"
#include "recipe/campaign.h"

#define YIELD_MS 5000
#define YIELD_MOST_MS 3600000ull

static int check(const struct rowlock_election_options *options,
		 const struct rowlock_options *lock,
		 struct rowlock_errinfo *reterr)
{
	if (options->weight > ROWLOCK_WEIGHT_MAX)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"the weight is %u; give 1 to %d, or 0 for none",
				options->weight, ROWLOCK_WEIGHT_MAX);
	if (options->yield_ms > YIELD_MOST_MS)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"yield_ms must be from 1 to %llu",
				YIELD_MOST_MS);
	if (lock->at_least_ms || lock->delay_after_loss_ms)
		return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
				"only the name of a plain lock can be kept; "
				"leave out at_least_ms and "
				"delay_after_loss_ms");
	if (options->weight && lock->strategy == ROWLOCK_ROW)
		return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
				"candidates of the row strategy have no "
				"weight; use ROWLOCK_LEASE");
	return 0;
}

static int read_options(const struct rowlock_election_options *given,
			struct rowlock_election_options *ret_options,
			struct rowlock_options *ret_lock,
			struct rowlock_errinfo *reterr)
{
	int code = rlk_options_read("election options", given, ret_options,
				    sizeof(*ret_options), reterr);

	if (!code)
		code =
		    rlk_options_read("lock options", ret_options->lock_options,
				     ret_lock, sizeof(*ret_lock), reterr);
	if (code)
		return code;
	if (!ret_options->yield_ms)
		ret_options->yield_ms = YIELD_MS;
	return check(ret_options, ret_lock, reterr);
}

static void forget(struct rlk_recipe *recipe)
{
	rowlock_free(
	    container_of(recipe, struct rlk_candidacy, recipe)->standing);
}

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
	candidacy->weight = options->weight;
	candidacy->yield_ms = options->yield_ms;
	lock->recipe = &candidacy->recipe;
	return rlk_candidacy_stand(candidacy, lock->name->client,
				   lock->name->text, reterr);
}

int rowlock_election_new(struct rowlock_client *client, const char *name,
			 const struct rowlock_election_options *options,
			 struct rowlock **ret_lock,
			 struct rowlock_errinfo *reterr)
{
	struct rowlock_election_options own;
	struct rowlock_options like;
	struct rowlock *lock;
	int code = ret_lock ? read_options(options, &own, &like, reterr)
			    : rlk_fail_null("ret_lock", reterr);

	if (code) {
		rlk_prefix(reterr, "election '%.150s': ", name ? name : "");
		return code;
	}
	like.flags &= ~(unsigned int) ROWLOCK_OWNER_THREAD;
	like.flags |= ROWLOCK_OWNER_HANDLE | ROWLOCK_NOT_REENTRANT |
		      ROWLOCK_TOKEN_WITH_GRANT;
	code = rowlock_new(client, name, &like, &lock, reterr);
	if (code)
		return code;
	if (own.weight)
		code = give_weight(lock, &own, reterr);
	if (code) {
		rowlock_free(lock);
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
	int code = rlk_lock_refuses(lock, reterr);

	if (!code && (!ret_weight || !ret_stood_ms))
		code = rlk_fail_null("ret_weight or ret_stood_ms", reterr);
	if (code)
		return code;
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
