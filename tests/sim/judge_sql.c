/* SPDX-License-Identifier: MIT */
/*
 * What statements do to rows.
 *
 *   S2  later holds draw larger tokens
 *   S5  nobody removes or extends what is alive and another's, but by break
 *       and: an id of a session never comes back, a KILL hits one's own
 */
#include "judge_private.h"

#include <inttypes.h>
#include <string.h>

#include "strategy/set.h"
#include "trace.h"

/* ------------------------------------------------------- ids of sessions */

#define GONE 4096

static uint64_t gone[GONE];

static bool was_there(uint64_t id, bool remember)
{
	size_t at = id % GONE;

	for (size_t i = 0; i < GONE; i++, at = (at + 1) % GONE) {
		if (gone[at] == id)
			return true;
		if (gone[at])
			continue;
		if (remember)
			gone[at] = id;
		return false;
	}
	return false;
}

void sim_judge_session_made(const struct sim_session_row *row)
{
	sim_trace_world((struct sim_note){ "#session %u of process %u begins",
					   { row->id, row->proc } });
	if (was_there(row->id, false))
		sim_violation("the session %" PRIu64
			      " of process %u comes back after it was deleted",
			      row->id, row->proc);
}

/* --------------------------------------------------------------- leases */

static struct sim_grant *lease_grant(const struct sim_lease *lease)
{
	struct rlk_list *list = &sim_grants[sim_kind_of(lease)][lease->name];
	struct sim_grant *found = NULL;
	struct rlk_list *node;

	/* Of several that share it, one that holds. */
	for (node = list->next; node != list; node = node->next)
		if (sim_grant(node)->attempt == lease->attempt &&
		    !(found && sim_grant_held(found)))
			found = sim_grant(node);
	return found;
}

/* Attempts whose leases were taken by hand, perhaps before it was known that
 * they had them. */
#define BROKEN 64

static uint64_t broken[BROKEN];
static unsigned int broken_count;

bool sim_was_broken(uint64_t attempt)
{
	for (int i = 0; i < BROKEN; i++)
		if (broken[i] == attempt)
			return true;
	return false;
}

/* Asked for again, it has its row again. */
static void forget_broken(uint64_t attempt)
{
	for (int i = 0; i < BROKEN; i++)
		if (broken[i] == attempt)
			broken[i] = 0;
}

void sim_judge_lease_made(const struct sim_session *by,
			  const struct sim_lease *lease)
{
	sim_trace_world((struct sim_note){
	    "#lease of %n: process %u attempt %u session %u",
	    { lease->name, by->proc, lease->attempt, lease->session } });
	forget_broken(lease->attempt);
	sim_judge_kept_made(lease);
	if (sim_kind_of(lease) == SIM_KIND_PERMITS)
		sim_judge_permit_made(by, lease->name);
}

/* By somebody else: is it dead? Those who observe may have seen the attempt's
 * row when it was there before: then it is no hold any more to who made it. */
static bool is_dead(const struct sim_session *by, const struct sim_lease *lease,
		    const struct sim_grant *grant)
{
	int64_t max = lease->expires_us - lease->acquired_us;

	if (!sim_session_row(lease->session))
		return true;
	if (!lease->expires_us)
		return false;
	return lease->expires_us <= by->request.started_us ||
	       sim_now - lease->began_us >= max ||
	       !(grant && sim_grant_held(grant));
}

void sim_judge_lease_broken(const struct sim_session *by,
			    const struct sim_lease *lease)
{
	struct rlk_list *list = &sim_grants[sim_kind_of(lease)][lease->name];
	struct rlk_list *node;

	sim_trace_world((struct sim_note){
	    "#lease of %n: attempt %u of process %u broken by process %u",
	    { lease->name, lease->attempt, lease->proc, by->proc } });
	sim_judge_kept(by, lease);
	sim_judge_kept_broken(lease);
	broken[broken_count++ % BROKEN] = lease->attempt;
	for (node = list->next; node != list; node = node->next) {
		struct sim_grant *grant = sim_grant(node);

		if (grant->attempt != lease->attempt)
			continue;
		grant->broken_us = sim_now;
		grant->broken_delay_us = sim_proc_delay(grant->proc);
	}
}

