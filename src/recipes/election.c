/* SPDX-License-Identifier: MIT */
/*
 * A candidate: a lock of its own, whose token comes with the grant and is the
 * term. Written against the public header, as any program could.
 *
 * Failure modes: those of the lock. A leadership that was lost stays with the
 * handle until it is released; a campaign does that first.
 */
#include <rowlock/election.h>

#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "recipes/told.h"

struct rowlock_election {
	struct rowlock *lock;
	_Atomic uint64_t term; /* of the last election; 0: resigned */
	struct rlk_told told;
};

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
	if (options->size != sizeof(*options))
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"election '%.150s': the options' size is "
				"wrong; begin with "
				"ROWLOCK_ELECTION_OPTIONS_DEFAULT",
				name ? name : "");
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
	if (code) {
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
	rlk_told_fini(&election->told);
	free(election);
	return 0;
}

/* What was lost before has to be released first. Its term, too, or it would be
 * shown from the grant on until the new one is known. */
static int acquire(struct rowlock_election *election, uint64_t wait_ms,
		   struct rowlock_errinfo *reterr)
{
	struct rowlock_errinfo error;
	int code = rowlock_acquire(election->lock, wait_ms, &error);

	if (code == ROWLOCK_ELOST &&
	    rowlock_release(election->lock, NULL) == ROWLOCK_ELOST) {
		atomic_store(&election->term, 0);
		code = rowlock_acquire(election->lock, wait_ms, &error);
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
