/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_BREAKS_H
#define RLK_BACKGROUND_BREAKS_H

#include "core/client.h"

/** If a beat said that leases of ours were broken: look which are still there,
 *  and lose the others. Returns false if that failed: try again. Blocks; no
 *  mutex held. */
bool rlk_breaks_look(struct rowlock_client *client);

#endif
