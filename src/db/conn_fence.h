/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_CONN_FENCE_H
#define RLK_DB_CONN_FENCE_H

/* Another session of ours is ended. */

#include "db/conn.h"

/**
 * Make sure, by @conn, that the session of @mark is over and none of its
 * statements can be executed any more: KILL it, and wait until its mark is
 * gone. On a server with another identity it is over already, unless that may
 * be another node of the same cluster.
 *
 * RLK_DONE: it is over. RLK_PENDING: it is dying, but not over yet at
 * @dying_until_ms or @conn's deadline (@conn is good). RLK_REFUSED: no fence
 * reaches it from here. Else nothing is known. @reterr says what failed.
 */
enum rlk_fault rlk_conn_fence(struct rlk_conn *conn,
			      const struct rlk_mark *mark,
			      int64_t dying_until_ms,
			      struct rowlock_errinfo *reterr);

/**
 * By @conn, interrupt the statement that the session of @mark runs
 * (KILL QUERY), if it is still that session.
 */
enum rlk_fault rlk_conn_kill_query(struct rlk_conn *conn,
				   const struct rlk_mark *mark,
				   struct rowlock_errinfo *reterr);

/**
 * By @conn, end the connection with the number @id (KILL). The caller knows, by
 * @conn, that it is there and which one it is. RLK_REFUSED: it is another
 * account's, or numbers do not count here.
 */
enum rlk_fault rlk_conn_end(struct rlk_conn *conn, uint64_t id,
			    struct rowlock_errinfo *reterr);

/** Sleep for @ms while @conn is lent: at most until its deadline, or an
 *  interrupt (false). */
bool rlk_conn_rest(struct rlk_conn *conn, int ms);

/**
 * By @conn, interrupt the statement that has @tag (letters, digits and '-') in
 * its text, if there is one. To see and end another account's statement takes
 * the rights for that.
 */
enum rlk_fault rlk_conn_kill_tagged(struct rlk_conn *conn, const char *tag,
				    struct rowlock_errinfo *reterr);

#endif
