/* SPDX-License-Identifier: MIT */
#ifndef RLK_WAIT_DOORBELL_H
#define RLK_WAIT_DOORBELL_H

/*
 * Waiting for a lease in the server's queue: strategy/bell.h explains the bell,
 * doorbell.c the waiters.
 */

#include "wait/asking.h"

/** Shall @asking wait on the bell from now on? Not for a try, nor where bells
 *  do not reach all clients, nor if no holder rings. */
bool rlk_doorbell_usable(const struct rlk_asking *asking);

/** As rlk_doorbell_usable(), once it has to wait; logs why not. */
bool rlk_doorbell_choose(struct rlk_asking *asking);

/** Did others want @name just now? Then all its acquires stand in line. */
bool rlk_doorbell_busy(struct rowlock_client *client, const char *name);
void rlk_doorbell_note_busy(struct rowlock_client *client, const char *name);

/** Note that the name asked for is busy, now and when its hold is given back,
 *  however long that lasts. */
void rlk_doorbell_note_wanted(struct rlk_asking *asking);

/** The first in line polls with others if its holder will not ring. Is it time
 *  to ask on the bell's own connection, lest the server close it as idle? */
bool rlk_doorbell_is_silent(const struct rlk_asking *asking);

/** If the bell's connection has ended, stand in line again. */
void rlk_doorbell_notice_end(struct rlk_asking *asking);

/** One step of an asking that waits on the bell, on a connection of its own,
 *  which it keeps as long as it has the bell. */
enum rlk_step rlk_doorbell_step(struct rlk_asking *asking);

/** The asking ends without a grant: let go of the bell. */
void rlk_doorbell_leave(struct rlk_asking *asking);

/** Give back the row of @hold on @conn, which has its bell, and @conn itself.
 *  As rlk_commit_release(). */
enum rlk_fault rlk_doorbell_release(struct rlk_hold *hold,
				    struct rlk_conn *conn, int64_t until_ms,
				    bool *ret_found,
				    struct rowlock_errinfo *reterr);

/** The row of @hold is gone: let go of its bell on @conn, and give back
 * @conn. */
void rlk_doorbell_ring_on(const struct rlk_hold *hold, struct rlk_conn *conn,
			  int64_t until_ms);

#endif
