/* SPDX-License-Identifier: MIT */
/*
 * Removes a dead holder, for a contender that meets one, and for the reaper,
 * which cleans up names without contenders.
 *
 * The server's clock decides quickly, inside the statement that deletes, so no
 * race is possible. Where it must not decide (Galera, after a jump, or by the
 * client's option) only our observation counts: the same beat for the session's
 * TTL and a margin by our own clock.
 */
#include "hold/clear.h"

#include "core/call.h"
#include "strategy/sweep.h"

#include <inttypes.h>

#define TRIES 5

/* A clock that jumped is trusted again after this time without another jump. */
#define QUIET_MS (24 * 60 * 60 * 1000ll)

bool rlk_trusts_clock(struct rowlock_client *client)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);

	return !client->observe &&
	       (client->jumped_ms == RLK_NEVER ||
		rlk_now(client->clock) >= client->jumped_ms + QUIET_MS);
}

void rlk_clock_jumped(struct rowlock_client *client, int64_t jump_ms)
{
	bool trusted = rlk_trusts_clock(client);

	rlk_mutex_lock(&client->mutex);
	client->jumped_ms = rlk_now(client->clock);
	rlk_mutex_unlock(&client->mutex);
	if (trusted)
		rlk_log(&client->log, ROWLOCK_LOG_WARNING,
			"the clock of %s jumped by %" PRId64
			" ms: until it has kept its pace for a day, only "
			"missing beats tell who is dead",
			client->server, jump_ms);
}

void rlk_judge_left(struct rowlock_client *client, int64_t left_us,
		    uint64_t ttl_ms)
{
	int64_t most_ms = (int64_t) (ttl_ms + rlk_margin(ttl_ms));

	if (left_us / 1000 > most_ms)
		rlk_clock_jumped(
		    client, (int64_t) (ttl_ms - (uint64_t) (left_us / 1000)));
}

/* Is the failure transient, as another client removes the same row? A wait that
 * took the connection's whole lock timeout (RLK_BUSY) met a long transaction:
 * leave the row for a later look. */
static bool passes(enum rlk_fault fault, int *tries)
{
	return (fault == RLK_CONFLICT || fault == RLK_KILLED) &&
	       ++*tries < TRIES;
}

bool rlk_seen_silent(struct rowlock_client *client, uint64_t id, uint64_t beat,
		     uint64_t period_ms)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);
	int64_t unchanged = rlk_observer_see(&client->observer, id, beat,
					     rlk_now(client->clock));

	return unchanged >= (int64_t) (period_ms + rlk_margin(period_ms));
}

int64_t rlk_silent_in_ms(struct rowlock_client *client,
			 const struct rlk_holder *holder)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);
	uint64_t ms = holder->ttl_ms + rlk_margin(holder->ttl_ms);

	return (int64_t) ms - rlk_observer_see(&client->observer,
					       holder->session, holder->beat,
					       rlk_now(client->clock));
}

static enum rlk_fault evict_once(struct rowlock_client *client,
				 struct rlk_conn *conn,
				 const struct rlk_candidate *session,
				 bool *ret_evicted)
{
	struct rowlock_errinfo error;

	if (rlk_trusts_clock(client))
		return rlk_session_evict_expired(conn, session->id, ret_evicted,
						 &error);
	if (rlk_seen_silent(client, session->id, session->beat,
			    session->ttl_ms))
		return rlk_session_evict_silent(
		    conn, session->id, session->beat, ret_evicted, &error);
	return RLK_DONE;
}

void rlk_evict_tell(struct rowlock_client *client,
		    const struct rlk_candidate *session)
{
	rlk_stats_add(&client->stats.evicted, 1);
	rlk_log(&client->log, ROWLOCK_LOG_INFO,
		"evicted session %" PRIu64 "%s%s", session->id,
		session->who ? " of " : "", session->who ? session->who : "");
}

static enum rlk_fault evict(struct rowlock_client *client,
			    struct rlk_conn *conn,
			    const struct rlk_candidate *session,
			    bool *ret_evicted)
{
	enum rlk_fault fault;
	int tries = 0;

	*ret_evicted = false;
	do
		fault = evict_once(client, conn, session, ret_evicted);
	while (passes(fault, &tries));
	if (!fault && *ret_evicted)
		rlk_evict_tell(client, session);
	return fault;
}

bool rlk_evict(struct rowlock_client *client, struct rlk_conn *conn,
	       const struct rlk_candidate *session)
{
	bool evicted;

	return !evict(client, conn, session, &evicted) && evicted;
}

/* Sweep a lease past its maximum, by the server's clock or our observation. */
static enum rlk_fault sweep_past_maximum(struct rowlock_client *client,
					 struct rlk_conn *conn,
					 const struct rlk_request *request,
					 const struct rlk_holder *holder,
					 uint64_t *ret_swept)
{
	struct rowlock_errinfo error;
	enum rlk_fault fault = RLK_DONE;
	bool swept = false;

	if (rlk_trusts_clock(client))
		fault = rlk_lease_sweep_expired(conn, request, &swept, &error);
	else if (holder->looked &&
		 rlk_seen_silent(client, holder->attempt, 0, holder->max_ms))
		fault = rlk_strategy(ROWLOCK_LEASE)
			    ->release(conn, request, &swept, &error);
	*ret_swept = swept;
	return fault;
}

