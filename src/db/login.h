/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_LOGIN_H
#define RLK_DB_LOGIN_H

/* Packets of a login. */

#include "db/conn_private.h"

/** Why a login ends where TLS is asked for, and the server has none. */
extern const char rlk_login_no_tls[];

/** An option of the connection string or an option file; NULL if not given. */
const char *rlk_login_option(const struct rlk_conn *conn,
			     enum mysql_option option);

/** Look at a packet of a login; @more: of the same read is behind it. Returns
 * NULL, or why it has to end: static. Connector/C must not see it then. */
const char *rlk_login_judge(struct rlk_conn *conn,
			    const struct rlk_frame *frame, bool more);

/** @bytes were sent. */
void rlk_login_wrote(struct rlk_conn *conn, const unsigned char *bytes,
		     size_t count);

#endif
