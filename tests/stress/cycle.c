// SPDX-License-Identifier: MIT
/*
 * One cycle of a thread: acquire, use, release; each call and each return
 * written into the history. Errors are written down, not judged.
 *
 * A lost callback does not say which hold it means. So who was told that a
 * hold is lost waits for its callback, or forgets it, before asking for the
 * next: then it is the last one's.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "worker.h"

#define WAIT_MS 120000 /* longer than any queue of a sound run */
#define CALLBACK_S 3   /* a callback later than that is a violation anyway */
#define AWAY_US 10000  /* a server that is away is not asked all the time */

#define write_now(worker, ...)                                                 \
	history_write((worker)->history, history_now(), (worker)->thread,      \
		      __VA_ARGS__)

void worker_nap(unsigned int us)
{
	struct timespec time = { us / 1000000, (long) (us % 1000000) * 1000 };

	nanosleep(&time, NULL);
}

/* Below @n, by lot. */
static unsigned int lot(struct worker *worker, unsigned int n)
{
	return n ? (unsigned int) rand_r(&worker->seed) % n : 0;
}

/* The end of a call: its code, and the server's errno if it failed. */
static void write_return(struct worker *worker, const char *event,
			 uint64_t serial, int code,
			 const struct rowlock_errinfo *err)
{
	if (!code)
		write_now(worker, "%s serial=%" PRIu64 " code=0", event,
			  serial);
	else
		write_now(worker, "%s serial=%" PRIu64 " code=%d mysql=%u",
			  event, serial, code, err->mysql);
}

/* ----------------------------------------------------------------- lost */

static void note_loss(struct grip *grip)
{
	uint64_t now = history_now();

	pthread_mutex_lock(&grip->mutex);
	history_write(grip->worker->history, now, grip->worker->thread,
		      "lost serial=%" PRIu64, grip->serial);
	grip->last_lost = grip->serial;
	pthread_cond_broadcast(&grip->told);
	pthread_mutex_unlock(&grip->mutex);
}

static void lost(struct rowlock *lock, void *grip)
{
	(void) lock;
	note_loss(grip);
}

static void lost_rwlock(struct rowlock_rwlock *rwlock, void *grip)
{
	(void) rwlock;
	note_loss(grip);
}

void worker_listen(struct grip *grip)
{
	if (grip->rwlock)
		rowlock_rwlock_on_lost(grip->rwlock, lost_rwlock, grip);
	else
		rowlock_on_lost(grip->lock, lost, grip);
}

/* The release told it: a callback that is still due would be taken for one of
 * the next hold. */
static void forget_callback(struct grip *grip)
{
	if (grip->rwlock)
		rowlock_rwlock_on_lost(grip->rwlock, NULL, NULL);
	else
		rowlock_on_lost(grip->lock, NULL, NULL);
	worker_listen(grip);
}

static void await_callback(struct grip *grip, uint64_t serial)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += CALLBACK_S;
	pthread_mutex_lock(&grip->mutex);
	while (grip->last_lost != serial &&
	       !pthread_cond_timedwait(&grip->told, &grip->mutex, &until))
		;
	pthread_mutex_unlock(&grip->mutex);
}

/* From now on callbacks are about this hold. */
static void begin_asking(struct grip *grip, uint64_t serial)
{
	pthread_mutex_lock(&grip->mutex);
	grip->serial = serial;
	pthread_mutex_unlock(&grip->mutex);
}

/* ------------------------------------------------------------ in a hold */

/* A yes was true after the question, a no before the answer; and who asks may
 * be stopped in between. */
static bool ask_held(struct worker *worker, struct grip *grip, uint64_t serial)
{
	uint64_t at = history_now();
	int yes = grip->rwlock
		      ? rowlock_rwlock_held(grip->rwlock) != ROWLOCK_RWLOCK_NONE
		      : rowlock_held(grip->lock);

	if (!yes)
		at = history_now();
	history_write(worker->history, at, worker->thread,
		      "held serial=%" PRIu64 " yes=%d", serial, yes);
	return yes;
}

