/* SPDX-License-Identifier: MIT */
/*
 * The application's transactions that are tied to a hold (rowlock/mysql.h), and
 * their begin; guarded_end.c ends them.
 *
 * From rowlock_begin() to its end a transaction stands in client->guarded, and
 * its hold is neither released nor handed over: a hand-over keeps the row as it
 * is, so the server could not notice it.
 *
 * A begin asks the server only for facts it does not know: how often the row
 * was counted up, and whether the connection leads to the lock's server. The
 * commit depends on both, and fails if one is wrong.
 *
 * Failure modes: a begin that fails leaves the connection as it was, and
 * nothing in client->guarded.
 */
#include <rowlock/mysql.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/call.h"
#include "core/cut_off.h"
#include "db/borrowed_script.h"
#include "db/lend.h"
#include "guard/guarded_private.h"
#include "guard/place.h"
#include "strategy/guard_outcome.h"

#define FLAGS (ROWLOCK_SNAPSHOT | ROWLOCK_EARLY_GUARD)

int rlk_guarded_check_kind(const struct rowlock *lock, const char *what,
			   struct rowlock_errinfo *reterr)
{
	const struct rlk_strategy *strategy = lock->name->strategy;

	if (strategy == rlk_strategy(ROWLOCK_LEASE))
		return 0;
	return fail(lock, what, ROWLOCK_EUNSUPPORTED,
		    strategy->pins_connection
			? "a row lock is an open transaction itself; use the "
			  "lease strategy"
			: "only a lock of a single name, or an election, can "
			  "guard a transaction: no permits, no multi-lock, no "
			  "read/write lock",
		    reterr);
}

static int check(const struct rowlock *lock, const struct st_mysql *conn,
		 unsigned int flags, struct rowlock_errinfo *reterr)
{
	int code;

	if (!conn)
		return fail(lock, "begin", ROWLOCK_EINVAL,
			    "the connection is NULL", reterr);
	if (flags & ~(unsigned int) FLAGS)
		return fail(lock, "begin", ROWLOCK_EINVAL,
			    "there is no such flag; give 0, ROWLOCK_SNAPSHOT, "
			    "ROWLOCK_EARLY_GUARD, or both",
			    reterr);
	code = rlk_guarded_check_kind(lock, "begin", reterr);
	if (code)
		return code;
	if ((flags & ROWLOCK_EARLY_GUARD) && lock->name->client->many_writers)
		return fail(lock, "begin", ROWLOCK_EUNSUPPORTED,
			    "the nodes of a cluster do not see each other's "
			    "locks; begin without ROWLOCK_EARLY_GUARD",
			    reterr);
	return 0;
}

/* Is the count of the hold's row known? */
static bool knows_guards_locked(const struct rlk_hold *hold)
{
	return !hold->guard.unsure && !hold->guard.told &&
	       hold->guard.count < UINT16_MAX;
}

void rlk_guarded_note_locked(const struct rlk_guarded *guarded)
{
	const uint64_t guards = guarded->guard.guards;
	struct rlk_hold *hold = guarded->hold;

	hold->guard.unsure = false;
	hold->guard.count =
	    guards < UINT16_MAX ? (uint16_t) guards : UINT16_MAX;
}

/* Note the answer to the begin of @guarded. */
static void note_answer(const struct rlk_guarded *guarded)
{
	struct rowlock_client *client = guarded->lock->name->client;

	rlk_mutex_lock(&client->mutex);
	rlk_place_verified_locked(client, &guarded->guard.on,
				  guarded->hold->session);
	rlk_guarded_note_locked(guarded);
	rlk_mutex_unlock(&client->mutex);
}

/* Has the connection another transaction of ours? It may have had no statement
 * yet. */
static bool is_taken_locked(const struct rowlock_client *client,
			    const struct rlk_borrowed *on)
{
	const struct rlk_guarded *guarded;

	rlk_list_each (guarded, &client->guarded, node) {
		if (guarded->guard.on.mysql == on->mysql &&
		    guarded->guard.on_id == rlk_borrowed_id(on))
			return true;
	}
	return false;
}

struct rlk_hold *rlk_guarded_hold_locked(struct rowlock *lock, const char *what,
					 int *ret_code,
					 struct rowlock_errinfo *reterr)
{
	struct rlk_hold *hold =
	    rlk_lock_hold_locked(lock, false, ret_code, reterr);

	if (!hold || rlk_hold_check_locked(hold))
		return hold;
	*ret_code = rlk_fail(reterr, ROWLOCK_ELOST,
			     "%s " RLK_LOCK_FORMAT
			     ": the hold was lost (%s); stop what it protects",
			     what, RLK_LOCK_ARGS(lock), hold->reason);
	return NULL;
}

static int fail_open(const struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	return fail(lock, "begin", ROWLOCK_EINVAL,
		    "a transaction is open on the connection; commit it, or "
		    "roll it back, first",
		    reterr);
}

/* Can a transaction begin on the connection? What is autocommit? The connection
 * does not reconnect from here to the transaction's end. */
