/* SPDX-License-Identifier: MIT */
#ifndef RLK_RECIPE_WRITER_H
#define RLK_RECIPE_WRITER_H

/*
 * Acquires a side of a read/write lock (strategy/sides.h). The readers of a
 * client share holds (wait/share.h). @reterr is not NULL.
 */

#include <rowlock.h>

/**
 * Acquire a writer, in parts (rlk_lock_begin_parts()): first against other
 * writers, and then until no reader is left.
 *
 * @reader  NULL, or the caller's own, which stays held. Then the call does not
 *          wait for other writers (ROWLOCK_EBUSY): they wait for it.
 *          ROWLOCK_ELOST if it is lost meanwhile.
 */
int rlk_writer_acquire(struct rowlock *writer, struct rowlock *reader,
		       uint64_t wait_ms, struct rowlock_errinfo *reterr);

/** Acquire @reader while @writer is held, so that no other writes in between.
 *  Returns like a rowlock_acquire() without waiting, but ROWLOCK_ELOST if
 *  another writes by now: then @writer is lost. */
int rlk_reader_acquire_under(struct rowlock *reader, struct rowlock *writer,
			     struct rowlock_errinfo *reterr);

#endif
