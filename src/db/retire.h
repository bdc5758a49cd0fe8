/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_RETIRE_H
#define RLK_DB_RETIRE_H

/* Connections to a server that takes no writes. */

#include "db/pool.h"

/**
 * Note what @conn, which stays lent, was told: if its server takes no writes
 * (it is read-only, or a node that is not ready), all connections to that
 * server are retired. Who gives back need not say so.
 */
void rlk_pool_note(struct rlk_pool *pool, struct rlk_conn *conn);

/** A new connection has found this server. Under the mutex. */
void rlk_pool_note_server(struct rlk_pool *pool, const struct rlk_conn *conn);

#endif
