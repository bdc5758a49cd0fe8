/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_SIDES_H
#define RLK_STRATEGY_SIDES_H

/*
 * Leases of readers and writers, by slots of a name. The writer's is one slot,
 * and a lease like any other: writers exclude each other by its key. A reader's
 * is one of many, chosen by its attempt.
 *
 * A reader makes its row if there is no writer's, and then looks whether one
 * has come meanwhile: if so, it takes its own back. A writer makes its row, and
 * then looks until no reader's is left (rlk_rwlock_look()). Each row is
 * committed before its owner looks, so of two that come at the same moment one
 * sees the other, at least; and from its row on a writer lets nobody in.
 *
 * A look that grants shows the asker's own row beside the absence of the other
 * side's: between the INSERT and the look a break may have removed that row,
 * and others may have come in.
 *
 * Slot 0 is that of locks: a lock and these two do not exclude each other.
 */

#include "strategy/strategy.h"

/** The writer's slot; those behind it are readers'. */
#define RLK_SLOT_WRITER 2147483648u

/** Lets many in. The token of a reader exceeds those of all earlier writers;
 *  among readers there is no order. */
extern const struct rlk_strategy rlk_strategy_reader;

/** Its grant keeps writers and new readers out, and says nothing of readers
 *  that are already there. */
extern const struct rlk_strategy rlk_strategy_writer;

/** The row of a reader or a writer, as a look finds it. */
struct rlk_rwlock_seen {
	unsigned int slot;
	struct rlk_holder holder; /* looked up */
};

/** A look reports at most this many readers. */
#define RLK_READERS_MOST 64

/** Which readers and writers have rows of @name? @fn is called for each, first
 *  for the writer's, without a mutex, and may run other statements on @conn. As
 *  rlk_stmt_each(). */
enum rlk_fault rlk_rwlock_look(struct rlk_conn *conn, const char *name,
			       void (*fn)(const struct rlk_rwlock_seen *seen,
					  void *arg),
			       void *arg, struct rowlock_errinfo *reterr);

/** Does @holder show the row of the @attempt, and is its session there? */
static inline bool rlk_holder_is(const struct rlk_holder *holder,
				 uint64_t attempt, uint64_t session)
{
	return holder->attempt == attempt && holder->session == session &&
	       !holder->absent;
}

#endif
