/* SPDX-License-Identifier: MIT */
/*
 * The scheduler: fibers that can run stand in an array of which one is drawn. A
 * switch is a longjmp(); no system call. Each step takes a little time, so that
 * deadlines pass also while everybody is busy.
 */
#include "scheduler.h"

#include "fault.h"
#include "proc.h"
#include "switch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK (128 * 1024)
#define STEP_US 6

int64_t sim_now;
struct sim_fiber *sim_self;
uint64_t sim_steps;
struct sim_pace sim_pace;

/* ----------------------------------------------------- who can run */

static struct sim_fiber **ready; /* from 1 */
static unsigned int ready_count;
static unsigned int ready_size;

static void ready_add(struct sim_fiber *fiber)
{
	if (ready_count + 2 > ready_size) {
		ready_size = ready_size ? ready_size * 2 : 256;
		ready = realloc(ready, ready_size * sizeof(struct sim_fiber *));
		if (!ready)
			abort();
	}
	ready[++ready_count] = fiber;
	fiber->place = ready_count;
}

static void ready_remove(struct sim_fiber *fiber)
{
	struct sim_fiber *last = ready[ready_count--];

	ready[fiber->place] = last;
	last->place = fiber->place;
	fiber->place = 0;
}

/* ------------------------------------------------------------- switch */

static jmp_buf scheduler;
static struct rlk_list unused = RLK_LIST_INIT(unused);
static struct sim_fiber *beginner; /* handed to a new fiber's first call */

/* Back to the scheduler, until it chooses this fiber again. */
static void leave(struct sim_fiber *fiber)
{
	if (_setjmp(fiber->context) == 0) {
		sim_to_main(&fiber->picture);
		sim_jump(scheduler);
	}
	sim_in_fiber(&fiber->picture);
}

/* A fiber runs one function after another, so that its first call, which needs
 * a system call, is needed once per stack. */
static void first_call(void)
{
	struct sim_fiber *fiber = beginner;

	sim_in_fiber(&fiber->picture);
	for (;;) {
		sim_in_new();
		sim_observe(fiber);
		fiber->fn(fiber->arg);
		sim_thread_ends();
		sim_publish(fiber);
		fiber->ended = true;
		ready_remove(fiber);
		if (fiber->joiner)
			sim_fiber_wake(fiber->joiner);
		if (fiber->detached)
			sim_fiber_drop(fiber);
		leave(fiber);
	}
}

static void enter_first(struct sim_fiber *fiber)
{
	/* Not on the stack: nobody will leave this frame properly. */
	static ucontext_t context;

	getcontext(&context);
	context.uc_stack.ss_sp = fiber->stack;
	context.uc_stack.ss_size = STACK;
	context.uc_link = NULL;
	makecontext(&context, first_call, 0);
	beginner = fiber;
	fiber->started = true;
	setcontext(&context);
}

static void enter(struct sim_fiber *fiber)
{
	sim_self = fiber;
	if (_setjmp(scheduler) == 0) {
		sim_to_fiber(&fiber->picture, fiber->stack, STACK);
		if (fiber->started)
			sim_jump(fiber->context);
		enter_first(fiber);
	}
	sim_in_main();
	sim_self = NULL;
}

/* ------------------------------------------------------------- fibers */

static void ring(struct sim_event *event)
{
	struct sim_fiber *fiber = container_of(event, struct sim_fiber, timer);

	if (fiber->stalled) {
		fiber->stalled = false;
		sim_proc_unhinder(fiber->proc);
		ready_add(fiber);
	} else if (!fiber->place) {
		ready_add(fiber);
	}
}

static struct sim_fiber *make(void)
{
	struct sim_fiber *fiber = calloc(1, sizeof(*fiber));

	if (!fiber)
		abort();
	fiber->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fiber->stack == MAP_FAILED)
		abort();
	rlk_list_init(&fiber->node);
	rlk_list_init(&fiber->in_wait);
	fiber->timer.fire = ring;
	sim_picture_begin(&fiber->picture, fiber->stack, STACK);
	return fiber;
}

