/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_POOL_H
#define RLK_DB_POOL_H

/*
 * Connections, kept open for the next thread that needs one.
 *
 * Opening happens on threads of the pool (at most a few, started on demand),
 * because nothing can bound getaddrinfo(): a thread that asks for a connection
 * waits until one is there, its deadline has come, or it is interrupted. A
 * connection that was opened for a thread that left is kept for the next.
 *
 * There are bays, one per profile, each with its own limit: how many
 * connections may exist, lent and idle together (0: no limit), and how many
 * idle ones are kept. The waiters of a bay are served first come, first served.
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

#endif
