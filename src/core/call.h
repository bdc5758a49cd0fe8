/* SPDX-License-Identifier: MIT */
#ifndef RLK_CORE_CALL_H
#define RLK_CORE_CALL_H

/* Deadlines, connections and errors of a call of a client. */

#include "core/client.h"

/** True in a child of fork(): then nothing of the client may be touched. */
bool rlk_client_forked(const struct rowlock_client *client);

/** May no call on @client go on? 0; ROWLOCK_EINVAL: it is NULL, or was freed;
 *  ROWLOCK_EFORKED. */
int rlk_client_refuses(const struct rowlock_client *client,
		       struct rowlock_errinfo *reterr);

/** A handle or a watch of it is gone, or the application's reference: the last
 *  one frees the memory of the client, which has ended. */
void rlk_client_leave(struct rowlock_client *client);

/** The deadline of a call that has no wait of its own. */
int64_t rlk_client_call_until(const struct rowlock_client *client);

/** Milliseconds within which something has to be said on a connection of @bay:
 * a third of the time that the server waits for it. */
int64_t rlk_client_word_ms(const struct rowlock_client *client, size_t bay);

/** The client is about to end. Takes client->mutex. */
bool rlk_client_stopping(struct rowlock_client *client);

/** The deadline of the statements of the client's own threads: that of a call;
 *  once the client is about to end, now. The thread that ends it waits for
 * them, and has no more than a call's time itself. Takes client->mutex. */
int64_t rlk_client_chore_until(struct rowlock_client *client);

/** A connection for such a call, or its error. */
int rlk_client_conn(struct rowlock_client *client, size_t bay, int64_t until_ms,
		    struct rlk_conn **ret_conn, struct rowlock_errinfo *reterr);

/** The same for a chore, which does not wait out a server that is away. */
int rlk_client_chore_conn(struct rowlock_client *client, size_t bay,
			  struct rlk_conn **ret_conn);

/** The error of @fault, 0 for none: where no answer came nobody has written it
 *  yet. */
int rlk_client_code(const struct rowlock_client *client, enum rlk_fault fault,
		    struct rowlock_errinfo *reterr);

/** Interrupt the statement that the session of @conn runs (KILL QUERY), by
 *  another connection. */
void rlk_client_kill_query(struct rowlock_client *client,
			   const struct rlk_conn *conn, int64_t until_ms);

/** Have the session of @mark over in the server (rlk_conn_fence()), on a
 *  connection that is asked for here; without one RLK_FAILED. @persist: wait
 *  out a server that is away. */
enum rlk_fault rlk_client_fence(struct rowlock_client *client,
				const struct rlk_mark *mark, int64_t until_ms,
				int64_t dying_until_ms, bool persist);

/** The part of @duration_ms that is kept back for clocks that run differently:
 * a tenth, at least 50 ms (chrony may slew by 8 %). */
uint64_t rlk_margin(uint64_t duration_ms);

#endif
