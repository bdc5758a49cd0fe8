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

unsigned int worker_lot(struct worker *worker, unsigned int n)
{
	return n ? (unsigned int) rand_r(&worker->seed) % n : 0;
}

/* One event of each hold that @grip has. */
static void write_each(struct worker *worker, const struct grip *grip,
		       uint64_t at, const char *event, uint64_t serial,
		       const char *rest)
{
	for (unsigned int i = 0; i < grip->parts; i++)
		history_write(worker->history, at, worker->thread,
			      "%s serial=%" PRIu64 "%s", event, serial + i,
			      rest);
}

/* The end of a call: its code, and the server's errno if it failed. */
static void write_return(struct worker *worker, const struct grip *grip,
			 const char *event, uint64_t serial, int code,
			 const struct rowlock_errinfo *err)
{
	char rest[64] = " code=0";

	if (code)
		snprintf(rest, sizeof(rest), " code=%d mysql=%u", code,
			 err->mysql);
	write_each(worker, grip, history_now(), event, serial, rest);
}

/* ----------------------------------------------------------------- lost */

void grip_lost(struct grip *grip)
{
	uint64_t now = history_now();

	pthread_mutex_lock(&grip->mutex);
	write_each(grip->worker, grip, now, "lost", grip->serial, "");
	grip->last_lost = grip->serial;
	pthread_cond_broadcast(&grip->told);
	pthread_mutex_unlock(&grip->mutex);
}

/* The release told it: a callback that is still due would be taken for one of
 * the next hold. */
static void forget_callback(struct grip *grip)
{
	grip->kind->listen(grip, false);
	grip->kind->listen(grip, true);
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
	bool yes = grip->kind->held(grip);

	if (!yes)
		at = history_now();
	write_each(worker, grip, at, "held", serial, yes ? " yes=1" : " yes=0");
	return yes;
}

static void draw_one(struct worker *worker, struct grip *grip,
		     unsigned int part, uint64_t serial)
{
	struct rowlock_errinfo err = { 0, 0, "" };
	uint64_t token;
	int code;

	write_now(worker, "token serial=%" PRIu64, serial);
	code = grip->kind->token(grip, part, &token, &err);
	if (code)
		write_now(worker, "drew serial=%" PRIu64 " code=%d mysql=%u",
			  serial, code, err.mysql);
	else
		write_now(worker,
			  "drew serial=%" PRIu64 " code=0 token=%" PRIu64,
			  serial, token);
}

static void draw(struct worker *worker, struct grip *grip, uint64_t serial)
{
	for (unsigned int i = 0; grip->kind->token && i < grip->parts; i++)
		draw_one(worker, grip, i, serial + i);
}

static bool verify(struct worker *worker, struct grip *grip, uint64_t serial)
{
	struct rowlock_errinfo err = { 0, 0, "" };
	int code;

	write_each(worker, grip, history_now(), "verify", serial, "");
	code = grip->kind->verify(grip, &err);
	write_return(worker, grip, "verified", serial, code, &err);
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
		worker_nap(worker_lot(worker, most));
		if (!ask_held(worker, grip, serial))
			return false;
	}
	return true;
}

static bool use(struct worker *worker, struct grip *grip, uint64_t serial)
{
	const struct plan *plan = worker->plan;

	if (plan->token && !plan->token_with_grant &&
	    (!plan->mixed || worker_lot(worker, 2)))
		draw(worker, grip, serial);
	if (!think(worker, grip, serial))
		return false;
	return !plan->mixed || worker_lot(worker, 10) ||
	       verify(worker, grip, serial);
}

/* ------------------------------------------------------------- a cycle */

static int64_t draw_wait(struct worker *worker)
{
	const struct plan *plan = worker->plan;

	if (!plan->mixed)
		return WAIT_MS;
	switch (worker_lot(worker, 10)) {
	case 0:
		return 0;
	case 1:
		return -1;
	case 2:
		return 1 + (int64_t) worker_lot(worker, 500);
	default:
		return 1000 + (int64_t) worker_lot(worker, 9000);
	}
}

