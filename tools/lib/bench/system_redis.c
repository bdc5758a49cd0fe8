// SPDX-License-Identifier: MIT
/*
 * The systems "redis" and "redis-aof" (the same client; which server is the
 * driver's business): SET name random NX PX ttl, and a compare-and-delete
 * script by EVALSHA, on a connection per thread. Who finds the name held asks
 * again after half a millisecond: Redis has no queue for it.
 */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

#define POLL_US 500
#define TTL_MS 30000

static const char script[] =
    "if redis.call('get', KEYS[1]) == ARGV[1] then "
    "return redis.call('del', KEYS[1]) else return 0 end";

struct redis {
	redisContext *context;
	char identity[17];
	char sha[41];
	char ttl[16];
};

/* The answer to @n words; of what the caller expects, or the process ends. */
static redisReply *ask(struct redis *redis, int n, const char **words)
{
	redisReply *reply = redisCommandArgv(redis->context, n, words, NULL);

	if (!reply)
		bench_die("redis: %s: %s", words[0], redis->context->errstr);
	if (reply->type == REDIS_REPLY_ERROR)
		bench_die("redis: %s: %s", words[0], reply->str);
	return reply;
}

static void open_redis(struct bench_worker *worker)
{
	const struct bench_options *options = worker->options;
	struct redis *redis = bench_alloc(sizeof(*redis));
	const char *load[] = { "SCRIPT", "LOAD", script };
	redisReply *reply;

	redis->context = redisConnect("127.0.0.1", (int) options->redis_port);
	if (!redis->context || redis->context->err)
		bench_die("redis: connect: %s", redis->context
						    ? redis->context->errstr
						    : "out of memory");
	snprintf(redis->ttl, sizeof(redis->ttl), "%u",
		 options->ttl_ms ? options->ttl_ms : TTL_MS);
	reply = ask(redis, 3, load);
	snprintf(redis->sha, sizeof(redis->sha), "%s", reply->str);
	freeReplyObject(reply);
	worker->state = redis;
}

static void acquire(struct bench_worker *worker)
{
	static const struct timespec pause = { 0, POLL_US * 1000 };
	struct redis *redis = worker->state;
	const char *set[] = { "SET", worker->name, redis->identity,
			      "NX",  "PX",         redis->ttl };
	redisReply *reply;
	bool granted;

	snprintf(redis->identity, sizeof(redis->identity), "%016llx",
		 (unsigned long long) bench_random());
	for (;;) {
		reply = ask(redis, 6, set);
		granted = reply->type == REDIS_REPLY_STATUS;
		freeReplyObject(reply);
		if (granted)
			return;
		nanosleep(&pause, NULL);
	}
}

static void release(struct bench_worker *worker)
{
	struct redis *redis = worker->state;
	const char *eval[] = { "EVALSHA", redis->sha, "1", worker->name,
			       redis->identity };
	redisReply *reply = ask(redis, 5, eval);

	if (reply->type != REDIS_REPLY_INTEGER || reply->integer != 1)
		bench_die("redis: '%s' was not ours any more", worker->name);
	freeReplyObject(reply);
}

static void close_redis(struct bench_worker *worker)
{
	struct redis *redis = worker->state;

	redisFree(redis->context);
	free(redis);
}

const struct bench_system bench_redis = {
	.name = "redis",
	.open = open_redis,
	.acquire = acquire,
	.release = release,
	.close = close_redis,
};
