/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_ABANDONED_H
#define RLK_BACKGROUND_ABANDONED_H

/*
 * Removing what is in client->abandoned. See abandoned.c.
 */

#include "hold/hold.h"

/** Between two rounds of what has not succeeded. */
#define RLK_CHORES_RETRY_MS 500

/**
 * One round: of each attempt the row is deleted, and its session ended where
 * that can be done. What is not over then, or would keep the other chores
 * waiting, moves *@next_ms to the next round. Without the mutex; blocks.
 */
void rlk_abandoned_clear(struct rowlock_client *client, int64_t *next_ms);

#endif
