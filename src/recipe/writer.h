/* SPDX-License-Identifier: MIT */
#ifndef RLK_RECIPE_WRITER_H
#define RLK_RECIPE_WRITER_H

/*
 * Acquiring a side of a read/write lock (strategy/sides.h). The readers of a
 * client share holds (wait/share.h). @reterr is not NULL.
 */

#include <rowlock.h>

/**
 * An acquire of a writer, in parts (rlk_lock_begin_parts()): first against
 * other writers, and then until nobody reads any more.
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
