/* SPDX-License-Identifier: MIT */
/*
 * rowlock_verify() and rowlock_token(), which ask the server about a live hold.
 *
 * A pinned hold is verified on its own connection, which the pinger also uses;
 * a lease on any. The server's answer counts only if the hold is still valid by
 * our own clock when it comes.
 */
#include "api/token.h"

#include "base/error.h"
#include "core/call.h"
#include "db/lend.h"
#include "group/commit.h"
#include "hold/ping.h"
#include "strategy/set.h"

/* Does the server confirm the grant? A connection that has ended is gone, and
 * so is the hold: that is certain. One that does not answer shows nothing. */
static enum rlk_fault confirm_pinned(struct rlk_hold *hold, int64_t until,
				     struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = hold->name->client;
	bool mine;

	rlk_mutex_lock(&client->mutex);
	mine = rlk_hold_take_conn_locked(hold, until);
	rlk_mutex_unlock(&client->mutex);
	if (mine && rlk_ping(hold, until))
		return RLK_DONE;
	rlk_fail_no_answer(client, 0, reterr);
	return RLK_UNKNOWN;
}

static enum rlk_fault confirm_lease(struct rlk_hold *hold, int64_t until,
				    struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = hold->name->client;
	struct rlk_request request = rlk_hold_request(hold);
	struct rlk_conn *conn;
	enum rlk_fault fault;
	bool found = true;

	if (rlk_client_conn(client, RLK_BAY_COMMIT, until, &conn, reterr))
		return RLK_FAILED;
	do
		fault = hold->name->strategy->confirm(conn, &request, &found,
						      reterr);
	while (rlk_fault_passes(fault) && rlk_now(client->clock) < until);
	if (fault == RLK_PENDING)
		rlk_fail_no_answer(client, 0, reterr);
	rlk_pool_put(client->pool, conn);
	if (fault || found)
		return fault;
	rlk_hold_lose(hold, RLK_ROW_IS_GONE);
	return RLK_DONE;
}

static int lost(struct rowlock *lock, const char *what, const char *reason,
		struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, ROWLOCK_ELOST,
			"%s " RLK_LOCK_FORMAT
			": the hold was lost (%s); stop what it protects",
			what, RLK_LOCK_ARGS(lock),
			reason ? reason : RLK_ROW_IS_GONE);
}

/* Begin a call of the owner: returns the hold, with a reference, valid by our
 * clock; *@ret_token is its token, or 0. Else NULL and *@ret_code. */
static struct rlk_hold *begin(struct rowlock *lock, bool inside,
			      const char *what, uint64_t *ret_token,
			      int *ret_code, struct rowlock_errinfo *reterr)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&lock->name->client->mutex);
	struct rlk_hold *hold =
	    rlk_lock_hold_locked(lock, inside, ret_code, reterr);

	if (!hold)
		return NULL;
	if (!rlk_hold_check_locked(hold)) {
		*ret_code = lost(lock, what, hold->reason, reterr);
		return NULL;
	}
	*ret_token = hold->token;
	rlk_hold_get_locked(hold);
	return hold;
}

/* End the call of begin(): is the hold still valid, and this handle's? Another
 * thread may have released it through the handle, and it may have another
 * owner. Stores *@token in the hold (NULL: none); but a token that another
 * handle of a shared hold has shown meanwhile stays, and becomes *@token.
 */
static int end(struct rowlock *lock, struct rlk_hold *hold, uint64_t *token,
	       const char *what, struct rowlock_errinfo *reterr)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&lock->name->client->mutex);
	bool held = rlk_hold_check_locked(hold) && lock->hold == hold;
	int code = held ? 0 : lost(lock, what, hold->reason, reterr);

	if (held && token && !hold->token)
		hold->token = *token;
	if (held && token) {
		*token = hold->token;
		rlk_name_know_token(hold->name, *token);
	}
	rlk_hold_put_locked(hold);
	return code;
}

