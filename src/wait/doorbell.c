/* SPDX-License-Identifier: MIT */
/*
 * Waiting on the bell of a name; spot.h has the drawing.
 *
 * A waiter that finds its lease held takes a connection of its own and stands
 * in the server's line for the name's bell, by one statement for its whole
 * wait: so it is served in the order in which it came. It is woken when the
 * bell is let go; a holder that has the bell lets it go with its row. Then:
 *
 *   - the row is free: it is ours, and bell and connection stay with the hold
 *   - it is held: the holder has no bell, and will ring for nobody. We are the
 *     first in line now: keep the bell, and ask again and again, politely
 *
 * Meanwhile it looks, on another connection, when the holder's session ends,
 * and at least every 20 seconds: a holder may have died. The first in line
 * takes the name then. A waiter behind it does so only if two looks found the
 * name free and the bell with one and the same connection, or with none.
 *
 * A waiter whose process is stopped, or whose host has vanished, may get the
 * bell, and never ask. So the server closes a connection for bells after a few
 * idle seconds (api/options.c), one of a row after the idle bound, and the next
 * in line has it; a hold keeps its bell by pings (background/pinger.c).
 *
 * Readers may come in together. The first that was let in opens the gate as it
 * lets the bell go; the readers behind it let the bell go by in the server, up
 * to the next writer, and ask at the same time. That writer waits until each of
 * them is in (strategy/bell.c); one that a newcomer keeps out asks again.
 *
 * If others wanted the name lately, a waiter joins the line at once, so that it
 * does not jump it.
 *
 * Permits have no holder that rings: there the first in line asks until it is
 * granted, and then lets the bell go (strategy/permits.h); meanwhile a release
 * tells it (pleading.c).
 *
 * Rows have a line of their own, with their own connections (row_line.c).
 *
 * Failure modes: a wait leaves nothing in the server that could land later; its
 * connection can be given up at any time. A connection that ends in line costs
 * the place.
 */
#include "wait/doorbell.h"

#include "base/error.h"
#include "core/call.h"
#include "core/overrun.h"
#include "core/waiter.h"
#include "db/lend.h"
#include "group/commit_bell.h"
#include "hold/session.h"
#include "strategy/bell.h"
#include "wait/holder.h"
#include "wait/spot.h"

#include <stdatomic.h>

/* The longest wait in the server, a year: MariaDB takes no more. */
#define STAND_MOST_MS (365 * INT64_C(24) * 3600 * 1000)

/* The next look: if nothing is known of the holder; if there is none; and the
 * last one before the caller's time is up. */
#define LOOK_SOON_MS 1000
#define LOOK_FREE_MS 150
#define LOOK_LAST_MS 250

/* How long a name counts as busy: from the last time that others were seen to
 * want it, or from the end of a hold before which they were. */
#define BUSY_MS 1000

/* ----------------------------------------------------------------- busy */

/* Did others want @name just now? Then all its acquires stand in line. */
static bool is_busy(struct rowlock_client *client, const char *name)
{
	return rlk_now(client->clock) <
	       client->busy_until_ms[rlk_busy_place(name)];
}

void rlk_doorbell_note_busy(struct rowlock_client *client, const char *name)
{
	client->busy_until_ms[rlk_busy_place(name)] =
	    rlk_after(rlk_now(client->clock), BUSY_MS);
}

void rlk_doorbell_note_wanted(struct rlk_asking *asking)
{
	asking->wanted = true;
	if (!asking->name->strategy->of_names)
		rlk_doorbell_note_busy(asking->client, asking->name->text);
}

bool rlk_doorbell_is_late(const struct rlk_asking *asking)
{
	return rlk_now(asking->client->clock) + RLK_OVERRUN_QUESTION_MS >=
	       asking->waiter->give_up_ms;
}

/* ------------------------------------------------------------ connection */

bool rlk_doorbell_usable(const struct rlk_asking *asking)
{
	const struct rowlock_client *client = asking->client;

	return asking->name->strategy->bells && !asking->waiter->wish.try &&
	       asking->spot.line != RLK_LINE_POLLS && !client->many_writers &&
	       !client->bells_refused;
}

static enum rlk_step poll_instead(struct rlk_asking *asking, const char *reason)
{
	rlk_spot_move(asking, RLK_LINE_POLLS);
	rlk_log(&asking->client->log, ROWLOCK_LOG_DEBUG,
		"'%s' (%s): asked for again and again, not by its bell: %s",
		asking->name->text, asking->name->strategy->name, reason);
	return RLK_STEP_AGAIN;
}

