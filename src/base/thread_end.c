/* SPDX-License-Identifier: MIT */
/*
 * A key of pthreads, whose destructor runs on each thread that has prepared. A
 * thread that never does costs nothing.
 *
 * The destructors of other keys may take something after ours has run, or run
 * for the first time in the last round, when nobody calls ours any more. So
 * each thread that has prepared also has a robust mutex, locked for all of its
 * life: the kernel marks it when the thread is gone
 * (pthread_mutexattr_setrobust (3)), however it went, and rlk_end_look() finds
 * the mark.
 *
 * Watches and lives are in a room that belongs to one process. A child of
 * fork() has a copy whose mutex may be locked for ever by a thread that it has
 * not, so it leaves that alone, and makes a room of its own when it needs one.
 *
 * The destructor must be there as long as there are threads: the library is
 * linked so that dlclose() leaves it where it is.
 */
#include "base/thread_end.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/process.h"
#include "base/thread.h"

struct room {
	uint64_t process;
	struct rlk_mutex mutex; /* of the watches; comes before all others */
	struct rlk_list watches;
	struct rlk_mutex lives_mutex; /* comes after all others */
	struct rlk_list lives;
	struct room *before; /* of the parent process */
};

/* A thread that has prepared and whose end has not been reported. */
struct life {
	struct rlk_list node;
	struct room *room;
	uint64_t serial;
	pthread_mutex_t mutex; /* robust; the thread has it locked */
};

static struct room *_Atomic newest;

static pthread_key_t key;
static int key_error;

/* The round of destructors in which a thread counts as ended: other keys'
 * destructors may pay before it. It is not the last round, in which sanitizers
 * forget the thread, perhaps before our destructor runs. */
#define ROUND (PTHREAD_DESTRUCTOR_ITERATIONS - 1)

static _Thread_local struct {
	struct life *life; /* may be one of the parent process */
	int rounds;        /* of destructors that have run */
	int64_t owed;
} self;

/* NULL: this process has none. */
static struct room *find_room(void)
{
	struct room *room = atomic_load(&newest);

	return room && room->process == rlk_process() ? room : NULL;
}

/* NULL: out of memory. */
static struct room *make_room(void)
{
	struct room *before = atomic_load(&newest);
	struct room *room;

	if (before && before->process == rlk_process())
		return before;
	room = malloc(sizeof(*room));
	if (!room)
		return NULL;
	*room = (struct room){ .process = rlk_process(), .before = before };
	rlk_mutex_init(&room->mutex);
	rlk_list_init(&room->watches);
	rlk_mutex_init(&room->lives_mutex);
	rlk_list_init(&room->lives);
	if (atomic_compare_exchange_strong(&newest, &before, room))
		return room;
	/* Another thread came first. */
	rlk_mutex_fini(&room->mutex);
	rlk_mutex_fini(&room->lives_mutex);
	free(room);
	return before;
}

static void tell_all(struct room *room, uint64_t serial)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&room->mutex);
	struct rlk_end_watch *watch;

	rlk_list_each (watch, &room->watches, node)
		watch->ended(watch, serial);
}

/* NULL: out of memory. */
static struct life *make_life(struct room *room)
{
	struct life *life = malloc(sizeof(*life));
	pthread_mutexattr_t robust;

	if (!life)
		return NULL;
	*life = (struct life){ .room = room, .serial = rlk_thread_serial() };
	pthread_mutexattr_init(&robust);
	pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&life->mutex, &robust);
	pthread_mutexattr_destroy(&robust);
	/* It is free; no thread ever waits for it, so it has no place in an
	 * order. */
	pthread_mutex_trylock(&life->mutex);
	rlk_mutex_lock(&room->lives_mutex);
	rlk_list_append(&room->lives, &life->node);
	rlk_mutex_unlock(&room->lives_mutex);
	return life;
}

/* Called by the thread that has its mutex locked. */
static void end_life(struct life *life)
{
	rlk_mutex_lock(&life->room->lives_mutex);
	rlk_list_remove(&life->node);
	rlk_mutex_unlock(&life->room->lives_mutex);
	pthread_mutex_unlock(&life->mutex);
	pthread_mutex_destroy(&life->mutex);
	free(life);
}

/* A round of destructors: those of other keys may still pay in the next. If
 * they take something after our last round, another life begins. */
static void end_round(void *value)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct room *room = find_room();
	struct life *life;

	if (++self.rounds < ROUND) {
		pthread_setspecific(key, value);
		return;
	}
	life = TAKE_PTR(self.life);
	if (!room || !life || life->room != room)
		return; /* a child's copy of its parent's thread */
	if (self.owed > 0)
		tell_all(room, life->serial);
	end_life(life);
}

static void make_key(void)
{
	key_error = pthread_key_create(&key, end_round);
}

int rlk_end_watch_start(struct rlk_end_watch *watch)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct room *room = make_room();

	pthread_once(&once, make_key);
	if (!room || key_error)
		return room ? -key_error : -ENOMEM;
	rlk_mutex_lock(&room->mutex);
	rlk_list_append(&room->watches, &watch->node);
	rlk_mutex_unlock(&room->mutex);
	return 0;
}

void rlk_end_watch_stop(struct rlk_end_watch *watch)
{
	struct room *room = find_room();

	if (!room)
		return;
	rlk_mutex_lock(&room->mutex);
	rlk_list_remove(&watch->node);
	rlk_mutex_unlock(&room->mutex);
}

bool rlk_end_prepare(void)
{
	struct room *room = find_room();

	if (!room)
		return false;
	if (self.life && self.life->room == room)
		return true;
	if (pthread_setspecific(key, &key))
		return false;
	self.life = make_life(room);
	return self.life;
}

void rlk_end_owe(int more)
{
	self.owed += more;
}

void rlk_end_look(void)
{
	struct room *room = find_room();
	struct rlk_list ended;
	struct life *life;

	if (!room)
		return;
	rlk_list_init(&ended);
	rlk_mutex_lock(&room->lives_mutex);
	rlk_list_each (life, &room->lives, node) {
		if (pthread_mutex_trylock(&life->mutex) != EOWNERDEAD)
			continue;
		pthread_mutex_consistent(&life->mutex);
		rlk_list_remove(&life->node);
		rlk_list_append(&ended, &life->node);
	}
	rlk_mutex_unlock(&room->lives_mutex);
	rlk_list_each (life, &ended, node) {
		tell_all(room, life->serial);
		end_life(life);
	}
}
