/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_CHORES_H
#define RLK_BACKGROUND_CHORES_H

/* The larger ones of the chores. Each blocks; no mutex held. */

#include "hold/hold.h"

/** Between two rounds of what has not succeeded. */
#define RLK_CHORES_RETRY_MS 500

/* abandoned.c */

/**
 * One round: of each attempt the row is deleted, and its session ended where
 * that can be done. One that is not over then, or would keep the other chores
 * waiting, moves *@next_ms to the next round.
 */
void rlk_abandoned_clear(struct rowlock_client *client, int64_t *next_ms);

/* breaks.c */

/** If a beat said that leases of ours were taken by hand: look which are still
 *  there, and lose the others. False: it could not be found out, try again. */
bool rlk_breaks_look(struct rowlock_client *client);

/* present.c */

/** Behind a beat: are the rows there of the leases that this client believes to
 *  hold? If some are not, rlk_breaks_look() is due. False: no connection was
 *  free; look again soon. */
bool rlk_present_look(struct rowlock_client *client);

#endif
