/* SPDX-License-Identifier: MIT */
/*
 * Thin wrappers over pthreads. Initialising a default mutex or condition
 * cannot fail on Linux, and the other calls fail only on misuse.
 */
#include "base/thread.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

void rlk_mutex_init(struct rlk_mutex *mutex)
{
	pthread_mutex_init(&mutex->mutex, NULL);
}

void rlk_mutex_fini(struct rlk_mutex *mutex)
{
	pthread_mutex_destroy(&mutex->mutex);
}

void rlk_mutex_lock(struct rlk_mutex *mutex)
{
	pthread_mutex_lock(&mutex->mutex);
}

void rlk_mutex_unlock(struct rlk_mutex *mutex)
{
	pthread_mutex_unlock(&mutex->mutex);
}

void rlk_cond_init(struct rlk_cond *cond)
{
	pthread_cond_init(&cond->cond, NULL);
}

void rlk_cond_fini(struct rlk_cond *cond)
{
	pthread_cond_destroy(&cond->cond);
}

void rlk_cond_wait(struct rlk_cond *cond, struct rlk_mutex *mutex)
{
	pthread_cond_wait(&cond->cond, &mutex->mutex);
}

void rlk_cond_signal(struct rlk_cond *cond)
{
	pthread_cond_signal(&cond->cond);
}

void rlk_cond_broadcast(struct rlk_cond *cond)
{
	pthread_cond_broadcast(&cond->cond);
}

void rlk_event_init(struct rlk_event *event)
{
	sem_init(&event->sem, 0, 0);
}

void rlk_event_fini(struct rlk_event *event)
{
	sem_destroy(&event->sem);
}

void rlk_event_set(struct rlk_event *event)
{
	sem_post(&event->sem);
}

void rlk_event_wait(struct rlk_event *event)
{
	while (sem_wait(&event->sem))
		; /* EINTR: a signal of the application */
}

struct start {
	void (*fn)(void *);
	void *arg;
	const char *name;
};

static void *run(void *arg)
{
	struct start start = *(struct start *) arg;

	free(arg);
	pthread_setname_np(pthread_self(), start.name);
	start.fn(start.arg);
	return NULL;
}

int rlk_thread_start(struct rlk_thread *thread, const char *name,
		     void (*fn)(void *), void *arg)
{
	struct start *start = malloc(sizeof(*start));
	sigset_t all;
	sigset_t before;
	int error;

	if (!start)
		return -ENOMEM;
	*start = (struct start){ fn, arg, name };
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread->id, NULL, run, start);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		free(start);
	thread->started = !error;
	return -error;
}

void rlk_thread_join(struct rlk_thread *thread)
{
	if (!thread->started)
		return;
	pthread_join(thread->id, NULL);
	thread->started = false;
}

uint64_t rlk_thread_serial(void)
{
	static _Atomic uint64_t last;
	static _Thread_local uint64_t mine;

	if (!mine)
		mine = atomic_fetch_add(&last, 1) + 1;
	return mine;
}
