/* SPDX-License-Identifier: MIT */
/*
 * The list of the runs of jobs. Each page is read on a connection of its own,
 * as the function that is told may take its time. Failure modes: the server's.
 */
#include <rowlock/admin.h>

#include <stdlib.h>

#include "api/people.h"
#include "base/error.h"
#include "base/thread.h"
#include "core/call.h"
#include "db/lend.h"
#include "strategy/job_list.h"

static int list_runs(struct rowlock_client *client,
		     struct rlk_job_listing *listing,
		     struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = RLK_DONE;
	struct rlk_conn *conn;
	int code = 0;

	while (!code && !fault && rlk_job_listing_more(listing)) {
		code = rlk_client_conn(client, RLK_BAY_CONTROL,
				       rlk_client_call_until(client), &conn,
				       reterr);
		if (code)
			break;
		fault = rlk_job_list(conn, listing, reterr);
		rlk_pool_put(client->pool, conn);
	}
	return code ? code : rlk_client_code(client, fault, reterr);
}

int rowlock_list_runs(struct rowlock_client *client,
		      const struct rowlock_list_options *given,
		      rowlock_list_runs_fn fn, void *arg,
		      struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock_list_options options;
	struct rlk_job_listing listing;
	struct rowlock_errinfo error;
	char *like;
	int code = rlk_client_refuses(client, reterr);

	if (!code && !fn)
		code = rlk_fail(reterr, ROWLOCK_EINVAL,
				"list runs on %s: give a function",
				client->server);
	if (!code)
		code = rlk_list_options_read(given, &options, reterr);
	if (code)
		return code;
	like = rlk_list_like(&options);
	if (!like)
		return rlk_fail(reterr, ROWLOCK_ENOMEM,
				"list runs on %s: out of memory",
				client->server);
	listing = rlk_job_listing_begin(like, fn, arg);
	code = list_runs(client, &listing, &error);
	free(like);
	if (code && reterr)
		*reterr = error;
	return code;
}
