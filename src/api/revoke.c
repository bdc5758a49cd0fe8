/* SPDX-License-Identifier: MIT */
/*
 * Asks for a lease. The hold that was looked at is asked, and not one that has
 * come since. Failure modes: the server's; the hold may end at any moment,
 * which is what is wanted.
 */
#include <rowlock/admin.h>

#include "base/error.h"
#include "base/sized.h"
#include "base/text.h"
#include "base/thread.h"
#include "core/call.h"
#include "strategy/revocation.h"

/* The parts of a call, which may be made again. */
struct asking {
	struct rlk_asking to_ask; /* its reason is NULL: only look */
	struct rlk_revocation found;
	bool held;
};

static enum rlk_fault step(struct rlk_conn *conn, void *arg,
			   struct rowlock_errinfo *reterr)
{
	struct asking *asking = arg;
	const char *name = asking->to_ask.name;
	enum rlk_fault fault = rlk_revocation_look(conn, name, &asking->found,
						   &asking->held, reterr);

	if (fault || !asking->held || !asking->to_ask.reason)
		return fault;
	return rlk_revocation_ask(conn, &asking->to_ask, &asking->found,
				  &asking->held, reterr);
}

static int check(struct rowlock_client *client, const char *name,
		 const char *reason, const struct rowlock_revocation *result,
		 struct rowlock_errinfo *reterr)
{
	char buffer[128];
	const char *problem = reason
				  ? rlk_text_problem(reason, ROWLOCK_INFO_MAX,
						     buffer, sizeof(buffer))
				  : NULL;
	int code = rlk_name_check("revoke: the name", name,
				  rowlock_client_server(client), reterr);

	if (!code && problem)
		code = rlk_fail(reterr, ROWLOCK_EINVAL, "revoke: the reason %s",
				problem);
	if (!code && result)
		code = rlk_result_check("revocation", result, reterr);
	return code;
}

static int revoke(struct rowlock_client *client, struct asking *asking,
		  struct rowlock_errinfo *reterr)
{
	const char *name = asking->to_ask.name;
	int code = rlk_client_code(
	    client,
	    rlk_client_persist(client, rlk_client_call_until(client), step,
			       asking, reterr),
	    reterr);

	if (code) {
		rlk_prefix(reterr, "revoke '%s': ", name);
		return code;
	}
	if (!asking->held)
		return rlk_fail(reterr, ROWLOCK_ENOTHELD,
				"revoke '%s': nobody holds it on %s", name,
				client->server);
	if (asking->to_ask.reason)
		rlk_log(&client->log, ROWLOCK_LOG_INFO,
			"asked the holder of '%s' to give it back", name);
	return 0;
}

int rowlock_revoke(struct rowlock_client *client, const char *name,
		   const char *reason, struct rowlock_revocation *result,
		   struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct asking asking = { { .name = name, .reason = reason } };
	struct rowlock_errinfo error;
	int code = rlk_client_refuses(client, reterr);

	if (!code)
		code = check(client, name, reason, result, reterr);
	if (code)
		return code;
	asking.to_ask.host = client->host;
	asking.to_ask.program = client->program;
	asking.to_ask.pid = (unsigned int) client->pid;
	code = revoke(client, &asking, &error);
	if (!code && result)
		rlk_result_write(&asking.found.known,
				 sizeof(asking.found.known), result);
	if (code && reterr)
		*reterr = error;
	return code;
}
