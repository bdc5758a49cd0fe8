/* SPDX-License-Identifier: MIT */
/*
 * Waiting on the bell of a lease.
 *
 * A waiter that finds its name held takes a connection of its own and stands in
 * the server's line for the name's bell. It is woken when the bell is let go; a
 * holder that waited for the bell itself lets it go with its row. Then:
 *
 *   - the row is free: it is ours, and bell and connection stay with the hold
 *   - it is held: the holder has no bell, and will ring for nobody. We are the
 *     first in line now: keep the bell, and ask again and again, politely
 *
 * It stands there no longer than the holder's session is sure to live, 12
 * seconds at most, and then looks: a holder may have died, a bell may be lost
 * or be held by a ghost. If the name goes from one holder to another while the
 * bell stays where it is, no holder rings, and the waiter polls from then on.
 *
 * If others wanted the name lately, a waiter joins the line at once, so that it
 * does not jump it.
 *
 * Permits have no holder that rings: there the first in line asks until it is
 * granted, and then lets the bell go (strategy/permits.h).
 *
 * Failure modes: a wait leaves nothing in the server that could land later; its
 * connection can be given up at any time.
 */
#include "wait/doorbell.h"

#include "base/error.h"
#include "base/text.h"
#include "core/call.h"
#include "core/waiter.h"
#include "db/lend.h"
#include "group/commit_bell.h"
#include "group/leader.h"
#include "hold/clear.h"
#include "hold/session.h"
#include "strategy/bell.h"
#include "wait/settle.h"

#include <stdatomic.h>

/* The longest wait in the server: two statements per slice are less than 0.2
 * per second and waiter. */
#define SLICE_MS 12000

/* The server ends a wait this much before our deadline for it. */
#define GRACE_MS 20

/* How long a name counts as busy: from the last time that others were seen to
 * want it, or from the end of a hold before which they were. */
#define BUSY_MS 1000

/* ----------------------------------------------------------------- busy */

static _Atomic int64_t *busy_until(struct rowlock_client *client,
				   const char *name)
{
	return &client->busy_until_ms[rlk_scramble(rlk_text_hash(name)) %
				      RLK_BUSY_NAMES];
}

bool rlk_doorbell_busy(struct rowlock_client *client, const char *name)
{
	return rlk_now(client->clock) < *busy_until(client, name);
}

void rlk_doorbell_note_busy(struct rowlock_client *client, const char *name)
{
	*busy_until(client, name) = rlk_after(rlk_now(client->clock), BUSY_MS);
}

void rlk_doorbell_note_wanted(struct rlk_asking *asking)
{
	asking->wanted = true;
	rlk_doorbell_note_busy(asking->client, asking->name->text);
}

/* ------------------------------------------------------------ connection */

bool rlk_doorbell_usable(const struct rlk_asking *asking)
{
	const struct rowlock_client *client = asking->client;

	return asking->name->strategy->bells && !asking->waiter->try &&
	       !asking->polls && !client->many_writers &&
	       !client->bells_refused;
}

static enum rlk_step poll_instead(struct rlk_asking *asking, const char *reason)
{
	asking->polls = true;
	rlk_log(&asking->client->log, ROWLOCK_LOG_DEBUG,
		"'%s' (lease): asked for again and again, not by its bell: %s",
		asking->name->text, reason);
	return RLK_STEP_AGAIN;
}

bool rlk_doorbell_choose(struct rlk_asking *asking)
{
	const struct rowlock_client *client = asking->client;

	if (rlk_doorbell_usable(asking))
		return true;
	if (asking->name->strategy->bells && !asking->waiter->try &&
	    !asking->polls)
		poll_instead(asking, client->many_writers
					 ? "bells do not reach all clients here"
					 : "bells are refused, or there are no "
					   "wait_connections");
	return false;
}

static enum rlk_step refuse(struct rlk_asking *asking)
{
	struct rowlock_client *client = asking->client;

	rlk_pool_put(client->pool, TAKE_PTR(asking->conn));
	if (!atomic_exchange(&client->bells_refused, true))
		rlk_log(&client->log, ROWLOCK_LOG_WARNING,
			"no waiting on bells, leases are asked for again and "
			"again: %s",
			asking->error.message);
	return poll_instead(asking, "bells are refused");
}

static enum rlk_step get_conn(struct rlk_asking *asking)
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
	if (code == ROWLOCK_ETIMEDOUT || code == ROWLOCK_ECANCELED)
		return RLK_STEP_LATER;
	if (code)
		return rlk_failed(asking, code);
	if (!rlk_commit_bell_reaches(client, asking->conn)) {
		rlk_fail(&asking->error, ROWLOCK_EDB,
			 "%s has no user-level locks", client->server);
		return refuse(asking);
	}
	rlk_log(&client->log, ROWLOCK_LOG_DEBUG,
		"'%s' (lease): waits on its bell", asking->name->text);
	return RLK_STEP_AGAIN;
}

