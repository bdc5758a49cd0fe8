/* SPDX-License-Identifier: MIT */
/*
 * Row locks in the application's transactions, tokens that are drawn there, and
 * transactions that pass a fence.
 *
 *   S3  a transaction that has a row lock has it until its end, and nobody else
 *       does, by rowlock_acquire() or in another one: so no count is lost
 *   S2  tokens are drawn in the order of the commits, none of them twice
 *   S6  behind a fence no smaller token is committed than has been: so no count
 *       is lost there either
 *       and what an error leaves open, and what it does not, is as promised
 */
#include <inttypes.h>

#include "borrowed.h"
#include "judge_private.h"
#include "trace.h"

#define WORKS 4096

#define ERROR_DEADLOCK 1213

struct work {
	uint64_t number; /* in the run, from 1 */
	unsigned int proc;
	unsigned int name;
	uint64_t serial; /* of the lock of the row; 0: it stands on a token */
};

static struct work works[WORKS];
static uint64_t last;

static bool has_row(const struct sim_session *session, unsigned int name)
{
	return session->work.open && session->locked == &sim_tables.rows[name];
}

/* ------------------------------------------------------------- row locks */

/* Nobody else believes in it, who may know better. */
static void check_nobody_holds(unsigned int name)
{
	struct rlk_list *list = &sim_grants[SIM_KIND_ROW][name];
	struct rlk_list *node;

	for (node = list->next; node != list; node = node->next) {
		const struct sim_grant *grant = sim_grant(node);

		if (sim_grant_held(grant) && !sim_grant_excused(grant))
			sim_violation("S3: process %u has '%s' in a "
				      "transaction, and process %u holds it",
				      sim_self->proc->number, sim_names[name],
				      grant->proc->number);
	}
}

void sim_judge_beside(const struct sim_grant *grant)
{
	const struct sim_session *owner = sim_tables.rows[grant->name].owner;

	if (!sim_grant_is_row(grant) || !owner || !owner->borrowed ||
	    !sim_grant_held(grant) || sim_grant_excused(grant))
		return;
	sim_violation("S3: process %u holds '%s', and process %u has it in a "
		      "transaction",
		      grant->proc->number, sim_names[grant->name], owner->proc);
}

uint64_t sim_judge_inside(unsigned int name, const struct sim_borrowed *own)
{
	const struct sim_session *session = sim_borrowed_session(own);
	struct work *work = &works[++last % WORKS];

	if (!own->conn)
		sim_violation("'%s' was acquired in a transaction whose "
			      "connection is closed",
			      sim_names[name]);
	*work = (struct work){
		.number = last,
		.proc = sim_self->proc->number,
		.name = name,
	};
	/* Else it has ended since, and nothing can be committed on it. */
	if (!session)
		return last;
	if (!has_row(session, name))
		sim_violation("S3: '%s' was acquired in a transaction that has "
			      "not got it",
			      sim_names[name]);
	work->serial = session->lock_serial;
	check_nobody_holds(name);
	return last;
}

uint64_t sim_judge_fencing(unsigned int name)
{
	last++;
	works[last % WORKS] = (struct work){
		.number = last,
		.proc = sim_self->proc->number,
		.name = name,
	};
	return last;
}

static void check_row(const struct sim_session *session,
		      const struct work *work)
{
	if (has_row(session, work->name) &&
	    session->lock_serial == work->serial)
		return;
	sim_violation("S3: process %u commits under '%s', which its "
		      "transaction has not got",
		      work->proc, sim_names[work->name]);
}

void sim_judge_booked(const struct sim_session *session)
{
	const struct sim_work *done = &session->work;
	const struct work *work = &works[done->work % WORKS];
	uint64_t before = sim_tables.counts[done->book][done->name];

	sim_trace_world((struct sim_note){
	    "#transaction %u is committed: %s of %n is %u",
	    { done->work, sim_text(sim_book_table(done->book)), done->name,
	      done->number } });
	if (work->number == done->work && done->book == SIM_BOOK_INSIDE)
		check_row(session, work);
	if (done->book != SIM_BOOK_INSIDE && !done->pass)
		sim_violation("S6: process %u commits behind no fence",
			      session->proc);
	if (done->number != before + 1)
		sim_violation("%s: a count of '%s' (%s) is lost: %" PRIu64
			      " is written over %" PRIu64,
			      done->book == SIM_BOOK_INSIDE ? "S3" : "S6",
			      sim_names[done->name], sim_book_table(done->book),
			      done->number, before);
}

/* ---------------------------------------------------------------- errors */

void sim_judge_stays_open(const struct sim_borrowed *own, const char *call,
			  int code, unsigned int error)
{
	const struct sim_session *session = sim_borrowed_session(own);

	if (code == ROWLOCK_ECONNECT || !session)
		return;
	if (session->work.open == (error != ERROR_DEADLOCK))
		return;
	sim_violation("%s returned %d (%s, error %u), and the transaction is "
		      "%s",
		      call, code, rowlock_strerror(code), error,
		      session->work.open ? "still open" : "over");
}

/* ---------------------------------------------------------------- tokens */

void sim_judge_drew(const struct sim_borrowed *own, unsigned int name, int code,
		    uint64_t token)
{
	const struct sim_session *session = sim_borrowed_session(own);

	if (!session)
		return;
	if (code == ROWLOCK_ENOTHELD && has_row(session, name))
		sim_violation("a transaction has '%s', and cannot draw its "
			      "token",
			      sim_names[name]);
	if (code)
		return;
	if (!has_row(session, name))
		sim_violation("S2: a token of '%s' was drawn in a transaction "
			      "that has not got it",
			      sim_names[name]);
	if (session->work.token != token || session->work.token_name != name)
		sim_violation("S2: %" PRIu64 " was drawn for '%s', and "
			      "%" PRIu64 " is told",
			      session->work.token, sim_names[name], token);
}

/* ---------------------------------------------------------------- fences */

/* Only what is larger by then is a reason to refuse. */
void sim_judge_fenced(const struct sim_borrowed *own, enum sim_book book,
		      unsigned int name, uint64_t token, int code)
{
	const struct sim_session *session = sim_borrowed_session(own);
	const struct sim_resource *resource =
	    &sim_tables.resources[book == SIM_BOOK_FENCED_ROW][name];

	if (code == ROWLOCK_ELOST && resource->token <= token)
		sim_violation("a fence refuses %" PRIu64 " for '%s', and the "
			      "largest that has passed is %" PRIu64,
			      token, sim_names[name], resource->token);
	if (!session || code)
		return;
	if (resource->writer != session || session->work.pass != token)
		sim_violation("S6: a fence is passed with %" PRIu64 " for "
			      "'%s', and the transaction has not passed it",
			      token, sim_names[name]);
}

void sim_judge_passed(const struct sim_session *session)
{
	const struct sim_work *work = &session->work;

	if (work->pass < work->resource->token)
		sim_violation("S6: process %u passes a fence with token "
			      "%" PRIu64 ", where %" PRIu64 " has passed",
			      session->proc, work->pass, work->resource->token);
}
