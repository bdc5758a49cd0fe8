/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_RESOURCE_H
#define RLK_STRATEGY_RESOURCE_H

/*
 * A row for each thing that tokens protect, beside its data (lock_fence): the
 * largest token that a transaction has written under.
 */

#include <stdint.h>

#include "db/borrowed.h"

enum rlk_resource_end {
	RLK_RESOURCE_PASSED,
	RLK_RESOURCE_STALE,   /* a larger one has been there */
	RLK_RESOURCE_REFUSED, /* the server refused: *reterr */
};

/**
 * In the transaction that is open on @on: pass with @token, if no larger one
 * has been there. Others that want to pass wait until its end. Blocks as long
 * as the server's lock wait time-out and the connection's own time-outs allow.
 * If it is stale nothing was changed, and *@ret_largest is the larger one (0:
 * it could not be asked for).
 */
enum rlk_resource_end rlk_resource_pass(const struct rlk_borrowed *on,
					const char *resource, uint64_t token,
					uint64_t *ret_largest,
					struct rowlock_errinfo *reterr);

#endif
