/* SPDX-License-Identifier: MIT */
/*
 * Runs of jobs. The tables judge each commit, and commits judge the codes that
 * calls return.
 *
 *   R1  at most one run of a window succeeds, and none is begun after it; each
 *       is begun in its window, under a lease that is there
 *   R2  a success is noted and its lease given back by one commit
 *   R3  a code is true, and stays so: that a run is begun, that its
 *       success is noted, that it is not; that one of its window has
 *       succeeded, and that the window is over or has had its runs
 *   R4  successes of a day are kept, up to 1,440
 */
#include <inttypes.h>

#include "judge.h"
#include "runs.h"
#include "sim.h"
#include "trace.h"

#define KEPT_OF_A_DAY 1440

static bool began_in(const struct sim_run *run, int64_t from_us,
		     int64_t until_us)
{
	return run->is.began_us >= from_us && run->is.began_us < until_us;
}

/* ------------------------------------------------------------ in the table */

static void check_first(const struct sim_run *run)
{
	unsigned int count;
	const struct sim_run *other = sim_runs_of(run->name, &count);

	for (; count-- > 0; other++)
		if (other != run && other->is.there && other->is.succeeded &&
		    began_in(other, run->next.from_us, run->next.until_us))
			sim_violation("R1: a run of '%s' is begun in a window "
				      "in which run %" PRIu64 " has succeeded",
				      sim_names[run->name], other->is.number);
}

static void check_begun(const struct sim_session *session,
			const struct sim_run *run)
{
	const struct sim_lease *lease = &sim_tables.leases[run->name];

	sim_trace_world((struct sim_note){
	    "#run %u of %n is begun by process %u, attempt %u, from %d",
	    { run->next.number, run->name, session->proc, run->next.attempt,
	      (uint64_t) run->next.from_us } });
	check_first(run);
	if (run->next.began_us < run->next.from_us ||
	    run->next.began_us >= run->next.until_us)
		sim_violation("R1: a run of '%s' is begun outside its window",
			      sim_names[run->name]);
	if (!lease->there || lease->attempt != run->next.attempt)
		sim_violation("R1: process %u begins a run of '%s' under a "
			      "lease that is not there",
			      session->proc, sim_names[run->name]);
}

static void check_only(const struct sim_run *run)
{
	unsigned int count;
	const struct sim_run *other = sim_runs_of(run->name, &count);

	for (; count-- > 0; other++)
		if (other != run && other->is.there && other->is.succeeded &&
		    other->is.from_us == run->next.from_us &&
		    other->is.until_us == run->next.until_us)
			sim_violation("R1: runs %" PRIu64 " and %" PRIu64
				      " of one window of '%s' have succeeded",
				      other->is.number, run->next.number,
				      sim_names[run->name]);
}

static void check_noted(const struct sim_session *session,
			const struct sim_run *run)
{
	const struct sim_lease *lease = session->job.gone;

	sim_trace_world((struct sim_note){
	    "#run %u of %n has succeeded, process %u",
	    { run->next.number, run->name, session->proc } });
	check_only(run);
	if (!lease || lease->name != run->name || !lease->there ||
	    lease->attempt != run->next.attempt)
		sim_violation("R2: a success of '%s' is noted, and its lease "
			      "is not given back with it",
			      sim_names[run->name]);
	if (run->told)
		sim_violation("R3: the end of run %" PRIu64
			      " of '%s' returned %d (%s), and its success is "
			      "noted later",
			      run->next.number, sim_names[run->name], run->told,
			      rowlock_strerror(run->told));
}

void sim_judge_run_changed(const struct sim_session *session,
			   const struct sim_run *run)
{
	const struct sim_run_row *is = &run->is;
	const struct sim_run_row *next = &run->next;

	if (next->there && !(is->there && is->number == next->number))
		check_begun(session, run);
	if (next->there && next->succeeded && !is->succeeded)
		check_noted(session, run);
}

