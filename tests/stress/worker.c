// SPDX-License-Identifier: MIT
/*
 * One process of a stress run: a client, and threads that acquire names drawn
 * by lot, think, and release, writing down what they saw.
 *
 * Times are read right before a call and right after it, so that the written
 * hold is never longer than the real one. Errors are written down, not judged;
 * a client that cannot be opened ends the process with 1.
 */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "history.h"

#define WAIT_MS 120000 /* longer than any queue of a sound run */

struct worker {
	const struct plan *plan;
	struct signs *signs;
	unsigned int process;
	unsigned int thread;
	struct rowlock_client *client;
	struct rowlock **locks;
	int log;
	unsigned int seed;
	pthread_t id;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

static void write_down(const struct worker *worker,
		       const struct history_record *record)
{
	if (write(worker->log, record, sizeof(*record)) != sizeof(*record)) {
		perror("stress: history");
		_exit(3);
	}
}

static void complain(const struct worker *worker, const char *what,
		     const struct rowlock_errinfo *err)
{
	if (!worker->plan->kills && !worker->plan->stops)
		fprintf(stderr, "process %u thread %u: %s: %s\n",
			worker->process, worker->thread, what, err->message);
}

static void nap(unsigned int us)
{
	struct timespec time = { us / 1000000, (long) (us % 1000000) * 1000 };

	nanosleep(&time, NULL);
}

/* Think in steps; after each, ask whether the lock is still held. */
static void think(struct worker *worker, struct rowlock *lock,
		  struct history_record *record)
{
	unsigned int steps = worker->plan->kills ? 3 : 1;
	unsigned int most = worker->plan->think_us / steps;
	uint64_t at;

	while (steps--) {
		nap(most ? (unsigned int) rand_r(&worker->seed) % most : 0);
		at = now_ns();
		if (!rowlock_held(lock))
			return;
		record->held_call = at;
		if (steps)
			write_down(worker, record);
	}
}

static void draw(struct worker *worker, struct rowlock *lock,
		 struct history_record *record)
{
	struct rowlock_errinfo err = { 0, 0, "" };

	record->token_call = now_ns();
	record->token_code = rowlock_token(lock, &record->token, &err);
	record->token_return = now_ns();
	/* A token that came with the grant was drawn during the acquire. */
	if (worker->plan->token_with_grant)
		record->token_call = record->acquire_call;
	if (record->token_code) {
		record->token = 0;
		record->mysql = err.mysql;
		complain(worker, "token", &err);
	}
}

static void hold_once(struct worker *worker, struct history_record *record)
{
	struct rowlock *lock = worker->locks[record->name];
	struct rowlock_errinfo err = { 0, 0, "" };

	record->kind = HISTORY_OPEN;
	write_down(worker, record);
	if (worker->plan->token)
		draw(worker, lock, record);
	think(worker, lock, record);
	record->release_call = now_ns();
	record->release_code = rowlock_release(lock, &err);
	record->release_return = now_ns();
	if (record->release_code) {
		record->mysql = err.mysql;
		complain(worker, "release", &err);
	}
	record->kind = HISTORY_DONE;
	write_down(worker, record);
	atomic_fetch_add(&worker->signs->holds, 1);
}

static void acquire_once(struct worker *worker, uint64_t serial)
{
	struct rowlock_errinfo err = { 0, 0, "" };
	struct history_record record = {
		.kind = HISTORY_MISS,
		.process = worker->process,
		.thread = worker->thread,
		.serial = serial,
		.name =
		    (unsigned int) rand_r(&worker->seed) % worker->plan->names,
	};

	record.acquire_call = now_ns();
	record.acquire_code =
	    rowlock_acquire(worker->locks[record.name], WAIT_MS, &err);
	record.acquire_return = now_ns();
	if (!record.acquire_code) {
		hold_once(worker, &record);
		return;
	}
	record.mysql = err.mysql;
	complain(worker, "acquire", &err);
	write_down(worker, &record);
	nap(10000); /* a server that is away is not asked in a tight loop */
}

static void *run_thread(void *arg)
{
	struct worker *worker = arg;
	struct history_record record = { .kind = HISTORY_THREAD,
					 .process = worker->process,
					 .thread = worker->thread };
	uint64_t serial = 0;

	write_down(worker, &record);
	while (!atomic_load(&worker->signs->stop))
		acquire_once(worker, ++serial);
	return NULL;
}

static int open_log(const struct plan *plan, unsigned int number)
{
	char path[512];
	int log;

	snprintf(path, sizeof(path), "%s/process-%u.history", plan->dir,
		 number);
	log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (log < 0)
		perror(path);
	return log;
}

static struct rowlock_client *open_client(const struct plan *plan)
{
	struct rowlock_client_options options = ROWLOCK_CLIENT_OPTIONS_DEFAULT;
	struct rowlock_errinfo err;
	struct rowlock_client *client;

