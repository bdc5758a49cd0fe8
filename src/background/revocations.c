/* SPDX-License-Identifier: MIT */
/*
 * Tells the application of requests to give leases back, on the thread of the
 * chores: a request has no answer until it was told, so it is told until an
 * answer is written.
 *
 * Failure modes: a client without a callback sends nothing; tables without
 * requests (version 7) have none; an account that may not read them is told to
 * the log, and its asker gets no answer.
 */
#include "background/revocations.h"

#include "core/call.h"
#include "hold/hold.h"
#include "strategy/revocation.h"

struct telling {
	struct rowlock_client *client;
	struct rlk_conn *conn;
	enum rlk_fault fault; /* of an answer; none is written after it */
	struct rowlock_errinfo error; /* the same, or that of the question */
};

static enum rowlock_answer ask(const struct rowlock_client *client,
			       const struct rlk_revocation *revocation)
{
	enum rowlock_answer answer =
	    client->on_revoke(&revocation->known, client->revoke_arg);

	return answer == ROWLOCK_ANSWER_LATER || answer == ROWLOCK_ANSWER_NO
		   ? answer
		   : ROWLOCK_ANSWER_HEARD;
}

/* It goes back to the server when it is released, and not to a thread that was
 * not told. */
static void note(struct rowlock_client *client, uint64_t attempt)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);
	struct rlk_hold *hold;

	rlk_list_each (hold, &client->session.holds, node) {
		if (hold->attempt == attempt)
			hold->asked = true;
	}
}

static void tell(const struct rlk_revocation *revocation, void *arg)
{
	struct telling *telling = arg;
	struct rowlock_client *client = telling->client;
	enum rowlock_answer answer;

	if (telling->fault || rlk_client_stopping(client))
		return;
	note(client, revocation->known.attempt);
	answer = ask(client, revocation);
	rlk_conn_set_until(telling->conn, rlk_client_chore_until(client));
	telling->fault = rlk_revocation_answer(telling->conn, revocation,
					       answer, &telling->error);
}

bool rlk_revocations_tell(struct rowlock_client *client, struct rlk_conn *conn,
			  uint64_t id)
{
	struct telling telling = { .client = client, .conn = conn };
	enum rlk_fault fault;
	size_t count;

	if (!client->on_revoke)
		return true;
	rlk_conn_set_until(conn, rlk_client_chore_until(client));
	fault = rlk_revocations_of(conn, id, tell, &telling, &count,
				   &telling.error);
	if (!fault)
		fault = telling.fault;
	if (!fault)
		return count < RLK_REVOCATIONS_MOST;
	/* Or it would be told again and again. */
	if (!rlk_revocations_lack(fault, &telling.error))
		return false;
	if (telling.error.code == ROWLOCK_EAUTH)
		rlk_log(&client->log, ROWLOCK_LOG_WARNING,
			"nobody can ask this client for its leases: %s",
			telling.error.message);
	return true;
}
