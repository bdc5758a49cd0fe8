/* SPDX-License-Identifier: MIT */
#ifndef RLK_WAIT_DOORBELL_H
#define RLK_WAIT_DOORBELL_H

/*
 * Waiting in the server's line: strategy/bell.h explains the bell, doorbell.c
 * the waiters.
 */

#include "wait/step.h"

/** May it stand in line? Not a try, nor where bells do not reach all clients.
 */
bool rlk_doorbell_usable(const struct rlk_asking *asking);

/** Is it too late to ask? A canceled waiter is lent no connection for it. */
bool rlk_doorbell_is_late(const struct rlk_asking *asking);

/** The asking for a lease begins: join the line at once if others want the
 * name, and choose how to ask first. */
void rlk_doorbell_begin(struct rlk_asking *asking);

/** It was refused because of @holder, and has to wait: join the line, or poll,
 *  and log why. */
void rlk_doorbell_choose(struct rlk_asking *asking,
			 const struct rlk_holder *holder);

/** Others want @name: for a while all its acquires stand in line. */
void rlk_doorbell_note_busy(struct rowlock_client *client, const char *name);

/** Note that the name asked for is busy, now and when its hold is given back,
 *  however long that lasts. */
void rlk_doorbell_note_wanted(struct rlk_asking *asking);

/** Get the connection on which a lease is waited for in line. It is kept as
 *  long as it has the bell. */
enum rlk_step rlk_doorbell_connect(struct rlk_asking *asking);

/** If the connection has ended, or leads to an old server, stand in line
 *  again. */
void rlk_doorbell_notice_end(struct rlk_asking *asking);

/** One step in line, on asking->conn, until the bell is got, the holder has to
 * be looked at, or the waiter has to go. */
enum rlk_step rlk_doorbell_stand(struct rlk_asking *asking);

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
