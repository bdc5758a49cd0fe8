/* SPDX-License-Identifier: MIT */
/*
 * Who believes to hold what. A grant is noted at the instant at which
 * rowlock_held() becomes true, and looked at with the library's own rule
 * (rlk_hold_until_locked()) at any instant after it, without asking the
 * library: asking would change it.
 *
 *   S3  two grants of one name are never both held
 *   S4  who lost a hold is told at once
 *   L1  what is free is not left lying while somebody waits for it
 *   L2  a call returns in time
 *
 * What statements may do to others' rows is judged in judge_sql.c.
 */
#include "judge.h"

#include <stdlib.h>
#include <string.h>

#include "judge_private.h"
#include "net.h"
#include "sim.h"
#include "trace.h"

#define AUDIT_US 5000

/* A turn that others are given, and a poll. */
#define NEGLECT_US 250000

/* A thread that is told so gets to run; the threads before it run first. */
#define TOLD_US 20000

/* A break is known by the next beat, and by a look after it; where one fails,
 * by the next. */
#define BROKEN_US                                                              \
	(int64_t)(3 * sim_world.ttl_ms +                                       \
		  5 * (sim_world.call_ms + sim_world.connect_ms)) *            \
	    1000

/* What every call may take beyond its time. Of the 100 ms that are promised a
 * real machine needs some, where this one computes in no time. */
#define GRACE_MS 80

struct rlk_list sim_grants[SIM_KINDS][SIM_NAMES];
uint64_t sim_passes;

static struct rlk_list spare = RLK_LIST_INIT(spare);
struct rlk_list sim_calls;
static unsigned int grants;
static uint64_t last_grant;
static unsigned int contested; /* names with more than one grant */
static struct sim_event audit;

/* ---------------------------------------------------------------- held */

/* The judge sees without a mutex: nobody runs meanwhile. */
static int64_t until_of(const struct rlk_hold *hold)
{
	int64_t until_ms;

	sim_peek_begin();
	until_ms = rlk_hold_until_locked(hold);
	sim_peek_end();
	return until_ms;
}

bool sim_grant_held(const struct sim_grant *grant)
{
	const struct rlk_hold *hold = grant->lock->hold;

	/* A writer that waits for readers has nothing yet. */
	if (grant->lock->name->strategy->drained && !grant->lock->shown)
		return false;
	if (grant->gives)
		return false;
	return hold && hold == grant->hold && hold->state == RLK_HOLD_HELD &&
	       sim_proc_ms(grant->proc) < until_of(hold);
}

/* A set has a grant for each of its names: this is the first, */
static struct sim_grant *grant_of(const struct rowlock *lock)
{
	for (int kind = 0; kind < SIM_KINDS; kind++)
		for (unsigned int name = 0; name < SIM_NAMES; name++) {
			struct rlk_list *list = &sim_grants[kind][name];
			struct rlk_list *node;

			for (node = list->next; node != list; node = node->next)
				if (sim_grant(node)->lock == lock)
					return sim_grant(node);
		}
	return NULL;
}

/* and this the one behind it. */
static struct sim_grant *grant_behind(const struct sim_grant *grant)
{
	for (unsigned int name = grant->name + 1; name < SIM_NAMES; name++) {
		struct rlk_list *list = &sim_grants[grant->kind][name];
		struct rlk_list *node;

		for (node = list->next; node != list; node = node->next)
			if (sim_grant(node)->lock == grant->lock)
				return sim_grant(node);
	}
	return NULL;
}

