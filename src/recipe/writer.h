/* SPDX-License-Identifier: MIT */
#ifndef RLK_RECIPE_WRITER_H
#define RLK_RECIPE_WRITER_H

/*
 * The two sides of a read/write lock (strategy/sides.h), for the recipe that
 * makes one of them. Each side is a lock: all of rowlock.h that takes a struct
 * rowlock works on it, but that a writer's is acquired here. The readers of a
 * client share holds (wait/share.h).
 */

#include <rowlock.h>

/** rowlock_new() for a side. Only the lease strategy has them. */
int rlk_reader_new(struct rowlock_client *client, const char *name,
		   const struct rowlock_options *options,
		   struct rowlock **ret_lock, struct rowlock_errinfo *reterr);
int rlk_writer_new(struct rowlock_client *client, const char *name,
		   const struct rowlock_options *options,
		   struct rowlock **ret_lock, struct rowlock_errinfo *reterr);

/**
 * rowlock_acquire() for a writer: first against other writers, and then until
 * nobody reads any more.
 *
 * @reader  NULL, or the caller's own, which is held and stays so. Then other
 *          writers are not waited for (ROWLOCK_EBUSY): they wait for it. Lost
 *          meanwhile: ROWLOCK_ELOST.
 */
int rlk_writer_acquire(struct rowlock *writer, struct rowlock *reader,
		       uint64_t wait_ms, struct rowlock_errinfo *reterr);

/** Acquire @reader while @writer is held, so that nobody writes in between.
 *  Returns what rowlock_acquire() does without waiting, but ROWLOCK_ELOST where
 *  another writes by now: then @writer is lost. */
int rlk_reader_acquire_under(struct rowlock *reader, struct rowlock *writer,
			     struct rowlock_errinfo *reterr);

#endif
