/* SPDX-License-Identifier: MIT */
/*
 * Group commit; see commit.h. This file decides which requests go together: a
 * request runs at once, is taken along by one that runs, waits for the others
 * of its round, or leaves when its caller's time is up. The leader sends it
 * (leader.c).
 */
#include "group/commit.h"

#include "base/error.h"
#include "core/call.h"
#include "core/timer.h"
#include "group/commit_bell.h"
#include "group/leader.h"

/* ------------------------------------------------- the clock, and who left */

static void settle_left(struct rlk_member *member, void *commit)
{
	(void) commit;
	rlk_ticket_leave(rlk_ticket_of(member), false);
}

static void ring(struct rlk_alarm *alarm)
{
	struct rlk_commit *commit =
	    container_of(alarm, struct rlk_commit, alarm);
	struct rowlock_client *client = commit->client;
	int64_t next = rlk_group_expire(&commit->group, rlk_now(client->clock));

	if (next != RLK_NEVER)
		rlk_deadline_set_locked(client, alarm, next);
}

static void expire_at(int64_t at_ms, void *arg)
{
	struct rlk_commit *commit = arg;
	struct rowlock_client *client = commit->client;

	rlk_mutex_lock(&client->mutex);
	/* Another request may have set an earlier alarm meanwhile. */
	if (!commit->alarm.set || commit->alarm.at_ms > at_ms)
		rlk_deadline_set_locked(client, &commit->alarm, at_ms);
	rlk_mutex_unlock(&client->mutex);
}

static void init_one(struct rowlock_client *client, struct rlk_commit *commit,
		     size_t bay)
{
	static const struct rlk_group_ops ops = { expire_at, settle_left };

	commit->client = client;
	commit->bay = bay;
	commit->alarm.ring = ring;
	rlk_group_init(&commit->group, &ops, commit, 1);
}

void rlk_commit_init(struct rowlock_client *client)
{
	init_one(client, &client->leases, RLK_BAY_COMMIT);
	init_one(client, &client->sweeps, RLK_BAY_CONTROL);
}

void rlk_commit_fini(struct rowlock_client *client)
{
	rlk_group_fini(&client->leases.group);
	rlk_group_fini(&client->sweeps.group);
}

void rlk_commit_withdraw(struct rowlock_client *client,
			 const struct rlk_waiter *waiter)
{
	rlk_group_withdraw(&client->leases.group, &waiter->canceled);
	rlk_group_withdraw(&client->sweeps.group, &waiter->canceled);
}

/* A dead holder's row may be locked by a transaction: sweeps have a group of
 * their own, so that acquires and releases do not wait for it. */
static struct rlk_commit *commit_of(struct rowlock_client *client,
				    const struct rlk_ticket *ticket)
{
	return ticket->part.act == RLK_ACT_SWEEP ? &client->sweeps
						 : &client->leases;
}

/* ------------------------------------------------------------ together */

/* Send it on the group's connection; or aside, after its batch has failed or
 * that connection did not come free: if it is the one that waits for a locked
 * row, the others must not wait with it. */
static void go_alone(struct rlk_commit *commit, size_t bay,
		     struct rlk_ticket *ticket, const struct rlk_errand *errand)
{
	struct rlk_member *member = &ticket->member;

	ticket->alone = false;
	rlk_lead(commit, bay, &member, 1, false, errand);
}

/* It has queued for too long: its own time is up, or the leader is stuck and
 * another connection may serve. */
static void over(struct rowlock_client *client, struct rlk_ticket *ticket,
		 const struct rlk_errand *errand)
{
	bool canceled = errand->waiter && errand->waiter->canceled;
	struct rowlock_errinfo error;

	ticket->alone = !canceled && rlk_now(client->clock) < errand->until_ms;
	if (ticket->alone)
		return;
	if (canceled)
		rlk_fail(&error, ROWLOCK_ECANCELED, "canceled");
	else
		rlk_fail(&error, ROWLOCK_ETIMEDOUT,
			 "no lease connection to %s came free in time",
			 client->server);
	rlk_ticket_fail(ticket, RLK_FAILED, &error);
}

