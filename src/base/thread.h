/* SPDX-License-Identifier: MIT */
#ifndef RLK_BASE_THREAD_H
#define RLK_BASE_THREAD_H

/*
 * Mutex, condition, event, thread: thin, so that a test can replace this file
 * at link time. Conditions have no time-outs: who waits for a time has the
 * deadline thread wake it (background/deadline.c).
 */

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"

struct rlk_mutex {
	pthread_mutex_t mutex;
};

struct rlk_cond {
	pthread_cond_t cond;
};

void rlk_mutex_init(struct rlk_mutex *mutex);
void rlk_mutex_fini(struct rlk_mutex *mutex);
void rlk_mutex_lock(struct rlk_mutex *mutex);
void rlk_mutex_unlock(struct rlk_mutex *mutex);

/** Lock, and return @mutex for a variable that unlocks it by leaving its
 *  block: _guard_ struct rlk_mutex *guard = rlk_guard(m); */
static inline struct rlk_mutex *rlk_guard(struct rlk_mutex *mutex)
{
	rlk_mutex_lock(mutex);
	return mutex;
}

static inline void rlk_unguardp(struct rlk_mutex **mutex)
{
	if (*mutex)
		rlk_mutex_unlock(*mutex);
}

#define _guard_ _cleanup_(rlk_unguardp)

/** Keep the calling thread from being cancelled (pthread_cancel()) for the rest
 *  of the block. A thread that ended in a wait of ours would take its mutex,
 *  its place in a line, and a request with it:
 *  _cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off(); */
static inline int rlk_cancel_off(void)
{
	int before = PTHREAD_CANCEL_ENABLE;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void rlk_cancel_onp(int *before)
{
	pthread_setcancelstate(*before, NULL);
}

void rlk_cond_init(struct rlk_cond *cond);
void rlk_cond_fini(struct rlk_cond *cond);
void rlk_cond_wait(struct rlk_cond *cond, struct rlk_mutex *mutex);
void rlk_cond_signal(struct rlk_cond *cond);
void rlk_cond_broadcast(struct rlk_cond *cond);

/**
 * An event that one thread waits for and another sets, once. Setting it needs
 * no mutex. The woken thread needs none either: it sees all that was written
 * before the set.
 */
struct rlk_event {
	sem_t sem;
};

void rlk_event_init(struct rlk_event *event);
void rlk_event_fini(struct rlk_event *event);
/** It may be gone as soon as its waiter has returned. */
void rlk_event_set(struct rlk_event *event);
/** Afterwards it is not set any more. */
void rlk_event_wait(struct rlk_event *event);

struct rlk_thread {
	pthread_t id;
	bool started;
};

/**
 * Start @fn(@arg) on a thread named @name (at most 15 bytes) with all signals
 * blocked: signals are the application's. Returns 0 or -errno.
 */
int rlk_thread_start(struct rlk_thread *thread, const char *name,
		     void (*fn)(void *), void *arg);

/** Wait for its end; nothing if it was not started. */
void rlk_thread_join(struct rlk_thread *thread);

/**
 * The calling thread's serial number in this process, from 1. Unlike thread
 * ids it is never used again: a hold of a thread that has ended belongs to
 * nobody.
 */
uint64_t rlk_thread_serial(void);

#endif
