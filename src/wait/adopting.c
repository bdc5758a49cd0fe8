/* SPDX-License-Identifier: MIT */
/*
 * Asks the server for a lease that another has exported, and that nobody else
 * can get meanwhile: there is no line, and no wait but for what is in the way
 * for a moment.
 *
 * Failure modes: if no answer came, the session that was asked is ended first,
 * as for an acquire (settle.c), and then the same attempt is asked again. A
 * request that is executed after this call has failed would take over a lease
 * that nobody holds, and that our session keeps alive. If no answer comes in
 * time, or no fence reaches, the attempt is abandoned: the chores delete its
 * row, if it has taken the lease over.
 */
#include "wait/adopting.h"

#include "base/error.h"
#include "core/call.h"
#include "db/lend.h"
#include "strategy/offer.h"
#include "wait/asking.h"
#include "wait/grant.h"
#include "wait/line.h"
#include "wait/settle.h"

/* Between two tries. */
#define REST_MS 20

static enum rlk_step no_answer(struct rlk_asking *asking,
			       const struct rlk_request *request)
{
	enum rlk_step step = rlk_judge(asking, RLK_UNKNOWN, request, NULL);

	if (step == RLK_STEP_AGAIN)
		return RLK_STEP_LATER;
	/* Another attempt would find the lease taken over by this one. */
	return rlk_end_with(asking, step == RLK_STEP_END ? asking->code
							 : asking->error.code);
}

/* The lease is not offered any more: no sending changes it from now on. */
static enum rlk_step lost(struct rlk_asking *asking, const char *words)
{
	asking->doubt.unsure = false;
	return rlk_end_with(asking,
			    rlk_fail(&asking->error, ROWLOCK_ELOST, "%s (%s)",
				     words, asking->client->server));
}

static enum rlk_step ask(struct rlk_asking *asking)
{
	struct rlk_request request = rlk_next_request(asking);
	enum rlk_fault verdict;

	rlk_conn_set_until(asking->conn, rlk_waiter_io_until(asking->waiter));
	verdict = rlk_offer_adopt(asking->conn, &request,
				  asking->waiter->wish.offer, &asking->error);
	switch (verdict) {
	case RLK_DONE:
		asking->hold->mixed_info = true; /* that of its exporter */
		return rlk_granted(asking, asking->sent_ms);
	case RLK_HELD:
		return lost(asking, "another has it now: the string was used, "
				    "or the lease had ended before");
	case RLK_ABSENT:
		return lost(asking, "nobody has it any more: it was released, "
				    "broken, or had expired; acquire it anew");
	case RLK_PENDING:
		rlk_fail_no_answer(asking->client, 0, &asking->error);
		return no_answer(asking, &request);
	case RLK_UNKNOWN:
		return no_answer(asking, &request);
	default:
		return rlk_judge(asking, verdict, &request, NULL);
	}
}

static enum rlk_step adopt_once(struct rlk_asking *asking)
{
	struct rlk_waiter *waiter = asking->waiter;
	enum rlk_step step = rlk_ensure_session(asking);
	int code;

	if (step != RLK_STEP_AGAIN)
		return step;
	code = rlk_pool_get(
	    asking->client->pool, RLK_BAY_ASIDE, rlk_waiter_io_until(waiter),
	    true, &waiter->pool_waiter, &asking->conn, &asking->error);
	if (code)
		return rlk_failed(asking, code);
	step = ask(asking);
	rlk_put_conn(asking);
	return step;
}

static void rest(struct rlk_asking *asking)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&asking->client->mutex);
	int64_t at = rlk_after(rlk_now(asking->client->clock), REST_MS);

	while (!rlk_waiter_over_locked(asking->waiter) &&
	       rlk_now(asking->client->clock) < at)
		rlk_waiter_sleep_locked(asking->waiter, at);
}

static int explain(struct rlk_asking *asking, struct rowlock_errinfo *reterr)
{
	const struct rowlock *lock = asking->waiter->lock;
	const struct rowlock_errinfo *error = &asking->error;

	if (asking->code == 0)
		return 0;
	if (asking->code == ROWLOCK_ECANCELED)
		return rlk_fail(reterr, ROWLOCK_ECANCELED,
				"adopt " RLK_LOCK_FORMAT
				": the call was canceled",
				RLK_LOCK_ARGS(lock));
	/* Its time is up: the last failure says why. */
	return rlk_fail_db(
	    reterr,
	    asking->code != ROWLOCK_ETIMEDOUT ? asking->code
	    : error->code == ROWLOCK_ECONNECT ? ROWLOCK_ECONNECT
					      : ROWLOCK_EDB,
	    error->mysql, "adopt '%s' (%s): %s",
	    rlk_name_shown(lock->name).text, lock->name->strategy->name,
	    error->code ? error->message : "no connection came free in time");
}

int rlk_adopt_ask(struct rlk_asking *asking, struct rowlock_errinfo *reterr)
{
	enum rlk_step step = RLK_STEP_AGAIN;

	while (step != RLK_STEP_END) {
		int code = rlk_asking_over(asking);

		if (code) {
			step = rlk_end_with(asking, code);
			continue;
		}
		step = adopt_once(asking);
		if (step == RLK_STEP_LATER)
			rest(asking);
	}
	rlk_give_up(asking);
	return explain(asking, reterr);
}
