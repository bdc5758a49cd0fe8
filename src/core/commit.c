/* SPDX-License-Identifier: MIT */
/*
 * Group commit; see commit.h. Here is what a leader does with the requests
 * that it has taken, and what becomes of one whose caller has left.
 *
 * Failure modes of a packet:
 *   - a statement fails (a deadlock, a right that is missing): those that were
 *     answered are done, each of the others is sent again, alone
 *   - the answer does not come for long: perhaps a row is locked by somebody's
 *     transaction. The statement is interrupted, and again each is sent alone
 *   - the connection is lost: its session is ended in the server, by its mark,
 *     and then each is sent alone: a row with its attempt is its own
 *   - that cannot be done in the leader's time, which is the longest of all:
 *     nobody knows, and the chores will see to it
 */
#include "core/commit.h"

#include "base/error.h"
#include "core/asking.h"
#include "core/doorbell.h"
#include "core/threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A packet that takes so long, and so many times what is usual, is taken to
 * wait for a row that is locked. */
#define LINGER_MS 100
#define LINGER_TIMES 8

/* An interruption may take so long. */
#define INTERRUPT_MS 1000

static struct rlk_ticket *ticket_of(struct rlk_member *member)
{
	return container_of(member, struct rlk_ticket, member);
}

/* -------------------------------------------------------------- tickets */

struct rlk_ticket *rlk_ticket_new(struct rlk_hold *hold, enum rlk_act act,
				  const struct rlk_request *request)
{
	size_t name = strlen(request->name) + 1;
	size_t info = request->info ? strlen(request->info) + 1 : 0;
	struct rlk_ticket *ticket = malloc(sizeof(*ticket) + name + info);
	char *text;

	if (!ticket)
		return NULL;
	text = (char *) (ticket + 1);
	ticket->part = (struct rlk_part){ .act = act, .request = *request };
	ticket->ask = RLK_ASK_FIRST;
	ticket->hold = hold;
	ticket->fault = RLK_DONE;
	ticket->mark.id = 0;
	ticket->ran_on = 0;
	ticket->error = NULL;
	ticket->alone = false;
	ticket->left = false;
	ticket->part.request.name = memcpy(text, request->name, name);
	if (info)
		ticket->part.request.info =
		    memcpy(text + name, request->info, info);
	rlk_member_init(&ticket->member);
	return ticket;
}

struct rlk_ticket *rlk_ticket_free(struct rlk_ticket *ticket)
{
	rlk_member_fini(&ticket->member);
	free(ticket->error);
	free(ticket);
	return NULL;
}

/* ----------------------------------------------------------- left alone */

/* The answer to a request whose caller has left: what may be there is cleaned
 * up. A release is being repeated by the chores, a draw does no harm. */
static void settle_locked(struct rlk_ticket *ticket)
{
	const struct rlk_part *part = &ticket->part;
	bool unclear = ticket->fault == RLK_UNKNOWN;

	if (part->act == RLK_ACT_ACQUIRE &&
	    (unclear || (part->answered && part->verdict == RLK_GRANTED)))
		rlk_hold_abandon_locked(ticket->hold,
					unclear ? &ticket->mark : NULL);
}

/* The caller leaves, or the answer comes: the second of the two sees to what is
 * left. */
static void leave_ticket(struct rlk_ticket *ticket, bool caller)
{
	struct rowlock_client *client = ticket->hold->client;
	bool second;

	rlk_mutex_lock(&client->mutex);
	second = ticket->left;
	ticket->left = true;
	if (second)
		settle_locked(ticket);
	if (second && !caller)
		rlk_hold_put_locked(ticket->hold);
	if (!second && caller)
		rlk_hold_get_locked(ticket->hold);
	rlk_mutex_unlock(&client->mutex);
	if (second)
		rlk_ticket_free(ticket);
}

static void settle_left(struct rlk_member *member, void *lane)
{
	(void) lane;
	leave_ticket(ticket_of(member), false);
}

static void ring(struct rlk_alarm *alarm)
{
	struct rlk_lane *lane = container_of(alarm, struct rlk_lane, alarm);
	struct rowlock_client *client = lane->client;
	int64_t next = rlk_group_expire(&lane->group, rlk_now(client->clock));

	if (next != RLK_NEVER)
		rlk_deadline_set_locked(client, alarm, next);
}

