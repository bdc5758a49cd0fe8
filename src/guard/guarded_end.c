/* SPDX-License-Identifier: MIT */
/*
 * Ends a transaction that is tied to a hold: commit, commit and release,
 * rollback.
 *
 * Failure modes: the server's answer at the COMMIT decides, even if the hold
 * has expired by our clock. If a COMMIT gets no answer, a connection of the
 * client asks for its outcome until the call's time is up; and if it found no
 * row, for the row, before the hold counts as lost.
 */
#include <rowlock/mysql.h>

#include "api/release.h"
#include "background/receipts.h"
#include "core/call.h"
#include "db/conn_fence.h"
#include "db/lend.h"
#include "guard/guarded_private.h"
#include "hold/keeping.h"
#include "strategy/guard_outcome.h"

/* The pause between two questions after a commit. */
#define PAUSE_MS 20

/* Note the end of a commit. */
static void note_end(const struct rlk_guarded *guarded, bool done)
{
	struct rowlock_client *client = guarded->lock->name->client;
	struct rlk_hold *hold = guarded->hold;

	rlk_mutex_lock(&client->mutex);
	if (guarded->read)
		rlk_guarded_note_locked(guarded);
	else if (!done)
		hold->guard.unsure = true;
	else if (hold->guard.count < UINT16_MAX)
		hold->guard.count++;
	rlk_mutex_unlock(&client->mutex);
}

/* Is the hold another owner's by now? */
static bool is_anothers_locked(const struct rlk_guarded *guarded)
{
	const struct rlk_hold *hold = guarded->hold;

	return hold->depth > 0 && hold->owner != RLK_OWNER_NOBODY &&
	       hold->owner != rlk_lock_owner(guarded->lock);
}

static struct rlk_guarded *find(struct rowlock *lock,
				const struct st_mysql *conn, const char *what,
				int *ret_code, struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = lock->name->client;
	_guard_ struct rlk_mutex *mutex = rlk_guard(&client->mutex);
	struct rlk_guarded *guarded;

	rlk_list_each (guarded, &client->guarded, node) {
		if (guarded->lock != lock || guarded->guard.on.mysql != conn)
			continue;
		if (!is_anothers_locked(guarded))
			return guarded;
		*ret_code = fail(lock, what, ROWLOCK_ENOTOWNER,
				 "it is held by another thread; only that one "
				 "may do this (or use ROWLOCK_OWNER_HANDLE)",
				 reterr);
		return NULL;
	}
	*ret_code =
	    fail(lock, what, ROWLOCK_EINVAL,
		 "no transaction was begun with it on this connection; begin "
		 "with rowlock_begin()",
		 reterr);
	return NULL;
}

/* The transaction of @lock on @conn, if the caller owns it, in the process that
 * began it. Else NULL, with *@ret_code. */
static struct rlk_guarded *open_one(struct rowlock *lock,
				    const struct st_mysql *conn,
				    const char *what, int *ret_code,
				    struct rowlock_errinfo *reterr)
{
	*ret_code = rlk_lock_refuses(lock, reterr);
	return *ret_code ? NULL : find(lock, conn, what, ret_code, reterr);
}

/* As open_one(), to commit it. Fails if results are unread: only the caller may
 * discard them, or close the connection. */
static struct rlk_guarded *open_to_commit(struct rowlock *lock,
					  const struct st_mysql *conn,
					  int *ret_code,
					  struct rowlock_errinfo *reterr)
{
	struct rlk_guarded *guarded =
	    open_one(lock, conn, "commit", ret_code, reterr);
	struct rowlock_errinfo error;

	if (!guarded ||
	    rlk_borrowed_ready(&guarded->guard.on, &error) != ROWLOCK_EINVAL)
		return guarded;
	*ret_code = fail(lock, "commit", ROWLOCK_EINVAL, error.message, reterr);
	return NULL;
}

/* A question on a connection of the client. Returns true if it was answered;
 * then *@ret_error does not matter. */
typedef bool (*ask_fn)(struct rlk_guarded *guarded, struct rlk_conn *conn,
		       struct rowlock_errinfo *ret_error);

/* While its session lives, a transaction with an early guard has the row
 * locked, and its COMMIT may come, or its ROLLBACK may be late. So end the
 * session in the server, after which a question is answered. The application's
 * end of it is closed by now. The session's number is the one that the thread
 * which locked the row returned; no other thread has it in the same run of the
 * server, which the fence checks. If the session cannot be ended, the question
 * fails. */
static void end_session(struct rlk_guarded *guarded, struct rlk_conn *conn)
{
	struct rowlock_errinfo error;
	struct rlk_mark mark;

	if (!guarded->cut || !guarded->guard.numbered || guarded->ended)
		return;
	rlk_guarded_mark(guarded, &mark);
	guarded->ended = !rlk_conn_fence(conn, &mark, 0, &error);
}

