/* SPDX-License-Identifier: MIT */
/*
 * A statement that waits for a row keeps FLUSH TABLES WITH READ LOCK waiting,
 * and that one every write of the server. So a waiter stays in the queue of the
 * row for a slice. Then it stands in the server's line (doorbell.c), on the
 * connection that the hold will keep, and only the first in line waits for the
 * row, slice by slice, until it is granted and lets the bell go.
 *
 * A newcomer in the queue of the row would overtake the line. So it asks
 * without waiting first, and if the row is locked, it looks whether a line
 * stands there. The answer counts for a second for all threads of the client.
 *
 * Failure modes: those of a row. A grant whose bell cannot be let go is given
 * up with its connection, as the next in line would not come to wait.
 */
#include "wait/row_line.h"

#include "core/call.h"
#include "core/overrun.h"
#include "core/waiter.h"
#include "group/commit_bell.h"
#include "strategy/bell.h"
#include "wait/doorbell.h"
#include "wait/settle.h"

#include <stdatomic.h>

/* How long it is remembered whether a line stands there. */
#define KNOWN_MS 1000

/* Until when a line is known to stand there; negative: until when none is. */
static _Atomic int64_t *known(const struct rlk_asking *asking)
{
	return &asking->client->row_line_ms[rlk_busy_place(asking->name->text)];
}

static void note(struct rlk_asking *asking, bool stands)
{
	int64_t until = rlk_after(rlk_now(asking->client->clock), KNOWN_MS);

	*known(asking) = stands ? until : -until;
}

void rlk_row_begin(struct rlk_asking *asking)
{
	int64_t now = rlk_now(asking->client->clock);
	int64_t until = *known(asking);

	asking->ask = RLK_ASK_FIRST;
	if (asking->waiter->wish.try)
		return;
	if (!rlk_doorbell_usable(asking)) {
		asking->ask = RLK_ASK_WAIT;
		return;
	}
	if (now < until)
		rlk_spot_move(asking, RLK_LINE_JOINS);
	if (now < until || now < -until)
		asking->ask = RLK_ASK_WAIT;
}

static void join(struct rlk_asking *asking)
{
	rlk_spot_move(asking, RLK_LINE_JOINS);
	asking->ask = RLK_ASK_WAIT;
}

enum rlk_step rlk_row_stand(struct rlk_asking *asking)
{
	rlk_end_transaction(asking, rlk_waiter_io_until(asking->waiter));
	return asking->conn ? rlk_doorbell_stand(asking) : RLK_STEP_AGAIN;
}

enum rlk_step rlk_row_held(struct rlk_asking *asking)
{
	struct rlk_request request = rlk_hold_request(asking->hold);
	uint64_t owner = 0;
	enum rlk_fault fault;

	asking->ask = RLK_ASK_WAIT;
	if (!rlk_commit_bell_reaches(asking->client, asking->conn))
		return RLK_STEP_AGAIN;
	rlk_conn_set_until(asking->conn, rlk_waiter_io_until(asking->waiter));
	fault = rlk_bell_owner(asking->conn, &request, &owner, &asking->error);
	if (rlk_fault_passes(fault))
		return RLK_STEP_AGAIN;
	if (fault) {
		rlk_spot_discard(asking);
		return rlk_failed(asking, rlk_client_code(asking->client, fault,
							  &asking->error));
	}
	note(asking, owner);
	if (owner && asking->spot.line == RLK_LINE_APART)
		join(asking);
	return RLK_STEP_AGAIN;
}

enum rlk_step rlk_row_waited(struct rlk_asking *asking)
{
	asking->waiter->waited = true;
	if (asking->spot.line == RLK_LINE_APART &&
	    rlk_doorbell_usable(asking) && !rlk_doorbell_is_late(asking)) {
		note(asking, true);
		join(asking);
	}
	return RLK_STEP_AGAIN;
}

/* A grant may come when the question is taken back (settle.c). */
static int64_t leave_until(const struct rlk_asking *asking)
{
	int64_t until = rlk_client_call_until(asking->client);
	int64_t last = rlk_after(asking->waiter->until_ms, RLK_OVERRUN_MS);

	return until < last ? until : last;
}

int rlk_row_granted(struct rlk_asking *asking)
{
	struct rlk_request request = rlk_hold_request(asking->hold);
	enum rlk_fault fault;

	if (asking->spot.line != RLK_LINE_FRONT)
		return 0;
	note(asking, true);
	rlk_conn_set_until(asking->conn, leave_until(asking));
	/* A KILL QUERY for the wait may come as late as here. */
	do
		fault = rlk_bell_leave(asking->conn, &request, &asking->error);
	while (rlk_fault_passes(fault) &&
	       rlk_now(asking->client->clock) < asking->waiter->give_up_ms);
	if (!fault) {
		rlk_spot_move(asking, RLK_LINE_JOINS);
		return 0;
	}
	/* Closing the connection unlocks the row. */
	rlk_spot_discard(asking);
	return rlk_client_code(asking->client, fault, &asking->error);
}
