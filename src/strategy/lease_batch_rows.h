/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_LEASE_BATCH_ROWS_H
#define RLK_STRATEGY_LEASE_BATCH_ROWS_H

#include "strategy/lease_batch.h"

/** Sort the rows of @parts into @batch. A part that does not fit is left out,
 *  and so unanswered. False: no memory. */
bool rlk_batch_sort(struct rlk_batch *batch, struct rlk_part **parts,
		    size_t count);

/** The first of @rows with @name; NULL: none has it. */
struct rlk_batch_row *rlk_batch_find(const struct rlk_batch_rows *rows,
				     const struct rlk_value *name);

#endif