/* Its connection has ended in the server, and that is not known here yet. */
static bool row_end_unknown(const struct sim_grant *grant)
{
	const struct rlk_conn *conn = rlk_hold_conn(grant->hold);
	const struct sim_session *session;
	int64_t delay = sim_proc_delay(grant->proc);

	if (!conn)
		return false;
	session = ((const struct sim_conn *) (const void *) conn)->session;
	if (session->alive || session->why == SIM_END_IDLE)
		return false;
	/* One that was granted by a connection that had ended by then is lost
	 * in the next moment. */
	if (session->told_us && session->told_us < grant->began_us)
		return sim_now - grant->began_us <=
		       TOLD_US + delay - grant->began_delay_us;
	if (session->told_us)
		return sim_now - session->told_us <=
		       TOLD_US + delay - session->told_delay_us;
	return sim_now - session->ended_us <=
	       (int64_t) sim_world.idle_ms * 1000 + TOLD_US;
}

bool sim_grant_excused(const struct sim_grant *grant)
{
	if (sim_grant_is_row(grant))
		return row_end_unknown(grant);
	if (grant->broken_us)
		return sim_now - grant->broken_us <=
		       BROKEN_US + sim_proc_delay(grant->proc) -
			   grant->broken_delay_us;
	return sim_now < sim_server.hasty_until && !sim_world.observe;
}

static const char *kind_name(const struct sim_grant *grant)
{
	static const char *const names[] = {
		[SIM_KIND_LEASE] = "lease",
		[SIM_KIND_ROW] = "row",
		[SIM_KIND_RWLOCK] = "read/write",
		[SIM_KIND_PERMITS] = "permits",
		[SIM_KIND_CANDIDATE] = "candidate",
	};

	return names[grant->kind];
}

/* It reads, or is about to. */
static bool may_share(const struct sim_grant *grant)
{
	return grant->yields || grant->lock->name->strategy->shared;
}

/* Two that read; or the two sides of one that is about to change them. */
static bool may_both(const struct sim_grant *a, const struct sim_grant *b)
{
	return a->kind == SIM_KIND_RWLOCK &&
	       ((may_share(a) && may_share(b)) || a->fiber == b->fiber);
}

static void compare(const struct sim_grant *a, const struct sim_grant *b)
{
	if (may_both(a, b))
		return;
	if (!sim_grant_held(a) || !sim_grant_held(b))
		return;
	/* A set and a lease meet in the database only. */
	if (a->lock->name == b->lock->name)
		sim_violation("S3: two owners in process %u hold '%s'",
			      a->proc->number, sim_names[a->name]);
	if (sim_grant_excused(a) || sim_grant_excused(b))
		return;
	sim_violation("S3: processes %u and %u both hold '%s' (%s)",
		      a->proc->number, b->proc->number, sim_names[a->name],
		      kind_name(a));
}

static void compare_all(enum sim_kind kind, unsigned int name)
{
	struct rlk_list *list = &sim_grants[kind][name];
	struct rlk_list *node;
	struct rlk_list *other;

	if (kind == SIM_KIND_PERMITS) {
		sim_judge_count(list, name);
		return;
	}
	for (node = list->next; node != list; node = node->next)
		for (other = node->next; other != list; other = other->next)
			compare(sim_grant(node), sim_grant(other));
}

void sim_judge_step(void)
{
	if (!contested)
		return;
	for (int kind = 0; kind < SIM_KINDS; kind++)
		for (unsigned int name = 0; name < SIM_NAMES; name++)
			compare_all((enum sim_kind) kind, name);
}

/* -------------------------------------------------------------- grants */

static bool several(const struct rlk_list *list)
{
	return list->next != list->prev;
}

static struct sim_grant *grant_new(void)
{
	struct rlk_list *node = rlk_list_first(&spare);
	struct sim_grant *grant;

	if (node) {
		rlk_list_remove(node);
		return sim_grant(node);
	}
	grant = malloc(sizeof(*grant));
	if (!grant)
		abort();
	rlk_list_init(&grant->node);
	return grant;
}

static void drop(struct sim_grant *grant)
{
	struct rlk_list *list = &sim_grants[grant->kind][grant->name];

	contested -= several(list);
	rlk_list_remove(&grant->node);
	contested += several(list);
	grants--;
	rlk_list_append(&spare, &grant->node);
}

