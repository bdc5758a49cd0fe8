/* SPDX-License-Identifier: MIT */
/*
 * The holder that a question has met: when it may be dead, and its removal.
 *
 * The server's clock tells when its session expires. Where that clock does not
 * decide, its beats are observed: the questions are the looks.
 */
#include "wait/holder.h"

#include "base/set_text.h"
#include "core/call.h"
#include "core/waiter.h"
#include "group/commit.h"
#include "hold/clear.h"

/* While queued in the server, look this many times per observation period. The
 * first look may just miss a beat, and the next one sees it a part later than a
 * waiter that looks all the time; the last one is at the end. */
#define OBSERVE_LOOKS 4

static int64_t observe_ms(const struct rlk_asking *asking,
			  const struct rlk_holder *holder)
{
	uint64_t ms = holder->ttl_ms + rlk_margin(holder->ttl_ms);
	int64_t part = (int64_t) ms / OBSERVE_LOOKS + 1;
	int64_t left;

	if ((asking->spot.line != RLK_LINE_STANDS &&
	     asking->spot.line != RLK_LINE_JOINS) ||
	    !holder->looked || holder->absent)
		return RLK_POLL_DELAY_MS;
	left = rlk_silent_in_ms(asking->client, holder);
	return left < part ? left : part;
}

void rlk_holder_plan_look(struct rlk_asking *asking,
			  const struct rlk_holder *holder)
{
	int64_t now = rlk_now(asking->client->clock);
	int64_t left_ms = holder->left_us / 1000 + 1;

	if (holder->has_max && holder->max_left_us / 1000 + 1 < left_ms)
		left_ms = holder->max_left_us / 1000 + 1;
	if (!rlk_trusts_clock(asking->client))
		left_ms = observe_ms(asking, holder);
	if (left_ms < RLK_POLL_DELAY_MS)
		left_ms = RLK_POLL_DELAY_MS;
	if (left_ms > RLK_LOOK_MOST_MS)
		left_ms = RLK_LOOK_MOST_MS;
	asking->look.at_ms = now + left_ms;
}

/* Tells the rows of one attempt apart. */
static unsigned int row_of(const struct rlk_holder *holder)
{
	return holder->slot ? holder->slot : holder->which;
}

/* A holder that survived its removal was alive: no reason to ask again at once.
 * If another client has its row locked, the sweep goes alone, so that it blocks
 * other requests only once. */
bool rlk_holder_clear(struct rlk_asking *asking,
		      const struct rlk_request *request,
		      struct rlk_holder *holder)
{
	struct rowlock_client *client = asking->client;
	struct rlk_asking_look *look = &asking->look;
	struct rlk_errand errand = { .waiter = asking->waiter };
	struct rlk_set_name name;
	struct rlk_request dead = *request;

	if (!holder->known || !rlk_may_be_dead(client, holder))
		return false;
	if (asking->spot.skips_line && look->swept == holder->attempt &&
	    look->swept_which == row_of(holder))
		return false;
	name = rlk_set_name_at(request->name, holder->which);
	dead.name = name.text;
	dead.slot =
	    holder->slot ? holder->slot : asking->name->strategy->held_slot;
	dead.count = 0;
	errand.until_ms = rlk_waiter_io_until(asking->waiter);
	/* Batched sweeps handle slot 0 only. */
	errand.aside = look->sweeps_alone || dead.slot ||
		       !rlk_clears_together(client, holder);
	look->swept = holder->attempt;
	look->swept_which = row_of(holder);
	look->sweeps_alone =
	    !rlk_commit_sweep(asking->hold, &dead, holder, &errand);
	return !look->sweeps_alone;
}
