/* SPDX-License-Identifier: MIT */
#ifndef RLK_WAIT_ADOPTING_H
#define RLK_WAIT_ADOPTING_H

#include "wait/step.h"

/** rlk_ask() for a lease that another has exported: waiter->wish.offer. */
int rlk_adopt_ask(struct rlk_asking *asking, struct rowlock_errinfo *reterr);

#endif