static uint64_t serial_of(const struct sim_grant *grant)
{
	const struct rlk_conn *conn = rlk_hold_conn(grant->hold);

	if (!sim_grant_is_row(grant))
		return sim_lease_serial(grant->kind, grant->name,
					grant->attempt);
	return ((const struct sim_conn *) (const void *) conn)
	    ->session->lock_serial;
}

enum sim_kind sim_kind_of_lock(const struct rowlock *lock)
{
	const struct rlk_strategy *strategy = lock->name->strategy;

	if (strategy->pins_connection)
		return SIM_KIND_ROW;
	if (strategy->counted)
		return SIM_KIND_PERMITS;
	return strategy->slot ? SIM_KIND_RWLOCK : SIM_KIND_LEASE;
}

static void begin(struct rowlock *lock, unsigned int name)
{
	struct sim_grant *grant = grant_new();
	struct rlk_list *list;

	*grant = (struct sim_grant){
		.number = ++last_grant,
		.proc = sim_self->proc,
		.lock = lock,
		.hold = lock->hold,
		.attempt = lock->hold->attempt,
		.pass = lock->hold->passes,
		.fiber = sim_self,
		.kind = sim_kind_of_lock(lock),
		.name = name,
		.count = lock->hold->upkeep ? lock->hold->upkeep->count : 0,
		.began_us = sim_now,
		.began_delay_us = sim_proc_delay(sim_self->proc),
	};
	rlk_list_init(&grant->node);
	grant->serial = serial_of(grant);
	/* The first readers come before the first writer. */
	if (!grant->serial && grant->kind != SIM_KIND_RWLOCK)
		sim_violation("'%s' is held, but nothing in the database was "
			      "ever made for it",
			      sim_names[name]);
	if (!sim_grant_is_row(grant) && sim_was_broken(grant->attempt)) {
		grant->broken_us = sim_now;
		grant->broken_delay_us = sim_proc_delay(grant->proc);
	}
	list = &sim_grants[grant->kind][name];
	contested -= several(list);
	rlk_list_append(list, &grant->node);
	contested += several(list);
	grants++;
	sim_passes += grant->pass > 0;
	compare_all(grant->kind, name);
	sim_judge_rows(grant);
	sim_judge_latest(grant);
	sim_judge_beside(grant);
	if (!sim_event_is_set(&audit))
		sim_event_set(&audit, sim_now + AUDIT_US);
}

static void drop_all(const struct rowlock *lock)
{
	struct sim_grant *grant;

	while ((grant = grant_of(lock)))
		drop(grant);
}

/* Handles whose last hold is over while the callback of its loss was due: it
 * does not say which hold it is about, and is about that one. */
#define UNTOLD 64

static struct {
	const struct sim_proc *proc;
	const struct rowlock *lock;
} untold[UNTOLD];
static unsigned int untold_next;

static bool is_untold(const struct rowlock *lock)
{
	for (int i = 0; i < UNTOLD; i++)
		if (untold[i].proc == sim_self->proc &&
		    untold[i].lock == lock) {
			untold[i].proc = NULL;
			return true;
		}
	return false;
}

static bool is_due(const struct rowlock *lock)
{
	return lock->notices || lock->name->client->notifying == lock;
}

/* The hold of @lock was lost, and is over. */
static void note_untold(const struct rowlock *lock)
{
	const struct sim_grant *grant = grant_of(lock);

	if (!grant || grant->told || !is_due(lock))
		return;
	untold[untold_next % UNTOLD].proc = sim_self->proc;
	untold[untold_next++ % UNTOLD].lock = lock;
}

/* An acquire is over with what @lock had before, and has lost; or with a grant
 * that was lost in the same call, of which nobody is told. */
static void drop_lost(const struct rowlock *lock)
{
	const struct sim_grant *grant = grant_of(lock);

	if (grant && (grant->watched || grant->exported))
		note_untold(lock);
	drop_all(lock);
}

