/* SPDX-License-Identifier: MIT */
/*
 * The application's transactions that are tied to a hold (rowlock/mysql.h).
 *
 * From rowlock_begin() to its end a transaction stands in client->guarded, and
 * its hold is neither released nor handed over: a hand-over keeps the row as it
 * is, so that the server could not tell.
 *
 * What its begin asks the server for is known mostly, and asked for only where
 * it is not: how often the row was counted up, and whether the connection leads
 * to the lock's server. The commit depends on both, and says so if one of them
 * is otherwise.
 *
 * Failure modes: what the server says of the hold at the COMMIT is decisive,
 * also where our clock has given it up by then: that only hurries. A commit
 * without an answer is asked after until the call's time is up.
 */
#include <rowlock/mysql.h>

#include <stdlib.h>

#include "base/error.h"
#include "core/guarded.h"
#include "core/place.h"

#define FLAGS (ROWLOCK_SNAPSHOT | ROWLOCK_EARLY_GUARD)

/* Between two questions after a commit. */
#define PAUSE_MS 20

struct guarded {
	struct rlk_list node; /* client->guarded */
	struct rowlock *lock;
	struct rlk_hold *hold; /* a reference */
	struct rlk_guard guard;
	char identity[96]; /* of the server that has the row */
	uint64_t breaks;   /* of the session, before it begins: what is broken
			      later counts up */
};

static int fail(const struct rowlock *lock, const char *what, int code,
		const char *words, struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, code, "%s " RLK_LOCK_FORMAT ": %s", what,
			RLK_LOCK_ARGS(lock), words);
}

/* What came with @error, on the application's connection. */
static int fail_with(const struct rowlock *lock, const char *what, int code,
		     const char *words, const struct rowlock_errinfo *error,
		     struct rowlock_errinfo *reterr)
{
	return rlk_fail_db(reterr, code, error->mysql,
			   "%s " RLK_LOCK_FORMAT ": %s: %s", what,
			   RLK_LOCK_ARGS(lock), words, error->message);
}

/* ------------------------------------------------------------------- begin */

int rlk_guarded_fail_row(const struct rowlock *lock, const char *what,
			 struct rowlock_errinfo *reterr)
{
	return fail(lock, what, ROWLOCK_EUNSUPPORTED,
		    "a row lock is an open transaction itself; use the lease "
		    "strategy",
		    reterr);
}

static int check(const struct rowlock *lock, const struct st_mysql *conn,
		 unsigned int flags, struct rowlock_errinfo *reterr)
{
	if (!conn)
		return fail(lock, "begin", ROWLOCK_EINVAL,
			    "the connection is NULL", reterr);
	if (flags & ~(unsigned int) FLAGS)
		return fail(lock, "begin", ROWLOCK_EINVAL,
			    "there is no such flag; give 0, ROWLOCK_SNAPSHOT, "
			    "ROWLOCK_EARLY_GUARD, or both",
			    reterr);
	if (lock->name->strategy->pins_connection)
		return rlk_guarded_fail_row(lock, "begin", reterr);
	if ((flags & ROWLOCK_EARLY_GUARD) && lock->name->client->many_writers)
		return fail(lock, "begin", ROWLOCK_EUNSUPPORTED,
			    "the nodes of a cluster do not see each other's "
			    "locks; begin without ROWLOCK_EARLY_GUARD",
			    reterr);
	return 0;
}

/* Of its row, as it is now. */
static bool knows_guards_locked(const struct rlk_hold *hold)
{
	return !hold->guards_unsure && !hold->guard_told &&
	       hold->guards < UINT16_MAX;
}

/* @guarded has asked, and got its answer. */
static void note_answer(const struct guarded *guarded)
{
	const struct rlk_guard *guard = &guarded->guard;
	struct rowlock_client *client = guarded->lock->name->client;
	struct rlk_hold *hold = guarded->hold;

	rlk_mutex_lock(&client->mutex);
	rlk_place_verified_locked(client, &guard->on, hold->session);
	hold->guards_unsure = false;
	hold->guards =
	    guard->guards < UINT16_MAX ? (uint16_t) guard->guards : UINT16_MAX;
	rlk_mutex_unlock(&client->mutex);
}

/* Of a commit. */
static void note_end(const struct guarded *guarded, bool done)
{
	struct rowlock_client *client = guarded->lock->name->client;
	struct rlk_hold *hold = guarded->hold;

	rlk_mutex_lock(&client->mutex);
	if (done && hold->guards < UINT16_MAX)
		hold->guards++;
	hold->guards_unsure = hold->guards_unsure || !done;
	rlk_mutex_unlock(&client->mutex);
}

