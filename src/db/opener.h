/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_OPENER_H
#define RLK_DB_OPENER_H

/* The thread that opens connections. */

#include "db/pool_private.h"

/** Let openers work for those who wait in @bay. Under the mutex. */
void rlk_opener_call(struct rlk_pool *pool, struct rlk_bay *bay);

#endif
