/* SPDX-License-Identifier: MIT */
/*
 * Calls on a lock, a multi-lock, a read/write lock, permits or a candidate; see
 * hold.h.
 */
#include "run/hold.h"

#include <stdio.h>

static int new_semaphore(struct hold *hold, struct rowlock_client *client,
			 const char *name,
			 const struct rowlock_options *options,
			 struct rowlock_errinfo *reterr)
{
	struct rowlock_semaphore_options like =
	    ROWLOCK_SEMAPHORE_OPTIONS_DEFAULT;

	like.strategy = options->strategy;
	like.info = options->info;
	like.max_hold_ms = options->max_hold_ms;
	return rowlock_semaphore_new(client, name, hold->manner.permits, &like,
				     &hold->semaphore, reterr);
}

static int new_election(struct hold *hold, struct rowlock_client *client,
			const char *name, const struct rowlock_options *options,
			struct rowlock_errinfo *reterr)
{
	struct rowlock_election_options like = ROWLOCK_ELECTION_OPTIONS_DEFAULT;

	like.strategy = options->strategy;
	like.info = options->info;
	like.weight = hold->manner.weight;
	return rowlock_election_new(client, name, &like, &hold->election,
				    reterr);
}

int hold_new(struct hold *hold, struct rowlock_client *client,
	     const char *const *names, size_t count,
	     const struct rowlock_options *options,
	     struct rowlock_errinfo *reterr)
{
	struct rowlock_multilock_options several =
	    ROWLOCK_MULTILOCK_OPTIONS_DEFAULT;
	struct rowlock_rwlock_options shared = ROWLOCK_RWLOCK_OPTIONS_DEFAULT;

	hold->server = rowlock_client_server(client);
	if (hold->manner.elects)
		return new_election(hold, client, names[0], options, reterr);
	if (hold->manner.permits)
		return new_semaphore(hold, client, names[0], options, reterr);
	if (hold->manner.mode) {
		shared.strategy = options->strategy;
		shared.info = options->info;
		return rowlock_rwlock_new(client, names[0], &shared,
					  &hold->rwlock, reterr);
	}
	if (count == 1)
		return rowlock_new(client, names[0], options, &hold->lock,
				   reterr);
	several.strategy = options->strategy;
	several.info = options->info;
	several.max_hold_ms = options->max_hold_ms;
	return rowlock_multilock_new(client, names, count, &several, &hold->set,
				     reterr);
}

void hold_free(struct hold *hold)
{
	rowlock_free(hold->lock, NULL);
	rowlock_multilock_free(hold->set, NULL);
	rowlock_rwlock_free(hold->rwlock, NULL);
	rowlock_semaphore_free(hold->semaphore, NULL);
	rowlock_election_free(hold->election, NULL);
}

bool hold_is_made(const struct hold *hold)
{
	return hold->lock || hold->set || hold->rwlock || hold->semaphore ||
	       hold->election;
}

int hold_acquire(struct hold *hold, uint64_t wait_ms,
		 struct rowlock_errinfo *reterr)
{
	if (hold->election)
		return rowlock_election_campaign(hold->election, wait_ms,
						 reterr);
	if (hold->semaphore)
		return rowlock_semaphore_acquire(
		    hold->semaphore, hold->manner.count, wait_ms, reterr);
	if (hold->rwlock)
		return hold->manner.mode == ROWLOCK_RWLOCK_READ
			   ? rowlock_rwlock_acquire_read(hold->rwlock, wait_ms,
							 reterr)
			   : rowlock_rwlock_acquire_write(hold->rwlock, wait_ms,
							  reterr);
	return hold->set ? rowlock_multilock_acquire(hold->set, wait_ms, reterr)
			 : rowlock_acquire(hold->lock, wait_ms, reterr);
}

int hold_release(struct hold *hold, struct rowlock_errinfo *reterr)
{
	if (hold->election)
		return rowlock_election_resign(hold->election, reterr);
	if (hold->semaphore)
		return rowlock_semaphore_release(hold->semaphore, reterr);
	if (hold->rwlock)
		return rowlock_rwlock_release(hold->rwlock, reterr);
	return hold->set ? rowlock_multilock_release(hold->set, reterr)
			 : rowlock_release(hold->lock, reterr);
}

