/* SPDX-License-Identifier: MIT */
/*
 * Processes of applications. Each has a place; when it is killed another is
 * born there. Its first thread makes the client, starts the others and waits;
 * at the end it frees the client and looks what that left behind.
 */
#include "app.h"

#include <stdlib.h>
#include <string.h>

#include "app_private.h"
#include "fault.h"
#include "judge.h"
#include "proc.h"
#include "sim.h"
#include "trace.h"

#define PLACES_MOST 5

/* A process that dies may be born again in so long. */
#define REBIRTH_US 1500000

static struct sim_app places[PLACES_MOST];
static unsigned int place_count;
static bool closing;

uint64_t sim_app_codes[SIM_CALLS][SIM_CODES];
uint64_t sim_cycles;
uint64_t sim_cycles_by[2];

int sim_app_code(enum sim_app_call call, int code)
{
	sim_app_codes[call][-code]++;
	return code;
}

/* ------------------------------------------------------------- clients */

/* Off, short turns, or what it is by default. */
static void draw_handover(struct rowlock_client_options *options)
{
	uint64_t die = sim_below(8);

	if (die < 2)
		options->flags |= ROWLOCK_NO_HANDOVER;
	else if (die < 5)
		options->handover_passes = (unsigned int) sim_between(1, 8);
	if (sim_below(8) == 0)
		options->handover_ms = (uint64_t) sim_between(1, 5);
	/* A commit without an answer is in the turn, too. */
	if (sim_world.guards && sim_below(2))
		options->handover_ms = sim_world.call_ms * 4;
}

int sim_app_client(struct rowlock_client **ret_client,
		   struct rowlock_errinfo *reterr)
{
	static const unsigned int waits[] = { 0, 1, 3, 16 };
	struct rowlock_client_options options = ROWLOCK_CLIENT_OPTIONS_DEFAULT;
	struct sim_call call;
	int code;

	options.dsn = "host=simulation";
	options.program = "sim";
	options.ttl_ms = sim_world.ttl_ms;
	options.row_idle_ms = sim_world.idle_ms;
	options.call_timeout_ms = sim_world.call_ms;
	options.connect_timeout_ms = sim_world.connect_ms;
	if (sim_below(3))
		options.reap_interval_ms = (uint64_t) sim_between(100, 2000);
	else
		options.flags |= ROWLOCK_NO_REAPER;
	options.wait_connections = waits[sim_below(RLK_ARRAY_SIZE(waits))];
	if (!options.wait_connections)
		options.flags |= ROWLOCK_POLL;
	options.batch_size = sim_world.group;
	draw_handover(&options);
	if (sim_world.observe)
		options.flags |= ROWLOCK_OBSERVE_BEATS;
	sim_call_begin(&call, "client_new",
		       sim_world.connect_ms + sim_world.call_ms);
	code = rowlock_client_new(&options, ret_client, reterr);
	sim_call_end(&call);
	return sim_app_code(SIM_CALL_CLIENT, code);
}

void sim_app_leave(struct rowlock_client *client)
{
	struct sim_proc *proc = sim_self->proc;
	struct rowlock_errinfo error;
	struct sim_call call;

	proc->ending = true;
	if (client)
		sim_judge_offers_leave(client);
	sim_call_begin(&call, "client_free", sim_world.call_ms);
	if (client && rowlock_client_try_free(client, &error))
		sim_violation("a client cannot be freed: %s", error.message);
	sim_call_end(&call);
	/* An opener that was left alone ends by itself. */
	for (int i = 0; i < 1000 && proc->arena.live; i++)
		sim_sleep(10000);
	if (proc->arena.live)
		sim_violation("process %u ends and leaves %zu blocks of memory",
			      proc->number, proc->arena.live);
	if (sim_descriptors(proc) || !rlk_list_empty(&proc->sockets))
		sim_violation("process %u ends and leaves descriptors",
			      proc->number);
	sim_proc_end(proc);
}

/* ----------------------------------------------------------- processes */

static void open_client(struct sim_app *app)
{
	struct rowlock_client *client = NULL;
	struct rowlock_errinfo error;

	while (!closing && sim_app_client(&client, &error)) {
		if (sim_world.calm)
			sim_violation("no client in a calm world: %s",
				      error.message);
		sim_sleep(sim_between(1000, 100000));
		if (sim_world.ending)
			return;
	}
	app->client = client;
}