static void expire_at(int64_t at_ms, void *arg)
{
	struct rlk_lane *lane = arg;
	struct rowlock_client *client = lane->client;

	rlk_mutex_lock(&client->mutex);
	/* Another may have come with an earlier one meanwhile. */
	if (!lane->alarm.set || lane->alarm.at_ms > at_ms)
		rlk_deadline_set_locked(client, &lane->alarm, at_ms);
	rlk_mutex_unlock(&client->mutex);
}

void rlk_commit_init(struct rowlock_client *client)
{
	static const struct rlk_group_ops ops = { expire_at, settle_left };

	for (size_t i = 0; i < RLK_LANES_MOST; i++) {
		struct rlk_lane *lane = &client->lanes[i];

		lane->client = client;
		lane->alarm.ring = ring;
		rlk_group_init(&lane->group, &ops, lane, 1, 1);
	}
}

void rlk_commit_fini(struct rowlock_client *client)
{
	for (size_t i = 0; i < RLK_LANES_MOST; i++)
		rlk_group_fini(&client->lanes[i].group);
}

/* ------------------------------------------------------------- outcomes */

/* Without memory for its words there is still the code. */
static void fail_ticket(struct rlk_ticket *ticket, enum rlk_fault fault,
			const struct rowlock_errinfo *error)
{
	ticket->fault = fault;
	if (!ticket->error)
		ticket->error = malloc(sizeof(*ticket->error));
	if (ticket->error)
		*ticket->error = *error;
}

/* The connection is not usable any more: nobody knows what it has done. */
static void fail_unclear(struct rlk_ticket *ticket, const struct rlk_mark *mark,
			 const struct rowlock_errinfo *error)
{
	fail_ticket(ticket, RLK_UNKNOWN, error);
	ticket->mark = *mark;
}

/* ---------------------------------------------------------------- alone */

static enum rlk_fault fault_of(enum rlk_verdict verdict)
{
	switch (verdict) {
	case RLK_WAITING:
		return RLK_PENDING;
	case RLK_UNCLEAR:
		return RLK_UNKNOWN;
	case RLK_FAILURE:
		return RLK_REFUSED;
	default:
		return RLK_DONE;
	}
}

/* A connection with many user-level locks is slow at taking another: MariaDB
 * keeps them in a list. */
#define BELLS_MOST 64

/* Has the lane's connection room for one more bell? */
static bool wants_bell(struct rlk_lane *lane, const struct rlk_conn *conn)
{
	const struct rowlock_client *client = lane->client;
	uint64_t id = rlk_conn_id(conn);

	if (lane->bell_conn != id) {
		lane->bell_conn = id;
		lane->bells = 0;
	}
	return lane->bells < BELLS_MOST && !client->bells_refused &&
	       !client->many_writers;
}

static void count_bell(struct rlk_lane *lane, const struct rlk_part *part)
{
	if (part->act == RLK_ACT_ACQUIRE && part->verdict == RLK_GRANTED &&
	    part->holder.bell)
		lane->bells++;
	if (part->act == RLK_ACT_RELEASE && lane->bells > 0 &&
	    part->request.bell_conn == lane->bell_conn)
		lane->bells--;
}

static enum rlk_fault ask_alone(struct rlk_ticket *ticket,
				struct rlk_conn *conn,
				struct rowlock_errinfo *reterr)
{
	const struct rlk_strategy *strategy = ticket->hold->strategy;
	struct rlk_part *part = &ticket->part;

	switch (part->act) {
	case RLK_ACT_RELEASE:
		return strategy->release(conn, &part->request, &part->found,
					 reterr);
	case RLK_ACT_DRAW:
		return strategy->draw(conn, &part->request, &part->token,
				      reterr);
	case RLK_ACT_ACQUIRE:
		break;
	}
	part->verdict = strategy->acquire(conn, &part->request, ticket->ask,
					  &part->holder, reterr);
	return fault_of(part->verdict);
}

/* On @conn, which is given back. */
static void run_alone(struct rlk_lane *lane, struct rlk_ticket *ticket,
		      struct rlk_conn *conn)
{
	struct rowlock_client *client = ticket->hold->client;
	bool of_lane = rlk_conn_profile(conn)->packets;
	struct rowlock_errinfo error = { .code = 0 };
	enum rlk_fault fault;
	struct rlk_mark mark;

