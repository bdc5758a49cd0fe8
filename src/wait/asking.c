/* SPDX-License-Identifier: MIT */
/*
 * Asks the server until the lock is granted or the waiter's time is up.
 *
 * One step is one question: a connection, a statement, its verdict. Between
 * steps the thread asks again at once, or sleeps where a cancel or the
 * deadline wakes it (pause.c).
 *
 * A waiter stands in the server's line for the name's bell (doorbell.c); only
 * the first in line asks for the name. lease: the first question tells how long
 * the holder's session still has, and removes a holder that has died. The first
 * in line, and a waiter to which bells are of no use, ask again with growing,
 * jittered pauses. row: the server queues us. No statement waits in that queue
 * for long, since a backup would wait for it: we wait there in slices, from the
 * second on as the first in line, and take the question back (KILL QUERY) when
 * our time is up.
 *
 * If no answer came, the request may still be executed. Its session is ended
 * first (settle.c); only then the same attempt is asked again.
 */
#include "wait/asking.h"

#include "base/error.h"
#include "base/random.h"
#include "core/call.h"
#include "core/waiter.h"
#include "db/lend.h"
#include "group/commit.h"
#include "hold/session.h"
#include "wait/doorbell.h"
#include "wait/grant.h"
#include "wait/holder.h"
#include "wait/pause.h"
#include "wait/row_line.h"
#include "wait/settle.h"

/* ----------------------------------------------------------- connection */

static enum rlk_step get_conn(struct rlk_asking *asking)
{
	struct rlk_waiter *waiter = asking->waiter;
	int code;

	asking->stray_ends = asking->client->stray_ends;
	code =
	    rlk_pool_get(asking->client->pool, RLK_BAY_ROW,
			 rlk_waiter_io_until(waiter), !waiter->wish.try,
			 &waiter->pool_waiter, &asking->conn, &asking->error);
	if (code == 0)
		return RLK_STEP_AGAIN;
	if (code == ROWLOCK_ETIMEDOUT && waiter->wish.try)
		return rlk_end_with(asking, ROWLOCK_EDB);
	return rlk_failed(asking, code);
}

/* ----------------------------------------------------------------- held */

static enum rlk_step held(struct rlk_asking *asking,
			  const struct rlk_request *request,
			  struct rlk_holder *holder)
{
	struct rowlock_client *client = asking->client;
	bool was_first;

	/* An attempt in doubt is sent in full, so the row is another's. */
	rlk_begin_anew(asking);
	rlk_note_others(asking);
	asking->spot.skips_line = rlk_holder_clear(asking, request, holder);
	if (asking->spot.skips_line) {
		asking->ask = RLK_ASK_FIRST;
		return RLK_STEP_AGAIN;
	}
	if (asking->waiter->wish.try)
		return rlk_end_with(asking, ROWLOCK_EBUSY);
	asking->waiter->waited = true;
	if (asking->name->strategy->pins_connection)
		return rlk_row_held(asking);
	was_first = rlk_spot_had(asking);
	rlk_doorbell_choose(asking, holder);
	rlk_doorbell_note_wanted(asking);
	if (holder->known)
		rlk_holder_plan_look(asking, holder);
	else if (asking->name->strategy->counted)
		asking->look.at_ms = 0; /* kept out by those in line alone */
	asking->ask = rlk_now(client->clock) >= asking->look.at_ms
			  ? RLK_ASK_FIRST
			  : RLK_ASK_AGAIN;
	/* Only the first question tells which name of a set is held. */
	if (asking->spot.line == RLK_LINE_FRONT &&
	    asking->name->strategy->of_names)
		asking->ask = RLK_ASK_FIRST;
	/* The first in line knows that the holder will not ring; a set that
	 * goes from line to line does so politely. */
	return asking->spot.line == RLK_LINE_JOINS && !was_first
		   ? RLK_STEP_AGAIN
		   : RLK_STEP_LATER;
}

/* ------------------------------------------------------------- one step */

/* A row that is absent after it was made this many times is made under another
 * name, or deleted each time: asking on would not help. */
#define MAKES_MOST 5

static enum rlk_step fail_making(struct rlk_asking *asking)
{
	return rlk_end_with(
	    asking, rlk_fail(&asking->error, ROWLOCK_EDB,
			     "its row was made %u times on %s, and is not "
			     "there; does a trigger change what is written?",
			     MAKES_MOST, asking->client->server));
}

