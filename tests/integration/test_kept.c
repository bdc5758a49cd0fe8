// SPDX-License-Identifier: MIT
/*
 * Names that stay taken for some time after their grant (at_least_ms).
 */
#include <rowlock/admin.h>
#include <rowlock/election.h>
#include <rowlock/multilock.h>
#include <rowlock/rwlock.h>
#include <rowlock/semaphore.h>
#include <string.h>

#include "holder.h"
#include "sql.h"
#include "test.h"

#define TTL_MS 10000
#define SHORT_TTL_MS 1000
#define HOUR_MS 3600000
#define BEAT_OF "SELECT beat FROM lease_session WHERE id = %llu"

static struct rowlock *make(struct rowlock_client *client, const char *name,
			    uint64_t at_least_ms)
{
	const struct rowlock_options options = { .size = sizeof(options),
						 .at_least_ms = at_least_ms };
	struct rowlock *lock = NULL;

	assert_ok(rowlock_new(client, name, &options, &lock, &err));
	return lock;
}

static void hold_for_a_moment(struct rowlock *lock)
{
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_release(lock, &err));
}

static void expect(struct rowlock *lock, uint64_t wait_ms, int code)
{
	test_code(rowlock_acquire(lock, wait_ms, &err), code, &err, "acquire",
		  __FILE__, __LINE__);
}

struct seen {
	int entries;
	enum rowlock_state state;
	uint64_t remaining_ms;
	uint64_t session;
	uint64_t attempt;
};

static int see(const struct rowlock_entry *entry, void *arg)
{
	*(struct seen *) arg = (struct seen){
		((struct seen *) arg)->entries + 1,
		entry->state,
		entry->remaining_ms,
		entry->session,
		entry->attempt,
	};
	return 0;
}

static struct seen look(struct rowlock_client *client, const char *name)
{
	struct rowlock_list_options options = ROWLOCK_LIST_OPTIONS_DEFAULT;
	struct seen seen = { .entries = 0 };

	options.name = name;
	options.flags = ROWLOCK_LIST_LEASES;
	assert_ok(rowlock_list(client, &options, see, &seen, &err));
	return seen;
}

static void expect_kept(struct rowlock_client *client, struct test_sql *sql,
			const char *name)
{
	struct seen seen = look(client, name);
	char *state = test_sql_text(
	    sql, "SELECT state FROM lock_status WHERE name = '%s'", name);

	assert_int_equal(seen.entries, 1);
	assert_int_equal(seen.state, ROWLOCK_STATE_KEPT);
	assert_true(seen.remaining_ms <= HOUR_MS);
	assert_true(seen.remaining_ms > HOUR_MS / 2);
	assert_string_equal(state, "kept\n");
	free(state);
}

CASE("a released lock stays taken, as nobody's, until it is broken")
{
	const char *name = test_name("released");
	struct rowlock_client *client = test_client(TTL_MS);
	TEST_CLIENT(other, test_client(TTL_MS));
	struct rowlock *lock = make(client, name, HOUR_MS);
	TEST_LOCK(rival, make(other, name, 0));
	TEST_SQL(sql);

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_int_equal(look(other, name).state, ROWLOCK_STATE_HELD);
	assert_ok(rowlock_release(lock, &err));
	expect_kept(other, sql, name);
	expect(rival, 0, ROWLOCK_EBUSY);
	expect(rival, 50, ROWLOCK_ETIMEDOUT);
	/* Nor has this client it again, nor is it its end that frees it. */
	expect(lock, 0, ROWLOCK_EBUSY);
	test_end(lock, client);
	expect_kept(other, sql, name);
	expect(rival, 0, ROWLOCK_EBUSY);
	assert_ok(rowlock_break(other, ROWLOCK_LEASE, name, &err));
	assert_int_equal(look(other, name).entries, 0);
	hold_for_a_moment(rival);
}

static bool have_it(struct rowlock_client *client, void *arg)
{
	struct rowlock *lock = make(client, arg, HOUR_MS);

	return rowlock_acquire(lock, 0, NULL) == 0;
}

