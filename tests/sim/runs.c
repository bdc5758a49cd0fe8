/* SPDX-License-Identifier: MIT */
/*
 * Statements on job_run, and the transactions that they are in. A transaction
 * of the library's changes one run and deletes one lease at the most: others
 * see neither before its COMMIT, and wait where they want the same row. A read
 * sees what was committed when its statement began.
 */
#include "runs.h"

#include <string.h>

#include "judge.h"
#include "locks.h"
#include "sim.h"
#include "tables_private.h"
#include "trace.h"

#define ERROR_TIMEOUT 1205
#define ERROR_DEADLOCK 1213
#define ERROR_READ_ONLY 1290

static struct sim_run runs[SIM_NAMES][SIM_RUNS];
static unsigned int counts[SIM_NAMES];

void sim_runs_begin(void)
{
	memset(counts, 0, sizeof(counts));
}

struct sim_run *sim_runs_of(unsigned int name, unsigned int *ret_count)
{
	*ret_count = counts[name];
	return runs[name];
}

struct sim_run *sim_run_find(unsigned int name, uint64_t id)
{
	for (unsigned int i = counts[name]; i-- > 0;)
		if (runs[name][i].id == id)
			return &runs[name][i];
	return NULL;
}

/* The one that @session is about, with its name in parameter @at. */
static struct sim_run *meant(const struct sim_session *session, unsigned int at)
{
	const struct sim_request *request = &session->request;

	return sim_run_find(sim_param_name(request, at),
			    request->params[at + 1].u64);
}

/* ------------------------------------------------------------ transaction */

void sim_job_begin(struct sim_session *session)
{
	if (session->job.open)
		sim_violation("process %u begins a transaction in one that is "
			      "open",
			      session->proc);
	session->job.open = true;
}

static void leave(struct sim_session *session)
{
	struct sim_run *run = session->job.run;

	session->job = (struct sim_job){ .open = false };
	sim_locks_release(session);
	if (!run)
		return;
	run->writer = NULL;
	sim_locks_wake(run);
}

static void put(struct sim_session *session, struct sim_run *run)
{
	bool noted = run->next.succeeded && !run->is.succeeded;

	sim_judge_run_changed(session, run);
	run->is = run->next;
	run->forgotten = false;
	if (noted)
		run->noted_us = sim_now;
}

void sim_job_commit(struct sim_session *session)
{
	if (!session->job.open)
		return;
	if (session->job.run)
		put(session, session->job.run);
	if (session->job.gone)
		sim_lease_remove(session, session->job.gone);
	leave(session);
}

void sim_job_roll_back(struct sim_session *session)
{
	if (session->job.open)
		leave(session);
}

bool sim_job_deletes(struct sim_session *session, struct sim_lease *lease)
{
	if (!session->job.open)
		return false;
	session->job.gone = lease;
	sim_locks_take(session, lease, SIM_WANTS_ALONE);
	return true;
}

/* A COMMIT that is interrupted is done, or not; one that a server which is read
 * only by now refuses is rolled back. */
void sim_job_refuse(struct sim_session *session)
{
	const struct sim_answer *answer = &session->answer;

	if (!session->job.open)
		return;
	if (answer->error == ERROR_DEADLOCK)
		sim_job_roll_back(session);
	else if (session->request.op->verb != SIM_COMMIT)
		return;
	else if (answer->error != ERROR_READ_ONLY && sim_below(2))
		sim_job_commit(session);
	else
		sim_job_roll_back(session);
}

/* ------------------------------------------------------------------ locks */

static const struct sim_run *in_the_way(const struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	enum sim_verb verb = request->op->verb;
	const struct sim_run *run = NULL;
	unsigned int name;

	if (verb == SIM_RUN_END)
		run = meant(session, 2);
	else if (verb == SIM_RUN_UNDO)
		run = meant(session, 0);
	else if (verb == SIM_RUN_CLAIM)
		run = sim_run_find(sim_param_name(request, 7),
				   request->params[0].u64);
	if (run)
		return run->writer && run->writer != session ? run : NULL;
	if (verb != SIM_RUN_FORGET)
		return NULL;
	/* All rows of the name are read, and locked for that. */
	name = sim_param_name(request, 0);
	for (unsigned int i = 0; i < counts[name]; i++)
		if (runs[name][i].writer && runs[name][i].writer != session)
			return &runs[name][i];
	return NULL;
}

