/* SPDX-License-Identifier: MIT */
#ifndef RLK_CORE_CUT_OFF_H
#define RLK_CORE_CUT_OFF_H

/*
 * Connections that were closed on this side without an answer, while their
 * transaction may have a lease's row locked: the application's under
 * ROWLOCK_EARLY_GUARD, and those of a transaction of ours (call.c). Until the
 * server notices, which may take hours, nobody could release that lease or
 * commit under it. So the chores end them in the server, as soon as it can be
 * reached.
 */

#include "core/client.h"

/** Have the chores end the connection of @mark, on which nothing more is sent.
 *  @mark has the number that the server's own thread has told. Without memory
 *  nothing is noted. Takes the client's mutex. */
void rlk_cut_off_note(struct rowlock_client *client,
		      const struct rlk_mark *mark);

/** End the noted connections. Returns false if some may be left: try again
 *  soon. Takes the client's mutex, and blocks as chores do. */
bool rlk_cut_off_end(struct rowlock_client *client);

/** Forget the noted connections, at a client's end. */
void rlk_cut_off_forget(struct rowlock_client *client);

#endif