/* By its own process, and because it wants it so; its reaper treats its own
 * leases as it treats others'. */
static bool is_release(const struct sim_session *by,
		       const struct sim_lease *lease)
{
	const struct sim_op *op = by->request.op;

	for (unsigned int i = 0; i < op->conditions; i++)
		if (op->condition[i].test == SIM_IF_NO_SESSION ||
		    op->condition[i].test == SIM_IF_EXPIRED)
			return false;
	return by->proc == lease->proc;
}

void sim_judge_lease_left(const struct sim_session *by,
			  const struct sim_lease *lease)
{
	struct sim_grant *grant = lease_grant(lease);

	sim_trace_world((struct sim_note){
	    "#lease of %n: attempt %u left by process %u, and kept",
	    { lease->name, lease->attempt, by->proc } });
	if (by->proc != lease->proc)
		sim_violation("S5: process %u left the lease of '%s' that "
			      "process %u has",
			      by->proc, sim_names[lease->name], lease->proc);
	if (grant && sim_grant_held(grant))
		sim_violation("S5: process %u left its own lease of '%s' while "
			      "it holds it",
			      by->proc, sim_names[lease->name]);
}

/* For this reason; its handle still knows. */
static bool was_lost(const struct sim_grant *grant, const char *reason)
{
	const struct rlk_hold *hold = grant->lock->hold;

	return hold == grant->hold && hold->reason &&
	       strcmp(hold->reason, reason) == 0;
}

void sim_judge_lease_removed(const struct sim_session *by,
			     const struct sim_lease *lease)
{
	unsigned int name = lease->name;
	struct sim_grant *grant = lease_grant(lease);

	sim_trace_world((struct sim_note){
	    "#lease of %n: attempt %u of process %u removed by process %u",
	    { name, lease->attempt, lease->proc, by->proc } });
	sim_judge_kept(by, lease);
	if (!is_release(by, lease) && !is_dead(by, lease, grant))
		sim_violation("S5: process %u removed a live lease of '%s' "
			      "that process %u has",
			      by->proc, sim_names[name], lease->proc);
	if (is_release(by, lease))
		sim_judge_offer_removed(lease);
	if (is_release(by, lease) && grant && sim_grant_held(grant))
		sim_violation("S5: process %u removed its own lease of '%s' "
			      "while it holds it",
			      by->proc, sim_names[name]);
	if (is_release(by, lease) && grant && sim_session_row(lease->session) &&
	    was_lost(grant, RLK_ROW_IS_GONE))
		sim_violation("process %u gave its lease of '%s' up for gone, "
			      "and it was there",
			      by->proc, sim_names[name]);
}

/* ------------------------------------------------------------- sessions */

/* Also who was told that others had evicted it, or restored the tables. */
static bool believes(const struct sim_grant *grant)
{
	return sim_grant_held(grant) || was_lost(grant, RLK_WAS_EVICTED) ||
	       was_lost(grant, RLK_WAS_RESTORED);
}

static bool holds_by(uint64_t session)
{
	for (unsigned int i = 0; i < SIM_KINDS * SIM_NAMES; i++) {
		struct rlk_list *list =
		    &sim_grants[i % SIM_KINDS][i / SIM_KINDS];
		struct rlk_list *node;

		if (i % SIM_KINDS == SIM_KIND_ROW)
			continue;
		for (node = list->next; node != list; node = node->next)
			if (believes(sim_grant(node)) &&
			    sim_grant(node)->hold->session == session)
				return true;
	}
	return false;
}

