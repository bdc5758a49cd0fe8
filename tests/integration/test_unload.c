// SPDX-License-Identifier: MIT
/*
 * A program that loads the library, uses it, and closes it, as a plugin of an
 * interpreter does. A thread that has held ends after that.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <rowlock.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "case.h"

struct library {
	void *handle;
	int (*client_new)(const struct rowlock_client_options *,
			  struct rowlock_client **, struct rowlock_errinfo *);
	void (*client_free)(struct rowlock_client *);
	int (*lock_new)(struct rowlock_client *, const char *,
			const struct rowlock_options *, struct rowlock **,
			struct rowlock_errinfo *);
	int (*acquire)(struct rowlock *, uint64_t, struct rowlock_errinfo *);
	int (*release)(struct rowlock *, struct rowlock_errinfo *);
	void (*lock_free)(struct rowlock *);
};

/* In a child assertions do not reach cmocka. */
static void need(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "# unload: %s failed\n", what);
	_exit(1);
}

/* A function by its name; POSIX has it that the one can be had as the other. */
static void find(struct library *library, const char *name, void *ret_fn)
{
	*(void **) ret_fn = dlsym(library->handle, name);
	need(*(void **) ret_fn != NULL, name);
}

static void load(struct library *library)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/src/librowlock.so",
		 getenv("ROWLOCK_BUILD"));
	library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	need(library->handle != NULL, path);
	find(library, "rowlock_client_new", &library->client_new);
	find(library, "rowlock_client_free", &library->client_free);
	find(library, "rowlock_new", &library->lock_new);
	find(library, "rowlock_acquire", &library->acquire);
	find(library, "rowlock_release", &library->release);
	find(library, "rowlock_free", &library->lock_free);
}

struct worker {
	const struct library *library;
	struct rowlock *lock;
	sem_t released;
	sem_t unloaded;
	int code;
};

static void *work(void *arg)
{
	struct worker *worker = arg;

	worker->code =
	    worker->library->acquire(worker->lock, ROWLOCK_FOREVER, NULL);
	if (!worker->code)
		worker->code = worker->library->release(worker->lock, NULL);
	sem_post(&worker->released);
	sem_wait(&worker->unloaded);
	return NULL;
}

/* In a process of its own, whose end tells of a crash. */
static void live(void)
{
	struct rowlock_client_options options = ROWLOCK_CLIENT_OPTIONS_DEFAULT;
	struct rowlock_client *client = NULL;
	struct library library;
	struct worker worker = { .library = &library };
	pthread_t thread;

	load(&library);
	options.dsn = getenv("ROWLOCK_TEST_DSN");
	need(!library.client_new(&options, &client, NULL), "client");
	need(!library.lock_new(client, "test-unload", NULL, &worker.lock, NULL),
	     "lock");
	sem_init(&worker.released, 0, 0);
	sem_init(&worker.unloaded, 0, 0);
	need(!pthread_create(&thread, NULL, work, &worker), "thread");
	sem_wait(&worker.released);
	need(!worker.code, "acquire and release");
	library.lock_free(worker.lock);
	library.client_free(client);
	need(!dlclose(library.handle), "dlclose");
	sem_post(&worker.unloaded);
	pthread_join(thread, NULL);
	sem_destroy(&worker.released);
	sem_destroy(&worker.unloaded);
}

CASE_WITH("a thread that has held ends after dlclose()", NULL, NULL)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		live();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	if (!getenv("ROWLOCK_TEST_DSN") || !getenv("ROWLOCK_BUILD")) {
		printf("1..0 # SKIP no server: set ROWLOCK_TEST_DSN\n");
		return 0;
	}
	return case_main();
}
