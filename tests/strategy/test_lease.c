/* SPDX-License-Identifier: MIT */
/*
 * Leases: rows with the number of the request that made them.
 */
#include <string.h>

#include "ground.h"
#include "strategy/listing.h"
#include "strategy/reap.h"

/* A locking read of a row that is absent, under REPEATABLE READ, keeps new rows
 * out until its transaction ends; other programs have such ones. */
static void take(int who, const struct rlk_request *request)
{
	const uint64_t since = test_now_ns();
	enum rlk_fault verdict;

	while (rlk_fault_passes(
	    verdict = ground_ask(who, request, RLK_ASK_FIRST, NULL)))
		test_keep_waiting(since, "the gap to be free");
	assert_int_equal(verdict, RLK_DONE);
}

static uint64_t attempt_of(const char *name)
{
	return test_sql_number(ground->sql,
			       "SELECT attempt FROM business_lease WHERE "
			       "name = '%s'",
			       name);
}

LEASE("the same attempt is granted on another connection")
{
	struct rlk_request request = ground_request(0, test_name("again"));

	take(0, &request);
	/* As after a lost answer, once the old connection is gone. */
	take(1, &request);
	assert_int_equal(
	    test_sql_number(ground->sql,
			    "SELECT COUNT(*) FROM business_lease WHERE "
			    "name = '%s'",
			    request.name),
	    1);
	assert_true(ground_release(1, &request));
}

LEASE("'held' tells the holder")
{
	GROUND_TWO("holder");
	struct rlk_holder holder;

	a.max_hold_ms = 30000;
	take(0, &a);
	assert_int_equal(ground_ask(1, &b, RLK_ASK_FIRST, &holder), RLK_HELD);
	assert_true(holder.known);
	assert_true(holder.attempt == a.attempt);
	assert_true(holder.session == a.session);
	assert_false(holder.absent);
	assert_in_range(holder.left_us, 1, 60000000);
	assert_true(holder.has_max);
	assert_in_range(holder.max_left_us, 1, 30000000);
	/* Its session goes: it is dead. */
	test_sql(ground->sql, "DELETE FROM lease_session WHERE id = %llu",
		 (unsigned long long) a.session);
	assert_int_equal(ground_ask(1, &b, RLK_ASK_FIRST, &holder), RLK_HELD);
	assert_true(holder.known && holder.absent);
	assert_true(ground_release(0, &a));
}

LEASE("an expired session shows in the answer")
{
	GROUND_TWO("expired");
	struct rlk_holder holder;

	take(0, &a);
	test_sql(ground->sql,
		 "UPDATE lease_session SET expires_at = UTC_TIMESTAMP(6) - "
		 "INTERVAL 1 SECOND WHERE id = %llu",
		 (unsigned long long) a.session);
	/* Time alone frees nothing. */
	assert_int_equal(ground_ask(1, &b, RLK_ASK_AGAIN, NULL), RLK_HELD);
	assert_int_equal(ground_ask(1, &b, RLK_ASK_FIRST, &holder), RLK_HELD);
	assert_true(holder.known && !holder.absent && holder.left_us < 0);
	assert_true(ground_release(0, &a));
}

LEASE("a release with another attempt finds nothing")
{
	const char *name = test_name("attempt");
	struct rlk_request a = ground_request(0, name);
	struct rlk_request b = ground_request(0, name);

	take(0, &a);
	assert_false(ground_release(0, &b));
	assert_false(ground_release(1, &b));
	assert_false(ground_confirm(0, &b));
	assert_true(attempt_of(name) == a.attempt);
	assert_true(ground_release(1, &a));
	assert_false(ground_release(0, &a));
	assert_false(ground_confirm(0, &a));
}

LEASE("confirm needs row and session")
{
	struct rlk_request a = ground_request(0, test_name("confirm"));

	take(0, &a);
	assert_true(ground_confirm(1, &a));
	test_sql(ground->sql, "DELETE FROM lease_session WHERE id = %llu",
		 (unsigned long long) a.session);
	assert_false(ground_confirm(0, &a));
	assert_true(ground_release(0, &a));
}

