/* SPDX-License-Identifier: MIT */
#ifndef RLK_CORE_SILENCE_H
#define RLK_CORE_SILENCE_H

/*
 * The server closes a connection that is silent for its wait_timeout, so each
 * is spoken on after a third of that, by the one that may use it then:
 *
 *    a row hold's, and one with a bell    the pinger (hold/ping.c); a row hold
 *                                         lives by it, and is pinged more often
 *    an idle one of the pool              the chores (background/chores.c)
 *    a waiter's that has the bell         the waiter: it asks on it
 *                                         (wait/pause.c)
 *    the keeper's two                     the keeper: by beats, and by looks at
 *                                         the server's clock
 */

#include "db/conn.h"

/** How often the server hears of a hold within a short bound (a TTL of leases,
 * the idle bound of rows): a server that stands still costs it only what the
 * last time has left, nine tenths less a 24th. */
#define RLK_SIGNS_OF_LIFE 24

/** The longest silence, in ms, of a connection with @profile. */
static inline int64_t rlk_silence_ms(const struct rlk_conn_profile *profile)
{
	return (int64_t) profile->idle_s * 1000 / 3;
}

#endif
