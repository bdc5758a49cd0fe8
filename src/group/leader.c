/* SPDX-License-Identifier: MIT */
/*
 * The leader of a group; see leader.h.
 *
 * Failure modes of a batch:
 *   - a statement fails (a deadlock, a missing privilege): the answered
 *     requests are done, each of the others is sent again, alone
 *   - no connection for the leader: each of the others tries with its own
 *     patience
 *   - the connection does not come free for long: each is sent alone
 *   - the answer does not come for long: a transaction may have locked a row.
 *     The statement is interrupted, and again each is sent alone
 *   - the connection is lost: its session is ended in the server, by its mark,
 *     and then each is sent alone: a row with its attempt is its own
 *   - that cannot be done in the leader's time: the requests are in doubt. A
 *     caller with time left settles its own, the chores settle the others
 *   - a proxy does not take several statements in one text: for a minute each
 *     is sent alone, then one batch tries again
 */
#include "group/leader.h"

#include "core/call.h"
#include "db/lend.h"
#include "group/commit_bell.h"
#include "hold/clear.h"
#include "hold/session.h"
#include "strategy/bell.h"

#include <stdatomic.h>

/* A batch that takes longer than LINGER_MS plus LINGER_TIMES its usual time is
 * assumed to wait for a locked row. */
#define LINGER_MS 100
#define LINGER_TIMES 8

/* After a sweep that was stuck, no neighbours are swept along for this long. */
#define LONE_MS 1000

/* The time limit of an interruption, and of the wait for its effect. */
#define INTERRUPT_MS 1000

/* The error of a proxy that rejects a second statement; and the number of
 * unanswered batches in a row that shows a proxy which cuts the connection. */
#define ERROR_SYNTAX 1064
#define CUT_PACKETS 3

/* Then one batch is tried again: a proxy may have been repaired, and a server
 * that crashed each time may be stable. */
#define UNSHARED_MS 60000

/* ---------------------------------------------------------------- alone */

/* Has the server decided? */
static bool is_verdict(enum rlk_fault fault)
{
	return !rlk_fault_open(fault) && fault != RLK_REFUSED &&
	       fault != RLK_FAILED;
}

static enum rlk_fault ask_alone(struct rlk_ticket *ticket,
				struct rlk_conn *conn,
				struct rowlock_errinfo *reterr)
{
	const struct rlk_strategy *strategy = ticket->hold->name->strategy;
	struct rlk_part *part = &ticket->part;

	switch (part->act) {
	case RLK_ACT_RELEASE:
		return strategy->release(conn, &part->request, &part->found,
					 reterr);
	case RLK_ACT_DRAW:
		return strategy->draw(conn, &part->request, &part->token,
				      reterr);
	case RLK_ACT_SWEEP:
		part->found = rlk_clear_dead(ticket->hold->name->client, conn,
					     &part->request, &part->holder);
		return RLK_DONE;
	case RLK_ACT_ACQUIRE:
		break;
	}
	part->verdict = strategy->acquire(
	    conn, &part->request, ticket->part.ask, &part->holder, reterr);
	return is_verdict(part->verdict) ? RLK_DONE : part->verdict;
}

/* Count calls that were not interrupted, as an interrupted one says nothing
 * about the speed of the server; and those that were answered all the same. */
static void note_duration(struct rlk_commit *commit, int64_t began_ms)
{
	int64_t took = rlk_now(commit->client->clock) - began_ms;

	commit->usual_ms = (3 * commit->usual_ms + took) / 4;
}

/* Send on @conn, which is given back. */
static void run_alone(struct rlk_commit *commit, struct rlk_ticket *ticket,
		      struct rlk_conn *conn)
{
	struct rowlock_client *client = ticket->hold->name->client;
	bool aside = !rlk_conn_profile(conn)->packets;
	struct rowlock_errinfo error = { .code = 0 };
	int64_t began = rlk_now(client->clock);
	enum rlk_fault fault;
	struct rlk_mark mark;

	/* With a bell, the server wakes the next waiter. */
	ticket->part.request.bell =
	    !aside && rlk_commit_bell_wanted(ticket, conn);
	fault = ask_alone(ticket, conn, &error);
	ticket->part.answered = fault == RLK_DONE;
	if (fault == RLK_DONE) {
		ticket->part.ran_on = rlk_conn_id(conn);
		if (!aside)
			rlk_commit_bell_count(client, &ticket->part);
		/* One that waited for a locked row says nothing. */
		if (!aside && !rlk_fault_passes(ticket->part.verdict))
			note_duration(commit, began);
		rlk_pool_put(client->pool, conn);
		return;
	}
	rlk_conn_mark(conn, &mark);
	rlk_pool_put(client->pool, conn);
	if (rlk_fault_open(fault))
		rlk_ticket_fail_unclear(ticket, &mark, &error);
	else
		rlk_ticket_fail(ticket, fault, &error);
}