/* Another transaction of ours, on the same connection: nothing need have been
 * said in it yet. */
static bool is_taken_locked(const struct rowlock_client *client,
			    const struct rlk_borrowed *on)
{
	struct rlk_list *node;
	struct rlk_list *after;

	rlk_list_for_each(node, after, &client->guarded)
	{
		const struct guarded *guarded =
		    container_of(node, struct guarded, node);

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
	struct rlk_hold *hold = rlk_lock_hold_locked(lock, ret_code, reterr);

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

/* Can a transaction begin on it at all? */
static int check_connection(const struct rowlock *lock,
			    const struct rlk_borrowed *on,
			    struct rowlock_errinfo *reterr)
{
	struct rowlock_errinfo error;
	int code = rlk_borrowed_ready(on, &error);

	if (code)
		return fail(lock, "begin", code, error.message, reterr);
	return rlk_borrowed_in_transaction(on) ? fail_open(lock, reterr) : 0;
}

/* Ties @guarded to it. */
static int tie(struct rowlock *lock, struct guarded *guarded,
	       struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = lock->name->client;
	struct rlk_guard *guard = &guarded->guard;
	_cleanup_(rlk_unguardp) struct rlk_mutex *mutex =
	    rlk_guard(&client->mutex);
	int code = 0;
	struct rlk_hold *hold =
	    rlk_guarded_hold_locked(lock, "begin", &code, reterr);

	if (!hold)
		return code;
	if (hold->in_transaction)
		return fail(lock, "begin", ROWLOCK_EHELD,
			    "another transaction of this hold is open; end it "
			    "first",
			    reterr);
	if (is_taken_locked(client, &guard->on))
		return fail_open(lock, reterr);
	hold->in_transaction = true;
	rlk_hold_get_locked(hold);
	lock->calls++;
	guarded->lock = lock;
	guarded->hold = hold;
	guard->attempt = hold->attempt;
	guard->place = &client->place;
	guard->server = guarded->identity;
	guard->guards = hold->guards;
	/* A snapshot, or a lock, is taken by asking; and a node that may be
	 * behind catches up. */
	guard->asks = guard->snapshot || guard->early ||
		      *guard->place->catch_up || !knows_guards_locked(hold) ||
		      !rlk_place_is_verified_locked(client, &guard->on);
	guarded->breaks = client->session.breaks;
	memcpy(guarded->identity, client->session.server,
	       sizeof(guarded->identity));
	rlk_list_append(&client->guarded, &guarded->node);
	return 0;
}

/* Ends what tie() began. */
static void untie(struct guarded *guarded)
{
	struct rowlock_client *client = guarded->lock->name->client;

	rlk_mutex_lock(&client->mutex);
	rlk_list_remove(&guarded->node);
	guarded->hold->in_transaction = false;
	guarded->lock->calls--;
	rlk_hold_put_locked(guarded->hold);
	rlk_mutex_unlock(&client->mutex);
	free(guarded);
}

static void lose(struct guarded *guarded, const char *reason)
{
	struct rowlock_client *client = guarded->lock->name->client;

	rlk_mutex_lock(&client->mutex);
	rlk_hold_lose_locked(guarded->hold, reason);
	rlk_mutex_unlock(&client->mutex);
}

static const char row_is_gone[] = "its row is gone from the server";
static const char may_be_gone[] = "whether it was given back is not known";

static int fail_begin(struct guarded *guarded, enum rlk_guard_end end,
		      const struct rowlock_errinfo *error,
		      struct rowlock_errinfo *reterr)
{
	struct rowlock *lock = guarded->lock;

	switch (end) {
	case RLK_GUARD_LOST:
		lose(guarded, row_is_gone);
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

static int begin(struct guarded *guarded, struct rowlock_errinfo *reterr)
{
	struct rlk_request request = rlk_hold_request(guarded->hold);
	struct rowlock_errinfo error = { 0 };
	enum rlk_guard_end end;
	int code = check_connection(guarded->lock, &guarded->guard.on, reterr);

	if (code)
		return code;
	end = rlk_guard_begin(&guarded->guard, &request, &error);
	if (end)
		return fail_begin(guarded, end, &error, reterr);
	if (guarded->guard.asks)
		note_answer(guarded);
	return 0;
}

/* In a transaction that is not begun yet. */
static int tie_and_begin(struct rowlock *lock, const struct guarded *how,
			 struct rowlock_errinfo *reterr)
{
	struct guarded *guarded = malloc(sizeof(*guarded));
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
		untie(guarded);
	return code;
}

int rowlock_begin(struct rowlock *lock, struct st_mysql *conn,
		  unsigned int flags, struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock_client *client = lock->name->client;
	const struct guarded how = {
		.guard = {
			.on = {
				.mysql = conn,
				.clock = client->clock,
				.until_ms = rlk_client_call_until(client),
			},
			.snapshot = flags & ROWLOCK_SNAPSHOT,
			.early = flags & ROWLOCK_EARLY_GUARD,
		},
	};
	int code;

	if (rlk_client_forked(client))
		return rlk_client_fail_forked(client, reterr);
	code = check(lock, conn, flags, reterr);
	if (!code)
		code = rlk_place_find(lock, how.guard.on.until_ms, reterr);
	return code ? code : tie_and_begin(lock, &how, reterr);
}

/* --------------------------------------------------------------------- end */

static struct guarded *find(struct rowlock *lock, const struct st_mysql *conn,
			    const char *what, int *ret_code,
			    struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = lock->name->client;
	_cleanup_(rlk_unguardp) struct rlk_mutex *mutex =
	    rlk_guard(&client->mutex);
	struct rlk_list *node;
	struct rlk_list *after;

	rlk_list_for_each(node, after, &client->guarded)
	{
		struct guarded *guarded =
		    container_of(node, struct guarded, node);

		if (guarded->lock != lock || guarded->guard.on.mysql != conn)
			continue;
		/* One that was lost may have been let go since. */
		if (lock->hold == guarded->hold &&
		    !rlk_lock_hold_locked(lock, ret_code, reterr))
			return NULL;
		return guarded;
	}
	*ret_code =
	    fail(lock, what, ROWLOCK_EINVAL,
		 "no transaction was begun with it on this connection", reterr);
	return NULL;
}

/* The transaction of @lock on @conn, whose caller is its owner, in the process
 * that began it. NULL: the code. */
static struct guarded *open_one(struct rowlock *lock,
				const struct st_mysql *conn, const char *what,
				int *ret_code, struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = lock->name->client;

	if (!rlk_client_forked(client))
		return find(lock, conn, what, ret_code, reterr);
	*ret_code = rlk_client_fail_forked(client, reterr);
	return NULL;
}

/* A row that is gone was given back by the commit, if nobody else may have
 * removed it: the chores did not, which do so with a hold that is lost, nor did
 * who found that its maximum was over. */
static bool only_it_gives_back(struct guarded *guarded)
{
	_cleanup_(rlk_unguardp) struct rlk_mutex *mutex =
	    rlk_guard(&guarded->lock->name->client->mutex);

	return guarded->hold->state == RLK_HOLD_HELD &&
	       !rlk_hold_has_maximum(guarded->hold);
}

/* One question. True: that is the answer. */
static bool ask(struct guarded *guarded, int64_t until_ms, bool *ret_known,
		bool *ret_committed)
{
	struct rowlock_client *client = guarded->lock->name->client;
	struct rlk_request request = rlk_hold_request(guarded->hold);
	struct rowlock_errinfo error;
	struct rlk_conn *conn;
	enum rlk_fault fault;

	if (rlk_client_conn(client, RLK_BAY_ASIDE, until_ms, &conn, &error))
		return false;
	fault =
	    rlk_guard_find_out(conn, &guarded->guard, &request, guarded->breaks,
			       ret_known, ret_committed, &error);
	rlk_pool_put(client->pool, conn);
	if (guarded->guard.releases && *ret_committed)
		*ret_known = only_it_gives_back(guarded);
	return fault == RLK_DONE;
}

static void pause_until(const struct rowlock_client *client, int64_t until_ms)
{
	struct rlk_sleeper sleeper;

	if (rlk_sleeper_init(&sleeper, client->clock))
		return;
	rlk_sleeper_wait(&sleeper, until_ms, -1);
	rlk_sleeper_fini(&sleeper);
}

/* A commit that may still come would pass for the next owner. */
static void never_hand_over(struct guarded *guarded)
{
	struct rowlock_client *client = guarded->lock->name->client;

	rlk_mutex_lock(&client->mutex);
	guarded->hold->guard_told = true;
	rlk_mutex_unlock(&client->mutex);
}

/* @error: what the COMMIT failed with. */
static int find_out(struct guarded *guarded, int64_t until_ms,
		    const struct rowlock_errinfo *error,
		    struct rowlock_errinfo *reterr)
{
	struct rowlock *lock = guarded->lock;
	struct rowlock_client *client = lock->name->client;
	bool known = false;
	bool committed = false;
	bool answered;

	for (;;) {
		int64_t next = rlk_now(client->clock) + PAUSE_MS;

		answered = ask(guarded, until_ms, &known, &committed);
		if (answered || next >= until_ms)
			break;
		pause_until(client, next);
	}
	if (answered && known && committed)
		return 0;
	if (answered && known)
		return fail_with(lock, "commit", error->code,
				 "nothing was committed", error, reterr);
	/* One that gives it back may have done so, or do so later. */
	if (answered || guarded->guard.releases)
		lose(guarded, answered ? row_is_gone : may_be_gone);
	else
		never_hand_over(guarded);
	return fail_with(lock, "commit", ROWLOCK_EUNKNOWN,
			 answered
			     ? "not known, for the hold is lost; look at the "
			       "data for what became of it"
			     : "not known, for the server is out of reach; "
			       "look at the data for what became of it",
			 error, reterr);
}

/* What is known to be lost is not asked for; but our clock does not know of a
 * row that nobody could take away. */
static bool is_lost(struct guarded *guarded)
{
	_cleanup_(rlk_unguardp) struct rlk_mutex *mutex =
	    rlk_guard(&guarded->lock->name->client->mutex);

	return !rlk_hold_check_locked(guarded->hold) && !guarded->guard.early;
}

static int fail_lost(struct guarded *guarded, struct rowlock_errinfo *reterr)
{
	lose(guarded, row_is_gone);
	return rlk_fail(reterr, ROWLOCK_ELOST,
			"commit " RLK_LOCK_FORMAT
			": the hold was lost (%s); all is rolled back",
			RLK_LOCK_ARGS(guarded->lock), guarded->hold->reason);
}

static int commit(struct guarded *guarded, int64_t until_ms,
		  struct rowlock_errinfo *reterr)
{
	struct rlk_request request = rlk_hold_request(guarded->hold);
	struct rowlock *lock = guarded->lock;
	const struct rowlock_client *client = lock->name->client;
	struct rowlock_errinfo error = { 0 };

	/* The rest is for finding out. */
	guarded->guard.on.until_ms =
	    until_ms - (int64_t) client->call_timeout_ms / 2;

	if (is_lost(guarded)) {
		rlk_guard_rollback(&guarded->guard, NULL);
		return fail_lost(guarded, reterr);
	}
	switch (rlk_guard_commit(&guarded->guard, &request, &error)) {
	case RLK_GUARD_ELSEWHERE:
		return fail(lock, "commit", ROWLOCK_EBROKEN,
			    "the connection is to another server than the "
			    "lock's by now; what was done on it is rolled back",
			    reterr);
	case RLK_GUARD_DONE:
		return 0;
	case RLK_GUARD_LOST:
		return fail_lost(guarded, reterr);
	case RLK_GUARD_BROKEN:
		return fail(lock, "commit", ROWLOCK_EBROKEN,
			    "the transaction had ended before: by a COMMIT, a "
			    "ROLLBACK, DDL, a deadlock, or a new connection; "
			    "what was done since is rolled back",
			    reterr);
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
	struct guarded *guarded;
	int code = 0;

	guarded = open_one(lock, conn, "commit", &code, reterr);
	if (!guarded)
		return code;
	code =
	    commit(guarded, rlk_client_call_until(lock->name->client), reterr);
	note_end(guarded, code == 0);
	untie(guarded);
	return code;
}

/* The hold has one level, which its transaction gives back. */
static bool is_last_level(const struct guarded *guarded)
{
	const struct rowlock *lock = guarded->lock;
	_cleanup_(rlk_unguardp) struct rlk_mutex *mutex =
	    rlk_guard(&lock->name->client->mutex);

	return lock->hold != guarded->hold || guarded->hold->depth == 1;
}

int rowlock_commit_release(struct rowlock *lock, struct st_mysql *conn,
			   struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	int64_t until_ms = rlk_client_call_until(lock->name->client);
	struct guarded *guarded;
	int code = 0;

	guarded = open_one(lock, conn, "commit", &code, reterr);
	if (!guarded)
		return code;
	if (!is_last_level(guarded))
		return fail(lock, "commit", ROWLOCK_EHELD,
			    "it is held more than once; release the other "
			    "levels first, or commit without a release",
			    reterr);
	guarded->guard.releases = true;
	code = commit(guarded, until_ms, reterr);
	note_end(guarded, code == 0);
	if (!code)
		rlk_release_gone(lock, guarded->hold, until_ms);
	untie(guarded);
	return code;
}

int rowlock_rollback(struct rowlock *lock, struct st_mysql *conn,
		     struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct guarded *guarded;
	int code = 0;

	guarded = open_one(lock, conn, "roll back", &code, reterr);
	if (!guarded)
		return code;
	guarded->guard.on.until_ms = rlk_client_call_until(lock->name->client);
	/* Where it is not answered, the server does it by itself. */
	rlk_guard_rollback(&guarded->guard, NULL);
	untie(guarded);
	return 0;
}
