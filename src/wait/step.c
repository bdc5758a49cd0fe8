/* SPDX-License-Identifier: MIT */
/*
 * The steps of an asking share these, whatever the kind of lock: the attempt
 * and its request, the connection, the end and its words.
 */
#include "wait/step.h"

#include "base/error.h"
#include "base/random.h"
#include "core/call.h"
#include "core/overrun.h"
#include "core/waiter.h"
#include "db/lend.h"
#include "hold/clear.h"

#include <inttypes.h>

/* ------------------------------------------------------------- attempt */

struct rlk_hold *rlk_make_hold_locked(const struct rlk_waiter *waiter)
{
	const struct rowlock *lock = waiter->lock;
	struct rlk_hold *hold = rlk_hold_new_locked(lock->name);

	if (!hold)
		return NULL;
	hold->owner = waiter->owner;
	if (((lock->name->strategy->pins_connection || lock->max_hold_ms) &&
	     !rlk_hold_make_upkeep(hold)) ||
	    (waiter->wish.count &&
	     !rlk_hold_make_slots(hold, waiter->wish.count))) {
		rlk_hold_put_locked(hold);
		return NULL;
	}
	if (waiter->wish.count)
		hold->upkeep->permits = waiter->wish.permits;
	return hold;
}

void rlk_note_others(struct rlk_asking *asking)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&asking->client->mutex);
	struct rlk_turn *turn = rlk_name_turn(asking->name, -RLK_NEVER);

	asking->saw_others = true;
	asking->doubt.table = false;
	asking->waiter->refused = true;
	if (turn)
		turn->others_seen_ms = rlk_now(asking->client->clock);
}

/* No request is in doubt, so any earlier row of this attempt is gone (swept as
 * dead, or deleted by hand). Take a new attempt number: a client that saw the
 * old row must not delete the new one (S5). The time counts from the new
 * attempt. */
void rlk_begin_anew(struct rlk_asking *asking)
{
	asking->hold->attempt = rlk_random();
	asking->doubt.unsure = false;
	asking->sent_ms = 0;
}

struct rlk_request rlk_next_request(struct rlk_asking *asking)
{
	struct rlk_request request = rlk_hold_request(asking->hold);

	request.max_hold_ms = asking->waiter->lock->max_hold_ms;
	request.info = rlk_lock_info(asking->waiter->lock);
	request.under = asking->waiter->wish.under;
	request.permits = asking->waiter->wish.permits;
	request.passes_line = asking->spot.line == RLK_LINE_POLLS;
	request.guess = asking->guess;
	request.which = asking->spot.which;
	asking->guess = 0;
	request.observes = asking->name->strategy->several &&
			   !rlk_trusts_clock(asking->client);
	request.draw = asking->waiter->lock->flags & ROWLOCK_TOKEN_WITH_GRANT &&
		       !asking->waiter->wish.undrawn;
	if (asking->sent_ms == 0)
		asking->sent_ms = rlk_now(asking->client->clock);
	asking->error.code = 0;
	return request;
}

/* ---------------------------------------------------------- connection */

void rlk_put_conn(struct rlk_asking *asking)
{
	struct rowlock_client *client = asking->client;

	if (!asking->conn)
		return;
	rlk_pool_put(client->pool, TAKE_PTR(asking->conn));
	if (!asking->name->strategy->pins_connection)
		return;
	/* It may have a transaction without locks: the chores end it. */
	rlk_mutex_lock(&client->mutex);
	client->row_unclean = true;
	rlk_mutex_unlock(&client->mutex);
	rlk_sleeper_wake(&client->chores_sleeper);
}

void rlk_expose_conn(struct rlk_asking *asking, struct rlk_conn *conn)
{
	rlk_mutex_lock(&asking->client->mutex);
	asking->waiter->conn = conn;
	if (conn && asking->waiter->canceled)
		rlk_conn_interrupt(conn);
	rlk_mutex_unlock(&asking->client->mutex);
}

int64_t rlk_interrupt_wait(struct rlk_asking *asking)
{
	int64_t until =
	    rlk_after(rlk_now(asking->client->clock), RLK_OVERRUN_TAKE_BACK_MS);
	int64_t last = rlk_after(asking->waiter->until_ms, RLK_OVERRUN_MS);

	if (last < until)
		until = last;
	rlk_client_kill_query(asking->client, asking->conn, until);
	rlk_conn_set_until(asking->conn, until);
	return until;
}

/* ----------------------------------------------------------------- end */

enum rlk_step rlk_end_with(struct rlk_asking *asking, int code)
{
	asking->code = code;
	return RLK_STEP_END;
}

enum rlk_step rlk_failed(struct rlk_asking *asking, int code)
{
	/* The loop sees why no connection came. */
	if (code == ROWLOCK_ETIMEDOUT || code == ROWLOCK_ECANCELED)
		return RLK_STEP_LATER;
	if (code == ROWLOCK_ECONNECT && !asking->waiter->wish.try)
		return RLK_STEP_LATER;
	return rlk_end_with(asking, code);
}

int rlk_asking_over(struct rlk_asking *asking)
{
	struct rlk_waiter *waiter = asking->waiter;
	int code;

	rlk_mutex_lock(&asking->client->mutex);
	code = rlk_waiter_over_locked(waiter);
	rlk_mutex_unlock(&asking->client->mutex);
	if (!code && waiter->wish.try &&
	    rlk_now(asking->client->clock) >= waiter->give_up_ms)
		code = rlk_fail(&asking->error, ROWLOCK_EDB,
				"%s gave no verdict within %" PRIu64
				" ms; try again, or allow longer calls",
				asking->client->server,
				asking->client->call_timeout_ms);
	return code;
}

int rlk_fail_waiting(const struct rowlock *lock, int code,
		     struct rowlock_errinfo *reterr)
{
	bool counted = lock->name->strategy->counted;
	const char *what = "the wait was canceled";

	if (code == ROWLOCK_EBUSY)
		what = counted ? "not so many permits are free"
			       : "is held by another";
	if (code == ROWLOCK_ETIMEDOUT)
		what = counted ? "never were so many permits free"
			       : "was held by others all the time";
	if (code == ROWLOCK_ENOMEM)
		what = "out of memory";
	return rlk_fail(reterr, code, "acquire " RLK_LOCK_FORMAT ": %s",
			RLK_LOCK_ARGS(lock), what);
}

int rlk_fail_unknown(const struct rowlock *lock, bool unheard,
		     struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, ROWLOCK_ETIMEDOUT,
			"acquire " RLK_LOCK_FORMAT ": not had in time; whether "
			"others hold it is not known, as %s",
			RLK_LOCK_ARGS(lock),
			unheard ? "the server did not answer in the end"
				: "its table was locked as a whole (ALTER "
				  "TABLE, LOCK TABLES)");
}
