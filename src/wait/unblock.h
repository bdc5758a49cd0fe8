/* SPDX-License-Identifier: MIT */
#ifndef RLK_WAIT_UNBLOCK_H
#define RLK_WAIT_UNBLOCK_H

/* A bell whose owner does not ask for its free name is taken from it. */

#include "core/client.h"

/**
 * The lease of @name, or its read/write lock, was broken: on @conn, end the
 * connection that has its bell, unless the name is taken meanwhile. Blocks for
 * 300 ms if there is one. A failure is no error: a waiter looks by itself
 * later.
 */
void rlk_unblock(struct rowlock_client *client, struct rlk_conn *conn,
		 const char *name);

#endif