bool sim_job_holds_up(struct sim_session *session)
{
	const struct sim_run *run = in_the_way(session);

	if (!run)
		return false;
	if (sim_locks_stand_in_line(session, run, true))
		return true;
	session->answer.error = ERROR_TIMEOUT;
	return false;
}

/* @run is @next from now on, or from the COMMIT on. */
static void change(struct sim_session *session, struct sim_run *run,
		   const struct sim_run_row *next)
{
	struct sim_job *job = &session->job;

	run->next = *next;
	if (!job->open) {
		put(session, run);
		return;
	}
	if (job->run && job->run != run)
		sim_violation("a transaction changes two runs of '%s'",
			      sim_names[run->name]);
	job->run = run;
	run->writer = session;
}

/* ------------------------------------------------------------------ reads */

/* As @session sees it. */
static struct sim_run_row seen(const struct sim_session *session,
			       const struct sim_run *run)
{
	struct sim_run_row row = run->writer == session ? run->next : run->is;

	/* Noted behind the statement's begin. */
	if (run->writer != session && row.succeeded &&
	    run->noted_us > session->request.began_us)
		row.succeeded = false;
	return row;
}

void sim_run_lock(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	struct sim_lease *lease = sim_lease_meant(request);

	if (!lease || !lease->there || lease->attempt != request->params[2].u64)
		return;
	sim_answer_row(&session->answer, 1)[0] = rlk_u64(lease->attempt);
	if (session->job.open)
		sim_locks_take(session, lease, SIM_WANTS_ALONE);
}

void sim_run_look(struct sim_session *session)
{
	const struct sim_run *run = meant(session, 0);
	struct sim_run_row row;

	if (!run)
		return;
	row = seen(session, run);
	if (!row.there || (session->request.op->open_only && row.succeeded))
		return;
	sim_answer_row(&session->answer, 1)[0] = rlk_u64(row.succeeded);
}

/* The runs that began from @from_us to @until_us, summed up. */
struct window {
	bool succeeded;
	uint64_t begun;
	uint64_t number; /* of the last one, in any window */
};

static struct window look_at(const struct sim_session *session,
			     unsigned int name, int64_t from_us,
			     int64_t until_us)
{
	struct window window = { .begun = 0 };
	uint64_t nth = 0;

	for (unsigned int i = 0; i < counts[name]; i++) {
		struct sim_run_row row = seen(session, &runs[name][i]);

		if (!row.there)
			continue;
		if (row.number > window.number)
			window.number = row.number;
		if (row.began_us < from_us || row.began_us >= until_us)
			continue;
		window.succeeded |= row.succeeded;
		window.begun += row.nth > 0;
		if (row.from_us == from_us && row.until_us == until_us &&
		    row.nth > nth)
			nth = row.nth;
	}
	if (nth > window.begun)
		window.begun = nth;
	return window;
}

static bool is_within(const struct sim_request *request, unsigned int at)
{
	return request->started_us >= request->params[at].i64 &&
	       request->started_us < request->params[at + 1].i64;
}

void sim_run_explain(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	struct window window =
	    look_at(session, sim_param_name(request, 4), request->params[5].i64,
		    request->params[6].i64);
	struct rlk_value *cells = sim_answer_row(&session->answer, 3);

	cells[0] = rlk_u64(window.succeeded);
	cells[1] = rlk_u64(window.begun);
	cells[2] = rlk_u64(is_within(request, 2));
}

/* ----------------------------------------------------------------- writes */