CASE("a dead holder leaves it taken")
{
	const char *name = test_name("killed");
	TEST_CLIENT(other, test_client(TTL_MS));
	TEST_LOCK(rival, make(other, name, 0));
	TEST_SQL(sql);
	pid_t holder = holder_start(test_ttl_ms(SHORT_TTL_MS), have_it,
				    (void *) (uintptr_t) name);
	uint64_t since = test_now_ns();
	uint64_t session;

	session = test_sql_number(
	    sql,
	    "SELECT k.breaks FROM business_lease l JOIN lease_session k"
	    " ON k.id = l.session WHERE l.name = '%s'",
	    name);
	holder_kill(holder);
	while (test_sql_number(
	    sql, "SELECT COUNT(*) FROM lease_session WHERE id = %llu",
	    (unsigned long long) session)) {
		assert_ok(rowlock_reap(other, NULL, NULL, &err));
		test_keep_waiting(since, "the end of a dead session");
	}
	expect_kept(other, sql, name);
	expect(rival, 0, ROWLOCK_EBUSY);
	assert_ok(rowlock_break(other, ROWLOCK_LEASE, name, &err));
	hold_for_a_moment(rival);
}

CASE("it is free when the time is over")
{
	const char *name = test_name("over");
	TEST_CLIENT(client, test_client(TTL_MS));
	struct rowlock_client *other = test_client(TTL_MS);
	TEST_LOCK(lock, make(client, name, 400));
	struct rowlock *rival = make(other, name, 0);

	hold_for_a_moment(lock);
	expect(rival, (uint64_t) test_patience_ms(), 0);
	assert_ok(rowlock_release(rival, &err));
	test_end(rival, other);
	/* And by itself, if nobody wants it. */
}

CASE("a hold that lasts longer lives on, and ends as any other")
{
	const char *name = test_name("longer");
	TEST_CLIENT(client, test_client(test_ttl_ms(SHORT_TTL_MS)));
	TEST_CLIENT(other, test_client(TTL_MS));
	TEST_LOCK(lock, make(client, name, 100));
	TEST_LOCK(rival, make(other, name, 0));
	TEST_SQL(sql);
	uint64_t since = test_now_ns();
	uint64_t keep;

	assert_ok(rowlock_acquire(lock, 0, &err));
	keep = look(other, name).session;
	while (test_sql_number(sql,
			       "SELECT COUNT(*) FROM lease_session WHERE id ="
			       " %llu AND TIMESTAMPDIFF(MICROSECOND,"
			       " started_at, UTC_TIMESTAMP(6)) > ttl * 1500",
			       (unsigned long long) keep) == 0)
		test_keep_waiting(since, "a hold beyond its first TTL");
	assert_int_equal(look(other, name).state, ROWLOCK_STATE_HELD);
	assert_true(rowlock_held(lock));
	assert_ok(rowlock_verify(lock, &err));
	expect(rival, 0, ROWLOCK_EBUSY);
	assert_ok(rowlock_release(lock, &err));
	hold_for_a_moment(rival);
	assert_int_equal(
	    test_sql_number(sql,
			    "SELECT COUNT(*) FROM lease_session WHERE id ="
			    " %llu",
			    (unsigned long long) keep),
	    0);
}