struct sim_fiber *sim_fiber_new(struct sim_proc *proc, void (*fn)(void *),
				void *arg)
{
	struct rlk_list *node = rlk_list_first(&unused);
	struct sim_fiber *fiber =
	    node ? container_of(node, struct sim_fiber, node) : make();

	rlk_list_remove(&fiber->node);
	fiber->fn = fn;
	fiber->arg = arg;
	fiber->proc = proc;
	fiber->serial = proc ? ++proc->fiber_serial : 0;
	fiber->number = 0;
	fiber->ended = false;
	fiber->detached = false;
	fiber->woken = false;
	fiber->stalled = false;
	fiber->mutexes = 0;
	fiber->owed = 0;
	fiber->joiner = NULL;
	fiber->acquiring = NULL;
	if (proc)
		rlk_list_append(&proc->fibers, &fiber->node);
	sim_publish(fiber);
	ready_add(fiber);
	return fiber;
}

void sim_fiber_drop(struct sim_fiber *fiber)
{
	rlk_list_remove(&fiber->node);
	/* The last used first: its stack is in the cache. */
	fiber->node.next = unused.next;
	fiber->node.prev = &unused;
	unused.next->prev = &fiber->node;
	unused.next = &fiber->node;
}

void sim_fiber_kill(struct sim_fiber *fiber)
{
	if (fiber->place)
		ready_remove(fiber);
	sim_event_clear(&fiber->timer);
	rlk_list_remove(&fiber->in_wait);
	if (fiber->ended) {
		sim_picture_close(&fiber->picture);
	} else {
		fiber->started = false;
		sim_picture_wipe(&fiber->picture, fiber->stack, STACK);
	}
	sim_fiber_drop(fiber);
}

void sim_fiber_wake(struct sim_fiber *fiber)
{
	fiber->woken = true;
	if (fiber->place || fiber->stalled || fiber->ended)
		return;
	sim_event_clear(&fiber->timer);
	ready_add(fiber);
}

void sim_block(void)
{
	sim_block_until(INT64_MAX);
}

bool sim_block_until(int64_t at_us)
{
	struct sim_fiber *self = sim_self;

	if (self->woken) {
		self->woken = false;
		return true;
	}
	if (at_us != INT64_MAX)
		sim_event_set(&self->timer, at_us);
	ready_remove(self);
	leave(self);
	sim_event_clear(&self->timer);
	if (!self->woken)
		return false;
	self->woken = false;
	return true;
}

void sim_sleep(int64_t us)
{
	int64_t until = sim_now + us;

	while (sim_now < until)
		sim_block_until(until);
}

void sim_yield(void)
{
	leave(sim_self);
}

void sim_fiber_join(struct sim_fiber *fiber)
{
	fiber->joiner = sim_self;
	while (!fiber->ended)
		sim_block();
	sim_observe(fiber);
	sim_fiber_drop(fiber);
}

void sim_unpark(struct sim_proc *proc)
{
	struct sim_fiber *fiber;

	rlk_list_each (fiber, &proc->fibers, node) {
		if (!fiber->stalled || sim_event_is_set(&fiber->timer))
			continue;
		fiber->stalled = false;
		ready_add(fiber);
	}
}

/* ---------------------------------------------------------------- run */

static bool stopped;

void sim_stop(void)
{
	stopped = true;
}

/* Is the machine kind to it? */
static bool may_run(struct sim_fiber *fiber)
{
	struct sim_proc *proc = fiber->proc;

	if (!proc)
		return true;
	if (proc->paused) {
		ready_remove(fiber);
		fiber->stalled = true;
		return false;
	}
	if (sim_chance(sim_pace.stall)) {
		int64_t us = sim_between(100, sim_pace.stall_us);

		sim_fault(SIM_STALL);
		ready_remove(fiber);
		fiber->stalled = true;
		sim_proc_hinder(proc);
		sim_event_set(&fiber->timer, sim_now + us);
		return false;
	}
	return true;
}

static void fire_due(void)
{
	struct sim_event *event;

	while ((event = sim_event_first()) && event->at <= sim_now) {
		sim_event_clear(event);
		event->fire(event);
	}
}

void sim_run(void (*each)(void))
{
	stopped = false;
	while (!stopped) {
		struct sim_fiber *fiber;

		fire_due();
		if (ready_count == 0) {
			if (!sim_event_first())
				return;
			sim_now = sim_event_first()->at;
			continue;
		}
		fiber = ready[1 + sim_below(ready_count)];
		if (!may_run(fiber))
			continue;
		enter(fiber);
		sim_steps++;
		sim_now += (int64_t) sim_below(STEP_US);
		each();
	}
}

void sim_reset(void)
{
	while (sim_event_first())
		sim_event_clear(sim_event_first());
	sim_now = 1000000;
}