	/* Who waits for it behind us is woken by the server, then. */
	ticket->part.request.bell = of_lane && wants_bell(lane, conn);
	fault = ask_alone(ticket, conn, &error);
	ticket->part.answered = fault == RLK_DONE;
	if (fault == RLK_DONE) {
		ticket->ran_on = rlk_conn_id(conn);
		if (of_lane)
			count_bell(lane, &ticket->part);
		rlk_pool_put(client->pool, conn);
		return;
	}
	if (fault == RLK_PENDING)
		rlk_fail(&error, ROWLOCK_ECONNECT, "no answer from %s",
			 client->server);
	rlk_conn_mark(conn, &mark);
	rlk_pool_put(client->pool, conn);
	if (fault == RLK_PENDING || fault == RLK_UNKNOWN)
		fail_unclear(ticket, &mark, &error);
	else
		fail_ticket(ticket, fault, &error);
}

/* ------------------------------------------------------------- together */

/* Of one packet. */
struct packet {
	struct rowlock_client *client;
	struct rlk_lane *lane;
	struct rlk_member **members;
	size_t count;
	int64_t until_ms; /* the leader's */
	int64_t linger_ms;
	bool interrupted;
};

static void interrupt(struct packet *packet, struct rlk_conn *conn)
{
	struct rowlock_client *client = packet->client;
	int64_t until = rlk_after(rlk_now(client->clock), INTERRUPT_MS);
	struct rowlock_errinfo error;
	struct rlk_conn *control;
	struct rlk_mark mark;

	if (packet->until_ms < until)
		until = packet->until_ms;
	packet->interrupted = true;
	if (rlk_pool_get(client->pool, RLK_BAY_CONTROL, until, false, NULL,
			 &control, &error))
		return;
	rlk_conn_mark(conn, &mark);
	rlk_conn_kill_query(control, &mark, &error);
	rlk_pool_put(client->pool, control);
}

static void set_until(const struct packet *packet, struct rlk_conn *conn)
{
	bool early =
	    !packet->interrupted && packet->linger_ms < packet->until_ms;

	rlk_conn_set_until(conn, early ? packet->linger_ms : packet->until_ms);
}

static bool go_on(struct rlk_conn *conn, void *arg)
{
	struct packet *packet = arg;
	int64_t now = rlk_now(packet->client->clock);

	if (now >= packet->until_ms)
		return false;
	if (!packet->interrupted && now >= packet->linger_ms)
		interrupt(packet, conn);
	set_until(packet, conn);
	return true;
}

/* No answer came: end the session, so that what was sent is over for good. */
static bool fence(const struct packet *packet, const struct rlk_mark *mark)
{
	struct rowlock_client *client = packet->client;
	struct rowlock_errinfo error;
	struct rlk_conn *conn;
	enum rlk_fault fault;

	if (rlk_pool_get(client->pool, RLK_BAY_CONTROL, packet->until_ms, true,
			 NULL, &conn, &error))
		return false;
	fault = rlk_conn_fence(conn, mark, &error);
	rlk_pool_put(client->pool, conn);
	return fault == RLK_DONE;
}

/* When something that began at @now_ms takes suspiciously long. */
static int64_t linger_until(const struct rlk_lane *lane, int64_t now_ms)
{
	return rlk_after(now_ms,
			 LINGER_MS + LINGER_TIMES * (uint64_t) lane->usual_ms);
}

static void note_duration(struct rlk_lane *lane, int64_t took_ms)
{
	lane->usual_ms = (3 * lane->usual_ms + took_ms) / 4;
}

static void run_packet(struct packet *packet, struct rlk_conn *conn)
{
	struct rowlock_client *client = packet->client;
	const struct rlk_patience patience = { go_on, packet };
	struct rlk_part *parts[RLK_GROUP_MOST];
	struct rowlock_errinfo error = { .code = 0 };
	int64_t began = rlk_now(client->clock);
	enum rlk_fault fault;
	struct rlk_mark mark;
	size_t count = 0;
	bool unclear;

	packet->linger_ms = linger_until(packet->lane, began);
	for (size_t i = 0; i < packet->count; i++) {
		struct rlk_ticket *ticket = ticket_of(packet->members[i]);

		if (!ticket->part.answered)
			parts[count++] = &ticket->part;
	}
	set_until(packet, conn);
	rlk_conn_mark(conn, &mark);
	fault =
	    ticket_of(packet->members[0])
		->hold->strategy->batch(conn, parts, count, &patience, &error);
	for (size_t i = 0; i < count; i++)
		if (parts[i]->answered && parts[i]->act == RLK_ACT_RELEASE)
			count_bell(packet->lane, parts[i]);
	rlk_pool_put(client->pool, conn);
	note_duration(packet->lane, rlk_now(client->clock) - began);
	unclear = fault == RLK_PENDING || fault == RLK_UNKNOWN;
	if (unclear)
		unclear = !fence(packet, &mark);
	for (size_t i = 0; i < packet->count; i++) {
		struct rlk_ticket *ticket = ticket_of(packet->members[i]);

		if (ticket->part.answered)
			continue;
		if (unclear)
			fail_unclear(ticket, &mark, &error);
		else
			ticket->alone = true;
	}
}

