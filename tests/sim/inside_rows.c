/* SPDX-License-Identifier: MIT */
/*
 * What rowlock_acquire_in_transaction(), rowlock_token_in_transaction() and
 * rowlock_fence() say, as the simulated server executes it: the row of
 * business_lock is locked in the same line as for the library's own connections
 * (rows.c); a token that is drawn in a transaction is in the table from its
 * COMMIT on, and its row, and the floor, are locked until then; so is the
 * resource that a transaction has passed.
 */
#include <string.h>

#include "judge.h"
#include "locks.h"
#include "script.h"
#include "server.h"
#include "sim.h"
#include "tables_private.h"
#include "trace.h"

#define ERROR_TIMEOUT 1205
#define ERROR_NOWAIT_MYSQL 3572
#define ERROR_ROWS 1242

/* -------------------------------------------------------------- row locks */

static struct sim_row *row_of(const struct sim_said *said)
{
	enum sim_verb verb = said->op->verb;

	return verb == SIM_INSIDE_TRY || verb == SIM_INSIDE_WAIT
		   ? &sim_tables.rows[said->name]
		   : NULL;
}

static struct sim_resource *resource_of(const struct sim_said *said)
{
	bool row = said->book == SIM_BOOK_FENCED_ROW;

	return &sim_tables.resources[row][said->name];
}

bool sim_inside_has(const struct sim_session *session,
		    const struct sim_said *said)
{
	const struct sim_row *row = row_of(said);

	if (said->op->verb == SIM_FENCE_PASS ||
	    said->op->verb == SIM_FENCE_LOOK)
		return resource_of(said)->writer == session;
	return row && row->owner == session;
}

/* One that is absent is no row to lock, nor to tell of. */
unsigned int sim_inside_lock(struct sim_session *session,
			     const struct sim_said *said)
{
	struct sim_row *row = row_of(said);

	session->work.open = true;
	if (!row->there)
		return 0;
	if (said->locks && !sim_rows_take(session, row))
		return sim_world.mysql ? ERROR_NOWAIT_MYSQL : ERROR_TIMEOUT;
	sim_script_tell(session, said->elsewhere ? 2 : 1);
	return 0;
}

/* ----------------------------------------------------------------- tokens */

unsigned int sim_inside_draw(struct sim_session *session,
			     const struct sim_said *said)
{
	struct sim_work *work = &session->work;
	int64_t now_us = session->request.started_us;
	uint64_t next = (uint64_t) now_us;
	uint64_t before = sim_tables.tokens[1][said->name];
	uint64_t least = said->floor ? sim_tables.floor + 1 : 0;

	work->open = true;
	if (work->token)
		before = work->token;
	if (said->floor && !work->floor)
		sim_tables.floor_sharers++;
	if (before)
		least = said->greatest ? before + 1 : 0;
	next = next > least ? next : least;
	work->token = next;
	work->token_name = said->name;
	work->drawn_us = now_us;
	work->floor |= said->floor;
	sim_tables.drawer[said->name] = session;
	session->answer.affected = before ? 2 : 1;
	session->answer.insert_id = next;
	return 0;
}

/* What a statement of the library's own waits for. */
static const void *wanted(const struct sim_request *request)
{
	bool draws = request->op->verb == SIM_DRAW_ROW;

	switch (request->op->verb) {
	case SIM_RAISE_FLOOR:
		return sim_tables.floor_sharers ? &sim_tables.floor : NULL;
	case SIM_DROP_TOKEN:
		if (strcmp(request->text, "row") != 0)
			return NULL;
		break;
	case SIM_DRAW_ROW:
	case SIM_RAISE_ROW:
		break;
	default:
		return NULL;
	}
	for (unsigned int i = 0; i < SIM_NAMES; i++)
		if (sim_tables.drawer[i] &&
		    sim_param_name(request, !draws) == i)
			return &sim_tables.drawer[i];
	return NULL;
}

bool sim_tokens_hold_up(struct sim_session *session)
{
	const void *what = wanted(&session->request);

	if (what && sim_locks_stand_in_line(session, what, true))
		return true;
	if (what)
		session->answer.error = ERROR_TIMEOUT;
	return false;
}

