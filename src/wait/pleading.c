/* SPDX-License-Identifier: MIT */
/*
 * Permits have no holder that rings: any of their holders may give some back,
 * and each question reads all that are in use. So the first in line asks a few
 * times, as permits often come free soon, and then pleads: it makes a row that
 * the next release deletes, and looks for that (strategy/plea.h).
 *
 * It ends its plea when the row is gone, when a holder may be dead, or with the
 * caller's time. A release may fail to hear it, and dead holders may be removed
 * by others: so it counts now and then, soon at first.
 *
 * Failure modes: where the server's clock does not tell who is dead, each
 * question observes another holder, so there it asks on; and so it does with an
 * account that may not write the row. A connection that does not answer is
 * closed, which costs the place in line.
 */
#include "wait/pleading.h"

#include "base/random.h"
#include "core/waiter.h"
#include "db/conn.h"
#include "hold/clear.h"
#include "strategy/plea.h"
#include "wait/pause.h"

/* The longest pause of the first in line: it has asked five times by then. */
#define FROM_DELAY_MS 20
#define LOOK_MS 20

/* Between two counts: twice as long each time. */
#define FIRST_COUNT_MS 100
#define COUNT_MS 5000

#define ENDS_MOST 3 /* a KILL QUERY may hit one */

bool rlk_may_plead(const struct rlk_asking *asking)
{
	return asking->spot.line == RLK_LINE_FRONT &&
	       asking->name->strategy->counted && !asking->error.code &&
	       !asking->plea_refused && !asking->doubt.unsure &&
	       asking->delay_ms >= FROM_DELAY_MS &&
	       rlk_trusts_clock(asking->client);
}

/* Before each statement of ours. */
static void speak(struct rlk_asking *asking)
{
	asking->spot.said_ms = rlk_now(asking->client->clock);
	rlk_conn_set_until(asking->conn, rlk_waiter_io_until(asking->waiter));
}

/* Was it said? If not, it is asked as if it had been heard. */
static bool is_said(struct rlk_asking *asking, enum rlk_fault fault)
{
	asking->error.code = 0;
	/* An account without the right: it would be refused each time. */
	if (fault == RLK_REFUSED)
		asking->plea_refused = true;
	else if (fault && !rlk_fault_passes(fault))
		rlk_spot_discard(asking);
	return !fault;
}

static bool begin(struct rlk_asking *asking, const struct rlk_request *request)
{
	speak(asking);
	return is_said(asking,
		       rlk_plea_make(asking->conn, request, &asking->error));
}

/* Releases would look for its row for as long as the connection lives. */
static void end(struct rlk_asking *asking, const struct rlk_request *request)
{
	enum rlk_fault fault = RLK_KILLED;

	for (int i = 0; asking->conn && fault && i < ENDS_MOST; i++) {
		speak(asking);
		fault = rlk_plea_end(asking->conn, request, &asking->error);
		if (!is_said(asking, fault) && !asking->conn)
			return;
	}
	if (fault && asking->conn)
		rlk_spot_discard(asking);
}

static bool has_room(struct rlk_asking *asking,
		     const struct rlk_request *request)
{
	bool room = true;

	speak(asking);
	return !is_said(asking, rlk_plea_count(asking->conn, request, &room,
					       &asking->error)) ||
	       room;
}

static bool is_heard(struct rlk_asking *asking,
		     const struct rlk_request *request)
{
	bool heard = true;

	speak(asking);
	return !is_said(asking, rlk_plea_look(asking->conn, request, &heard,
					      &asking->error)) ||
	       heard;
}

/* Returns false if it has to ask, or has a hold. */
static bool listen(struct rlk_asking *asking, const struct rlk_request *request,
		   uint64_t ms, bool *ret_handed)
{
	const struct rlk_waiter *waiter = asking->waiter;
	int64_t now = rlk_now(asking->client->clock);
	int64_t until = rlk_after(now, ms);

	while (now < until) {
		if (!rlk_pause_until(
			asking,
			rlk_after(now, LOOK_MS / 2 + rlk_random() % LOOK_MS),
			ret_handed))
			return false;
		now = rlk_now(asking->client->clock);
		if (now >= asking->look.at_ms || now >= waiter->until_ms ||
		    is_heard(asking, request))
			return false;
	}
	return true;
}

bool rlk_plead(struct rlk_asking *asking)
{
	struct rlk_request request = rlk_spot_bell(asking);
	uint64_t ms = FIRST_COUNT_MS;
	bool handed = false;
	bool begun = begin(asking, &request);

	/* If it was begun half way, it is ended, too. */
	while (begun && !has_room(asking, &request) &&
	       listen(asking, &request, ms, &handed))
		ms = ms * 2 < COUNT_MS ? ms * 2 : COUNT_MS;
	end(asking, &request);
	return handed;
}
