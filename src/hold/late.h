/* SPDX-License-Identifier: MIT */
#ifndef RLK_HOLD_LATE_H
#define RLK_HOLD_LATE_H

/*
 * Sessions whose beats are not answered in time, with the true reason: the
 * error of the last beat, as an account that is at a limit, or a login that is
 * refused. And other reasons that are no constants.
 */

#include "core/client.h"

/** A beat of the session failed by @error. Without memory the reason is left
 *  out. */
void rlk_late_note_locked(struct rowlock_client *client,
			  const struct rowlock_errinfo *error);

/** The client's copy of @text, which lasts as long as the client; NULL: no
 *  memory, or it has too many. */
const char *rlk_reason_keep_locked(struct rowlock_client *client,
				   const char *text);

/** Why a session whose time is up is lost. */
const char *rlk_late_reason_locked(const struct rowlock_client *client);

#endif
