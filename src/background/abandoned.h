/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_ABANDONED_H
#define RLK_BACKGROUND_ABANDONED_H

/*
 * Clearing the list client->abandoned. See abandoned.c.
 */

#include "hold/hold.h"

/** The pause between two rounds. */
#define RLK_CHORES_RETRY_MS 500

/**
 * One round: deletes the row of each attempt, and ends its session where that
 * is possible. If attempts are left, or would delay the other chores, *@next_ms
 * becomes the time of the next round. Without the mutex; blocks.
 */
void rlk_abandoned_clear(struct rowlock_client *client, int64_t *next_ms);

/** The client ends, and its threads have: end the rows of released locks that
 *  belong to a keep, and so live on without the client's session. One try, on
 *  @conn. */
void rlk_abandoned_leave_keeps(struct rowlock_client *client,
			       struct rlk_conn *conn);

#endif
