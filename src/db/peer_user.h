/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_PEER_USER_H
#define RLK_DB_PEER_USER_H

/* The user that a local peer runs as. */

#include <stdbool.h>

struct rlk_conn;

/** Once in a process, before the first connect. */
void rlk_peer_user_init(void);

/** Is the peer a process of this host, named as such, that runs as root or as
 *  mysql? Reads the kernel's table of connections. */
bool rlk_peer_user_is_servers(const struct rlk_conn *conn);

#endif
