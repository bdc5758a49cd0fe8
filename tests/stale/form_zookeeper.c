// SPDX-License-Identifier: MIT
/*
 * ZooKeeper, as its manual and its C client have it ("Recipes", Locks;
 * zoo_lock.c): a sequential, ephemeral node per request, named after the
 * session, so that one is found again whose answer was lost; the lowest has the
 * lock; who is not the lowest watches the one before, and looks again when
 * anything has happened.
 *
 * The client learns from its own clock and from the server that its connection
 * or its session is lost. Until then a holder takes itself for one.
 */
#include "stale.h"

#include <errno.h>
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <zookeeper/zookeeper.h>

#define PATH_SIZE 128

static zhandle_t *handle;
static sem_t news; /* of the session, or of the node before */
static char directory[32];
static char node[PATH_SIZE]; /* ours, in it */

static void on_news(zhandle_t *zh, int type, int state, const char *path,
		    void *context)
{
	(void) zh;
	(void) type;
	(void) state;
	(void) path;
	(void) context;
	sem_post(&news);
}

/* What is left of it goes with it: at once where the server is in reach, else
 * when its time is over. */
static void end_session(void)
{
	if (!handle)
		return;
	zookeeper_close(handle);
	sem_destroy(&news);
	handle = NULL;
}

static void start_session(const struct stale_options *options)
{
	char host[32];

	/* What it would print fills a pipe that nobody reads meanwhile. */
	zoo_set_debug_level((ZooLogLevel) 0);
	sem_init(&news, 0, 0);
	snprintf(host, sizeof(host), "127.0.0.1:%u", options->peer_port);
	handle =
	    zookeeper_init(host, on_news, (int) options->ttl_ms, NULL, NULL, 0);
	if (!handle)
		stale_die("zookeeper: no handle: %s", strerror(errno));
}

/* False: @until has come. */
static bool await_news(const struct timespec *until)
{
	return !sem_timedwait(&news, until) || errno == EINTR;
}

/* Be connected. One that has ended never is again: then in another one. */
static bool in_session(const struct stale_options *options,
		       const struct timespec *until)
{
	int state;

	for (;;) {
		state = handle ? zoo_state(handle) : ZOO_EXPIRED_SESSION_STATE;
		if (state == ZOO_CONNECTED_STATE)
			return true;
		if (state == ZOO_EXPIRED_SESSION_STATE) {
			end_session();
			start_session(options);
		} else if (!await_news(until)) {
			return false;
		}
	}
}

static struct timespec in_ms(unsigned int ms)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	time.tv_sec += ms / 1000;
	return time;
}

/* The number that the server has put at the end has a fixed width. */
static const char *sequence(const char *child)
{
	return strrchr(child, '-');
}

static const char *child_of(const struct String_vector *children,
			    const char *prefix)
{
	for (int i = 0; i < children->count; i++)
		if (!strncmp(children->data[i], prefix, strlen(prefix)))
			return children->data[i];
	return NULL;
}

/* The last one before @mine; NULL: @mine is the lowest. */
static const char *child_before(const struct String_vector *children,
				const char *mine)
{
	const char *before = NULL;

	for (int i = 0; i < children->count; i++) {
		const char *child = children->data[i];

		if (strcmp(sequence(child), sequence(mine)) < 0 &&
		    (!before || strcmp(sequence(child), sequence(before)) > 0))
			before = child;
	}
	return before;
}

/* False: there was no answer; or no directory, which is made. */
static bool list(struct String_vector *children)
{
	int code = zoo_get_children(handle, directory, 0, children);

	if (code == ZNONODE)
		zoo_create(handle, directory, NULL, -1, &ZOO_OPEN_ACL_UNSAFE, 0,
			   NULL, 0);
	return code == ZOK;
}

enum step {
	HELD,
	AGAIN, /* look again */
	WAITS, /* for the one before, who is watched */
};

static enum step queue_behind(const struct String_vector *children,
			      const char *mine)
{
	const char *before = child_before(children, mine);
	char path[PATH_SIZE];
	char nothing[1];
	int length = sizeof(nothing);

	snprintf(node, sizeof(node), "%s/%s", directory, mine);
	if (!before)
		return HELD;
	/* Unlike zoo_wexists() it leaves no watch on a node that is gone. */
	snprintf(path, sizeof(path), "%s/%s", directory, before);
	return zoo_wget(handle, path, on_news, NULL, nothing, &length, NULL)
		   ? AGAIN
		   : WAITS;
}

static enum step look(void)
{
	struct String_vector children;
	enum step step = AGAIN;
	const char *mine;
	char prefix[32];
	char path[PATH_SIZE];

	snprintf(prefix, sizeof(prefix), "x-%016" PRIx64 "-",
		 (uint64_t) zoo_client_id(handle)->client_id);
	if (!list(&children))
		return AGAIN;
	mine = child_of(&children, prefix);
	if (mine)
		step = queue_behind(&children, mine);
	deallocate_String_vector(&children);
	if (mine)
		return step;
	/* Where the answer is lost it is among the children, or not. */
	snprintf(path, sizeof(path), "%s/%s", directory, prefix);
	zoo_create(handle, path, NULL, -1, &ZOO_OPEN_ACL_UNSAFE,
		   ZOO_EPHEMERAL | ZOO_SEQUENCE, NULL, 0);
	return AGAIN;
}

bool stale_zookeeper_acquire(struct stale_worker *worker, unsigned int number)
{
	struct timespec until = in_ms(STALE_WAIT_MS);
	enum step step;

	snprintf(directory, sizeof(directory), "/stale-%u", number);
	while (in_session(worker->options, &until)) {
		step = look();
		if (step == HELD)
			return true;
		if (step == WAITS && !await_news(&until))
			break;
	}
	end_session();
	return false;
}

bool stale_zookeeper_holds(void)
{
	return zoo_state(handle) == ZOO_CONNECTED_STATE;
}

void stale_zookeeper_release(struct stale_worker *worker, unsigned int number)
{
	struct timespec until = in_ms(STALE_WAIT_MS);
	int code;

	(void) number;
	while (in_session(worker->options, &until)) {
		code = zoo_delete(handle, node, -1);
		if (code == ZOK || code == ZNONODE)
			return;
	}
	end_session();
}
