/* SPDX-License-Identifier: MIT */
#ifndef METRICS_TARGET_H
#define METRICS_TARGET_H

/*
 * The server of the command line, for connections of the library's own kind:
 * what the library refuses to talk to is refused here too.
 */

#include "common/connection.h"
#include "db/conn.h"

/** @connection and @program are kept, not copied. */
static inline struct rlk_conn_target connection_target(
    const struct connection *connection, const char *program)
{
	return (struct rlk_conn_target){
		.sources = { .dsn = connection->dsn,
			     .no_files =
				 connection->flags & ROWLOCK_NO_DEFAULTS,
			     .file = connection->defaults_file,
			     .group = "rowlock",
			     .suffix = connection->group_suffix },
		.unverified_auth = (char *) connection->unverified_auth,
		.flags = connection->flags,
		.program = program,
		.clock = rlk_clock_real(),
	};
}

#endif
