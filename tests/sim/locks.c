/* SPDX-License-Identifier: MIT */
/*
 * A statement that meets a locked row waits, for as long as its session lets
 * it, or is refused at once if it says so. It waits before it has done anything
 * of what it shall do, a packet's transaction before its first statement; when
 * the row is free all who wait for it go on, in any order.
 *
 * A lock of one's own is widened only if nobody stands in line: who does waits
 * for it, and that is a deadlock, which ends either of them.
 */
#include "locks.h"

#include <string.h>

#include "judge.h"
#include "sim.h"
#include "tables_private.h"
#include "trace.h"

#define ERROR_TIMEOUT 1205
#define ERROR_DEADLOCK 1213

/* Until who has waited is scheduled. */
#define WAKE_US 100

struct sim_lock_counts sim_lock_counts;

static unsigned int locked; /* rows, each as often as it is */

void sim_locks_begin(void)
{
	locked = 0;
}

bool sim_locks_any(void)
{
	return locked > 0;
}

/* ------------------------------------------------------------------ rows */

void sim_locks_take(struct sim_session *session, struct sim_lease *lease,
		    enum sim_want want)
{
	struct sim_work *work = &session->work;

	if (work->locked && work->locked != lease)
		sim_violation("a transaction locks the leases of '%s' and '%s'",
			      sim_names[work->locked->name],
			      sim_names[lease->name]);
	if (lease->writer == session)
		return;
	if (work->locked)
		lease->sharers--;
	locked += !work->locked;
	work->locked = lease;
	if (want == SIM_WANTS_ALONE)
		lease->writer = session;
	else
		lease->sharers++;
	sim_lock_counts.taken++;
	sim_trace_world((struct sim_note){
	    "#connection %u has locked the lease of %n (%s)",
	    { session->id, lease->name,
	      sim_text(want == SIM_WANTS_ALONE ? "alone" : "shared") } });
}

static struct sim_session *first(void)
{
	return container_of(sim_server.sessions.next, struct sim_session, node);
}

static struct sim_session *after(const struct sim_session *session)
{
	return container_of(session->node.next, struct sim_session, node);
}

static bool is_last(const struct sim_session *session)
{
	return &session->node == &sim_server.sessions;
}

void sim_locks_wake(const void *what)
{
	struct sim_session *session;

	for (session = first(); !is_last(session); session = after(session))
		if (session->meets == what)
			sim_event_set(&session->step,
				      sim_now + sim_between(0, WAKE_US));
}

void sim_locks_release(struct sim_session *session)
{
	struct sim_lease *lease = session->work.locked;

	if (!lease)
		return;
	if (lease->writer == session)
		lease->writer = NULL;
	else
		lease->sharers--;
	session->work.locked = NULL;
	locked--;
	sim_locks_wake(lease);
}

/* ------------------------------------------------------------------ line */

/* Somebody else waits to have @lease alone. */
static struct sim_session *who_waits(const struct sim_session *but,
				     const struct sim_lease *lease)
{
	struct sim_session *session;

	for (session = first(); !is_last(session); session = after(session))
		if (session != but && session->meets == lease &&
		    session->meets_alone)
			return session;
	return NULL;
}

/* Who asks to share stands behind who waits to have it alone. */
static bool is_in_the_way(const struct sim_session *session,
			  const struct sim_lease *lease, enum sim_want want)
{
	bool shares = session->work.locked == lease;

	if (lease->writer)
		return lease->writer != session;
	if (want == SIM_WANTS_ALONE)
		return lease->sharers > shares;
	return !shares && lease->sharers && who_waits(session, lease);
}

bool sim_locks_stand_in_line(struct sim_session *session, const void *what,
			     bool alone)
{
	if (!session->meets) {
		session->meets_until =
		    sim_now + (int64_t) session->lock_wait_s * 1000000;
		sim_lock_counts.met++;
	}
	session->meets = NULL;
	if (sim_now >= session->meets_until) {
		sim_lock_counts.timeouts++;
		return false;
	}
	session->meets = what;
	session->meets_alone = alone;
	session->phase = SIM_EXECUTING;
	sim_event_set(&session->step, session->meets_until);
	return true;
}

static bool stand_in_line(struct sim_session *session,
			  const struct sim_lease *lease, enum sim_want want)
{
	if (!session->meets)
		sim_trace_world((struct sim_note){
		    "#connection %u waits for the lease of %n",
		    { session->id, lease->name } });
	return sim_locks_stand_in_line(session, lease, want == SIM_WANTS_ALONE);
}

/* ------------------------------------------------------------ statements */

