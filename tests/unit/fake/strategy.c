/* SPDX-License-Identifier: MIT */
/*
 * Both strategies over the model's tables, in the place of strategy/.
 */
#include "world.h"

#include "strategy/set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct fake_call call_of(const struct rlk_request *request)
{
	struct fake_call call = {
		.attempt = request->attempt,
		.id = request->session,
	};

	snprintf(call.name, sizeof(call.name), "%s", request->name);
	return call;
}

/* --------------------------------------------------------------- lease */

/* A lease with just this attempt. */
static struct world_lease *mine(const struct rlk_request *request)
{
	struct world_lease *lease = world_lease(request->name);

	return lease && lease->attempt == request->attempt ? lease : NULL;
}

static void describe(const struct world_lease *lease, bool looked,
		     struct rlk_holder *holder)
{
	const struct world_session *session = world_session(lease->session);

	*holder = (struct rlk_holder){
		.known = true,
		.attempt = lease->attempt,
		.session = lease->session,
		.absent = !session,
		.looked = looked,
	};
	if (lease->max_until_ms != RLK_NEVER) {
		holder->has_max = true;
		holder->max_left_us = (lease->max_until_ms - fake_now()) * 1000;
		holder->max_ms = 1000;
	}
	if (!session)
		return;
	holder->left_us = world_left_us(session);
	holder->beat = session->beat;
	holder->ttl_ms = session->ttl_ms;
}

static enum rlk_fault insert(const struct rlk_request *request,
			     enum rlk_ask ask, struct rlk_holder *ret_holder)
{
	struct world_lease *lease = world_lease(request->name);

	*ret_holder = (struct rlk_holder){ 0 };
	if (!lease) {
		world_insert_lease(request->name, request->attempt,
				   request->session);
		lease = world_lease(request->name);
		if (request->max_hold_ms)
			lease->max_until_ms =
			    rlk_after(fake_now(), request->max_hold_ms);
		return RLK_DONE;
	}
	if (ask == RLK_ASK_AGAIN)
		return RLK_HELD;
	if (lease->attempt == request->attempt)
		return RLK_DONE;
	describe(lease, false, ret_holder);
	return RLK_HELD;
}

static void take_bell(const struct rlk_conn *conn,
		      const struct rlk_request *request,
		      struct rlk_holder *holder)
{
	holder->bell = world_bell_take(request->name, conn->id);
	holder->line = !holder->bell;
}

static enum rlk_fault lease_acquire(struct rlk_conn *conn,
				    const struct rlk_request *request,
				    enum rlk_ask ask,
				    struct rlk_holder *ret_holder,
				    struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_ACQUIRE, .conn = conn };
	enum rlk_fault verdict = RLK_CONFLICT;
	struct fake_call call = call_of(request);

	call.ask = ask;
	call.bell = request->bell;
	call.observes = request->observes;
	if (world_begin(&op, &call)) {
		verdict = insert(request, ask, ret_holder);
		if (request->bell && ask == RLK_ASK_FIRST &&
		    verdict == RLK_DONE)
			take_bell(conn, request, ret_holder);
	}
	return world_verdict(&op, verdict, reterr);
}

/* If the connection has it. */
static void ring(const struct rlk_conn *conn, const struct rlk_request *request)
{
	if (request->bell_conn == conn->id)
		world_bell_ring(request->name, conn->id);
}

static enum rlk_fault lease_release(struct rlk_conn *conn,
				    const struct rlk_request *request,
				    bool *ret_found,
				    struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_RELEASE, .conn = conn };
	struct fake_call call = call_of(request);

	*ret_found = false;
	if (world_begin(&op, &call)) {
		*ret_found = mine(request) != NULL;
		if (*ret_found)
			mine(request)->attempt = 0;
		ring(conn, request);
	}
	return world_fault(&op, RLK_DONE, reterr);
}

static enum rlk_fault lease_confirm(struct rlk_conn *conn,
				    const struct rlk_request *request,
				    bool *ret_found,
				    struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_CONFIRM, .conn = conn };
	struct fake_call call = call_of(request);

	if (world_begin(&op, &call))
		*ret_found =
		    mine(request) && world_session(mine(request)->session);
	return world_fault(&op, RLK_DONE, reterr);
}

static enum rlk_fault lease_draw(struct rlk_conn *conn,
				 const struct rlk_request *request,
				 uint64_t *ret_token,
				 struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_DRAW, .conn = conn };
	struct fake_call call = call_of(request);

	if (world_begin(&op, &call))
		*ret_token = mine(request) ? ++world.tables.token : 0;
	return world_fault(&op, RLK_DONE, reterr);
}

