/* SPDX-License-Identifier: MIT */
/*
 * A key of pthreads, whose destructor runs on each thread that has prepared. A
 * thread that never does costs nothing, and one that owes nothing at its end
 * takes no lock.
 *
 * The watches are in a room that belongs to one process. A child of fork() has
 * a copy whose mutex may be locked for ever by a thread that it has not, so it
 * leaves that alone, and makes a room of its own when it needs one.
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
	struct rlk_mutex mutex;
	struct rlk_list watches;
	struct room *before; /* of the parent process */
};

static struct room *_Atomic newest;

static pthread_key_t key;
static int key_error;

/* Of the rounds in which destructors run: late enough for those of other keys
 * to pay before, and not the last, after which sanitizers know the thread no
 * more (they run the same code in the last, and may be called before us). */
#define ROUND (PTHREAD_DESTRUCTOR_ITERATIONS - 1)

static _Thread_local struct {
	bool prepared;
	int rounds; /* of destructors that have run */
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
	if (atomic_compare_exchange_strong(&newest, &before, room))
		return room;
	/* Another thread came first. */
	rlk_mutex_fini(&room->mutex);
	free(room);
	return before;
}

static void tell_all(struct room *room)
{
	_cleanup_(rlk_unguardp) struct rlk_mutex *guard =
	    rlk_guard(&room->mutex);
	struct rlk_list *node;
	struct rlk_list *after;

	rlk_list_for_each(node, after, &room->watches)
	{
		struct rlk_end_watch *watch =
		    container_of(node, struct rlk_end_watch, node);

		watch->ended(watch, rlk_thread_serial());
	}
}

/* A round of destructors: those of other keys may still pay in the next. */
static void end_round(void *value)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct room *room;

	if (++self.rounds < ROUND) {
		pthread_setspecific(key, value);
		return;
	}
	room = self.owed > 0 ? find_room() : NULL;
	if (room)
		tell_all(room);
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
	if (!self.prepared)
		self.prepared = pthread_setspecific(key, &key) == 0;
	return self.prepared;
}

void rlk_end_owe(int more)
{
	self.owed += more;
}
