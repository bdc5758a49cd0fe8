/* SPDX-License-Identifier: MIT */
/*
 * The statements that find out what became of a commit without an answer.
 */
#include "tables_private.h"

/* The row that the request is about; NULL: it is not there. */
static struct sim_lease *find(const struct sim_request *request)
{
	struct sim_lease *lease = sim_lease_meant(request);

	return lease && lease->there && lease->attempt == request->params[2].u64
		   ? lease
		   : NULL;
}

void sim_outcome_overtake(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	struct sim_lease *lease = find(request);

	if (!lease || lease->guards != request->params[3].u64)
		return;
	lease->guards += 2;
	session->answer.affected = 1;
}

void sim_outcome_outrun(struct sim_session *session)
{
	struct sim_lease *lease = find(&session->request);

	if (!lease)
		return;
	lease->guards += 2;
	session->answer.affected = 1;
}

void sim_outcome_look(struct sim_session *session)
{
	const struct sim_lease *lease = find(&session->request);

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