/* Did the commit take place? */
static bool ask_outcome(struct rlk_guarded *guarded, struct rlk_conn *conn,
			struct rowlock_errinfo *ret_error)
{
	struct rlk_request request = rlk_hold_request(guarded->hold);
	enum rlk_guard_outcome outcome;

	end_session(guarded, conn);
	if (rlk_guard_find_out(conn, &guarded->guard, &request, &outcome,
			       ret_error))
		return false;
	guarded->outcome = outcome;
	guarded->read =
	    outcome != RLK_GUARD_ROW_IS_GONE &&
	    !(outcome == RLK_GUARD_WAS_COMMITTED && guarded->guard.releases);
	return true;
}

/* Is the hold's row there, and what is its count? */
static bool ask_row(struct rlk_guarded *guarded, struct rlk_conn *conn,
		    struct rowlock_errinfo *ret_error)
{
	struct rlk_request request = rlk_hold_request(guarded->hold);

	return !rlk_guard_look(conn, &request, &guarded->seen, ret_error);
}

/* Ask nothing: ending the session is enough. */
static bool ask_nothing(struct rlk_guarded *guarded, struct rlk_conn *conn,
			struct rowlock_errinfo *ret_error)
{
	(void) ret_error;
	end_session(guarded, conn);
	return true;
}

/* Ask until it is answered. Returns false if the time is up, with the obstacle
 * in *@ret_error, which a late answer does not set. */
static bool ask_until(struct rlk_guarded *guarded, ask_fn ask, int64_t until_ms,
		      struct rowlock_errinfo *ret_error)
{
	struct rowlock_client *client = guarded->lock->name->client;

	rlk_fail(ret_error, ROWLOCK_ECONNECT, "no answer in time");
	for (;;) {
		int64_t next = rlk_now(client->clock) + PAUSE_MS;
		struct rlk_conn *conn;
		bool answered = false;

		if (!rlk_client_conn(client, RLK_BAY_ASIDE, until_ms, &conn,
				     ret_error)) {
			answered = ask(guarded, conn, ret_error);
			rlk_pool_put(client->pool, conn);
		}
		if (answered || next >= until_ms)
			return answered;
		rlk_client_pause(client, next);
		/* It woke up late: the time is not what was in the way. */
		if (rlk_now(client->clock) >= until_ms)
			return false;
	}
}

/* A commit that may still come would pass for the next owner's; the next
 * transaction of the hold has to outrun it. */
static void note_may_come(struct rlk_guarded *guarded)
{
	struct rowlock_client *client = guarded->lock->name->client;

	rlk_mutex_lock(&client->mutex);
	guarded->hold->guard.commit_may_come = true;
	rlk_mutex_unlock(&client->mutex);
}

/* A commit that gives back the lock may have done so. Nobody asks for its
 * outcome again, so the chores delete what may be left. */
static void give_up(struct rlk_guarded *guarded, const char *reason)
{
	_guard_ struct rlk_mutex *mutex =
	    rlk_guard(&guarded->lock->name->client->mutex);

	rlk_hold_doubt_locked(guarded->hold);
	rlk_hold_lose_locked(guarded->hold, reason);
}

static int fail_unknown(const struct rlk_guarded *guarded, const char *words,
			const struct rowlock_errinfo *error,
			struct rowlock_errinfo *reterr)
{
	return fail_with(guarded->lock, "commit", ROWLOCK_EUNKNOWN, words,
			 error, reterr);
}

/* A commit that gives back the lock may have done so, or do so later. */
static int fail_unanswered(struct rlk_guarded *guarded,
			   const struct rowlock_errinfo *error,
			   struct rowlock_errinfo *reterr)
{
	if (guarded->guard.releases)
		give_up(guarded, RLK_MAY_BE_GONE);
	else
		note_may_come(guarded);
	return fail_unknown(
	    guarded,
	    "not known, and it may still come, until the lock is "
	    "released or the next rowlock_begin(); look "
	    "at the data for what became of it",
	    error, reterr);
}

/* @error is the COMMIT's. */
static int judge(struct rlk_guarded *guarded,
		 const struct rowlock_errinfo *error,
		 struct rowlock_errinfo *reterr)
{
	switch (guarded->outcome) {
	case RLK_GUARD_WAS_COMMITTED:
		return 0;
	case RLK_GUARD_WAS_NOT_COMMITTED:
		return fail_with(guarded->lock, "commit", error->code,
				 "nothing was committed", error, reterr);
	case RLK_GUARD_ROW_IS_GONE:
		break;
	}
	if (guarded->guard.releases)
		give_up(guarded, RLK_ROW_IS_GONE);
	else
		rlk_hold_lose(guarded->hold, RLK_ROW_IS_GONE);
	return fail_unknown(guarded,
			    "not known, for the hold is lost; look at the data "
			    "for what became of it",
			    error, reterr);
}

