/* SPDX-License-Identifier: MIT */
/*
 * Campaigns of candidates with a weight. A waiting candidate has a row with its
 * weight (strategy/candidate.h). A candidate that is granted the lock looks for
 * a heavier one: then it gives back the lock, which goes to the next in line,
 * and stands in line again behind it. So the heaviest has the lock after as
 * many grants as there are others in line, in whatever order they came.
 *
 * The term is drawn last, by the one that does not yield: observers take the
 * candidate that has drawn for the leader.
 *
 * A candidate may send heartbeats and still not take the lock (if its
 * connections are refused, say): so each candidate yields for a bounded time
 * only, and leads then. Weights are a preference; the lock alone decides which
 * candidate may lead. So if no answer comes, it does not yield.
 */
#include "recipe/campaign.h"

#include "api/acquire.h"
#include "api/release.h"
#include "base/error.h"
#include "core/call.h"
#include "core/overrun.h"
#include "core/waiter.h"
#include "db/lend.h"
#include "hold/handle.h"
#include "strategy/candidate.h"
#include "wait/line.h"
#include "wait/step.h"

/* The lock is waited for in parts. The first is short, for a lock that is free;
 * after each part, a row that was lost with its session is made again. */
#define FIRST_MS 50
#define PART_MS 5000

/* The pause between yielding and standing in line again. */
#define PAUSE_MS 50

/* A running campaign. */
struct campaign {
	struct rowlock *lock;
	const struct rlk_candidacy *candidacy;
	struct rowlock_client *client;
	uint64_t wait_ms;
	int64_t until_ms;
	int64_t part_ms;         /* the end of the current part */
	int64_t yields_until_ms; /* RLK_NEVER: it has not yielded yet */
};

static int64_t now_of(const struct campaign *campaign)
{
	return rlk_now(campaign->client->clock);
}

/* The deadline of a statement other than the lock's: a call's time, but not
 * past @until_ms. */
static int64_t call_until(const struct campaign *campaign, int64_t until_ms)
{
	int64_t call = rlk_client_call_until(campaign->client);

	return call < until_ms ? call : until_ms;
}

/* The deadline for giving back. */
static int64_t end_of(const struct campaign *campaign)
{
	return call_until(campaign,
			  rlk_after(campaign->until_ms, RLK_OVERRUN_LOOK_MS));
}

/* ------------------------------------------------------------------- row */

int rlk_candidacy_stand(struct rlk_candidacy *candidacy,
			struct rowlock_client *client, const char *name,
			struct rowlock_errinfo *reterr)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	char info[RLK_CANDIDATE_INFO];

	rlk_candidate_info(info, candidacy->weight);
	options.info = info;
	options.flags = ROWLOCK_OWNER_HANDLE | ROWLOCK_NOT_REENTRANT;
	return rlk_lock_make(client, name, &rlk_strategy_candidate, &options,
			     &candidacy->standing, reterr);
}

/* Make the row again. A failure is tried again after the next part. Leave the
 * last part its own time. */
static void stand(const struct campaign *campaign)
{
	struct rowlock *standing = campaign->candidacy->standing;
	int64_t until =
	    call_until(campaign, campaign->until_ms - 2 * RLK_OVERRUN_LOOK_MS);

	if (!standing || rowlock_held(standing) || now_of(campaign) >= until)
		return;
	/* The row may have been lost. */
	rlk_release(standing, until, NULL);
	rlk_try(standing, until, NULL);
}

/* Delete the row; if that fails, the chores do it. */
static void leave(const struct campaign *campaign)
{
	struct rowlock *standing = campaign->candidacy->standing;

	if (standing)
		rlk_release(standing, end_of(campaign), NULL);
}

/* ------------------------------------------------------------------ look */

static int look(const struct rowlock *lock, unsigned int weight,
		int64_t until_ms, struct rlk_heaviest *ret_heaviest,
		struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = lock->name->client;
	struct rlk_conn *conn;
	enum rlk_fault fault;
	int code;

	code =
	    rlk_client_conn(client, RLK_BAY_CONTROL, until_ms, &conn, reterr);
	if (code)
		return code;
	do
		fault = rlk_candidates_look(conn, lock->name->text, weight,
					    ret_heaviest, reterr);
	while (rlk_fault_passes(fault) && rlk_now(client->clock) < until_ms);
	rlk_pool_put(client->pool, conn);
	return rlk_client_code(client, fault, reterr);
}

int rlk_challenger(const struct rowlock *lock, unsigned int weight,
		   unsigned int *ret_weight, uint64_t *ret_stood_ms,
		   struct rowlock_errinfo *reterr)
{
	struct rlk_heaviest heaviest;
	int code = look(lock, weight, rlk_client_call_until(lock->name->client),
			&heaviest, reterr);

	if (code) {
		rlk_prefix(reterr, "challenger of '%s': ", lock->name->text);
		return code;
	}
	*ret_weight = heaviest.weight;
	*ret_stood_ms = heaviest.stood_ms;
	return 0;
}

/* ----------------------------------------------------------------- yield */

static bool yields(struct campaign *campaign)
{
	const struct rlk_candidacy *candidacy = campaign->candidacy;
	struct rlk_heaviest heaviest = { 0 };
	struct rowlock_errinfo error;

	if (now_of(campaign) >= campaign->yields_until_ms ||
	    look(campaign->lock, candidacy->weight,
		 call_until(campaign, campaign->until_ms), &heaviest, &error))
		return false;
	if (heaviest.weight && campaign->yields_until_ms == RLK_NEVER)
		campaign->yields_until_ms =
		    rlk_after(now_of(campaign), candidacy->yield_ms);
	return heaviest.weight > 0;
}

