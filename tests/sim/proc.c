/* SPDX-License-Identifier: MIT */
/*
 * Processes: born, paused, killed, ended.
 */
#include "proc.h"

#include <stdlib.h>

#include "fault.h"
#include "judge.h"
#include "net.h"
#include "sim.h"

struct rlk_list sim_procs = RLK_LIST_INIT(sim_procs);

/* Clock rates differ by less than the margin, a tenth: that is assumed. */
#define PPM_MOST 20000

void sim_proc_hinder(struct sim_proc *proc)
{
	if (proc->hindered++ == 0)
		proc->hindered_us = sim_now;
}

void sim_proc_unhinder(struct sim_proc *proc)
{
	if (--proc->hindered == 0)
		proc->delay_us += sim_now - proc->hindered_us;
}

int64_t sim_proc_delay(const struct sim_proc *proc)
{
	return proc->delay_us +
	       (proc->hindered ? sim_now - proc->hindered_us : 0);
}

static void resume(struct sim_event *event)
{
	struct sim_proc *proc = container_of(event, struct sim_proc, resume);

	proc->paused = false;
	sim_proc_unhinder(proc);
	sim_unpark(proc);
}

struct sim_proc *sim_proc_new(void (*main_fn)(void *), void *arg)
{
	struct sim_proc *proc = calloc(1, sizeof(*proc));

	if (!proc)
		abort();
	proc->number = ++sim_world.procs;
	proc->pid = 1000 + (int) proc->number;
	proc->resume.fire = resume;
	proc->clock = (struct sim_clock){
		.clock.ops = sim_clock_ops(),
		.offset_us = sim_between(0, 1000000000),
		.ppm = sim_between(-PPM_MOST, PPM_MOST),
	};
	sim_arena_init(&proc->arena);
	rlk_list_init(&proc->fibers);
	rlk_list_init(&proc->watches);
	rlk_mutex_init(&proc->ends);
	rlk_list_init(&proc->sockets);
	rlk_list_init(&proc->node);
	rlk_list_append(&sim_procs, &proc->node);
	proc->app = arg;
	sim_fiber_new(proc, main_fn, arg);
	return proc;
}

static void forget(struct sim_proc *proc)
{
	sim_judge_forget(proc);
	sim_event_clear(&proc->resume);
	sim_sleepers_forget(proc);
	sim_arena_fini(&proc->arena);
	rlk_list_remove(&proc->node);
	free(proc);
}

void sim_proc_kill(struct sim_proc *proc, bool silent)
{
	struct rlk_list *node;

	sim_net_orphan(proc, silent);
	while ((node = rlk_list_first(&proc->fibers)))
		sim_fiber_kill(container_of(node, struct sim_fiber, node));
	forget(proc);
}

/* The last fiber is the caller, which will not touch the process again. */
void sim_proc_end(struct sim_proc *proc)
{
	struct rlk_list *node;

	while ((node = rlk_list_first(&proc->fibers))) {
		struct sim_fiber *fiber =
		    container_of(node, struct sim_fiber, node);

		if (fiber == sim_self) {
			rlk_list_remove(node);
			fiber->detached = true;
			fiber->proc = NULL;
			continue;
		}
		if (!fiber->ended)
			sim_violation("process %u ended while thread %u of it "
				      "still ran",
				      proc->number, (unsigned) fiber->serial);
		sim_fiber_drop(fiber);
	}
	forget(proc);
}

void sim_proc_pause(struct sim_proc *proc, int64_t us)
{
	if (proc->paused)
		return;
	proc->paused = true;
	sim_proc_hinder(proc);
	sim_event_set(&proc->resume, sim_now + us);
}
