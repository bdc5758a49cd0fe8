/* SPDX-License-Identifier: MIT */
/*
 * Sessions and sweeps: what is alive is never touched, and what is dead is
 * dead for ever.
 */
#include <string.h>

#include "base/random.h"
#include "ground.h"
#include "strategy/reap.h"

static uint64_t column_of(uint64_t id, const char *column)
{
	return test_sql_number(ground->sql,
			       "SELECT %s FROM lease_session WHERE id = %llu",
			       column, (unsigned long long) id);
}

static void set_expiry(uint64_t id, int seconds)
{
	test_sql(ground->sql,
		 "UPDATE lease_session SET expires_at = UTC_TIMESTAMP(6) + "
		 "INTERVAL %d SECOND WHERE id = %llu",
		 seconds, (unsigned long long) id);
}

static bool beat(uint64_t id, uint64_t ttl_ms)
{
	const struct rlk_session_row row = { .id = id, .ttl_ms = ttl_ms };
	struct rlk_beat beat;

	assert_done(rlk_session_beat(ground->beside, &row, &beat, &err));
	return beat.alive;
}

static bool evict_expired(uint64_t id)
{
	bool evicted = false;

	assert_done(
	    rlk_session_evict_expired(ground->beside, id, &evicted, &err));
	return evicted;
}

static bool evict_silent(uint64_t id, uint64_t seen)
{
	bool evicted = false;

	assert_done(
	    rlk_session_evict_silent(ground->beside, id, seen, &evicted, &err));
	return evicted;
}

static bool sweep_dead(const struct rlk_request *request)
{
	bool swept = false;

	assert_done(
	    rlk_lease_sweep_dead(ground->beside, request, &swept, &err));
	return swept;
}

static bool sweep_expired(const struct rlk_request *request)
{
	bool swept = false;

	assert_done(
	    rlk_lease_sweep_expired(ground->beside, request, &swept, &err));
	return swept;
}

static void take(const struct rlk_request *request)
{
	assert_int_equal(ground_ask(0, request, RLK_ASK_FIRST, NULL), RLK_DONE);
}

LEASE("a beat moves the end and counts")
{
	uint64_t id = ground->sessions[0];

	set_expiry(id, 1);
	assert_true(beat(id, 60000));
	assert_int_equal(column_of(id, "beat"), 1);
	assert_int_equal(
	    column_of(id, "expires_at > UTC_TIMESTAMP(6) + INTERVAL 30 SECOND"),
	    1);
	assert_int_equal(
	    column_of(id,
		      "expires_at <= UTC_TIMESTAMP(6) + INTERVAL 60 SECOND"),
	    1);
}

/* As one does that waited in the server: its time is that of its beginning. */
LEASE("a beat that comes late moves no end backwards")
{
	uint64_t id = ground->sessions[0];

	set_expiry(id, 600);
	assert_true(beat(id, 60000));
	assert_int_equal(
	    column_of(id,
		      "expires_at > UTC_TIMESTAMP(6) + INTERVAL 500 SECOND"),
	    1);
}

LEASE("a beat that changes no time still counts")
{
	uint64_t id = ground->sessions[0];

	set_expiry(id, 3600);
	for (uint64_t i = 1; i <= 3; i++) {
		assert_true(beat(id, 1000));
		assert_int_equal(column_of(id, "beat"), i);
	}
	/* Nor has one that came late shortened anything. */
	assert_int_equal(
	    column_of(id,
		      "expires_at > UTC_TIMESTAMP(6) + INTERVAL 3000 SECOND"),
	    1);
}

LEASE("a beat of an evicted session says so")
{
	uint64_t id = ground->sessions[0];

	assert_done(rlk_session_close(ground->beside, id, &err));
	assert_false(beat(id, 60000));
	assert_false(beat(id, 60000));
	assert_done(rlk_session_close(ground->beside, id, &err));
	assert_int_equal(column_of(id, "COUNT(*)"), 0);
	assert_true(beat(ground->sessions[1], 60000));
}

LEASE("an expired session that beats lives on")
{
	uint64_t id = ground->sessions[0];

	set_expiry(id, -5);
	assert_true(beat(id, 60000));
	assert_false(evict_expired(id));
}

