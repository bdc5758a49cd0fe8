/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_REVOCATIONS_H
#define RLK_BACKGROUND_REVOCATIONS_H

#include "core/client.h"

/** Tell the application of requests to give leases of session @id back, and
 *  write its answers. Returns false if that is to be done again. */
bool rlk_revocations_tell(struct rowlock_client *client, struct rlk_conn *conn,
			  uint64_t id);

#endif