/* ----------------------------------------------------------- the leader */

/* An acquire may be sent only to where its session is. */
static void check_sessions(const struct packet *packet, struct rlk_conn *conn)
{
	for (size_t i = 0; i < packet->count; i++) {
		struct rlk_ticket *ticket = ticket_of(packet->members[i]);
		struct rowlock_errinfo error;

		if (ticket->part.act != RLK_ACT_ACQUIRE ||
		    rlk_session_is_at(packet->client, conn, &error))
			continue;
		fail_ticket(ticket, RLK_DONE, &error);
		ticket->part.verdict = RLK_AGAIN;
		ticket->part.answered = true;
	}
}

static void fail_all(const struct packet *packet, int code,
		     const struct rowlock_errinfo *error)
{
	for (size_t i = 0; i < packet->count; i++) {
		struct rlk_ticket *ticket = ticket_of(packet->members[i]);

		/* That the leader was canceled is nothing to the others. */
		if (i > 0 && code == ROWLOCK_ECANCELED)
			ticket->alone = true;
		else
			fail_ticket(ticket, RLK_FAILED, error);
	}
}

static void lead(struct rlk_lane *lane, size_t bay, struct rlk_member **members,
		 size_t count, const struct rlk_errand *errand)
{
	struct rowlock_client *client = lane->client;
	struct packet packet = {
		.client = client,
		.lane = lane,
		.members = members,
		.count = count,
		.until_ms = errand->until_ms,
	};
	struct rlk_ticket *own = ticket_of(members[0]);
	struct rowlock_errinfo error;
	struct rlk_conn *conn;
	int code = rlk_pool_get(client->pool, bay, errand->until_ms,
				errand->persist, errand->waiter, &conn, &error);

	if (code) {
		fail_all(&packet, code, &error);
		return;
	}
	check_sessions(&packet, conn);
	if (count > 1)
		run_packet(&packet, conn);
	else if (!own->part.answered)
		run_alone(lane, own, conn);
	else
		rlk_pool_put(client->pool, conn);
}

/* On the lane's connection, or, after its packet has failed, on another: if
 * this is the one that has to wait for somebody's transaction, it shall not
 * keep the lane. */
static void go_alone(struct rlk_lane *lane, size_t bay,
		     struct rlk_ticket *ticket, const struct rlk_errand *errand)
{
	struct rlk_member *member = &ticket->member;

	ticket->alone = false;
	lead(lane, bay, &member, 1, errand);
}

/* It has queued for too long: its own time is up, or the leader is stuck, and
 * there are other connections. */
static void over(struct rowlock_client *client, struct rlk_ticket *ticket,
		 const struct rlk_errand *errand)
{
	struct rowlock_errinfo error;

	ticket->alone = rlk_now(client->clock) < errand->until_ms;
	if (ticket->alone)
		return;
	rlk_fail(&error, ROWLOCK_ETIMEDOUT,
		 "no lease connection to %s came free in time", client->server);
	fail_ticket(ticket, RLK_FAILED, &error);
}

/* Does @ticket go together with others? */
static bool shares(const struct rlk_lane *lane, const struct rlk_ticket *ticket)
{
	return lane->group.most > 1 && ticket->hold->strategy->batch;
}

static enum rlk_member_state share(struct rlk_lane *lane, size_t bay,
				   struct rlk_ticket *ticket,
				   const struct rlk_errand *errand)
{
	struct rlk_member *members[RLK_GROUP_MOST];
	enum rlk_member_state state;
	size_t count;

	state = rlk_group_enter(&lane->group, &ticket->member, members, &count);
	if (state != RLK_MEMBER_LEADING)
		return state;
	lead(lane, bay, members, count, errand);
	rlk_group_leave(&lane->group, members, count);
	return state;
}

