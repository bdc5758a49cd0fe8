/* SPDX-License-Identifier: MIT */
/*
 * Candidates that stand, in the place of strategy/candidate.c: one that a test
 * says, whom the rows of the client's own do not change.
 */
#include "world.h"

#include "strategy/candidate.h"

#include <stdio.h>

static struct fake_call call_of(const struct rlk_request *request)
{
	struct fake_call call = {
		.attempt = request->attempt,
		.id = request->session,
		.bell = request->bell,
	};

	snprintf(call.name, sizeof(call.name), "%s",
		 request->info ? request->info : "");
	return call;
}

static enum rlk_fault stand(struct rlk_conn *conn,
			    const struct rlk_request *request, enum rlk_ask ask,
			    struct rlk_holder *ret_holder,
			    struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_STAND, .conn = conn };
	struct fake_call call = call_of(request);

	(void) ask;
	*ret_holder = (struct rlk_holder){ 0 };
	world_begin(&op, &call);
	return world_verdict(&op, RLK_DONE, reterr);
}

static enum rlk_fault leave(struct rlk_conn *conn,
			    const struct rlk_request *request, bool *ret_found,
			    struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_LEAVE, .conn = conn };
	struct fake_call call = call_of(request);

	*ret_found = world_begin(&op, &call);
	return world_fault(&op, RLK_DONE, reterr);
}

const struct rlk_strategy rlk_strategy_candidate = {
	.name = "lease",
	.many = true,
	.acquire = stand,
	.release = leave,
};

void rlk_candidate_info(char *into, unsigned int weight)
{
	snprintf(into, RLK_CANDIDATE_INFO, "weight=%u", weight);
}

enum rlk_fault rlk_candidates_look(struct rlk_conn *conn, const char *name,
				   unsigned int weight,
				   struct rlk_heaviest *ret_heaviest,
				   struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_HEAVIEST, .conn = conn };
	struct fake_call call = { .id = weight };

	snprintf(call.name, sizeof(call.name), "%s", name);
	*ret_heaviest = (struct rlk_heaviest){ 0 };
	if (world_begin(&op, &call) && world.tables.heaviest > weight)
		*ret_heaviest =
		    (struct rlk_heaviest){ world.tables.heaviest, 4000 };
	return world_fault(&op, RLK_DONE, reterr);
}

void fake_stand(unsigned int weight)
{
	world_lock();
	world.tables.heaviest = weight;
	world_changed();
	world_unlock();
}
