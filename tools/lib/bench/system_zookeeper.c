// SPDX-License-Identifier: MIT
/*
 * The system "zookeeper": the lock of its manual's recipes, with the C client
 * for several threads, one session per process. A sequential, ephemeral node
 * per request; the lowest has the lock; who is not the lowest watches the one
 * before and looks again when it goes.
 */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

#include "bench.h"

#define TIMEOUT_MS 30000

struct zoo_lock {
	char directory[BENCH_NAME_SIZE + 1];
	char node[BENCH_NAME_SIZE + 32]; /* its whole path */
	sem_t gone;                      /* the one before is */
};

static zhandle_t *handle;
static sem_t connected;

static void on_session(zhandle_t *zh, int type, int state, const char *path,
		       void *context)
{
	(void) zh;
	(void) path;
	(void) context;
	if (type != ZOO_SESSION_EVENT)
		return;
	if (state == ZOO_CONNECTED_STATE)
		sem_post(&connected);
	else if (state == ZOO_EXPIRED_SESSION_STATE)
		bench_die("zookeeper: the session has expired");
}

static void start(const struct bench_options *options)
{
	char host[32];

	zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
	sem_init(&connected, 0, 0);
	snprintf(host, sizeof(host), "127.0.0.1:%u", options->zookeeper_port);
	handle =
	    zookeeper_init(host, on_session,
			   options->ttl_ms ? (int) options->ttl_ms : TIMEOUT_MS,
			   NULL, NULL, 0);
	if (!handle)
		bench_die("zookeeper: cannot make a handle");
	while (sem_wait(&connected))
		;
}

static void stop(void)
{
	zookeeper_close(handle);
}

static void check(int code, const char *what, const char *path)
{
	if (code != ZOK)
		bench_die("zookeeper: %s %s: %s", what, path, zerror(code));
}

static void open_zookeeper(struct bench_worker *worker)
{
	struct zoo_lock *lock = bench_alloc(sizeof(*lock));
	int code;

	snprintf(lock->directory, sizeof(lock->directory), "/%s", worker->name);
	sem_init(&lock->gone, 0, 0);
	code = zoo_create(handle, lock->directory, NULL, -1,
			  &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0);
	if (code != ZNODEEXISTS)
		check(code, "create", lock->directory);
	worker->state = lock;
}

/* The child that comes last before @mine; NULL if there is none. Their names
 * differ by the number at the end, which has a fixed width. */
static const char *child_before(const struct String_vector *children,
				const char *mine)
{
	const char *before = NULL;

	for (int i = 0; i < children->count; i++) {
		const char *child = children->data[i];

		if (strcmp(child, mine) < 0 &&
		    (!before || strcmp(child, before) > 0))
			before = child;
	}
	return before;
}

static void on_gone(zhandle_t *zh, int type, int state, const char *path,
		    void *context)
{
	struct zoo_lock *lock = context;

	(void) zh;
	(void) state;
	(void) path;
	if (type != ZOO_SESSION_EVENT)
		sem_post(&lock->gone);
}

/* true: ours is the lowest. false: the one before has gone since. */
static bool lowest(struct zoo_lock *lock)
{
	struct String_vector children;
	char path[sizeof(lock->node) + 32];
	const char *before;
	struct Stat stat;
	int code;

	check(zoo_get_children(handle, lock->directory, 0, &children),
	      "children of", lock->directory);
	before =
	    child_before(&children, lock->node + strlen(lock->directory) + 1);
	if (before)
		snprintf(path, sizeof(path), "%s/%s", lock->directory, before);
	deallocate_String_vector(&children);
	if (!before)
		return true;
	code = zoo_wexists(handle, path, on_gone, lock, &stat);
	if (code == ZNONODE) {
		/* The watch is set even so, for a node that never comes back;
		 * take it away, or it would stay with the server. */
		zoo_remove_watches(handle, path, ZWATCHTYPE_DATA, on_gone, lock,
				   1);
		return false;
	}
	check(code, "watch", path);
	while (sem_wait(&lock->gone))
		;
	return false;
}

static void acquire(struct bench_worker *worker)
{
	struct zoo_lock *lock = worker->state;
	char path[BENCH_NAME_SIZE + 8];

	snprintf(path, sizeof(path), "%s/n-", lock->directory);
	check(zoo_create(handle, path, NULL, -1, &ZOO_OPEN_ACL_UNSAFE,
			 ZOO_EPHEMERAL | ZOO_SEQUENCE, lock->node,
			 sizeof(lock->node)),
	      "create", path);
	while (!lowest(lock))
		;
}

static void release(struct bench_worker *worker)
{
	struct zoo_lock *lock = worker->state;

	check(zoo_delete(handle, lock->node, -1), "delete", lock->node);
}

static void close_zookeeper(struct bench_worker *worker)
{
	struct zoo_lock *lock = worker->state;

	sem_destroy(&lock->gone);
	free(lock);
}

const struct bench_system bench_zookeeper = {
	.name = "zookeeper",
	.start = start,
	.stop = stop,
	.open = open_zookeeper,
	.acquire = acquire,
	.release = release,
	.close = close_zookeeper,
};