	options.dsn = plan->dsn;
	options.ttl_ms = plan->ttl_ms;
	options.program = "rowlock-stress";
	options.connect_timeout_ms = 60000;
	options.call_timeout_ms = 60000;
	if (!rowlock_client_new(&options, &client, &err))
		return client;
	fprintf(stderr, "stress: %s\n", err.message);
	return NULL;
}

static int make_locks(struct worker *worker)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	const struct plan *plan = worker->plan;
	struct rowlock_errinfo err;
	unsigned int i;
	char name[128];

	options.strategy = plan->strategy;
	options.flags = plan->token_with_grant ? ROWLOCK_TOKEN_WITH_GRANT : 0;
	worker->locks = calloc(plan->names, sizeof(struct rowlock *));
	if (!worker->locks)
		abort();
	for (i = 0; i < plan->names; i++) {
		snprintf(name, sizeof(name), "%s%u", plan->prefix, i);
		if (!rowlock_new(worker->client, name, &options,
				 &worker->locks[i], &err))
			continue;
		fprintf(stderr, "stress: %s\n", err.message);
		return -1;
	}
	return 0;
}

static int free_locks(struct worker *worker)
{
	struct rowlock_errinfo err;
	int failed = 0;
	unsigned int i;

	for (i = 0; i < worker->plan->names; i++)
		if (rowlock_free(worker->locks[i], &err)) {
			fprintf(stderr, "stress: %s\n", err.message);
			failed = 1;
		}
	free(worker->locks);
	return failed;
}

static void run_threads(struct worker *workers, unsigned int n)
{
	struct signs *signs = workers[0].signs;
	unsigned int i;

	atomic_fetch_add(&signs->ready, 1);
	while (!atomic_load(&signs->go))
		nap(1000);
	for (i = 0; i < n; i++)
		if (pthread_create(&workers[i].id, NULL, run_thread,
				   &workers[i])) {
			perror("stress: thread");
			_exit(3);
		}
	for (i = 0; i < n; i++)
		pthread_join(workers[i].id, NULL);
}

int worker_process(const struct plan *plan, struct signs *signs,
		   unsigned int number)
{
	struct worker *workers = calloc(plan->threads, sizeof(*workers));
	struct rowlock_client *client = open_client(plan);
	int log = open_log(plan, number), failed = 0;
	struct rowlock_errinfo err;
	unsigned int i;

	if (!workers || !client || log < 0)
		return 1;
	for (i = 0; i < plan->threads; i++) {
		workers[i] = (struct worker){ .plan = plan,
					      .signs = signs,
					      .process = number,
					      .thread = i,
					      .client = client,
					      .log = log,
					      .seed = number * 1000 + i + 1 };
		if (make_locks(&workers[i]))
			return 1;
	}
	run_threads(workers, plan->threads);
	for (i = 0; i < plan->threads; i++)
		failed |= free_locks(&workers[i]);
	if (rowlock_client_free(client, &err)) {
		fprintf(stderr, "stress: %s\n", err.message);
		failed = 1;
	}
	close(log);
	free(workers);
	return failed;
}
