/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_PLEA_H
#define RLK_STRATEGY_PLEA_H

/*
 * The plea of the first in line for permits: a row of lock_token, under a
 * strategy that is no lock's. A release deletes it, and so tells that permits
 * have come free. To read it costs the server one row, and to look for permits
 * costs it all that are in use.
 *
 * A release knows by a user-level lock, "BELL/plea", that there may be one. It
 * needs no right and no connection of the other's account.
 */

#include "strategy/strategy.h"

/** Make the plea of @request, on the connection that has its bell. A permit
 *  that came free before may still be missed: count after this. */
enum rlk_fault rlk_plea_make(struct rlk_conn *conn,
			     const struct rlk_request *request,
			     struct rowlock_errinfo *reterr);

/** *@ret_heard: somebody has deleted it. */
enum rlk_fault rlk_plea_look(struct rlk_conn *conn,
			     const struct rlk_request *request, bool *ret_heard,
			     struct rowlock_errinfo *reterr);

/** *@ret_room: enough permits are free for @request, or it can never have them,
 *  as the semaphore is gone, or has fewer. Reads all that are in use. */
enum rlk_fault rlk_plea_count(struct rlk_conn *conn,
			      const struct rlk_request *request, bool *ret_room,
			      struct rowlock_errinfo *reterr);

/** Releases do not look for it any more. Its row stays for the next plea, or
 *  until a release deletes it. */
enum rlk_fault rlk_plea_end(struct rlk_conn *conn,
			    const struct rlk_request *request,
			    struct rowlock_errinfo *reterr);

/** As the strategy's release(), for permits: and hear the plea. It is one
 *  statement if nobody pleads. */
enum rlk_fault rlk_plea_release(struct rlk_conn *conn,
				const struct rlk_request *request,
				bool *ret_found,
				struct rowlock_errinfo *reterr);

/** Permits of @name have come free in another way: hear the plea. If that
 *  fails, the first in line finds them by itself, seconds later. */
void rlk_plea_hear(struct rlk_conn *conn, const char *name);

#endif
