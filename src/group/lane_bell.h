/* SPDX-License-Identifier: MIT */
#ifndef RLK_GROUP_LANE_BELL_H
#define RLK_GROUP_LANE_BELL_H

/* Bells on the connection of a lane; see strategy/bell.h. */

#include "hold/hold.h"

/** Are there bells on @conn, and do they reach all clients? */
bool rlk_doorbell_reaches(const struct rowlock_client *client,
			  const struct rlk_conn *conn);

/** The row of @name is gone, but not over the lane's connection @bell_conn that
 *  has its bell: let it go there. Nothing if that is 0, or there no more. If
 *  it is in use until @until_ms, the next who gets it closes it. */
void rlk_doorbell_ring(const struct rlk_hold *hold, uint64_t bell_conn,
		       int64_t until_ms);

/** Has @conn, which is @lane's, a bell that nobody will let go? Any thread. */
bool rlk_doorbell_is_ghost(const struct rlk_lane *lane,
			   const struct rlk_conn *conn);

#endif
