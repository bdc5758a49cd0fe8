/* SPDX-License-Identifier: MIT */
#ifndef RLK_WAIT_PLEADING_H
#define RLK_WAIT_PLEADING_H

/* The first in line for permits waits for a release; see pleading.c. */

#include "wait/step.h"

/** Shall it plead now, instead of a pause before it asks again? */
bool rlk_may_plead(const struct rlk_asking *asking);

/** Plead until it is time to ask again. Returns true if a hold of ours was
 *  handed to it meanwhile. */
bool rlk_plead(struct rlk_asking *asking);

#endif
