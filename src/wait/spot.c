/* SPDX-License-Identifier: MIT */
/*
 * A place in the server's line: how it changes, and how it is given up.
 *
 * Failure modes: a connection that does not answer in time is closed, which
 * lets go of all that it has. One whose wait was interrupted, or failed half
 * way, may have got the bell, or a lane whose number is not known: it lets go
 * of all of them.
 */
#include "wait/spot.h"

#include "core/call.h"
#include "core/overrun.h"
#include "db/lend.h"
#include "wait/step.h"

#include <assert.h>

void rlk_spot_move(struct rlk_asking *asking, enum rlk_line to)
{
	static const bool allowed[][6] = {
		[RLK_LINE_APART] = { [RLK_LINE_JOINS] = true,
				     [RLK_LINE_POLLS] = true },
		[RLK_LINE_JOINS] = { [RLK_LINE_STANDS] = true,
				     [RLK_LINE_FRONT] = true,
				     [RLK_LINE_PASSES] = true,
				     [RLK_LINE_POLLS] = true },
		[RLK_LINE_STANDS] = { [RLK_LINE_JOINS] = true,
				      [RLK_LINE_FRONT] = true,
				      [RLK_LINE_PASSES] = true,
				      [RLK_LINE_POLLS] = true },
		[RLK_LINE_FRONT] = { [RLK_LINE_JOINS] = true },
		[RLK_LINE_PASSES] = { [RLK_LINE_JOINS] = true },
		[RLK_LINE_POLLS] = { false },
	};

	assert(to == asking->spot.line || allowed[asking->spot.line][to]);
	(void) allowed;
	asking->spot.line = to;
}

bool rlk_spot_had(const struct rlk_asking *asking)
{
	return asking->spot.line == RLK_LINE_FRONT ||
	       asking->spot.line == RLK_LINE_PASSES;
}

void rlk_spot_discard(struct rlk_asking *asking)
{
	if (asking->spot.line == RLK_LINE_STANDS || rlk_spot_had(asking))
		rlk_spot_move(asking, RLK_LINE_JOINS);
	rlk_pool_discard(asking->client->pool, TAKE_PTR(asking->conn));
}

struct rlk_request rlk_spot_bell(const struct rlk_asking *asking)
{
	struct rlk_request request = rlk_hold_request(asking->hold);

	request.which = asking->spot.which;
	return request;
}

/* The readers behind one that was let in come in together with it. */
static enum rlk_fault leave(const struct rlk_asking *asking,
			    const struct rlk_request *request,
			    struct rowlock_errinfo *reterr)
{
	enum rlk_line line = asking->spot.line;
	bool granted = line == RLK_LINE_FRONT && asking->code == 0;

	if (line == RLK_LINE_PASSES)
		return rlk_bell_leave_lane(asking->conn, request,
					   asking->spot.lane, reterr);
	return granted && asking->name->strategy->shared
		   ? rlk_bell_leave_open(asking->conn, request, reterr)
		   : rlk_bell_leave(asking->conn, request, reterr);
}

void rlk_spot_let_go(struct rlk_asking *asking)
{
	struct rlk_request request = rlk_spot_bell(asking);
	int64_t least =
	    rlk_after(rlk_now(asking->client->clock), RLK_OVERRUN_BELL_MS);
	int64_t until = rlk_client_call_until(asking->client);
	struct rowlock_errinfo error;
	enum rlk_fault fault;

	/* At the deadline it takes time that is left for that. */
	if (asking->waiter->until_ms < until)
		until = asking->waiter->until_ms;
	if (until < least)
		until = least;
	if (asking->waiter->give_up_ms < until)
		until = asking->waiter->give_up_ms;
	rlk_conn_set_until(asking->conn, until);
	fault = leave(asking, &request, &error);
	rlk_spot_move(asking, RLK_LINE_JOINS);
	if (fault)
		rlk_spot_discard(asking);
}

void rlk_spot_fail(struct rlk_asking *asking)
{
	struct rlk_request request = rlk_spot_bell(asking);

	if (rlk_bell_has_gate(&request))
		rlk_spot_let_go(asking);
	else
		rlk_spot_move(asking, RLK_LINE_JOINS);
}

void rlk_spot_take(struct rlk_asking *asking, struct rlk_bell_turn turn)
{
	asking->spot.lane = turn.lane;
	if (turn.lane)
		rlk_spot_move(asking, RLK_LINE_PASSES);
	else
		rlk_spot_move(asking,
			      turn.got ? RLK_LINE_FRONT : RLK_LINE_JOINS);
}

void rlk_spot_withdraw(struct rlk_asking *asking)
{
	struct rlk_bell_turn turn = { .got = false };
	struct rowlock_errinfo error;

	rlk_interrupt_wait(asking);
	switch (rlk_bell_resume(asking->conn, &turn, &error)) {
	case RLK_DONE:
		rlk_spot_take(asking, turn);
		return;
	case RLK_KILLED:
		rlk_spot_let_go(asking);
		return;
	case RLK_CONFLICT:
	case RLK_BUSY:
	case RLK_REFUSED:
		rlk_spot_fail(asking);
		return;
	default:
		asking->doubt.unheard = asking->name->strategy->pins_connection;
		rlk_spot_discard(asking);
	}
}

void rlk_spot_leave(struct rlk_asking *asking)
{
	if (asking->spot.line == RLK_LINE_STANDS)
		rlk_spot_withdraw(asking);
	if (rlk_spot_had(asking))
		rlk_spot_let_go(asking);
}
