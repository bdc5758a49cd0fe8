/* SPDX-License-Identifier: MIT */
/*
 * The library's mutexes, conditions and events, with two things added: whoever
 * lets a mutex go, or goes to sleep, tells the waiting test that something may
 * have changed; and each thread knows how many mutexes it holds, since none may
 * be held where the library calls what is below it. The real ones are linked
 * under the names base_*.
 */
#include "world.h"

#include "base/thread.h"

void base_mutex_lock(struct rlk_mutex *mutex);
void base_mutex_unlock(struct rlk_mutex *mutex);
void base_cond_wait(struct rlk_cond *cond, struct rlk_mutex *mutex);
void base_event_wait(struct rlk_event *event);

static _Thread_local int held;

static _Atomic unsigned int sleepers;

unsigned int fake_sleepers(void)
{
	return sleepers;
}

bool world_holds_mutex(void)
{
	return held != 0;
}

static void tell(void)
{
	if (world_is_looking())
		return;
	world_lock();
	world_changed();
	world_unlock();
}

void rlk_mutex_lock(struct rlk_mutex *mutex)
{
	base_mutex_lock(mutex);
	held++;
}

void rlk_mutex_unlock(struct rlk_mutex *mutex)
{
	held--;
	base_mutex_unlock(mutex);
	tell();
}

void rlk_cond_wait(struct rlk_cond *cond, struct rlk_mutex *mutex)
{
	sleepers++;
	tell();
	base_cond_wait(cond, mutex);
	sleepers--;
}

void rlk_event_wait(struct rlk_event *event)
{
	if (held)
		fake_problem("a thread waits for an event with a mutex held");
	sleepers++;
	tell();
	base_event_wait(event);
	sleepers--;
}