static enum rlk_step make_row(struct rlk_asking *asking,
			      const struct rlk_request *request)
{
	struct rlk_waiter *waiter = asking->waiter;
	struct rlk_conn *conn;
	enum rlk_fault fault;
	int code;

	if (asking->makes == MAKES_MOST)
		return fail_making(asking);
	code = rlk_pool_get(asking->client->pool, RLK_BAY_ASIDE,
			    rlk_waiter_io_until(waiter), !waiter->wish.try,
			    &waiter->pool_waiter, &conn, &asking->error);
	if (code)
		return rlk_failed(asking, code);
	fault = asking->name->strategy->make(conn, request, &asking->error);
	rlk_pool_put(asking->client->pool, conn);
	if (fault == RLK_PENDING)
		rlk_fail_no_answer(asking->client, 0, &asking->error);
	switch (fault) {
	case RLK_DONE:
		asking->makes++;
		return RLK_STEP_AGAIN;
	case RLK_BUSY:
	case RLK_CONFLICT:
	case RLK_KILLED:
		return RLK_STEP_LATER;
	case RLK_PENDING:
	case RLK_UNKNOWN:
		/* Making the row twice does no harm. */
		return rlk_failed(asking, ROWLOCK_ECONNECT);
	default:
		return rlk_end_with(asking, asking->error.code);
	}
}

/* Why an unsettled question ends the call. A waiter in the server's queue gets
 * no answer while another holds the name, nor if the server is gone; its time
 * was up before the two could be told apart (settle.c). */
static int reason(struct rlk_asking *asking)
{
	int code;

	rlk_mutex_lock(&asking->client->mutex);
	code = rlk_waiter_over_locked(asking->waiter);
	rlk_mutex_unlock(&asking->client->mutex);
	if (code == ROWLOCK_ECANCELED)
		return code;
	if (code == 0 || asking->ask != RLK_ASK_WAIT)
		return asking->error.code;
	asking->error.code = 0;
	asking->doubt.unheard = true;
	return code;
}

static enum rlk_step no_answer(struct rlk_asking *asking)
{
	enum rlk_step step = rlk_settle(asking);

	asking->spot.skips_line = step == RLK_STEP_AGAIN;
	return step == RLK_STEP_END ? rlk_end_with(asking, reason(asking))
				    : step;
}

enum rlk_step rlk_judge(struct rlk_asking *asking, enum rlk_fault verdict,
			const struct rlk_request *request,
			struct rlk_holder *holder)
{
	switch (verdict) {
	case RLK_HELD:
		return held(asking, request, holder);
	case RLK_ABSENT:
		return make_row(asking, request);
	case RLK_WAITED:
		return rlk_row_waited(asking);
	case RLK_BUSY:
	case RLK_CONFLICT:
	case RLK_KILLED:
		if (asking->name->strategy->pins_connection)
			return RLK_STEP_AGAIN;
		/* A mere look would not tell our own row from another's. */
		asking->ask =
		    asking->doubt.unsure ? RLK_ASK_FIRST : RLK_ASK_AGAIN;
		if (!asking->doubt.unsure)
			rlk_begin_anew(asking);
		return RLK_STEP_LATER;
	case RLK_PENDING:
	case RLK_UNKNOWN:
		return no_answer(asking);
	default:
		return rlk_failed(asking, asking->error.code);
	}
}

/* How long one question on a pinned connection may take: a wait in the server
 * lasts a slice. A waiter has to take its question back in time. */
static int64_t question_until(const struct rlk_asking *asking)
{
	const struct rowlock_client *client = asking->client;
	const struct rlk_waiter *waiter = asking->waiter;
	int64_t until = rlk_client_call_until(client);

	if (waiter->wish.try)
		return rlk_waiter_io_until(waiter);
	if (asking->ask == RLK_ASK_WAIT)
		until = rlk_after(until, client->row_slice_ms);
	return until < waiter->until_ms ? until : waiter->until_ms;
}

/* Ask on a connection that the hold will keep. */
static enum rlk_step ask_pinned(struct rlk_asking *asking)
{
	const struct rlk_strategy *strategy = asking->name->strategy;
	struct rlk_request request = rlk_next_request(asking);
	struct rlk_holder holder = { 0 };
	enum rlk_fault verdict;
	int64_t t0 = rlk_now(asking->client->clock);
	int code;