static int check_connection(struct rlk_guarded *guarded,
			    struct rowlock_errinfo *reterr)
{
	struct rlk_guard *guard = &guarded->guard;
	const uint64_t id = rlk_borrowed_id(&guard->on);
	struct rlk_borrowed_state state;
	struct rowlock_errinfo error = { 0 };
	int code = rlk_place_check_words(guard->place, &guard->on, &error);

	if (!code)
		code = rlk_borrowed_pin(&guard->on, &guard->reconnects, &error);
	if (!code)
		code = rlk_borrowed_look(&guard->on, &state, &error);
	if (code)
		return fail_with(guarded->lock, "begin", code, "not begun",
				 &error, reterr);
	guard->autocommit = state.autocommits;
	/* A new connection may lead elsewhere. */
	guard->asks = guard->asks || rlk_borrowed_id(&guard->on) != id;
	return state.in_transaction ? fail_open(guarded->lock, reterr) : 0;
}

static void untie_locked(struct rlk_guarded *guarded)
{
	rlk_list_remove(&guarded->node);
	guarded->hold->guard.in_transaction = false;
	rlk_lock_leave_locked(guarded->lock);
	rlk_hold_put_locked(guarded->hold);
	free(guarded);
}

/* The connection is not touched: the application may have closed it. */
static void forget_locked(struct rowlock *lock)
{
	struct rlk_guarded *guarded;

	rlk_list_each (guarded, &lock->name->client->guarded, node) {
		if (guarded->lock == lock)
			untie_locked(guarded);
	}
}

/* Ties @guarded to the hold of @lock. */
static int tie(struct rowlock *lock, struct rlk_guarded *guarded,
	       struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = lock->name->client;
	struct rlk_guard *guard = &guarded->guard;
	_guard_ struct rlk_mutex *mutex = rlk_guard(&client->mutex);
	int code = 0;
	struct rlk_hold *hold =
	    rlk_guarded_hold_locked(lock, "begin", &code, reterr);

	if (!hold)
		return code;
	if (hold->guard.in_transaction)
		return fail(lock, "begin", ROWLOCK_EHELD,
			    "another transaction of this hold is open; end it "
			    "first",
			    reterr);
	if (is_taken_locked(client, &guard->on))
		return fail_open(lock, reterr);
	hold->guard.in_transaction = true;
	rlk_hold_get_locked(hold);
	lock->calls++;
	guarded->lock = lock;
	guarded->hold = hold;
	guard->on.rows_stay = &guard->rows_stay;
	guard->on.closed = &guarded->cut;
	guard->attempt = hold->attempt;
	guard->place = &client->place;
	guard->server = guarded->identity;
	guard->guards = hold->guard.count;
	/* An early guard locks the row by asking; asking makes a late node
	 * catch up. A transaction with a snapshot is long, and must not be in
	 * vain.
	 */
	guard->asks = guard->snapshot || guard->early ||
		      rlk_place_asks_to_catch_up(guard->place) ||
		      !knows_guards_locked(hold) ||
		      !rlk_place_is_verified_locked(client, &guard->on);
	memcpy(guarded->identity, client->session.server,
	       sizeof(guarded->identity));
	client->forget_guarded_locked = forget_locked;
	rlk_list_append(&client->guarded, &guarded->node);
	return 0;
}

void rlk_guarded_mark(const struct rlk_guarded *guarded,
		      struct rlk_mark *ret_mark)
{
	*ret_mark = (struct rlk_mark){ .id = guarded->guard.on_id };
	memcpy(ret_mark->identity, guarded->identity,
	       sizeof(ret_mark->identity));
}

/* Ends what tie() began. */
void rlk_guarded_untie(struct rlk_guarded *guarded)
{
	struct rowlock_client *client = guarded->lock->name->client;
	struct rlk_mark mark;

	rlk_guarded_mark(guarded, &mark);
	if (guarded->cut && guarded->guard.numbered && !guarded->ended)
		rlk_cut_off_note(client, &mark);
	if (guarded->guard.reconnects)
		rlk_borrowed_let_reconnect(&guarded->guard.on, true);
	rlk_mutex_lock(&client->mutex);
	untie_locked(guarded);
	rlk_mutex_unlock(&client->mutex);
}

#define STAY "rows in tables without transactions stay, said the server (1196)"

void rlk_guarded_tell_rows(const struct rlk_guarded *guarded,
			   struct rowlock_errinfo *reterr)
{
	struct rowlock *lock = guarded->lock;
	size_t length;

	if (!guarded->guard.rows_stay)
		return;
	rlk_log(&lock->name->client->log, ROWLOCK_LOG_WARNING,
		"roll back " RLK_LOCK_FORMAT ": " STAY, RLK_LOCK_ARGS(lock));
	if (!reterr)
		return;
	length = strlen(reterr->message);
	snprintf(reterr->message + length, sizeof(reterr->message) - length,
		 "; but " STAY);
}

static int fail_begin(struct rlk_guarded *guarded, enum rlk_guard_end end,
		      const struct rowlock_errinfo *error,
		      struct rowlock_errinfo *reterr)
{
	struct rowlock *lock = guarded->lock;