LEASE("a stale attempt draws nothing")
{
	GROUND_TWO("stale");
	uint64_t token;

	assert_int_equal(ground_draw(&a), 0);
	assert_int_equal(test_sql_number(ground->sql,
					 "SELECT COUNT(*) FROM lock_token "
					 "WHERE name = '%s'",
					 name),
			 0);
	take(0, &a);
	assert_true(ground_draw(&a) > 0);
	assert_true(ground_release(0, &a));
	take(1, &b);
	token = ground_draw(&b);
	assert_int_equal(ground_draw(&a), 0);
	assert_int_equal(test_sql_number(ground->sql,
					 "SELECT token FROM lock_token WHERE "
					 "name = '%s'",
					 name),
			 token);
	assert_true(ground_release(1, &b));
}

struct listed {
	unsigned int entries;
	uint64_t attempt;
	uint64_t token;
};

static int on_entry(const struct rowlock_entry *entry, void *arg)
{
	struct listed *listed = arg;

	listed->entries++;
	listed->attempt = entry->attempt;
	listed->token = entry->token;
	return 0;
}

/* The list says @token for the hold of @request. */
static void assert_listed(const struct rlk_request *request, uint64_t token)
{
	struct listed listed = { 0 };
	struct rlk_listing listing =
	    rlk_listing_begin(request->name, on_entry, &listed);

	assert_int_equal(rlk_list_leases(ground->conns[0], &listing, &err),
			 RLK_DONE);
	assert_int_equal(listed.entries, 1);
	assert_true(listed.attempt == request->attempt);
	assert_true(listed.token == token);
}

LEASE("a hold is listed with its own token, or with none")
{
	GROUND_TWO("listed");

	take(0, &a);
	assert_listed(&a, 0);
	assert_listed(&a, ground_draw(&a));
	assert_listed(&a, ground_draw(&a));
	assert_true(ground_release(0, &a));
	take(1, &b);
	assert_listed(&b, 0);
	assert_listed(&b, ground_draw(&b));
	assert_true(ground_release(1, &b));
}

struct names {
	struct rowlock_entry entries[4];
	unsigned int count;
};

static int on_name(const struct rowlock_entry *entry, void *arg)
{
	struct names *names = arg;

	if (names->count < TEST_SIZE(names->entries))
		names->entries[names->count] = *entry;
	names->count++;
	return 0;
}

/* Their numbers: the texts are gone by now. */
static const struct rowlock_entry *look_at_names(const char *const *names,
						 size_t count,
						 struct names *ret_names)
{
	ret_names->count = 0;
	assert_int_equal(rlk_list_names(ground->conns[0], names, count, on_name,
					ret_names, &err),
			 RLK_DONE);
	assert_int_equal(ret_names->count, count);
	return ret_names->entries;
}

