/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_SWEEP_H
#define RLK_STRATEGY_SWEEP_H

/*
 * Removing many of what is dead at once: a statement each, which deletes by key
 * and checks again that it may. One commit is enough for many, and a row that
 * came alive since it was looked at stays. A row that another transaction has
 * locked keeps all of them waiting: RLK_BUSY after the connection's lock wait,
 * and nothing is removed.
 *
 * As for strategies: no mutex held, may block until @conn's deadline; but
 * nothing can be resumed: a statement that is not answered in time makes the
 * connection unusable. @conn's profile allows packets.
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

/** One statement for many rows, by itself. */
struct rlk_change {
	const struct rlk_many_def *def;
	rlk_values_fn fn; /* as for rlk_packet_add() */
	const void *rows;
	size_t count;
};

/** *@ret_changed: how many of them were. */
enum rlk_fault rlk_change_many(struct rlk_conn *conn,
			       const struct rlk_change *change,
			       uint64_t *ret_changed,
			       struct rowlock_errinfo *reterr);

/** A kind of rows, and the condition on which they go. */
enum rlk_removes {
	RLK_EVICT_EXPIRED,  /* sessions that are over by the server's clock */
	RLK_EVICT_SILENT,   /* sessions that still show their beat */
	RLK_SWEEP_DEAD,     /* leases whose session is absent */
	RLK_SWEEP_RECEIPTS, /* receipts (strategy/receipt.h), in any case */
};

struct rlk_removal {
	enum rlk_removes what;
	const void *rows; /* to evict: struct rlk_last_beat; to sweep: struct
			     rlk_dead_lease */
	size_t count;
};

/** *@ret_removed: how many of them were. */
enum rlk_fault rlk_remove_many(struct rlk_conn *conn,
			       const struct rlk_removal *removal,
			       uint64_t *ret_removed,
			       struct rowlock_errinfo *reterr);

/** Sweep the leases of @name whose sessions are absent, whatever their slots
 * and sessions: RLK_SWEEP_MOST at most, in two statements. *@ret_swept: how
 * many there were. For names that many may hold: a client that died has left
 *  several. */
enum rlk_fault rlk_sweep_name(struct rlk_conn *conn, const char *name,
			      uint64_t *ret_swept,
			      struct rowlock_errinfo *reterr);

void rlk_values_of_dead(const void *leases, size_t row,
			struct rlk_value *ret_values);

#endif