	switch (end) {
	case RLK_GUARD_LOST:
		rlk_hold_lose(guarded->hold, RLK_ROW_IS_GONE);
		return fail(lock, "begin", ROWLOCK_ELOST,
			    "the hold was lost (its row is gone from the "
			    "server); stop what it protects",
			    reterr);
	case RLK_GUARD_ELSEWHERE:
		return fail(lock, "begin", ROWLOCK_EINVAL,
			    "the connection is to another server than the "
			    "lock's, or to a replica of it; connect to the "
			    "lock's own",
			    reterr);
	default:
		return fail_with(lock, "begin", error->code, "not begun", error,
				 reterr);
	}
}

static bool may_come(struct rlk_guarded *guarded)
{
	_guard_ struct rlk_mutex *mutex =
	    rlk_guard(&guarded->lock->name->client->mutex);

	return guarded->hold->guard.commit_may_come;
}

static enum rlk_fault outrun_once(struct rlk_guarded *guarded,
				  struct rowlock_errinfo *ret_error)
{
	struct rlk_request request = rlk_hold_request(guarded->hold);
	struct rowlock_client *client = guarded->lock->name->client;
	struct rlk_conn *conn;
	enum rlk_fault fault;

	if (rlk_client_conn(client, RLK_BAY_ASIDE, guarded->guard.on.until_ms,
			    &conn, ret_error))
		return RLK_FAILED;
	fault = rlk_guard_outrun(conn, &request, ret_error);
	rlk_pool_put(client->pool, conn);
	if (fault)
		return fault;
	rlk_mutex_lock(&client->mutex);
	guarded->hold->guard.commit_may_come = false;
	rlk_mutex_unlock(&client->mutex);
	return RLK_DONE;
}

/* An earlier commit of the hold that may still come could block this one, or be
 * taken for it: so it has to come first, or not at all. It has the row locked
 * while it is under way. */
static int outrun(struct rlk_guarded *guarded, struct rowlock_errinfo *reterr)
{
	const struct rlk_clock *clock = guarded->guard.on.clock;
	struct rowlock_errinfo error;
	enum rlk_fault fault;

	if (!may_come(guarded))
		return 0;
	/* A late answer does not set the error. */
	rlk_fail(&error, ROWLOCK_ECONNECT, "no answer in time");
	do
		fault = outrun_once(guarded, &error);
	while (fault == RLK_BUSY &&
	       rlk_now(clock) < guarded->guard.on.until_ms);
	if (!fault)
		return 0;
	return fail_with(guarded->lock, "begin", error.code,
			 "an earlier commit of the hold may still take place",
			 &error, reterr);
}

static int begin(struct rlk_guarded *guarded, struct rowlock_errinfo *reterr)
{
	struct rlk_request request = rlk_hold_request(guarded->hold);
	struct rowlock_errinfo error = { 0 };
	enum rlk_guard_end end;
	int code = check_connection(guarded, reterr);

	if (!code)
		code = outrun(guarded, reterr);
	if (code)
		return code;
	if (guarded->guard.early &&
	    rlk_place_ask_number(guarded->guard.place, guarded->identity,
				 &guarded->guard.on, &guarded->guard.numbered,
				 &error) == RLK_UNKNOWN)
		return fail_begin(guarded, RLK_GUARD_UNANSWERED, &error,
				  reterr);
	end = rlk_guard_begin(&guarded->guard, &request, &error);
	if (end)
		return fail_begin(guarded, end, &error, reterr);
	if (guarded->guard.asks)
		note_answer(guarded);
	return 0;
}

/* Tie a transaction and begin it. */
static int tie_and_begin(struct rowlock *lock, const struct rlk_guarded *how,
			 struct rowlock_errinfo *reterr)
{
	struct rlk_guarded *guarded = malloc(sizeof(*guarded));
	int code;

	if (!guarded)
		return fail(lock, "begin", ROWLOCK_ENOMEM, "out of memory",
			    reterr);
	*guarded = *how;
	code = tie(lock, guarded, reterr);
	if (code) {
		free(guarded);
		return code;
	}
	code = begin(guarded, reterr);
	if (code)
		rlk_guarded_untie(guarded);
	return code;
}

int rowlock_begin(struct rowlock *lock, struct st_mysql *conn,
		  unsigned int flags, struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rlk_guarded how = {
		.guard = {
			.on.mysql = conn,
			.snapshot = flags & ROWLOCK_SNAPSHOT,
			.early = flags & ROWLOCK_EARLY_GUARD,
		},
	};
	int code = rlk_lock_refuses(lock, reterr);

	if (code)
		return code;
	how.guard.on.clock = lock->name->client->clock;
	how.guard.on.until_ms = rlk_client_call_until(lock->name->client);
	code = check(lock, conn, flags, reterr);
	if (!code)
		code = rlk_place_find(lock, how.guard.on.until_ms, reterr);
	return code ? code : tie_and_begin(lock, &how, reterr);
}
