/* SPDX-License-Identifier: MIT */
#ifndef RLK_WAIT_PAUSE_H
#define RLK_WAIT_PAUSE_H

/* When the server is asked again. */

#include "wait/step.h"

/** Sleep until it is time to ask again, or choose the round that the next
 *  question goes with: asking->round_ms. Ends early when the waiter has to go.
 *  Returns true if a hold of ours was handed to it meanwhile. */
bool rlk_pause(struct rlk_asking *asking);

/** Sleep until @at_ms. Returns false if the waiter has to go, may ask at once,
 *  or was handed a hold of ours: *@ret_handed. */
bool rlk_pause_until(struct rlk_asking *asking, int64_t at_ms,
		     bool *ret_handed);

/** Let others ask first, if our threads have had the name for a turn. */
void rlk_step_back(struct rlk_asking *asking);

/** The asking is over: a turn begins when the name comes from elsewhere. */
void rlk_note_turn(struct rlk_asking *asking);

#endif