CASE("a loss delays the next holder, a release does not")
{
	const char *name = test_name("delay");
	const struct rowlock_options options = { .size = sizeof(options),
						 .delay_after_loss_ms =
						     HOUR_MS };
	struct rowlock_client *client = test_client(TTL_MS);
	TEST_CLIENT(other, test_client(TTL_MS));
	TEST_LOCK(rival, make(other, name, 0));
	TEST_SQL(sql);
	uint64_t since = test_now_ns();
	struct rowlock *lock;
	uint64_t keep, beat;

	assert_ok(rowlock_new(client, name, &options, &lock, &err));
	hold_for_a_moment(lock);
	hold_for_a_moment(rival);
	assert_ok(rowlock_acquire(lock, 0, &err));
	keep = look(other, name).session;
	beat = test_sql_number(sql, BEAT_OF, (unsigned long long) keep);
	while (test_sql_number(sql, BEAT_OF, (unsigned long long) keep) == beat)
		test_keep_waiting(since, "a beat of the keep");
	assert_int_equal(
	    test_sql_number(sql,
			    "SELECT COUNT(*) FROM lease_session WHERE id ="
			    " %llu AND ttl = %d AND expires_at >"
			    " UTC_TIMESTAMP(6) + INTERVAL %d SECOND",
			    (unsigned long long) keep, TTL_MS + HOUR_MS,
			    HOUR_MS / 1000),
	    1);
	/* The server takes it for dead. */
	test_sql(sql,
		 "DELETE c FROM lease_session c JOIN lease_session k"
		 " ON c.id = k.breaks WHERE k.id = %llu",
		 (unsigned long long) keep);
	while (rowlock_held(lock))
		test_keep_waiting(since, "the loss");
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	test_end(lock, client);
	assert_ok(rowlock_reap(other, NULL, NULL, &err));
	assert_int_equal(look(other, name).state, ROWLOCK_STATE_KEPT);
	expect(rival, 0, ROWLOCK_EBUSY);
	assert_ok(rowlock_break(other, ROWLOCK_LEASE, name, &err));
	hold_for_a_moment(rival);
}

CASE("a break ends the keep, and its holder learns of it")
{
	static const struct rowlock_options kinds[] = {
		{ .size = sizeof(kinds[0]), .at_least_ms = HOUR_MS },
		{ .size = sizeof(kinds[0]), .delay_after_loss_ms = HOUR_MS },
	};

	for (size_t i = 0; i < TEST_SIZE(kinds); i++) {
		const char *name = test_name("broken");
		TEST_CLIENT(client, test_client(TTL_MS));
		TEST_CLIENT(other, test_client(TTL_MS));
		TEST_SQL(sql);
		uint64_t since = test_now_ns();
		struct rowlock *lock = NULL;
		uint64_t keep;

		assert_ok(rowlock_new(client, name, &kinds[i], &lock, &err));
		assert_ok(rowlock_acquire(lock, 0, &err));
		keep = look(other, name).session;
		assert_ok(rowlock_break(other, ROWLOCK_LEASE, name, &err));
		assert_int_equal(
		    test_sql_number(sql,
				    "SELECT COUNT(*) FROM lease_session"
				    " WHERE id = %llu",
				    (unsigned long long) keep),
		    0);
		while (rowlock_held(lock))
			test_keep_waiting(since, "the loss");
		assert_string_equal(rowlock_lost_reason(lock),
				    "it was broken by hand");
		assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
		rowlock_free(lock);
	}
}

/* All that a program of version 7 says about a row that it may not have. */
CASE("an older program sees it as held")
{
	const char *name = test_name("older");
	struct rowlock_client *client = test_client(TTL_MS);
	struct rowlock *lock = make(client, name, HOUR_MS);
	TEST_SQL(sql);
	struct seen seen;

	hold_for_a_moment(lock);
	seen = look(client, name);
	test_end(lock, client);
	assert_int_equal(
	    test_sql(sql,
		     "DELETE FROM lease_session WHERE id = %llu AND"
		     " expires_at <= UTC_TIMESTAMP(6)",
		     (unsigned long long) seen.session),
	    0);
	assert_int_equal(
	    test_sql(sql,
		     "DELETE FROM business_lease WHERE name = '%s' AND slot = 0"
		     " AND attempt = %llu AND (expires_at <= UTC_TIMESTAMP(6)"
		     " OR NOT EXISTS (SELECT 1 FROM lease_session s"
		     " WHERE s.id = session))",
		     name, (unsigned long long) seen.attempt),
	    0);
	assert_int_equal(
	    test_sql(sql,
		     "INSERT INTO business_lease (name, slot, session, attempt,"
		     " acquired_at) VALUES ('%s', 0, 1, 2, UTC_TIMESTAMP(6))"
		     " ON DUPLICATE KEY UPDATE name = name",
		     name),
	    0);
	test_sql(sql, "DELETE FROM business_lease WHERE name = '%s'", name);
}

