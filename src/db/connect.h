/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_CONNECT_H
#define RLK_DB_CONNECT_H

/* A connection is opened. */

#include "db/conn.h"

/**
 * Connect, set the session's state, read it back, learn about the server.
 * Blocks; name resolution is not bounded by @until_ms, all else is: so it runs
 * on the pool's opener thread (db/pool.h).
 *
 * Returns 0 or the server errors: ROWLOCK_EAUTH (1044, 1045, 1130, 1698 ...),
 * ROWLOCK_ECONNECT, ROWLOCK_ESCHEMA (1049: no such database),
 * ROWLOCK_EUNSUPPORTED (too old, STATEMENT logging is found at the first write
 * instead), ROWLOCK_EDB, ROWLOCK_ENOMEM, ROWLOCK_ESYSTEM.
 */
int rlk_conn_open(const struct rlk_conn_target *target,
		  const struct rlk_conn_profile *profile, int64_t until_ms,
		  struct rlk_conn **ret_conn, struct rowlock_errinfo *reterr);

#endif
