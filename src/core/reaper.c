/* SPDX-License-Identifier: MIT */
/*
 * Removing what dead clients left behind, on a thread with a timer or by a
 * call of rowlock_reap(). Look in pages, delete one by one: each deletion
 * checks its condition again, so any number of reapers may do this at once,
 * and one that was paused for an hour between look and deletion does no harm.
 */
#include "core/reaper.h"

#include "base/error.h"
#include "base/random.h"
#include "core/clear.h"
#include "core/threads.h"
#include "strategy/reap.h"

#include <stdio.h>
#include <string.h>

#define TOKENS_EVERY_MS (60 * 60 * 1000)
#define DAY_MS (24 * 60 * 60 * 1000ll)
#define BATCH 100

/* A client reaps at least every so many intervals. */
#define SHARE_MOST 60

/* One page of what a look found, and what is done with it. */
struct pass {
	struct rowlock_client *client;
	struct rlk_conn *conn; /* the one that deletes */
	unsigned int batch;
	struct rowlock_reap_result *result;
	unsigned int seen;     /* rows in this page */
	unsigned int sessions; /* that are there, dead or alive */
	uint64_t last_id;
	char last_name[ROWLOCK_NAME_MAX * 4 + 1];
	unsigned int last_slot;
	uint64_t floor; /* of tokens: at least */
};

static void set_until(struct pass *pass)
{
	rlk_conn_set_until(pass->conn, rlk_client_call_until(pass->client));
}

static int code_of(enum rlk_fault fault, struct rowlock_errinfo *reterr)
{
	return fault ? reterr->code : 0;
}

static void on_session(const struct rlk_session_seen *seen, void *arg)
{
	struct pass *pass = arg;
	char who[320];
	const struct rlk_candidate session = {
		.id = seen->id,
		.beat = seen->beat,
		.ttl_ms = seen->ttl_ms,
		.who = who,
	};

	pass->seen++;
	pass->sessions++;
	pass->last_id = seen->id;
	snprintf(who, sizeof(who), "process %llu on %s",
		 (unsigned long long) seen->pid, seen->host);
	rlk_judge_left(pass->client, seen->left_us, seen->ttl_ms);
	if (rlk_trusts_clock(pass->client) && seen->left_us > 0)
		return;
	set_until(pass);
	if (rlk_evict(pass->client, pass->conn, &session))
		pass->result->evicted++;
}

static int reap_sessions(struct pass *pass, struct rowlock_errinfo *reterr)
{
	pass->last_id = 0;
	do {
		enum rlk_fault fault;

		pass->seen = 0;
		set_until(pass);
		fault =
		    rlk_sessions_after(pass->conn, pass->last_id, pass->batch,
				       on_session, pass, reterr);
		if (fault)
			return code_of(fault, reterr);
	} while (pass->seen == pass->batch &&
		 !rlk_client_stopping(pass->client));
	return 0;
}

static void on_lease(const struct rlk_lease_seen *seen, void *arg)
{
	struct pass *pass = arg;

	pass->seen++;
	snprintf(pass->last_name, sizeof(pass->last_name), "%s", seen->name);
	pass->last_slot = seen->slot;
	set_until(pass);
	if (rlk_sweep(pass->client, pass->conn, pass->last_name, seen->slot,
		      &seen->holder))
		pass->result->swept++;
}

static int reap_leases(struct pass *pass, struct rowlock_errinfo *reterr)
{
	pass->last_name[0] = '\0';
	pass->last_slot = 0;
	do {
		char from[sizeof(pass->last_name)];
		const struct rlk_lease_cursor cursor = {
			.name = from,
			.slot = pass->last_slot,
			.batch = pass->batch,
			.all_with_max = !rlk_trusts_clock(pass->client),
		};
		enum rlk_fault fault;

		memcpy(from, pass->last_name, sizeof(from));
		pass->seen = 0;
		set_until(pass);
		fault = rlk_leases_dead(pass->conn, &cursor, on_lease, pass,
					reterr);
		if (fault)
			return code_of(fault, reterr);
	} while (pass->seen == pass->batch &&
		 !rlk_client_stopping(pass->client));
	return 0;
}

static void on_token(const struct rlk_token_seen *seen, void *arg)
{
	struct pass *pass = arg;
	struct rowlock_errinfo error;
	bool collected = false;

	set_until(pass);
	if (rlk_token_collect(pass->conn, seen, &pass->floor, &collected,
			      &error) ||
	    !collected)
		return;
	pass->seen++;
	pass->result->tokens++;
}

/* There may be many, so not with every pass. And not where many nodes write: a
 * draw's shared lock on the floor is known to its own node only there, so the
 * floor can be raised on another, and the row go, while the draw is not there
 * yet. What is old stays. */
static int reap_tokens(struct pass *pass, struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = pass->client;
	bool due;

	if (rlk_server_many_writers(rlk_conn_server(pass->conn)))
		return 0;
	rlk_mutex_lock(&client->mutex);
	due = rlk_now(client->clock) >= client->next_tokens_ms;
	if (due)
		client->next_tokens_ms =
		    rlk_now(client->clock) + TOKENS_EVERY_MS;
	rlk_mutex_unlock(&client->mutex);
	while (due && !rlk_client_stopping(client)) {
		enum rlk_fault fault;

		pass->seen = 0;
		set_until(pass);
		fault = rlk_tokens_old(pass->conn, pass->batch, on_token, pass,
				       reterr);
		if (fault)
			return code_of(fault, reterr);
		due = pass->seen == pass->batch;
	}
	return 0;
}

static int reap(struct pass *pass, struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = pass->client;
	int code =
	    rlk_client_conn(client, RLK_BAY_CONTROL,
			    rlk_client_call_until(client), &pass->conn, reterr);

	if (code)
		return code;
	code = reap_sessions(pass, reterr);
	if (!code)
		code = reap_leases(pass, reterr);
	if (!code)
		code = reap_tokens(pass, reterr);
	rlk_pool_put(client->pool, pass->conn);
	rlk_mutex_lock(&client->mutex);
	/* A day is the longest TTL: what was not seen for two is gone. */
	rlk_observer_prune(&client->observer,
			   rlk_now(client->clock) - 2 * DAY_MS);
	rlk_mutex_unlock(&client->mutex);
	return code;
}

int rlk_reap_pass(struct rowlock_client *client, unsigned int batch,
		  struct rowlock_reap_result *result,
		  struct rowlock_errinfo *reterr)
{
	struct pass pass = {
		.client = client,
		.batch = batch,
		.result = result,
	};

	return reap(&pass, reterr);
}

/* The more clients there are, the more rarely each of them reaps: together
 * about once per interval. With jitter, as they may have started together. */
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
	unsigned int sessions = 1;
	bool failing = false;

	for (;;) {
		struct rowlock_reap_result result = { .size = sizeof(result) };
		struct pass pass = {
			.client = client,
			.batch = BATCH,
			.result = &result,
		};
		struct rowlock_errinfo error;
		int code;

		rlk_sleeper_wait(&client->reaper_sleeper,
				 next_pass(client, sessions), -1);
		if (rlk_client_stopping(client))
			return;
		code = reap(&pass, &error);
		if (code && !failing)
			rlk_log(&client->log, ROWLOCK_LOG_WARNING, "reaper: %s",
				error.message);
		failing = code != 0;
		sessions = pass.sessions;
	}
}
