/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_THREADS_H
#define RLK_BACKGROUND_THREADS_H

/*
 * The threads of a client; see the file of each.
 *
 *   deadline  decides LOST by our own clock and by the end of sockets, wakes
 *             waiters whose time is up. No I/O, so nothing can delay it.
 *   notifier  runs the lost callbacks, so that a slow one delays only others.
 *   keeper    sends the heartbeats, on connections opened beforehand.
 *   pinger    pings the connections of row holds, and those that have a bell:
 *             all that are due at once.
 *   chores    pings idle connections, clears abandoned attempts, looks for
 *             our rows after each beat.
 *   reaper    removes the rows of dead clients.
 *   watcher   asks which clients have the watched names; from the first watch.
 */

#include "core/client.h"

/** Start all, or none and ROWLOCK_ESYSTEM. */
int rlk_threads_start(struct rowlock_client *client,
		      struct rowlock_errinfo *reterr);

/** Tell all to end, and wait for it. */
void rlk_threads_stop(struct rowlock_client *client);

#endif
