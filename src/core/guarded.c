/* SPDX-License-Identifier: MIT */
/*
 * The application's transactions that are tied to a hold (rowlock/mysql.h).
 *
 * From rowlock_begin() to its end a transaction stands in client->guarded, and
 * its hold is neither released nor handed over: a hand-over keeps the row as it
 * is, so that the server could not tell.
 *
 * Failure modes: what the server says of the hold at the COMMIT is decisive,
 * also where our clock has given it up by then: that only hurries. A commit
 * without an answer is asked after until the call's time is up.
 */
#include <rowlock/mysql.h>

#include <stdlib.h>

#include "base/error.h"
#include "core/lock.h"

#define FLAGS ROWLOCK_SNAPSHOT

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

static int fail_row(const struct rowlock *lock, const char *what,
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
			    "there is no such flag; give 0 or "
			    "ROWLOCK_SNAPSHOT",
			    reterr);
	if (lock->name->strategy->pins_connection)
		return fail_row(lock, "begin", reterr);
	return 0;
}

/* By a connection that is open already, or its lane's next one. */
static int learn_place(const struct rowlock *lock, int64_t until_ms,
		       struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = lock->name->client;
	struct rlk_place place;
	struct rlk_conn *conn;
	bool known;
	int code;

	rlk_mutex_lock(&client->mutex);
	known = client->place.schema[0] != '\0';
	rlk_mutex_unlock(&client->mutex);
	if (known)
		return 0;
	code = rlk_client_conn(client,
			       rlk_client_lane(client, lock->name->text)->bay,
			       until_ms, &conn, reterr);
	if (code)
		return code;
	rlk_place_learn(conn, &place);
	rlk_pool_put(client->pool, conn);
	rlk_mutex_lock(&client->mutex);
	client->place = place;
	rlk_mutex_unlock(&client->mutex);
	return 0;
}

