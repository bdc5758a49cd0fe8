/* SPDX-License-Identifier: MIT */
/*
 * A holder dies when all is healed, and another client wants its name:
 *
 *   L1  it has it a moment after the server, or whoever observes beats, may
 *       know of the death; not later
 */
#include "world.h"

#include "app.h"
#include "core/call.h"
#include "core/client.h"
#include "proc.h"
#include "sim.h"
#include "tables.h"
#include "trace.h"

/* Two looks of an observer, a poll, and the way there and back. */
#define MOMENT_US 500000

struct death {
	bool row;
	bool silent;        /* the whole host is gone */
	bool held;          /* the holder has the name */
	bool started;       /* the heir is born */
	bool done;          /* it has had the name, and gave it back */
	bool went_back;     /* the server's clock, since its last beat */
	bool observes;      /* the heir does not go by the server's clock */
	int64_t beaten_us;  /* of the holder's last beat */
	int64_t free_us;    /* by the server's clock, or by its idle bound */
	int64_t started_us; /* when the heir began to ask */
	int64_t had_us;
};

static struct rowlock *handle(const struct death *death,
			      struct rowlock_client **ret_client)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_errinfo error = { 0 };
	struct rowlock *lock;

	options.strategy = death->row ? ROWLOCK_ROW : ROWLOCK_LEASE;
	if (sim_app_client(ret_client, &error) ||
	    rowlock_new(*ret_client, sim_names[0], &options, &lock, &error))
		sim_violation("no client or handle after all is healed: %s",
			      error.message);
	return lock;
}

static void acquire(struct rowlock *lock, const char *who)
{
	struct rowlock_errinfo error = { 0 };

	if (rowlock_acquire(lock, 60000, &error))
		sim_violation("L1: the %s of '%s' never has it: %s", who,
			      sim_names[0], error.message);
}

/* It ends by a kill. */
static void live_and_hold(void *arg)
{
	struct death *death = arg;
	struct rowlock_client *client;
	struct rowlock *lock = handle(death, &client);

	acquire(lock, "holder");
	death->held = true;
	for (;;)
		sim_sleep(1000000);
}

static void inherit(void *arg)
{
	struct death *death = arg;
	struct rowlock_client *client;
	struct rowlock *lock = handle(death, &client);
	struct rowlock_errinfo error = { 0 };

	death->started_us = sim_now;
	acquire(lock, "heir");
	death->had_us = sim_now;
	/* It may have seen that the clock went back. */
	death->observes = sim_world.observe || client->jumped_ms != RLK_NEVER;
	if (rowlock_release(lock, &error) || rowlock_try_free(lock, &error))
		sim_violation("the heir's release failed: %s", error.message);
	death->done = true;
	sim_app_leave(client);
}

static void start_heir(struct death *death)
{
	death->started = true;
	sim_proc_new(inherit, death)->app = NULL;
}

/* The holder is dead, and its last packets have arrived. */
static void note_end(struct death *death)
{
	const struct sim_session *owner = sim_tables.rows[0].owner;
	const struct sim_session_row *row =
	    sim_session_row(sim_tables.leases[0].session);
	int64_t left;

	death->free_us = sim_now;
	if (death->row) {
		if (death->silent && owner && !owner->conn)
			death->free_us = sim_session_idle_until(owner);
		/* Each that stood in line and has vanished has its turn. */
		death->free_us += sim_bell_ghosts() *
				  (int64_t) sim_world.idle_ms * 11 / 10 * 1000;
		return;
	}
	if (!row)
		sim_violation("the session of a holder that has just died is "
			      "gone");
	death->beaten_us = row->beaten_us;
	left = row->expires_us - sim_server_us();
	/* Nobody gets more than a TTL. */
	death->went_back =
	    left / 1000 >
	    (int64_t) (sim_world.ttl_ms + rlk_margin(sim_world.ttl_ms));
	death->free_us = sim_now + left - left * sim_server.ppm / 1000000;
}

/* Since when it could be had: by an observer, if it has seen no beat for so
 * long; clocks differ by less than a twentieth. */
static int64_t due_us(const struct death *death)
{
	int64_t ttl = (int64_t) sim_world.ttl_ms;
	int64_t silent_us = (ttl + (int64_t) rlk_margin((uint64_t) ttl)) * 1000;
	bool observes = !death->row && death->observes;
	int64_t from = observes ? death->beaten_us : death->free_us;

	if (from < death->started_us)
		from = death->started_us;
	/* One who stands in line behind the dead one's bell looks four times
	 * meanwhile, the first of them perhaps just before the last beat. One
	 * who trusted the clock until then looks when that says so. */
	if (observes && sim_world.observe)
		from += silent_us + silent_us / 4;
	else if (observes)
		from += 2 * silent_us + silent_us / 4;
	return death->row ? from : from + ttl * 1000 / 20;
}

void sim_death_play(void)
{
	struct death death = {
		.row = sim_world.row && (!sim_world.lease || sim_below(2)),
		.silent = sim_below(2) == 0,
	};
	struct sim_proc *holder = sim_proc_new(live_and_hold, &death);
	int64_t ttl_us = (int64_t) sim_world.ttl_ms * 1000;

	holder->app = NULL;
	while (!death.held)
		sim_sleep(1000);
	if (sim_below(2))
		start_heir(&death);
	sim_sleep(sim_between(0, 2 * ttl_us));
	sim_proc_kill(holder, death.silent);
	sim_sleep(2000);
	note_end(&death);
	if (!death.started) {
		sim_sleep(sim_between(0, 3 * ttl_us / 2));
		start_heir(&death);
	}
	while (!death.done)
		sim_sleep(1000);
	if (death.had_us > due_us(&death) + MOMENT_US)
		sim_violation("L1: '%s' (%s) of a dead process is had "
			      "%lld ms too late",
			      sim_names[0], death.row ? "row" : "lease",
			      (long long) (death.had_us - due_us(&death)) /
				  1000);
}
