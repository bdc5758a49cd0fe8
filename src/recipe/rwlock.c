/* SPDX-License-Identifier: MIT */
/*
 * A read/write lock: two locks, a reader's and a writer's (recipe/writer.h),
 * that know each other. A change from one to the other holds both for a moment.
 *
 * Failure modes: those of the locks. If the side that is left proves to be
 * lost, others may have written in between: then the new side is also given
 * back.
 */
#include <rowlock/rwlock.h>

#include <stdlib.h>

#include "base/error.h"
#include "recipe/recipe.h"
#include "recipe/writer.h"
#include "strategy/sides.h"
#include "wait/line.h"
#include "wait/step.h"

/* The sides of a pair do not wait for each other. */
static int check_other(const struct rowlock *lock, bool reads,
		       struct rowlock_errinfo *reterr)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&lock->name->client->mutex);
	const struct rowlock *other = lock->recipe->other;

	if (!other || !other->hold || !rlk_hold_check_locked(other->hold))
		return 0;
	return rlk_fail(reterr, ROWLOCK_EDEADLOCK,
			"acquire " RLK_LOCK_FORMAT ": %s", RLK_LOCK_ARGS(lock),
			reads ? "its writer holds it, which may read, too; or "
				"use rowlock_rwlock_downgrade()"
			      : "its reader holds it; use "
				"rowlock_rwlock_upgrade()");
}

static int acquire(struct rowlock *lock, uint64_t wait_ms,
		   struct rowlock_errinfo *reterr)
{
	bool reads = lock->name->strategy == &rlk_strategy_reader;
	int code = check_other(lock, reads, reterr);

	if (code)
		return code;
	if (reads)
		return rlk_acquire(lock, wait_ms, reterr);
	code = rlk_lock_begin_parts(lock, reterr);
	if (code)
		return code;
	code = rlk_writer_acquire(lock, NULL, wait_ms, reterr);
	rlk_lock_end_parts(lock);
	return code;
}

/* ------------------------------------------------------------------- made */

static void forget_locked(struct rlk_recipe *recipe)
{
	if (recipe->other)
		recipe->other->recipe->other = NULL;
}

static int make(struct rowlock_client *client, const char *name,
		const struct rlk_strategy *strategy,
		const struct rowlock_options *options,
		struct rowlock **ret_lock, struct rowlock_errinfo *reterr)
{
	struct rlk_recipe *side = calloc(1, sizeof(*side));

	if (side) {
		side->acquire = acquire;
		side->leave_locked = forget_locked;
	}
	return rlk_recipe_make(client, name, strategy, options, side, ret_lock,
			       reterr);
}

static int make_both(struct rowlock_client *client, const char *name,
		     const struct rowlock_options *options,
		     struct rowlock **ret_reader, struct rowlock **ret_writer,
		     struct rowlock_errinfo *reterr)
{
	struct rowlock_options reading = *options;
	struct rowlock *reader;
	int code;

	reading.flags = ROWLOCK_OWNER_HANDLE;
	code =
	    make(client, name, &rlk_strategy_reader, &reading, &reader, reterr);
	if (code)
		return code;
	code = make(client, name, &rlk_strategy_writer, options, ret_writer,
		    reterr);
	if (code) {
		rowlock_free(reader);
		return code;
	}
	reader->recipe->other = *ret_writer;
	(*ret_writer)->recipe->other = reader;
	*ret_reader = reader;
	return 0;
}

int rowlock_rwlock_new(struct rowlock_client *client, const char *name,
		       const struct rowlock_options *options,
		       struct rowlock **ret_reader, struct rowlock **ret_writer,
		       struct rowlock_errinfo *reterr)
{
	struct rowlock_options lock;
	int code;

	if (!ret_reader || !ret_writer)
		return rlk_fail_null("ret_reader or ret_writer", reterr);
	code =
	    rlk_recipe_options("read/write lock", name, options, &lock, reterr);
	if (code)
		return code;
	if (lock.max_hold_ms)
		return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
				"read/write lock '%.150s': it has no maximum "
				"hold; leave out max_hold_ms",
				name ? name : "");
	code = make_both(client, name, &lock, ret_reader, ret_writer, reterr);
	if (code)
		rlk_prefix(reterr, "read/write lock: ");
	return code;
}

