/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_KEEPS_H
#define RLK_BACKGROUND_KEEPS_H

#include "core/client.h"

/** The session was just beaten on @conn, each of whose statements may take
 *  @patience_ms: beat the keeps of holds that are due, too. */
void rlk_keeps_beat(struct rowlock_client *client, struct rlk_conn *conn,
		    uint64_t patience_ms);

#endif
