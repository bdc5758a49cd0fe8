/* SPDX-License-Identifier: MIT */
/*
 * The library's mutexes, conditions, events and threads, for fibers. Linked
 * instead of base/thread.c; the state lives in the room of the pthread objects.
 *
 * A mutex may be taken by a thread that comes between an unlock and the one
 * that was woken by it, a signal wakes any of those that wait, and a wait may
 * end without a signal: all that POSIX allows.
 */
#include "base/thread.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "fault.h"
#include "judge.h"
#include "proc.h"
#include "sim.h"

struct mutex {
	struct sim_fiber *owner;
	struct rlk_list waiters;
};

_Static_assert(sizeof(struct mutex) <= sizeof(pthread_mutex_t), "room");
_Static_assert(sizeof(struct rlk_list) <= sizeof(pthread_cond_t), "room");

struct event {
	struct sim_fiber *sleeper;
	bool set;
};

_Static_assert(sizeof(struct event) <= sizeof(sem_t), "room");

static struct mutex *of(struct rlk_mutex *mutex)
{
	return (struct mutex *) (void *) mutex;
}

static struct rlk_list *waiters(struct rlk_cond *cond)
{
	return (struct rlk_list *) (void *) cond;
}

static struct sim_fiber *waiter(struct rlk_list *node)
{
	return container_of(node, struct sim_fiber, in_wait);
}

void rlk_mutex_init(struct rlk_mutex *mutex)
{
	of(mutex)->owner = NULL;
	rlk_list_init(&of(mutex)->waiters);
}

void rlk_mutex_fini(struct rlk_mutex *mutex)
{
	if (of(mutex)->owner || !rlk_list_empty(&of(mutex)->waiters))
		sim_violation("a mutex was destroyed while it was in use");
}

void rlk_mutex_lock(struct rlk_mutex *mutex)
{
	struct mutex *self = of(mutex);

	if (sim_chance(sim_pace.preempt))
		sim_yield();
	if (self->owner == sim_self)
		sim_violation("a thread locks a mutex twice");
	while (self->owner) {
		rlk_list_append(&self->waiters, &sim_self->in_wait);
		sim_block();
		rlk_list_remove(&sim_self->in_wait);
	}
	self->owner = sim_self;
	sim_self->mutexes++;
	sim_observe(mutex);
}

static void unlock(struct rlk_mutex *mutex)
{
	struct mutex *self = of(mutex);
	struct rlk_list *first = rlk_list_first(&self->waiters);

	if (self->owner != sim_self)
		sim_violation("a thread unlocks a mutex that it has not");
	sim_publish(mutex);
	self->owner = NULL;
	sim_self->mutexes--;
	if (!first)
		return;
	rlk_list_remove(first);
	sim_fiber_wake(waiter(first));
}

void rlk_mutex_unlock(struct rlk_mutex *mutex)
{
	unlock(mutex);
	/* What changed under it is true from here on. */
	sim_judge_acquiring();
}

void rlk_cond_init(struct rlk_cond *cond)
{
	rlk_list_init(waiters(cond));
}

void rlk_cond_fini(struct rlk_cond *cond)
{
	if (!rlk_list_empty(waiters(cond)))
		sim_violation("a condition was destroyed while it was waited "
			      "for");
}

void rlk_cond_wait(struct rlk_cond *cond, struct rlk_mutex *mutex)
{
	struct sim_fiber *self = sim_self;

	if (self->mutexes != 1)
		sim_violation("a thread sleeps with a mutex locked");
	rlk_list_append(waiters(cond), &self->in_wait);
	unlock(mutex);
	sim_judge_acquiring();
	if (sim_happens(SIM_SPURIOUS_WAKE))
		sim_yield();
	else
		sim_block();
	rlk_list_remove(&self->in_wait);
	self->woken = false;
	rlk_mutex_lock(mutex);
}

void rlk_cond_signal(struct rlk_cond *cond)
{
	struct rlk_list *list = waiters(cond);
	struct rlk_list *chosen = NULL;
	struct rlk_list *node;
	unsigned int seen = 0;

	for (node = list->next; node != list; node = node->next)
		if (sim_below(++seen) == 0)
			chosen = node;
	if (!chosen)
		return;
	rlk_list_remove(chosen);
	sim_fiber_wake(waiter(chosen));
}

void rlk_cond_broadcast(struct rlk_cond *cond)
{
	struct rlk_list *node;

	while ((node = rlk_list_first(waiters(cond)))) {
		rlk_list_remove(node);
		sim_fiber_wake(waiter(node));
	}
}

static struct event *event_of(struct rlk_event *event)
{
	return (struct event *) (void *) event;
}

void rlk_event_init(struct rlk_event *event)
{
	*event_of(event) = (struct event){ 0 };
}

void rlk_event_fini(struct rlk_event *event)
{
	if (event_of(event)->sleeper)
		sim_violation("an event was destroyed while it was waited for");
}

void rlk_event_set(struct rlk_event *event)
{
	struct event *self = event_of(event);

	if (self->set)
		sim_violation("an event is set twice");
	sim_publish(event);
	self->set = true;
	if (self->sleeper)
		sim_fiber_wake(self->sleeper);
}

void rlk_event_wait(struct rlk_event *event)
{
	struct event *self = event_of(event);

	if (sim_self->mutexes)
		sim_violation("a thread sleeps with a mutex locked");
	self->sleeper = sim_self;
	while (!self->set)
		sim_block();
	self->sleeper = NULL;
	self->set = false;
	sim_self->woken = false;
	sim_observe(event);
}

/* ------------------------------------------------------------ threads */

int rlk_thread_start(struct rlk_thread *thread, const char *name,
		     void (*fn)(void *), void *arg)
{
	struct sim_fiber *fiber;

	(void) name;
	if (sim_happens(SIM_NO_THREAD))
		return -EAGAIN;
	fiber = sim_fiber_new(sim_self->proc, fn, arg);
	thread->id = (pthread_t) (uintptr_t) fiber;
	thread->started = true;
	return 0;
}

static struct sim_fiber *fiber_of(pthread_t id)
{
	return (struct sim_fiber *) (uintptr_t) id;
}

void rlk_thread_join(struct rlk_thread *thread)
{
	if (!thread->started)
		return;
	sim_fiber_join(fiber_of(thread->id));
	thread->started = false;
}

int sim_thread_detach(pthread_t id);

/* What pthread_detach() becomes in the library. */
int sim_thread_detach(pthread_t id)
{
	struct sim_fiber *fiber = fiber_of(id);

	fiber->detached = true;
	if (fiber->ended)
		sim_fiber_drop(fiber);
	return 0;
}

uint64_t rlk_thread_serial(void)
{
	return sim_self->serial;
}
