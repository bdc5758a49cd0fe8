/* SPDX-License-Identifier: MIT */
/*
 * rowlock_stats(): the counters of a client (core/counters.h), for its owner.
 */
#include "core/counters.h"

#include "base/error.h"
#include "base/sized.h"
#include "core/call.h"
#include "core/client.h"
#include "hold/losses.h"

int rowlock_stats(const struct rowlock_client *client,
		  struct rowlock_client_stats *stats,
		  struct rowlock_errinfo *reterr)
{
	struct rowlock_client_stats read = { .size = sizeof(read) };
	int code = rlk_client_refuses(client, reterr);

	if (!code && !stats)
		code = rlk_fail_null("stats", reterr);
	if (!code)
		code = rlk_result_check("stats", stats, reterr);
	if (code)
		return code;
	rlk_stats_read(&client->stats, &read);
	rlk_result_write(&read, sizeof(read), stats);
	return 0;
}

const char *rowlock_loss_text(int loss)
{
	return rlk_loss_text(loss);
}