/* The rows are as if the clock had been a day ahead when they were written. */
CASE("a clock that was set back is outlasted")
{
	const char *name = test_name("clock");
	TEST_CLIENT(client, test_client(SHORT_TTL_MS));
	TEST_CLIENT(other, test_client(SHORT_TTL_MS));
	TEST_LOCK(lock, make(client, name, 500));
	TEST_LOCK(rival, make(other, name, 0));
	TEST_SQL(sql);
	uint64_t keep;

	hold_for_a_moment(lock);
	keep = look(other, name).session;
	assert_true(test_sql(sql,
			     "UPDATE business_lease l JOIN lease_session k"
			     " ON k.id = l.session SET l.expires_at ="
			     " l.expires_at + INTERVAL 1 DAY, l.acquired_at ="
			     " l.acquired_at + INTERVAL 1 DAY, k.started_at ="
			     " k.started_at + INTERVAL 1 DAY, k.expires_at ="
			     " k.expires_at + INTERVAL 1 DAY"
			     " WHERE l.name = '%s'",
			     name) > 0);
	expect(rival, (uint64_t) test_patience_ms(), 0);
	assert_ok(rowlock_release(rival, &err));
	/* To all reapers it tells of a clock that jumps. */
	test_sql(sql, "DELETE FROM lease_session WHERE id = %llu",
		 (unsigned long long) keep);
}

CASE("only the names of locks are kept")
{
	TEST_CLIENT(client, test_client(TTL_MS));
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_election_options election =
	    ROWLOCK_ELECTION_OPTIONS_DEFAULT;
	const char *const names[] = { "a", "b" };
	struct rowlock *lock = NULL;
	struct rowlock *other = NULL;

	options.at_least_ms = 1000;
	assert_int_equal(
	    rowlock_rwlock_new(client, "a", &options, &lock, &other, NULL),
	    ROWLOCK_EUNSUPPORTED);
	assert_int_equal(
	    rowlock_semaphore_new(client, "a", 2, &options, &lock, NULL),
	    ROWLOCK_EUNSUPPORTED);
	assert_int_equal(
	    rowlock_multilock_new(client, names, 2, &options, &lock, NULL),
	    ROWLOCK_EUNSUPPORTED);
	election.lock_options = &options;
	assert_int_equal(
	    rowlock_election_new(client, "a", &election, &lock, NULL),
	    ROWLOCK_EUNSUPPORTED);
	options.strategy = ROWLOCK_ROW;
	assert_int_equal(rowlock_new(client, "a", &options, &lock, NULL),
			 ROWLOCK_EUNSUPPORTED);
	options.strategy = ROWLOCK_LEASE;
	options.at_least_ms = 2592000001;
	assert_int_equal(rowlock_new(client, "a", &options, &lock, NULL),
			 ROWLOCK_EINVAL);
	options.at_least_ms = 2000;
	options.max_hold_ms = 1000;
	assert_int_equal(rowlock_new(client, "a", &options, &lock, NULL),
			 ROWLOCK_EINVAL);
	assert_null(lock);
}

static void count(struct rowlock *lock, void *arg)
{
	assert_int_equal(rowlock_held(lock), 1);
	++*(int *) arg;
}

CASE("execute keeps the name")
{
	const char *name = test_name("execute");
	const struct rowlock_options options = { .size = sizeof(options),
						 .at_least_ms = HOUR_MS };
	TEST_CLIENT(client, test_client(TTL_MS));
	int runs = 0;

	assert_ok(
	    rowlock_execute(client, name, &options, 0, count, &runs, &err));
	test_code(
	    rowlock_execute(client, name, &options, 0, count, &runs, &err),
	    ROWLOCK_EBUSY, &err, "acquire", __FILE__, __LINE__);
	assert_int_equal(runs, 1);
	assert_ok(rowlock_break(client, ROWLOCK_LEASE, name, &err));
}

CASE_MAIN(test_main)