void sim_judge_acquire(struct rowlock *lock, unsigned int names)
{
	sim_self->acquiring = lock;
	sim_self->acquiring_names = names;
	/* One that it has already is not what it acquires. */
	sim_self->acquiring_attempt = lock->hold ? lock->hold->attempt : 0;
	sim_self->acquiring_pass = lock->hold ? lock->hold->passes : 0;
}

void sim_judge_began(void)
{
	struct rowlock *lock = sim_self->acquiring;

	drop_lost(lock);
	sim_self->acquiring_attempt = lock->hold->attempt;
	sim_self->acquiring_pass = lock->hold->passes;
	for (unsigned int name = 0; name < SIM_NAMES; name++)
		if (sim_self->acquiring_names & 1u << name)
			begin(lock, name);
}

void sim_judge_acquired(struct rowlock *lock, int code)
{
	struct sim_grant *grant = grant_of(lock);

	if (sim_kind_of_lock(lock) == SIM_KIND_PERMITS)
		sim_judge_permits_asked();
	sim_self->acquiring = NULL;
	if (!code && !grant)
		sim_violation("'%s' was acquired, but no hold began",
			      rowlock_name(lock));
	/* One that failed after the grant gave it up by itself. */
	if (code)
		drop_lost(lock);
	for (; !code && grant; grant = grant_behind(grant))
		grant->watched = true;
}

void sim_judge_release(struct rowlock *lock)
{
	struct sim_grant *grant;

	for (grant = grant_of(lock); grant; grant = grant_behind(grant))
		grant->watched = false;
}

void sim_judge_yields(const struct rowlock *lock, bool yields)
{
	struct sim_grant *grant = grant_of(lock);

	if (grant)
		grant->yields = yields;
}

void sim_judge_gives(const struct rowlock *lock, bool gives)
{
	struct sim_grant *grant = grant_of(lock);

	if (!grant)
		return;
	grant->gives = gives;
	grant->watched = !gives;
}

void sim_judge_exported(const struct rowlock *lock)
{
	struct sim_grant *grant = grant_of(lock);

	grant->watched = false;
	grant->exported = true;
}

void sim_judge_freed(const struct rowlock *lock)
{

	for (int i = 0; i < UNTOLD; i++)
		if (untold[i].proc == sim_self->proc && untold[i].lock == lock)
			untold[i].proc = NULL;
}

void sim_judge_released(struct rowlock *lock, int code)
{
	if (code == ROWLOCK_ELOST)
		note_untold(lock);
	drop_all(lock);
}

/* Nobody is told of its loss: there is no callback. */
void sim_judge_entered(struct rowlock *lock, unsigned int name)
{
	const struct rlk_hold *hold = lock->hold;

	if (!hold || hold->state != RLK_HOLD_HELD)
		return;
	sim_judge_acquire(lock, 1u << name);
	sim_judge_began();
	sim_self->acquiring = NULL;
}

bool sim_judge_left(struct rowlock *lock)
{
	const struct sim_grant *grant = grant_of(lock);
	bool held = grant && sim_grant_held(grant);

	sim_judge_released(lock, 0);
	return held;
}

uint64_t sim_judge_grant(const struct rowlock *lock)
{
	const struct sim_grant *grant = grant_of(lock);

	return grant ? grant->number : 0;
}

void sim_judge_told(const struct rowlock *lock)
{
	struct sim_grant *grant;

	if (is_untold(lock))
		return;
	for (grant = grant_of(lock); grant; grant = grant_behind(grant)) {
		if (grant->hold == lock->hold && sim_grant_held(grant))
			sim_violation("S4: told that '%s' is lost while it is "
				      "held",
				      sim_names[grant->name]);
		grant->told = true;
	}
}

void sim_judge_held(const struct rowlock *lock, bool held)
{
	struct sim_grant *grant;

	for (grant = grant_of(lock); grant; grant = grant_behind(grant)) {
		if (held && grant->not_held)
			sim_violation("'%s' is held again after it was lost",
				      sim_names[grant->name]);
		if (!held)
			grant->not_held = true;
	}
}

