// SPDX-License-Identifier: MIT
/*
 * One process of a run: a client, in mixed runs of leases another one to which
 * locks are handed over, and threads that acquire names drawn by lot
 * (cycle.c), writing down what they see. A client that cannot be opened ends
 * the process with 1, unless the plan is patient.
 *
 * One more thread only watches how late it is woken: when it had to wait for
 * the CPU, so had the others, and what they see then is no fault of the lock.
 */
#include "worker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "handover.h"

#define TICK_MS 10
#define BUSY_MS 15 /* woken so late, a tick tells something */
#define AWAY_MS 100
#define LONG_NAMES 4 /* of those that are held for long */

/* As the library does: whole seconds, two at least. */
static uint64_t idle_ms(const struct plan *plan)
{
	return plan->ttl_ms > 2000 ? (plan->ttl_ms + 999) / 1000 * 1000 : 2000;
}

static void write_client(const struct plan *plan, struct history *history)
{
	bool row = plan->strategy == ROWLOCK_ROW;

	history_write(history, history_now(), 0,
		      "client ttl=%" PRIu64 " strategy=%s call=%" PRIu64
		      " observe=%d",
		      row ? idle_ms(plan) : plan->ttl_ms, row ? "row" : "lease",
		      plan->call_ms, plan->observe);
}

static struct rowlock_client *open_client(const struct plan *plan,
					  const struct signs *signs)
{
	struct rowlock_client_options options = ROWLOCK_CLIENT_OPTIONS_DEFAULT;
	struct rowlock_errinfo err;
	struct rowlock_client *client;

	options.dsn = plan->dsn;
	options.ttl_ms = plan->ttl_ms;
	options.row_idle_ms = idle_ms(plan);
	options.program = "rowlock-stress";
	options.connect_timeout_ms = plan->call_ms;
	options.call_timeout_ms = plan->call_ms;
	options.reap_interval_ms = plan->reap_ms;
	if (!plan->reap_ms)
		options.flags |= ROWLOCK_NO_REAPER;
	if (plan->observe)
		options.flags |= ROWLOCK_OBSERVE_BEATS;
	test_handover(&options);
	if (getenv("ROWLOCK_TEST_GROUP"))
		options.batch_size =
		    (unsigned int) atoi(getenv("ROWLOCK_TEST_GROUP"));
	if (plan->tls_unverified)
		options.flags |= ROWLOCK_TLS_UNVERIFIED;
	while (rowlock_client_new(&options, &client, &err)) {
		if (!plan->patient || atomic_load(&signs->stop)) {
			fprintf(stderr, "stress: %s\n", err.message);
			return NULL;
		}
		worker_nap(AWAY_MS * 1000);
	}
	return client;
}

/* ---------------------------------------------------------------- threads */

static void name_grip(struct grip *grip, struct worker *worker,
		      const char *word, unsigned int i)
{
	snprintf(grip->names[0], sizeof(grip->names[0]), "%s%s%u",
		 worker->plan->prefix, word, i);
	grip->worker = worker;
	pthread_mutex_init(&grip->mutex, NULL);
	pthread_cond_init(&grip->told, NULL);
}

static int made(struct grip *grip, int code, const struct rowlock_errinfo *err)
{
	if (code) {
		fprintf(stderr, "stress: %s\n", err->message);
		return -1;
	}
	grip->kind->listen(grip, true);
	return 0;
}

static int make_lock(struct worker *worker, struct grip *grip, unsigned int i)
{
	bool lasts = i == worker->plan->names;
	struct rowlock_errinfo err;

	name_grip(grip, worker, lasts ? "long-" : "",
		  lasts ? worker->process % LONG_NAMES : i);
	return made(grip,
		    grip_lock(grip, worker->client, &worker->options, &err),
		    &err);
}

bool worker_has_recipes(const struct plan *plan)
{
	return plan->mixed && plan->strategy == ROWLOCK_LEASE;
}

static int make_rwlock(struct worker *worker, struct grip *grip, unsigned int i)
{
	struct rowlock_errinfo err;

	name_grip(grip, worker, "shared-", i);
	return made(grip, grip_rwlock(grip, worker->client, &err), &err);
}

static int make_semaphore(struct worker *worker, struct grip *grip,
			  unsigned int i)
{
	struct rowlock_errinfo err;

	name_grip(grip, worker, "permits-", i);
	grip->permits = 3 + 2 * i;
	return made(grip, grip_semaphore(grip, worker->client, &err), &err);
}

/* Of two or three names that are there, or of the one. */
static int make_set(struct worker *worker, struct grip *grip)
{
	unsigned int names = worker->plan->names;
	unsigned int first = worker_lot(worker, names);
	unsigned int parts = 2 + worker_lot(worker, GRIP_PARTS - 1);
	struct rowlock_errinfo err;

	name_grip(grip, worker, "", first);
	grip->parts = parts < names ? parts : names;
	for (unsigned int i = 1; i < grip->parts; i++)
		snprintf(grip->names[i], sizeof(grip->names[i]), "%s%u",
			 worker->plan->prefix, (first + i) % names);
	return made(grip, grip_multilock(grip, worker->client, &err), &err);
}

static int make_election(struct worker *worker)
{
	/* 0 is without one. */
	unsigned int weight = worker_lot(worker, 5);
	struct rowlock_errinfo err;

	name_grip(&worker->election, worker, "leader-", 0);
	return made(
	    &worker->election,
	    grip_election(&worker->election, worker->client, weight, &err),
	    &err);
}

static int make_recipes(struct worker *worker)
{
	int failed = make_election(worker);
	unsigned int i;

	for (i = 0; i < WORKER_RWLOCKS; i++)
		failed |= make_rwlock(worker, &worker->rwlocks[i], i);
	for (i = 0; i < WORKER_SEMAPHORES; i++)
		failed |= make_semaphore(worker, &worker->semaphores[i], i);
	for (i = 0; i < WORKER_SETS; i++)
		failed |= make_set(worker, &worker->sets[i]);
	return failed;
}

