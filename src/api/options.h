/* SPDX-License-Identifier: MIT */
#ifndef RLK_API_OPTIONS_H
#define RLK_API_OPTIONS_H

#include "core/client.h"

/** Check @options and copy them into @client; its target and bays are made
 *  from them. Returns 0, ROWLOCK_EINVAL or ROWLOCK_ENOMEM. */
int rlk_options_apply(struct rowlock_client *client,
		      const struct rowlock_client_options *options,
		      struct rowlock_errinfo *reterr);

#endif
