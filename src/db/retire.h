/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_RETIRE_H
#define RLK_DB_RETIRE_H

/* Connections to a server that takes no writes. */

#include "db/pool.h"

/**
 * Note the last answer to @conn, which stays lent: if its server takes no
 * writes (it is read-only, or a node that is not ready), all connections to
 * that server are retired. Giving @conn back does the same.
 */
void rlk_pool_note(struct rlk_pool *pool, struct rlk_conn *conn);

/** A new connection has found this server. Under the mutex. */
void rlk_pool_note_server(struct rlk_pool *pool, const struct rlk_conn *conn);

#endif
