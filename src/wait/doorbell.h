/* SPDX-License-Identifier: MIT */
#ifndef RLK_WAIT_DOORBELL_H
#define RLK_WAIT_DOORBELL_H

/*
 * Waiting for a lease in the server's queue; see strategy/bell.h for what a
 * bell is, and doorbell.c for who waits on one.
 */

#include "wait/asking.h"

/** Shall @asking wait on the bell from now on? Not a try; not where bells do
 *  not reach all clients; not if it has turned out that nobody rings. */
bool rlk_doorbell_usable(const struct rlk_asking *asking);

/** The same, once it has to wait; says so in the log if not. */
bool rlk_doorbell_choose(struct rlk_asking *asking);

/** Was @name wanted by others just now? Then all its acquires stand in line. */
bool rlk_doorbell_busy(struct rowlock_client *client, const char *name);
void rlk_doorbell_note_busy(struct rowlock_client *client, const char *name);

/** The same of the name that is asked for; and again when the hold that comes
 *  of it is given back, however long it lasts. */
void rlk_doorbell_note_wanted(struct rlk_asking *asking);

/** The first in line, whose holder will not ring, polls with others: is it time
 *  to ask on the bell's own connection, which the server ends if nothing is
 *  said on it? */
bool rlk_doorbell_is_silent(const struct rlk_asking *asking);

/** Has the connection that has the bell ended? To stand in line anew, then. */
void rlk_doorbell_notice_end(struct rlk_asking *asking);

/** One step of an asking that waits on the bell. On a connection of its own,
 *  which stays with it as long as it has the bell. */
enum rlk_step rlk_doorbell_step(struct rlk_asking *asking);

/** It ends without a grant: let the bell go. */
void rlk_doorbell_leave(struct rlk_asking *asking);

/** Give the row of @hold back on @conn, which has its bell and is given back
 *  too. As rlk_commit_release(). */
enum rlk_fault rlk_doorbell_release(struct rlk_hold *hold,
				    struct rlk_conn *conn, int64_t until_ms,
				    bool *ret_found,
				    struct rowlock_errinfo *reterr);

/** The row of @hold is gone: let its bell go on @conn, which has it and is
 * given back too. */
void rlk_doorbell_ring_on(const struct rlk_hold *hold, struct rlk_conn *conn,
			  int64_t until_ms);

#endif
