/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_REAPER_H
#define RLK_BACKGROUND_REAPER_H

#include <rowlock/admin.h>

#include "core/client.h"

/** One pass over sessions, leases and tokens; adds to @result. Blocks; no
 *  mutex held. */
int rlk_reap_pass(struct rowlock_client *client,
		  const struct rowlock_reap_options *options,
		  struct rowlock_reap_result *result,
		  struct rowlock_errinfo *reterr);

void rlk_reaper_run(void *client);

#endif
