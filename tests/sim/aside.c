/* SPDX-License-Identifier: MIT */
/*
 * What a thread does with its client between two cycles: calls for people, and
 * a function that is run under a lock.
 */
#include <rowlock/mysql.h>

#include "app_private.h"
#include "core/client.h"
#include "judge.h"
#include "proc.h"
#include "sim.h"

/* The longest that a function lasts which is executed under a lock. */
#define INSIDE_MS 3

void sim_aside_break(struct rowlock_client *client)
{
	struct sim_call call;
	bool row = sim_world.row && (!sim_world.lease || sim_below(2));
	int code;

	sim_self->proc->broke_us = sim_now;
	sim_call_begin(&call, "break", RLK_NEVER);
	code = rowlock_break(client, row ? ROWLOCK_ROW : ROWLOCK_LEASE,
			     sim_names[sim_below(sim_world.names)], NULL);
	sim_call_end(&call);
	sim_self->proc->broke_us = sim_now;
	sim_app_code(SIM_CALL_OTHER, code);
	sim_app_expect("break", code, code == ROWLOCK_ENOTHELD);
}

/* No world lasts for the hour after which old tokens are looked for again. */
static void pass_an_hour(struct rowlock_client *client)
{
	rlk_mutex_lock(&client->mutex);
	client->next_tokens_ms = 0;
	rlk_mutex_unlock(&client->mutex);
}

void sim_aside_reap(struct rowlock_client *client)
{
	int code;

	pass_an_hour(client);
	code = rowlock_reap(client, NULL, NULL, NULL);
	sim_app_code(SIM_CALL_OTHER, code);
	sim_app_expect("reap", code, false);
}

/* What rowlock_execute() runs, and what it saw. */
struct inside {
	unsigned int name;
	bool ran;
	bool held; /* until its end */
};

static void run_inside(struct rowlock *lock, void *arg)
{
	struct inside *inside = arg;

	if (inside->ran)
		sim_violation("execute has run its function twice");
	inside->ran = true;
	sim_judge_entered(lock, inside->name);
	sim_sleep(sim_between(0, INSIDE_MS * 1000));
	inside->held = sim_judge_left(lock);
}

void sim_aside_execute(struct rowlock_client *client)
{
	struct rowlock_options lock = ROWLOCK_OPTIONS_DEFAULT;
	struct inside inside = {
		.name = (unsigned int) sim_below(sim_world.names),
	};
	bool row = sim_world.row && (!sim_world.lease || sim_below(2));
	struct sim_call call;
	uint64_t wait_ms;
	int code;

	lock.strategy = row ? ROWLOCK_ROW : ROWLOCK_LEASE;
	wait_ms = sim_below(2) ? 0 : (uint64_t) sim_between(1, 300);
	/* It has to be acquired, and released: twice what is allowed. */
	sim_call_begin(&call, "execute",
		       (wait_ms ? wait_ms : sim_world.call_ms) + INSIDE_MS +
			   sim_world.call_ms + 100);
	code = rowlock_execute(client, sim_names[inside.name], &lock, wait_ms,
			       run_inside, &inside, NULL);
	sim_call_end(&call);
	sim_app_code(SIM_CALL_OTHER, code);
	sim_app_expect(
	    "execute", code,
	    (code == ROWLOCK_EBUSY && !wait_ms) ||
		(code == ROWLOCK_ETIMEDOUT && wait_ms) ||
		((code == ROWLOCK_ELOST || code == ROWLOCK_EUNKNOWN) &&
		 !sim_world.calm));
	if (inside.ran !=
	    (code == 0 || code == ROWLOCK_ELOST || code == ROWLOCK_EUNKNOWN))
		sim_violation("execute returned %d, and its function has%s run",
			      code, inside.ran ? "" : " not");
	if (code == 0 && !inside.held)
		sim_violation("execute says that '%s' was held, but it was not "
			      "at the end of its function",
			      sim_names[inside.name]);
}

static int list_entry(const struct rowlock_entry *entry, void *arg)
{
	unsigned int *entries = arg;

	if (entry->strategy == ROWLOCK_LEASE && !entry->attempt &&
	    entry->state == ROWLOCK_STATE_HELD)
		sim_violation("'%s' is listed as held by nobody", entry->name);
	(*entries)++;
	return 0;
}

void sim_aside_list(struct rowlock_client *client)
{
	unsigned int entries = 0;
	struct sim_call call;
	int code;

	/* Of leases, of who holds rows, and of rows. */
	sim_call_begin(&call, "list", 3 * sim_world.call_ms);
	code = rowlock_list(client, NULL, list_entry, &entries, NULL);
	sim_call_end(&call);
	sim_app_code(SIM_CALL_OTHER, code);
	sim_app_expect("list", code, false);
	/* Of readers, permits and candidates there may be many. */
	if (entries > 2 * SIM_NAMES && !sim_world.rwlocks &&
	    !sim_world.semaphores && !sim_world.elections)
		sim_violation("%u names are listed", entries);
}

/* --------------------------------------------------------------- a child */

static void expect_forked(const char *call, int code)
{
	if (code != ROWLOCK_EFORKED)
		sim_violation("%s returned %d in a child of fork()", call,
			      code);
}

static void use_client(struct rowlock_client *client)
{
	struct rowlock_errinfo error;
	struct rowlock *lock;
	struct inside inside = { 0 };
	unsigned int entries;

	expect_forked("new", rowlock_new(client, "x", NULL, &lock, &error));
	expect_forked("execute", rowlock_execute(client, "x", NULL, 0,
						 run_inside, &inside, &error));
	expect_forked("list",
		      rowlock_list(client, NULL, list_entry, &entries, &error));
	expect_forked("break",
		      rowlock_break(client, ROWLOCK_ROW, sim_names[0], &error));
	expect_forked("reap", rowlock_reap(client, NULL, NULL, &error));
	expect_forked("client_free", rowlock_client_try_free(client, &error));
}

static void use_lock(struct rowlock *lock)
{
	struct rowlock_errinfo error;
	uint64_t token;

	expect_forked("acquire", rowlock_acquire(lock, 0, &error));
	expect_forked("release", rowlock_release(lock, &error));
	expect_forked("acquire_in",
		      rowlock_acquire_in_transaction(lock, NULL, 0, &error));
	expect_forked("draw_in",
		      rowlock_token_in_transaction(lock, NULL, &token, &error));
	expect_forked("verify", rowlock_verify(lock, &error));
	expect_forked("token", rowlock_token(lock, &token, &error));
	expect_forked("free", rowlock_try_free(lock, &error));
	rowlock_cancel(lock);
	rowlock_on_lost(lock, NULL, NULL);
	if (rowlock_held(lock) || rowlock_depth(lock) ||
	    rowlock_remaining_ms(lock))
		sim_violation("held in a child of fork()");
}

/* Its memory is its parent's as long as it only looks: another process's number
 * is all that makes the difference. What it changes there is seen. */
void sim_aside_fork(struct rowlock_client *client, struct rowlock *lock)
{
	struct sim_proc child = { .number = ++sim_world.procs };
	struct sim_proc *parent = sim_self->proc;
	int64_t began = sim_now;
	uint64_t steps = sim_steps;

	sim_self->proc = &child;
	use_client(client);
	use_lock(lock);
	sim_self->proc = parent;
	if (sim_now != began || sim_steps != steps)
		sim_violation("a child of fork() waits for its parent");
}
