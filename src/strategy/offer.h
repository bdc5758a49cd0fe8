/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_OFFER_H
#define RLK_STRATEGY_OFFER_H

/*
 * A lease that its holder has exported, for whoever adopts it.
 *
 * As for strategies: no mutex held, may block until @conn's deadline.
 */

#include "strategy/offer_text.h"
#include "strategy/strategy.h"

/**
 * Take the lease over: its row gets the session and the attempt of @request, if
 * it is still that of @offer, and the sessions of both are there. A request to
 * give it back has no answer then. May be asked again with the same attempt.
 * Valid results: RLK_DONE; RLK_HELD: another has the name; RLK_ABSENT:
 * nobody has it any more; RLK_CONFLICT; RLK_PENDING; RLK_UNKNOWN; RLK_REFUSED.
 */
enum rlk_fault rlk_offer_adopt(struct rlk_conn *conn,
			       const struct rlk_request *request,
			       const struct rlk_offer *offer,
			       struct rowlock_errinfo *reterr);

/** Tell by @text, of @size bytes, who has the lease of @request's name now, and
 *  since when; or that nobody has. */
enum rlk_fault rlk_offer_holder(struct rlk_conn *conn,
				const struct rlk_request *request, char *text,
				size_t size, struct rowlock_errinfo *reterr);
#define RLK_OFFER_HOLDER_SIZE 640

#endif