/* Is this what a break does last? */
static bool ends_keep(const struct sim_op *op)
{
	for (unsigned int i = 0; i < op->conditions; i++)
		if (op->condition[i].test == SIM_IF_KEEP)
			return true;
	return false;
}

static bool is_in_use(uint64_t session)
{
	for (unsigned int i = 0; i < sim_tables.lease_places; i++)
		if (sim_tables.leases[i].there &&
		    sim_tables.leases[i].session == session)
			return true;
	return false;
}

void sim_judge_session_removed(const struct sim_session *by,
			       const struct sim_session_row *row)
{
	int64_t silent_us = sim_now - row->beaten_us;

	sim_trace_world((struct sim_note){
	    "#session %u of process %u removed by process %u",
	    { row->id, row->proc, by->proc } });
	was_there(row->id, true);
	/* Its reaper treats its own session as it treats others'. */
	if (by->request.op->conditions == 1 && by->proc == row->proc) {
		if (holds_by(row->id))
			sim_violation("S5: process %u deleted its session "
				      "while it holds by it",
				      by->proc);
		sim_judge_offers_left(row);
		return;
	}
	if (ends_keep(by->request.op)) {
		if (is_in_use(row->id))
			sim_violation("K2: process %u ended the keep of a "
				      "lease that is there",
				      by->proc);
		return;
	}
	if (row->expires_us <= by->request.started_us ||
	    silent_us >= (int64_t) row->ttl_ms * 1000)
		return;
	sim_violation("S5: process %u evicted the live session of process %u",
		      by->proc, row->proc);
}

void sim_judge_beat(const struct sim_session *by,
		    const struct sim_session_row *row)
{
	if (by->proc != row->proc)
		sim_violation("S5: process %u extended the session of process "
			      "%u",
			      by->proc, row->proc);
}

/* ----------------------------------------------------------------- kills */

#define BREAK_LASTS_US 60000000

/* After a break: of the holder of a row, or of a bell that keeps others from a
 * name that is free; it may have let go of that a moment ago. */
static bool may_kill(const struct sim_session *by,
		     const struct sim_session *victim)
{
	return by->request.op->verb == SIM_KILL_CHOSEN ||
	       (by->request.op->verb == SIM_KILL_CONN && !victim->locked);
}

void sim_judge_kill(const struct sim_session *by,
		    const struct sim_session *victim)
{
	struct rlk_list *node;

	if (by->proc == victim->proc)
		return;
	for (node = sim_procs.next; node != &sim_procs; node = node->next) {
		const struct sim_proc *proc =
		    container_of(node, struct sim_proc, node);

		if (proc->number == by->proc &&
		    (!may_kill(by, victim) || !proc->broke_us ||
		     sim_now - proc->broke_us > BREAK_LASTS_US))
			sim_violation("process %u killed a connection of "
				      "process %u",
				      by->proc, victim->proc);
	}
}

/* ---------------------------------------------------------------- tokens */

/* The same hold has a token of its own with each owner that it is handed to. */

#define SHOWN 64

static struct shown {
	uint64_t serial;
	uint64_t pass;
	uint64_t token;
	bool reads;
} shown[SIM_KINDS][SIM_NAMES][SHOWN];

static unsigned int shown_next[SIM_KINDS][SIM_NAMES];

static bool reads(const struct sim_grant *grant)
{
	return grant->lock->name->strategy->shared;
}

/* Readers come behind the writer whose number they have, in no order. */
static bool has_no_order(const struct sim_grant *grant,
			 const struct shown *other)
{
	if (reads(grant) && other->reads)
		return true;
	/* Whom a writer's row was handed to may come behind a reader that this
	 * writer has become. */
	return grant->kind == SIM_KIND_RWLOCK &&
	       other->serial == grant->serial &&
	       ((reads(grant) && other->pass) || (other->reads && grant->pass));
}