static int find_out(struct rlk_guarded *guarded, int64_t until_ms,
		    const struct rowlock_errinfo *error,
		    struct rowlock_errinfo *reterr)
{
	struct rowlock_errinfo why;

	if (ask_until(guarded, ask_outcome, until_ms, &why))
		return judge(guarded, error, reterr);
	return fail_unanswered(guarded, error, reterr);
}

/* Is the hold lost by our clock? An early guard has the row locked, which no
 * client could take away: then the server decides. */
static bool is_lost(struct rlk_guarded *guarded)
{
	_guard_ struct rlk_mutex *mutex =
	    rlk_guard(&guarded->lock->name->client->mutex);

	return !rlk_hold_check_locked(guarded->hold) && !guarded->guard.early;
}

static int fail_lost(struct rlk_guarded *guarded,
		     struct rowlock_errinfo *reterr)
{
	rlk_hold_lose(guarded->hold, RLK_ROW_IS_GONE);
	return rlk_fail(reterr, ROWLOCK_ELOST,
			"commit " RLK_LOCK_FORMAT
			": the hold was lost (%s); all is rolled back",
			RLK_LOCK_ARGS(guarded->lock), guarded->hold->reason);
}

/* Had the transaction ended before its commit? */
static bool has_ended_before(enum rlk_guard_end end)
{
	return end == RLK_GUARD_BROKEN || end == RLK_GUARD_REPLACED;
}

static int fail_ended(const struct rlk_guarded *guarded, const char *what,
		      enum rlk_guard_end end, struct rowlock_errinfo *reterr)
{
	return fail(guarded->lock, what, ROWLOCK_EBROKEN,
		    end == RLK_GUARD_REPLACED
			? "the session is not the one in which the transaction "
			  "was begun (a new connection, or a reset of it), or "
			  "autocommit was turned on in it; what was written "
			  "since may be committed: look at the data"
			: "the transaction had ended before: by a COMMIT, a "
			  "ROLLBACK, DDL, or a deadlock; what was not "
			  "committed by then is rolled back",
		    reterr);
}

/* The commit changed no row, and is rolled back: why? */
static int judge_uncounted(struct rlk_guarded *guarded, int64_t until_ms,
			   const struct rowlock_errinfo *error,
			   struct rowlock_errinfo *reterr)
{
	const struct rowlock *lock = guarded->lock;
	struct rowlock_errinfo why;

	/* The obstacle's own code would promise that the hold stays, or that
	 * nothing was done. */
	if (!ask_until(guarded, ask_row, until_ms, &why))
		return fail_with(lock, "commit", ROWLOCK_ECONNECT,
				 "all is rolled back, for its row was not "
				 "found, and whether the hold is lost is not "
				 "known; verify it",
				 &why, reterr);
	if (guarded->seen == RLK_GUARD_NO_ROW)
		return fail_lost(guarded, reterr);
	if (guarded->seen != guarded->guard.guards)
		return fail(lock, "commit", ROWLOCK_EBROKEN,
			    "its row was counted meanwhile by whoever has the "
			    "guard as text; all is rolled back, and the hold "
			    "stays",
			    reterr);
	return fail_with(lock, "commit", ROWLOCK_EDB,
			 "the server did not find its row, which is there (a "
			 "KILL QUERY, max_statement_time, or a snapshot); all "
			 "is rolled back, and the hold stays: do it again",
			 error, reterr);
}

/* If the transaction had ended before, report that: the caller's changes may be
 * committed. */
static int roll_back_lost(struct rlk_guarded *guarded,
			  struct rowlock_errinfo *reterr)
{
	enum rlk_guard_end end = rlk_guard_rollback(&guarded->guard, NULL);

	return has_ended_before(end)
		   ? fail_ended(guarded, "commit", end, reterr)
		   : fail_lost(guarded, reterr);
}

static int commit(struct rlk_guarded *guarded, int64_t until_ms,
		  struct rowlock_errinfo *reterr)
{
	struct rlk_request request = rlk_hold_request(guarded->hold);
	struct rowlock *lock = guarded->lock;
	const struct rowlock_client *client = lock->name->client;
	struct rowlock_errinfo error = { 0 };
	enum rlk_guard_end end;

	/* The other half is for asking after the outcome. */
	guarded->guard.on.until_ms =
	    until_ms - (int64_t) client->call_timeout_ms / 2;

