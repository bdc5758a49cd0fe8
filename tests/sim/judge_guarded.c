/* SPDX-License-Identifier: MIT */
/*
 * The application's transactions. Each reads the counter of its lock's name and
 * writes one more; who has committed is known here at once.
 *
 *   S6  nobody else had the lock between the acquire that a committed
 *       transaction stands on and its COMMIT: so no count is lost
 *       and what was told of it is what has become of it, also later;
 *       while it is open its hold is not handed over, and nobody ends one that
 *       it keeps
 */
#include <inttypes.h>
#include <string.h>

#include "judge_private.h"
#include "trace.h"

#define WORKS 4096

struct work {
	uint64_t number; /* in the run, from 1 */
	unsigned int proc;
	unsigned int name;
	uint64_t serial; /* of the grant that it stands on */
	uint64_t pass;
	uint64_t on;         /* its connection, */
	unsigned int starts; /* of this start of the server */
	enum sim_guard guard;
	bool committed;
	bool miscounted;
	bool told;
	bool overtaken; /* its row counts as if it had not come: it cannot */
	int code;       /* what its call returned */
};

static struct work works[WORKS];
static uint64_t last;

/* The latest grant of each name, and transaction. */
static struct {
	uint64_t serial;
	uint64_t pass;
	uint64_t work;
} latest[SIM_NAMES];

void sim_judge_guarded_begin(void)
{
	memset(latest, 0, sizeof(latest));
}

/* NULL: it is too long ago. */
static struct work *find(uint64_t number)
{
	struct work *work = &works[number % WORKS];

	return number && work->number == number ? work : NULL;
}

/* The one that is open under the name's hold; NULL: none is. */
static const struct work *find_open(unsigned int name)
{
	const struct work *work = find(latest[name].work);

	return work && !work->told ? work : NULL;
}

/* The server's end of its connection; NULL: it is over. */
static const struct sim_session *session_of(const struct work *work)
{
	return work->starts == sim_server.starts ? sim_session_find(work->on)
						 : NULL;
}

/* Its transaction is open, or its commit may still come. */
static bool is_pending(const struct work *work)
{
	const struct sim_session *session = session_of(work);

	if (!work->told || work->guard == SIM_GUARD_IS_TOLD)
		return true;
	return work->code == ROWLOCK_EUNKNOWN && !work->committed &&
	       !work->overtaken && session &&
	       sim_event_is_set(&session->step) &&
	       session->phase != SIM_REPLYING;
}

static void check_not_tied(const struct sim_grant *grant)
{
	const struct work *work = find(latest[grant->name].work);

	if (!work || work->serial != grant->serial ||
	    work->pass == grant->pass || work->proc != grant->proc->number ||
	    !is_pending(work))
		return;
	sim_violation("S6: process %u hands hold %" PRIu64 " of '%s' over, in "
		      "which a transaction is open, or may still be committed",
		      work->proc, work->serial, sim_names[work->name]);
}

/* What keeps it is still there: not after a deadlock, nor as another one. */
static bool is_kept(const struct sim_session *by, const struct work *work)
{
	const struct sim_session *session = session_of(work);

	return work->guard == SIM_GUARD_KEEPS && session && session != by &&
	       session->work.open && session->work.savepoint_count;
}

void sim_judge_kept(const struct sim_session *by, const struct sim_lease *lease)
{
	const struct work *work = find_open(lease->name);

	if (sim_kind_of(lease) != SIM_KIND_LEASE || !work ||
	    work->serial != lease->serial || !is_kept(by, work))
		return;
	sim_violation("S6: process %u ends hold %" PRIu64 " of '%s', which a "
		      "transaction of process %u keeps",
		      by->proc, work->serial, sim_names[work->name],
		      work->proc);
}

void sim_judge_latest(const struct sim_grant *grant)
{
	unsigned int name = grant->name;

	if (grant->kind == SIM_KIND_LEASE)
		check_not_tied(grant);
	if (grant->kind != SIM_KIND_LEASE ||
	    grant->serial < latest[name].serial ||
	    (grant->serial == latest[name].serial &&
	     grant->pass < latest[name].pass))
		return;
	latest[name].serial = grant->serial;
	latest[name].pass = grant->pass;
}

uint64_t sim_judge_guarded(const struct rowlock *lock, unsigned int name,
			   uint64_t on, enum sim_guard guard)
{
	struct rlk_list *list = &sim_grants[SIM_KIND_LEASE][name];
	struct work *work = &works[++last % WORKS];
	struct rlk_list *node;

	*work = (struct work){
		.number = last,
		.proc = sim_self->proc->number,
		.name = name,
		.on = on,
		.starts = sim_server.starts,
		.guard = guard,
	};
	latest[name].work = last;
	for (node = list->next; node != list; node = node->next) {
		if (sim_grant(node)->lock != lock)
			continue;
		work->serial = sim_grant(node)->serial;
		work->pass = sim_grant(node)->pass;
	}
	if (!work->serial)
		sim_violation("a transaction was begun under '%s', which "
			      "nobody has",
			      sim_names[name]);
	return last;
}

static void check_alone(const struct work *work)
{
	const struct sim_lease *lease = &sim_tables.leases[work->name];

	if (lease->serial != work->serial)
		sim_violation("S6: process %u commits under hold %" PRIu64
			      " of '%s', and hold %" PRIu64
			      " of it was granted since",
			      work->proc, work->serial, sim_names[work->name],
			      lease->serial);
	if (latest[work->name].serial == work->serial &&
	    latest[work->name].pass != work->pass)
		sim_violation("S6: process %u commits under hold %" PRIu64
			      " of '%s', which was handed over since",
			      work->proc, work->serial, sim_names[work->name]);
}

void sim_judge_counted(unsigned int name, uint64_t number, uint64_t which)
{
	uint64_t before = sim_tables.counts[SIM_BOOK_GUARDED][name];
	struct work *work = find(which);

	sim_trace_world((struct sim_note){
	    "#transaction %u is committed: the counter of %n is %u",
	    { which, name, number } });
	if (work)
		check_alone(work);
	if (number != before + 1)
		sim_violation("S6: a count of '%s' is lost: %" PRIu64
			      " is written over %" PRIu64,
			      sim_names[name], number, before);
	if (!work)
		return;
	work->committed = true;
	if (work->told && work->code && work->code != ROWLOCK_EUNKNOWN)
		sim_violation("S6: process %u was told %d (%s), and its "
			      "transaction is committed later",
			      work->proc, work->code,
			      rowlock_strerror(work->code));
}

void sim_judge_miscounted(const struct sim_session *session, unsigned int name)
{
	struct work *work = find(latest[name].work);

	if (work && !work->told && session_of(work) == session)
		work->miscounted = true;
}

void sim_judge_overtaken(unsigned int name)
{
	struct work *work = find(latest[name].work);

	if (work)
		work->overtaken = true;
}

bool sim_judge_was_miscounted(uint64_t which)
{
	const struct work *work = find(which);

	return work && work->miscounted;
}

void sim_judge_outcome(uint64_t which, bool wrote, int code)
{
	struct work *work = find(which);

	if (!work)
		return;
	work->told = true;
	work->code = code;
	if (!code && wrote && !work->committed)
		sim_violation("S6: process %u was told that its transaction is "
			      "committed, and it is not",
			      work->proc);
	if (code && code != ROWLOCK_EUNKNOWN && work->committed)
		sim_violation("S6: process %u was told %d (%s), and its "
			      "transaction is committed",
			      work->proc, code, rowlock_strerror(code));
}
