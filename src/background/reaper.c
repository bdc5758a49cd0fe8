/* SPDX-License-Identifier: MIT */
/*
 * Removes the remains of dead clients, on a thread with a timer or in
 * rowlock_reap(): first sessions, then leases without a session (remains.c),
 * then old tokens.
 *
 * It works in bursts of a batch, with a rest after each, so that it hardly
 * slows clients down, however much there is to remove. A pass ends after its
 * time, and the next one goes on from there.
 */
#include "background/reaper.h"

#include "background/reaper_private.h"

#include "background/reap_duty.h"
#include "background/remains.h"
#include "base/random.h"
#include "core/call.h"
#include "db/lend.h"
#include "strategy/reap.h"
#include "strategy/revocation.h"
#include "strategy/sweep.h"

#define TOKENS_EVERY_MS (60 * 60 * 1000)
#define DAY_MS (24 * 60 * 60 * 1000ll)
#define BATCH RLK_SWEEP_MOST
#define PASS_MOST_MS (60 * 1000)

/* A client reaps at least once in this many intervals. */
#define SHARE_MOST 60

/* After a burst of BURST_ROWS follows a rest that is REST_TIMES as long, so
 * that the server is idle for most of the time. */
#define BURST_ROWS 64
#define REST_TIMES 8
#define REST_MOST_MS 40

void rlk_pass_set_until(struct rlk_pass *pass)
{
	rlk_conn_set_until(pass->conn, rlk_client_chore_until(pass->client));
}

/* Returns NULL without a descriptor: then there is no rest. */
static struct rlk_sleeper *sleeper_of(struct rlk_pass *pass)
{
	if (!pass->sleeper &&
	    !rlk_sleeper_init(&pass->own, pass->client->clock))
		pass->sleeper = &pass->own;
	return pass->sleeper;
}

void rlk_pass_rest(struct rlk_pass *pass, size_t count)
{
	const struct rlk_clock *clock = pass->client->clock;
	int64_t now = rlk_now(clock);
	int64_t rest = (now - pass->burst_ms) * REST_TIMES;

	if (rest > REST_MOST_MS)
		rest = REST_MOST_MS;
	if (count >= BURST_ROWS && rest > 0 && sleeper_of(pass))
		rlk_sleeper_wait(pass->sleeper, now + rest, -1);
	pass->burst_ms = rlk_now(clock);
}

bool rlk_pass_has_time(struct rlk_pass *pass)
{
	if (rlk_now(pass->client->clock) >= pass->ends_ms)
		pass->more = true;
	return !pass->more;
}

bool rlk_pass_may_remove(struct rlk_pass *pass)
{
	bool first = !pass->removes;

	pass->removes = true;
	return first || rlk_pass_has_time(pass);
}

bool rlk_pass_goes_on(struct rlk_pass *pass)
{
	return !rlk_client_stopping(pass->client) && rlk_pass_has_time(pass) &&
	       rlk_duty_goes_on(pass);
}

/* ---------------------------------------------------------------- tokens */

/* The result of a page of old tokens. */
struct tokens {
	struct rlk_pass *pass;
	unsigned int collected;
};

static void on_token(const struct rlk_token_seen *seen, void *arg)
{
	struct tokens *tokens = arg;
	struct rlk_pass *pass = tokens->pass;
	struct rowlock_errinfo error;
	bool collected = false;

	if (!rlk_pass_may_remove(pass))
		return;
	rlk_pass_set_until(pass);
	if (rlk_token_collect(pass->conn, seen, &pass->floor, &collected,
			      &error) ||
	    !collected)
		return;
	tokens->collected++;
	pass->result->tokens++;
}

/* Not with every pass, as there may be many. Not where many nodes write: only
 * its own node knows a draw's shared lock on the floor, so another node could
 * raise the floor and delete the row before the draw arrives there. Old tokens
 * stay then. */
static int reap_tokens(struct rlk_pass *pass, struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = pass->client;
	struct tokens tokens = { .pass = pass };
	bool more = true;
	bool due;

	if (rlk_server_many_writers(rlk_conn_server(pass->conn)))
		return 0;
	rlk_mutex_lock(&client->mutex);
	due = rlk_now(client->clock) >= client->next_tokens_ms;
	rlk_mutex_unlock(&client->mutex);
	if (!due)
		return 0;
	while (more && rlk_pass_goes_on(pass)) {
		enum rlk_fault fault;

		tokens.collected = 0;
		rlk_pass_set_until(pass);
		fault = rlk_tokens_old(pass->conn, pass->batch, on_token,
				       &tokens, reterr);
		if (fault)
			return rlk_client_code(pass->client, fault, reterr);
		more = tokens.collected == pass->batch;
	}
	if (pass->more)
		return 0;
	rlk_mutex_lock(&client->mutex);
	client->next_tokens_ms = rlk_now(client->clock) + TOKENS_EVERY_MS;
	rlk_mutex_unlock(&client->mutex);
	return 0;
}