void rlk_doorbell_begin(struct rlk_asking *asking)
{
	asking->ask = RLK_ASK_FIRST;
	if (rlk_doorbell_usable(asking) && !asking->name->strategy->of_names &&
	    is_busy(asking->client, asking->name->text))
		rlk_spot_move(asking, RLK_LINE_JOINS);
}

static enum rlk_step refuse(struct rlk_asking *asking, const char *why)
{
	struct rowlock_client *client = asking->client;

	if (!atomic_exchange(&client->bells_refused, true))
		rlk_log(&client->log, ROWLOCK_LOG_WARNING,
			"no waiting on bells, names are asked for again and "
			"again: %s (%s)",
			why, client->server);
	rlk_put_conn(asking);
	return poll_instead(asking, "bells are refused");
}

enum rlk_step rlk_doorbell_connect(struct rlk_asking *asking)
{
	struct rowlock_client *client = asking->client;
	struct rlk_waiter *waiter = asking->waiter;
	int code;

	/* A grant keeps the bell in the upkeep. */
	if (!rlk_hold_make_upkeep(asking->hold))
		return rlk_end_with(
		    asking,
		    rlk_fail(&asking->error, ROWLOCK_ENOMEM, "out of memory"));
	code = rlk_pool_get_spare(
	    client->pool, RLK_BAY_BELL, rlk_waiter_io_until(waiter),
	    &waiter->pool_waiter, &asking->conn, &asking->error);
	if (code == ROWLOCK_EBUSY)
		return poll_instead(asking, "all wait_connections are in use");
	if (code)
		return rlk_failed(asking, code);
	rlk_log(&client->log, ROWLOCK_LOG_DEBUG,
		"'%s' (lease): waits on its bell", asking->name->text);
	return RLK_STEP_AGAIN;
}

void rlk_doorbell_notice_end(struct rlk_asking *asking)
{
	const struct rlk_conn *conn = asking->conn;

	if (!conn || (!rlk_conn_retired(conn) &&
		      (!rlk_spot_had(asking) || rlk_conn_alive(conn))))
		return;
	asking->round_ms = 0;
	rlk_spot_discard(asking);
}

/* ------------------------------------------------------------------ line */

/* Did it take longer than with an empty line? */
static bool took_long(const struct rlk_asking *asking, int64_t began_ms)
{
	struct rowlock_client *client = asking->client;
	int64_t usual = client->leases.usual_ms;

	return rlk_now(client->clock) - began_ms > 2 * usual;
}

/* The server's part of the wait, in milliseconds. */
static uint64_t left(const struct rlk_asking *asking, int64_t now)
{
	int64_t until = asking->waiter->until_ms;

	if (until == RLK_NEVER || until - now > STAND_MOST_MS)
		return STAND_MOST_MS;
	return until > now ? (uint64_t) (until - now) : 0;
}

/* A name that is free before the caller's time is up is not missed. */
static int64_t look_at(const struct rlk_asking *asking, int64_t now)
{
	int64_t last = asking->waiter->until_ms - LOOK_LAST_MS;

	return now < last && last < asking->look.at_ms ? last
						       : asking->look.at_ms;
}

/* Wait for the bell until the caller's time is up, or the next look is due. */
static enum rlk_fault stand(struct rlk_asking *asking,
			    struct rlk_bell_turn *ret_turn)
{
	int64_t now = rlk_now(asking->client->clock);
	int64_t until =
	    rlk_after(asking->waiter->until_ms, RLK_OVERRUN_BELL_MS);
	struct rlk_request request = rlk_spot_bell(asking);
	enum rlk_fault fault;

	if (!asking->look.at_ms)
		asking->look.at_ms = rlk_after(now, LOOK_SOON_MS);
	asking->look.at_ms = asking->name->strategy->look
				 ? look_at(asking, now)
				 : rlk_after(now, RLK_LOOK_MOST_MS);
	if (asking->look.at_ms < until)
		until = asking->look.at_ms;
	rlk_conn_set_until(asking->conn, until);
	rlk_expose_conn(asking, asking->conn);
	fault = asking->spot.line == RLK_LINE_STANDS
		    ? rlk_bell_resume(asking->conn, ret_turn, &asking->error)
		    : rlk_bell_wait(asking->conn, &request, left(asking, now),
				    ret_turn, &asking->error);
	rlk_expose_conn(asking, NULL);
	asking->spot.said_ms = rlk_now(asking->client->clock);
	if (fault == RLK_PENDING || took_long(asking, now))
		asking->waiter->waited = true;
	if (!asking->name->strategy->pins_connection && took_long(asking, now))
		rlk_doorbell_note_wanted(asking);
	return fault;
}

/* A set that is refused because of another name than before stands in the line
 * of that one: nobody has to wait for the first name behind it. */
