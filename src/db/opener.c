/* SPDX-License-Identifier: MIT */
/*
 * The threads that open connections.
 *
 * An opener is started when a thread waits in a bay that has room, and ends
 * when none does. It opens for the bay, not for a thread: the connection goes
 * to the first waiter by then, or is kept.
 *
 * Failure modes: all waiters of the bay are given a failure. If it may pass
 * (too many connections, connection refused) those that persist stay, and so do
 * all while the bay has other connections lent, which will come back; the
 * opener then tries again with back-off. An opener that is stuck when the pool
 * ends is left alone: it finds the pool closed, closes what it got, and takes
 * the last reference with it.
 */
#include "db/opener.h"

#include <errmsg.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/random.h"
#include "db/connect.h"
#include "db/fault.h"
#include "db/lend.h"
#include "db/retire.h"

#define BACKOFF_MIN_MS 20
#define BACKOFF_MAX_MS 1000

/* No try is longer, so that one who waits for ever is not left with an address
 * that swallows everything. */
#define TRY_MAX_MS 10000

#define EARLIER_MS 25

/* Most errors that Connector/C makes, as those of names and of TLS, come again.
 */
static bool comes_again(unsigned int number)
{
	switch (number) {
	case CR_CONNECTION_ERROR:
	case CR_CONN_HOST_ERROR:
	case CR_SERVER_LOST:
	case CR_SERVER_GONE_ERROR:
	case CR_SERVER_LOST_EXTENDED:
		return false;
	default:
		return rlk_fault_by_connector(number);
	}
}

/* A server that is away now (away.c), or that was not reached. */
static bool may_pass(const struct rowlock_errinfo *error)
{
	return error->code == ROWLOCK_ECONNECT && !comes_again(error->mysql);
}

static struct rlk_bay *find_work(struct rlk_pool *pool)
{
	for (size_t i = 0; i < pool->count && !pool->closed; i++) {
		struct rlk_bay *bay = &pool->bays[i];

		if (rlk_bay_waiting(bay) > bay->opening &&
		    rlk_bay_has_room(bay))
			return bay;
	}
	return NULL;
}

/* As long as the most patient of those who wait. */
static int64_t try_until(const struct rlk_pool *pool, const struct rlk_bay *bay)
{
	int64_t now = rlk_now(pool->target.clock);
	int64_t latest = now;
	const struct rlk_list *node;

	for (node = bay->waits.next; node != &bay->waits; node = node->next) {
		const struct rlk_pool_wait *wait =
		    container_of(node, struct rlk_pool_wait, list);

		if (wait->until_ms > latest)
			latest = wait->until_ms;
	}
	if (latest - now > TRY_MAX_MS)
		return now + TRY_MAX_MS;
	/* A little earlier than they leave, so that they hear the reason. */
	return latest - now > 4 * EARLIER_MS ? latest - EARLIER_MS : latest;
}

static void spread_failure(const struct rlk_pool *pool, struct rlk_bay *bay,
			   const struct rowlock_errinfo *error)
{
	bool pass = may_pass(error);
	struct rlk_pool_wait *wait;

	bay->error = *error;
	bay->failed_ms = rlk_now(pool->target.clock);
	rlk_list_each (wait, &bay->waits, list) {
		wait->error = *error;
		if (!pass || (!wait->persist && !bay->lent))
			rlk_pool_serve(wait);
	}
}

/* One try for @bay; the mutex is given up meanwhile. */
static bool try_once(struct rlk_pool *pool, struct rlk_bay *bay)
{
	struct rowlock_errinfo error = { 0 };
	struct rlk_conn *conn = NULL;
	int64_t until_ms = try_until(pool, bay);

	rlk_mutex_unlock(&pool->mutex);
	if (rlk_conn_open(&pool->target, &bay->spec.profile, until_ms, &conn,
			  &error) == 0)
		conn->loan.bay = (size_t) (bay - pool->bays);
	rlk_mutex_lock(&pool->mutex);
	if (!conn) {
		spread_failure(pool, bay, &error);
		return false;
	}
	bay->error.code = 0;
	rlk_pool_note_server(pool, conn);
	conn = rlk_pool_place(pool, conn);
	if (conn) {
		rlk_mutex_unlock(&pool->mutex);
		rlk_conn_close(conn);
		rlk_mutex_lock(&pool->mutex);
	}
	return true;
}

/* Sleep a random part of @backoff_ms; the mutex is given up meanwhile. */
static void back_off(struct rlk_opener *opener, int64_t backoff_ms)
{
	struct rlk_pool *pool = opener->pool;
	int64_t half = backoff_ms / 2;
	int64_t sleep = half + (int64_t) (rlk_random() % 1000) * half / 1000;
	int64_t until = rlk_now(pool->target.clock) + sleep;

	rlk_mutex_unlock(&pool->mutex);
	rlk_sleeper_wait(&opener->sleeper, until, -1);
	rlk_mutex_lock(&pool->mutex);
}

/* Until one connection is there or no thread waits for it any more. */
static void work_for(struct rlk_opener *opener, struct rlk_bay *bay)
{
	struct rlk_pool *pool = opener->pool;
	int64_t backoff_ms = BACKOFF_MIN_MS;

	while (!try_once(pool, bay)) {
		if (pool->closed || rlk_list_empty(&bay->waits))
			return;
		back_off(opener, backoff_ms);
		if (pool->closed || rlk_list_empty(&bay->waits))
			return;
		if (backoff_ms < BACKOFF_MAX_MS)
			backoff_ms *= 2;
	}
}

static void run(void *arg)
{
	struct rlk_opener *opener = arg;
	struct rlk_pool *pool = opener->pool;
	struct rlk_bay *bay;
	bool last;

	rlk_mutex_lock(&pool->mutex);
	while ((bay = find_work(pool))) {
		bay->opening++;
		work_for(opener, bay);
		bay->opening--;
	}
	opener->running = false;
	last = --pool->references == 0;
	rlk_sleeper_wake(&pool->ended);
	rlk_mutex_unlock(&pool->mutex);
	if (last)
		rlk_pool_destroy(pool);
}

static int start(struct rlk_pool *pool, struct rlk_opener *opener)
{
	int error;

	/* Its last run does not need the mutex any more. */
	rlk_thread_join(&opener->thread);
	if (!opener->ready) {
		if (rlk_sleeper_init(&opener->sleeper, pool->target.clock))
			return -1;
		opener->ready = true;
	}
	opener->pool = pool;
	opener->running = true;
	pool->references++;
	error = rlk_thread_start(&opener->thread, "rowlock-open", run, opener);
	if (error) {
		opener->running = false;
		pool->references--;
	}
	return error;
}

void rlk_opener_call(struct rlk_pool *pool, struct rlk_bay *bay)
{
	struct rowlock_errinfo error = { 0 };
	struct rlk_opener *idle = NULL;
	bool any = false;

	if (pool->closed || !find_work(pool))
		return;
	for (size_t i = 0; i < RLK_OPENERS; i++) {
		if (pool->openers[i].running)
			any = true;
		else if (!idle)
			idle = &pool->openers[i];
	}
	if (!idle || start(pool, idle) == 0 || any)
		return;
	rlk_fail(&error, ROWLOCK_ESYSTEM,
		 "connect: the system refused a thread or a descriptor");
	spread_failure(pool, bay, &error);
}
