/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_REAP_DUTY_H
#define RLK_BACKGROUND_REAP_DUTY_H

/* The duty to reap, which one client of a database has at a time. */

#include "background/reaper_private.h"

/** Is it our duty? Blocks on pass->conn. Fails with the server's error. */
int rlk_duty_ask(struct rlk_pass *pass, bool *ret_ours,
		 struct rowlock_errinfo *reterr);

/** Is it still our duty during a pass? Asks the server now and then. */
bool rlk_duty_goes_on(struct rlk_pass *pass);

/** When to ask again, unless the account may not have it. */
int64_t rlk_duty_next(const struct rowlock_client *client,
		      const struct rlk_duty *duty);

#endif
