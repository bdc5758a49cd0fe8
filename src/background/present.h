/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_PRESENT_H
#define RLK_BACKGROUND_PRESENT_H

#include "core/client.h"

/** After a beat, check that the rows of our leases are there. If some are not,
 *  rlk_breaks_look() is due. Returns false if no connection was free: look
 *  again soon. Blocks; no mutex held. */
bool rlk_present_look(struct rowlock_client *client);

#endif
