/* SPDX-License-Identifier: MIT */
#ifndef RLK_GUARD_PLACE_H
#define RLK_GUARD_PLACE_H

/*
 * Where a client's tables are, and which of the application's connections lead
 * there. A connection is known by its MYSQL and its number; another one may
 * have both by now, so what depends on it asks again.
 */

#include "hold/handle.h"

/** Have client->place, learned by a connection that is open already, or the
 *  next commit connection. Blocks for that, the first time. 0, or what
 *  rlk_client_conn() says. */
int rlk_place_find(const struct rowlock *lock, int64_t until_ms,
		   struct rowlock_errinfo *reterr);

/** Learn it anew, by a connection that is open: so it is the server that there
 *  is now. Blocks; 0, or what rlk_client_conn() says. */
int rlk_place_look(struct rowlock_client *client, int64_t until_ms,
		   struct rlk_place *ret_place, struct rowlock_errinfo *reterr);

/** Can its tables be named on @on? 0, or ROWLOCK_EINVAL: the schema is not
 * ASCII, and its letters would be read as others. */
int rlk_place_check_words(const struct rlk_place *place,
			  const struct rlk_borrowed *on,
			  struct rowlock_errinfo *reterr);

/** Was it seen to lead to the server of the client's present session? */
bool rlk_place_is_verified_locked(struct rowlock_client *client,
				  const struct rlk_borrowed *on);

/** It was, to that of @session. */
void rlk_place_verified_locked(struct rowlock_client *client,
			       const struct rlk_borrowed *on, uint64_t session);

#endif
