/* SPDX-License-Identifier: MIT */
/*
 * One process holds the rows of all names, when all is healed but the
 * connections of some, on which no packet passes any more, or but the way to
 * the server, which is long:
 *
 *   a hold whose own connection is good is not lost
 */
#include "world.h"

#include "app.h"
#include "core/client.h"
#include "hold/handle.h"
#include "net.h"
#include "proc.h"
#include "sim.h"

struct street {
	unsigned int dead; /* the first so many of the names */
	int64_t far_us;    /* one way, besides what any packet takes */
	bool done;
	struct rowlock *locks[SIM_NAMES];
};

/* Half of what a ping may take there and back, and nearly. Pings that were
 * waited for one by one would take longer than a hold lasts, but where a call
 * has little time. */
static int64_t far_us(void)
{
	uint64_t ms = sim_world.idle_ms / 3;

	if (sim_world.call_ms < ms)
		ms = sim_world.call_ms;
	return (int64_t) ms * 1000 * 4 / 10;
}

static void lock_all(struct street *street, struct rowlock_client *client)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_errinfo error = { 0 };

	options.strategy = ROWLOCK_ROW;
	for (unsigned int i = 0; i < SIM_NAMES; i++)
		if (rowlock_new(client, sim_names[i], &options,
				&street->locks[i], &error) ||
		    rowlock_acquire(street->locks[i], 60000, &error))
			sim_violation("'%s' (row) cannot be had after all is "
				      "healed: %s",
				      sim_names[i], error.message);
}

static void silence(const struct rowlock *lock)
{
	const struct rlk_conn *conn = rlk_hold_conn(lock->hold);

	((const struct sim_conn *) (const void *) conn)->session->silent = true;
}

static void watch(const struct street *street, int64_t us)
{
	int64_t until = sim_now + us;

	while (sim_now < until) {
		for (unsigned int i = street->dead; i < SIM_NAMES; i++)
			if (!rowlock_held(street->locks[i]))
				sim_violation("'%s' (row) is lost with a "
					      "neighbour: %u of %u connections "
					      "are dead, %lld us to the server",
					      sim_names[i], street->dead,
					      SIM_NAMES,
					      (long long) street->far_us);
		sim_sleep(20000);
	}
}

static void unlock_all(struct street *street)
{
	for (unsigned int i = 0; i < SIM_NAMES; i++) {
		struct rowlock_errinfo error = { 0 };
		int code = rowlock_release(street->locks[i], &error);

		if (code && !(code == ROWLOCK_ELOST && i < street->dead))
			sim_violation("the release of '%s' failed: %s",
				      sim_names[i], error.message);
		if (rowlock_try_free(street->locks[i], &error))
			sim_violation("no end of a handle: %s", error.message);
	}
}

static void live(void *arg)
{
	struct street *street = arg;
	struct rowlock_client *client;
	struct rowlock_errinfo error = { 0 };

	if (sim_app_client(&client, &error))
		sim_violation("no client after all is healed: %s",
			      error.message);
	lock_all(street, client);
	sim_sleep(sim_between(0, (int64_t) sim_world.idle_ms * 500));
	for (unsigned int i = 0; i < street->dead; i++)
		silence(street->locks[i]);
	sim_self->proc->far_us = street->far_us;
	watch(street, (int64_t) sim_world.idle_ms * 2500);
	sim_self->proc->far_us = 0;
	unlock_all(street);
	street->done = true;
	sim_app_leave(client);
}

void sim_neighbours_play(void)
{
	struct street street = {
		.dead = sim_below(2) ? (unsigned int) sim_between(1, 6) : 0,
	};

	if (street.dead == 0 || sim_below(2))
		street.far_us = far_us();
	sim_proc_new(live, &street)->app = NULL;
	while (!street.done)
		sim_sleep(10000);
}
