/* SPDX-License-Identifier: MIT */
/*
 * Requests to give leases back, over the model's tables: one at a time, for a
 * lease by its attempt.
 */
#include "world.h"

#include <stdio.h>
#include <string.h>

#include "strategy/revocation.h"

static struct fake_call call_of(const struct rlk_revocation *revocation)
{
	struct fake_call call = { .attempt = revocation->known.attempt };

	snprintf(call.name, sizeof(call.name), "%.100s",
		 revocation->known.name);
	return call;
}

bool fake_revoked(void)
{
	bool there;

	world_lock();
	there = world.tables.revocation.request != 0;
	world_unlock();
	return there;
}

/* The client that has the lease, itself or by a keep. */
static struct world_session *holder(const struct world_lease *lease)
{
	struct world_session *session =
	    lease ? world_session(lease->session) : NULL;

	return session && session->breaks > UINT32_MAX
		   ? world_session(session->breaks)
		   : session;
}

enum rlk_fault rlk_revocation_look(struct rlk_conn *conn, const char *name,
				   struct rlk_revocation *ret_revocation,
				   bool *ret_held,
				   struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_REVOCATION_LOOK, .conn = conn };
	struct rlk_revocation *row = &world.tables.revocation;
	struct fake_call call = { .id = 0 };

	snprintf(call.name, sizeof(call.name), "%s", name);
	if (world_begin(&op, &call)) {
		const struct world_lease *lease = world_lease(name);
		const struct world_session *session = holder(lease);

		*ret_held = session != NULL;
		if (session && lease->attempt == row->known.attempt &&
		    row->request)
			*ret_revocation = *row;
		else if (session)
			*ret_revocation = (struct rlk_revocation){
				.known = { .size = sizeof(row->known),
					   .attempt = lease->attempt,
					   .answer = ROWLOCK_ANSWER_UNASKED },
			};
		if (session) {
			ret_revocation->session = session->id;
			snprintf(ret_revocation->known.name,
				 sizeof(ret_revocation->known.name), "%s",
				 name);
		}
	}
	return world_fault(&op, RLK_DONE, reterr);
}

enum rlk_fault rlk_revocation_ask(struct rlk_conn *conn,
				  const struct rlk_asking *asking,
				  struct rlk_revocation *found, bool *ret_told,
				  struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_REVOCATION_ASK, .conn = conn };
	struct fake_call call = call_of(found);

	if (world_begin(&op, &call)) {
		struct world_session *session = world_session(found->session);

		found->request++;
		found->known.answer = ROWLOCK_ANSWER_NONE;
		snprintf(found->known.reason, sizeof(found->known.reason), "%s",
			 asking->reason);
		snprintf(found->known.host, sizeof(found->known.host), "%s",
			 asking->host);
		world.tables.revocation = *found;
		*ret_told = session != NULL;
		if (session)
			session->breaks++;
	}
	return world_fault(&op, RLK_DONE, reterr);
}

enum rlk_fault rlk_revocations_of(struct rlk_conn *conn, uint64_t id,
				  void (*fn)(const struct rlk_revocation *,
					     void *),
				  void *arg, size_t *ret_count,
				  struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_REVOCATIONS_OF, .conn = conn };
	struct rlk_revocation row = { .request = 0 };
	enum rlk_fault fault;

	*ret_count = 0;
	if (world_begin(&op, &(struct fake_call){ .id = id })) {
		const struct rlk_revocation *known = &world.tables.revocation;
		const struct world_lease *lease =
		    known->request ? world_lease(known->known.name) : NULL;
		const struct world_session *session = holder(lease);

		if (session && session->id == id &&
		    lease->attempt == known->known.attempt &&
		    known->known.answer == ROWLOCK_ANSWER_NONE)
			row = *known;
	}
	fault = world_fault(&op, RLK_DONE, reterr);
	if (!fault && row.request) {
		*ret_count = 1;
		fn(&row, arg);
	}
	return fault;
}

enum rlk_fault rlk_revocation_answer(struct rlk_conn *conn,
				     const struct rlk_revocation *to,
				     enum rowlock_answer answer,
				     struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_REVOCATION_ANSWER, .conn = conn };
	struct fake_call call = call_of(to);

	call.id = answer;
	if (world_begin(&op, &call) &&
	    world.tables.revocation.request == to->request)
		world.tables.revocation.known.answer = answer;
	return world_fault(&op, RLK_DONE, reterr);
}

enum rlk_fault rlk_revocations_drop(struct rlk_conn *conn, unsigned int most,
				    size_t *ret_count,
				    struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_REVOCATIONS_DROP, .conn = conn };
	struct rlk_revocation *row = &world.tables.revocation;

	(void) most;
	*ret_count = 0;
	if (world_begin(&op, &(struct fake_call){ .id = 0 })) {
		const struct world_lease *lease =
		    row->request ? world_lease(row->known.name) : NULL;

		if (row->request &&
		    (!lease || lease->attempt != row->known.attempt)) {
			*row = (struct rlk_revocation){ .request = 0 };
			*ret_count = 1;
		}
	}
	return world_fault(&op, RLK_DONE, reterr);
}
