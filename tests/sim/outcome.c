/* SPDX-License-Identifier: MIT */
/*
 * The statements that find out what became of a commit without an answer.
 */
#include "judge.h"
#include "sim.h"
#include "tables_private.h"

#include <stdlib.h>

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
	sim_judge_overtaken(lease->name);
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

/* --------------------------------------------------------------- receipts */

#define RECEIPTS 4096

static struct {
	uint64_t attempt;
	uint64_t session;
	uint64_t guards;
} receipts[RECEIPTS];
static size_t receipt_count;

void sim_receipts_begin(void)
{
	receipt_count = 0;
}

/* Those of sessions that are over a reaper would delete. */
static void reap(void)
{
	for (size_t i = receipt_count; i-- > 0;)
		if (!sim_session_row(receipts[i].session))
			receipts[i] = receipts[--receipt_count];
}

void sim_receipt_leave(const struct sim_lease *lease)
{
	if (receipt_count == RECEIPTS)
		reap();
	if (receipt_count == RECEIPTS)
		sim_violation("nobody deletes receipts");
	receipts[receipt_count].attempt = lease->attempt;
	receipts[receipt_count].session = lease->session;
	receipts[receipt_count++].guards = lease->guards;
}

uint64_t sim_receipt_of(const char *text)
{
	return text && *text == 1 ? strtoull(text + 1, NULL, 16) : 0;
}

/* RECEIPTS: there is none. */
static size_t find_receipt(uint64_t attempt)
{
	for (size_t i = 0; i < receipt_count; i++)
		if (receipts[i].attempt == attempt)
			return i;
	return RECEIPTS;
}

void sim_outcome_receipt(struct sim_session *session)
{
	size_t at = find_receipt(session->request.params[1].u64);

	check_caught_up(session);
	if (at < RECEIPTS)
		sim_answer_row(&session->answer, 1)[0] =
		    rlk_u64(receipts[at].guards);
}

void sim_receipt_delete(struct sim_session *session)
{
	size_t at = find_receipt(session->request.params[2].u64);

	if (at == RECEIPTS)
		return;
	session->answer.affected++;
	receipts[at] = receipts[--receipt_count];
}
