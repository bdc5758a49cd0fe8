/* SPDX-License-Identifier: MIT */
#ifndef RLK_API_TOKEN_H
#define RLK_API_TOKEN_H

/* The token of a hold, or of a name of a set. */

#include "hold/handle.h"

/** rowlock_token() with a deadline of its own, even of a hold that is not shown
 *  yet. */
int rlk_token(struct rowlock *lock, int64_t until_ms, uint64_t *ret_token,
	      struct rowlock_errinfo *reterr);

/** rowlock_token() for one name of the set, by its number in the order of the
 *  names' bytes. Draws at each call, above @floor. */
int rlk_set_token(struct rowlock *lock, unsigned int which, uint64_t floor,
		  uint64_t *ret_token, struct rowlock_errinfo *reterr);

#endif
