/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_PEER_H
#define RLK_DB_PEER_H

/* The peer of a connection. */

#include "db/conn_private.h"

/** Before anything is known of the user's wishes. */
void rlk_peer_begin(struct rlk_conn *conn);

/** Look at a socket as soon as it exists: close-on-exec, and short waits. */
void rlk_peer_socket(struct rlk_conn *conn);

/** Decide about TLS and passwords, when a greeting comes: then the peer is
 *  known, and nothing was sent. */
void rlk_peer_decide(struct rlk_conn *conn);

/** What the connection string or an option file says; NULL: nothing. */
const char *rlk_peer_option(const struct rlk_conn *conn,
			    enum mysql_option option);

/** After the connect: is the connection as safe as it must be? */
int rlk_peer_check(struct rlk_conn *conn, struct rowlock_errinfo *reterr);

/** Has the connect got as far as somebody who takes it? */
bool rlk_peer_is_there(const struct rlk_conn *conn);

/** Of several hosts those behind the one that is connected to, with the comma
 *  before them. NULL: there are none. */
const char *rlk_peer_next_hosts(const struct rlk_conn *conn);

/** Is the peer a socket file, where no port counts? */
bool rlk_peer_is_file(const struct rlk_conn *conn);

/** Keepalive and how long unacknowledged data may stay so. */
void rlk_peer_keep(struct rlk_conn *conn);

#endif