/* Does one request take several statements, for the row and its first token, or
 * to sweep a dead client? */
static bool takes_several(const struct rlk_ticket *ticket)
{
	if (ticket->part.act == RLK_ACT_SWEEP)
		return true;
	return ticket->part.act == RLK_ACT_ACQUIRE &&
	       ticket->part.request.draw && ticket->part.ask == RLK_ASK_FIRST &&
	       !ticket->unsure;
}

static bool gathers(const struct rlk_commit *commit)
{
	const struct rowlock_client *client = commit->client;
	int64_t unshared_until = client->unshared_until_ms;

	return commit->group.most > 1 &&
	       (!unshared_until || rlk_now(client->clock) >= unshared_until);
}

static enum rlk_member_state share(struct rlk_commit *commit,
				   struct rlk_ticket *ticket,
				   const struct rlk_errand *errand)
{
	struct rlk_member *members[RLK_GROUP_MOST];
	enum rlk_member_state state;
	size_t count;

	state =
	    rlk_group_enter(&commit->group, &ticket->member, members, &count);
	if (state != RLK_MEMBER_LEADING)
		return state;
	rlk_lead(commit, commit->bay, members, count,
		 count > 1 || takes_several(ticket), errand);
	rlk_group_leave(&commit->group, members, count);
	return state;
}

bool rlk_commit_gathers(struct rowlock_client *client)
{
	return gathers(&client->leases);
}

/* Its leader has it, and settles it. Until the leader has a connection nothing
 * was sent: the request cannot be granted. */
static enum rlk_fault leave(struct rlk_ticket *ticket)
{
	bool unsent = ticket->part.act == RLK_ACT_ACQUIRE && !ticket->sent;

	rlk_ticket_leave(ticket, true);
	return unsent ? RLK_FAILED : RLK_PENDING;
}

enum rlk_fault rlk_commit_run(struct rlk_ticket **ticket_pointer,
			      const struct rlk_errand *errand)
{
	struct rlk_ticket *ticket = *ticket_pointer;
	struct rowlock_client *client = ticket->hold->name->client;
	struct rlk_commit *commit = commit_of(client, ticket);
	int64_t from_ms = rlk_now(client->clock);

	if (from_ms < errand->not_before_ms)
		from_ms = errand->not_before_ms;
	ticket->member.until_ms = errand->until_ms;
	ticket->member.not_before_ms = errand->not_before_ms;
	ticket->member.queue_until_ms = rlk_linger_until(commit, from_ms);
	if (errand->until_ms < ticket->member.queue_until_ms)
		ticket->member.queue_until_ms = errand->until_ms;
	if (errand->waiter)
		ticket->member.wants_out = &errand->waiter->canceled;
	if (errand->aside) {
		ticket->alone = true;
	} else if (gathers(commit) && ticket->hold->name->strategy->batch) {
		switch (share(commit, ticket, errand)) {
		case RLK_MEMBER_LEFT:
			*ticket_pointer = NULL;
			return leave(ticket);
		case RLK_MEMBER_OVER:
			over(client, ticket, errand);
			/* It waits for the next round. */
			if (ticket->alone && errand->not_before_ms)
				return RLK_BUSY;
			break;
		default:
			break;
		}
	} else {
		go_alone(commit, commit->bay, ticket, errand);
	}
	if (ticket->alone)
		go_alone(commit, RLK_BAY_ASIDE, ticket, errand);
	return ticket->fault;
}

/* -------------------------------------------------------- one, and plain */

static enum rlk_fault not_sent(struct rowlock_client *client,
			       struct rowlock_errinfo *reterr)
{
	if (reterr->code == ROWLOCK_ETIMEDOUT &&
	    rlk_client_unsent_code(client) == ROWLOCK_ECONNECT)
		rlk_fail(reterr, ROWLOCK_ECONNECT,
			 "no lease connection to %s could be opened in time",
			 client->server);
	else if (reterr->code == ROWLOCK_ETIMEDOUT)
		rlk_fail(reterr, ROWLOCK_EDB,
			 "all lease connections of this client to %s were in "
			 "use; allow more or longer calls",
			 client->server);
	return RLK_FAILED;
}