static int verify(struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	int64_t until = rlk_client_call_until(lock->name->client);
	enum rlk_fault fault = RLK_DONE;
	struct rowlock_errinfo error;
	struct rlk_hold *hold;
	uint64_t token;
	int code = 0;
	int ended;

	hold = begin(lock, false, "verify", &token, &code, reterr);
	if (!hold)
		return code;
	if (lock->name->strategy->pins_connection)
		fault = confirm_pinned(hold, until, &error);
	else
		fault = confirm_lease(hold, until, &error);
	ended = end(lock, hold, NULL, "verify", reterr);
	if (ended || !fault)
		return ended;
	return rlk_fail_db(reterr, error.code, error.mysql,
			   "verify '%s' (%s): nothing is known: %s",
			   rlk_name_shown(lock->name).text,
			   lock->name->strategy->name, error.message);
}

int rowlock_verify(struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	int code = rlk_lock_refuses(lock, reterr);

	if (code)
		return code;
	rlk_lock_enter(lock);
	code = verify(lock, reterr);
	rlk_lock_leave(lock);
	return code;
}

/* ---------------------------------------------------------------- token */

/* On an autocommit connection, never the hold's own: draw, or with a @floor
 * raise the next draw above it. */
static enum rlk_fault ask_aside(struct rlk_hold *hold, unsigned int which,
				uint64_t floor, int64_t until,
				uint64_t *ret_token,
				struct rowlock_errinfo *reterr)
{
	const struct rlk_strategy *strategy = hold->name->strategy;
	struct rowlock_client *client = hold->name->client;
	struct rlk_request request = rlk_hold_request(hold);
	struct rlk_conn *conn;
	enum rlk_fault fault;

	request.which = which;
	if (rlk_client_conn(client, RLK_BAY_ASIDE, until, &conn, reterr))
		return RLK_FAILED;
	fault = floor ? strategy->raise(conn, &request, floor, reterr)
		      : strategy->draw(conn, &request, ret_token, reterr);
	if (fault == RLK_PENDING)
		rlk_fail_no_answer(client, 0, reterr);
	rlk_pool_put(client->pool, conn);
	return fault;
}

/* A trigger on lock_token, or a write by hand, may keep draws from returning a
 * valid token: give up after this many. */
#define DRAWS_MOST 5

static enum rlk_fault fail_drawing(const struct rlk_hold *hold,
				   struct rowlock_errinfo *reterr)
{
	rlk_fail(reterr, ROWLOCK_EDB,
		 "%u draws on %s brought no token that counts, though the hold "
		 "is there; does a trigger on lock_token change what is "
		 "written?",
		 DRAWS_MOST, hold->name->client->server);
	return RLK_REFUSED;
}

/* Between two tries of what the server refuses for a moment. */
#define REFUSED_PAUSE_MS 50

/* Is it worth another try? So is what worked before and is refused, as a table
 * is being made anew (db/refusal.h): a grant is lost without its token. */
static bool may_pass(const struct rowlock_client *client, enum rlk_fault fault,
		     int64_t until, const struct rowlock_errinfo *error)
{
	int64_t now = rlk_now(client->clock);

	if (now >= until)
		return false;
	if (fault == RLK_REFUSED && error->code == ROWLOCK_ECONNECT) {
		rlk_client_pause(client, rlk_after(now, REFUSED_PAUSE_MS));
		return true;
	}
	return rlk_commit_again(fault);
}

/* Draw on an autocommit connection. An unanswered draw is simply repeated: the
 * next token is larger, and gaps do no harm. */
static enum rlk_fault draw(struct rlk_hold *hold, unsigned int which,
			   int64_t until, uint64_t *ret_token,
			   struct rowlock_errinfo *reterr)
{
	const struct rlk_errand errand = { .until_ms = until, .persist = true };
	bool pinned = hold->name->strategy->pins_connection;
	enum rlk_fault fault;

	do
		fault =
		    pinned ? ask_aside(hold, which, 0, until, ret_token, reterr)
			   : rlk_commit_draw(hold, which, &errand, ret_token,
					     reterr);
	while (may_pass(hold->name->client, fault, until, reterr));
	return fault;
}

static enum rlk_fault raise_token(struct rlk_hold *hold, unsigned int which,
				  uint64_t floor, int64_t until,
				  struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault;

	do
		fault = ask_aside(hold, which, floor, until, NULL, reterr);
	while (may_pass(hold->name->client, fault, until, reterr));
	return fault;
}

/* The token must be above @floor, and above the client's last one. */
static uint64_t floor_of(const struct rlk_hold *hold, uint64_t floor)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&hold->name->client->mutex);
	uint64_t known = hold->name->token;

	return known > floor ? known : floor;
}

