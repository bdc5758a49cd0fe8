/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_ENGINE_H
#define RLK_DB_ENGINE_H

/* The kind of server, and its limits. */

#include "db/server_private.h"

/** Is it, by its VERSION() or its version_comment (each may be NULL), an engine
 *  that is neither MariaDB nor MySQL? 0 or ROWLOCK_EUNSUPPORTED. */
int rlk_engine_check(const char *version, const char *comment,
		     const char *where, struct rowlock_errinfo *reterr);

#endif
