/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_REAP_CLAIM_H
#define RLK_BACKGROUND_REAP_CLAIM_H

/* The claim to reap, which one client of a database has. */

#include "background/reaper_private.h"

/** Is it our turn? Blocks on pass->conn. Fails with the server's error. */
int rlk_claim_turn(struct rlk_pass *pass, bool *ret_ours,
		   struct rowlock_errinfo *reterr);

/** Is it still our turn during a pass? Asks the server now and then. */
bool rlk_claim_goes_on(struct rlk_pass *pass);

/** When to ask again, unless the claim was refused. */
int64_t rlk_claim_next(const struct rowlock_client *client,
		       const struct rlk_claim *claim);

#endif
