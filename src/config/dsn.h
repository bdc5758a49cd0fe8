/* SPDX-License-Identifier: MIT */
#ifndef RLK_CONFIG_DSN_H
#define RLK_CONFIG_DSN_H

#include "config/where.h"

/**
 * Read a connection string.
 *
 * @place  where it stands, for the message: "dsn", or a file and a line
 *
 * Returns 0; ROWLOCK_EINVAL (what is wrong, and what to write instead; never a
 * secret); ROWLOCK_ENOMEM. On an error @where has what was said before it.
 */
int rlk_dsn_read(const char *dsn, const char *place, struct rlk_where *where,
		 struct rowlock_errinfo *reterr);

#endif