/* ----------------------------------------------------------- revocations */

static int reap_revocations(struct rlk_pass *pass,
			    struct rowlock_errinfo *reterr)
{
	size_t count = pass->batch;

	while (count == pass->batch && rlk_pass_goes_on(pass)) {
		enum rlk_fault fault;

		rlk_pass_set_until(pass);
		fault = rlk_revocations_drop(pass->conn, pass->batch, &count,
					     reterr);
		if (fault)
			return rlk_revocations_lack(fault, reterr)
				   ? 0
				   : rlk_client_code(pass->client, fault,
						     reterr);
	}
	return 0;
}

/* ------------------------------------------------------------------ pass */

static int remove_all(struct rlk_pass *pass, struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = pass->client;
	int code;

	pass->burst_ms = rlk_now(client->clock);
	pass->ends_ms = rlk_after(pass->burst_ms, pass->most_ms);
	code = rlk_reap_sessions(pass, reterr);
	if (!code && rlk_pass_has_time(pass))
		code = rlk_reap_leases(pass, reterr);
	if (!code && rlk_pass_has_time(pass))
		code = reap_tokens(pass, reterr);
	if (!code && rlk_pass_has_time(pass))
		code = reap_revocations(pass, reterr);
	rlk_mutex_lock(&client->mutex);
	/* A day is the longest TTL: a session not seen for two is gone. */
	rlk_observer_prune(&client->observer,
			   rlk_now(client->clock) - 2 * DAY_MS);
	rlk_mutex_unlock(&client->mutex);
	return code;
}

static int reap(struct rlk_pass *pass, struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = pass->client;
	bool ours = false;
	int code = rlk_client_conn(client, RLK_BAY_CONTROL,
				   rlk_client_chore_until(client), &pass->conn,
				   reterr);

	if (code)
		return code;
	code = rlk_duty_ask(pass, &ours, reterr);
	if (!code && ours)
		code = remove_all(pass, reterr);
	rlk_pool_put(client->pool, pass->conn);
	return code;
}

int rlk_reap_pass(struct rowlock_client *client,
		  const struct rowlock_reap_options *options,
		  struct rowlock_reap_result *result,
		  struct rowlock_errinfo *reterr)
{
	struct rlk_reap_from from;
	struct rlk_pass pass = {
		.client = client,
		.batch = options->batch,
		.most_ms = options->time_limit_ms,
		.from = &from,
		.result = result,
		.own = RLK_SLEEPER_NULL,
	};
	int code;

	/* If two passes run at once, the one that ends last sets it. */
	rlk_mutex_lock(&client->mutex);
	from = client->reap_from;
	rlk_mutex_unlock(&client->mutex);
	code = reap(&pass, reterr);
	rlk_mutex_lock(&client->mutex);
	client->reap_from = from;
	rlk_mutex_unlock(&client->mutex);
	result->more = pass.more;
	rlk_sleeper_fini(&pass.own);
	return code;
}

/* Where no client has the duty, each reaps more rarely the more there are:
 * together about once per interval. With jitter, as they may have started
 * together. */
static int64_t next_pass(struct rowlock_client *client, unsigned int sessions)
{
	uint64_t share = sessions < 1            ? 1
			 : sessions < SHARE_MOST ? sessions
						 : SHARE_MOST;
	uint64_t wait = client->reap_interval_ms * share;

	return rlk_after(rlk_now(client->clock),
			 wait - wait / 4 + rlk_random() % (wait / 2));
}

void rlk_reaper_run(void *arg)
{
	struct rowlock_client *client = arg;
	int64_t next = next_pass(client, 1);
	struct rlk_reap_from from = { 0 };
	struct rlk_duty duty = { 0 };
	bool failing = false;

	for (;;) {
		struct rowlock_reap_result result = { .size = sizeof(result) };
		struct rlk_pass pass = {
			.client = client,
			.batch = BATCH,
			.most_ms = PASS_MOST_MS,
			.from = &from,
			.result = &result,
			.duty = &duty,
			.sleeper = &client->reaper_sleeper,
		};
		struct rowlock_errinfo error;
		int code;

		rlk_sleeper_wait(&client->reaper_sleeper, next, -1);
		if (rlk_client_stopping(client))
			return;
		code = reap(&pass, &error);
		if (code && rlk_client_stopping(client))
			return;
		if (code && !failing)
			rlk_log(&client->log, ROWLOCK_LOG_WARNING, "reaper: %s",
				error.message);
		failing = code != 0;
		next = duty.refused ? next_pass(client, pass.sessions)
				    : rlk_duty_next(client, &duty);
	}
}
