/* SPDX-License-Identifier: MIT */
#ifndef RLK_WAIT_GRANT_H
#define RLK_WAIT_GRANT_H

/* A grant of the server becomes a hold. */

#include "wait/step.h"

/** The question sent at @t0 was granted; see grant.c. */
enum rlk_step rlk_granted(struct rlk_asking *asking, int64_t t0);

#endif
