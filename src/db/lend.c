/* SPDX-License-Identifier: MIT */
/*
 * Lending connections.
 *
 * A thread that finds an idle connection takes it, the last one used first. If
 * there is none the thread queues in the bay and sleeps; a connection that is
 * given back goes to the first in the queue. Openers (opener.c) add connections
 * while a thread waits and the bay's limit leaves room.
 *
 * Failure modes: an idle connection whose socket is readable has been closed by
 * the server, and is closed here; so is one that is retired. A connection that
 * arrives at the very moment of the deadline is taken, not lost.
 */
#include "db/lend.h"

#include "db/pool_private.h"

#include <stdlib.h>

#include "base/error.h"
#include "db/opener.h"
#include "db/retire.h"

/* The last failure is not the reason any more after this time. */
#define REASON_MAX_MS 10000

/* Take @conn out of the idle ones; it is lent now. */
static void lend(struct rlk_bay *bay, struct rlk_conn *conn)
{
	rlk_list_remove(&conn->loan.in_bay);
	rlk_list_append(&bay->out, &conn->loan.in_bay);
	bay->kept--;
	bay->lent++;
}

void rlk_pool_serve(struct rlk_pool_wait *wait)
{
	rlk_list_remove(&wait->list);
	wait->served = true;
	rlk_sleeper_wake(&wait->sleeper);
}

struct rlk_conn *rlk_pool_place(struct rlk_pool *pool, struct rlk_conn *conn)
{
	struct rlk_bay *bay = &pool->bays[conn->loan.bay];
	struct rlk_list *first = rlk_list_first(&bay->waits);

	if (pool->closed)
		return conn;
	if (first) {
		struct rlk_pool_wait *wait =
		    container_of(first, struct rlk_pool_wait, list);

		rlk_list_append(&bay->out, &conn->loan.in_bay);
		bay->lent++;
		wait->conn = conn;
		rlk_pool_serve(wait);
		return NULL;
	}
	if (bay->kept >= bay->spec.keep)
		return conn;
	bay->kept++;
	conn->loan.idle_since_ms = rlk_now(pool->target.clock);
	rlk_list_append(&bay->idle, &conn->loan.in_bay);
	return NULL;
}

static struct rlk_pool_wait *wait_new(struct rlk_pool *pool)
{
	struct rlk_list *node = rlk_list_first(&pool->spare);
	struct rlk_pool_wait *wait;

	if (node) {
		rlk_list_remove(node);
		return container_of(node, struct rlk_pool_wait, list);
	}
	wait = calloc(1, sizeof(*wait));
	if (!wait)
		return NULL;
	rlk_list_init(&wait->list);
	if (rlk_sleeper_init(&wait->sleeper, pool->target.clock)) {
		free(wait);
		return NULL;
	}
	return wait;
}

/* Why there is no connection: the failure of a try while the thread waited, or
 * else of the last one before, unless that is old; NULL if there is none. */
static const struct rowlock_errinfo *reason(const struct rlk_pool *pool,
					    const struct rlk_bay *bay,
					    const struct rlk_pool_wait *wait)
{
	if (wait->error.code)
		return &wait->error;
	if (bay->error.code &&
	    rlk_now(pool->target.clock) - bay->failed_ms < REASON_MAX_MS)
		return &bay->error;
	return NULL;
}

static int fail_deadline(struct rlk_pool *pool, const struct rlk_bay *bay,
			 const struct rlk_pool_wait *wait,
			 struct rowlock_errinfo *reterr)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&pool->asked.mutex);
	const struct rowlock_errinfo *error = reason(pool, bay, wait);
	const char *label = bay->spec.profile.label;
	const char *where = pool->asked.where;

	if (error) {
		if (reterr)
			*reterr = *error;
		return error->code;
	}
	if (!rlk_bay_has_room(bay) && !bay->opening)
		return rlk_fail(reterr, ROWLOCK_ETIMEDOUT,
				"no %s connection to %s came free in time, all "
				"%u being in use",
				label, where, bay->spec.limit);
	return rlk_fail(reterr, ROWLOCK_ECONNECT,
			"connect to %s: no answer in time for a %s connection; "
			"is the server overloaded, or its name hard to "
			"resolve?",
			where, label);
}

