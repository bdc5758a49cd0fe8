/* SPDX-License-Identifier: MIT */
/*
 * Deadlines, connections and errors of a client's calls, and the end of a
 * statement or a session that a call has left in the server.
 */
#include "core/call.h"

#include "base/error.h"
#include "base/process.h"
#include "core/cut_off.h"
#include "db/conn_fence.h"
#include "db/lend.h"
#include "db/transaction.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The pause before a statement without an answer is sent again. */
#define PAUSE_MS 20

/* The time for a killed session to go; the next round of the chores sees to
 * the rest. */
#define DYING_MS 20

uint64_t rlk_margin(uint64_t duration_ms)
{
	uint64_t tenth = duration_ms / 10;

	return tenth < 50 ? 50 : tenth;
}

bool rlk_client_forked(const struct rowlock_client *client)
{
	return client->process != rlk_process();
}

int rlk_client_refuses(const struct rowlock_client *client,
		       struct rowlock_errinfo *reterr)
{
	if (!client)
		return rlk_fail_null("the client", reterr);
	if (client->ended)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"the client of %s was freed; free what is left "
				"of it, and make another one",
				client->server);
	if (!rlk_client_forked(client))
		return 0;
	return rlk_fail(reterr, ROWLOCK_EFORKED,
			"this client of %s belongs to process %d, the parent; "
			"make a client of your own in the child",
			client->server, (int) client->pid);
}

void rlk_client_leave(struct rowlock_client *client)
{
	bool last;

	rlk_mutex_lock(&client->mutex);
	last = --client->users == 0;
	rlk_mutex_unlock(&client->mutex);
	if (!last)
		return;
	rlk_cond_fini(&client->notices_changed);
	rlk_cond_fini(&client->watches_changed);
	rlk_mutex_fini(&client->mutex);
	rlk_names_fini(&client->names);
	for (size_t i = 0; i < RLK_REASONS; i++)
		free(client->reasons[i]);
	free(client);
}

int64_t rlk_client_call_until(const struct rowlock_client *client)
{
	return rlk_after(rlk_now(client->clock), client->call_timeout_ms);
}

bool rlk_client_stopping(struct rowlock_client *client)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);

	return client->stopping;
}

int64_t rlk_client_chore_until(struct rowlock_client *client)
{
	if (rlk_client_stopping(client))
		return rlk_now(client->clock);
	return rlk_client_call_until(client);
}

int rlk_client_conn(struct rowlock_client *client, size_t bay, int64_t until_ms,
		    struct rlk_conn **ret_conn, struct rowlock_errinfo *reterr)
{
	int64_t began = rlk_now(client->clock);
	int code = rlk_pool_get(client->pool, bay, until_ms, true, NULL,
				ret_conn, reterr);

	if (code != ROWLOCK_ETIMEDOUT)
		return code;
	return rlk_fail(reterr, ROWLOCK_EDB,
			"all %s connections of this client to %s were in use "
			"for %" PRId64 " ms; allow more or longer calls",
			client->bays[bay].profile.label, client->server,
			rlk_now(client->clock) - began);
}

int rlk_client_unsent_code(const struct rowlock_client *client)
{
	return rlk_pool_opens(client->pool, RLK_BAY_COMMIT) ? ROWLOCK_ECONNECT
							    : ROWLOCK_EDB;
}

int rlk_client_chore_conn(struct rowlock_client *client, size_t bay,
			  struct rlk_conn **ret_conn)
{
	struct rowlock_errinfo error;

	return rlk_pool_get(client->pool, bay, rlk_client_chore_until(client),
			    false, NULL, ret_conn, &error);
}

int rlk_fail_no_answer(const struct rowlock_client *client, uint64_t within_ms,
		       struct rowlock_errinfo *reterr)
{
	char within[48] = "";

	if (within_ms)
		snprintf(within, sizeof(within), " within %" PRIu64 " ms",
			 within_ms);
	return rlk_fail(reterr, ROWLOCK_ECONNECT, "no answer from %s%s",
			client->server, within);
}

