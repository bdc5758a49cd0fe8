/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_TLS_ADVICE_H
#define RLK_DB_TLS_ADVICE_H

/* Messages for a TLS that fails. */

#include "config/where.h"
#include "db/conn_private.h"

/** The server has no TLS, and @where asks for it. Returns ROWLOCK_ECONNECT. */
int rlk_fail_no_tls(const struct rlk_conn *conn, const struct rlk_where *where,
		    struct rowlock_errinfo *reterr);

/** Write what follows Connector/C's words for a TLS that failed: what is wrong
 *  with the certificate, and what to do. Returns @text. */
const char *rlk_tls_advice(const struct rlk_conn *conn,
			   const struct rlk_where *where, char *text,
			   size_t size);

#endif
