/* SPDX-License-Identifier: MIT */
#ifndef RLK_HOLD_SESSION_H
#define RLK_HOLD_SESSION_H

/* The session: the row in lease_session by which leases live. */

#include "core/waiter.h"

/** Make sure of a live session; *@ret_id is its number. ROWLOCK_EBUSY: ask
 *  again. Without the mutex. */
int rlk_session_ensure(struct rowlock_client *client, struct rlk_waiter *waiter,
		       uint64_t *ret_id, struct rowlock_errinfo *reterr);

/** The time between two beats: a 24th of a TTL of up to 10 seconds, a third of
 *  one from 30 seconds on, and in between what leads from one to the other. */
uint64_t rlk_session_beat_ms(const struct rowlock_client *client);

/**
 * Is the session's row on the server of @conn? If another server answers at the
 * address now, a lease there would name a session without heartbeats there.
 * Returns false with @reterr: the next beat, which is sent at once, tells
 * whether that server knows the session. Without the mutex.
 */
bool rlk_session_is_at(struct rowlock_client *client,
		       const struct rlk_conn *conn,
		       struct rowlock_errinfo *reterr);

#endif