/* The lease, as it was when the statement began. */
static bool has_lease(const struct sim_request *request)
{
	const struct sim_lease *lease =
	    &sim_tables.leases[sim_param_name(request, 7)];

	return lease->attempt == request->params[9].u64 &&
	       (lease->there || lease->gone_us > request->began_us);
}

static struct sim_run *place_for(unsigned int name, uint64_t id)
{
	struct sim_run *run = sim_run_find(name, id);

	if (run)
		return run;
	if (counts[name] == SIM_RUNS)
		sim_violation("'%s' has more than %d runs", sim_names[name],
			      SIM_RUNS);
	run = &runs[name][counts[name]++];
	*run = (struct sim_run){ .id = id, .name = name };
	return run;
}

void sim_run_claim(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	unsigned int name = sim_param_name(request, 7);
	struct sim_run *run = sim_run_find(name, request->params[0].u64);
	struct window window = look_at(session, name, request->params[5].i64,
				       request->params[6].i64);
	struct sim_run_row row = {
		.there = true,
		.number = window.number + 1,
		.attempt = request->params[9].u64,
		.from_us = request->params[1].i64,
		.until_us = request->params[2].i64,
		.began_us = request->started_us,
		.nth = window.begun + 1,
	};

	if (request->lies || !has_lease(request) ||
	    (request->op->in_window && !is_within(request, 10)) ||
	    (request->op->first_only && window.succeeded) ||
	    row.nth > request->params[12].u64)
		return;
	/* Its key is there: it stays as it is. */
	if (run && seen(session, run).there)
		return;
	session->answer.affected = 1;
	change(session, place_for(name, request->params[0].u64), &row);
}

/* The row of @run that an UPDATE or a DELETE finds; false: none. */
static bool find_open(const struct sim_session *session,
		      const struct sim_run *run, struct sim_run_row *ret_row)
{
	if (session->request.lies || !run)
		return false;
	*ret_row = run->writer == session ? run->next : run->is;
	return ret_row->there && !ret_row->succeeded;
}

void sim_run_end(struct sim_session *session)
{
	struct sim_run *run = meant(session, 2);
	struct sim_run_row row;

	if (!find_open(session, run, &row))
		return;
	session->answer.affected = 1;
	row.succeeded = session->request.params[1].u64;
	change(session, run, &row);
}

void sim_run_undo(struct sim_session *session)
{
	struct sim_run *run = meant(session, 0);
	struct sim_run_row row;

	if (!find_open(session, run, &row))
		return;
	session->answer.affected = 1;
	row.there = false;
	change(session, run, &row);
}

/* Is it one of those that a DELETE of old runs is about? */
static bool is_of_kind(const struct sim_session *session,
		       const struct sim_run *run)
{
	const struct sim_request *request = &session->request;

	return run->is.there && run->id != request->params[1].u64 &&
	       run->is.succeeded == request->op->succeeded;
}

/* The number of the one that has as many newer ones as are kept; 0: none. */
static uint64_t newest_to_go(const struct sim_session *session,
			     unsigned int name)
{
	uint64_t keep = session->request.params[2].u64;
	uint64_t below = UINT64_MAX;

	for (uint64_t i = 0; i <= keep; i++) {
		uint64_t next = 0;

		for (unsigned int j = 0; j < counts[name]; j++) {
			const struct sim_run *run = &runs[name][j];

			if (is_of_kind(session, run) &&
			    run->is.number < below && run->is.number > next)
				next = run->is.number;
		}
		if (!next)
			return 0;
		below = next;
	}
	return below;
}

void sim_run_forget(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	unsigned int name = sim_param_name(request, 0);
	uint64_t newest = newest_to_go(session, name);

	for (unsigned int i = 0; newest && i < counts[name]; i++) {
		struct sim_run *run = &runs[name][i];

		if (!is_of_kind(session, run) || run->is.number > newest ||
		    (request->op->older_us &&
		     run->is.until_us >=
			 request->started_us - request->op->older_us))
			continue;
		sim_judge_run_forgotten(session, run);
		run->is.there = false;
		run->forgotten = true;
		session->answer.affected++;
	}
}
