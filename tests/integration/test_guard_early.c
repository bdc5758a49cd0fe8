/* SPDX-License-Identifier: MIT */
/*
 * A transaction that locks the lease's row from its beginning on: nobody ends
 * the hold while it is open.
 */
#include <stdio.h>

#include "actor.h"

#define ACCOUNTS "guard_early_test"
#include "guarded.h"

#define LOCKED 1205 /* and another has it for longer than one waits */

static MYSQL *somebody_else(void)
{
	MYSQL *mysql = connect_to(test_dsn(), 0);

	say(mysql, "SET innodb_lock_wait_timeout = 1");
	return mysql;
}

static unsigned int take_away(const struct app *app, MYSQL *mysql)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "DELETE FROM business_lease WHERE name = '%s'", app->name);
	return try_to_say(mysql, sql);
}

GUARD("nobody ends the hold while it is open")
{
	const struct app *app = *state;
	MYSQL *other = somebody_else();

	for (int i = 0; i < 2; i++) {
		assert_ok(rowlock_begin(app->lock, app->mysql,
					ROWLOCK_EARLY_GUARD, &err));
		take_ten(app);
		assert_int_equal(take_away(app, other), LOCKED);
		if (i == 0)
			assert_ok(
			    rowlock_rollback(app->lock, app->mysql, &err));
		else
			assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	}
	assert_as_before(app);
	assert_balance(app, 90);
	assert_int_equal(take_away(app, other), 0);
	mysql_close(other);
}

/* What the client's own session asks for in between is there. */
GUARD("the owner may ask while it is open")
{
	const struct app *app = *state;
	uint64_t token = 0;

	assert_ok(rowlock_begin(app->lock, app->mysql,
				ROWLOCK_EARLY_GUARD | ROWLOCK_SNAPSHOT, &err));
	take_ten(app);
	assert_ok(rowlock_verify(app->lock, &err));
	assert_ok(rowlock_token(app->lock, &token, &err));
	assert_true(token > 0);
	assert_ok(rowlock_commit_release(app->lock, app->mysql, &err));
	assert_balance(app, 90);
	assert_int_equal(test_sql_number(app->sql,
					 "SELECT COUNT(*) FROM business_lease "
					 "WHERE name = '%s'",
					 app->name),
			 0);
}

/* The read that locks the row takes none. */
GUARD("its snapshot is taken at its begin")
{
	const struct app *app = *state;

	assert_ok(rowlock_begin(app->lock, app->mysql,
				ROWLOCK_EARLY_GUARD | ROWLOCK_SNAPSHOT, &err));
	test_sql(app->sql, "UPDATE " ACCOUNTS " SET balance = 5 WHERE id = 2");
	assert_int_equal(
	    number(app->mysql, "SELECT balance FROM " ACCOUNTS " WHERE id = 2"),
	    0);
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	assert_int_equal(
	    number(app->mysql, "SELECT balance FROM " ACCOUNTS " WHERE id = 2"),
	    5);
}

GUARD("others are told while it is open")
{
	const struct app *app = *state;
	TEST_CLIENT(client, test_client(test_ttl_ms(TTL_MS)));
	TEST_LOCK(same, test_lock(client, ROWLOCK_LEASE, 0, app->name));
	TEST_LOCK(beside,
		  test_lock(client, ROWLOCK_LEASE, 0, test_name("beside")));

	assert_ok(
	    rowlock_begin(app->lock, app->mysql, ROWLOCK_EARLY_GUARD, &err));
	assert_code(rowlock_acquire(same, 0, &err), ROWLOCK_EBUSY, &err);
	assert_code(rowlock_acquire(same, 50, &err), ROWLOCK_ETIMEDOUT, &err);
	assert_ok(rowlock_acquire(beside, 0, &err));
	assert_ok(rowlock_release(beside, &err));
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
}

/* Its time is over by every clock, and another process waits to have it. */
static void who_was_late_commits(const struct app *app, unsigned int flags,
				 int code)
{
	TEST_EVENT(lost);
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	const char *name = test_name("late");
	TEST_ACTOR(next, test_actor_start(ROWLOCK_LEASE, name, TTL_MS));
	struct rowlock *lock;

	options.max_hold_ms = 1000;
	assert_ok(rowlock_new(app->client, name, &options, &lock, &err));
	rowlock_on_lost(lock, test_event_note, &lost);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_begin(lock, app->mysql, flags, &err));
	take_ten(app);
	test_actor_tell(&next, "wait");
	assert_event(&lost, "the lost callback");
	if (!flags)
		assert_int_equal(test_actor_hear(&next), 0);
	assert_code(rowlock_commit(lock, app->mysql, &err), code, &err);
	if (flags)
		assert_int_equal(test_actor_hear(&next), 0);
	assert_int_equal(rowlock_held(lock), 0);
	assert_int_equal(test_actor_ask(&next, "release"), 0);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	test_lock_end(lock);
}

GUARD("who is late has lost without it")
{
	const struct app *app = *state;

	who_was_late_commits(app, 0, ROWLOCK_ELOST);
	assert_balance(app, 100);
}

GUARD("who is late commits with it")
{
	const struct app *app = *state;

	who_was_late_commits(app, ROWLOCK_EARLY_GUARD, 0);
	assert_balance(app, 90);
}

CASE_MAIN(test_main)