static enum sim_want want_of(const struct sim_request *request,
			     struct sim_lease **ret_lease)
{
	enum sim_want want = SIM_WANTS_NOTHING;
	struct sim_lease *lease = NULL;

	switch (request->op->verb) {
	case SIM_ACQUIRE:
	case SIM_ACQUIRE_RINGING:
	case SIM_ACQUIRE_LOOKING:
	case SIM_ACQUIRE_SEEING:
	case SIM_ACQUIRE_SET:
		lease = sim_lease_meant(request);
		/* One that looks first sees the row, and locks nothing; where
		 * there is none the gap may be locked. */
		if (lease && (!lease->there || request->op->nowait))
			want = SIM_WANTS_ALONE;
		break;
	case SIM_DELETE_LEASE:
	case SIM_BREAK:
	case SIM_OVERTAKE:
	case SIM_LOOK_GUARDS:
	case SIM_RUN_LOCK:
		/* Whatever attempt the row has: that is seen behind it. */
		lease = sim_lease_meant(request);
		if (lease && lease->there)
			want = SIM_WANTS_ALONE;
		break;
	case SIM_OFFER_ADOPT:
		lease = sim_lease_adopted(request);
		if (lease->there)
			want = SIM_WANTS_ALONE;
		break;
	case SIM_DRAW_LEASE:
		lease = sim_lease_meant(request);
		if (lease && lease->there && !request->op->passes)
			want = SIM_WANTS_SHARED;
		break;
	default:
		break;
	}
	*ret_lease = lease;
	return want;
}

/* True: it waits. */
static bool meet(struct sim_session *session, const struct sim_request *request)
{
	struct sim_lease *lease;
	enum sim_want want = want_of(request, &lease);

	if (!want || !is_in_the_way(session, lease, want))
		return false;
	if (request->op->nowait)
		sim_lock_counts.refused++;
	else if (stand_in_line(session, lease, want))
		return true;
	session->answer.error = ERROR_TIMEOUT;
	return false;
}

bool sim_locks_pass_over(const struct sim_session *session,
			 const struct sim_lease *lease)
{
	return session->request.op->passes &&
	       is_in_the_way(session, lease, SIM_WANTS_SHARED);
}

bool sim_locks_hold_up(struct sim_session *session)
{
	bool waits = locked && meet(session, &session->request);

	if (!waits)
		session->meets = NULL;
	return waits;
}

bool sim_locks_hold_up_packet(struct sim_session *session)
{
	struct sim_packet *packet = &session->packet;

	for (size_t i = packet->next; locked && i < packet->count; i++) {
		const struct sim_part *part = &packet->parts[i];
		struct sim_request request = { .op = part->op };

		if (part->statement > packet->last)
			break;
		memcpy(request.params, part->params, sizeof(part->params));
		/* Where it fails if a deadlock ends its wait. */
		packet->fails_at = part->statement;
		if (meet(session, &request))
			return true;
		if (session->answer.error)
			break;
	}
	session->meets = NULL;
	return false;
}

/* ----------------------------------------------------------------- texts */

/* Who waits goes on with an error. */
static void end_wait(struct sim_session *session)
{
	session->request.refuse = ERROR_DEADLOCK;
	session->script.fails_at = session->script.answered;
	sim_event_set(&session->step, sim_now + sim_between(0, WAKE_US));
}

/* True: @session is the one that it ends. */
static bool is_deadlock(struct sim_session *session,
			const struct sim_lease *lease, enum sim_want want)
{
	struct sim_session *other;

	if (want != SIM_WANTS_ALONE || session->work.locked != lease ||
	    lease->writer)
		return false;
	other = who_waits(session, lease);
	if (!other || other->request.refuse == ERROR_DEADLOCK)
		return false;
	sim_lock_counts.deadlocks++;
	if (sim_below(2))
		return true;
	end_wait(other);
	return false;
}

bool sim_locks_refuse_text(struct sim_session *session, unsigned int error)
{
	session->meets = NULL;
	session->request.refuse = error;
	session->script.fails_at = session->script.answered;
	return false;
}

bool sim_locks_hold_up_text(struct sim_session *session,
			    struct sim_lease *lease, enum sim_want want)
{
	if (!want || !locked || session->request.refuse == ERROR_DEADLOCK)
		return false;
	if (is_deadlock(session, lease, want))
		return sim_locks_refuse_text(session, ERROR_DEADLOCK);
	if (!is_in_the_way(session, lease, want)) {
		session->meets = NULL;
		return false;
	}
	if (stand_in_line(session, lease, want))
		return true;
	return sim_locks_refuse_text(session, ERROR_TIMEOUT);
}
