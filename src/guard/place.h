/* SPDX-License-Identifier: MIT */
#ifndef RLK_GUARD_PLACE_H
#define RLK_GUARD_PLACE_H

/*
 * The place of a client's tables, and which of the application's connections
 * lead there. A connection is known by its MYSQL and its number; another one
 * may have both by now, so the commit checks again.
 */

#include "hold/handle.h"

/** Fill client->place, by the commit connection or, if none is open, the next
 *  one. Blocks the first time. Returns 0, or the code of rlk_client_conn(). */
int rlk_place_find(const struct rowlock *lock, int64_t until_ms,
		   struct rowlock_errinfo *reterr);

/** Learn the place again, by a connection that is open: so it is the current
 *  server's. Blocks. Returns 0, or the code of rlk_client_conn(). */
int rlk_place_look(struct rowlock_client *client, int64_t until_ms,
		   struct rlk_place *ret_place, struct rowlock_errinfo *reterr);

/** Can its tables be named on @on? 0, or ROWLOCK_EINVAL: the schema is not
 * ASCII, and its letters would be misread. */
int rlk_place_check_words(const struct rlk_place *place,
			  const struct rlk_borrowed *on,
			  struct rowlock_errinfo *reterr);

/** Was @on seen to lead to the server of the client's current session? */
bool rlk_place_is_verified_locked(struct rowlock_client *client,
				  const struct rlk_borrowed *on);

/** Note that @on leads to the server of @session. */
void rlk_place_verified_locked(struct rowlock_client *client,
			       const struct rlk_borrowed *on, uint64_t session);

#endif