/* ------------------------------------------------------------- together */

/* The state of one batch. */
struct packet {
	struct rowlock_client *client;
	struct rlk_commit *commit;
	struct rlk_member **members;
	size_t count;
	int64_t until_ms;  /* the leader's */
	int64_t linger_ms; /* then it is interrupted; once it is: given up */
	bool interrupted;
};

static void interrupt(struct packet *packet, struct rlk_conn *conn)
{
	struct rowlock_client *client = packet->client;
	int64_t until = rlk_after(rlk_now(client->clock), INTERRUPT_MS);

	if (packet->until_ms < until)
		until = packet->until_ms;
	packet->interrupted = true;
	rlk_client_kill_query(client, conn, until);
	packet->linger_ms = rlk_after(rlk_now(client->clock), INTERRUPT_MS);
}

static void set_until(const struct packet *packet, struct rlk_conn *conn)
{
	bool early = packet->linger_ms < packet->until_ms;

	rlk_conn_set_until(conn, early ? packet->linger_ms : packet->until_ms);
}

static bool go_on(struct rlk_conn *conn, void *arg)
{
	struct packet *packet = arg;
	int64_t now = rlk_now(packet->client->clock);

	if (now >= packet->until_ms)
		return false;
	/* A statement that was in its commit may be answered normally, and the
	 * rest of the batch never (seen on MariaDB 10.11): leave time to end
	 * the session. */
	if (packet->interrupted && now >= packet->linger_ms)
		return false;
	if (now >= packet->linger_ms)
		interrupt(packet, conn);
	set_until(packet, conn);
	return true;
}

int64_t rlk_linger_until(const struct rlk_commit *commit, int64_t now_ms)
{
	return rlk_after(now_ms, LINGER_MS + LINGER_TIMES *
						 (uint64_t) commit->usual_ms);
}

/* A proxy does not let batches pass: send requests alone. Logged once. */
static void stop_sharing(struct rowlock_client *client,
			 const struct rowlock_errinfo *error)
{
	int64_t until = rlk_after(rlk_now(client->clock), UNSHARED_MS);

	if (atomic_exchange(&client->unshared_until_ms, until))
		return;
	rlk_log(&client->log, ROWLOCK_LOG_WARNING,
		"%s, or what is between, does not take several statements in "
		"one text, so each lease costs a round trip of its own, for "
		"a minute at a time (%s); set batch_size to 1 to spare the "
		"tries",
		client->server, error->message);
}

/* Only a text of several statements tells; one passes everywhere. */
static void note_passage(struct rowlock_client *client, bool several,
			 enum rlk_fault fault, bool answered,
			 const struct rowlock_errinfo *error)
{
	if (fault == RLK_REFUSED && error->mysql == ERROR_SYNTAX)
		stop_sharing(client, error);
	else if (!several)
		return;
	else if (fault != RLK_UNKNOWN || answered)
		client->cut_packets = 0;
	else if (++client->cut_packets >= CUT_PACKETS)
		stop_sharing(client, error);
}

/* Collect the parts that are still to be sent. Returns false if all are of one
 * kind. */
static bool collect(const struct packet *packet, struct rlk_part **parts,
		    size_t *ret_count)
{
	bool mixed = false;
	size_t count = 0;

	for (size_t i = 0; i < packet->count; i++) {
		struct rlk_part *part =
		    &rlk_ticket_of(packet->members[i])->part;

		if (part->answered)
			continue;
		parts[count++] = part;
		mixed = mixed || part->act != parts[0]->act;
	}
	*ret_count = count;
	return mixed;
}

/* An acquire may have made its row, and a release may have deleted its row: the
 * next request must tell its own row from another's. */
static void send_alone(struct rlk_ticket *ticket, bool fenced)
{
	const struct rlk_part *part = &ticket->part;

	ticket->alone = true;
	ticket->part.ask = RLK_ASK_FIRST;
	if (part->act == RLK_ACT_ACQUIRE ? !part->not_made : fenced)
		ticket->unsure = true;
}

/* A batch that ended half way may have deleted rows without letting go of their
 * bells. */
