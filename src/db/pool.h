/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_POOL_H
#define RLK_DB_POOL_H

/*
 * Connections, kept open for the next who needs one.
 *
 * Opening happens on threads of the pool (at most a few, started on demand),
 * because nothing can bound getaddrinfo(): who asks for a connection waits
 * until one is there, its deadline has come, or it is interrupted. What was
 * opened for someone who left is kept for the next.
 *
 * There are bays, one per profile, each with its own limit: how many
 * connections may exist, lent and idle together (0: no limit), and how many
 * idle ones are kept. Who waits in a bay is served first come, first served.
 *
 * Takes pool->mutex, a leaf: nothing else is locked under it, and it is never
 * held across I/O.
 */

#include <stddef.h>

#include "db/conn.h"

struct rlk_pool;

/** A bay of the pool. */
struct rlk_pool_bay {
	struct rlk_conn_profile profile;
	unsigned int limit; /* 0: none */
	unsigned int keep;  /* idle ones */
};

/** @target and @bays are kept by reference. Starts no thread and opens
 *  nothing. Returns 0, ROWLOCK_ENOMEM or ROWLOCK_ESYSTEM. */
int rlk_pool_new(const struct rlk_conn_target *target,
		 const struct rlk_pool_bay *bays, size_t count,
		 struct rlk_pool **ret_pool, struct rowlock_errinfo *reterr);

/**
 * Close all idle connections and end the threads. All lent ones must be back.
 * An opener that is stuck in name resolution is left to end by itself; what it
 * shares with the pool goes with it. Waits for openers at most @wait_ms.
 */
struct rlk_pool *rlk_pool_free(struct rlk_pool *pool, uint64_t wait_ms);

/** Somebody who waits for a connection; lives on the waiter's stack, made with
 *  RLK_POOL_WAITER_NULL. */
struct rlk_pool_waiter {
	bool interrupted;           /* under the pool's mutex */
	struct rlk_pool_wait *wait; /* while it waits; likewise */
};

#define RLK_POOL_WAITER_NULL                                                   \
	{                                                                      \
		false, NULL                                                    \
	}

/**
 * A connection of bay @bay, with its deadline set to @until_ms. One that the
 * server has closed while it was idle is noticed (its socket is readable) and
 * replaced by another.
 *
 * @waiter  may be NULL: cannot be interrupted
 *
 * Returns 0; ROWLOCK_ECANCELED (interrupted); ROWLOCK_ETIMEDOUT: none was free
 * within the deadline, all of the bay's limit being lent; ROWLOCK_ECONNECT
 * with the reason of the last failure if none could be opened in that time;
 * other server errors at once, but for those that may pass (1040 and 1203, too
 * many connections; connection refused): those are tried again with back-off
 * until the deadline if @persist, and told at once otherwise.
 */
int rlk_pool_get(struct rlk_pool *pool, size_t bay, int64_t until_ms,
		 bool persist, struct rlk_pool_waiter *waiter,
		 struct rlk_conn **ret_conn, struct rowlock_errinfo *reterr);

/** Let the rlk_pool_get() that waits with @waiter return ROWLOCK_ECANCELED.
 *  Any thread. */
void rlk_pool_interrupt(struct rlk_pool *pool, struct rlk_pool_waiter *waiter);

/** The same, persisting; but ROWLOCK_EBUSY at once, without @reterr, if all of
 *  the bay's limit is lent or wanted by others. */
int rlk_pool_get_spare(struct rlk_pool *pool, size_t bay, int64_t until_ms,
		       struct rlk_pool_waiter *waiter,
		       struct rlk_conn **ret_conn,
		       struct rowlock_errinfo *reterr);

/** Give back. One that is not usable any more, or retired, is closed. NULL is
 *  ignored. */
void rlk_pool_put(struct rlk_pool *pool, struct rlk_conn *conn);

/** Give back, to be closed in any case. NULL is ignored. */
void rlk_pool_discard(struct rlk_pool *pool, struct rlk_conn *conn);

/**
 * Note what @conn, which stays lent, was told: if its server takes no writes
 * (it is read-only, or a node that is not ready), all connections to that
 * server are retired. Who gives back need not say so.
 */
void rlk_pool_note(struct rlk_pool *pool, struct rlk_conn *conn);

/**
 * Take one idle connection of @bay that has been idle for @idle_ms or more,
 * NULL if there is none: to ping it (the server closes what is silent for
 * idle_s) and put it back. Never waits, never opens.
 */
struct rlk_conn *rlk_pool_take_idle(struct rlk_pool *pool, size_t bay,
				    int64_t idle_ms);

/**
 * Interrupt every connection that is lent now (rlk_conn_interrupt()), and all
 * who wait for one: for the end of a client, whose threads shall not wait for a
 * server that does not answer. Any thread.
 */
void rlk_pool_interrupt_all(struct rlk_pool *pool);

/** For tests and messages: connections that exist in @bay now. */
unsigned int rlk_pool_count(struct rlk_pool *pool, size_t bay);

/** Likewise: how many wait in @bay now. */
unsigned int rlk_pool_waiting(struct rlk_pool *pool, size_t bay);

#endif