bool rlk_doorbell_is_silent(const struct rlk_asking *asking)
{
	const struct rowlock_client *client = asking->client;

	return rlk_now(client->clock) - asking->said_ms >=
	       rlk_client_word_ms(client, RLK_BAY_BELL);
}

void rlk_doorbell_notice_end(struct rlk_asking *asking)
{
	const struct rlk_conn *conn = asking->conn;

	if (!conn || (!rlk_conn_retired(conn) &&
		      (!asking->has_bell || rlk_conn_alive(conn))))
		return;
	asking->has_bell = false;
	asking->round_ms = 0;
	rlk_pool_discard(asking->client->pool, TAKE_PTR(asking->conn));
}

/* ------------------------------------------------------------------ line */

/* How long to stand in line before the next look: 0 if it is due, as after a
 * wait whose end the server did not report. */
static uint64_t slice(const struct rlk_asking *asking, int64_t now)
{
	int64_t until = rlk_after(now, SLICE_MS);

	if (asking->look_ms && asking->look_ms < until)
		until = asking->look_ms;
	if (asking->waiter->until_ms < until)
		until = asking->waiter->until_ms;
	return until > now ? (uint64_t) (until - now) : 0;
}

/* Did it take longer than with an empty line? */
static bool took_long(const struct rlk_asking *asking, int64_t began_ms)
{
	struct rowlock_client *client = asking->client;
	int64_t usual = client->leases.usual_ms;

	return rlk_now(client->clock) - began_ms > 2 * usual;
}

static enum rlk_fault stand(struct rlk_asking *asking)
{
	int64_t now = rlk_now(asking->client->clock);
	struct rlk_request request = rlk_hold_request(asking->hold);
	uint64_t wait_ms = slice(asking, now);
	enum rlk_fault fault;

	asking->bell_owner = 0;
	rlk_conn_set_until(asking->conn, rlk_after(now, wait_ms + GRACE_MS));
	rlk_expose_conn(asking, asking->conn);
	fault =
	    rlk_bell_wait(asking->conn, &request, wait_ms, &asking->has_bell,
			  &asking->bell_owner, &asking->error);
	rlk_expose_conn(asking, NULL);
	if (fault == RLK_PENDING) {
		rlk_interrupt_wait(asking);
		fault = rlk_bell_resume(asking->conn, &asking->has_bell,
					&asking->bell_owner, &asking->error);
	}
	if (took_long(asking, now))
		rlk_doorbell_note_wanted(asking);
	return fault;
}

/* Let go of the bell that the connection has, or may have. A connection that
 * does not answer in time is closed, which lets the bell go. */
static void let_go(struct rlk_asking *asking)
{
	struct rlk_request request = rlk_hold_request(asking->hold);
	int64_t until = rlk_after(rlk_now(asking->client->clock), GRACE_MS);
	struct rowlock_errinfo error;

	if (asking->waiter->give_up_ms < until)
		until = asking->waiter->give_up_ms;
	asking->has_bell = false;
	rlk_conn_set_until(asking->conn, until);
	if (rlk_bell_leave(asking->conn, &request, &error))
		rlk_pool_discard(asking->client->pool, TAKE_PTR(asking->conn));
}

/* Stand in line, a slice: RLK_STEP_AGAIN, and asking->has_bell. */
static enum rlk_step wait_for_bell(struct rlk_asking *asking)
{
	enum rlk_fault fault = stand(asking);

	switch (fault) {
	case RLK_DONE:
		return RLK_STEP_AGAIN;
	case RLK_KILLED:
		/* The connection may just have got the bell. */
		let_go(asking);
		return RLK_STEP_AGAIN;
	case RLK_CONFLICT:
	case RLK_BUSY:
		return RLK_STEP_LATER;
	case RLK_REFUSED:
		return refuse(asking);
	case RLK_FAILED:
		return rlk_failed(asking, asking->error.code);
	default:
		/* A wait leaves nothing that could land: do not settle it. */
		rlk_pool_discard(asking->client->pool, TAKE_PTR(asking->conn));
		if (fault == RLK_PENDING)
			return RLK_STEP_AGAIN;
		return rlk_failed(asking, ROWLOCK_ECONNECT);
	}
}

/* ------------------------------------------------------------------ steps */

/* Did the name go from one holder to another while the bell stayed where it
 * was? Waits that ended early do not count. Permits change hands so while the
 * first in line waits for more of them. */
static bool nobody_rings(const struct rlk_asking *asking, uint64_t attempt)
{
	return !asking->name->strategy->counted && asking->seen_attempt &&
	       asking->seen_attempt != attempt && asking->bell_owner &&
	       asking->seen_owner == asking->bell_owner;
}