static void ring_rest(const struct packet *packet, struct rlk_conn *conn,
		      struct rlk_part **parts, size_t count)
{
	uint64_t id = rlk_conn_id(conn);

	rlk_conn_set_until(conn, packet->until_ms);
	for (size_t i = 0; i < count && rlk_conn_usable(conn); i++) {
		const struct rlk_request *request = &parts[i]->request;
		struct rowlock_errinfo error;

		if (!parts[i]->answered || request->bell_conn != id)
			continue;
		if (rlk_bell_ring(conn, request, &error))
			rlk_conn_spoil(conn);
	}
}

/* A neighbour whose row is locked would block each sweep that takes it along,
 * and each requested sweep would then go alone. */
static void note_neighbours(const struct packet *packet)
{
	struct rlk_commit *commit = packet->commit;

	if (packet->interrupted && commit == &packet->client->sweeps)
		commit->lone_until_ms =
		    rlk_after(rlk_now(packet->client->clock), LONE_MS);
}

/* Returns the number of answers. */
static size_t note_answers(struct rowlock_client *client, struct rlk_conn *conn,
			   struct rlk_part **parts, size_t count)
{
	size_t answered = 0;

	for (size_t i = 0; i < count; i++) {
		if (!parts[i]->answered)
			continue;
		answered++;
		if (parts[i]->act == RLK_ACT_SWEEP)
			rlk_clear_tell(client, parts[i]);
		if (parts[i]->act == RLK_ACT_ACQUIRE && parts[i]->holder.bell)
			parts[i]->ran_on = rlk_conn_id(conn);
		rlk_commit_bell_count(client, parts[i]);
	}
	return answered;
}

static void run_packet(struct packet *packet, struct rlk_conn *conn)
{
	struct rowlock_client *client = packet->client;
	const struct rlk_patience patience = { go_on, packet };
	struct rlk_ticket *first = rlk_ticket_of(packet->members[0]);
	struct rlk_part **parts = packet->commit->parts;
	struct rowlock_errinfo error = { .code = 0 };
	int64_t began = rlk_now(client->clock);
	enum rlk_fault fault;
	struct rlk_mark mark;
	size_t answered;
	bool unanswered;
	bool fenced;
	size_t count;
	bool several = collect(packet, parts, &count);

	packet->linger_ms = rlk_linger_until(packet->commit, began);
	set_until(packet, conn);
	rlk_conn_mark(conn, &mark);
	if (count == 1 && parts[0]->act == RLK_ACT_ACQUIRE) {
		several = parts[0]->request.draw;
		parts[0]->request.bell = rlk_commit_bell_wanted(
		    container_of(parts[0], struct rlk_ticket, part), conn);
	}
	for (size_t i = 0; i < packet->count; i++)
		rlk_ticket_of(packet->members[i])->sent = true;
	if (count)
		parts[0]->lone = began < packet->commit->lone_until_ms;
	fault = count ? first->hold->name->strategy->batch(conn, parts, count,
							   &patience, &error)
		      : RLK_DONE;
	note_neighbours(packet);
	answered = note_answers(client, conn, parts, count);
	if (fault)
		ring_rest(packet, conn, parts, count);
	rlk_pool_put(client->pool, conn);
	if (!fault)
		note_duration(packet->commit, began);
	note_passage(client, several, fault, answered > 0, &error);
	unanswered = rlk_fault_open(fault);
	/* End the session, so that no statement can still be executed. */
	fenced = unanswered && answered < count &&
		 rlk_client_fence(client, &mark, packet->until_ms, true,
				  NULL) == RLK_DONE;
	for (size_t i = 0; i < packet->count; i++) {
		struct rlk_ticket *ticket = rlk_ticket_of(packet->members[i]);

		if (ticket->part.answered)
			continue;
		if (unanswered && !fenced)
			rlk_ticket_fail_unclear(ticket, &mark, &error);
		else
			send_alone(ticket, fenced);
	}
}

/* ----------------------------------------------------------- the leader */

static bool has_acquires(const struct packet *packet)
{
	for (size_t i = 0; i < packet->count; i++)
		if (rlk_ticket_of(packet->members[i])->part.act ==
		    RLK_ACT_ACQUIRE)
			return true;
	return false;
}

