/* SPDX-License-Identifier: MIT */
#ifndef RLK_CORE_CALL_H
#define RLK_CORE_CALL_H

/* Deadlines, connections and errors of a client's call. */

#include "core/client.h"

/** True in a child of fork(), which may not touch the client. */
bool rlk_client_forked(const struct rowlock_client *client);

/** May a call on @client go on? Returns 0; ROWLOCK_EINVAL: it is NULL, or was
 *  freed; ROWLOCK_EFORKED. */
int rlk_client_refuses(const struct rowlock_client *client,
		       struct rowlock_errinfo *reterr);

/** Drop the reference of a handle, of a watch, or of the application: the last
 *  one frees the memory of the client, which has ended. */
void rlk_client_leave(struct rowlock_client *client);

/** The deadline of a call that has no wait of its own. */
int64_t rlk_client_call_until(const struct rowlock_client *client);

/** Is the client about to end? Takes client->mutex. */
bool rlk_client_stopping(struct rowlock_client *client);

/** The deadline of the statements of the client's own threads: a call's; or
 *  now, if the client is about to end, as the thread that ends it waits for
 *  them and has only a call's time itself. Takes client->mutex. */
int64_t rlk_client_chore_until(struct rowlock_client *client);

/** Get a connection for a call, or its error. */
int rlk_client_conn(struct rowlock_client *client, size_t bay, int64_t until_ms,
		    struct rlk_conn **ret_conn, struct rowlock_errinfo *reterr);

/** The code of a request for which no lease connection came free in all the
 * time of its call: ROWLOCK_ECONNECT if the server lets nobody in, ROWLOCK_EDB
 * if other requests had them all. */
int rlk_client_unsent_code(const struct rowlock_client *client);

/** A part of a call, which may be run again. */
typedef enum rlk_fault (*rlk_step_fn)(struct rlk_conn *conn, void *arg,
				      struct rowlock_errinfo *reterr);

/** Is there time for another try, even if it ends by @fault as this one? */
bool rlk_client_has_time(const struct rowlock_client *client,
			 enum rlk_fault fault, int64_t until_ms);

/** Sleep. */
void rlk_client_pause(const struct rowlock_client *client, int64_t until_ms);

/** Run @step, each time on a connection that is good, until it is answered, or
 *  @until_ms. A transaction of ours that it leaves without an answer is ended
 *  in the server (core/cut_off.h). */
enum rlk_fault rlk_client_persist(struct rowlock_client *client,
				  int64_t until_ms, rlk_step_fn step, void *arg,
				  struct rowlock_errinfo *reterr);

/** Get one for a chore, which does not wait out a server that is away. */
int rlk_client_chore_conn(struct rowlock_client *client, size_t bay,
			  struct rlk_conn **ret_conn);

/** Write that the server did not answer, in @within_ms (0: not told), and
 * return ROWLOCK_ECONNECT. */
int rlk_fail_no_answer(const struct rowlock_client *client, uint64_t within_ms,
		       struct rowlock_errinfo *reterr);

/** A row is locked by a transaction (RLK_BUSY), as *@reterr tells by its
 * number: write that in words. Returns ROWLOCK_EDB. */
int rlk_fail_row_locked(const struct rowlock_client *client,
			struct rowlock_errinfo *reterr);

/** The error code of @fault, 0 for none. Writes the error if no answer came. */
int rlk_client_code(const struct rowlock_client *client, enum rlk_fault fault,
		    struct rowlock_errinfo *reterr);

/** Interrupt the statement on @conn (KILL QUERY), by another connection. */
void rlk_client_kill_query(struct rowlock_client *client,
			   const struct rlk_conn *conn, int64_t until_ms);

/** End the session of @mark in the server (rlk_conn_fence()), on a connection
 *  of the pool; without one returns RLK_FAILED. @insists: wait until @until_ms
 *  for a server that is away, and for a session that is dying. @waiter as for
 *  rlk_pool_get(). */
enum rlk_fault rlk_client_fence(struct rowlock_client *client,
				const struct rlk_mark *mark, int64_t until_ms,
				bool insists, struct rlk_pool_waiter *waiter);

/** The margin of @duration_ms for clocks that run at different rates: a tenth,
 * at least 50 ms (chrony may slew by 8 %). */
uint64_t rlk_margin(uint64_t duration_ms);

#endif