static void follow(struct rlk_asking *asking, const struct rlk_holder *holder)
{
	if (!holder->known || holder->which == asking->spot.which)
		return;
	if (asking->spot.line == RLK_LINE_FRONT)
		rlk_spot_let_go(asking);
	asking->spot.which = holder->which;
}

void rlk_doorbell_choose(struct rlk_asking *asking,
			 const struct rlk_holder *holder)
{
	const struct rowlock_client *client = asking->client;

	if (asking->name->strategy->of_names)
		follow(asking, holder);
	if (asking->spot.line != RLK_LINE_APART ||
	    !asking->name->strategy->bells || asking->waiter->wish.try)
		return;
	if (rlk_doorbell_usable(asking))
		rlk_spot_move(asking, RLK_LINE_JOINS);
	else
		poll_instead(asking, client->many_writers
					 ? "bells do not reach all clients here"
					 : "bells are refused, or there are no "
					   "wait_connections");
}

/* The wait has an answer. One that came at once though nobody rang is not asked
 * for again at once. */
static enum rlk_step answered(struct rlk_asking *asking,
			      struct rlk_bell_turn turn, int64_t began_ms)
{
	bool got = turn.got || turn.lane;

	rlk_spot_take(asking, turn);
	if (got && !asking->name->strategy->pins_connection)
		asking->ask = RLK_ASK_FIRST;
	return got || took_long(asking, began_ms) ? RLK_STEP_AGAIN
						  : RLK_STEP_LATER;
}

static enum rlk_step wait_for_bell(struct rlk_asking *asking)
{
	int64_t began = rlk_now(asking->client->clock);
	struct rlk_bell_turn turn = { .got = false };
	enum rlk_fault fault = stand(asking, &turn);

	/* The last look at a lease tells. */
	if (!asking->name->strategy->look &&
	    (fault == RLK_DONE || fault == RLK_PENDING))
		asking->error.code = 0;
	switch (fault) {
	case RLK_DONE:
		return answered(asking, turn, began);
	case RLK_PENDING:
		rlk_spot_move(asking, RLK_LINE_STANDS);
		return RLK_STEP_AGAIN;
	case RLK_KILLED:
		/* The connection may just have got the bell. */
		rlk_spot_let_go(asking);
		return RLK_STEP_AGAIN;
	case RLK_CONFLICT:
	case RLK_BUSY:
		rlk_spot_fail(asking);
		return RLK_STEP_LATER;
	case RLK_REFUSED:
		rlk_spot_fail(asking);
		/* A limit of the account, or a server without memory, passes.
		 */
		return asking->error.code == ROWLOCK_ECONNECT
			   ? rlk_failed(asking, ROWLOCK_ECONNECT)
			   : refuse(asking, asking->error.message);
	case RLK_FAILED:
		return rlk_failed(asking, asking->error.code);
	default:
		/* A wait leaves nothing that could land: do not settle it. */
		rlk_spot_discard(asking);
		return rlk_failed(asking, ROWLOCK_ECONNECT);
	}
}

/* ------------------------------------------------------------------ looks */

/* Nothing is known, and the place in line is kept. The error is the caller's if
 * its time is up before the server answers again. */
static enum rlk_step look_failed(struct rlk_asking *asking, int code)
{
	asking->error.code = code == ROWLOCK_ECONNECT ? code : 0;
	return RLK_STEP_AGAIN;
}

/* Look for the holder on a connection of its own, and if there is none, which
 * connection has the bell. */
static int look_now(struct rlk_asking *asking,
		    const struct rlk_request *request,
		    struct rlk_holder *ret_holder, uint64_t *ret_bell)
{
	struct rowlock_client *client = asking->client;
	struct rlk_waiter *waiter = asking->waiter;
	int64_t until = rlk_client_call_until(client);
	struct rlk_conn *conn;
	enum rlk_fault fault;
	int code;

	/* To leave the line takes time of its own. */
	if (waiter->until_ms < until)
		until = waiter->until_ms;
	code = rlk_pool_get(client->pool, RLK_BAY_CONTROL, until, false,
			    &waiter->pool_waiter, &conn, &asking->error);
	if (code)
		return code;
	fault = asking->name->strategy->look(conn, request, ret_holder,
					     &asking->error);
	if (!fault && !ret_holder->known)
		fault = rlk_bell_owner(conn, request, ret_bell, &asking->error);
	rlk_pool_put(client->pool, conn);
	return rlk_client_code(client, fault, &asking->error);
}

/* Alive or not, it is the business of the first in line to ask. */
static void plan_next(struct rlk_asking *asking,
		      const struct rlk_request *request,
		      struct rlk_holder *holder)
{
	bool again = asking->look.swept == holder->attempt;