/* ------------------------------------------------------ in the course */

/* In true time, the instant at which others may have it if nothing more is
 * heard of its holder. */
static int64_t safe_until(const struct sim_grant *grant)
{
	const struct sim_lease *lease =
	    sim_lease_by(grant->kind, grant->name, grant->attempt);
	const struct sim_session_row *row;
	const struct rlk_conn *conn = rlk_hold_conn(grant->hold);
	int64_t until = INT64_MAX;

	if (sim_grant_is_row(grant)) {
		const struct sim_session *session =
		    conn ? ((const struct sim_conn *) (const void *) conn)
			       ->session
			 : NULL;

		return session && session->alive
			   ? sim_session_idle_until(session)
			   : until;
	}
	row = sim_session_row(grant->hold->session);
	if (row)
		until = row->beaten_us + (int64_t) row->ttl_ms * 1000;
	if (row && !sim_world.observe && sim_now >= sim_server.hasty_until) {
		int64_t left = row->expires_us - sim_server_us();

		left = sim_now + left - left * sim_server.ppm / 1000000;
		until = left < until ? left : until;
	}
	if (lease && lease->expires_us &&
	    lease->began_us + lease->expires_us - lease->acquired_us < until)
		until =
		    lease->began_us + lease->expires_us - lease->acquired_us;
	return until;
}

/* S3, before it is too late: nobody believes to hold for longer than others
 * are kept out. */
static void check_belief(const struct sim_grant *grant)
{
	int64_t until_ms = until_of(grant->hold);

	if (sim_proc_when(grant->proc, until_ms - 1) < safe_until(grant))
		return;
	sim_violation("S3: process %u believes to hold '%s' (%s) %lld us "
		      "longer than others are kept out",
		      grant->proc->number, sim_names[grant->name],
		      kind_name(grant),
		      (long long) (sim_proc_when(grant->proc, until_ms) -
				   safe_until(grant)));
}

static void audit_grant(struct sim_grant *grant)
{
	int64_t lost = sim_proc_delay(grant->proc);

	if (sim_grant_held(grant)) {
		if (grant->lost_us)
			sim_violation("'%s' is held again after it was lost",
				      sim_names[grant->name]);
		check_belief(grant);
		sim_judge_rows(grant);
		sim_judge_beside(grant);
		return;
	}
	if (!grant->watched || grant->told)
		return;
	/* Given back by the call that yields. */
	if (grant->yields && grant->lock->hold != grant->hold)
		return;
	if (!grant->lost_us) {
		grant->lost_us = sim_now;
		grant->lost_delay_us = lost;
	}
	if (sim_now - grant->lost_us > TOLD_US + lost - grant->lost_delay_us)
		sim_violation("S4: process %u does not hold '%s' any more and "
			      "was not told",
			      grant->proc->number, sim_names[grant->name]);
}

static void check_call(const struct sim_call *call)
{
	const struct sim_proc *proc = call->fiber->proc;
	int64_t lost = sim_proc_delay(proc) - call->delay_us;
	int64_t lost_ms = (lost + lost / 20) / 1000 + 1; /* by any clock */

	if (call->until_ms == RLK_NEVER ||
	    sim_proc_ms(proc) <= call->until_ms + GRACE_MS + lost_ms)
		return;
	sim_violation("L2: %s of process %u, thread %u is %lld ms late",
		      call->what, proc->number, call->fiber->number,
		      (long long) (sim_proc_ms(proc) - call->until_ms));
}

/* Where nothing goes wrong, what is free is taken by who waits for it: a poll
 * later, or as soon as the bell is rung. */