static void draw(struct worker *worker, struct grip *grip, uint64_t serial)
{
	struct rowlock_errinfo err = { 0, 0, "" };
	uint64_t token;
	int code;

	write_now(worker, "token serial=%" PRIu64, serial);
	code = grip->rwlock ? rowlock_rwlock_token(grip->rwlock, &token, &err)
			    : rowlock_token(grip->lock, &token, &err);
	if (code)
		write_return(worker, "drew", serial, code, &err);
	else
		write_now(worker,
			  "drew serial=%" PRIu64 " code=0 token=%" PRIu64,
			  serial, token);
}

static bool verify(struct worker *worker, struct grip *grip, uint64_t serial)
{
	struct rowlock_errinfo err = { 0, 0, "" };
	int code;

	write_now(worker, "verify serial=%" PRIu64, serial);
	code = grip->rwlock ? rowlock_rwlock_verify(grip->rwlock, &err)
			    : rowlock_verify(grip->lock, &err);
	write_return(worker, "verified", serial, code, &err);
	return code != ROWLOCK_ELOST;
}

/* In a mixed run one thread of each process holds on to a name that few others
 * want, so that every fault meets somebody who holds something. */
static bool is_patron(const struct worker *worker)
{
	return worker->plan->mixed && !worker->thread;
}

/* Think in steps; after each, ask whether the lock is still held: false if it
 * was said to be lost. */
static bool think(struct worker *worker, struct grip *grip, uint64_t serial)
{
	const struct plan *plan = worker->plan;
	unsigned int steps = plan->kills ? 3 : 1;
	unsigned int most = plan->think_us;

	if (is_patron(worker)) {
		steps = 40;
		most = (unsigned int) plan->ttl_ms * 2000;
	}
	most /= steps;
	while (steps-- && !atomic_load(&worker->signs->stop)) {
		worker_nap(lot(worker, most));
		if (!ask_held(worker, grip, serial))
			return false;
	}
	return true;
}

static bool use(struct worker *worker, struct grip *grip, uint64_t serial)
{
	const struct plan *plan = worker->plan;

	if (plan->token && !plan->token_with_grant &&
	    (!plan->mixed || lot(worker, 2)))
		draw(worker, grip, serial);
	if (!think(worker, grip, serial))
		return false;
	return !plan->mixed || lot(worker, 10) || verify(worker, grip, serial);
}

/* ------------------------------------------------------------- a cycle */

static int64_t draw_wait(struct worker *worker)
{
	const struct plan *plan = worker->plan;

	if (!plan->mixed)
		return WAIT_MS;
	switch (lot(worker, 10)) {
	case 0:
		return 0;
	case 1:
		return -1;
	case 2:
		return 1 + (int64_t) lot(worker, 500);
	default:
		return 1000 + (int64_t) lot(worker, 9000);
	}
}

static uint64_t as_wait(int64_t wait_ms)
{
	return wait_ms < 0 ? ROWLOCK_FOREVER : (uint64_t) wait_ms;
}

static void write_acquire(struct worker *worker, const struct grip *grip,
			  uint64_t serial, int64_t wait_ms, bool callback)
{
	write_now(worker,
		  "acquire serial=%" PRIu64 " name=%s wait=%" PRId64 "%s%s",
		  serial, grip->name, wait_ms, callback ? "" : " callback=0",
		  !grip->rwlock ? ""
		  : grip->reads ? " mode=read"
				: " mode=write");
}

/* With a token drawn by the grant, which is part of the acquire. */
static void write_acquired(struct worker *worker, const struct grip *grip,
			   uint64_t serial)
{
	struct rowlock_errinfo err;
	uint64_t token, at = history_now();

	if (worker->plan->token_with_grant && !grip->rwlock &&
	    !rowlock_token(grip->lock, &token, &err))
		history_write(worker->history, at, worker->thread,
			      "acquired serial=%" PRIu64
			      " code=0 token=%" PRIu64,
			      serial, token);
	else
		history_write(worker->history, at, worker->thread,
			      "acquired serial=%" PRIu64 " code=0", serial);
}