/* The result of the wait. Under the mutex, and out of the queue. */
static int settle(struct rlk_pool *pool, const struct rlk_bay *bay,
		  const struct rlk_pool_wait *wait, bool interrupted,
		  struct rowlock_errinfo *reterr)
{
	if (wait->conn)
		return 0;
	if (wait->served) {
		if (reterr)
			*reterr = wait->error;
		return wait->error.code;
	}
	if (interrupted)
		return rlk_fail(reterr, ROWLOCK_ECANCELED, "canceled");
	return fail_deadline(pool, bay, wait, reterr);
}

/* The arguments of a get. */
struct wish {
	size_t bay;
	int64_t until_ms;
	bool persist;
	bool spare; /* only one that nobody else waits for */
	struct rlk_pool_waiter *waiter;
};

/* Until served, interrupted, or out of time; the mutex is given up meanwhile.
 */
static void queue(struct rlk_pool *pool, struct rlk_bay *bay,
		  struct rlk_pool_wait *wait, struct rlk_pool_waiter *waiter)
{
	const struct rlk_clock *clock = pool->target.clock;

	rlk_list_append(&bay->waits, &wait->list);
	if (waiter)
		waiter->wait = wait;
	rlk_opener_call(pool, bay);
	while (!wait->served && !(waiter && waiter->interrupted) &&
	       rlk_now(clock) < wait->until_ms) {
		rlk_mutex_unlock(&pool->mutex);
		rlk_sleeper_wait(&wait->sleeper, wait->until_ms, -1);
		rlk_mutex_lock(&pool->mutex);
	}
	rlk_list_remove(&wait->list);
	if (waiter)
		waiter->wait = NULL;
}

static int get_waiting(struct rlk_pool *pool, const struct wish *wish,
		       struct rlk_conn **ret_conn,
		       struct rowlock_errinfo *reterr)
{
	struct rlk_bay *bay = &pool->bays[wish->bay];
	struct rlk_pool_waiter *waiter = wish->waiter;
	struct rlk_pool_wait *wait = wait_new(pool);
	int code;

	if (!wait)
		return rlk_fail(reterr, ROWLOCK_ESYSTEM,
				"pool: no memory or no descriptor for one who "
				"waits; raise the limit of open files");
	wait->until_ms = wish->until_ms;
	wait->persist = wish->persist;
	wait->served = false;
	wait->error.code = 0;
	queue(pool, bay, wait, waiter);
	code = settle(pool, bay, wait, waiter && waiter->interrupted, reterr);
	if (!code)
		*ret_conn = TAKE_PTR(wait->conn);
	rlk_list_append(&pool->spare, &wait->list);
	return code;
}

/* An idle connection, which may be dead, or one to wait for, which is not.
 * Takes pool->mutex. */
static int get(struct rlk_pool *pool, const struct wish *wish,
	       struct rlk_conn **ret_conn, struct rowlock_errinfo *reterr)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&pool->mutex);
	struct rlk_bay *bay = &pool->bays[wish->bay];

	if (wish->waiter && wish->waiter->interrupted)
		return rlk_fail(reterr, ROWLOCK_ECANCELED, "canceled");
	if (wish->spare && !rlk_bay_has_spare(bay))
		return ROWLOCK_EBUSY;
	if (rlk_list_empty(&bay->idle) || !rlk_list_empty(&bay->waits))
		return get_waiting(pool, wish, ret_conn, reterr);
	*ret_conn = rlk_pool_conn(bay->idle.prev);
	lend(bay, *ret_conn);
	return 0;
}

/* One that is alive, with its deadline. */
static int get_alive(struct rlk_pool *pool, const struct wish *wish,
		     struct rlk_conn **ret_conn, struct rowlock_errinfo *reterr)
{
	struct rlk_conn *conn = NULL;
	int code;

