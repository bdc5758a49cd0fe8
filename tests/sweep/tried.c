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
	if (client == stage->client && stage->tried == TRIED_KEPT)
		options.at_least_ms = KEPT_MS * stage->slow;
	stage_must(stage, rowlock_new(client, name, &options, &lock, NULL),
		   "rowlock_new");
	return lock;
}

static void new_set(struct stage *stage)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	const char *const names[] = { stage->other, stage->name };

	options.max_hold_ms = stage->max_hold_ms;
	stage_must(stage,
		   rowlock_multilock_new(stage->client, names, 2, &options,
					 &stage->lock, NULL),
		   "rowlock_multilock_new");
}

static void new_rwlock(struct stage *stage, struct rowlock_client *client,
		       struct rowlock **reader, struct rowlock **writer)
{
	stage_must(
	    stage,
	    rowlock_rwlock_new(client, stage->name, NULL, reader, writer, NULL),
	    "rowlock_rwlock_new");
}

/* Whoever has all of its permits keeps others out; and a single one that is
 * lost is one too few. */
#define PERMITS 2

static struct rowlock *new_semaphore(struct stage *stage,
				     struct rowlock_client *client)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock *semaphore = NULL;

	if (client == stage->client)
		options.max_hold_ms = stage->max_hold_ms;
	stage_must(stage,
		   rowlock_semaphore_new(client, stage->name, PERMITS, &options,
					 &semaphore, NULL),
		   "rowlock_semaphore_new");
	return semaphore;
}

/* With a weight: it says all that one without says, and more. */
static void new_election(struct stage *stage)
{
	struct rowlock_election_options options =
	    ROWLOCK_ELECTION_OPTIONS_DEFAULT;

	options.weight = 5;
	stage_must(stage,
		   rowlock_election_new(stage->client, stage->name, &options,
					&stage->lock, NULL),
		   "rowlock_election_new");
}

void tried_new(struct stage *stage, unsigned int flags)
{
	stage->term = 0;
	switch (stage->tried) {
	case TRIED_SET:
		new_set(stage);
		break;
	case TRIED_READER:
		new_rwlock(stage, stage->client, &stage->lock,
			   &stage->other_side);
		break;
	case TRIED_WRITER:
		new_rwlock(stage, stage->client, &stage->other_side,
			   &stage->lock);
		break;
	case TRIED_PERMITS:
		stage->lock = new_semaphore(stage, stage->client);
		break;
	case TRIED_ELECTION:
		new_election(stage);
		break;
	case TRIED_KEPT:
	case TRIED_LOCK:
		stage->lock =
		    new_lock(stage, stage->client, stage->name, flags);
		break;
	}
	if (stage->lock)
		rowlock_on_lost(stage->lock, lost, stage);
	if (stage->other_side)
		rowlock_on_lost(stage->other_side, lost, stage);
}

/* ---------------------------------------------------------------- calls */

int stage_acquire(struct stage *stage, uint64_t wait_ms,
		  struct rowlock_errinfo *reterr)
{
	if (stage->tried == TRIED_PERMITS)
		return rowlock_semaphore_acquire(stage->lock, PERMITS, wait_ms,
						 reterr);
	return rowlock_acquire(stage->lock, wait_ms, reterr);
}

int stage_release(struct stage *stage, struct rowlock_errinfo *reterr)
{
	return rowlock_release(stage->lock, reterr);
}

/* Upgraded, or downgraded, with @code. */
int stage_changed(struct stage *stage, int code)
{
	struct rowlock *before = stage->lock;

	if (!code) {
		stage->lock = stage->other_side;
		stage->other_side = before;
	}
	return code;
}

/* Permits have none, and a term is no call. */
int stage_token(struct stage *stage, struct rowlock_errinfo *reterr)
{
	uint64_t token;

	if (stage->tried == TRIED_SET)
		return rowlock_multilock_token(stage->lock, stage->name, &token,
					       reterr);
	return rowlock_token(stage->lock, &token, reterr);
}

bool stage_held(const struct stage *stage)
{
	return (stage->lock && rowlock_held(stage->lock)) ||
	       (stage->other_side && rowlock_held(stage->other_side));
}

int stage_free(struct stage *stage, struct rowlock_errinfo *reterr)
{
	int code = rowlock_try_free(stage->other_side, reterr);

	if (code)
		return code;
	stage->other_side = NULL;
	code = rowlock_try_free(stage->lock, reterr);
	if (!code)
		stage->lock = NULL;
	return code;
}

/* --------------------------------------------------------------- rivals */

void rivals_new(struct stage *stage)
{
	if (stage->tried == TRIED_READER || stage->tried == TRIED_WRITER) {
		new_rwlock(stage, stage->rival_client, &stage->rival,
			   &stage->rival_writer);
		return;
	}
	if (stage->tried == TRIED_PERMITS) {
		stage->rival = new_semaphore(stage, stage->rival_client);
		return;
	}
	stage->rival = new_lock(stage, stage->rival_client, stage->name,
				ROWLOCK_OWNER_HANDLE);
	stage->other_rival = new_lock(stage, stage->rival_client, stage->other,
				      ROWLOCK_OWNER_HANDLE);
}

void rivals_end(struct stage *stage)
{
	rowlock_freep(&stage->rival);
	rowlock_freep(&stage->rival_writer);
	rowlock_freep(&stage->other_rival);
}

static struct rowlock *rival(const struct stage *stage)
{
	return stage->rival_writes && stage->rival_writer ? stage->rival_writer
							  : stage->rival;
}

int rival_acquire(struct stage *stage, uint64_t wait_ms,
		  struct rowlock_errinfo *reterr)
{
	if (stage->tried == TRIED_PERMITS)
		return rowlock_semaphore_acquire(stage->rival, PERMITS, wait_ms,
						 reterr);
	return rowlock_acquire(rival(stage), wait_ms, reterr);
}

int rival_release(struct stage *stage, struct rowlock_errinfo *reterr)
{
	return rowlock_release(rival(stage), reterr);
}

int rival_verify(struct stage *stage, struct rowlock_errinfo *reterr)
{
	return rowlock_verify(rival(stage), reterr);
}

unsigned int rival_slot(const struct stage *stage)
{
	if (stage->tried == TRIED_PERMITS)
		return PERMITS;
	if (!stage->rival_writer)
		return 0;
	return stage->rival_writes ? 2147483648u : 2147483648u + 8;
}