/* An acquire may be sent only to the session's server. */
static void check_session(const struct packet *packet, struct rlk_conn *conn)
{
	struct rowlock_errinfo error;

	if (!has_acquires(packet) ||
	    rlk_session_is_at(packet->client, conn, &error))
		return;
	for (size_t i = 0; i < packet->count; i++) {
		struct rlk_ticket *ticket = rlk_ticket_of(packet->members[i]);

		if (ticket->part.act != RLK_ACT_ACQUIRE)
			continue;
		rlk_ticket_fail(ticket, RLK_DONE, &error);
		ticket->part.verdict = RLK_CONFLICT;
		ticket->part.answered = true;
	}
}

/* No connection: the leader was canceled, or its time or patience is over. The
 * others go on with their own. */
static void fail_leader(const struct packet *packet,
			const struct rowlock_errinfo *error)
{
	rlk_ticket_fail(rlk_ticket_of(packet->members[0]), RLK_FAILED, error);
	for (size_t i = 1; i < packet->count; i++)
		rlk_ticket_of(packet->members[i])->alone = true;
}

/* Get the group's connection; close one with a ghost bell. */
static int get_own(const struct packet *packet, int64_t until_ms,
		   const struct rlk_errand *errand, struct rlk_conn **ret_conn,
		   struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = packet->client;
	struct rlk_pool_waiter *waiter =
	    errand->waiter ? &errand->waiter->pool_waiter : NULL;
	int code;

	for (;;) {
		code = rlk_pool_get(client->pool, packet->commit->bay, until_ms,
				    errand->persist, waiter, ret_conn, reterr);
		if (code || !rlk_commit_bell_is_ghost(client, *ret_conn))
			return code;
		rlk_pool_discard(client->pool, *ret_conn);
	}
}

/* Returns ROWLOCK_EBUSY if another thread has the connection for longer than a
 * batch takes. A connection being opened is worth all the time. */
static int get_own_soon(const struct packet *packet,
			const struct rlk_errand *errand,
			struct rlk_conn **ret_conn,
			struct rowlock_errinfo *reterr)
{
	const struct rlk_clock *clock = packet->client->clock;
	int64_t soon = rlk_linger_until(packet->commit, rlk_now(clock));
	int code;

	if (packet->until_ms <= soon)
		return get_own(packet, packet->until_ms, errand, ret_conn,
			       reterr);
	code = get_own(packet, soon, errand, ret_conn, reterr);
	if (!code)
		rlk_conn_set_until(*ret_conn, packet->until_ms);
	if (code == ROWLOCK_ETIMEDOUT)
		return ROWLOCK_EBUSY;
	if (code != ROWLOCK_ECONNECT || rlk_now(clock) < soon)
		return code;
	return get_own(packet, packet->until_ms, errand, ret_conn, reterr);
}

static int get_conn(const struct packet *packet, size_t bay,
		    const struct rlk_errand *errand, struct rlk_conn **ret_conn,
		    struct rowlock_errinfo *reterr)
{
	struct rlk_pool_waiter *waiter =
	    errand->waiter ? &errand->waiter->pool_waiter : NULL;
	int code;

	if (bay != RLK_BAY_ASIDE)
		return get_own_soon(packet, errand, ret_conn, reterr);
	code = rlk_pool_get(packet->client->pool, bay, packet->until_ms, false,
			    waiter, ret_conn, reterr);
	/* The server may refuse further connections. */
	return code == ROWLOCK_ECONNECT
		   ? get_own(packet, packet->until_ms, errand, ret_conn, reterr)
		   : code;
}

static void send_each_alone(const struct packet *packet)
{
	for (size_t i = 0; i < packet->count; i++)
		rlk_ticket_of(packet->members[i])->alone = true;
}

void rlk_lead(struct rlk_commit *commit, size_t bay,
	      struct rlk_member **members, size_t count, bool as_packet,
	      const struct rlk_errand *errand)
{
	struct rowlock_client *client = commit->client;
	int64_t call = rlk_client_call_until(client);
	struct packet packet = {
		.client = client,
		.commit = commit,
		.members = members,
		.count = count,
		.until_ms = call < errand->until_ms ? call : errand->until_ms,
	};
	struct rlk_ticket *own = rlk_ticket_of(members[0]);
	struct rowlock_errinfo error;
	struct rlk_conn *conn;
	int code = get_conn(&packet, bay, errand, &conn, &error);

	if (code == ROWLOCK_EBUSY)
		send_each_alone(&packet);
	else if (code)
		fail_leader(&packet, &error);
	if (code)
		return;
	check_session(&packet, conn);
	if (as_packet)
		run_packet(&packet, conn);
	else if (!own->part.answered)
		run_alone(commit, own, conn);
	else
		rlk_pool_put(client->pool, conn);
}