	if (is_lost(guarded))
		return roll_back_lost(guarded, reterr);
	end = rlk_guard_commit(&guarded->guard, &request, &error);
	switch (end) {
	case RLK_GUARD_ELSEWHERE:
		return fail(lock, "commit", ROWLOCK_EBROKEN,
			    "the connection is to another server than the "
			    "lock's by now; what was done on it is rolled back",
			    reterr);
	case RLK_GUARD_DONE:
		return 0;
	case RLK_GUARD_UNCOUNTED:
		return judge_uncounted(guarded, until_ms, &error, reterr);
	case RLK_GUARD_BROKEN:
	case RLK_GUARD_REPLACED:
		return fail_ended(guarded, "commit", end, reterr);
	case RLK_GUARD_UNANSWERED:
		return find_out(guarded, until_ms, &error, reterr);
	default:
		return fail_with(lock, "commit", error.code,
				 "all is rolled back", &error, reterr);
	}
}

int rowlock_commit(struct rowlock *lock, struct st_mysql *conn,
		   struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rlk_guarded *guarded;
	int code = 0;

	guarded = open_to_commit(lock, conn, &code, reterr);
	if (!guarded)
		return code;
	code =
	    commit(guarded, rlk_client_call_until(lock->name->client), reterr);
	note_end(guarded, code == 0);
	if (code)
		rlk_guarded_tell_rows(guarded, reterr);
	rlk_guarded_untie(guarded);
	return code;
}

/* Does the hold have one level, which its transaction gives back? This handle's
 * may be released, and another handle's not. */
static bool is_last_level(const struct rlk_guarded *guarded)
{
	const struct rowlock *lock = guarded->lock;
	_guard_ struct rlk_mutex *mutex = rlk_guard(&lock->name->client->mutex);

	return guarded->hold->depth == (lock->hold == guarded->hold ? 1 : 0);
}

/* From its COMMIT to the answer the row may be gone without a loss. */
static int commit_and_give_back(struct rlk_guarded *guarded, int64_t until_ms,
				struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = guarded->lock->name->client;
	int code;

	guarded->guard.releases = true;
	rlk_mutex_lock(&client->mutex);
	guarded->hold->guard.gives_back = true;
	rlk_mutex_unlock(&client->mutex);
	code = commit(guarded, until_ms, reterr);
	note_end(guarded, code == 0);
	if (code == 0 || code == ROWLOCK_EUNKNOWN)
		rlk_receipt_note(client, guarded->hold->attempt);
	if (code == 0)
		rlk_release_gone(guarded->lock, guarded->hold, until_ms);
	rlk_mutex_lock(&client->mutex);
	guarded->hold->guard.gives_back = false;
	rlk_mutex_unlock(&client->mutex);
	return code;
}

int rowlock_commit_release(struct rowlock *lock, struct st_mysql *conn,
			   struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rlk_guarded *guarded;
	int64_t until_ms;
	int code = 0;

	guarded = open_to_commit(lock, conn, &code, reterr);
	if (!guarded)
		return code;
	until_ms = rlk_client_call_until(lock->name->client);
	if (rlk_hold_is_kept(guarded->hold))
		return fail(lock, "commit", ROWLOCK_EUNSUPPORTED,
			    "its name is kept for a time (at_least_ms, "
			    "delay_after_loss_ms); "
			    "commit without a release, and then release it",
			    reterr);
	if (!is_last_level(guarded))
		return fail(lock, "commit", ROWLOCK_EHELD,
			    "it is held more than once; release the other "
			    "levels first, or commit without a release",
			    reterr);
	code = commit_and_give_back(guarded, until_ms, reterr);
	if (code)
		rlk_guarded_tell_rows(guarded, reterr);
	rlk_guarded_untie(guarded);
	return code;
}

/* If the ROLLBACK is not answered, the server rolls back when it notices that
 * the connection is closed. Until then an early guard has the row. */
static enum rlk_guard_end roll_back(struct rlk_guarded *guarded,
				    int64_t until_ms)
{
	const struct rowlock_client *client = guarded->lock->name->client;
	struct rowlock_errinfo error;
	enum rlk_guard_end end;

	guarded->guard.on.until_ms = until_ms;
	if (guarded->guard.early)
		guarded->guard.on.until_ms -=
		    (int64_t) client->call_timeout_ms / 2;
	end = rlk_guard_rollback(&guarded->guard, NULL);
	if (guarded->cut && guarded->guard.early)
		ask_until(guarded, ask_nothing, until_ms, &error);
	return end;
}

int rowlock_rollback(struct rowlock *lock, struct st_mysql *conn,
		     struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rlk_guarded *guarded;
	enum rlk_guard_end end;
	int code = 0;

	guarded = open_one(lock, conn, "roll back", &code, reterr);
	if (!guarded)
		return code;
	end = roll_back(guarded, rlk_client_call_until(lock->name->client));
	rlk_guarded_tell_rows(guarded, NULL);
	if (has_ended_before(end))
		code = fail_ended(guarded, "roll back", end, reterr);
	rlk_guarded_untie(guarded);
	return code;
}
