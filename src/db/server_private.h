/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_SERVER_PRIVATE_H
#define RLK_DB_SERVER_PRIVATE_H

#include "db/server.h"

/**
 * Flavour, version and name from what the server says of itself, e.g.
 * "10.11.19-MariaDB-deb12" or "9.7.4". @where is how we reached it.
 *
 * Returns 0 or ROWLOCK_EUNSUPPORTED: it is too old, or another engine.
 */
int rlk_server_learn(struct rlk_server *server, const char *version,
		     const char *where, struct rowlock_errinfo *reterr);

/**
 * Tells MariaDB servers apart, beside their ids. An id is made of the port and
 * of the host's hardware address, which is often the same for containers on two
 * hosts, and "unknown" without any. So this adds what differs between a primary
 * and its replicas, and the host's name. MySQL's id is random.
 */
#define RLK_SERVER_IDS "'#', @@GLOBAL.server_id, '#', CRC32(@@hostname)"

/** Does it know the variable innodb_snapshot_isolation? */
bool rlk_server_has_snapshot(const struct rlk_server *server);

#endif
