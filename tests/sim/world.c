/* SPDX-License-Identifier: MIT */
/*
 * One world from its beginning to its end. The director lets the processes work
 * and things go wrong, until so many cycles are done; then heals all, and asks
 * for what must hold in the end:
 *
 *   L1  every name can be had again in the time that is promised
 *       a row hold is lost with its own connection only
 *       nothing is left: no lease of a living client that nobody holds, no
 *       locked row, no session, no connection, no memory
 */
#include "world.h"

#include <rowlock/semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"
#include "borrowed.h"
#include "core/call.h"
#include "core/client.h"
#include "fault.h"
#include "judge.h"
#include "locks.h"
#include "runs.h"
#include "sim.h"
#include "tables.h"
#include "trace.h"

struct sim_world sim_world;

const char *const sim_names[SIM_NAMES] = {
	"seat-0", "seat-1", "seat-2", "seat-3",
	"seat-4", "seat-5", "seat-6", "seat-7",
};

/* A world ends after so long, whatever is done by then. */
#define LONGEST_US (120 * 1000000ll)

/* How far a fence reaches: not everywhere, in some worlds. */
static void draw_reach(void)
{
	uint64_t die = sim_below(8);

	sim_world.no_kill = die == 0;
	sim_world.nodes = die > 5 && !sim_world.row && !sim_options.runs;
	/* As the library does by itself there. */
	if (sim_world.nodes)
		sim_world.observe = sim_world.days = true;
}

/* Few names that many want, and a hold that outlives a call or two. */
static void draw_for_commits(void)
{
	sim_world.lease = sim_world.guards = true;
	sim_world.row = sim_world.calm = sim_world.nodes = false;
	sim_world.sets = sim_world.rwlocks = false;
	sim_world.semaphores = sim_world.elections = false;
	sim_world.names = (unsigned int) sim_between(1, 2);
	sim_world.threads = 12;
	sim_world.ttl_ms = (uint64_t) sim_between(2000, 4000);
	sim_world.call_ms = (uint64_t) sim_between(200, 600);
}

/* Two nodes do not wait for each other's rows, as it is simulated. */
static void draw_runs(void)
{
	sim_world.runs = sim_world.lease && !sim_world.guards &&
			 !sim_world.nodes && sim_world.number % 4 == 1;
	if (sim_options.runs)
		sim_world.runs = sim_world.lease = true;
	if (sim_world.runs)
		sim_world.window_us = sim_between(20, 2000) * 1000;
}

static void draw_world(void)
{
	static const unsigned int groups[] = { 1, 2, 3, 256, 256 };
	unsigned int strategy = (unsigned int) sim_below(3);

	sim_world.lease = strategy != 1;
	sim_world.row = strategy != 0;
	if (sim_options.strategy)
		sim_world.lease = !(sim_world.row = sim_options.strategy == 2);
	sim_world.names = (unsigned int) sim_between(1, SIM_NAMES);
	sim_world.mysql = sim_below(3) == 0;
	sim_world.no_marks = sim_below(8) == 0;
	sim_world.calm = sim_below(12) == 0;
	sim_world.breaks = !sim_world.calm && sim_below(3) == 0;
	sim_world.observe = sim_below(4) == 0;
	sim_world.triggers = sim_below(5) == 0;
	sim_world.sets = sim_world.lease && sim_below(3) == 0;
	sim_world.rwlocks = sim_world.lease && sim_below(3) == 0;
	sim_world.semaphores = sim_world.lease && sim_below(3) == 0;
	sim_world.elections = sim_world.lease && sim_below(3) == 0;
	sim_world.resizes = sim_below(4) == 0;
	for (int i = 0; i < SIM_NAMES; i++)
		sim_world.permits[i] =
		    (unsigned int) sim_between(1, SIM_PERMITS_MOST);
	sim_world.ttl_ms = (uint64_t) sim_between(1000, 4000);
	/* That is promised to those who observe; and old tokens are old then.
	 */
	sim_world.days = sim_world.observe;
	sim_world.idle_ms = (uint64_t) sim_between(2, 4) * 1000;
	sim_world.call_ms = (uint64_t) sim_between(200, 3000);
	sim_world.connect_ms = (uint64_t) sim_between(200, 3000);
	/* Many threads on many names, so that requests meet. */
	sim_world.threads = sim_below(3) ? 5 : 12;
	if (sim_world.threads > 5)
		sim_world.names = SIM_NAMES;
	sim_world.group = groups[sim_below(RLK_ARRAY_SIZE(groups))];
	sim_world.target = 1ull << sim_between(6, 13);
	draw_reach();
	/* Not drawn: so the other worlds stay what they were. */
	sim_world.guards =
	    sim_world.lease && sim_world.number % 3 == 0 && !sim_options.runs;
	if (sim_options.commits)
		draw_for_commits();
	sim_world.early = sim_world.guards && sim_world.number % 2 == 0;
	sim_world.texts = sim_world.guards && sim_world.number % 4 > 1;
	sim_world.insides = sim_world.row && sim_world.number % 3 == 1;
	sim_world.fences = !sim_world.guards && sim_world.number % 2;
	/* A late adopter waits for a transaction that has the lease locked, and
	 * may be in a deadlock with its commit. */
	sim_world.adopts = sim_world.lease && sim_world.number % 5 > 2 &&
			   !(sim_world.calm && sim_world.guards);
	sim_world.keeps =
	    sim_world.lease && !sim_world.guards && sim_world.number % 5 < 2;
	draw_runs();
}

