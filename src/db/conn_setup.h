/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_CONN_SETUP_H
#define RLK_DB_CONN_SETUP_H

/* The state of a session, set and read back. */

#include "db/conn_private.h"

/** Set the session's state, read it back, learn about the server. */
int rlk_session_setup(struct rlk_conn *conn, struct rowlock_errinfo *reterr);

#endif
