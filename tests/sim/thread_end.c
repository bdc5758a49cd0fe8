/* SPDX-License-Identifier: MIT */
/*
 * The end of threads that owe something, for fibers. Linked instead of
 * base/thread_end.c; a killed one tells nobody.
 */
#include "base/thread_end.h"

#include "proc.h"

int rlk_end_watch_start(struct rlk_end_watch *watch)
{
	struct sim_proc *proc = sim_self->proc;

	rlk_mutex_lock(&proc->ends);
	rlk_list_append(&proc->watches, &watch->node);
	rlk_mutex_unlock(&proc->ends);
	return 0;
}

void rlk_end_watch_stop(struct rlk_end_watch *watch)
{
	struct sim_proc *proc = sim_self->proc;

	rlk_mutex_lock(&proc->ends);
	rlk_list_remove(&watch->node);
	rlk_mutex_unlock(&proc->ends);
}

bool rlk_end_prepare(void)
{
	return true;
}

void rlk_end_owe(int more)
{
	sim_self->owed += more;
}

/* There is nothing to find: each end is told. */
void rlk_end_look(void)
{
}

static void tell_all(struct sim_proc *proc)
{
	struct rlk_end_watch *watch;

	rlk_mutex_lock(&proc->ends);
	rlk_list_each (watch, &proc->watches, node) {
		watch->ended(watch, sim_self->serial);
	}
	rlk_mutex_unlock(&proc->ends);
}

void sim_thread_ends(void)
{
	/* The last one of a process has ended that already. */
	if (sim_self->owed > 0 && sim_self->proc)
		tell_all(sim_self->proc);
}
