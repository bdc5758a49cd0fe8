// SPDX-License-Identifier: MIT
/*
 * What is tried, a lock or what is made of locks, and its rival: who must not
 * have it at the same time, and wants the same name.
 */
#include "sweep.h"

#include <stdatomic.h>

#include "test.h"

static void lost(struct rowlock *lock, void *arg)
{
	struct stage *stage = arg;

	(void) lock;
	atomic_fetch_add(&stage->lost, 1);
}

static struct rowlock *new_lock(struct stage *stage,
				struct rowlock_client *client, const char *name,
				unsigned int flags)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock *lock = NULL;

	options.strategy = stage->strategy;
	options.flags = flags;
	if (client == stage->client)
		options.max_hold_ms = stage->max_hold_ms;
	stage_must(stage, rowlock_new(client, name, &options, &lock, NULL),
		   "rowlock_new");
	return lock;
}

static void lost_set(struct rowlock_multilock *set, void *arg)
{
	(void) set;
	lost(NULL, arg);
}

static void new_set(struct stage *stage)
{
	struct rowlock_multilock_options options =
	    ROWLOCK_MULTILOCK_OPTIONS_DEFAULT;
	const char *const names[] = { stage->other, stage->name };

	options.max_hold_ms = stage->max_hold_ms;
	stage_must(stage,
		   rowlock_multilock_new(stage->client, names, 2, &options,
					 &stage->set, NULL),
		   "rowlock_multilock_new");
	if (stage->set)
		rowlock_multilock_on_lost(stage->set, lost_set, stage);
}

static struct rowlock_rwlock *new_rwlock(struct stage *stage,
					 struct rowlock_client *client)
{
	struct rowlock_rwlock *rwlock = NULL;

	stage_must(stage,
		   rowlock_rwlock_new(client, stage->name, NULL, &rwlock, NULL),
		   "rowlock_rwlock_new");
	return rwlock;
}

static void lost_rwlock(struct rowlock_rwlock *rwlock, void *arg)
{
	(void) rwlock;
	lost(NULL, arg);
}

/* Whoever has all of its permits keeps others out; and a single one that is
 * lost is one too few. */
#define PERMITS 2

static struct rowlock_semaphore *new_semaphore(struct stage *stage,
					       struct rowlock_client *client)
{
	struct rowlock_semaphore_options options =
	    ROWLOCK_SEMAPHORE_OPTIONS_DEFAULT;
	struct rowlock_semaphore *semaphore = NULL;