/* Sleep until @at_ms, or a cancel. */
static int pause_until(const struct campaign *campaign, int64_t at_ms)
{
	struct rowlock *lock = campaign->lock;
	struct rlk_waiter waiter;
	int code;

	rlk_waiter_init(&waiter, lock, campaign->wait_ms);
	waiter.until_ms = campaign->until_ms;
	if (!rlk_waiter_begin(&waiter))
		return ROWLOCK_ENOMEM;
	rlk_mutex_lock(&campaign->client->mutex);
	while (!(code = rlk_waiter_over_locked(&waiter)) &&
	       now_of(campaign) < at_ms)
		rlk_waiter_sleep_locked(&waiter, at_ms);
	rlk_mutex_unlock(&campaign->client->mutex);
	rlk_waiter_end(&waiter);
	return code;
}

/* Yield: the next in line gets the lock. */
static int give_way(const struct campaign *campaign,
		    struct rowlock_errinfo *reterr)
{
	struct rowlock *lock = campaign->lock;
	int code;

	rlk_release(lock, end_of(campaign), NULL);
	if (campaign->wait_ms == 0)
		return rlk_fail(reterr, ROWLOCK_EBUSY,
				"acquire " RLK_LOCK_FORMAT
				": a candidate of larger weight stands",
				RLK_LOCK_ARGS(lock));
	code = pause_until(campaign, rlk_after(now_of(campaign), PAUSE_MS));
	return code ? rlk_fail_waiting(lock, code, reterr) : 0;
}

/* -------------------------------------------------------------- campaign */

static uint64_t part_of(const struct campaign *campaign, uint64_t most_ms)
{
	int64_t left = campaign->until_ms - now_of(campaign);

	if (campaign->wait_ms == 0)
		return 0;
	if (campaign->wait_ms == ROWLOCK_FOREVER || left > (int64_t) most_ms)
		return most_ms;
	return left > 0 ? (uint64_t) left : 1;
}

/* The lock was lost during other statements, before it was shown. */
static int start_over(struct campaign *campaign, struct rowlock_errinfo *reterr)
{
	struct rowlock *lock = campaign->lock;

	rlk_release(lock, end_of(campaign), NULL);
	campaign->part_ms = now_of(campaign);
	return rlk_fail(reterr, ROWLOCK_ECONNECT,
			"acquire " RLK_LOCK_FORMAT
			": granted, and lost again before the campaign was "
			"over; it is not held",
			RLK_LOCK_ARGS(lock));
}

/* Draw last, as no slow statement may follow. The draw proves that the row is
 * still there. */
static int take_lead(struct campaign *campaign, struct rowlock_errinfo *reterr)
{
	struct rowlock *lock = campaign->lock;
	int code;

	leave(campaign);
	code = rlk_draw_with_grant(lock, campaign->wait_ms, campaign->until_ms,
				   reterr);
	if (code == ROWLOCK_ELOST || (code == 0 && !rlk_lock_holds(lock)))
		return start_over(campaign, reterr);
	return code;
}

/* Returns 0 if the lock is held, else see goes_on(). */
static int wait_a_part(struct campaign *campaign, uint64_t most_ms,
		       struct rowlock_errinfo *reterr)
{
	struct rowlock *lock = campaign->lock;
	uint64_t part = part_of(campaign, most_ms);
	int64_t end =
	    part ? rlk_after(now_of(campaign), part) : campaign->until_ms;
	int code = rlk_acquire_undrawn(lock, part, reterr);

	campaign->part_ms = end;
	if (code)
		return code;
	if (!yields(campaign))
		return take_lead(campaign, reterr);
	code = give_way(campaign, reterr);
	return code ? code : rlk_fail_waiting(lock, ROWLOCK_ETIMEDOUT, reterr);
}

/* Is just a part over, perhaps without an answer, with time left? */
static bool goes_on(const struct campaign *campaign, int code,
		    const struct rowlock_errinfo *error)
{
	int64_t now = now_of(campaign);
	bool unheard = code == ROWLOCK_ECONNECT ||
		       (code == ROWLOCK_EDB && error->mysql == 0);

	if (campaign->wait_ms == 0 || now >= campaign->until_ms)
		return false;
	return code == ROWLOCK_ETIMEDOUT ||
	       (unheard && now >= campaign->part_ms);
}

/* Wait part by part. */
static int wait_all(struct campaign *campaign, struct rowlock_errinfo *reterr)
{
	int code = wait_a_part(campaign, FIRST_MS, reterr);

	while (goes_on(campaign, code, reterr)) {
		stand(campaign);
		if (goes_on(campaign, code, reterr))
			code = wait_a_part(campaign, PART_MS, reterr);
	}
	return code;
}

int rlk_campaign(struct rowlock *lock, uint64_t wait_ms,
		 struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = lock->name->client;
	struct campaign campaign = {
		.lock = lock,
		.candidacy =
		    container_of(lock->recipe, struct rlk_candidacy, recipe),
		.client = client,
		.wait_ms = wait_ms,
		.until_ms = wait_ms ? rlk_after(rlk_now(client->clock), wait_ms)
				    : rlk_client_call_until(client),
		.yields_until_ms = RLK_NEVER,
	};
	int code = rlk_lock_begin_parts(lock, reterr);

	if (code)
		return code;
	code = wait_all(&campaign, reterr);

	if (code)
		leave(&campaign);
	else
		rlk_lock_show(lock);
	rlk_lock_end_parts(lock);
	return code;
}