/* ----------------------------------------------------- upgrade, downgrade */

/* Release all levels of a lost hold, or the one level of a live one. */
static void drop(struct rowlock *lock)
{
	while (rowlock_release(lock, NULL) == ROWLOCK_ELOST)
		;
}

/* @to was acquired beside @from, with @code. If @from was lost before, others
 * may have written, so @to cannot be relied on. */
static int leave(struct rowlock *from, struct rowlock *to, int code,
		 struct rowlock_errinfo *reterr)
{
	if (code && code != ROWLOCK_ELOST)
		return code;
	if (!code)
		code = rowlock_release(from, reterr);
	if (code != ROWLOCK_ELOST)
		return 0;
	drop(from);
	drop(to);
	return code;
}

/* The other of the pair in which @lock is the side of @strategy, or NULL. Both
 * are in use from here on. */
static struct rowlock *begin_change(struct rowlock *lock,
				    const struct rlk_strategy *strategy)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&lock->name->client->mutex);
	struct rowlock *other =
	    lock->name->strategy == strategy ? lock->recipe->other : NULL;

	if (other) {
		lock->calls++;
		other->calls++;
	}
	return other;
}

/* Had rowlock_free() no waiter of the writer to cancel yet? */
static bool is_being_freed(struct rowlock *lock)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&lock->name->client->mutex);

	return lock->freed;
}

static int upgrade(struct rowlock *reader, struct rowlock *writer,
		   uint64_t wait_ms, struct rowlock_errinfo *reterr)
{
	unsigned int depth = rowlock_depth(reader);
	int code = rlk_lock_begin_parts(writer, reterr);

	if (code)
		return code;
	if (is_being_freed(reader))
		code = rlk_fail_waiting(writer, ROWLOCK_ECANCELED, reterr);
	else if (depth > 1)
		code = rlk_fail(reterr, ROWLOCK_EDEADLOCK,
				RLK_LOCK_FORMAT
				" reads %u times; release it until it reads "
				"once",
				RLK_LOCK_ARGS(reader), depth);
	else
		code = rlk_writer_acquire(writer, reader, wait_ms, reterr);
	code = leave(reader, writer, code, reterr);
	rlk_lock_end_parts(writer);
	return code;
}

static int change(struct rowlock *lock, bool reads, uint64_t wait_ms,
		  struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock_errinfo error;
	struct rowlock *other;
	int64_t called_ms;
	int code = rlk_lock_refuses(lock, reterr);

	if (code)
		return code;
	other = begin_change(lock, reads ? &rlk_strategy_reader
					 : &rlk_strategy_writer);
	if (!other)
		return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
				RLK_LOCK_FORMAT
				" is no %s of a read/write lock, or its %s was "
				"freed; make both by rowlock_rwlock_new()",
				RLK_LOCK_ARGS(lock),
				reads ? "reader" : "writer",
				reads ? "writer" : "reader");
	called_ms = rlk_now(lock->name->client->clock);
	if (reads) {
		code = upgrade(lock, other, wait_ms, &error);
	} else {
		code = rlk_reader_acquire_under(other, lock, &error);
		code = leave(lock, other, code, &error);
	}
	rlk_stats_acquire(lock->name->client, called_ms, code);
	rlk_lock_leave(lock);
	rlk_lock_leave(other);
	if (code && reterr) {
		*reterr = error;
		rlk_prefix(reterr, reads ? "upgrade: " : "downgrade: ");
	}
	return code;
}

int rowlock_rwlock_upgrade(struct rowlock *reader, uint64_t wait_ms,
			   struct rowlock_errinfo *reterr)
{
	return change(reader, true, wait_ms, reterr);
}

int rowlock_rwlock_downgrade(struct rowlock *writer,
			     struct rowlock_errinfo *reterr)
{
	return change(writer, false, 0, reterr);
}
