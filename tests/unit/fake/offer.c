/* SPDX-License-Identifier: MIT */
/*
 * Leases that are adopted, over the model's tables.
 */
#include "world.h"

#include <stdio.h>

#include "strategy/offer.h"

static enum rlk_fault adopt(const struct rlk_request *request,
			    const struct rlk_offer *offer)
{
	struct world_lease *lease = world_lease(request->name);
	struct world_session *from =
	    lease ? world_session(lease->session) : NULL;
	struct world_session *to = world_session(request->session);
	struct rlk_revocation *asked = &world.tables.revocation;

	if (!from)
		return RLK_ABSENT;
	if (lease->attempt == request->attempt)
		return RLK_DONE;
	if (lease->attempt != offer->attempt ||
	    lease->session != offer->session)
		return RLK_HELD;
	if (!to)
		return RLK_CONFLICT;
	from->breaks++;
	to->breaks++;
	lease->attempt = request->attempt;
	lease->session = request->session;
	if (asked->request && asked->known.attempt == offer->attempt) {
		asked->known.attempt = request->attempt;
		asked->known.answer = ROWLOCK_ANSWER_NONE;
	}
	return RLK_DONE;
}

enum rlk_fault rlk_offer_adopt(struct rlk_conn *conn,
			       const struct rlk_request *request,
			       const struct rlk_offer *offer,
			       struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_ADOPT, .conn = conn };
	struct fake_call call = { .attempt = request->attempt,
				  .id = offer->attempt };
	enum rlk_fault verdict = RLK_CONFLICT;

	snprintf(call.name, sizeof(call.name), "%s", request->name);
	if (world_begin(&op, &call))
		verdict = adopt(request, offer);
	return world_verdict(&op, verdict, reterr);
}

enum rlk_fault rlk_offer_holder(struct rlk_conn *conn,
				const struct rlk_request *request, char *text,
				size_t size, struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_OFFER_HOLDER, .conn = conn };
	struct fake_call call = { .attempt = request->attempt };

	snprintf(call.name, sizeof(call.name), "%s", request->name);
	if (world_begin(&op, &call))
		snprintf(text, size, "%s",
			 world_lease(request->name) ? "somebody has it"
						    : "nobody has it now");
	return world_fault(&op, RLK_DONE, reterr);
}