/* ------------------------------------------------------- in the end */

static struct sim_proc *proc_of(unsigned int number)
{
	struct rlk_list *node;

	for (node = sim_procs.next; node != &sim_procs; node = node->next) {
		struct sim_proc *proc =
		    container_of(node, struct sim_proc, node);

		if (proc->number == number)
			return proc;
	}
	return NULL;
}

/* Nobody holds anything, and who lives has had the time to clean up. */
static void check_rest(void)
{
	for (unsigned int i = 0; i < sim_tables.lease_places; i++) {
		const struct sim_lease *lease = &sim_tables.leases[i];

		if (lease->there && sim_session_row(lease->session) &&
		    proc_of(lease->proc) && !sim_is_kept(lease) &&
		    !sim_has_delayed(lease))
			sim_violation("process %u left its lease of '%s'",
				      lease->proc, sim_names[lease->name]);
	}
	for (unsigned int i = 0; i < SIM_NAMES; i++) {
		const struct sim_row *row = &sim_tables.rows[i];

		if (row->owner && row->owner->conn)
			sim_violation("process %u left '%s' locked",
				      row->owner->proc, sim_names[i]);
	}
	sim_bells_check();
}

/* The longest time for which nobody has to beat a session. */
static uint64_t longest_ms(void)
{
	return sim_world.keeps ? sim_world.ttl_ms + SIM_KEPT_MS
			       : sim_world.ttl_ms;
}

/* The longest that a dead holder may be in the way. */
static uint64_t patience_ms(bool row)
{
	uint64_t ttl = longest_ms();
	uint64_t idle = sim_world.idle_ms;

	if (row)
		return idle + idle / 10 + 1000;
	return ttl + rlk_margin(ttl) + ttl / 10 + 1000;
}

static void visit(struct rowlock_client *client, unsigned int name, bool row)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_errinfo error = { 0 };
	struct rowlock *lock;

	options.strategy = row ? ROWLOCK_ROW : ROWLOCK_LEASE;
	if (rowlock_new(client, sim_names[name], &options, &lock, &error))
		sim_violation("no handle: %s", error.message);
	if (rowlock_acquire(lock, patience_ms(row), &error))
		sim_violation("L1: '%s' (%s) cannot be had any more: %s",
			      sim_names[name], row ? "row" : "lease",
			      error.message);
	if (rowlock_release(lock, &error) || rowlock_try_free(lock, &error))
		sim_violation("the last release failed: %s", error.message);
}

/* All of them, at once. */
static void visit_semaphore(struct rowlock_client *client, unsigned int name)
{
	unsigned int permits = sim_tables.permits[name];
	struct rowlock_errinfo error = { 0 };
	struct rowlock *lock;

	if (!permits)
		return;
	if (rowlock_semaphore_new(client, sim_names[name],
				  ROWLOCK_PERMITS_STORED, NULL, &lock, &error))
		sim_violation("no semaphore: %s", error.message);
	if (rowlock_semaphore_acquire(lock, permits, patience_ms(false),
				      &error))
		sim_violation("L1: the %u permits of '%s' cannot be had any "
			      "more: %s",
			      permits, sim_names[name], error.message);
	if (rowlock_release(lock, &error) || rowlock_try_free(lock, &error))
		sim_violation("the last release failed: %s", error.message);
}

static bool anything_left(const struct rowlock_client *client)
{
	for (unsigned int i = 0; i < sim_tables.lease_places; i++)
		if (sim_tables.leases[i].there)
			return true;
	for (unsigned int i = 0; i < sim_tables.session_places; i++)
		if (sim_tables.sessions[i].id &&
		    sim_tables.sessions[i].id != client->session.id)
			return true;
	return false;
}

