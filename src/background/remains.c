/* SPDX-License-Identifier: MIT */
/*
 * Removes the rows of dead clients: finds them in pages, and deletes many at a
 * time. Each statement repeats the condition, so any number of reapers may run
 * at once, and one that was paused for an hour between look and deletion does
 * no harm.
 *
 * Failure modes: if a transaction has one of the rows locked, or others remove
 * the same, each row is removed with a statement of its own, and the locked one
 * stays. Any other failure ends the pass, which returns it.
 */
#include "background/remains.h"

#include "base/error.h"
#include "core/call.h"
#include "hold/clear.h"
#include "strategy/reap.h"
#include "strategy/sweep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail_memory(struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, ROWLOCK_ENOMEM, "reap: out of memory");
}

static void free_p(void *pointer)
{
	free(*(void **) pointer);
}

/* Others block one of the rows, or interrupt the statement. */
static bool is_blocked(enum rlk_fault fault)
{
	return rlk_fault_passes(fault);
}

/* -------------------------------------------------------------- sessions */

/* One page of a look; further rows wait for the next page. */
struct sessions {
	struct rlk_pass *pass;
	struct rowlock_errinfo *reterr;
	int code; /* of a removal that failed; it is the last one */
	unsigned int seen;
	uint64_t last_id;
	/* The sessions to evict. */
	bool silent; /* judged by missing beats, not by a clock */
	size_t count;
	struct rlk_last_beat beats[RLK_SWEEP_MOST];
	uint64_t ttls_ms[RLK_SWEEP_MOST];
	char who[RLK_SWEEP_MOST][320];
};

static struct rlk_candidate candidate(const struct sessions *sessions, size_t i)
{
	return (struct rlk_candidate){
		.id = sessions->beats[i].id,
		.beat = sessions->beats[i].beat,
		.ttl_ms = sessions->ttls_ms[i],
		.who = sessions->who[i],
	};
}

static void evict_each(struct sessions *sessions)
{
	struct rlk_pass *pass = sessions->pass;

	for (size_t i = 0; i < sessions->count; i++) {
		const struct rlk_candidate one = candidate(sessions, i);

		if (!rlk_pass_may_remove(pass))
			return;
		rlk_pass_set_until(pass);
		if (rlk_evict(pass->client, pass->conn, &one))
			pass->result->evicted++;
		pass->from->session = one.id;
	}
}

/* Log them by name only if all were evicted. */
static void tell_evicted(const struct sessions *sessions, uint64_t evicted)
{
	struct rowlock_client *client = sessions->pass->client;

	for (size_t i = 0; i < sessions->count; i++) {
		const struct rlk_candidate one = candidate(sessions, i);

		if (evicted == sessions->count)
			rlk_evict_tell(client, &one);
	}
	if (!evicted || evicted == sessions->count)
		return;
	rlk_stats_add(&client->stats.evicted, evicted);
	rlk_log(&client->log, ROWLOCK_LOG_INFO,
		"evicted %" PRIu64 " of %zu sessions", evicted,
		sessions->count);
}

static void evict(struct sessions *sessions)
{
	struct rlk_pass *pass = sessions->pass;
	const struct rlk_removal removal = {
		sessions->silent ? RLK_EVICT_SILENT : RLK_EVICT_EXPIRED,
		sessions->beats,
		sessions->count,
	};
	uint64_t evicted = 0;
	enum rlk_fault fault;

	/* The clock may have jumped since the look. */
	if (sessions->code || !sessions->count || !rlk_pass_may_remove(pass) ||
	    (!sessions->silent && !rlk_trusts_clock(pass->client))) {
		sessions->count = 0;
		return;
	}
	rlk_pass_set_until(pass);
	fault =
	    rlk_remove_many(pass->conn, &removal, &evicted, sessions->reterr);
	if (is_blocked(fault))
		evict_each(sessions);
	else if (fault)
		sessions->code =
		    rlk_client_code(pass->client, fault, sessions->reterr);
	else
		tell_evicted(sessions, evicted);
	pass->result->evicted += evicted;
	rlk_pass_rest(pass, sessions->count);
	sessions->count = 0;
}

static void on_session(const struct rlk_session_seen *seen, void *arg)
{
	struct sessions *sessions = arg;
	struct rowlock_client *client = sessions->pass->client;
	const struct rlk_last_beat beat = { seen->id, seen->beat };
	bool silent;

	if (sessions->seen == sessions->pass->batch)
		return;
	sessions->seen++;
	sessions->pass->sessions++;
	sessions->last_id = seen->id;
	rlk_judge_left(client, seen->left_us, seen->ttl_ms);
	silent = !rlk_trusts_clock(client);
	if (silent
		? !rlk_seen_silent(client, seen->id, seen->beat, seen->ttl_ms)
		: seen->left_us > 0)
		return;
	if (sessions->silent != silent || sessions->count == RLK_SWEEP_MOST)
		evict(sessions);
	sessions->silent = silent;
	sessions->beats[sessions->count] = beat;
	sessions->ttls_ms[sessions->count] = seen->ttl_ms;
	snprintf(sessions->who[sessions->count], sizeof(*sessions->who),
		 "process %" PRIu64 " on %s", seen->pid, seen->host);
	sessions->count++;
}

