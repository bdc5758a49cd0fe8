/* SPDX-License-Identifier: MIT */
#ifndef RLK_HOLD_LATE_H
#define RLK_HOLD_LATE_H

/*
 * Sessions whose beats are not answered in time, with the true reason: the
 * error of the last beat, as an account that is at a limit, or a login that is
 * refused.
 */

#include "core/client.h"

/** A beat of the session failed by @error. Without memory the reason is left
 *  out. */
void rlk_late_note_locked(struct rowlock_client *client,
			  const struct rowlock_errinfo *error);

/** The session's time is up: lose it. */
void rlk_late_lose_locked(struct rowlock_client *client);

#endif