static void check_neglect(const struct sim_call *call)
{
	const struct rowlock *lock = call->fiber->acquiring;
	int64_t since = call->began_us;
	unsigned int name = 0;

	if (!sim_world.calm || !lock || lock->name->strategy->pins_connection)
		return;
	/* What waits for a row that a guard keeps locked cannot be ended there,
	 * nor can the names that wait for the same connection be asked for. */
	if (sim_world.no_kill && sim_world.guards)
		return;
	for (unsigned int i = 0; i < SIM_NAMES; i++) {
		const struct sim_lease *lease =
		    sim_kind_of_lock(lock) == SIM_KIND_RWLOCK
			? sim_writer_of(i)
			: &sim_tables.leases[i];

		if (!(call->fiber->acquiring_names & 1u << i))
			continue;
		name = i;
		if (sim_kind_of_lock(lock) == SIM_KIND_PERMITS) {
			if (!sim_judge_permits_lie(call, i, &since))
				return;
			continue;
		}
		if (lease->there)
			return;
		if (lease->gone_us > since)
			since = lease->gone_us;
	}
	if (sim_now - since <= NEGLECT_US)
		return;
	sim_violation("L1: '%s' is free for %lld ms, and process %u, thread "
		      "%u waits for it",
		      sim_names[name], (long long) (sim_now - since) / 1000,
		      call->fiber->proc->number, call->fiber->number);
}

static void on_audit(struct sim_event *event)
{
	struct rlk_list *node;

	for (int kind = 0; kind < SIM_KINDS; kind++)
		for (unsigned int name = 0; name < SIM_NAMES; name++) {
			struct rlk_list *list = &sim_grants[kind][name];

			for (node = list->next; node != list; node = node->next)
				audit_grant(sim_grant(node));
		}
	for (node = sim_calls.next; node != &sim_calls; node = node->next) {
		struct sim_call *call =
		    container_of(node, struct sim_call, node);

		check_call(call);
		check_neglect(call);
	}
	if (grants || !rlk_list_empty(&sim_calls))
		sim_event_set(event, sim_now + AUDIT_US);
}

void sim_call_begin(struct sim_call *call, const char *what, uint64_t ms)
{
	const struct sim_proc *proc = sim_self->proc;

	*call = (struct sim_call){
		.what = what,
		.fiber = sim_self,
		.began_us = sim_now,
		.until_ms = rlk_after(sim_proc_ms(proc), ms),
		.delay_us = sim_proc_delay(proc),
	};
	rlk_list_init(&call->node);
	rlk_list_append(&sim_calls, &call->node);
	if (!sim_event_is_set(&audit))
		sim_event_set(&audit, sim_now + AUDIT_US);
}

void sim_call_end(struct sim_call *call)
{
	check_call(call);
	rlk_list_remove(&call->node);
}

void sim_judge_forget(const struct sim_proc *proc)
{
	struct rlk_list *node;
	struct rlk_list *after;

	for (int kind = 0; kind < SIM_KINDS; kind++)
		for (unsigned int name = 0; name < SIM_NAMES; name++)
			rlk_list_for_each(node, after, &sim_grants[kind][name])
			{
				if (sim_grant(node)->proc == proc)
					drop(sim_grant(node));
			}
	for (int i = 0; i < UNTOLD; i++)
		if (untold[i].proc == proc)
			untold[i].proc = NULL;
	rlk_list_for_each(node, after, &sim_calls)
	{
		if (container_of(node, struct sim_call, node)->fiber->proc ==
		    proc)
			rlk_list_remove(node);
	}
}

void sim_judge_begin(void)
{
	for (int kind = 0; kind < SIM_KINDS; kind++)
		for (unsigned int name = 0; name < SIM_NAMES; name++)
			rlk_list_init(&sim_grants[kind][name]);
	rlk_list_init(&sim_calls);
	memset(untold, 0, sizeof(untold));
	grants = 0;
	contested = 0;
	audit.fire = on_audit;
	sim_judge_sql_begin();
	sim_judge_guarded_begin();
}

void sim_judge_end(void)
{
	if (grants || !rlk_list_empty(&sim_calls))
		sim_violation("the world ends, and something is still held");
}