static enum rlk_fault outcome_of(const struct rlk_ticket *ticket,
				 struct rlk_part *ret_part, bool *ret_unsure,
				 struct rowlock_errinfo *reterr)
{
	*ret_unsure = ticket->unsure;
	ret_part->found = ticket->part.found;
	ret_part->token = ticket->part.token;
	ret_part->ran_on = ticket->part.ran_on;
	if (ticket->fault)
		*reterr = ticket->error;
	if (ticket->fault == RLK_FAILED)
		return not_sent(ticket->hold->name->client, reterr);
	return ticket->fault;
}

/* Giving up a hold must not need memory. */
static enum rlk_fault run_without_memory(struct rlk_hold *hold,
					 const struct rlk_errand *errand,
					 struct rlk_part *ret_part,
					 bool *ret_unsure,
					 struct rowlock_errinfo *reterr)
{
	struct rlk_commit *commit = &hold->name->client->leases;
	struct rlk_ticket ticket;

	rlk_ticket_init(&ticket, hold, ret_part->act, &ret_part->request);
	go_alone(commit, commit->bay, &ticket, errand);
	if (ticket.alone)
		go_alone(commit, RLK_BAY_ASIDE, &ticket, errand);
	return outcome_of(&ticket, ret_part, ret_unsure, reterr);
}

/* Run any act but an acquire; *@part is the act and its result. *@ret_unsure as
 * a ticket's. */
static enum rlk_fault run(struct rlk_hold *hold,
			  const struct rlk_errand *errand,
			  struct rlk_part *part, bool *ret_unsure,
			  struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_ticket_freep) struct rlk_ticket *ticket =
	    rlk_ticket_new(hold, part->act, &part->request);

	if (!ticket)
		return run_without_memory(hold, errand, part, ret_unsure,
					  reterr);
	rlk_commit_run(&ticket, errand);
	if (!ticket) {
		rlk_fail_no_answer(hold->name->client, 0, reterr);
		return RLK_UNKNOWN;
	}
	return outcome_of(ticket, part, ret_unsure, reterr);
}

enum rlk_fault rlk_commit_release(struct rlk_hold *hold,
				  const struct rlk_errand *errand,
				  struct rlk_found *ret_found,
				  struct rowlock_errinfo *reterr)
{
	struct rlk_part part = { .act = RLK_ACT_RELEASE,
				 .request = rlk_hold_request(hold) };
	bool unsure;
	enum rlk_fault fault = run(hold, errand, &part, &unsure, reterr);

	if (fault)
		return fault;
	ret_found->row = part.found;
	ret_found->unsure = unsure;
	/* A batch, or the commit connection, has let go of its bell. */
	if (!part.ran_on || part.ran_on == hold->bell_conn)
		hold->bell_conn = 0;
	rlk_commit_bell_ring(hold, errand->until_ms);
	return RLK_DONE;
}

enum rlk_fault rlk_commit_draw(struct rlk_hold *hold, unsigned int which,
			       const struct rlk_errand *errand,
			       uint64_t *ret_token,
			       struct rowlock_errinfo *reterr)
{
	struct rlk_part part = { .act = RLK_ACT_DRAW,
				 .request = rlk_hold_request(hold) };
	bool unsure; /* a draw does no harm */
	enum rlk_fault fault;

	part.request.which = which;
	fault = run(hold, errand, &part, &unsure, reterr);
	if (!fault)
		*ret_token = part.token;
	return fault;
}

bool rlk_commit_sweep(struct rlk_hold *hold, const struct rlk_request *request,
		      struct rlk_holder *holder,
		      const struct rlk_errand *errand)
{
	_cleanup_(rlk_ticket_freep) struct rlk_ticket *ticket =
	    rlk_ticket_new(hold, RLK_ACT_SWEEP, request);

	if (!ticket)
		return false;
	ticket->part.holder = *holder;
	if (rlk_commit_run(&ticket, errand) || !ticket->part.answered)
		return false;
	*holder = ticket->part.holder;
	return ticket->part.found;
}
