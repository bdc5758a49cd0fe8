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

/** Why a session whose time is up is lost. */
const char *rlk_late_reason_locked(const struct rowlock_client *client);

#endif