enum rlk_outcome rlk_commit_run(struct rlk_ticket **ticket_pointer,
				const struct rlk_errand *errand)
{
	struct rlk_ticket *ticket = *ticket_pointer;
	struct rowlock_client *client = ticket->hold->client;
	size_t bay = rlk_client_lane(client, ticket->part.request.name);
	struct rlk_lane *lane = &client->lanes[bay - RLK_BAY_LANE];

	ticket->member.until_ms = errand->until_ms;
	ticket->member.queue_until_ms =
	    linger_until(lane, rlk_now(client->clock));
	if (errand->until_ms < ticket->member.queue_until_ms)
		ticket->member.queue_until_ms = errand->until_ms;
	if (shares(lane, ticket)) {
		switch (share(lane, bay, ticket, errand)) {
		case RLK_MEMBER_LEFT:
			*ticket_pointer = NULL;
			leave_ticket(ticket, true);
			return RLK_OUT_LEFT;
		case RLK_MEMBER_OVER:
			over(client, ticket, errand);
			break;
		default:
			break;
		}
	} else {
		go_alone(lane, bay, ticket, errand);
	}
	if (ticket->alone)
		go_alone(lane, RLK_BAY_BELL, ticket, errand);
	return ticket->fault == RLK_FAILED ? RLK_OUT_NOT_SENT
					   : RLK_OUT_ANSWERED;
}

/* -------------------------------------------------------- one, and plain */

static enum rlk_fault not_sent(struct rowlock_client *client,
			       struct rowlock_errinfo *reterr)
{
	if (reterr->code == ROWLOCK_ETIMEDOUT)
		rlk_fail(reterr, ROWLOCK_EDB,
			 "all lease connections of this client to %s were in "
			 "use; allow more or longer calls",
			 client->server);
	return RLK_FAILED;
}

/* The outcome of a ticket that is not an acquire. */
static enum rlk_fault run(struct rlk_ticket **ticket,
			  const struct rlk_errand *errand,
			  struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client;
	enum rlk_outcome outcome;

	if (!*ticket) {
		rlk_fail(reterr, ROWLOCK_ENOMEM, "out of memory");
		return RLK_FAILED;
	}
	client = (*ticket)->hold->client;
	outcome = rlk_commit_run(ticket, errand);
	if (outcome == RLK_OUT_LEFT) {
		rlk_fail(reterr, ROWLOCK_ECONNECT, "no answer from %s",
			 client->server);
		return RLK_UNKNOWN;
	}
	if ((*ticket)->error)
		*reterr = *(*ticket)->error;
	else if ((*ticket)->fault)
		rlk_fail(reterr, ROWLOCK_ENOMEM, "out of memory");
	if (outcome == RLK_OUT_NOT_SENT)
		return not_sent(client, reterr);
	return (*ticket)->fault;
}

enum rlk_fault rlk_commit_release(struct rlk_hold *hold,
				  const struct rlk_errand *errand,
				  bool *ret_found,
				  struct rowlock_errinfo *reterr)
{
	const struct rlk_request request = rlk_hold_request(hold);
	_cleanup_(rlk_ticket_freep) struct rlk_ticket *ticket =
	    rlk_ticket_new(hold, RLK_ACT_RELEASE, &request);
	enum rlk_fault fault = run(&ticket, errand, reterr);

	if (fault)
		return fault;
	*ret_found = ticket->part.found;
	if (ticket->ran_on && ticket->ran_on != hold->bell_conn)
		rlk_doorbell_ring(hold->client, hold->text, hold->bell_conn,
				  errand->until_ms);
	return RLK_DONE;
}

enum rlk_fault rlk_commit_draw(struct rlk_hold *hold,
			       const struct rlk_errand *errand,
			       uint64_t *ret_token,
			       struct rowlock_errinfo *reterr)
{
	const struct rlk_request request = rlk_hold_request(hold);
	_cleanup_(rlk_ticket_freep) struct rlk_ticket *ticket =
	    rlk_ticket_new(hold, RLK_ACT_DRAW, &request);
	enum rlk_fault fault = run(&ticket, errand, reterr);

	if (!fault)
		*ret_token = ticket->part.token;
	return fault;
}
