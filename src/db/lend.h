/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_LEND_H
#define RLK_DB_LEND_H

/* Connections are lent, and given back. */

#include "base/list.h"
#include "db/pool.h"

/** The pool's part of a connection. */
struct rlk_loan {
	struct rlk_list in_bay; /* idle, or lent */
	int64_t idle_since_ms;
	size_t bay;
};

/**
 * A connection of bay @bay, with its deadline set to @until_ms. One that the
 * server has closed while it was idle is noticed (its socket is readable) and
 * replaced by another.
 *
 * @waiter  may be NULL: cannot be interrupted
 *
 * Returns 0; ROWLOCK_ECANCELED (interrupted); ROWLOCK_ETIMEDOUT: none was free
 * within the deadline, all of the bay's limit being lent; the last failure if
 * none could be opened in that time: of a try in it, or, if none has ended, of
 * one in the 10 s before; ROWLOCK_ECONNECT, no answer in time, if there is no
 * such failure; other server errors at once. Errors that may pass (1040 and
 * 1203, too many connections; connection refused) are tried again with back-off
 * until the deadline if @persist, and returned at once otherwise.
 */
int rlk_pool_get(struct rlk_pool *pool, size_t bay, int64_t until_ms,
		 bool persist, struct rlk_pool_waiter *waiter,
		 struct rlk_conn **ret_conn, struct rowlock_errinfo *reterr);

/** Let the rlk_pool_get() that waits with @waiter return ROWLOCK_ECANCELED.
 *  Any thread. */
void rlk_pool_interrupt(struct rlk_pool *pool, struct rlk_pool_waiter *waiter);

/** rlk_pool_get(), persisting; but ROWLOCK_EBUSY at once, without @reterr, if
 * all of the bay's limit is lent or wanted by others. */
int rlk_pool_get_spare(struct rlk_pool *pool, size_t bay, int64_t until_ms,
		       struct rlk_pool_waiter *waiter,
		       struct rlk_conn **ret_conn,
		       struct rowlock_errinfo *reterr);

/** Is there no connection in @bay, while one is being opened? One that the
 *  server refuses or does not answer is, until nobody waits for it. */
bool rlk_pool_opens(struct rlk_pool *pool, size_t bay);

/** Give back. One that is not usable any more, or retired, is closed. NULL is
 *  ignored. */
void rlk_pool_put(struct rlk_pool *pool, struct rlk_conn *conn);

/** Give back, to be closed in any case. NULL is ignored. */
void rlk_pool_discard(struct rlk_pool *pool, struct rlk_conn *conn);

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

/** Serve @wait and wake it. Under the mutex. */
void rlk_pool_serve(struct rlk_pool_wait *wait);

/** Give a connection that is not lent to the first waiter, to the idle ones, or
 *  back to the caller, who closes it. Under the mutex. */
struct rlk_conn *rlk_pool_place(struct rlk_pool *pool, struct rlk_conn *conn);

#endif