LEASE("names are told of whether they are held or not")
{
	struct rlk_request held = ground_request(0, test_name("a'"));
	struct rlk_request dead = ground_request(1, test_name("b"));
	const char *const one[] = { held.name };
	const char *const other[] = { dead.name };
	const char *const both[] = { held.name, dead.name };
	const struct rowlock_entry *entry;
	struct names names;
	uint64_t token;

	test_sql(ground->sql, "UPDATE lock_token_floor SET token = "
			      "GREATEST(token, 4711) WHERE id = 1");
	entry = look_at_names(one, 1, &names);
	assert_int_equal(entry->state, ROWLOCK_STATE_FREE);
	assert_true(!entry->attempt && !entry->token && !entry->last_token);
	assert_true(entry->collected >= 4711);
	take(0, &held);
	entry = look_at_names(one, 1, &names);
	assert_int_equal(entry->state, ROWLOCK_STATE_HELD);
	assert_true(entry->attempt == held.attempt && !entry->last_token);
	assert_true(entry->session == held.session && entry->remaining_ms > 0);
	token = ground_draw(&held);
	entry = look_at_names(one, 1, &names);
	assert_true(entry->token == token && entry->last_token == token);
	/* The next holder has drawn none. */
	assert_true(ground_release(0, &held));
	entry = look_at_names(one, 1, &names);
	assert_int_equal(entry->state, ROWLOCK_STATE_FREE);
	assert_true(!entry->attempt && !entry->token);
	assert_true(entry->last_token == token);
	held.attempt++;
	take(0, &held);
	entry = look_at_names(one, 1, &names);
	assert_int_equal(entry->state, ROWLOCK_STATE_HELD);
	assert_true(!entry->token && entry->last_token == token);
	take(1, &dead);
	/* Since when it is dead is told as long as there is a row that says. */
	test_sql(ground->sql,
		 "UPDATE lease_session SET expires_at = UTC_TIMESTAMP(6) "
		 "- INTERVAL 1 HOUR WHERE id = %llu",
		 (unsigned long long) dead.session);
	entry = look_at_names(other, 1, &names);
	assert_int_equal(entry->state, ROWLOCK_STATE_DEAD);
	assert_true(entry->expired_ms >= 3600000 && !entry->remaining_ms);
	test_sql(ground->sql, "DELETE FROM lease_session WHERE id = %llu",
		 (unsigned long long) dead.session);
	entry = look_at_names(other, 1, &names);
	assert_int_equal(entry->state, ROWLOCK_STATE_DEAD);
	assert_true(!entry->expired_ms);
	entry = look_at_names(both, 2, &names);
	assert_true(entry[0].attempt + entry[1].attempt ==
		    held.attempt + dead.attempt);
	assert_true(ground_release(0, &held));
	assert_true(ground_release(1, &dead));
}

/* Somebody deletes the lease and has not committed: a token that is drawn now
 * could be shown when the next holder has drawn his. */
LEASE("a token is not drawn while the lease is being taken")
{
	struct rlk_request request = ground_request(0, test_name("taken"));
	uint64_t token = 0;

	take(0, &request);
	test_sql(ground->sql, "START TRANSACTION");
	assert_int_equal(
	    test_sql(ground->sql,
		     "DELETE FROM business_lease WHERE name = '%s'",
		     request.name),
	    1);
	assert_int_equal(
	    ground->strategy->draw(ground->beside, &request, &token, &err),
	    RLK_BUSY);
	assert_true(token == 0);
	test_sql(ground->sql, "COMMIT");
	assert_true(ground_draw(&request) == 0);
}

LEASE("a look shows all and takes nothing")
{
	struct rlk_request a = ground_request(0, test_name("look"));
	struct rlk_holder holder = { .known = true };

	assert_done(ground->strategy->look(ground->beside, &a, &holder, &err));
	assert_false(holder.known);
	a.max_hold_ms = 5000;
	take(0, &a);
	assert_done(ground->strategy->look(ground->beside, &a, &holder, &err));
	assert_true(holder.known && holder.looked && !holder.absent);
	assert_true(holder.attempt == a.attempt);
	assert_true(holder.session == a.session);
	assert_int_equal(holder.beat, 0);
	assert_int_equal(holder.ttl_ms, 60000);
	assert_true(holder.has_max);
	assert_int_equal(holder.max_ms, 5000);
	assert_true(ground_release(0, &a));
}

LEASE("a poll does not wait behind a guard")
{
	GROUND_TWO("guard");

	/* Whoever waits here is seen by its deadline. */
	rlk_conn_close(ground->conns[1]);
	ground->conns[1] = ground_open(true, 50);
	take(0, &a);
	test_sql(ground->sql, "START TRANSACTION");
	assert_true(test_sql_number(ground->sql,
				    "SELECT attempt FROM business_lease "
				    "WHERE name = '%s' LOCK IN SHARE MODE",
				    name) == a.attempt);
	assert_int_equal(ground_ask(1, &b, RLK_ASK_AGAIN, NULL), RLK_HELD);
	assert_true(ground_confirm(1, &a));
	/* A draw locks in share mode too, and a beat another row. */
	assert_true(ground_draw(&a) > 0);
	test_sql(ground->sql, "COMMIT");
	assert_true(ground_release(0, &a));
}

