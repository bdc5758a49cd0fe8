/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_REMAINS_H
#define RLK_BACKGROUND_REMAINS_H

/* Sessions and leases of dead clients. */

#include "background/reaper_private.h"

int rlk_reap_sessions(struct rlk_pass *pass, struct rowlock_errinfo *reterr);

int rlk_reap_leases(struct rlk_pass *pass, struct rowlock_errinfo *reterr);

#endif
