/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_PRESENT_H
#define RLK_BACKGROUND_PRESENT_H

#include "core/client.h"

/** Behind a beat: are the rows there of the leases that this client believes to
 *  hold? If some are not, rlk_breaks_look() is due. False: no connection was
 *  free; look again soon. Blocks; no mutex held. */
bool rlk_present_look(struct rowlock_client *client);

#endif
