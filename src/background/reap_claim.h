/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_REAP_CLAIM_H
#define RLK_BACKGROUND_REAP_CLAIM_H

/* The turn to reap, which one client of a database has. */

#include "background/reaper_private.h"

/** Is it our turn? Blocks on pass->conn. An error is the server's. */
int rlk_claim_turn(struct rlk_pass *pass, bool *ret_ours,
		   struct rowlock_errinfo *reterr);

/** Is it still, in the middle of a pass? Now and then it asks the server. */
bool rlk_claim_goes_on(struct rlk_pass *pass);

/** When to ask again, if it was not refused. */
int64_t rlk_claim_next(const struct rowlock_client *client,
		       const struct rlk_claim *claim);

#endif
