/* SPDX-License-Identifier: MIT */
/*
 * See keeping.h.
 *
 * The acquire returns when the lease belongs to its keep: a holder that dies
 * before has not begun, so its name may be free when its session is; one that
 * dies later leaves a row that lives by the keep.
 *
 * Failure modes: without its keep there is no grant. A keep whose INSERT got no
 * answer is never used, as it may come late; it expires.
 */
#include "hold/keeping.h"

#include "base/error.h"
#include "base/random.h"
#include "core/call.h"
#include "db/lend.h"
#include "hold/handle.h"
#include "strategy/session_row.h"

bool rlk_hold_is_kept(const struct rlk_hold *hold)
{
	return hold->upkeep && hold->upkeep->keep.row.id;
}

/* A keep in the making. */
struct keeping {
	struct rlk_hold *hold;
	struct rlk_keep row;
	int64_t t0_ms;     /* its row was sent after this moment, */
	uint64_t ttl_ms;   /* and expires this time later, or later; */
	uint64_t lasts_ms; /* the hold is good for no longer */
	bool found;        /* the lease was there */
	bool unsure;       /* whether the keep has it: an answer is missing */
};

/* Each time with another id: one whose INSERT was not answered may come late.
 */
static enum rlk_fault insert(struct rlk_conn *conn, void *arg,
			     struct rowlock_errinfo *reterr)
{
	struct keeping *keeping = arg;
	const struct rowlock_client *client = keeping->hold->name->client;
	const struct rlk_session_row row = {
		.id = keeping->row.id = rlk_random(),
		.ttl_ms = keeping->ttl_ms,
		.host = client->host,
		.pid = (unsigned int) client->pid,
		.program = client->program,
	};

	keeping->t0_ms = rlk_now(client->clock);
	return rlk_session_open(conn, &row, reterr);
}

static enum rlk_fault take(struct rlk_conn *conn, void *arg,
			   struct rowlock_errinfo *reterr)
{
	struct keeping *keeping = arg;
	const struct rlk_request request = rlk_hold_request(keeping->hold);
	enum rlk_fault fault = rlk_keep_take(conn, &request, &keeping->row,
					     &keeping->found, reterr);

	if (rlk_fault_open(fault))
		keeping->unsure = true;
	return fault;
}

/* The hold lives by its keep until @until_ms, too. RLK_NEVER: not by a keep. */
static void limit(struct rlk_hold *hold, int64_t until_ms)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&hold->name->client->mutex);

	hold->upkeep->keep.until_ms = until_ms;
	rlk_hold_kept_locked(hold);
}

/* The lease belongs to its keep. A hold that is lost by now is not kept: its
 * row goes (background/abandoned.c). */
static int begin_locked(const struct keeping *keeping,
			struct rowlock_errinfo *reterr)
{
	struct rlk_hold *hold = keeping->hold;

	if (!rlk_hold_check_locked(hold))
		return rlk_fail(reterr, ROWLOCK_ELOST, "%s", hold->reason);
	hold->upkeep->keep.row = keeping->row;
	hold->name->client->has_keeps = true;
	return 0;
}

static int fail_keep(const struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	rlk_prefix(reterr,
		   "acquire " RLK_LOCK_FORMAT
		   ": granted, but not kept, so it is not held: ",
		   RLK_LOCK_ARGS(lock));
	return reterr->code;
}

/* Commit the keep's row, then give it the lease. */
static int keep(struct keeping *keeping, int64_t until_ms,
		struct rowlock_errinfo *reterr)
{
	struct rlk_hold *hold = keeping->hold;
	struct rowlock_client *client = hold->name->client;
	int code;

