/* SPDX-License-Identifier: MIT */
#ifndef RLK_CORE_THREADS_H
#define RLK_CORE_THREADS_H

/*
 * The threads of a client; each one's file says what it does.
 *
 *   deadline  decides LOST by our own clock and by the end of sockets, wakes
 *             waiters whose time is up. No I/O, so nothing can delay it.
 *   notifier  runs the lost callbacks, so that a slow one delays only others.
 *   keeper    beats. On connections opened beforehand.
 *   pinger    pings the connections of row holds, all that are due at once.
 *   chores    pings idle connections, removes what was abandoned.
 *   reaper    removes what dead clients left behind.
 */

#include "core/client.h"

void rlk_deadline_run(void *client);
/** @alarm rings at @at_ms. */
void rlk_deadline_set_locked(struct rowlock_client *client,
			     struct rlk_alarm *alarm, int64_t at_ms);
/** Watch the socket of @conn for its end, from now on until it is closed: the
 *  row hold that has @conn by then is lost. 0 or -errno. */
int rlk_deadline_watch_locked(struct rowlock_client *client,
			      struct rlk_conn *conn);

void rlk_notifier_run(void *client);

void rlk_keeper_run(void *client);
/** Open what the keeper needs before there is anything to keep. */
int rlk_keeper_prepare(struct rowlock_client *client,
		       struct rowlock_errinfo *reterr);

struct rlk_hold;

void rlk_pinger_run(void *client);
/** The connection of @hold answered at @answered_ms: ping it in time. */
void rlk_pinger_plan_locked(struct rlk_hold *hold, int64_t answered_ms);
/** Plan no more for @hold. A ping that is under way goes on: hold->conn stays
 *  busy until it has ended. */
void rlk_pinger_forget_locked(struct rlk_hold *hold);

/** Ask on @hold's own connection, which the caller has taken, and give it
 *  back. False: no answer, and the hold is lost. Blocks; no mutex held. */
bool rlk_ping(struct rlk_hold *hold, int64_t until_ms);

void rlk_chores_run(void *client);

void rlk_reaper_run(void *client);

/** Start all, or none and ROWLOCK_ESYSTEM. */
int rlk_threads_start(struct rowlock_client *client,
		      struct rowlock_errinfo *reterr);

/** Tell all to end, and wait for it. */
void rlk_threads_stop(struct rowlock_client *client);

/** How often the connection of @hold is pinged. */
uint64_t rlk_ping_ms(const struct rlk_hold *hold);

#endif