int rlk_fail_row_locked(const struct rowlock_client *client,
			struct rowlock_errinfo *reterr)
{
	return rlk_fail_db(
	    reterr, ROWLOCK_EDB, reterr->mysql,
	    "a transaction on %s has its row locked, perhaps one of your own: "
	    "end that first; information_schema.INNODB_TRX has those that are "
	    "open",
	    client->server);
}

bool rlk_client_has_time(const struct rowlock_client *client,
			 enum rlk_fault fault, int64_t until_ms)
{
	int64_t left = until_ms - rlk_now(client->clock);

	/* A statement cut off while it waits for a locked row is in doubt, and
	 * costs its connection. */
	return left > (fault == RLK_BUSY ? RLK_LOCK_WAIT_S * 1000 : 0);
}

void rlk_client_pause(const struct rowlock_client *client, int64_t until_ms)
{
	_cleanup_(rlk_sleeper_fini) struct rlk_sleeper sleeper =
	    RLK_SLEEPER_NULL;

	if (rlk_sleeper_init(&sleeper, client->clock) == 0)
		rlk_sleeper_wait(&sleeper, until_ms, -1);
}

/* The next try would wait for the rows that this one has locked. */
static void end_left(struct rowlock_client *client, const struct rlk_conn *conn)
{
	struct rlk_mark mark;

	if (!rlk_transaction_is_left(conn))
		return;
	rlk_conn_mark(conn, &mark);
	rlk_cut_off_note(client, &mark);
}

enum rlk_fault rlk_client_persist(struct rowlock_client *client,
				  int64_t until_ms, rlk_step_fn step, void *arg,
				  struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = RLK_DONE, last;
	struct rlk_conn *conn;

	do {
		last = fault;
		if (rlk_client_conn(client, RLK_BAY_ASIDE, until_ms, &conn,
				    reterr))
			return RLK_FAILED;
		fault = step(conn, arg, reterr);
		if (fault == RLK_PENDING)
			rlk_fail_no_answer(client, 0, reterr);
		end_left(client, conn);
		rlk_pool_put(client->pool, conn);
		/* One may have died while it was idle; a server, or a proxy,
		 * may also end each at once. */
		if (fault == RLK_UNKNOWN && last == RLK_UNKNOWN)
			rlk_client_pause(
			    client,
			    rlk_after(rlk_now(client->clock), PAUSE_MS));
	} while ((rlk_fault_passes(fault) || fault == RLK_UNKNOWN) &&
		 rlk_client_has_time(client, fault, until_ms));
	return fault;
}

int rlk_client_code(const struct rowlock_client *client, enum rlk_fault fault,
		    struct rowlock_errinfo *reterr)
{
	if (fault == RLK_PENDING)
		rlk_fail_no_answer(client, client->call_timeout_ms, reterr);
	return fault ? reterr->code : 0;
}

void rlk_client_kill_query(struct rowlock_client *client,
			   const struct rlk_conn *conn, int64_t until_ms)
{
	struct rowlock_errinfo error;
	struct rlk_conn *control;
	struct rlk_mark mark;

	if (rlk_pool_get(client->pool, RLK_BAY_CONTROL, until_ms, false, NULL,
			 &control, &error))
		return;
	rlk_conn_mark(conn, &mark);
	rlk_conn_kill_query(control, &mark, &error);
	rlk_pool_put(client->pool, control);
}

enum rlk_fault rlk_client_fence(struct rowlock_client *client,
				const struct rlk_mark *mark, int64_t until_ms,
				bool insists, struct rlk_pool_waiter *waiter)
{
	int64_t dying_until =
	    insists ? RLK_NEVER : rlk_after(rlk_now(client->clock), DYING_MS);
	struct rowlock_errinfo error;
	struct rlk_conn *conn;
	enum rlk_fault fault;

	if (rlk_pool_get(client->pool, RLK_BAY_CONTROL, until_ms, insists,
			 waiter, &conn, &error))
		return RLK_FAILED;
	fault = rlk_conn_fence(conn, mark, dying_until, &error);
	rlk_pool_put(client->pool, conn);
	return fault;
}
