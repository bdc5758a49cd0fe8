// SPDX-License-Identifier: MIT
/*
 * Redis, as its manual has it ("Distributed Locks with Redis", one instance):
 * SET name random NX PX ttl, and a compare-and-delete script. Nobody renews it;
 * who finds it held asks again after a millisecond, for Redis has no queue.
 */
#include "stale.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static const char script[] =
    "if redis.call('get', KEYS[1]) == ARGV[1] then "
    "return redis.call('del', KEYS[1]) else return 0 end";

static redisContext *context;
static char identity[17];

/* The type of the answer to what was said; 0: there was none. */
static int answered(redisReply *reply)
{
	int type = reply ? reply->type : 0;

	if (reply)
		freeReplyObject(reply);
	return type;
}

static bool connect_to(unsigned int port)
{
	if (context && !context->err)
		return true;
	if (context)
		redisFree(context);
	context = redisConnect("127.0.0.1", (int) port);
	return context && !context->err;
}

bool stale_redis_acquire(struct stale_worker *worker, unsigned int number)
{
	static const struct timespec pause = { 0, 1000000 };
	const struct stale_options *options = worker->options;

	snprintf(identity, sizeof(identity), "%08x%08x",
		 stale_draw(worker, UINT32_MAX),
		 stale_draw(worker, UINT32_MAX));
	for (unsigned int i = 0; i < STALE_WAIT_MS; i++) {
		if (connect_to(options->peer_port) &&
		    answered(redisCommand(context, "SET stale-%u %s NX PX %u",
					  number, identity, options->ttl_ms)) ==
			REDIS_REPLY_STATUS)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

void stale_redis_release(struct stale_worker *worker, unsigned int number)
{
	if (connect_to(worker->options->peer_port))
		answered(redisCommand(context, "EVAL %s 1 stale-%u %s", script,
				      number, identity));
}