static enum rlk_fault raise_token(struct rlk_conn *conn,
				  const struct rlk_request *request,
				  uint64_t token,
				  struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_RAISE, .conn = conn };
	struct fake_call call = call_of(request);

	if (world_begin(&op, &call) && world.tables.token < token)
		world.tables.token = token;
	return world_fault(&op, RLK_DONE, reterr);
}

/* By name, so that a test knows which half is which. */
static int compare_parts(const void *a, const void *b)
{
	const struct rlk_part *one = *(struct rlk_part *const *) a;
	const struct rlk_part *other = *(struct rlk_part *const *) b;

	return strcmp(one->request.name, other->request.name);
}

/* What goes with a single acquire. */
static void execute_rest(const struct rlk_conn *conn, struct rlk_part *part)
{
	const struct rlk_request *request = &part->request;

	if (part->act != RLK_ACT_ACQUIRE || part->verdict != RLK_DONE ||
	    !request->draw)
		return;
	part->token = ++world.tables.token;
	if (request->bell)
		take_bell(conn, request, &part->holder);
}

/* The dead holder of a name. */
static void sweep(struct rlk_part *part)
{
	struct world_lease *lease = world_lease(part->request.name);
	struct world_session *session = world_session(part->holder.session);

	part->evicted = session && session->expired;
	if (part->evicted)
		session->id = 0;
	part->swept = lease && lease->attempt == part->holder.attempt &&
		      (!world_session(lease->session) ||
		       lease->max_until_ms <= fake_now());
	if (part->swept)
		lease->attempt = 0;
	part->found = true;
}

static void execute_part(struct rlk_part *part)
{
	const struct rlk_request *request = &part->request;

	switch (part->act) {
	case RLK_ACT_ACQUIRE:
		part->verdict = insert(request, RLK_ASK_FIRST, &part->holder);
		break;
	case RLK_ACT_RELEASE:
		part->found = mine(request) != NULL;
		if (part->found)
			mine(request)->attempt = 0;
		break;
	case RLK_ACT_DRAW:
		part->token = mine(request) ? ++world.tables.token : 0;
		break;
	case RLK_ACT_SWEEP:
		sweep(part);
		break;
	}
}

static bool await_batch(struct world_op *op,
			const struct rlk_patience *patience)
{
	while (op->pending) {
		bool more;

		world_unlock();
		more = patience->go_on(op->conn, patience->arg);
		world_lock();
		if (!more)
			return false;
		world_hold_back(op);
	}
	return true;
}

static bool is_refused(const struct fake_answer *answer)
{
	return answer->given &&
	       (answer->result == RLK_BUSY || answer->result == RLK_CONFLICT ||
		answer->result == RLK_REFUSED);
}

static enum rlk_fault lease_batch(struct rlk_conn *conn,
				  struct rlk_part **parts, size_t count,
				  const struct rlk_patience *patience,
				  struct rowlock_errinfo *reterr)
{
	bool sweeps = count && parts[0]->act == RLK_ACT_SWEEP;
	struct world_op op = { .op = sweeps ? FAKE_SWEEP_MANY : FAKE_BATCH,
			       .conn = conn };
	struct fake_call call = { .id = count };
	size_t most = count;

	qsort(parts, count, sizeof(*parts), compare_parts);
	if (count)
		snprintf(call.name, sizeof(call.name), "%s",
			 parts[0]->request.name);
	world_begin(&op, &call);
	if (op.answer.half)
		most = op.answer.half;
	if (!await_batch(&op, patience) || op.dead || op.answer.skip)
		most = 0;
	for (size_t i = 0; i < most; i++) {
		execute_part(parts[i]);
		if (count == 1)
			execute_rest(conn, parts[i]);
		/* What ends half way rings for nobody. */
		if (parts[i]->act == RLK_ACT_RELEASE && !op.answer.half)
			ring(conn, &parts[i]->request);
		parts[i]->answered = op.answer.half || !op.answer.given;
	}
	for (size_t i = 0; i < count; i++)
		parts[i]->not_made = i >= most && is_refused(&op.answer);
	return world_fault(&op, RLK_DONE, reterr);
}

static enum rlk_fault lease_look(struct rlk_conn *conn,
				 const struct rlk_request *request,
				 struct rlk_holder *ret_holder,
				 struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_LOOK, .conn = conn };
	struct fake_call call = call_of(request);

	*ret_holder = (struct rlk_holder){ 0 };
	if (world_begin(&op, &call) && world_lease(request->name))
		describe(world_lease(request->name), true, ret_holder);
	return world_fault(&op, RLK_DONE, reterr);
}

static enum rlk_fault lease_end(struct rlk_conn *conn, const char *name,
				bool *ret_found, struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_END, .conn = conn };
	struct fake_call call = { .attempt = 0 };

	snprintf(call.name, sizeof(call.name), "%s", name);
	*ret_found = false;
	if (world_begin(&op, &call) && world_lease(name)) {
		world_break(world_lease(name));
		*ret_found = true;
	}
	return world_fault(&op, RLK_DONE, reterr);
}

