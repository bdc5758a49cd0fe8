/* SPDX-License-Identifier: MIT */
#ifndef RLK_GROUP_COMMIT_BELL_H
#define RLK_GROUP_COMMIT_BELL_H

/* Bells on the commit connection; see strategy/bell.h. */

#include "group/ticket.h"

/** Are there bells on @conn, and do they reach all clients? */
bool rlk_commit_bell_reaches(const struct rowlock_client *client,
			     const struct rlk_conn *conn);

/** Shall @ticket take its name's bell with the row, on @conn, which is the
 *  commit connection? */
bool rlk_commit_bell_wanted(const struct rlk_ticket *ticket,
			    const struct rlk_conn *conn);

/** Note that @part was answered on the commit connection. */
void rlk_commit_bell_count(struct rowlock_client *client,
			   const struct rlk_part *part);

/** The row of @hold was not deleted on the commit connection that has its bell:
 * let go of the bell there, if there is one. If the connection is in use until
 * @until_ms, the next thread that gets it closes it. */
void rlk_commit_bell_ring(struct rlk_hold *hold, int64_t until_ms);

/** Is @conn the commit connection, with a bell that no thread will let go? Then
 *  the caller closes it. Returns true once. */
bool rlk_commit_bell_is_ghost(struct rowlock_client *client,
			      const struct rlk_conn *conn);

#endif