static int make_grips(struct worker *worker)
{
	const struct plan *plan = worker->plan;
	unsigned int i;

	worker->grips = calloc(plan->names + 1, sizeof(*worker->grips));
	if (!worker->grips)
		abort();
	for (i = 0; i <= plan->names; i++)
		if (make_lock(worker, &worker->grips[i], i))
			return -1;
	return worker_has_recipes(plan) ? make_recipes(worker) : 0;
}

static int free_grip(struct grip *grip)
{
	struct rowlock_errinfo err;

	if (!grip->kind->free(grip, &err))
		return 0;
	fprintf(stderr, "stress: %s\n", err.message);
	return 1;
}

static int free_grips(struct worker *worker)
{
	int failed = 0;
	unsigned int i;

	for (i = 0; i <= worker->plan->names; i++)
		failed |= free_grip(&worker->grips[i]);
	free(worker->grips);
	if (!worker_has_recipes(worker->plan))
		return failed;
	for (i = 0; i < WORKER_RWLOCKS; i++)
		failed |= free_grip(&worker->rwlocks[i]);
	for (i = 0; i < WORKER_SEMAPHORES; i++)
		failed |= free_grip(&worker->semaphores[i]);
	for (i = 0; i < WORKER_SETS; i++)
		failed |= free_grip(&worker->sets[i]);
	return failed | free_grip(&worker->election);
}

static void *run_thread(void *arg)
{
	struct worker *worker = arg;

	while (!atomic_load(&worker->signs->stop))
		worker_cycle(worker);
	history_write(worker->history, history_now(), worker->thread, "end");
	return NULL;
}

static uint64_t await_tick(uint64_t at)
{
	struct timespec time = { (time_t) (at / 1000000000u),
				 (long) (at % 1000000000u) };

	while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &time, NULL) ==
	       EINTR)
		;
	return history_now();
}

/* A good part of what is left of a TTL when a beat is due is serious. */
static const char *word_of(const struct plan *plan, uint64_t late_ns)
{
	return late_ns > plan->ttl_ms * 1000000u / 20 ? "starve" : "busy";
}

static void *watch_cpu(void *arg)
{
	struct worker *worker = arg;
	uint64_t now = history_now(), tick;
	const char *word;

	while (!atomic_load(&worker->signs->stop)) {
		tick = now + TICK_MS * 1000000u;
		now = await_tick(tick);
		if (now - tick < BUSY_MS * 1000000u)
			continue;
		word = word_of(worker->plan, now - tick);
		history_write(worker->history, tick, worker->thread,
			      "fault kind=%s target=%u", word, worker->process);
		history_write(worker->history, now, worker->thread,
			      "heal kind=%s target=%u", word, worker->process);
	}
	return NULL;
}

static void start_thread(struct worker *worker, void *(*fn)(void *) )
{
	if (!pthread_create(&worker->id, NULL, fn, worker))
		return;
	perror("stress: thread");
	_exit(3);
}

/* The last of them is the one that watches. */
static void run_threads(struct worker *workers, unsigned int n)
{
	struct signs *signs = workers[0].signs;
	unsigned int i;

	atomic_fetch_add(&signs->ready, 1);
	/* Not to come, if another process could not begin. */
	while (!atomic_load(&signs->go) && !atomic_load(&signs->stop))
		worker_nap(1000);
	start_thread(&workers[n], watch_cpu);
	for (i = 0; i < n; i++)
		start_thread(&workers[i], run_thread);
	for (i = 0; i <= n; i++)
		pthread_join(workers[i].id, NULL);
}

/* --------------------------------------------------------------- process */

static struct rowlock_options lock_options(const struct plan *plan)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;

	options.strategy = plan->strategy;
	options.flags = plan->token_with_grant ? ROWLOCK_TOKEN_WITH_GRANT : 0;
	return options;
}

static int make_workers(struct worker *workers, const struct worker *like)
{
	unsigned int i;

	for (i = 0; i <= like->plan->threads; i++) {
		workers[i] = *like;
		workers[i].thread = i;
		workers[i].seed = (unsigned int) like->plan->seed * 1000003u +
				  like->process * 1009u + i;
		if (i < like->plan->threads && make_grips(&workers[i]))
			return -1;
	}
	return 0;
}

static int end_client(struct rowlock_client *client)
{
	struct rowlock_errinfo err;

	if (!client || !rowlock_client_try_free(client, &err))
		return 0;
	fprintf(stderr, "stress: %s\n", err.message);
	return 1;
}

int worker_process(const struct plan *plan, struct signs *signs,
		   unsigned int number)
{
	struct worker *workers = calloc(plan->threads + 1, sizeof(*workers));
	struct worker like = { .plan = plan,
			       .signs = signs,
			       .process = number,
			       .options = lock_options(plan) };
	int failed = 0;
	unsigned int i;

	like.history = history_open(plan->dir, number);
	if (!workers || !like.history)
		return 1;
	write_client(plan, like.history);
	like.client = open_client(plan, signs);
	if (worker_has_recipes(plan))
		like.heir = open_client(plan, signs);
	if (!like.client || (worker_has_recipes(plan) && !like.heir) ||
	    make_workers(workers, &like))
		return 1;
	run_threads(workers, plan->threads);
	for (i = 0; i < plan->threads; i++)
		failed |= free_grips(&workers[i]);
	failed |= end_client(like.client);
	failed |= end_client(like.heir);
	history_write(like.history, history_now(), 0, "end");
	history_close(like.history);
	free(workers);
	return failed;
}