void sim_judge_run_forgotten(const struct sim_session *session,
			     const struct sim_run *run)
{
	int64_t day_ago = session->request.started_us - SIM_DAY_US;
	unsigned int newer = 0;
	unsigned int count;
	const struct sim_run *other = sim_runs_of(run->name, &count);

	if (!run->is.succeeded || run->is.until_us < day_ago)
		return;
	for (; count-- > 0; other++)
		newer += other->is.there && other->is.succeeded &&
			 other->is.number > run->is.number;
	if (newer < KEPT_OF_A_DAY)
		sim_violation("R4: the success of run %" PRIu64
			      " of '%s' is forgotten within a day",
			      run->is.number, sim_names[run->name]);
}

/* ---------------------------------------------------------------- is told */

/* Is there a success of the window; @ever: or was there one? */
static bool has_success(const struct sim_claiming *claiming, bool ever)
{
	unsigned int count;
	const struct sim_run *run = sim_runs_of(claiming->name, &count);

	for (; count-- > 0; run++)
		if (run->is.succeeded && (run->is.there || ever) &&
		    began_in(run, claiming->from_us, claiming->until_us))
			return true;
	return false;
}

/* Those that were begun in the window, and not undone; but @id. */
static uint64_t runs_but(const struct sim_claiming *claiming, uint64_t id)
{
	uint64_t begun = 0;
	unsigned int count;
	const struct sim_run *run = sim_runs_of(claiming->name, &count);

	for (; count-- > 0; run++)
		begun += run->id != id && (run->is.there || run->forgotten) &&
			 began_in(run, claiming->from_us, claiming->until_us);
	return begun;
}

static bool is_outside(const struct sim_claiming *claiming)
{
	int64_t now_us = sim_server_us();

	return now_us < claiming->from_us || now_us >= claiming->until_us;
}

void sim_judge_claims(struct sim_claiming *claiming)
{
	claiming->done = has_success(claiming, false);
	claiming->outside = is_outside(claiming);
	claiming->set_us = sim_server.clock_us;
}

static void check_over(const struct sim_claiming *claiming, uint64_t id)
{
	if (claiming->outside || is_outside(claiming) ||
	    claiming->set_us != sim_server.clock_us)
		return;
	if (!claiming->most || runs_but(claiming, id) < claiming->most)
		sim_violation("R3: a run of '%s' may not be begun any more, in "
			      "a window that is not over, and has not had its "
			      "runs",
			      sim_names[claiming->name]);
}

void sim_judge_claimed(const struct sim_claiming *claiming, uint64_t id,
		       int code)
{
	const struct sim_run *run = sim_run_find(claiming->name, id);

	if (code == 0 && claiming->done)
		sim_violation("R1: process %u was told to run '%s', of which a "
			      "run of the window had succeeded before",
			      sim_self->proc->number,
			      sim_names[claiming->name]);
	if (code == 0 && !(run && (run->is.there || run->forgotten)))
		sim_violation("R3: process %u was told to run '%s', and there "
			      "is no such run",
			      sim_self->proc->number,
			      sim_names[claiming->name]);
	if (code == ROWLOCK_EDONE && !has_success(claiming, true))
		sim_violation("R3: process %u was told that a run of '%s' has "
			      "succeeded, and none of its window has",
			      sim_self->proc->number,
			      sim_names[claiming->name]);
	if (code == ROWLOCK_EOVER)
		check_over(claiming, id);
}

void sim_judge_run_ends(unsigned int name, uint64_t id)
{
	sim_run_find(name, id)->told = 0;
}

void sim_judge_run_ended(unsigned int name, uint64_t id, bool succeeded,
			 int code)
{
	struct sim_run *run = sim_run_find(name, id);
	bool claims = succeeded ? code == 0 : code == ROWLOCK_EDONE;
	bool denies = succeeded && code && code != ROWLOCK_EUNKNOWN;

	if (claims && !run->is.succeeded)
		sim_violation("R3: the end of run %" PRIu64
			      " of '%s' says that its success is noted, and it "
			      "is not",
			      run->is.number, sim_names[name]);
	if (denies && run->is.succeeded)
		sim_violation("R3: the end of run %" PRIu64
			      " of '%s' returned %d (%s), and its success is "
			      "noted",
			      run->is.number, sim_names[name], code,
			      rowlock_strerror(code));
	if (denies)
		run->told = code;
}
