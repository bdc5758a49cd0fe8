/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_GUARD_SQL_H
#define RLK_STRATEGY_GUARD_SQL_H

#include "strategy/place_sql.h"
#include "strategy/strategy.h"

/** The guard alone, for an application that commits by itself: four statements.
 *  If @run is not 0, they also note the success of this run of a job. Returns
 *  0; ROWLOCK_ENOMEM; or ROWLOCK_EINVAL: they do not fit into @size bytes. */
int rlk_guard_sql(const struct rlk_place *place,
		  const struct rlk_request *request, uint64_t run,
		  char *ret_text, size_t size);

/** The same as one: a call of the procedure rowlock_guard(). */
int rlk_guard_call(const struct rlk_place *place,
		   const struct rlk_request *request, char *ret_text,
		   size_t size);

#endif