LEASE("a first try behind a guard is no verdict, or held")
{
	GROUND_TWO("first");
	enum rlk_fault verdict;

	/* Whoever waits here is seen by its deadline, which is no verdict. */
	rlk_conn_close(ground->conns[1]);
	ground->conns[1] = ground_open(true, 5000);
	take(0, &a);
	test_sql(ground->sql, "START TRANSACTION");
	test_sql_number(ground->sql,
			"SELECT attempt FROM business_lease WHERE "
			"name = '%s' LOCK IN SHARE MODE",
			name);
	verdict = ground_ask(1, &b, RLK_ASK_FIRST, NULL);
	assert_true(rlk_fault_passes(verdict) || verdict == RLK_HELD);
	test_sql(ground->sql, "COMMIT");
	assert_int_equal(ground_ask(1, &b, RLK_ASK_FIRST, NULL), RLK_HELD);
	assert_true(ground_release(0, &a));
}

LEASE("a guarded lease is not released")
{
	struct rlk_request a = ground_request(0, test_name("guarded"));
	bool found;

	take(0, &a);
	test_sql(ground->sql, "START TRANSACTION");
	test_sql_number(ground->sql,
			"SELECT attempt FROM business_lease WHERE "
			"name = '%s' LOCK IN SHARE MODE",
			a.name);
	assert_int_equal(
	    ground->strategy->release(ground->conns[0], &a, &found, &err),
	    RLK_BUSY);
	test_sql(ground->sql, "COMMIT");
	assert_true(ground_release(0, &a));
}

LEASE("a break ends the hold and tells its session")
{
	struct rlk_request a = ground_request(0, test_name("break"));
	struct rlk_request b = ground_request(0, test_name("other"));
	const struct rlk_session_row row = { .id = a.session, .ttl_ms = 60000 };
	struct rlk_beat beat;
	bool found = true;

	assert_done(
	    ground->strategy->end(ground->beside, a.name, &found, &err));
	assert_false(found);
	take(0, &a);
	take(0, &b);
	assert_done(
	    ground->strategy->end(ground->beside, a.name, &found, &err));
	assert_true(found);
	assert_int_equal(attempt_of(a.name), 0);
	assert_true(attempt_of(b.name) == b.attempt);
	assert_done(rlk_session_beat(ground->conns[1], &row, &beat, &err));
	assert_true(beat.alive);
	assert_int_equal(beat.breaks, 1);
	/* Nothing is left open on the connection that did it. */
	test_sql(ground->sql, "DELETE FROM lease_session WHERE id = %llu",
		 (unsigned long long) a.session);
	assert_false(ground_release(0, &a));
	assert_true(ground_release(0, &b));
}

static void note(uint64_t attempt, void *arg)
{
	uint64_t *sum = arg;

	*sum ^= attempt;
}

LEASE("the leases of a session are all of them and no others")
{
	struct rlk_request a = ground_request(0, test_name("a"));
	struct rlk_request b = ground_request(0, test_name("b"));
	struct rlk_request c = ground_request(1, test_name("c"));
	uint64_t sum = 0;

	take(0, &a);
	take(0, &b);
	take(1, &c);
	assert_done(rlk_leases_of(ground->beside, a.session, note, &sum, &err));
	assert_true(sum == (a.attempt ^ b.attempt));
	assert_true(ground_release(0, &a));
	assert_true(ground_release(0, &b));
	assert_true(ground_release(1, &c));
}

CASE_MAIN(test_main)
