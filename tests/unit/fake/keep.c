/* SPDX-License-Identifier: MIT */
/*
 * Keeps over the model's tables. The model's clock is the test's.
 */
#include "world.h"

#include <stdio.h>

#include "strategy/keep.h"

static struct fake_call call_of(const struct rlk_request *request,
				const struct rlk_keep *keep)
{
	struct fake_call call = { .attempt = request->attempt, .id = keep->id };

	snprintf(call.name, sizeof(call.name), "%s", request->name);
	return call;
}

/* The row of the request; NULL: another's, or none. */
static struct world_lease *mine(const struct rlk_request *request)
{
	struct world_lease *lease = world_lease(request->name);

	return lease && lease->attempt == request->attempt ? lease : NULL;
}

enum rlk_fault rlk_keep_take(struct rlk_conn *conn,
			     const struct rlk_request *request,
			     const struct rlk_keep *keep, bool *ret_found,
			     struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_KEEP_TAKE, .conn = conn };
	struct fake_call call = call_of(request, keep);

	*ret_found = false;
	if (world_begin(&op, &call)) {
		struct world_session *row = world_session(keep->id);

		*ret_found = row && mine(request) &&
			     (mine(request)->session == keep->id ||
			      (mine(request)->session == request->session &&
			       world_session(request->session)));
		if (*ret_found) {
			mine(request)->session = keep->id;
			row->breaks = request->session;
		}
	}
	return world_fault(&op, RLK_DONE, reterr);
}

enum rlk_fault rlk_keeps_beat_all(struct rlk_conn *conn,
				  const struct rlk_keeps *keeps,
				  uint64_t *ret_beaten,
				  struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_KEEPS_BEAT, .conn = conn };

	*ret_beaten = 0;
	if (world_begin(&op, &(struct fake_call){ .id = keeps->count }))
		for (size_t i = 0; i < keeps->count; i++) {
			struct world_session *row =
			    world_session(keeps->ids[i]);

			if (!row)
				continue;
			row->beat++;
			(*ret_beaten)++;
		}
	return world_fault(&op, RLK_DONE, reterr);
}

enum rlk_fault rlk_keep_release(struct rlk_conn *conn,
				const struct rlk_request *request,
				const struct rlk_keep *keep, bool *ret_kept,
				struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_KEEP_RELEASE, .conn = conn };
	struct fake_call call = call_of(request, keep);

	*ret_kept = false;
	if (world_begin(&op, &call)) {
		struct world_session *row = world_session(keep->id);
		int64_t until =
		    row ? row->opened_ms + (int64_t) keep->keeps_ms : 0;

		if (mine(request) && row && fake_now() < until) {
			mine(request)->max_until_ms = until;
			mine(request)->attempt = keep->kept;
		}
		*ret_kept = world_lease(request->name) &&
			    world_lease(request->name)->attempt == keep->kept;
	}
	return world_fault(&op, RLK_DONE, reterr);
}