	rlk_conn_set_until(asking->conn, question_until(asking));
	if (asking->ask == RLK_ASK_WAIT)
		rlk_expose_conn(asking, asking->conn);
	verdict = strategy->acquire(asking->conn, &request, asking->ask,
				    &holder, &asking->error);
	if (asking->ask == RLK_ASK_WAIT)
		rlk_expose_conn(asking, NULL);
	if (verdict == RLK_PENDING)
		verdict = rlk_take_back(asking);
	else if (rlk_fault_passes(verdict))
		rlk_end_transaction(asking,
				    rlk_waiter_io_until(asking->waiter));
	/* It is not known whether the row is locked, as the table is: wait. */
	if (verdict == RLK_REFUSED && !asking->waiter->wish.try &&
	    asking->ask == RLK_ASK_FIRST) {
		asking->ask = RLK_ASK_WAIT;
		asking->doubt.table = true;
		return RLK_STEP_AGAIN;
	}
	if (verdict != RLK_DONE)
		return rlk_judge(asking, verdict, &request, &holder);
	code = rlk_row_granted(asking);
	return code ? rlk_failed(asking, code) : rlk_granted(asking, t0);
}

/* No connection, or no time: nothing was sent. */
static enum rlk_step not_sent(struct rlk_asking *asking)
{
	int code = asking->error.code;

	if (code == ROWLOCK_ETIMEDOUT && asking->waiter->wish.try)
		return rlk_end_with(asking,
				    rlk_client_unsent_code(asking->client));
	return rlk_failed(asking, code);
}

/* The group settles the request, and abandons it if need be. */
static enum rlk_step left(struct rlk_asking *asking)
{
	asking->doubt.unsure = false;
	rlk_fail_abandoned(asking);
	return rlk_end_with(asking, reason(asking));
}

/* As left(), but no connection came free, so nothing was sent. */
static enum rlk_step unsent(struct rlk_asking *asking)
{
	asking->doubt.unsure = false;
	rlk_fail(&asking->error,
		 asking->waiter->canceled ? ROWLOCK_ECANCELED
					  : ROWLOCK_ETIMEDOUT,
		 "no lease connection to %s came free in time",
		 asking->client->server);
	return not_sent(asking);
}

/* Ask in one batch with requests that acquire, draw or release now. */
static enum rlk_step ask_shared(struct rlk_asking *asking)
{
	struct rlk_waiter *waiter = asking->waiter;
	struct rlk_request request = rlk_next_request(asking);
	_cleanup_(rlk_ticket_freep) struct rlk_ticket *ticket =
	    rlk_ticket_new(asking->hold, RLK_ACT_ACQUIRE, &request);
	const struct rlk_errand errand = {
		.until_ms = waiter->give_up_ms,
		.not_before_ms = asking->round_ms,
		.persist = !waiter->wish.try,
		.waiter = waiter,
	};
	enum rlk_fault fault;

	if (!ticket)
		return rlk_end_with(
		    asking,
		    rlk_fail(&asking->error, ROWLOCK_ENOMEM, "out of memory"));
	asking->round_ms = 0;
	ticket->part.ask = asking->ask;
	ticket->unsure = asking->doubt.unsure;
	fault = rlk_commit_run(&ticket, &errand);
	if (!ticket)
		return fault == RLK_PENDING ? left(asking) : unsent(asking);
	if (fault == RLK_BUSY)
		return RLK_STEP_LATER;
	asking->ask = ticket->part.ask;
	asking->doubt.unsure = ticket->unsure;
	if (ticket->error.code)
		asking->error = ticket->error;
	if (fault == RLK_FAILED)
		return not_sent(asking);
	if (fault == RLK_UNKNOWN) {
		/* It ran on another connection than the bell's. */
		rlk_spot_discard(asking);
		asking->doubt.mark = ticket->mark;
		return rlk_judge(asking, fault, &request, NULL);
	}
	if (!ticket->part.answered)
		return rlk_failed(asking, asking->error.code);
	if (ticket->part.verdict != RLK_DONE)
		return rlk_judge(asking, ticket->part.verdict, &request,
				 &ticket->part.holder);
	if (ticket->part.holder.bell)
		asking->hold->bell_conn = ticket->part.ran_on;
	asking->hold->token = ticket->part.token;
	/* We overtook the waiters in line: theirs is the next turn. */
	if (ticket->part.holder.line && asking->spot.line != RLK_LINE_FRONT) {
		rlk_note_others(asking);
		rlk_doorbell_note_wanted(asking);
	}
	return rlk_granted(asking, asking->sent_ms);
}

/* Ask for a lease on the connection that is in line. */
static enum rlk_step ask_here(struct rlk_asking *asking)
{
	const struct rlk_strategy *strategy = asking->name->strategy;
	struct rlk_request request = rlk_next_request(asking);
	struct rlk_holder holder = { 0 };
	enum rlk_fault verdict;