	if (rlk_client_persist(client, until_ms, insert, keeping, reterr))
		return reterr->code;
	/* The keep is about to get the lease, and whether it has may not be
	 * answered in time. */
	limit(hold,
	      rlk_after(keeping->t0_ms,
			keeping->lasts_ms - rlk_margin(keeping->lasts_ms)));
	if (rlk_client_persist(client, until_ms, take, keeping, reterr)) {
		/* It never will: a hold of another level goes on. */
		if (!keeping->unsure)
			limit(hold, RLK_NEVER);
		return reterr->code;
	}
	rlk_mutex_lock(&client->mutex);
	if (!keeping->found)
		rlk_hold_lose_locked(hold, RLK_ROW_IS_GONE);
	code = begin_locked(keeping, reterr);
	rlk_mutex_unlock(&client->mutex);
	return code;
}

/* Take the hold that @lock was just granted, with a reference; not if it is
 * kept, as another level of it was granted before. Returns false if memory is
 * out. */
static bool take_hold(struct rowlock *lock, struct rlk_hold **ret_hold)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&lock->name->client->mutex);
	struct rlk_hold *hold = lock->hold;

	if (!hold || rlk_hold_is_kept(hold))
		return true;
	if (!rlk_hold_make_upkeep(hold))
		return false;
	hold->upkeep->keep.breaks = lock->name->client->session.breaks;
	rlk_hold_get_locked(hold);
	*ret_hold = hold;
	return true;
}

int rlk_keep_grant(struct rowlock *lock, int64_t until_ms,
		   struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = lock->name->client;
	struct rlk_keep_times times = rlk_lock_keep_times(lock);
	uint64_t lasts_ms = times.at_least_ms > client->ttl_ms
				? times.at_least_ms
				: client->ttl_ms;
	struct keeping keeping = {
		.row = { .kept = rlk_random(),
			 .keeps_ms = times.at_least_ms,
			 .delays = times.delay_ms > 0 },
		.ttl_ms = lasts_ms + times.delay_ms,
		.lasts_ms = lasts_ms,
	};
	int code;

	if (!take_hold(lock, &keeping.hold)) {
		rlk_fail(reterr, ROWLOCK_ENOMEM, "out of memory");
		return fail_keep(lock, reterr);
	}
	if (!keeping.hold)
		return 0;
	code = keep(&keeping, until_ms, reterr);
	rlk_mutex_lock(&client->mutex);
	rlk_hold_put_locked(keeping.hold);
	rlk_mutex_unlock(&client->mutex);
	return code ? fail_keep(lock, reterr) : 0;
}

/* A hold whose lease is to be left. */
struct leaving {
	struct rlk_hold *hold;
	bool kept;
	bool unsure; /* a sending was not answered */
};

static enum rlk_fault leave(struct rlk_conn *conn, void *arg,
			    struct rowlock_errinfo *reterr)
{
	struct leaving *leaving = arg;
	const struct rlk_request request = rlk_hold_request(leaving->hold);
	enum rlk_fault fault =
	    rlk_keep_release(conn, &request, &leaving->hold->upkeep->keep.row,
			     &leaving->kept, reterr);

	if (rlk_fault_open(fault))
		leaving->unsure = true;
	return fault;
}

enum rlk_fault rlk_keep_leave(struct rlk_hold *hold, int64_t until_ms,
			      bool *ret_kept, bool *ret_unsure,
			      struct rowlock_errinfo *reterr)
{
	struct leaving leaving = { .hold = hold };
	enum rlk_fault fault = RLK_DONE;

	if (hold->upkeep->keep.row.keeps_ms)
		fault = rlk_client_persist(hold->name->client, until_ms, leave,
					   &leaving, reterr);
	if (!fault)
		*ret_kept = leaving.kept;
	*ret_unsure = leaving.unsure;
	return fault;
}

void rlk_keep_close(struct rlk_hold *hold, int64_t until_ms)
{
	struct rowlock_client *client = hold->name->client;
	struct rowlock_errinfo error;
	struct rlk_conn *conn;

	if (rlk_client_conn(client, RLK_BAY_ASIDE, until_ms, &conn, &error))
		return;
	rlk_session_close(conn, hold->upkeep->keep.row.id, &error);
	rlk_pool_put(client->pool, conn);
}