/* Sweep a lease whose session is absent. Slot 0 is a lock's, which has one. */
static enum rlk_fault sweep_dead(struct rlk_conn *conn,
				 const struct rlk_request *request,
				 uint64_t *ret_swept)
{
	struct rowlock_errinfo error;
	enum rlk_fault fault;
	bool swept = false;

	if (request->slot)
		return rlk_sweep_name(conn, request->name, ret_swept, &error);
	fault = rlk_lease_sweep_dead(conn, request, &swept, &error);
	*ret_swept = swept;
	return fault;
}

static void tell_swept(struct rowlock_client *client, const char *name,
		       const struct rlk_holder *holder, uint64_t count)
{
	if (count > 1)
		rlk_log(&client->log, ROWLOCK_LOG_INFO,
			"swept %" PRIu64 " leases on '%s' of dead sessions",
			count, name);
	else
		rlk_log(&client->log, ROWLOCK_LOG_INFO,
			"swept the lease on '%s' of %s %" PRIu64, name,
			holder->absent ? "dead session" : "session",
			holder->session);
}

uint64_t rlk_sweep(struct rowlock_client *client, struct rlk_conn *conn,
		   const char *name, unsigned int slot,
		   const struct rlk_holder *holder)
{
	const struct rlk_request request = {
		.name = name,
		.slot = slot,
		.attempt = holder->attempt,
	};
	enum rlk_fault fault;
	uint64_t swept = 0;
	int tries = 0;

	do
		fault = holder->absent
			    ? sweep_dead(conn, &request, &swept)
			    : sweep_past_maximum(client, conn, &request, holder,
						 &swept);
	while (passes(fault, &tries));
	if (fault || !swept)
		return 0;
	tell_swept(client, name, holder, swept);
	return swept;
}

/* Returns true if its session may be gone now, even if nothing was deleted: of
 * several clients that meet a dead holder, one evicts and all sweep. */
static bool evict_holder(struct rowlock_client *client, struct rlk_conn *conn,
			 const struct rlk_holder *holder)
{
	const struct rlk_candidate session = {
		.id = holder->session,
		.beat = holder->beat,
		.ttl_ms = holder->ttl_ms,
	};
	bool evicted;

	if (rlk_trusts_clock(client)
		? holder->left_us > 0
		: !holder->looked ||
		      !rlk_seen_silent(client, session.id, session.beat,
				       session.ttl_ms))
		return false;
	return !evict(client, conn, &session, &evicted);
}

/* Observe even while the clock is trusted: if it jumps before this holder's
 * time is up, part of the observation is done. */
static void note_beat(struct rowlock_client *client,
		      const struct rlk_holder *holder)
{
	if (holder->looked)
		rlk_seen_silent(client, holder->session, holder->beat,
				holder->ttl_ms);
	rlk_judge_left(client, holder->left_us, holder->ttl_ms);
}

bool rlk_may_be_dead(struct rowlock_client *client,
		     const struct rlk_holder *holder)
{
	if (!holder->absent)
		note_beat(client, holder);
	if (!rlk_trusts_clock(client) || holder->absent)
		return true;
	return holder->left_us <= 0 ||
	       (holder->has_max && holder->max_left_us <= 0);
}

bool rlk_clear_dead(struct rowlock_client *client, struct rlk_conn *conn,
		    const struct rlk_request *request,
		    struct rlk_holder *holder)
{
	const struct rlk_strategy *lease = rlk_strategy(ROWLOCK_LEASE);
	struct rowlock_errinfo error;

	/* Without the server's clock we have to see the holder's beat. */
	if (!rlk_trusts_clock(client) && !holder->looked &&
	    lease->look(conn, request, holder, &error))
		return false;
	if (!holder->known)
		return true; /* the row is gone */
	if (!holder->absent && evict_holder(client, conn, holder))
		holder->absent = true;
	if (holder->absent || (holder->has_max && (!rlk_trusts_clock(client) ||
						   holder->max_left_us <= 0)))
		return rlk_sweep(client, conn, request->name, request->slot,
				 holder) > 0;
	return false;
}

bool rlk_clears_together(struct rowlock_client *client,
			 const struct rlk_holder *holder)
{
	return holder->absent || rlk_trusts_clock(client);
}

void rlk_clear_tell(struct rowlock_client *client, const struct rlk_part *part)
{
	const struct rlk_candidate session = { .id = part->holder.session };
	struct rlk_holder holder = part->holder;

	holder.absent = holder.absent || holder.left_us <= 0;
	if (part->evicted)
		rlk_evict_tell(client, &session);
	if (part->swept)
		tell_swept(client, part->request.name, &holder, 1);
}
