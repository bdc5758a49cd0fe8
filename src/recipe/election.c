/* SPDX-License-Identifier: MIT */
/*
 * A candidate: a lock of its own, whose token comes with the grant and is the
 * term; and, if it has a weight, what recipe/campaign.h has for those.
 *
 * Failure modes: those of the lock. A leadership that was lost stays with the
 * handle until it is released; a campaign does that first.
 */
#include <rowlock/election.h>

#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "recipe/campaign.h"
#include "recipe/told.h"

#define YIELD_MOST_MS 3600000ull

struct rowlock_election {
	struct rowlock *lock;
	_Atomic uint64_t term; /* of the last election; 0: resigned */
	struct rlk_told told;
	bool weighted;
	struct rlk_candidacy candidacy;
};

static int check(const char *name,
		 const struct rowlock_election_options *options,
		 struct rowlock_errinfo *reterr)
{
	const char *shown = name ? name : "";

	if (options->size != sizeof(*options))
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"election '%.150s': the options' size is "
				"wrong; begin with "
				"ROWLOCK_ELECTION_OPTIONS_DEFAULT",
				shown);
	if (options->weight < ROWLOCK_UNWEIGHTED ||
	    options->weight > ROWLOCK_WEIGHT_MAX)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"election '%.150s': the weight is %d; give 0 "
				"to %d, or ROWLOCK_UNWEIGHTED",
				shown, options->weight, ROWLOCK_WEIGHT_MAX);
	if (options->yield_ms > YIELD_MOST_MS)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"election '%.150s': yield_ms must be from 0 to "
				"%llu",
				shown, YIELD_MOST_MS);
	if (options->weight != ROWLOCK_UNWEIGHTED &&
	    options->strategy == ROWLOCK_ROW)
		return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
				"election '%.150s': candidates of the row "
				"strategy have no weight; use ROWLOCK_LEASE",
				shown);
	return 0;
}

/* Nobody yields to a weight of 0: it needs no row. */
static int make_candidacy(struct rowlock_election *election,
			  struct rowlock_client *client, const char *name,
			  const struct rowlock_election_options *options,
			  struct rowlock_errinfo *reterr)
{
	struct rlk_candidacy *candidacy = &election->candidacy;

	election->weighted = options->weight != ROWLOCK_UNWEIGHTED;
	candidacy->lock = election->lock;
	candidacy->yield_ms = options->yield_ms;
	if (options->weight <= 0)
		return 0;
	candidacy->weight = (unsigned int) options->weight;
	return rlk_candidacy_new(client, name, candidacy->weight,
				 &candidacy->standing, reterr);
}

int rowlock_election_new(struct rowlock_client *client, const char *name,
			 const struct rowlock_election_options *options,
			 struct rowlock_election **ret_election,
			 struct rowlock_errinfo *reterr)
{
	const struct rowlock_election_options defaults =
	    ROWLOCK_ELECTION_OPTIONS_DEFAULT;
	struct rowlock_options lock = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_election *election;
	int code;

	if (!options)
		options = &defaults;
	code = check(name, options, reterr);
	if (code)
		return code;
	election = calloc(1, sizeof(*election));
	if (!election)
		return rlk_fail(reterr, ROWLOCK_ENOMEM,
				"election '%.150s': out of memory",
				name ? name : "");
	lock.strategy = options->strategy;
	lock.info = options->info;
	lock.flags = ROWLOCK_OWNER_HANDLE | ROWLOCK_NOT_REENTRANT |
		     ROWLOCK_TOKEN_WITH_GRANT;
	code = rowlock_new(client, name, &lock, &election->lock, reterr);
	if (!code)
		code = make_candidacy(election, client, name, options, reterr);
	if (code) {
		rowlock_free(election->lock, NULL);
		free(election);
		return code;
	}
	rlk_told_init(&election->told);
	*ret_election = election;
	return 0;
}

int rowlock_election_free(struct rowlock_election *election,
			  struct rowlock_errinfo *reterr)
{
	int code;