	if (client == stage->client)
		options.max_hold_ms = stage->max_hold_ms;
	stage_must(stage,
		   rowlock_semaphore_new(client, stage->name, PERMITS, &options,
					 &semaphore, NULL),
		   "rowlock_semaphore_new");
	return semaphore;
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

/* With a weight: it says all that one without says, and more. */
static void new_election(struct stage *stage)
{
	struct rowlock_election_options options =
	    ROWLOCK_ELECTION_OPTIONS_DEFAULT;

	options.weight = 5;
	stage_must(stage,
		   rowlock_election_new(stage->client, stage->name, &options,
					&stage->election, NULL),
		   "rowlock_election_new");
	if (stage->election)
		rowlock_election_on_lost(stage->election, lost_election, stage);
}

void tried_new(struct stage *stage, unsigned int flags)
{
	stage->term = 0;
	switch (stage->tried) {
	case TRIED_SET:
		new_set(stage);
		break;
	case TRIED_READER:
	case TRIED_WRITER:
		stage->rwlock = new_rwlock(stage, stage->client);
		if (stage->rwlock)
			rowlock_rwlock_on_lost(stage->rwlock, lost_rwlock,
					       stage);
		break;
	case TRIED_PERMITS:
		stage->semaphore = new_semaphore(stage, stage->client);
		if (stage->semaphore)
			rowlock_semaphore_on_lost(stage->semaphore,
						  lost_permits, stage);
		break;
	case TRIED_ELECTION:
		new_election(stage);
		break;
	case TRIED_LOCK:
		stage->lock =
		    new_lock(stage, stage->client, stage->name, flags);
		if (stage->lock)
			rowlock_on_lost(stage->lock, lost, stage);
		break;
	}
}

/* ---------------------------------------------------------------- calls */

int stage_acquire(struct stage *stage, uint64_t wait_ms,
		  struct rowlock_errinfo *reterr)
{
	switch (stage->tried) {
	case TRIED_SET:
		return rowlock_multilock_acquire(stage->set, wait_ms, reterr);
	case TRIED_READER:
		return rowlock_rwlock_acquire_read(stage->rwlock, wait_ms,
						   reterr);
	case TRIED_WRITER:
		return rowlock_rwlock_acquire_write(stage->rwlock, wait_ms,
						    reterr);
	case TRIED_PERMITS:
		return rowlock_semaphore_acquire(stage->semaphore, PERMITS,
						 wait_ms, reterr);
	case TRIED_ELECTION:
		return rowlock_election_campaign(stage->election, wait_ms,
						 reterr);
	default:
		return rowlock_acquire(stage->lock, wait_ms, reterr);
	}
}

int stage_release(struct stage *stage, struct rowlock_errinfo *reterr)
{
	switch (stage->tried) {
	case TRIED_SET:
		return rowlock_multilock_release(stage->set, reterr);
	case TRIED_READER:
	case TRIED_WRITER:
		return rowlock_rwlock_release(stage->rwlock, reterr);
	case TRIED_PERMITS:
		return rowlock_semaphore_release(stage->semaphore, reterr);
	case TRIED_ELECTION:
		return rowlock_election_resign(stage->election, reterr);
	default:
		return rowlock_release(stage->lock, reterr);
	}
}

int stage_verify(struct stage *stage, struct rowlock_errinfo *reterr)
{
	switch (stage->tried) {
	case TRIED_SET:
		return rowlock_multilock_verify(stage->set, reterr);
	case TRIED_READER:
	case TRIED_WRITER:
		return rowlock_rwlock_verify(stage->rwlock, reterr);
	case TRIED_PERMITS:
		return rowlock_semaphore_verify(stage->semaphore, reterr);
	case TRIED_ELECTION:
		return rowlock_election_verify(stage->election, reterr);
	default:
		return rowlock_verify(stage->lock, reterr);
	}
}

/* Permits have none, and a term is no call. */
int stage_token(struct stage *stage, struct rowlock_errinfo *reterr)
{
	uint64_t token;

	switch (stage->tried) {
	case TRIED_SET:
		return rowlock_multilock_token(stage->set, stage->name, &token,
					       reterr);
	case TRIED_READER:
	case TRIED_WRITER:
		return rowlock_rwlock_token(stage->rwlock, &token, reterr);
	default:
		return rowlock_token(stage->lock, &token, reterr);
	}
}

bool stage_held(const struct stage *stage)
{
	if (stage->election)
		return rowlock_election_is_leader(stage->election);
	if (stage->semaphore)
		return rowlock_semaphore_held(stage->semaphore);
	if (stage->rwlock)
		return rowlock_rwlock_held(stage->rwlock) !=
		       ROWLOCK_RWLOCK_NONE;
	if (stage->set)
		return rowlock_multilock_held(stage->set);
	return stage->lock && rowlock_held(stage->lock);
}

int stage_free(struct stage *stage, struct rowlock_errinfo *reterr)
{
	int code;

	if (stage->election)
		code = rowlock_election_free(stage->election, reterr);
	else if (stage->semaphore)
		code = rowlock_semaphore_free(stage->semaphore, reterr);
	else if (stage->rwlock)
		code = rowlock_rwlock_free(stage->rwlock, reterr);
	else if (stage->set)
		code = rowlock_multilock_free(stage->set, reterr);
	else
		code = rowlock_free(stage->lock, reterr);
	if (code)
		return code;
	stage->election = NULL;
	stage->semaphore = NULL;
	stage->rwlock = NULL;
	stage->set = NULL;
	stage->lock = NULL;
	return 0;
}

/* --------------------------------------------------------------- rivals */

void rivals_new(struct stage *stage)
{
	if (stage->tried == TRIED_READER || stage->tried == TRIED_WRITER) {
		stage->rwlock_rival = new_rwlock(stage, stage->rival_client);
		return;
	}
	if (stage->tried == TRIED_PERMITS) {
		stage->semaphore_rival =
		    new_semaphore(stage, stage->rival_client);
		return;
	}
	stage->rival = new_lock(stage, stage->rival_client, stage->name,
				ROWLOCK_OWNER_HANDLE);
	stage->other_rival = new_lock(stage, stage->rival_client, stage->other,
				      ROWLOCK_OWNER_HANDLE);
}

void rivals_end(struct stage *stage)
{
	if (stage->rival && rowlock_depth(stage->rival))
		rowlock_release(stage->rival, NULL);
	rowlock_free(stage->rival, NULL);
	stage->rival = NULL;
	rowlock_freep(&stage->other_rival);
	rowlock_rwlock_freep(&stage->rwlock_rival);
	rowlock_semaphore_freep(&stage->semaphore_rival);
}

int rival_acquire(struct stage *stage, uint64_t wait_ms,
		  struct rowlock_errinfo *reterr)
{
	if (stage->semaphore_rival)
		return rowlock_semaphore_acquire(stage->semaphore_rival,
						 PERMITS, wait_ms, reterr);
	if (stage->rival_writes)
		return rowlock_rwlock_acquire_write(stage->rwlock_rival,
						    wait_ms, reterr);
	if (stage->rwlock_rival)
		return rowlock_rwlock_acquire_read(stage->rwlock_rival, wait_ms,
						   reterr);
	return rowlock_acquire(stage->rival, wait_ms, reterr);
}

int rival_release(struct stage *stage, struct rowlock_errinfo *reterr)
{
	if (stage->semaphore_rival)
		return rowlock_semaphore_release(stage->semaphore_rival,
						 reterr);
	return stage->rwlock_rival
		   ? rowlock_rwlock_release(stage->rwlock_rival, reterr)
		   : rowlock_release(stage->rival, reterr);
}

int rival_verify(struct stage *stage, struct rowlock_errinfo *reterr)
{
	if (stage->semaphore_rival)
		return rowlock_semaphore_verify(stage->semaphore_rival, reterr);
	return stage->rwlock_rival
		   ? rowlock_rwlock_verify(stage->rwlock_rival, reterr)
		   : rowlock_verify(stage->rival, reterr);
}

unsigned int rival_slot(const struct stage *stage)
{
	if (stage->semaphore_rival)
		return PERMITS;
	if (!stage->rwlock_rival)
		return 0;
	return stage->rival_writes ? 2147483648u : 2147483648u + 8;
}
