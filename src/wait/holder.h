/* SPDX-License-Identifier: MIT */
#ifndef RLK_WAIT_HOLDER_H
#define RLK_WAIT_HOLDER_H

/* The holder that a question has met. */

#include "wait/step.h"

/** The longest time between two looks of a waiter in line. */
#define RLK_LOOK_MOST_MS 20000

/** Note when @holder may be dead in asking->look.at_ms, as far as is known. */
void rlk_holder_plan_look(struct rlk_asking *asking,
			  const struct rlk_holder *holder);

/** Remove @holder of the name that @request is about, if it is dead. It may be
 *  looked up again. True: the name may be free, so ask again at once. */
bool rlk_holder_clear(struct rlk_asking *asking,
		      const struct rlk_request *request,
		      struct rlk_holder *holder);

#endif