	if (!election)
		return 0;
	code = rowlock_free(election->lock, reterr);
	if (code)
		return code;
	rowlock_free(election->candidacy.standing, NULL);
	rlk_told_fini(&election->told);
	free(election);
	return 0;
}

static int ask(struct rowlock_election *election, uint64_t wait_ms,
	       struct rowlock_errinfo *reterr)
{
	return election->weighted
		   ? rlk_campaign(&election->candidacy, wait_ms, reterr)
		   : rowlock_acquire(election->lock, wait_ms, reterr);
}

/* What was lost before has to be released first. Its term, too, or it would be
 * shown from the grant on until the new one is known. */
static int acquire(struct rowlock_election *election, uint64_t wait_ms,
		   struct rowlock_errinfo *reterr)
{
	struct rowlock_errinfo error;
	int code = ask(election, wait_ms, &error);

	if (code == ROWLOCK_ELOST &&
	    rowlock_release(election->lock, NULL) == ROWLOCK_ELOST) {
		atomic_store(&election->term, 0);
		code = ask(election, wait_ms, &error);
	}
	if (code && reterr)
		*reterr = error;
	return code;
}

int rowlock_election_campaign(struct rowlock_election *election,
			      uint64_t wait_ms, struct rowlock_errinfo *reterr)
{
	uint64_t term;
	int code = acquire(election, wait_ms, reterr);

	if (code)
		return code;
	/* It was drawn with the grant. */
	code = rowlock_token(election->lock, &term, reterr);
	if (code) {
		rowlock_release(election->lock, NULL);
		return code;
	}
	atomic_store(&election->term, term);
	return 0;
}

int rowlock_election_is_leader(struct rowlock_election *election)
{
	return rowlock_election_term(election) != 0;
}

/* A term that was seen before and after it was held is the one of that. */
uint64_t rowlock_election_term(struct rowlock_election *election)
{
	uint64_t term = atomic_load(&election->term);
	uint64_t before;

	do {
		before = term;
		if (!before || !rowlock_held(election->lock))
			return 0;
		term = atomic_load(&election->term);
	} while (term != before);
	return term;
}

uint64_t rowlock_election_remaining_ms(struct rowlock_election *election)
{
	return atomic_load(&election->term)
		   ? rowlock_remaining_ms(election->lock)
		   : 0;
}

int rowlock_election_verify(struct rowlock_election *election,
			    struct rowlock_errinfo *reterr)
{
	return rowlock_verify(election->lock, reterr);
}

int rowlock_election_challenger(struct rowlock_election *election,
				unsigned int *ret_weight,
				uint64_t *ret_stood_ms,
				struct rowlock_errinfo *reterr)
{
	return rlk_challenger(election->lock, election->candidacy.weight,
			      ret_weight, ret_stood_ms, reterr);
}

int rowlock_election_resign(struct rowlock_election *election,
			    struct rowlock_errinfo *reterr)
{
	int code = rowlock_release(election->lock, reterr);

	if (code != ROWLOCK_EFORKED)
		atomic_store(&election->term, 0);
	return code;
}

void rowlock_election_cancel(struct rowlock_election *election)
{
	rowlock_cancel(election->lock);
}

const char *rowlock_election_name(const struct rowlock_election *election)
{
	return rowlock_name(election->lock);
}

static void lost(struct rowlock *lock, void *arg)
{
	struct rowlock_election *election = arg;
	rowlock_election_lost_fn fn;
	void *fn_arg;

	(void) lock;
	fn = (rowlock_election_lost_fn) rlk_told_get(&election->told, &fn_arg);
	if (fn)
		fn(election, fn_arg);
}

void rowlock_election_on_lost(struct rowlock_election *election,
			      rowlock_election_lost_fn fn, void *arg)
{
	rlk_told_set(&election->told, election->lock, (rlk_told_fn) fn, arg,
		     lost, election);
}