static uint64_t as_wait(int64_t wait_ms)
{
	return wait_ms < 0 ? ROWLOCK_FOREVER : (uint64_t) wait_ms;
}

/* What is different about one that is not just a lock. */
static void describe(const struct grip *grip, bool shares, char *into,
		     size_t room)
{
	*into = '\0';
	if (grip->permits)
		snprintf(into, room, " permits=%u takes=%u", grip->permits,
			 grip->takes);
	else if (grip->parts > 1)
		snprintf(into, room, " of=%u", grip->parts);
	else if (shares)
		snprintf(into, room, " mode=%s",
			 grip->reads ? "read" : "write");
}

static bool is_rwlock(const struct worker *worker, const struct grip *grip)
{
	return grip >= worker->rwlocks &&
	       grip < worker->rwlocks + WORKER_RWLOCKS;
}

static void write_acquire(struct worker *worker, const struct grip *grip,
			  uint64_t serial, int64_t wait_ms, bool callback)
{
	uint64_t now = history_now();
	char more[64];

	describe(grip, is_rwlock(worker, grip), more, sizeof(more));
	for (unsigned int i = 0; i < grip->parts; i++)
		history_write(worker->history, now, worker->thread,
			      "acquire serial=%" PRIu64 " name=%s wait=%" PRId64
			      "%s%s",
			      serial + i, grip->names[i], wait_ms,
			      callback ? "" : " callback=0", more);
}

/* With a token drawn by the grant, which is part of the acquire. */
static void write_acquired(struct worker *worker, struct grip *grip,
			   uint64_t serial)
{
	bool drawn = worker->plan->token_with_grant && grip->parts == 1 &&
		     !is_rwlock(worker, grip) && grip->kind->token;
	char rest[64] = " code=0";
	struct rowlock_errinfo err;
	uint64_t token, at = history_now();

	if ((drawn || grip->kind->elects) &&
	    !grip->kind->token(grip, 0, &token, &err))
		snprintf(rest, sizeof(rest), " code=0 token=%" PRIu64, token);
	write_each(worker, grip, at, "acquired", serial, rest);
}

/* Returns false, and rests, if it was not acquired. */
static bool acquired(struct worker *worker, struct grip *grip, uint64_t serial,
		     int code, const struct rowlock_errinfo *err)
{
	if (!code) {
		write_acquired(worker, grip, serial);
		return true;
	}
	write_return(worker, grip, "acquired", serial, code, err);
	worker_nap(AWAY_US);
	return false;
}

static int release(struct worker *worker, struct grip *grip, uint64_t serial)
{
	struct rowlock_errinfo err = { 0, 0, "" };
	int code;

	write_each(worker, grip, history_now(), "release", serial, "");
	code = grip->kind->release(grip, &err);
	write_return(worker, grip, "released", serial, code, &err);
	return code;
}

static void hold_once(struct worker *worker, struct grip *grip)
{
	uint64_t serial = worker->serial + 1;
	struct rowlock_errinfo err = { 0, 0, "" };
	int64_t wait_ms = draw_wait(worker);
	int code;

	worker->serial += grip->parts;
	begin_asking(grip, serial);
	write_acquire(worker, grip, serial, wait_ms, true);
	code = grip->kind->acquire(grip, as_wait(wait_ms), &err);
	if (!acquired(worker, grip, serial, code, &err))
		return;
	if (!use(worker, grip, serial))
		await_callback(grip, serial);
	if (release(worker, grip, serial) == ROWLOCK_ELOST)
		forget_callback(grip);
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
	struct grip grip = grip_of_lock(lock);

	execution->ran = true;
	write_acquired(execution->worker, &grip, execution->serial);
	use(execution->worker, &grip, execution->serial);
	write_now(execution->worker, "release serial=%" PRIu64,
		  execution->serial);
}

