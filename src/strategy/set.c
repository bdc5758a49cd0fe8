/* SPDX-License-Identifier: MIT */
/*
 * Sets of leases: all names or none, in one statement (lease_batch_ask.c). Each
 * operation is one statement for one text: a connection that takes no batches
 * can run it.
 *
 * Failure modes: a part of the rows may be gone, if a lease was broken by hand
 * or swept past its maximum. Then the set is lost, and what is left of it is
 * given back.
 */
#include "strategy/set.h"

#include "base/set_text.h"
#include "strategy/attempt.h"
#include "strategy/lease_batch.h"

static bool give_up(struct rlk_conn *conn, void *arg)
{
	(void) conn;
	(void) arg;
	return false;
}

static enum rlk_fault set_acquire(struct rlk_conn *conn,
				  const struct rlk_request *request,
				  enum rlk_ask ask,
				  struct rlk_holder *ret_holder,
				  struct rowlock_errinfo *reterr)
{
	static const struct rlk_patience none = { give_up, NULL };
	struct rlk_part part = { .act = RLK_ACT_ACQUIRE,
				 .request = *request,
				 .ask = ask };
	struct rlk_part *parts[] = { &part };
	enum rlk_fault fault = rlk_lease_batch(conn, parts, 1, &none, reterr);
	bool found;

	/* A part of it is there. */
	if (!fault && !part.answered)
		fault = rlk_attempt_release(conn, request, &found, reterr);
	if (fault)
		return fault;
	*ret_holder = part.holder;
	return part.verdict;
}

/* The request of one of its names, whose text is in *@name. */
static struct rlk_request one_of(const struct rlk_request *request,
				 struct rlk_set_name *name)
{
	struct rlk_request one = *request;

	*name = rlk_set_name_at(request->name, request->which);
	one.name = name->text;
	return one;
}

static enum rlk_fault set_draw(struct rlk_conn *conn,
			       const struct rlk_request *request,
			       uint64_t *ret_token,
			       struct rowlock_errinfo *reterr)
{
	struct rlk_set_name name;
	struct rlk_request one = one_of(request, &name);

	return rlk_lease_draw(conn, &one, ret_token, reterr);
}

static enum rlk_fault set_raise(struct rlk_conn *conn,
				const struct rlk_request *request,
				uint64_t token, struct rowlock_errinfo *reterr)
{
	struct rlk_set_name name;
	struct rlk_request one = one_of(request, &name);

	return rlk_lease_raise(conn, &one, token, reterr);
}

/* The holder of one of its names. */
static enum rlk_fault set_look(struct rlk_conn *conn,
			       const struct rlk_request *request,
			       struct rlk_holder *ret_holder,
			       struct rowlock_errinfo *reterr)
{
	struct rlk_set_name name;
	struct rlk_request one = one_of(request, &name);
	enum rlk_fault fault = rlk_lease_look(conn, &one, ret_holder, reterr);

	if (!fault)
		ret_holder->which = request->which;
	return fault;
}

const struct rlk_strategy rlk_strategy_set = {
	.name = "lease",
	.bells = true,
	.several = true,
	.of_names = true,
	.acquire = set_acquire,
	.release = rlk_attempt_release,
	.batch = rlk_lease_batch,
	.confirm = rlk_attempt_confirm,
	.draw = set_draw,
	.raise = set_raise,
	.look = set_look,
};
