/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_SWEEP_H
#define RLK_STRATEGY_SWEEP_H

/*
 * Removing many of what is dead at once: a statement each, which deletes by
 * key and says again why it may. So it takes a commit for many, and a row that
 * came alive since it was looked at stays. One that somebody's transaction has
 * locked keeps all of them waiting: RLK_BUSY after the connection's lock wait,
 * and nothing is removed.
 *
 * As for strategies: no mutex held, may block until @conn's deadline; but there
 * is nothing to go on with: what gives no answer in time makes the connection
 * unusable. @conn's profile allows packets.
 */

#include "strategy/strategy.h"

/** The most of one statement. */
#define RLK_SWEEP_MOST 256

/** A session, and the beat that it showed. */
struct rlk_last_beat {
	uint64_t id;
	uint64_t beat;
};

/** A lease of slot 0. */
struct rlk_dead_lease {
	const char *name;
	uint64_t attempt;
};

/** Evict those of @sessions that are over by the server's clock; *@ret_evicted:
 *  how many were. */
enum rlk_fault rlk_evict_expired_many(struct rlk_conn *conn,
				      const struct rlk_last_beat *sessions,
				      size_t count, uint64_t *ret_evicted,
				      struct rowlock_errinfo *reterr);

/** Those that still show their beat: rlk_session_evict_silent(). */
enum rlk_fault rlk_evict_silent_many(struct rlk_conn *conn,
				     const struct rlk_last_beat *sessions,
				     size_t count, uint64_t *ret_evicted,
				     struct rowlock_errinfo *reterr);

/** Sweep those of @leases whose session is absent. */
enum rlk_fault rlk_sweep_dead_many(struct rlk_conn *conn,
				   const struct rlk_dead_lease *leases,
				   size_t count, uint64_t *ret_swept,
				   struct rowlock_errinfo *reterr);

/** Delete @receipts (strategy/receipt.h), whatever their session is. */
enum rlk_fault rlk_sweep_receipts(struct rlk_conn *conn,
				  const struct rlk_dead_lease *receipts,
				  size_t count, uint64_t *ret_swept,
				  struct rowlock_errinfo *reterr);

void rlk_values_of_dead(const void *leases, size_t row,
			struct rlk_value *ret_values);

#endif