static void start_thread(struct sim_app *app, unsigned int i)
{
	struct sim_thread *thread = &app->threads[i];

	thread->app = app;
	thread->fiber = sim_fiber_new(app->proc, sim_thread_run, thread);
	thread->fiber->number = i + 1;
}

static void start_threads(struct sim_app *app)
{
	app->thread_count = (unsigned int) sim_between(1, sim_world.threads);
	for (unsigned int i = 0; i < app->thread_count; i++)
		start_thread(app, i);
}

bool sim_app_leaves(const struct sim_app *app)
{
	return sim_world.ending || sim_now >= app->leaves_us;
}

static bool all_ended(const struct sim_app *app)
{
	for (unsigned int i = 0; i < app->thread_count; i++)
		if (!app->threads[i].fiber->ended)
			return false;
	return true;
}

/* Another one comes in the place of each that has ended while it held. */
static void replace_threads(struct sim_app *app)
{
	for (unsigned int i = 0; i < app->thread_count; i++) {
		struct sim_thread *thread = &app->threads[i];
		uint64_t serial = thread->serial;

		if (!thread->leaves || !thread->fiber->ended)
			continue;
		sim_fiber_join(thread->fiber);
		sim_thread_left(thread);
		sim_thread_free(thread);
		thread->serial = serial;
		start_thread(app, i);
	}
}

/* Who waits without an end is canceled when all shall go. */
static void join_threads(struct sim_app *app)
{
	while (!all_ended(app)) {
		sim_sleep(20000);
		replace_threads(app);
		for (unsigned int i = 0; i < app->thread_count; i++)
			if (sim_app_leaves(app))
				sim_thread_cancel(&app->threads[i]);
	}
	for (unsigned int i = 0; i < app->thread_count; i++) {
		sim_fiber_join(app->threads[i].fiber);
		sim_thread_free(&app->threads[i]);
	}
	app->thread_count = 0;
}

static void run(void *arg)
{
	struct sim_app *app = arg;

	sim_observe(app);
	app->proc = sim_self->proc;
	app->leaves_us = INT64_MAX;
	app->exports = false;
	if (sim_below(3) == 0)
		app->leaves_us = sim_now + sim_between(0, 5000000);
	sim_sleep(sim_between(0, 20000));
	open_client(app);
	sim_trace((struct sim_note){ "client ttl=%u strategy=lease|row",
				     { sim_world.ttl_ms } });
	if (app->client && !sim_world.ending) {
		start_threads(app);
		join_threads(app);
	}
	/* One that leaves in the course makes room for another. */
	while (sim_world.ending && !closing && !app->exports) {
		app->resting = true;
		sim_sleep(5000);
	}
	app->proc = NULL;
	sim_publish(app);
	sim_app_leave(app->client);
	app->client = NULL;
	if (sim_world.ending)
		app->resting = app->gone = true;
	else
		sim_event_set(&app->birth, sim_now + sim_between(0, 100000));
}

static void give_birth(struct sim_event *event)
{
	struct sim_app *app = container_of(event, struct sim_app, birth);

	if (sim_world.ending) {
		app->resting = true;
		app->gone = true;
		return;
	}
	memset(app->threads, 0, sizeof(app->threads));
	app->client = NULL;
	app->thread_count = 0;
	app->proc = sim_proc_new(run, app);
}

void sim_app_begin(void)
{
	closing = false;
	place_count = (unsigned int) sim_between(1, PLACES_MOST);
	for (unsigned int i = 0; i < place_count; i++) {
		places[i] = (struct sim_app){ .birth.fire = give_birth };
		sim_event_set(&places[i].birth,
			      sim_now + sim_between(0, 20000));
	}
}

struct sim_proc *sim_app_any(void)
{
	struct sim_proc *proc = places[sim_below(place_count)].proc;

	return proc && !proc->ending && !sim_world.ending ? proc : NULL;
}

void sim_app_kill(struct sim_proc *proc, bool silent)
{
	struct sim_app *app = proc->app;

	app->proc = NULL;
	app->client = NULL;
	app->thread_count = 0;
	sim_proc_kill(proc, silent);
	sim_event_set(&app->birth, sim_now + sim_between(0, REBIRTH_US));
}

bool sim_app_done(void)
{
	for (unsigned int i = 0; i < place_count; i++)
		if (!places[i].resting)
			return false;
	return true;
}

void sim_app_close(void)
{
	closing = true;
}

bool sim_app_closed(void)
{
	for (unsigned int i = 0; i < place_count; i++)
		if (!places[i].gone)
			return false;
	return true;
}
