/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_TLS_H
#define RLK_DB_TLS_H

/* TLS of a connection. */

#include "db/conn_private.h"

/** Once, after Connector/C was made ready: what is no data under TLS is counted
 *  from then on. */
void rlk_tls_init(void);

/** OpenSSL's object; NULL without TLS. */
void *rlk_tls_session(const struct rlk_conn *conn);

#endif
