/* SPDX-License-Identifier: MIT */
/*
 * What goes wrong, when. Each world draws its own subset of the faults and how
 * often they come; those of statements are asked for where they happen, those
 * of the world come by an event that draws one of them each time.
 */
#include "fault.h"

#include <stddef.h>
#include <string.h>

#include "app.h"
#include "judge.h"
#include "locks.h"
#include "proc.h"
#include "sim.h"
#include "tables.h"
#include "trace.h"
#include "world.h"

struct kind {
	const char *name;
	uint32_t most; /* the highest chance, in a million; of the world: 0 */
};

static const struct kind kinds[SIM_FAULTS] = {
	[SIM_LOST_REQUEST] = { "lost-request", 5000 },
	[SIM_LOST_REPLY] = { "lost-reply", 8000 },
	[SIM_SLOW_REQUEST] = { "slow-request", 10000 },
	[SIM_SLOW_REPLY] = { "slow-reply", 10000 },
	[SIM_BREAK_BEFORE] = { "break-before-execution", 10000 },
	[SIM_BREAK_AFTER] = { "break-after-execution", 10000 },
	[SIM_LATE_EXECUTION] = { "late-execution", 8000 },
	[SIM_BLOCKED_STATEMENT] = { "blocked-statement", 20000 },
	[SIM_LOCK_TIMEOUT] = { "error-1205", 5000 },
	[SIM_DEADLOCK] = { "error-1213", 30000 },
	[SIM_INTERRUPTED] = { "error-1317", 10000 },
	[SIM_SLOW_CONNECT] = { "slow-connect", 200000 },
	[SIM_LOST_CONNECT] = { "lost-connect", 100000 },
	[SIM_TOO_MANY] = { "too-many-connections", 200000 },
	[SIM_STUCK_RESOLVER] = { "stuck-resolver", 100000 },
	[SIM_STALL] = { "stalled-thread", 0 },
	[SIM_SPURIOUS_WAKE] = { "spurious-wake", 20000 },
	[SIM_NO_THREAD] = { "no-thread", 50000 },
	[SIM_PAUSE] = { "paused-process", 0 },
	[SIM_CUT] = { "cut-network", 0 },
	[SIM_PAUSE_CUT] = { "paused-then-cut", 0 },
	[SIM_CUT_KILL] = { "cut-and-connections-killed", 0 },
	[SIM_KILL] = { "killed-process", 0 },
	[SIM_VANISH] = { "vanished-host", 0 },
	[SIM_FREEZE] = { "frozen-server", 0 },
	[SIM_RESTART] = { "restarted-server", 0 },
	[SIM_CRASH] = { "crashed-server", 0 },
	[SIM_READ_ONLY] = { "read-only-server", 0 },
	[SIM_CLOCK_BACK] = { "server-clock-back", 0 },
	[SIM_CLOCK_AHEAD] = { "server-clock-ahead", 0 },
	[SIM_KILL_CONNECTION] = { "killed-connection", 0 },
	[SIM_KILL_QUERY] = { "killed-query", 0 },
	[SIM_ROW_GONE] = { "row-deleted-by-hand", 0 },
	[SIM_HALF_OPEN] = { "half-open-connection", 0 },
	[SIM_SLOW_KILL] = { "slow-kill", 200000 },
};

uint64_t sim_fault_counts[SIM_FAULTS];

static uint32_t chances[SIM_FAULTS];
static enum sim_fault_kind drawn[SIM_FAULTS]; /* of the world */
static unsigned int drawn_count;
static int64_t mean_us;
static struct sim_event strike;

const char *sim_fault_name(enum sim_fault_kind kind)
{
	return kinds[kind].name;
}

void sim_fault(enum sim_fault_kind kind)
{
	sim_fault_counts[kind]++;
	sim_trace_world((struct sim_note){ "fault kind=%s",
					   { sim_text(kinds[kind].name) } });
}

bool sim_happens(enum sim_fault_kind kind)
{
	if (!sim_chance(chances[kind]))
		return false;
	sim_fault(kind);
	return true;
}

/* --------------------------------------------------- faults of the world */

static int64_t until(int64_t most_us)
{
	return sim_now + sim_between(1000, most_us);
}

static int64_t ttl_us(void)
{
	return (int64_t) sim_world.ttl_ms * 1000;
}

/* The longest: a hold may end meanwhile, or a commit's time only. */
static int64_t cut_us(void)
{
	return sim_options.commits ? (int64_t) sim_world.call_ms * 4000
				   : ttl_us() * 2;
}

static void kill_all(const struct sim_proc *proc)
{
	struct sim_session *session;

	rlk_list_each (session, &sim_server.sessions, node) {
		if (session->proc == proc->number)
			sim_session_kill(session);
	}
}

static void strike_process(enum sim_fault_kind kind, struct sim_proc *proc)
{
	sim_trace_world(
	    (struct sim_note){ "#it is process %u", { proc->number } });
	switch (kind) {
	case SIM_PAUSE:
		sim_proc_pause(proc, until(ttl_us() * 2) - sim_now);
		break;
	case SIM_CUT:
		proc->cut_until = until(cut_us());
		break;
	case SIM_PAUSE_CUT:
		/* It knows late, and then cannot ask. */
		proc->cut_until = until(ttl_us()) + ttl_us();
		sim_proc_pause(proc, proc->cut_until - ttl_us() - sim_now);
		break;
	case SIM_CUT_KILL:
		/* Its holds end, and it does not hear of it. */
		proc->cut_until = until(ttl_us() * 2);
		kill_all(proc);
		break;
	default:
		sim_app_kill(proc, kind == SIM_VANISH);
	}
}