LEASE("an id is never used twice")
{
	const struct rlk_session_row row = {
		.id = ground->sessions[0],
		.ttl_ms = 60000,
		.host = "h",
		.program = "p",
	};

	assert_int_equal(rlk_session_open(ground->beside, &row, &err),
			 RLK_REFUSED);
	assert_int_equal(err.code, ROWLOCK_EDB);
	assert_int_equal(err.mysql, 1062);
}

LEASE("only an expired session is evicted by the clock")
{
	uint64_t id = ground->sessions[0];

	assert_false(evict_expired(id));
	set_expiry(id, -1);
	assert_false(evict_expired(rlk_random()));
	assert_true(evict_expired(id));
	assert_false(evict_expired(id));
	assert_int_equal(column_of(ground->sessions[1], "COUNT(*)"), 1);
}

LEASE("only a session that shows the same beat is evicted")
{
	uint64_t id = ground->sessions[0];

	assert_true(beat(id, 60000));
	assert_false(evict_silent(id, 0));
	assert_false(evict_silent(id, 2));
	assert_true(evict_silent(id, 1));
	assert_false(evict_silent(id, 1));
}

LEASE("a lease of a living session is never swept")
{
	struct rlk_request a = ground_request(0, test_name("live"));

	take(&a);
	assert_false(sweep_dead(&a));
	assert_false(sweep_expired(&a));
	/* Expired, but not evicted: it may still beat. */
	set_expiry(a.session, -10);
	assert_false(sweep_dead(&a));
	assert_true(ground_confirm(0, &a));
	assert_true(ground_release(0, &a));
}

LEASE("a lease without a session is swept by its attempt")
{
	struct rlk_request a = ground_request(0, test_name("dead"));
	struct rlk_request other = a;

	take(&a);
	set_expiry(a.session, -1);
	assert_true(evict_expired(a.session));
	other.attempt = rlk_random();
	assert_false(sweep_dead(&other));
	other = a;
	other.slot = 1;
	assert_false(sweep_dead(&other));
	assert_true(sweep_dead(&a));
	assert_false(sweep_dead(&a));
	/* The name is free for the living. */
	a = ground_request(1, a.name);
	take(&a);
	assert_false(sweep_dead(&a));
	assert_true(ground_release(0, &a));
}

LEASE("a lease past its maximum is swept")
{
	struct rlk_request a = ground_request(0, test_name("maximum"));

	a.max_hold_ms = 60000;
	take(&a);
	assert_false(sweep_expired(&a));
	test_sql(ground->sql,
		 "UPDATE business_lease SET expires_at = UTC_TIMESTAMP(6) - "
		 "INTERVAL 1 SECOND WHERE name = '%s'",
		 a.name);
	assert_false(sweep_dead(&a));
	assert_true(sweep_expired(&a));
	assert_true(beat(a.session, 60000));
}

struct seen {
	uint64_t ids[2];
	unsigned int count;
	uint64_t last;
	bool in_order;
	const char *name;
	bool absent;
	bool past_maximum;
};

static void see_session(const struct rlk_session_seen *session, void *arg)
{
	struct seen *seen = arg;

	if (session->id <= seen->last)
		seen->in_order = false;
	seen->last = session->id;
	for (int i = 0; i < 2; i++)
		if (session->id == seen->ids[i] && session->ttl_ms == 60000 &&
		    !strcmp(session->host, "test") &&
		    (session->left_us <= 0) == (i == 1))
			seen->count++;
}

LEASE("looks go through all sessions page by page")
{
	struct seen seen = { .ids = { ground->sessions[0],
				      ground->sessions[1] },
			     .in_order = true };
	uint64_t before;

	set_expiry(ground->sessions[1], -1);
	do {
		before = seen.last;
		assert_done(rlk_sessions_after(ground->beside, before, 1,
					       see_session, &seen, &err));
	} while (seen.last != before);
	assert_int_equal(seen.count, 2);
	assert_true(seen.in_order);
}

static void see_lease(const struct rlk_lease_seen *lease, void *arg)
{
	struct seen *seen = arg;

	if (strcmp(lease->name, seen->name) != 0)
		return;
	seen->count++;
	seen->absent = lease->holder.absent;
	seen->past_maximum =
	    lease->holder.has_max && lease->holder.max_left_us <= 0;
}