/* Two looks that are a TTL apart, where beats are observed. */
static void reap_all(struct rowlock_client *client)
{
	int64_t until =
	    sim_now + (int64_t) (patience_ms(false) + sim_world.ttl_ms) * 1000;
	struct rowlock_errinfo error = { 0 };

	while (anything_left(client)) {
		if (rowlock_reap(client, NULL, NULL, &error))
			sim_violation("the last reap failed: %s",
				      error.message);
		if (sim_now > until)
			sim_violation("a dead session or lease stays for ever");
		sim_sleep(100000);
	}
}

static void visitor(void *arg)
{
	bool *done = arg;
	struct rowlock_client *client = NULL;
	struct rowlock_errinfo error = { 0 };

	if (sim_app_client(&client, &error))
		sim_violation("no client after all is healed: %s",
			      error.message);
	for (unsigned int name = 0; name < sim_world.names; name++) {
		if (sim_world.lease)
			visit(client, name, false);
		if (sim_world.row)
			visit(client, name, true);
		visit_semaphore(client, name);
	}
	sim_app_close();
	while (!sim_app_closed())
		sim_sleep(10000);
	reap_all(client);
	*done = true;
	sim_app_leave(client);
}

/* Every session of the server ends with its client, or when it is idle. */
static void check_nothing_left(void)
{
	int64_t until = sim_now + 70000000;

	while (sim_now < until &&
	       (sim_session_count() || !rlk_list_empty(&sim_procs)))
		sim_sleep(1000000);
	if (!rlk_list_empty(&sim_procs))
		sim_violation("a process does not end");
	if (sim_session_count())
		sim_violation("%u connections are left on the server",
			      sim_session_count());
	for (unsigned int i = 0; i < sim_tables.session_places; i++)
		if (sim_tables.sessions[i].id)
			sim_violation("the session of process %u is left",
				      sim_tables.sessions[i].proc);
	sim_judge_end();
}

/* Room for the answers that were still on their way, for what the chores try
 * again, and for their connections. */
static int64_t rest_us(void)
{
	return (int64_t) (4 * sim_world.call_ms + 2 * sim_world.connect_ms +
			  3 * sim_world.ttl_ms + 4000) *
	       1000;
}

/* A transaction that has locked a row, of a lease or another, keeps it until
 * the server ends its connection, where the client has vanished. */
static void await_locks(void)
{
	int64_t until = sim_now + (SIM_APP_IDLE_S + 10) * 1000000ll;

	while (sim_locks_any() || sim_inside_any()) {
		if (sim_now > until)
			sim_violation("L1: a row is locked, and nobody has a "
				      "transaction any more");
		sim_sleep(10000);
	}
}

static void direct(void *arg)
{
	bool done = false;

	(void) arg;
	while (sim_world.cycles < sim_world.target && sim_now < LONGEST_US)
		sim_sleep(10000);
	if (sim_below(2)) {
		sim_faults_heal();
		sim_sleep(sim_between(0, 100000));
	}
	sim_world.ending = true;
	while (!sim_app_done())
		sim_sleep(10000);
	sim_faults_heal();
	if (sim_server.down_until > sim_now)
		sim_sleep(sim_server.down_until - sim_now);
	await_locks();
	sim_sleep(rest_us());
	/* A begin may have come late, of one who heard of it no more. */
	await_locks();
	check_rest();
	if (sim_world.row && sim_below(3) == 0)
		sim_neighbours_play();
#ifndef SIM_TSAN
	/* It kills from a fiber, which frees what the killed threads used: to
	 * ThreadSanitizer nothing puts the two in order. */
	sim_death_play();
#endif
	sim_proc_new(visitor, &done)->app = NULL;
	while (!done)
		sim_sleep(10000);
	check_nothing_left();
	sim_stop();
}

uint64_t sim_world_play(uint64_t seed, uint64_t number)
{
	sim_seed(seed * 0x9e3779b97f4a7c15u + number);
	sim_reset();
	memset(&sim_world, 0, sizeof(sim_world));
	sim_world.number = number;
	draw_world();
	sim_trace_begin();
	sim_server_begin();
	sim_tables_begin();
	sim_runs_begin();
	sim_judge_begin();
	sim_faults_begin(sim_world.calm);
	sim_app_begin();
	sim_fiber_new(NULL, direct, NULL)->detached = true;
	sim_run(sim_judge_step);
	if (!sim_world.ending)
		sim_violation("everybody waits for ever");
	return sim_world.cycles;
}