/* A look that failed leaves nothing to settle. */
static enum rlk_step look_failed(struct rlk_asking *asking,
				 enum rlk_fault fault)
{
	switch (fault) {
	case RLK_BUSY:
	case RLK_CONFLICT:
	case RLK_KILLED:
		return RLK_STEP_LATER;
	case RLK_PENDING:
		/* Its time is up, and the name was held at the last answer. */
		rlk_pool_discard(asking->client->pool, TAKE_PTR(asking->conn));
		asking->error.code = 0;
		return RLK_STEP_LATER;
	case RLK_UNKNOWN:
		rlk_pool_discard(asking->client->pool, TAKE_PTR(asking->conn));
		rlk_fail(&asking->error, ROWLOCK_ECONNECT, "no answer from %s",
			 asking->client->server);
		return rlk_failed(asking, ROWLOCK_ECONNECT);
	default:
		return rlk_failed(asking, asking->error.code);
	}
}

/* Has one connection had the bell for as long as the longest slice? */
static bool front_stays(struct rlk_asking *asking)
{
	int64_t now = rlk_now(asking->client->clock);

	if (asking->front_owner != asking->bell_owner) {
		asking->front_owner = asking->bell_owner;
		asking->front_ms = now;
	}
	return asking->front_owner &&
	       now >= rlk_after(asking->front_ms, SLICE_MS);
}

/* The name is free and no bell rang: take it. Free permits may be meant for the
 * first in line, which wants more of them; pass it only if it stays there, as
 * it may be a ghost. */
static enum rlk_step take_free(struct rlk_asking *asking, bool stays)
{
	enum rlk_step step;

	asking->ask = RLK_ASK_FIRST;
	asking->passes_line = stays;
	step = rlk_ask_here(asking);
	asking->passes_line = false;
	return step;
}

/* The slice is over and the bell is another's. Who has the name? */
static enum rlk_step look(struct rlk_asking *asking)
{
	struct rlk_request request = rlk_next_request(asking);
	struct rlk_holder holder = { 0 };
	bool stays = front_stays(asking);
	enum rlk_fault fault;

	rlk_conn_set_until(asking->conn, rlk_waiter_io_until(asking->waiter));
	fault = asking->name->strategy->look(asking->conn, &request, &holder,
					     &asking->error);
	if (fault)
		return look_failed(asking, fault);
	if (!holder.known || holder.attempt == request.attempt)
		return take_free(asking, stays);
	if (nobody_rings(asking, holder.attempt)) {
		rlk_pool_put(asking->client->pool, TAKE_PTR(asking->conn));
		poll_instead(asking, "it went to others, and nobody rang");
	}
	asking->seen_attempt = holder.attempt;
	asking->seen_owner = asking->bell_owner;
	return rlk_judge(asking, RLK_HELD, &request, &holder);
}

/* Is it canceled, or too late to ask? */
static bool must_go(const struct rlk_asking *asking)
{
	return asking->waiter->canceled ||
	       rlk_now(asking->client->clock) + RLK_QUESTION_MS >=
		   asking->waiter->give_up_ms;
}

enum rlk_step rlk_doorbell_step(struct rlk_asking *asking)
{
	enum rlk_step step;

	if (!asking->conn)
		return get_conn(asking);
	if (!rlk_session_is_at(asking->client, asking->conn, &asking->error))
		return RLK_STEP_LATER;
	if (!asking->has_bell && !asking->skips_line) {
		step = wait_for_bell(asking);
		if (step != RLK_STEP_AGAIN || !asking->conn || must_go(asking))
			return step;
		if (!asking->has_bell)
			return look(asking);
		asking->seen_attempt = 0;
		asking->ask = RLK_ASK_FIRST;
	}
	return rlk_ask_here(asking);
}

void rlk_doorbell_leave(struct rlk_asking *asking)
{
	if (asking->has_bell && asking->conn)
		let_go(asking);
}

/* ---------------------------------------------------------------- release */

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
		rlk_fail(reterr, ROWLOCK_ECONNECT, "no answer from %s",
			 client->server);
		fault = RLK_UNKNOWN;
	}
	/* Closing the connection lets the bell go. */
	if (fault)
		rlk_pool_discard(client->pool, conn);
	else
		rlk_pool_put(client->pool, conn);
	return fault;
}

void rlk_doorbell_ring_on(const struct rlk_hold *hold, struct rlk_conn *conn,
			  int64_t until_ms)
{
	struct rowlock_client *client = hold->name->client;
	struct rlk_request request = rlk_hold_request(hold);
	struct rowlock_errinfo error;

	rlk_conn_set_until(conn, until_ms);
	/* Closing the connection lets the bell go. */
	if (rlk_bell_ring(conn, &request, &error))
		rlk_pool_discard(client->pool, conn);
	else
		rlk_pool_put(client->pool, conn);
}