	asking->spot.said_ms = rlk_now(asking->client->clock);
	rlk_conn_set_until(asking->conn, rlk_waiter_io_until(asking->waiter));
	verdict = strategy->acquire(asking->conn, &request, asking->ask,
				    &holder, &asking->error);
	if (verdict == RLK_DONE)
		return rlk_granted(asking, asking->sent_ms);
	return rlk_judge(asking, verdict, &request, &holder);
}

enum rlk_step rlk_ensure_session(struct rlk_asking *asking)
{
	uint64_t id;
	int code = rlk_session_ensure(asking->client, asking->waiter, &id,
				      &asking->error);

	if (code == ROWLOCK_EBUSY)
		return RLK_STEP_LATER;
	if (code)
		return rlk_failed(asking, code);
	/* A new session: a row that the attempt left is dead. */
	if (asking->hold->session != id) {
		if (asking->hold->session)
			asking->hold->attempt = rlk_random();
		asking->doubt.unsure = false;
	}
	asking->hold->session = id;
	return RLK_STEP_AGAIN;
}

static enum rlk_step ask_in_line(struct rlk_asking *asking)
{
	if (!asking->conn)
		return rlk_doorbell_connect(asking);
	if (!rlk_session_is_at(asking->client, asking->conn, &asking->error))
		return RLK_STEP_LATER;
	if (asking->spot.line == RLK_LINE_JOINS && !asking->spot.skips_line)
		return rlk_doorbell_stand(asking);
	return ask_here(asking);
}

static enum rlk_step ask_once(struct rlk_asking *asking)
{
	enum rlk_step step;

	rlk_doorbell_notice_end(asking);
	if (asking->spot.line == RLK_LINE_STANDS)
		return rlk_doorbell_stand(asking);
	if (asking->name->strategy->pins_connection) {
		/* Waiting for a connection may have taken all the time. */
		if (!asking->conn)
			return get_conn(asking);
		return asking->spot.line == RLK_LINE_JOINS
			   ? rlk_row_stand(asking)
			   : ask_pinned(asking);
	}
	step = rlk_ensure_session(asking);
	if (step != RLK_STEP_AGAIN)
		return step;
	/* The bell's waiter keeps it, even where others poll by now. */
	return !asking->round_ms && (rlk_spot_had(asking) ||
				     asking->spot.line == RLK_LINE_JOINS)
		   ? ask_in_line(asking)
		   : ask_shared(asking);
}

/* ----------------------------------------------------------------- loop */

static int explain(struct rlk_asking *asking, struct rowlock_errinfo *reterr)
{
	const struct rowlock *lock = asking->waiter->lock;
	const struct rowlock_errinfo *error = &asking->error;
	int code = asking->code;

	/* The lock was not busy, the server could not be asked. */
	if (code == ROWLOCK_ETIMEDOUT && error->code == ROWLOCK_ECONNECT)
		code = ROWLOCK_ECONNECT;
	/* Nothing was sent. */
	if (code == ROWLOCK_ETIMEDOUT && error->code == ROWLOCK_ETIMEDOUT)
		return rlk_fail(reterr, code,
				"acquire " RLK_LOCK_FORMAT ": not asked for in "
				"time: %s",
				RLK_LOCK_ARGS(lock), error->message);
	if (code == ROWLOCK_ETIMEDOUT &&
	    (asking->doubt.unheard || asking->doubt.table))
		return rlk_fail_unknown(lock, asking->doubt.unheard, reterr);
	switch (code) {
	case 0:
		return 0;
	case ROWLOCK_EBUSY:
	case ROWLOCK_ETIMEDOUT:
	case ROWLOCK_ECANCELED:
		return rlk_fail_waiting(lock, code, reterr);
	default:
		return rlk_fail_db(reterr, code, error->mysql,
				   "acquire '%s' (%s): %s",
				   rlk_name_shown(lock->name).text,
				   lock->name->strategy->name, error->message);
	}
}

int rlk_ask(struct rlk_asking *asking, struct rowlock_errinfo *reterr)
{
	enum rlk_step step = RLK_STEP_AGAIN;

	if (asking->name->strategy->pins_connection)
		rlk_row_begin(asking);
	else
		rlk_doorbell_begin(asking);
	if (asking->spot.line == RLK_LINE_APART)
		rlk_step_back(asking);
	while (step != RLK_STEP_END) {
		int code = rlk_asking_over(asking);

		if (code) {
			step = rlk_end_with(asking, code);
			continue;
		}
		step = ask_once(asking);
		if (step == RLK_STEP_LATER && rlk_pause(asking))
			step = rlk_end_with(asking, 0);
	}
	rlk_note_turn(asking);
	rlk_give_up(asking);
	rlk_spot_leave(asking);
	rlk_put_conn(asking);
	return explain(asking, reterr);
}