static struct seen look_for(const char *name, bool all_with_max)
{
	const struct rlk_lease_cursor cursor = {
		.name = "",
		.batch = 10000,
		.all_with_max = all_with_max,
	};
	struct seen seen = { .name = name };

	assert_done(
	    rlk_leases_dead(ground->beside, &cursor, see_lease, &seen, &err));
	return seen;
}

LEASE("looks find the dead only")
{
	struct rlk_request a = ground_request(0, test_name("found"));
	struct seen seen;

	a.max_hold_ms = 60000;
	take(&a);
	assert_int_equal(look_for(a.name, false).count, 0);
	assert_int_equal(look_for(a.name, true).count, 1);
	test_sql(ground->sql,
		 "UPDATE business_lease SET expires_at = UTC_TIMESTAMP(6) - "
		 "INTERVAL 1 SECOND WHERE name = '%s'",
		 a.name);
	seen = look_for(a.name, false);
	assert_int_equal(seen.count, 1);
	assert_true(seen.past_maximum && !seen.absent);
	test_sql(ground->sql, "DELETE FROM lease_session WHERE id = %llu",
		 (unsigned long long) a.session);
	seen = look_for(a.name, false);
	assert_int_equal(seen.count, 1);
	assert_true(seen.absent);
	assert_true(ground_release(0, &a));
}

struct old_tokens {
	const char *name;
	unsigned int dropped;
	bool row;
};

static void drop_mine(const struct rlk_token_seen *seen, void *arg)
{
	struct old_tokens *old = arg;
	enum rlk_fault fault;
	uint64_t floor = 0;
	bool dropped = false;

	if (strcmp(seen->name, old->name))
		return;
	old->row = strcmp(seen->strategy, "row") == 0;
	/* The reader of rows may run other statements. Other tests draw at this
	 * moment, which locks the floor: a reaper leaves it to its next pass.
	 */
	do
		fault = rlk_token_collect(ground->beside, seen, &floor,
					  &dropped, &err);
	while (fault == RLK_BUSY || fault == RLK_CONFLICT);
	assert_done(fault);
	old->dropped += dropped;
}

static void age_token(const char *name, const char *strategy, const char *days)
{
	test_sql(ground->sql,
		 "REPLACE INTO lock_token (strategy, name, token, drawn_at) "
		 "VALUES ('%s', '%s', 77, UTC_TIMESTAMP(6) - INTERVAL %s DAY)",
		 strategy, name, days);
}

LEASE("only tokens that nobody drew for long are dropped")
{
	struct old_tokens old = { test_name("token"), 0, false };
	struct rlk_token_seen young = { "lease", old.name, 77 };
	uint64_t floor = 0;
	bool dropped = false;

	age_token(old.name, "lease", "29");
	age_token(old.name, "row", "31");
	assert_done(
	    rlk_tokens_old(ground->beside, 10000, drop_mine, &old, &err));
	assert_int_equal(old.dropped, 1);
	assert_true(old.row);
	/* One that was drawn since the look stays. */
	assert_done(
	    rlk_token_collect(ground->beside, &young, &floor, &dropped, &err));
	assert_false(dropped);
	assert_int_equal(test_sql_number(ground->sql,
					 "SELECT COUNT(*) FROM lock_token "
					 "WHERE name = '%s'",
					 old.name),
			 1);
}

LEASE("a break in the way of a guard leaves no transaction")
{
	struct rlk_request a = ground_request(0, test_name("guarded"));
	bool found = false;
	uint64_t beats;

	take(&a);
	beats = column_of(a.session, "beat");
	test_sql(ground->sql, "START TRANSACTION");
	assert_int_equal(test_sql_number(ground->sql,
					 "SELECT COUNT(*) FROM business_lease "
					 "WHERE name = '%s' LOCK IN SHARE MODE",
					 a.name),
			 1);
	assert_int_equal(
	    ground->strategy->end(ground->beside, a.name, &found, &err),
	    RLK_BUSY);
	test_sql(ground->sql, "COMMIT");
	/* What comes next on that connection is committed at once. */
	assert_true(beat(a.session, 60000));
	assert_int_equal(column_of(a.session, "beat"), beats + 1);
	assert_true(ground_confirm(0, &a));
	assert_done(
	    ground->strategy->end(ground->beside, a.name, &found, &err));
	assert_true(found);
	assert_false(ground_release(0, &a));
}

CASE_MAIN(test_main)