static void release(struct worker *worker, struct grip *grip, uint64_t serial)
{
	struct rowlock_errinfo err = { 0, 0, "" };
	int code;

	write_now(worker, "release serial=%" PRIu64, serial);
	code = grip->rwlock ? rowlock_rwlock_release(grip->rwlock, &err)
			    : rowlock_release(grip->lock, &err);
	write_return(worker, "released", serial, code, &err);
	if (code == ROWLOCK_ELOST)
		forget_callback(grip);
}

static int acquire(struct grip *grip, uint64_t wait_ms,
		   struct rowlock_errinfo *err)
{
	if (!grip->rwlock)
		return rowlock_acquire(grip->lock, wait_ms, err);
	return grip->reads
		   ? rowlock_rwlock_acquire_read(grip->rwlock, wait_ms, err)
		   : rowlock_rwlock_acquire_write(grip->rwlock, wait_ms, err);
}

static void lock_once(struct worker *worker, struct grip *grip, uint64_t serial)
{
	struct rowlock_errinfo err = { 0, 0, "" };
	int64_t wait_ms = draw_wait(worker);
	int code;

	begin_asking(grip, serial);
	write_acquire(worker, grip, serial, wait_ms, true);
	code = acquire(grip, as_wait(wait_ms), &err);
	if (code) {
		write_return(worker, "acquired", serial, code, &err);
		worker_nap(AWAY_US);
		return;
	}
	write_acquired(worker, grip, serial);
	if (!use(worker, grip, serial))
		await_callback(grip, serial);
	release(worker, grip, serial);
	atomic_fetch_add(&worker->signs->holds, 1);
}

struct execution {
	struct worker *worker;
	uint64_t serial;
	bool ran;
};

static void in_execution(struct rowlock *lock, void *arg)
{
	struct execution *execution = arg;
	struct grip grip = { .lock = lock };

	execution->ran = true;
	write_acquired(execution->worker, &grip, execution->serial);
	use(execution->worker, &grip, execution->serial);
	write_now(execution->worker, "release serial=%" PRIu64,
		  execution->serial);
}

static void execute_once(struct worker *worker, struct grip *grip,
			 uint64_t serial)
{
	struct rowlock_execute_options options =
	    ROWLOCK_EXECUTE_OPTIONS_DEFAULT;
	struct execution execution = { worker, serial, false };
	struct rowlock_errinfo err = { 0, 0, "" };
	int code;

	options.lock = &worker->options;
	write_acquire(worker, grip, serial, (int64_t) options.wait_ms, false);
	code = rowlock_execute(worker->client, rowlock_name(grip->lock),
			       &options, in_execution, &execution, &err);
	write_return(worker, execution.ran ? "released" : "acquired", serial,
		     code, &err);
	if (code)
		worker_nap(AWAY_US);
}

/* Three of four read. */
static void share_once(struct worker *worker, uint64_t serial)
{
	struct grip *grip = &worker->rwlocks[lot(worker, WORKER_RWLOCKS)];

	grip->reads = lot(worker, 4) > 0;
	lock_once(worker, grip, serial);
}

void worker_cycle(struct worker *worker)
{
	unsigned int names = worker->plan->names;
	struct grip *grip =
	    &worker->grips[is_patron(worker) ? names : lot(worker, names)];
	uint64_t serial = ++worker->serial;

	if (worker_shares(worker->plan) && !is_patron(worker) &&
	    !lot(worker, 3))
		share_once(worker, serial);
	else if (worker->plan->mixed && !lot(worker, 10))
		execute_once(worker, grip, serial);
	else
		lock_once(worker, grip, serial);
}
