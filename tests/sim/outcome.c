/* SPDX-License-Identifier: MIT */
/*
 * The statements that find out what became of a commit without an answer.
 */
#include "sim.h"
#include "tables_private.h"

/* The row that the request is about; NULL: it is not there. */
static struct sim_lease *find(const struct sim_request *request)
{
	struct sim_lease *lease = sim_lease_meant(request);

	return lease && lease->there && lease->attempt == request->params[2].u64
		   ? lease
		   : NULL;
}

/* A member of a group may be behind. */
static void check_caught_up(const struct sim_session *session)
{
	if (sim_world.nodes && sim_world.mysql && !session->consistent)
		sim_violation("what became of a commit is asked for on a "
			      "member that may be behind");
}

void sim_outcome_consistency(struct sim_session *session)
{
	session->consistent = session->request.op->verb == SIM_BE_CONSISTENT;
}

#define OWN 268435455

void sim_outcome_overtake(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	struct sim_lease *lease = find(request);

	check_caught_up(session);
	if (!lease || (lease->guards & OWN) != request->params[3].u64 ||
	    request->lies)
		return;
	lease->guards =
	    (lease->guards & ~(uint64_t) OWN) | ((lease->guards + 2) & OWN);
	session->answer.affected = 1;
}

void sim_outcome_look(struct sim_session *session)
{
	const struct sim_lease *lease = find(&session->request);

	check_caught_up(session);
	if (lease)
		sim_answer_row(&session->answer, 1)[0] = rlk_u64(lease->guards);
}

void sim_outcome_breaks(struct sim_session *session)
{
	const struct sim_session_row *row =
	    sim_session_row(session->request.params[0].u64);

	if (row)
		sim_answer_row(&session->answer, 1)[0] = rlk_u64(row->breaks);
}