/* It was drawn with the election. */
static int get_term(struct hold *hold, const char *name, uint64_t *ret_term,
		    struct rowlock_errinfo *reterr)
{
	*ret_term = rowlock_election_term(hold->election);
	if (*ret_term)
		return 0;
	*reterr = (struct rowlock_errinfo){ .code = ROWLOCK_ELOST };
	snprintf(reterr->message, sizeof(reterr->message),
		 "the lead of '%.150s' on %.200s was lost before the command "
		 "was started",
		 name, hold->server);
	return ROWLOCK_ELOST;
}

int hold_token(struct hold *hold, const char *name, uint64_t *ret_token,
	       struct rowlock_errinfo *reterr)
{
	if (hold->election)
		return get_term(hold, name, ret_token, reterr);
	if (hold->semaphore) {
		*ret_token = 0;
		return 0;
	}
	if (hold->rwlock)
		return rowlock_rwlock_token(hold->rwlock, ret_token, reterr);
	return hold->set
		   ? rowlock_multilock_token(hold->set, name, ret_token, reterr)
		   : rowlock_token(hold->lock, ret_token, reterr);
}

int hold_guard_sql(struct hold *hold, bool by_call, char *text, size_t size,
		   struct rowlock_errinfo *reterr)
{
	return by_call ? rowlock_guard_call(hold->lock, text, size, reterr)
		       : rowlock_guard_sql(hold->lock, text, size, reterr);
}

bool hold_held(struct hold *hold)
{
	if (hold->election)
		return rowlock_election_is_leader(hold->election);
	if (hold->semaphore)
		return rowlock_semaphore_held(hold->semaphore) > 0;
	if (hold->rwlock)
		return rowlock_rwlock_held(hold->rwlock) != ROWLOCK_RWLOCK_NONE;
	return hold->set ? rowlock_multilock_held(hold->set)
			 : rowlock_held(hold->lock);
}

uint64_t hold_remaining_ms(struct hold *hold)
{
	if (hold->election)
		return rowlock_election_remaining_ms(hold->election);
	if (hold->semaphore)
		return rowlock_semaphore_remaining_ms(hold->semaphore);
	if (hold->rwlock)
		return rowlock_rwlock_remaining_ms(hold->rwlock);
	return hold->set ? rowlock_multilock_remaining_ms(hold->set)
			 : rowlock_remaining_ms(hold->lock);
}

void hold_cancel(struct hold *hold)
{
	if (hold->election)
		rowlock_election_cancel(hold->election);
	else if (hold->semaphore)
		rowlock_semaphore_cancel(hold->semaphore);
	else if (hold->rwlock)
		rowlock_rwlock_cancel(hold->rwlock);
	else if (hold->set)
		rowlock_multilock_cancel(hold->set);
	else
		rowlock_cancel(hold->lock);
}

static void lost(struct rowlock *lock, void *arg)
{
	const struct hold *hold = arg;

	(void) lock;
	hold->lost_fn(hold->lost_arg);
}

static void lost_set(struct rowlock_multilock *set, void *arg)
{
	(void) set;
	lost(NULL, arg);
}

static void lost_rwlock(struct rowlock_rwlock *rwlock, void *arg)
{
	(void) rwlock;
	lost(NULL, arg);
}

static void lost_permits(struct rowlock_semaphore *semaphore, void *arg)
{
	(void) semaphore;
	lost(NULL, arg);
}

static void lost_election(struct rowlock_election *election, void *arg)
{
	(void) election;
	lost(NULL, arg);
}

/* A callback that is told no more may still be running, with what it was given.
 */
void hold_on_lost(struct hold *hold, hold_lost_fn fn, void *arg)
{
	if (fn) {
		hold->lost_fn = fn;
		hold->lost_arg = arg;
	}
	if (hold->election)
		rowlock_election_on_lost(hold->election,
					 fn ? lost_election : NULL, hold);
	else if (hold->semaphore)
		rowlock_semaphore_on_lost(hold->semaphore,
					  fn ? lost_permits : NULL, hold);
	else if (hold->rwlock)
		rowlock_rwlock_on_lost(hold->rwlock, fn ? lost_rwlock : NULL,
				       hold);
	else if (hold->set)
		rowlock_multilock_on_lost(hold->set, fn ? lost_set : NULL,
					  hold);
	else
		rowlock_on_lost(hold->lock, fn ? lost : NULL, hold);
}
