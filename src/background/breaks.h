/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_BREAKS_H
#define RLK_BACKGROUND_BREAKS_H

#include "core/client.h"

/** If a beat said that leases of ours were taken by hand: look which are still
 *  there, and lose the others. False: it could not be found out, try again.
 *  Blocks; no mutex held. */
bool rlk_breaks_look(struct rowlock_client *client);

#endif
