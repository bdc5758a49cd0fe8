/* SPDX-License-Identifier: MIT */
/*
 * Locks of rows of business_lock: one transaction has it, the others stand in
 * line; MySQL does not always serve them in order.
 */
#include "judge.h"
#include "sim.h"
#include "tables.h"

static void give(struct sim_row *row, struct sim_session *session)
{
	if (session->locked && session->locked != row)
		sim_violation("a transaction that has locked '%s' locks '%s' "
			      "too",
			      sim_names[session->locked->name],
			      sim_names[row->name]);
	row->owner = session;
	session->lock_serial = ++row->serial;
	session->locked = row;
}

bool sim_rows_take(struct sim_session *session, struct sim_row *row)
{
	if (row->owner == session)
		return true;
	if (row->owner)
		return false;
	give(row, session);
	return true;
}

/* The row that its statement locks; NULL: none. */
static struct sim_row *meant(const struct sim_session *session)
{
	const struct sim_request *request = &session->request;

	switch (request->op->verb) {
	case SIM_ROW_TRY:
	case SIM_ROW_SKIP:
	case SIM_ROW_WAIT:
		return &sim_tables.rows[sim_param_name(request, 0)];
	case SIM_INSIDE_TRY:
	case SIM_INSIDE_WAIT:
		return &sim_tables.rows[session->script.said[0].name];
	default:
		return NULL;
	}
}

void sim_rows_slip(struct sim_session *session)
{
	struct sim_row *row = meant(session);

	if (row && row->there && sim_below(2))
		sim_rows_take(session, row);
}

bool sim_rows_wait(struct sim_session *session, struct sim_row *row)
{
	if (sim_rows_take(session, row))
		return true;
	session->phase = SIM_WAITING;
	session->wants = row;
	rlk_list_append(&row->line, &session->in_line);
	sim_event_set(&session->step,
		      sim_now + (int64_t) session->lock_wait_s * 1000000);
	return false;
}

static struct sim_session *next(struct sim_row *row)
{
	struct rlk_list *node = rlk_list_first(&row->line);
	struct rlk_list *last = row->line.prev;

	if (node && sim_world.mysql && sim_below(2))
		node = last;
	return node ? container_of(node, struct sim_session, in_line) : NULL;
}

void sim_rows_give_up(struct sim_session *session)
{
	rlk_list_remove(&session->in_line);
	session->wants = NULL;
}

void sim_rows_release(struct sim_session *session)
{
	struct sim_row *row = session->locked;
	struct sim_session *other;

	if (!row)
		return;
	session->locked = NULL;
	row->owner = NULL;
	other = next(row);
	if (!other)
		return;
	sim_rows_give_up(other);
	give(row, other);
	sim_answer_reserve(&other->answer, 1);
	other->answer.rows = 1;
	other->answer.columns = 1;
	other->answer.cells[0] = rlk_text(sim_names[row->name]);
	sim_session_go_on(other, 0);
}

void sim_rows_leave(struct sim_session *session)
{
	sim_rows_give_up(session);
	sim_rows_release(session);
}