	for (;;) {
		code = get(pool, wish, &conn, reterr);
		rlk_refusal_report(&pool->refusal, pool->log);
		if (code)
			return code;
		if (!rlk_conn_alive(conn))
			conn->dead = true;
		else if (!conn->retired)
			break;
		rlk_pool_put(pool, conn);
	}
	rlk_conn_set_until(conn, wish->until_ms);
	*ret_conn = conn;
	return 0;
}

int rlk_pool_get(struct rlk_pool *pool, size_t bay, int64_t until_ms,
		 bool persist, struct rlk_pool_waiter *waiter,
		 struct rlk_conn **ret_conn, struct rowlock_errinfo *reterr)
{
	const struct wish wish = { bay, until_ms, persist, false, waiter };

	return get_alive(pool, &wish, ret_conn, reterr);
}

int rlk_pool_get_spare(struct rlk_pool *pool, size_t bay, int64_t until_ms,
		       struct rlk_pool_waiter *waiter,
		       struct rlk_conn **ret_conn,
		       struct rowlock_errinfo *reterr)
{
	const struct wish wish = { bay, until_ms, true, true, waiter };

	return get_alive(pool, &wish, ret_conn, reterr);
}

bool rlk_pool_opens(struct rlk_pool *pool, size_t bay)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&pool->mutex);

	return pool->bays[bay].opening && !pool->bays[bay].lent;
}

void rlk_pool_interrupt(struct rlk_pool *pool, struct rlk_pool_waiter *waiter)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&pool->mutex);

	waiter->interrupted = true;
	if (waiter->wait)
		rlk_sleeper_wake(&waiter->wait->sleeper);
}

void rlk_pool_discard(struct rlk_pool *pool, struct rlk_conn *conn)
{
	struct rlk_bay *bay;

	if (!conn)
		return;
	rlk_pool_note(pool, conn);
	bay = &pool->bays[conn->loan.bay];
	rlk_mutex_lock(&pool->mutex);
	rlk_list_remove(&conn->loan.in_bay);
	rlk_mutex_unlock(&pool->mutex);
	/* Closed before another takes its place: the limit is a promise. */
	rlk_conn_close(conn);
	rlk_mutex_lock(&pool->mutex);
	bay->lent--;
	rlk_opener_call(pool, bay);
	rlk_mutex_unlock(&pool->mutex);
}

void rlk_pool_put(struct rlk_pool *pool, struct rlk_conn *conn)
{
	struct rlk_bay *bay;

	if (!conn)
		return;
	rlk_pool_note(pool, conn);
	if (!rlk_conn_usable(conn) || conn->retired) {
		rlk_pool_discard(pool, conn);
		return;
	}
	bay = &pool->bays[conn->loan.bay];
	rlk_mutex_lock(&pool->mutex);
	rlk_list_remove(&conn->loan.in_bay);
	bay->lent--;
	conn = rlk_pool_place(pool, conn);
	rlk_mutex_unlock(&pool->mutex);
	rlk_conn_close(conn);
}

void rlk_pool_interrupt_all(struct rlk_pool *pool)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&pool->mutex);

	for (size_t i = 0; i < pool->count; i++) {
		struct rlk_pool_wait *wait;
		struct rlk_conn *conn;

		rlk_list_each (conn, &pool->bays[i].out, loan.in_bay)
			rlk_conn_interrupt(conn);
		rlk_list_each (wait, &pool->bays[i].waits, list) {
			rlk_fail(&wait->error, ROWLOCK_ECANCELED, "canceled");
			rlk_pool_serve(wait);
		}
	}
}

struct rlk_conn *rlk_pool_take_idle(struct rlk_pool *pool, size_t bay,
				    int64_t idle_ms)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&pool->mutex);
	struct rlk_conn *conn =
	    rlk_pool_conn(rlk_list_first(&pool->bays[bay].idle));

	if (!conn ||
	    rlk_now(pool->target.clock) - conn->loan.idle_since_ms < idle_ms)
		return NULL;
	lend(&pool->bays[bay], conn);
	return conn;
}