static void execute_once(struct worker *worker, struct grip *grip)
{
	uint64_t serial = ++worker->serial;
	const uint64_t wait_ms = 10000;
	struct execution execution = { worker, serial, false };
	struct rowlock_errinfo err = { 0, 0, "" };
	int code;

	write_acquire(worker, grip, serial, (int64_t) wait_ms, false);
	code = rowlock_execute(worker->client, rowlock_name(grip->lock),
			       &worker->options, wait_ms, in_execution,
			       &execution, &err);
	write_return(worker, grip, execution.ran ? "released" : "acquired",
		     serial, code, &err);
	if (code)
		worker_nap(AWAY_US);
}

/* Export what @from holds as @serial, which ends that hold, and adopt it by
 * @to, which is the next one. */
static void pass_on(struct worker *worker, struct grip *from, struct grip *to,
		    uint64_t serial)
{
	char text[ROWLOCK_EXPORT_SIZE];
	struct rowlock_errinfo err = { 0, 0, "" };
	int code;

	write_now(worker, "release serial=%" PRIu64, serial);
	code = rowlock_export(from->lock, text, sizeof(text), &err);
	write_return(worker, from, "released", serial, code, &err);
	if (code)
		return;
	serial = ++worker->serial;
	write_acquire(worker, to, serial, 0, false);
	code = rowlock_adopt(to->lock, text, &err);
	/* Its session ended meanwhile, and another has it. */
	if (code == ROWLOCK_ELOST)
		code = ROWLOCK_EBUSY;
	if (!acquired(worker, to, serial, code, &err))
		return;
	use(worker, to, serial);
	release(worker, to, serial);
}

/* The other client of this process adopts it. */
static void hand_over_once(struct worker *worker, const struct grip *like)
{
	const char *name = like->names[0];
	uint64_t serial = ++worker->serial;
	const uint64_t wait_ms = 10000;
	struct rowlock_errinfo err = { 0, 0, "" };
	struct rowlock *locks[2];
	struct grip from, to;

	if (rowlock_new(worker->client, name, &worker->options, &locks[0],
			&err) ||
	    rowlock_new(worker->heir, name, &worker->options, &locks[1], &err))
		abort();
	from = grip_of_lock(locks[0]);
	to = grip_of_lock(locks[1]);
	snprintf(from.names[0], sizeof(from.names[0]), "%s", name);
	snprintf(to.names[0], sizeof(to.names[0]), "%s", name);
	write_acquire(worker, &from, serial, (int64_t) wait_ms, false);
	if (acquired(worker, &from, serial,
		     rowlock_acquire(locks[0], wait_ms, &err), &err)) {
		use(worker, &from, serial);
		pass_on(worker, &from, &to, serial);
	}
	/* One that was not adopted is given back. */
	rowlock_free(locks[0]);
	rowlock_free(locks[1]);
}

/* Three of four read; who takes permits wants one or all in most cases. */
static struct grip *recipe(struct worker *worker)
{
	unsigned int die = worker_lot(worker, 8);
	struct grip *grip = &worker->election;

	if (die < 3) {
		grip = &worker->rwlocks[worker_lot(worker, WORKER_RWLOCKS)];
		grip->reads = worker_lot(worker, 4) > 0;
	} else if (die < 5) {
		grip =
		    &worker->semaphores[worker_lot(worker, WORKER_SEMAPHORES)];
		grip->takes = 1 + worker_lot(worker, 2) *
				      worker_lot(worker, grip->permits);
	} else if (die < 7) {
		grip = &worker->sets[worker_lot(worker, WORKER_SETS)];
	}
	return grip;
}

void worker_cycle(struct worker *worker)
{
	unsigned int names = worker->plan->names;
	struct grip *grip =
	    &worker
		 ->grips[is_patron(worker) ? names : worker_lot(worker, names)];

	if (worker_has_recipes(worker->plan) && !is_patron(worker) &&
	    worker_lot(worker, 2))
		hold_once(worker, recipe(worker));
	else if (worker->heir && !worker_lot(worker, 5))
		hand_over_once(worker, grip);
	else if (worker->plan->mixed && !worker_lot(worker, 10))
		execute_once(worker, grip);
	else
		hold_once(worker, grip);
}
