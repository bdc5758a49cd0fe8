/* SPDX-License-Identifier: MIT */
/*
 * The fake library: elections, each made of a fake lock. The answer who
 * challenges a leader is code 1 and "WEIGHT MS", or code 0: nobody.
 */
#include <rowlock/election.h>

#include <stdio.h>
#include <stdlib.h>

#include "fake_rowlock.h"

struct rowlock_election {
	struct rowlock *lock;
	int weight;
	rowlock_election_lost_fn fn;
	void *arg;
};

int rowlock_election_new(struct rowlock_client *client, const char *name,
			 const struct rowlock_election_options *options,
			 struct rowlock_election **ret_election,
			 struct rowlock_errinfo *reterr)
{
	struct rowlock_options lock = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_election *election = calloc(1, sizeof(*election));
	int r;

	if (options->size != sizeof(*options))
		abort();
	lock.strategy = options->strategy;
	lock.info = options->info;
	lock.flags = ROWLOCK_OWNER_HANDLE | ROWLOCK_TOKEN_WITH_GRANT;
	election->weight = options->weight;
	r = rowlock_new(client, name, &lock, &election->lock, reterr);
	if (r < 0)
		free(election);
	else
		*ret_election = election;
	return r;
}

int rowlock_election_free(struct rowlock_election *election,
			  struct rowlock_errinfo *reterr)
{
	int r;

	if (!election)
		return 0;
	r = rowlock_free(election->lock, reterr);
	if (r == 0)
		free(election);
	return r;
}

int rowlock_election_campaign(struct rowlock_election *election,
			      uint64_t wait_ms, struct rowlock_errinfo *reterr)
{
	int r = fake_ask(NULL, reterr, "campaign weight=%d", election->weight);

	return r < 0 ? r : rowlock_acquire(election->lock, wait_ms, reterr);
}

int rowlock_election_resign(struct rowlock_election *election,
			    struct rowlock_errinfo *reterr)
{
	return rowlock_release(election->lock, reterr);
}

uint64_t rowlock_election_term(struct rowlock_election *election)
{
	uint64_t token;

	return rowlock_token(election->lock, &token, NULL) == 0 ? token : 0;
}

int rowlock_election_is_leader(struct rowlock_election *election)
{
	return rowlock_held(election->lock);
}

uint64_t rowlock_election_remaining_ms(struct rowlock_election *election)
{
	return rowlock_remaining_ms(election->lock);
}

void rowlock_election_cancel(struct rowlock_election *election)
{
	rowlock_cancel(election->lock);
}

static void lost(struct rowlock *lock, void *arg)
{
	struct rowlock_election *election = arg;

	(void) lock;
	election->fn(election, election->arg);
}

void rowlock_election_on_lost(struct rowlock_election *election,
			      rowlock_election_lost_fn fn, void *arg)
{
	if (fn) {
		election->fn = fn;
		election->arg = arg;
	}
	rowlock_on_lost(election->lock, fn ? lost : NULL, election);
}

int rowlock_election_challenger(struct rowlock_election *election,
				unsigned int *ret_weight,
				uint64_t *ret_stood_ms,
				struct rowlock_errinfo *reterr)
{
	struct rowlock_errinfo told = { .message = "" };
	unsigned long stood_ms = 0;
	int r = fake_ask(NULL, &told, "challenger");

	(void) election;
	*ret_weight = 0;
	if (r < 0)
		*reterr = told;
	else
		sscanf(told.message, "%u %lu", ret_weight, &stood_ms);
	*ret_stood_ms = stood_ms;
	return r < 0 ? r : 0;
}
