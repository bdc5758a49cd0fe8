/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_HEARD_H
#define RLK_BACKGROUND_HEARD_H

/*
 * Is a connection dead, or does the server stand still? See heard.c.
 */

#include "core/client.h"

/** A statement that was sent at @sent_ms was answered just now. */
void rlk_heard_note_locked(struct rowlock_client *client, int64_t sent_ms);

/** Have the chores ask the server on another connection. */
void rlk_heard_want_locked(struct rowlock_client *client);

/** The chore: ask, if that is wanted. */
void rlk_heard_ask(struct rowlock_client *client);

#endif