int rlk_reap_sessions(struct rlk_pass *pass, struct rowlock_errinfo *reterr)
{
	_cleanup_(free_p) struct sessions *sessions =
	    calloc(1, sizeof(*sessions));

	if (!sessions)
		return fail_memory(reterr);
	sessions->pass = pass;
	sessions->reterr = reterr;
	sessions->last_id = pass->from->session;
	do {
		enum rlk_fault fault;

		sessions->seen = 0;
		rlk_pass_set_until(pass);
		fault = rlk_sessions_after(pass->conn, sessions->last_id,
					   pass->batch, on_session, sessions,
					   reterr);
		if (fault) {
			sessions->code =
			    rlk_client_code(pass->client, fault, reterr);
			break;
		}
		evict(sessions);
		if (!pass->more)
			pass->from->session = sessions->last_id;
	} while (!sessions->code && sessions->seen == pass->batch &&
		 rlk_pass_goes_on(pass));
	if (sessions->code || !pass->more)
		pass->from->session = 0;
	return sessions->code;
}

/* ---------------------------------------------------------------- leases */

struct leases {
	struct rlk_pass *pass;
	struct rowlock_errinfo *reterr;
	int code; /* of a removal that failed; it is the last one */
	unsigned int seen;
	char last_name[RLK_NAME_SIZE];
	unsigned int last_slot;
	/* The leases without a session. */
	size_t count;
	struct rlk_dead_lease dead[RLK_SWEEP_MOST];
	struct rlk_holder holders[RLK_SWEEP_MOST];
	char names[RLK_SWEEP_MOST][RLK_NAME_SIZE];
};

static void go_on_behind(struct rlk_pass *pass, const char *name,
			 unsigned int slot)
{
	snprintf(pass->from->name, sizeof(pass->from->name), "%s", name);
	pass->from->slot = slot;
}

static void sweep_one(struct leases *leases, const char *name,
		      unsigned int slot, const struct rlk_holder *holder)
{
	struct rlk_pass *pass = leases->pass;

	if (!rlk_pass_may_remove(pass))
		return;
	rlk_pass_set_until(pass);
	pass->result->swept +=
	    rlk_sweep(pass->client, pass->conn, name, slot, holder);
	go_on_behind(pass, name, slot);
}

/* One line for all. */
static void tell_swept(const struct leases *leases, uint64_t swept)
{
	if (swept)
		rlk_log(&leases->pass->client->log, ROWLOCK_LOG_INFO,
			"swept %" PRIu64
			" leases of dead sessions, from '%s' to '%s'",
			swept, leases->names[0],
			leases->names[leases->count - 1]);
}

static void sweep(struct leases *leases)
{
	struct rlk_pass *pass = leases->pass;
	const struct rlk_removal removal = { RLK_SWEEP_DEAD, leases->dead,
					     leases->count };
	enum rlk_fault fault;
	uint64_t swept = 0;

	if (leases->code || !leases->count || !rlk_pass_may_remove(pass)) {
		leases->count = 0;
		return;
	}
	rlk_pass_set_until(pass);
	fault = rlk_remove_many(pass->conn, &removal, &swept, leases->reterr);
	if (is_blocked(fault))
		for (size_t i = 0; i < leases->count; i++)
			sweep_one(leases, leases->names[i], 0,
				  &leases->holders[i]);
	else if (fault)
		leases->code =
		    rlk_client_code(pass->client, fault, leases->reterr);
	else
		tell_swept(leases, swept);
	pass->result->swept += swept;
	rlk_pass_rest(pass, leases->count);
	leases->count = 0;
}

static void on_lease(const struct rlk_lease_seen *seen, void *arg)
{
	struct leases *leases = arg;
	char *name = leases->names[leases->count];

	if (leases->seen == leases->pass->batch)
		return;
	leases->seen++;
	snprintf(leases->last_name, sizeof(leases->last_name), "%s",
		 seen->name);
	leases->last_slot = seen->slot;
	if (!seen->holder.absent || seen->slot) {
		sweep_one(leases, leases->last_name, seen->slot, &seen->holder);
		return;
	}
	memcpy(name, leases->last_name, sizeof(leases->last_name));
	leases->holders[leases->count] = seen->holder;
	leases->dead[leases->count++] =
	    (struct rlk_dead_lease){ name, seen->holder.attempt };
	if (leases->count == RLK_SWEEP_MOST)
		sweep(leases);
}

int rlk_reap_leases(struct rlk_pass *pass, struct rowlock_errinfo *reterr)
{
	_cleanup_(free_p) struct leases *leases = calloc(1, sizeof(*leases));

	if (!leases)
		return fail_memory(reterr);
	leases->pass = pass;
	leases->reterr = reterr;
	memcpy(leases->last_name, pass->from->name, sizeof(leases->last_name));
	leases->last_slot = pass->from->slot;
	do {
		char from[sizeof(leases->last_name)];
		const struct rlk_lease_cursor cursor = {
			.name = from,
			.slot = leases->last_slot,
			.batch = pass->batch,
			.all_with_max = !rlk_trusts_clock(pass->client),
		};
		enum rlk_fault fault;

		memcpy(from, leases->last_name, sizeof(from));
		leases->seen = 0;
		rlk_pass_set_until(pass);
		fault = rlk_leases_dead(pass->conn, &cursor, on_lease, leases,
					reterr);
		if (fault) {
			leases->code =
			    rlk_client_code(pass->client, fault, reterr);
			break;
		}
		sweep(leases);
		if (!pass->more)
			go_on_behind(pass, leases->last_name,
				     leases->last_slot);
	} while (!leases->code && leases->seen == pass->batch &&
		 rlk_pass_goes_on(pass));
	if (leases->code || !pass->more)
		go_on_behind(pass, "", 0);
	return leases->code;
}