/* Until nobody believes any more what was promised before the clock jumped:
 * who has beaten since then is safe. */
static void note_haste(int64_t more_us)
{
	int64_t most_us = (int64_t) SIM_MAXIMUM_MS * 1000;

	most_us = ttl_us() > most_us ? ttl_us() : most_us;
	sim_server.hasty_until = sim_now + most_us + more_us;
	sim_judge_kept_forget();
}

/* A jump by so much may be one by days, too. */
static int64_t days_us(int64_t us)
{
	return sim_world.days && us % 4 ? (30 + us % 16) * SIM_DAY_US : 0;
}

static void strike_server(enum sim_fault_kind kind)
{
	int64_t us;

	switch (kind) {
	case SIM_FREEZE:
		sim_server.frozen_until = until(ttl_us() * 3 / 2);
		break;
	case SIM_READ_ONLY:
		sim_server.read_only_until = until(ttl_us() / 4);
		break;
	case SIM_CLOCK_BACK:
		us = sim_between(1000, 3 * ttl_us());
		sim_server.clock_us -= us + days_us(us);
		/* A statement that began while the clock was ahead can be
		 * executed so much later: blocked, then frozen. */
		if (sim_server.hasty_until)
			note_haste(1000000 + ttl_us() * 3 / 2);
		break;
	case SIM_CLOCK_AHEAD:
		us = sim_between(1000, 3 * ttl_us());
		sim_server.clock_us += us + days_us(us);
		note_haste(0);
		break;
	default:
		sim_server_restart(until(1000000) - sim_now, kind == SIM_CRASH);
	}
}

static void strike_connection(enum sim_fault_kind kind)
{
	struct sim_session *session = sim_session_any();

	if (!session)
		return;
	if (kind == SIM_KILL_CONNECTION)
		sim_session_kill(session);
	else if (kind == SIM_KILL_QUERY)
		sim_session_interrupt(session);
	else
		session->silent = true;
}

/* Somebody deletes a lease by hand, and tells nobody. */
static void strike_lease(void)
{
	static const struct sim_session nobody;
	struct sim_lease *lease;

	if (!sim_world.breaks || sim_locks_any() || !sim_tables.lease_places)
		return;
	lease = &sim_tables.leases[sim_below(sim_tables.lease_places)];
	if (!lease->there)
		return;
	sim_judge_lease_broken(&nobody, lease);
	lease->there = false;
	lease->gone_us = sim_now;
	if (sim_kind_of(lease) == SIM_KIND_PERMITS)
		sim_tables.permits_us[lease->name] = sim_now;
}

static void do_strike(enum sim_fault_kind kind)
{
	struct sim_proc *proc = sim_app_any();

	if (kind >= SIM_PAUSE && kind <= SIM_VANISH) {
		if (!proc)
			return;
		sim_fault(kind);
		strike_process(kind, proc);
	} else {
		sim_fault(kind);
		if (kind <= SIM_CLOCK_AHEAD)
			strike_server(kind);
		else if (kind == SIM_ROW_GONE)
			strike_lease();
		else
			strike_connection(kind);
	}
}

static void on_strike(struct sim_event *event)
{
	do_strike(drawn[sim_below(drawn_count)]);
	sim_event_set(event, sim_now + sim_between(0, 2 * mean_us));
}

/* ----------------------------------------------------- begin and heal */

static void draw(enum sim_fault_kind kind, uint32_t rate)
{
	if (sim_below(3))
		return;
	if (kind >= SIM_PAUSE && kind <= SIM_HALF_OPEN) {
		drawn[drawn_count++] = kind;
		return;
	}
	chances[kind] = (uint32_t) ((uint64_t) kinds[kind].most * rate / 1000);
	if (kind == SIM_STALL)
		sim_pace.stall = (uint32_t) sim_below(60);
}

/* Answers that are lost or late, and processes that are cut off for a while: of
 * what a commit may not hear of its end by, much. */
static void draw_for_commits(void)
{
	static const enum sim_fault_kind more[] = {
		SIM_LOST_REPLY,
		SIM_SLOW_REPLY,
		SIM_SLOW_REQUEST,
		SIM_LATE_EXECUTION,
	};

	for (size_t i = 0; i < RLK_ARRAY_SIZE(more); i++)
		chances[more[i]] = 2 * kinds[more[i]].most;
	drawn_count = 0;
	drawn[drawn_count++] = SIM_CUT;
	mean_us = sim_between(100, 1000) * 1000;
}

void sim_faults_begin(bool none)
{
	/* Per mille of the highest chance: rare ones are not hidden. */
	uint32_t rate = 1u << sim_between(3, 10);

	memset(chances, 0, sizeof(chances));
	drawn_count = 0;
	mean_us = sim_between(50, 3000) * 1000;
	sim_pace = (struct sim_pace){
		.preempt = (uint32_t) sim_below(150000),
		.stall_us = sim_between(1000, 60000),
	};
	strike.fire = on_strike;
	for (int kind = 0; kind < SIM_FAULTS && !none; kind++)
		draw((enum sim_fault_kind) kind, rate);
	if (sim_options.commits)
		draw_for_commits();
	if (drawn_count)
		sim_event_set(&strike, sim_now + sim_between(0, mean_us));
}

void sim_faults_heal(void)
{
	struct rlk_list *node;

	memset(chances, 0, sizeof(chances));
	sim_pace.stall = 0;
	sim_event_clear(&strike);
	for (node = sim_procs.next; node != &sim_procs; node = node->next)
		container_of(node, struct sim_proc, node)->cut_until = 0;
	sim_server.read_only_until = 0;
	if (sim_server.frozen_until > sim_now)
		sim_server.frozen_until = sim_now;
}
