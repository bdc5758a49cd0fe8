/* SPDX-License-Identifier: MIT */
/*
 * Lines on their way to stderr: see outbox.h.
 *
 * One thread at a time writes, without the mutex; a line that comes meanwhile
 * is appended, and that thread writes it as well. A thread of our own tries
 * again while a line is kept, as the program may have nothing more to say.
 * Failure modes: a reader that is gone takes everything; a box that is full
 * takes nothing more; without a thread a line is kept until the next one.
 */
#include "outbox.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/pace.h"
#include "sink.h"

/* The pause between two tries to write what is kept. A terminal that was
 * stopped may seem to have room, so it is not asked. */
#define RETRY_MS 1000

static struct sink sink = { .fd = STDERR_FILENO, .own = -1 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* Only the thread that writes removes text, and only under the mutex. */
static char box[65536];
static size_t used;
static bool writing;
static bool retrying; /* there is a thread that does */

void outbox_init(void)
{
	sink_init(&sink, STDERR_FILENO);
}

/* Lines of several processes mix if a pipe takes a part of a text; it takes a
 * line whole. */
static size_t first_line(void)
{
	const char *end = memchr(box, '\n', used);

	return end ? (size_t) (end - box) + 1 : used;
}

/* Under the mutex, given up meanwhile. */
static void write_locked(void)
{
	size_t size, done;

	writing = true;
	do {
		ssize_t n;

		size = first_line();
		pthread_mutex_unlock(&mutex);
		n = sink_put(&sink, box, size);
		pthread_mutex_lock(&mutex);
		done = n < 0 ? size : (size_t) n;
		used -= done;
		memmove(box, box + done, used);
	} while (used > 0 && done == size);
	writing = false;
}

static void *retry(void *arg)
{
	pthread_mutex_lock(&mutex);
	while (used > 0) {
		pthread_mutex_unlock(&mutex);
		pace_rest(RETRY_MS);
		pthread_mutex_lock(&mutex);
		if (used > 0 && !writing)
			write_locked();
	}
	retrying = false;
	pthread_mutex_unlock(&mutex);
	return arg;
}

/* Under the mutex. Signals are for the other threads. */
static void start_retry_locked(void)
{
	sigset_t all, old;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	retrying = pthread_create(&thread, NULL, retry, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (retrying)
		pthread_detach(thread);
}

bool outbox_put(const char *text, size_t size)
{
	bool fits;

	pthread_mutex_lock(&mutex);
	fits = size <= sizeof(box) - used;
	if (fits) {
		memcpy(box + used, text, size);
		used += size;
	}
	if (used > 0 && !writing)
		write_locked();
	if (used > 0 && !writing && !retrying)
		start_retry_locked();
	pthread_mutex_unlock(&mutex);
	return fits;
}

void outbox_put_now(const char *text, size_t size)
{
	ssize_t n = sink_put(&sink, text, size);

	(void) n;
}

bool outbox_is_empty(void)
{
	bool empty;

	pthread_mutex_lock(&mutex);
	empty = used == 0;
	pthread_mutex_unlock(&mutex);
	return empty;
}

/* A reader that reads gets all of it; one that does not costs @ms. */
void outbox_flush(unsigned int ms)
{
	struct pollfd room = { .fd = STDERR_FILENO, .events = POLLOUT };
	size_t before = 0;

	pthread_mutex_lock(&mutex);
	while (used > 0 && used != before && !writing) {
		before = used;
		pthread_mutex_unlock(&mutex);
		pace_poll(&room, 1, (int) ms);
		pthread_mutex_lock(&mutex);
		if (used > 0 && !writing)
			write_locked();
	}
	pthread_mutex_unlock(&mutex);
}