static bool is_of_next(const struct sim_grant *grant, const struct shown *other)
{
	return grant->kind == SIM_KIND_RWLOCK &&
	       other->serial == grant->serial && reads(grant) != other->reads;
}

static void check_readers(const struct sim_grant *grant, uint64_t token,
			  const struct shown *other)
{
	if (reads(grant) ? other->token < token : other->token > token)
		return;
	sim_violation("S2: reader and writer %" PRIu64 " of '%s' have tokens "
		      "%" PRIu64 " and %" PRIu64,
		      grant->serial, sim_names[grant->name],
		      reads(grant) ? token : other->token,
		      reads(grant) ? other->token : token);
}

static void check_order(const struct sim_grant *grant, uint64_t token,
			const struct shown *other)
{
	bool earlier =
	    other->serial < grant->serial ||
	    (other->serial == grant->serial && other->pass < grant->pass);
	bool same =
	    other->serial == grant->serial && other->pass == grant->pass;
	bool right = earlier ? other->token < token
		     : same  ? other->token == token
			     : other->token > token;

	if (!other->token || right)
		return;
	sim_violation("S2: hold %" PRIu64 ".%" PRIu64 " of '%s' has token "
		      "%" PRIu64 ", hold %" PRIu64 ".%" PRIu64 " had %" PRIu64,
		      grant->serial, grant->pass, sim_names[grant->name], token,
		      other->serial, other->pass, other->token);
}

/* A set draws anew at each call. */
static void check_drawn(const struct sim_grant *grant, uint64_t token,
			struct shown *other)
{
	bool again = grant->lock->name->strategy == &rlk_strategy_set &&
		     other->serial == grant->serial &&
		     other->pass == grant->pass && other->token < token;

	if (again || !other->token || has_no_order(grant, other))
		return;
	if (is_of_next(grant, other))
		check_readers(grant, token, other);
	else
		check_order(grant, token, other);
}

static void show(const struct sim_grant *grant, uint64_t token)
{
	enum sim_kind kind = grant->kind;
	unsigned int name = grant->name;
	unsigned int *next = &shown_next[kind][name];

	for (int i = 0; i < SHOWN; i++)
		check_drawn(grant, token, &shown[kind][name][i]);
	shown[kind][name][*next] =
	    (struct shown){ grant->serial, grant->pass, token, reads(grant) };
	*next = (*next + 1) % SHOWN;
}

void sim_judge_inside_token(struct rowlock *lock, unsigned int name,
			    uint64_t serial, uint64_t token)
{
	const struct sim_grant grant = {
		.lock = lock,
		.kind = SIM_KIND_ROW,
		.name = name,
		.serial = serial,
	};

	show(&grant, token);
}

void sim_judge_token(const struct rowlock *lock, unsigned int name,
		     uint64_t token)
{
	enum sim_kind kind = sim_kind_of_lock(lock);
	struct rlk_list *list = &sim_grants[kind][name];
	struct rlk_list *node;

	for (node = list->next; node != list; node = node->next) {
		if (sim_grant(node)->lock != lock)
			continue;
		show(sim_grant(node), token);
		return;
	}
}

/* A client mends what a server has lost, as far as it knows: so what is shown
 * does not tell all. */
static uint64_t drawn[2][SIM_NAMES];

void sim_judge_drawn(bool row, unsigned int name, uint64_t token)
{
	if (token <= drawn[row][name])
		sim_violation("S2: %" PRIu64
			      " is drawn for '%s' after %" PRIu64,
			      token, sim_names[name], drawn[row][name]);
	drawn[row][name] = token;
}

void sim_judge_sql_begin(void)
{
	sim_judge_kept_forget();
	memset(drawn, 0, sizeof(drawn));
	memset(gone, 0, sizeof(gone));
	memset(broken, 0, sizeof(broken));
	memset(shown, 0, sizeof(shown));
	memset(shown_next, 0, sizeof(shown_next));
}
