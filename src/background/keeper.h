/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_KEEPER_H
#define RLK_BACKGROUND_KEEPER_H

/* The thread that sends the heartbeats. */

#include "core/client.h"

void rlk_keeper_run(void *client);

/** Open what the keeper needs before there is anything to keep. */
int rlk_keeper_prepare(struct rowlock_client *client,
		       struct rowlock_errinfo *reterr);

#endif