/* The hold, if it is the caller's, and good by our clock. NULL: the code. */
static struct rlk_hold *good_hold_locked(struct rowlock *lock, const char *what,
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

/* Ties @guarded to it. */
static int tie(struct rowlock *lock, struct guarded *guarded,
	       struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = lock->name->client;
	_cleanup_(rlk_unguardp) struct rlk_mutex *mutex =
	    rlk_guard(&client->mutex);
	int code = 0;
	struct rlk_hold *hold = good_hold_locked(lock, "begin", &code, reterr);

	if (!hold)
		return code;
	if (hold->in_transaction)
		return fail(lock, "begin", ROWLOCK_EHELD,
			    "another transaction of this hold is open; end it "
			    "first",
			    reterr);
	hold->in_transaction = true;
	rlk_hold_get_locked(hold);
	lock->calls++;
	guarded->lock = lock;
	guarded->hold = hold;
	guarded->guard.attempt = hold->attempt;
	guarded->guard.place = &client->place;
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

static int begin(struct guarded *guarded, bool snapshot,
		 struct rowlock_errinfo *reterr)
{
	struct rlk_request request = rlk_hold_request(guarded->hold);
	struct rlk_guard *guard = &guarded->guard;
	struct rowlock_errinfo error = { 0 };
	enum rlk_guard_end end;
	int code;

	code = rlk_borrowed_ready(&guard->on, &error);
	if (code)
		return fail(guarded->lock, "begin", code, error.message,
			    reterr);
	if (rlk_borrowed_in_transaction(&guard->on))
		return fail(guarded->lock, "begin", ROWLOCK_EINVAL,
			    "a transaction is open on the connection; commit "
			    "it, or roll it back, first",
			    reterr);
	end = rlk_guard_begin(guard, &request, guarded->identity, snapshot,
			      &error);
	return end ? fail_begin(guarded, end, &error, reterr) : 0;
}

int rowlock_begin(struct rowlock *lock, struct st_mysql *conn,
		  unsigned int flags, struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock_client *client = lock->name->client;
	int64_t until_ms = rlk_client_call_until(client);
	struct guarded *guarded;
	int code;

	if (rlk_client_forked(client))
		return rlk_client_fail_forked(client, reterr);
	code = check(lock, conn, flags, reterr);
	if (!code)
		code = learn_place(lock, until_ms, reterr);
	if (code)
		return code;
	guarded = calloc(1, sizeof(*guarded));
	if (!guarded)
		return fail(lock, "begin", ROWLOCK_ENOMEM, "out of memory",
			    reterr);
	code = tie(lock, guarded, reterr);
	if (code) {
		free(guarded);
		return code;
	}
	guarded->guard.on = (struct rlk_borrowed){
		.mysql = conn,
		.clock = client->clock,
		.until_ms = until_ms,
	};
	code = begin(guarded, flags & ROWLOCK_SNAPSHOT, reterr);
	if (code)
		untie(guarded);
	return code;
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
	if (answered)
		lose(guarded, row_is_gone);
	return fail_with(lock, "commit", ROWLOCK_EUNKNOWN,
			 answered
			     ? "not known, for the hold is lost; look at the "
			       "data for what became of it"
			     : "not known, for the server is out of reach; "
			       "look at the data for what became of it",
			 error, reterr);
}

/* What is known to be lost is not asked for. */
static bool is_lost(struct guarded *guarded)
{
	_cleanup_(rlk_unguardp) struct rlk_mutex *mutex =
	    rlk_guard(&guarded->lock->name->client->mutex);

	return !rlk_hold_check_locked(guarded->hold);
}

static int fail_lost(struct guarded *guarded, struct rowlock_errinfo *reterr)
{
	lose(guarded, row_is_gone);
	return rlk_fail(reterr, ROWLOCK_ELOST,
			"commit " RLK_LOCK_FORMAT
			": the hold was lost (%s); all is rolled back",
			RLK_LOCK_ARGS(guarded->lock), guarded->hold->reason);
}

static int commit(struct guarded *guarded, struct rowlock_errinfo *reterr)
{
	struct rlk_request request = rlk_hold_request(guarded->hold);
	struct rowlock *lock = guarded->lock;
	const struct rowlock_client *client = lock->name->client;
	int64_t until_ms = rlk_client_call_until(client);
	struct rowlock_errinfo error = { 0 };

	/* The rest is for finding out. */
	guarded->guard.on.until_ms =
	    until_ms - (int64_t) client->call_timeout_ms / 2;

	if (is_lost(guarded)) {
		rlk_guard_rollback(&guarded->guard, NULL);
		return fail_lost(guarded, reterr);
	}
	switch (rlk_guard_commit(&guarded->guard, &request, &error)) {
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
	code = commit(guarded, reterr);
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
	code = commit(guarded, reterr);
	if (!code)
		rlk_release_gone(lock, guarded->hold);
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

/* ----------------------------------------------------------------- as text */

/* The hold is not handed over from here on. */
static int tell(struct rowlock *lock, char *text, size_t size,
		struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = lock->name->client;
	_cleanup_(rlk_unguardp) struct rlk_mutex *mutex =
	    rlk_guard(&client->mutex);
	int code = 0;
	struct rlk_hold *hold = good_hold_locked(lock, "guard", &code, reterr);
	struct rlk_request request;

	if (!hold)
		return code;
	request = rlk_hold_request(hold);
	code = rlk_guard_sql(&client->place, &request, text, size);
	if (code)
		return fail(lock, "guard", code,
			    code == ROWLOCK_ENOMEM
				? "out of memory"
				: "its text does not fit; give "
				  "ROWLOCK_GUARD_SQL_SIZE bytes",
			    reterr);
	hold->guard_told = true;
	return 0;
}

int rowlock_guard_sql(struct rowlock *lock, char *text, size_t size,
		      struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock_client *client = lock->name->client;
	int code;

	if (rlk_client_forked(client))
		return rlk_client_fail_forked(client, reterr);
	if (!text)
		return fail(lock, "guard", ROWLOCK_EINVAL,
			    "there is no room for its text", reterr);
	if (lock->name->strategy->pins_connection)
		return fail_row(lock, "guard", reterr);
	code = learn_place(lock, rlk_client_call_until(client), reterr);
	return code ? code : tell(lock, text, size, reterr);
}