	asking->look.free = false;
	rlk_note_others(asking);
	rlk_doorbell_note_wanted(asking);
	/* Who has the bell now? One that was removed before comes back. */
	if (rlk_holder_clear(asking, request, holder) && !again) {
		asking->look.at_ms = rlk_now(asking->client->clock);
		return;
	}
	rlk_holder_plan_look(asking, holder);
}

/* The name is free, and the connection that has the bell may be about to ask.
 * If it is still free at the next look, and the bell where it was, that one
 * does not ask: take the name. */
static void see_free(struct rlk_asking *asking, uint64_t bell)
{
	bool same = asking->look.free && asking->look.idle_bell == bell &&
		    bell != RLK_BELL_PASSES &&
		    bell != rlk_conn_id(asking->conn);

	asking->look.free = !same;
	asking->look.idle_bell = bell;
	asking->look.at_ms =
	    rlk_after(rlk_now(asking->client->clock), LOOK_FREE_MS);
	if (!same)
		return;
	rlk_spot_withdraw(asking);
	asking->spot.skips_line = asking->spot.line == RLK_LINE_JOINS;
	asking->ask = RLK_ASK_FIRST;
}

static enum rlk_step look(struct rlk_asking *asking)
{
	struct rlk_request request = rlk_next_request(asking);
	struct rlk_holder holder = { 0 };
	int64_t now = rlk_now(asking->client->clock);
	uint64_t bell = 0;
	int code;

	/* One that begins this late could be cut off, and then the wait would
	 * seem to end for a server that is out of reach. */
	if (now + RLK_OVERRUN_QUESTION_MS >= asking->waiter->until_ms) {
		asking->look.at_ms = asking->waiter->until_ms;
		return RLK_STEP_AGAIN;
	}
	asking->look.at_ms = rlk_after(now, LOOK_SOON_MS);
	code = look_now(asking, &request, &holder, &bell);
	/* A look asks for nothing: the time of its attempt begins later. */
	rlk_begin_anew(asking);
	if (code)
		return look_failed(asking, code);
	if (holder.known)
		plan_next(asking, &request, &holder);
	else
		see_free(asking, bell);
	return RLK_STEP_AGAIN;
}

/* ------------------------------------------------------------------ steps */

enum rlk_step rlk_doorbell_stand(struct rlk_asking *asking)
{
	enum rlk_step step;

	if (asking->spot.line == RLK_LINE_JOINS &&
	    asking->client->many_writers) {
		rlk_put_conn(asking);
		return poll_instead(asking,
				    "bells do not reach all clients here");
	}
	/* One that stands there stays, even where others poll by now. */
	if (asking->spot.line == RLK_LINE_JOINS &&
	    !rlk_commit_bell_reaches(asking->client, asking->conn))
		return refuse(asking, "there are no user-level locks");
	step = wait_for_bell(asking);
	if (asking->spot.line != RLK_LINE_STANDS ||
	    rlk_doorbell_is_late(asking) || !asking->name->strategy->look ||
	    rlk_now(asking->client->clock) < asking->look.at_ms)
		return step;
	return look(asking);
}

/* ---------------------------------------------------------------- release */

/* Closing the connection lets the bell go. One that the server would keep for a
 * TTL is not waited on again. */
static void give_back(const struct rlk_hold *hold, struct rlk_conn *conn,
		      enum rlk_fault fault)
{
	struct rowlock_client *client = hold->name->client;
	unsigned int short_s = client->bays[RLK_BAY_BELL].profile.idle_s;

	if (fault || rlk_conn_profile(conn)->idle_s != short_s)
		rlk_pool_discard(client->pool, conn);
	else
		rlk_pool_put(client->pool, conn);
}

enum rlk_fault rlk_doorbell_release(struct rlk_hold *hold,
				    struct rlk_conn *conn, int64_t until_ms,
				    bool *ret_found,
				    struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = hold->name->client;
	const struct rlk_request request = rlk_hold_request(hold);
	enum rlk_fault fault;

	rlk_conn_set_until(conn, until_ms);
	do
		fault = rlk_bell_release(conn, &request, ret_found, reterr);
	while ((fault == RLK_BUSY || fault == RLK_CONFLICT) &&
	       rlk_now(client->clock) < until_ms);
	if (fault == RLK_PENDING) {
		rlk_fail_no_answer(client, 0, reterr);
		fault = RLK_UNKNOWN;
	}
	give_back(hold, conn, fault);
	return fault;
}

void rlk_doorbell_ring_on(const struct rlk_hold *hold, struct rlk_conn *conn,
			  int64_t until_ms)
{
	struct rlk_request request = rlk_hold_request(hold);
	struct rowlock_errinfo error;

	rlk_conn_set_until(conn, until_ms);
	give_back(hold, conn, rlk_bell_ring(conn, &request, &error));
}