/* A server that took over without the last commits, with a clock that is
 * behind, may draw a token below those this client knows: raise it. */
static enum rlk_fault draw_above(struct rlk_hold *hold, unsigned int which,
				 uint64_t floor, int64_t until,
				 uint64_t *ret_token,
				 struct rowlock_errinfo *reterr)
{
	for (int i = 0; i < DRAWS_MOST; i++) {
		enum rlk_fault fault =
		    draw(hold, which, until, ret_token, reterr);

		if (fault || !*ret_token || *ret_token > floor)
			return fault;
		fault = raise_token(hold, which, floor, until, reterr);
		if (fault)
			return fault;
	}
	return fail_drawing(hold, reterr);
}

static bool is_lost(struct rlk_hold *hold)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&hold->name->client->mutex);

	return hold->state != RLK_HOLD_HELD;
}

/* A token is shown only if the hold is known to have existed after the draw:
 * for a lease the statement itself proves it. A draw without a token does not
 * prove that the hold is gone: look for its row. */
static enum rlk_fault draw_proven(struct rlk_hold *hold, unsigned int which,
				  uint64_t floor, int64_t until,
				  uint64_t *ret_token,
				  struct rowlock_errinfo *reterr)
{
	bool pinned = hold->name->strategy->pins_connection;

	for (int i = 0; i < DRAWS_MOST; i++) {
		enum rlk_fault fault =
		    draw_above(hold, which, floor, until, ret_token, reterr);

		if (fault)
			return fault;
		if (pinned)
			fault = confirm_pinned(hold, until, reterr);
		if (!fault && *ret_token)
			return RLK_DONE;
		if (!pinned)
			fault = confirm_lease(hold, until, reterr);
		if (fault || is_lost(hold))
			return fault;
	}
	return fail_drawing(hold, reterr);
}

/* A set has a token for each of its names, kept by its recipe. */
static int token_of(struct rowlock *lock, bool inside, unsigned int which,
		    uint64_t floor, int64_t until_ms, uint64_t *ret_token,
		    struct rowlock_errinfo *reterr)
{
	bool of_set = lock->name->strategy == &rlk_strategy_set;
	struct rowlock_errinfo error;
	struct rlk_hold *hold;
	enum rlk_fault fault = RLK_DONE;
	uint64_t token;
	int code = 0;
	int ended;

	hold = begin(lock, inside, "token of", &token, &code, reterr);
	if (!hold)
		return code;
	if (!token)
		fault = draw_proven(hold, which, floor_of(hold, floor),
				    until_ms, &token, &error);
	ended = end(lock, hold, fault || of_set ? NULL : &token, "token of",
		    reterr);
	if (ended)
		return ended;
	if (fault)
		return rlk_fail_db(reterr, error.code, error.mysql,
				   "token of '%s' (%s): %s",
				   rlk_name_shown(lock->name).text,
				   lock->name->strategy->name, error.message);
	*ret_token = token;
	return 0;
}

int rlk_token(struct rowlock *lock, int64_t until_ms, uint64_t *ret_token,
	      struct rowlock_errinfo *reterr)
{
	return token_of(lock, true, 0, 0, until_ms, ret_token, reterr);
}

int rlk_set_token(struct rowlock *lock, unsigned int which, uint64_t floor,
		  uint64_t *ret_token, struct rowlock_errinfo *reterr)
{
	return token_of(lock, false, which, floor,
			rlk_client_call_until(lock->name->client), ret_token,
			reterr);
}

int rowlock_token(struct rowlock *lock, uint64_t *ret_token,
		  struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	int code = rlk_lock_refuses(lock, reterr);

	if (!code && !ret_token)
		code = rlk_fail_null("ret_token", reterr);
	if (code)
		return code;
	if (lock->name->strategy->several)
		return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
				"token of " RLK_LOCK_FORMAT ": %s",
				RLK_LOCK_ARGS(lock),
				lock->name->strategy->counted
				    ? "permits have none, as several have one "
				      "at a time"
				    : "each name has its own; use "
				      "rowlock_multilock_token()");
	rlk_lock_enter(lock);
	code = rlk_set_token(lock, 0, 0, ret_token, reterr);
	rlk_lock_leave(lock);
	return code;
}