/* -------------------------------------------------------------- resources */

static uint64_t token_of(const struct sim_session *session,
			 const struct sim_resource *resource)
{
	const struct sim_work *work = &session->work;

	return work->resource == resource && work->pass ? work->pass
							: resource->token;
}

static void lock_resource(struct sim_session *session,
			  struct sim_resource *resource)
{
	struct sim_work *work = &session->work;

	if (work->resource && work->resource != resource)
		sim_violation("a transaction passes two fences");
	work->open = true;
	work->resource = resource;
	/* One that was aborted runs on, and takes nothing from others. */
	if (!resource->writer)
		resource->writer = session;
}

/* The row is locked, whether it is passed or not. */
unsigned int sim_resource_pass(struct sim_session *session,
			       const struct sim_said *said)
{
	struct sim_resource *resource = resource_of(said);

	lock_resource(session, resource);
	if (said->compares && token_of(session, resource) > said->value)
		return ERROR_ROWS;
	session->work.pass = said->value;
	session->answer.affected = 1;
	return 0;
}

unsigned int sim_resource_look(struct sim_session *session,
			       const struct sim_said *said)
{
	struct sim_resource *resource = resource_of(said);
	uint64_t token = token_of(session, resource);

	lock_resource(session, resource);
	if (token)
		sim_script_tell(session, token);
	return 0;
}

/* ------------------------------------------------------------------- wait */

/* What it wants, and another has; NULL: it is free, or in a line of its own. */
static const void *in_the_way(const struct sim_session *session,
			      const struct sim_said *said)
{
	const struct sim_session *other;

	switch (said->op->verb) {
	case SIM_INSIDE_DRAW:
		other = sim_tables.drawer[said->name];
		return other && other != session
			   ? &sim_tables.drawer[said->name]
			   : NULL;
	case SIM_FENCE_PASS:
	case SIM_FENCE_LOOK:
		other = resource_of(said)->writer;
		return other && other != session ? resource_of(said) : NULL;
	default:
		return NULL;
	}
}

bool sim_inside_holds_up(struct sim_session *session,
			 const struct sim_said *said)
{
	const void *what = in_the_way(session, said);
	struct sim_row *row = row_of(said);

	if (said->op->verb < SIM_INSIDE_TRY || session->request.refuse)
		return false;
	if (said->op->verb == SIM_INSIDE_WAIT && said->locks && row->there)
		return !sim_rows_wait(session, row);
	if (what && sim_locks_stand_in_line(session, what, true))
		return true;
	if (what)
		return sim_locks_refuse_text(session, ERROR_TIMEOUT);
	session->meets = NULL;
	return false;
}

/* -------------------------------------------------------------------- end */

void sim_inside_apply(struct sim_session *session)
{
	const struct sim_work *work = &session->work;

	if (work->token) {
		sim_judge_drawn(true, work->token_name, work->token);
		sim_tables.tokens[1][work->token_name] = work->token;
		sim_tables.drawn_us[1][work->token_name] = work->drawn_us;
	}
	if (work->pass) {
		sim_judge_passed(session);
		work->resource->token = work->pass;
	}
}

void sim_inside_release(struct sim_session *session)
{
	struct sim_work *work = &session->work;

	if (work->token) {
		sim_tables.drawer[work->token_name] = NULL;
		sim_locks_wake(&sim_tables.drawer[work->token_name]);
	}
	if (work->floor && --sim_tables.floor_sharers == 0)
		sim_locks_wake(&sim_tables.floor);
	if (work->resource && work->resource->writer == session) {
		work->resource->writer = NULL;
		sim_locks_wake(work->resource);
	}
	sim_rows_release(session);
}

bool sim_inside_any(void)
{
	for (unsigned int i = 0; i < SIM_NAMES; i++)
		if ((sim_tables.rows[i].owner &&
		     sim_tables.rows[i].owner->borrowed) ||
		    sim_tables.resources[0][i].writer ||
		    sim_tables.resources[1][i].writer)
			return true;
	return false;
}
