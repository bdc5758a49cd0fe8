/* SPDX-License-Identifier: MIT */
#ifndef RLK_WAIT_ASKING_H
#define RLK_WAIT_ASKING_H

#include "wait/step.h"

/** The next step after a verdict other than RLK_DONE. */
enum rlk_step rlk_judge(struct rlk_asking *asking, enum rlk_fault verdict,
			const struct rlk_request *request,
			struct rlk_holder *holder);

/** Have a live session for the attempt; another one begins it anew. */
enum rlk_step rlk_ensure_session(struct rlk_asking *asking);

/**
 * Ask until it is granted or the waiter's time is up. Called and returns
 * without the mutex. On success the hold has begun.
 */
int rlk_ask(struct rlk_asking *asking, struct rowlock_errinfo *reterr);

#endif