/* ----------------------------------------------------------------- row */

/* Wait as the server does: until it is free, or the caller has enough. */
static enum rlk_fault wait_for_row(struct rlk_conn *conn,
				   const struct world_row *row)
{
	while (row->conn && row->conn != conn->id) {
		if (conn->interrupted || fake_now() >= conn->until_ms)
			return RLK_PENDING;
		if (!world_wait(conn->until_ms)) {
			fake_problem("'%s' was never unlocked", row->name);
			return RLK_PENDING;
		}
	}
	return RLK_DONE;
}

static enum rlk_fault row_acquire(struct rlk_conn *conn,
				  const struct rlk_request *request,
				  enum rlk_ask ask,
				  struct rlk_holder *ret_holder,
				  struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_ACQUIRE, .conn = conn };
	enum rlk_fault verdict = RLK_CONFLICT;
	struct fake_call call = call_of(request);
	bool execute;

	call.ask = ask;
	*ret_holder = (struct rlk_holder){ 0 };
	execute = world_begin(&op, &call);
	if (execute) {
		struct world_row *row = world_row(request->name);

		if (!row)
			verdict = RLK_ABSENT;
		else if (ask == RLK_ASK_WAIT)
			verdict = wait_for_row(conn, row);
		else
			verdict = row->conn && row->conn != conn->id ? RLK_HELD
								     : RLK_DONE;
		if (verdict == RLK_DONE)
			row->conn = conn->id;
	}
	return world_verdict(&op, verdict, reterr);
}

static enum rlk_fault row_resume(struct rlk_conn *conn,
				 struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_RESUME, .conn = conn };
	struct fake_call call = { .attempt = 0 };

	if (world_begin(&op, &call))
		conn->outstanding = false;
	return world_verdict(&op, RLK_CONFLICT, reterr);
}

static enum rlk_fault row_make(struct rlk_conn *conn,
			       const struct rlk_request *request,
			       struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_MAKE, .conn = conn };
	struct fake_call call = call_of(request);

	if (world_begin(&op, &call) && !world_row(request->name)) {
		struct world_row *row = world_row("");

		snprintf(row->name, sizeof(row->name), "%s", request->name);
		row->conn = 0;
	}
	return world_fault(&op, RLK_DONE, reterr);
}

static enum rlk_fault row_release(struct rlk_conn *conn,
				  const struct rlk_request *request,
				  bool *ret_found,
				  struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_RELEASE, .conn = conn };
	struct fake_call call = call_of(request);

	*ret_found = true;
	if (world_begin(&op, &call))
		world_end_transaction(conn->id);
	return world_fault(&op, RLK_DONE, reterr);
}

static enum rlk_fault row_confirm(struct rlk_conn *conn,
				  const struct rlk_request *request,
				  bool *ret_found,
				  struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_CONFIRM, .conn = conn };
	struct fake_call call = call_of(request);

	world_begin(&op, &call);
	*ret_found = true;
	return world_fault(&op, RLK_DONE, reterr);
}

static enum rlk_fault row_draw(struct rlk_conn *conn,
			       const struct rlk_request *request,
			       uint64_t *ret_token,
			       struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_DRAW, .conn = conn };
	struct fake_call call = call_of(request);

	if (world_begin(&op, &call))
		*ret_token = ++world.tables.token;
	return world_fault(&op, RLK_DONE, reterr);
}

/* A set is one more name. */
const struct rlk_strategy rlk_strategy_set = {
	.name = "lease",
	.acquire = lease_acquire,
	.release = lease_release,
	.confirm = lease_confirm,
	.draw = lease_draw,
	.raise = raise_token,
};

const struct rlk_strategy *rlk_strategy(enum rowlock_strategy which)
{
	static const struct rlk_strategy lease = {
		.name = "lease",
		.bells = true,
		.acquire = lease_acquire,
		.release = lease_release,
		.confirm = lease_confirm,
		.draw = lease_draw,
		.raise = raise_token,
		.batch = lease_batch,
		.look = lease_look,
		.end = lease_end,
	};
	static const struct rlk_strategy row = {
		.name = "row",
		.pins_connection = true,
		.bells = true,
		.acquire = row_acquire,
		.resume = row_resume,
		.make = row_make,
		.release = row_release,
		.confirm = row_confirm,
		.draw = row_draw,
		.raise = raise_token,
	};

	switch (which) {
	case ROWLOCK_LEASE:
		return &lease;
	case ROWLOCK_ROW:
		return &row;
	default:
		return NULL;
	}
}
