/* SPDX-License-Identifier: MIT */
/*
 * A transaction that gives its lock back by its own commit: both, or neither.
 */
#include <pthread.h>

#include "actor.h"

#define ACCOUNTS "guard_release_test"
#include "guarded.h"
#include <rowlock/admin.h>

static bool is_free(const struct app *app)
{
	return test_sql_number(app->sql,
			       "SELECT COUNT(*) FROM business_lease "
			       "WHERE name = '%s'",
			       app->name) == 0;
}

GUARD("data and release are one commit")
{
	const struct app *app = *state;

	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	assert_false(is_free(app));
	assert_ok(rowlock_commit_release(app->lock, app->mysql, &err));
	assert_true(is_free(app));
	assert_balance(app, 90);
	assert_as_before(app);
	assert_int_equal(rowlock_held(app->lock), 0);
	assert_code(rowlock_release(app->lock, &err), ROWLOCK_ENOTHELD, &err);
	/* And from the beginning, by the same handle. */
	assert_ok(rowlock_acquire(app->lock, 0, &err));
	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	assert_ok(rowlock_commit_release(app->lock, app->mysql, &err));
	assert_balance(app, 80);
}

GUARD("what is not committed is not released")
{
	const struct app *app = *state;

	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	say(app->mysql, "ROLLBACK");
	assert_code(rowlock_commit_release(app->lock, app->mysql, &err),
		    ROWLOCK_EBROKEN, &err);
	assert_ok(rowlock_verify(app->lock, &err));
	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	assert_ok(rowlock_rollback(app->lock, app->mysql, &err));
	assert_ok(rowlock_verify(app->lock, &err));
	/* Of several levels none is. */
	assert_ok(rowlock_acquire(app->lock, 0, &err));
	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	assert_code(rowlock_commit_release(app->lock, app->mysql, &err),
		    ROWLOCK_EHELD, &err);
	assert_ok(rowlock_release(app->lock, &err));
	assert_ok(rowlock_commit_release(app->lock, app->mysql, &err));
	assert_balance(app, 90);
	assert_true(is_free(app));
}

GUARD("a name that is to stay taken is not given back")
{
	const struct app *app = *state;
	const struct rowlock_options options = { .size = sizeof(options),
						 .at_least_ms = 3600000 };
	const char *name = test_name("stays");
	struct rowlock *lock = NULL;

	assert_ok(rowlock_new(app->client, name, &options, &lock, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_begin(lock, app->mysql, 0, &err));
	take_ten(app);
	assert_code(rowlock_commit_release(lock, app->mysql, &err),
		    ROWLOCK_EUNSUPPORTED, &err);
	assert_ok(rowlock_commit(lock, app->mysql, &err));
	assert_ok(rowlock_release(lock, &err));
	assert_balance(app, 90);
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_EBUSY, &err);
	rowlock_free(lock);
	assert_ok(rowlock_break(app->client, ROWLOCK_LEASE, name, &err));
}

/* Its connection is the application's, and may be closed by then. */
GUARD("free leaves an open transaction alone")
{
	const struct app *app = *state;
	struct rowlock *lock =
	    test_lock(app->client, ROWLOCK_LEASE, 0, test_name("transaction"));

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_begin(lock, app->mysql, 0, &err));
	take_ten(app);
	rowlock_free(lock);
	assert_code(rowlock_commit(app->lock, app->mysql, &err), ROWLOCK_EINVAL,
		    &err);
	say(app->mysql, "ROLLBACK");
	assert_balance(app, 100);
	/* Nothing of it is left: the connection serves the next one. */
	say(app->mysql, "SET autocommit = 1");
	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	assert_balance(app, 90);
}

struct stranger {
	const struct app *app;
	struct rowlock *lock;
	int code;
};

static void *commit_as_a_stranger(void *arg)
{
	struct stranger *stranger = arg;

	stranger->code =
	    rowlock_commit(stranger->lock, stranger->app->mysql, NULL);
	return NULL;
}

/* Another handle has it still, by which nobody could see that it is gone. */
GUARD("what another handle has is not released")
{
	const struct app *app = *state;
	struct rowlock *outer = test_lock(app->client, ROWLOCK_LEASE,
					  ROWLOCK_OWNER_THREAD, app->name);
	struct rowlock *nested = test_lock(app->client, ROWLOCK_LEASE,
					   ROWLOCK_OWNER_THREAD, app->name);
	struct stranger stranger = { .app = app, .lock = nested };
	pthread_t thread;

	assert_ok(rowlock_release(app->lock, &err));
	assert_ok(rowlock_acquire(outer, 0, &err));
	assert_ok(rowlock_acquire(nested, 0, &err));
	assert_ok(rowlock_begin(nested, app->mysql, 0, &err));
	take_ten(app);
	/* Not the hold's last level. */
	assert_ok(rowlock_release(nested, &err));
	assert_code(rowlock_commit_release(nested, app->mysql, &err),
		    ROWLOCK_EHELD, &err);
	assert_false(is_free(app));
	assert_int_equal(
	    pthread_create(&thread, NULL, commit_as_a_stranger, &stranger), 0);
	pthread_join(thread, NULL);
	assert_int_equal(stranger.code, ROWLOCK_ENOTOWNER);
	assert_ok(rowlock_commit(nested, app->mysql, &err));
	assert_balance(app, 90);
	assert_ok(rowlock_release(outer, &err));
	test_lock_end(outer);
	test_lock_end(nested);
	assert_ok(rowlock_acquire(app->lock, 0, &err));
}

GUARD("a stale holder releases nothing")
{
	const struct app *app = *state;

	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	steal(app);
	assert_code(rowlock_commit_release(app->lock, app->mysql, &err),
		    ROWLOCK_ELOST, &err);
	assert_balance(app, 100);
	assert_false(is_free(app));
	assert_code(rowlock_release(app->lock, &err), ROWLOCK_ELOST, &err);
}

/* Whoever waits in another process has the name next; and then this one, which
 * got it by waiting, gives it back with its bell. */
GUARD("who waits has it next")
{
	const struct app *app = *state;
	TEST_ACTOR(actor, test_actor_start(ROWLOCK_LEASE, app->name,
					   test_ttl_ms(TTL_MS)));

	for (int i = 0; i < 2; i++) {
		assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
		take_ten(app);
		test_actor_tell(&actor, "wait");
		assert_ok(rowlock_commit_release(app->lock, app->mysql, &err));
		assert_int_equal(test_actor_hear(&actor), 0);
		test_actor_tell(&actor, "release");
		assert_ok(rowlock_acquire(app->lock, test_patience_ms(), &err));
		assert_int_equal(test_actor_hear(&actor), 0);
	}
	assert_balance(app, 80);
}

/* A thread of this client, which nobody hands the deleted row. */
struct waiting {
	struct rowlock *lock;
	int code;
	struct rowlock_errinfo err;
};

static void *wait_here(void *arg)
{
	struct waiting *waiting = arg;
	struct rowlock_errinfo *reterr = &waiting->err;

	waiting->code =
	    rowlock_acquire(waiting->lock, test_patience_ms(), reterr);
	if (!waiting->code)
		waiting->code = rowlock_verify(waiting->lock, reterr);
	if (!waiting->code)
		waiting->code = rowlock_release(waiting->lock, reterr);
	return NULL;
}

GUARD("a deleted row is not handed over")
{
	struct app *app = *state;

	for (int i = 0; i < 20; i++) {
		struct waiting waiting = {
			.lock =
			    test_lock(app->client, ROWLOCK_LEASE, 0, app->name),
		};
		pthread_t thread;

		assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
		take_ten(app);
		assert_int_equal(
		    pthread_create(&thread, NULL, wait_here, &waiting), 0);
		assert_ok(rowlock_commit_release(app->lock, app->mysql, &err));
		pthread_join(thread, NULL);
		assert_code(waiting.code, 0, &waiting.err);
		test_lock_end(waiting.lock);
		assert_ok(rowlock_acquire(app->lock, test_patience_ms(), &err));
	}
}

static int count(const struct rowlock_entry *entry, void *arg)
{
	unsigned int *shown = arg;

	*shown += entry->name[0] < ' ';
	return 0;
}

/* One that is there, of a client that lives. */
GUARD("a receipt is not listed")
{
	const struct app *app = *state;
	unsigned int shown = 0;

	assert_int_equal(
	    test_sql(app->sql,
		     "INSERT INTO business_lease (name, slot, session, "
		     "attempt, acquired_at) SELECT CONCAT(CHAR(1), name), 0, "
		     "session, attempt, acquired_at FROM business_lease WHERE "
		     "name = '%s'",
		     app->name),
	    1);
	assert_ok(rowlock_list(app->client, NULL, count, &shown, &err));
	assert_int_equal(shown, 0);
	assert_int_equal(test_sql(app->sql,
				  "DELETE FROM business_lease WHERE name = "
				  "CONCAT(CHAR(1), '%s')",
				  app->name),
			 1);
}

GUARD("receipts go with the client")
{
	const struct app *app = *state;
	struct rowlock_client *client = test_client(test_ttl_ms(TTL_MS));
	struct rowlock *lock =
	    test_lock(client, ROWLOCK_LEASE, 0, test_name("receipt"));
	uint64_t session = 0;

	/* Three times the room for them in one statement. */
	for (int i = 0; i < 200; i++) {
		assert_ok(rowlock_acquire(lock, 0, &err));
		session = test_sql_number(app->sql,
					  "SELECT session FROM business_lease "
					  "WHERE name = '%s'",
					  rowlock_name(lock));
		assert_ok(rowlock_begin(lock, app->mysql, 0, &err));
		assert_ok(rowlock_commit_release(lock, app->mysql, &err));
	}
	test_end(lock, client);
	assert_int_equal(
	    test_sql_number(
		app->sql,
		"SELECT COUNT(*) FROM business_lease WHERE session = %llu",
		(unsigned long long) session),
	    0);
}

/* Their client died before it deleted them. */
GUARD("receipts of the dead are reaped")
{
	const struct app *app = *state;
	TEST_CLIENT(client, test_client(test_ttl_ms(TTL_MS)));

	test_sql(app->sql,
		 "INSERT INTO business_lease (name, slot, session, attempt, "
		 "acquired_at) VALUES (CONCAT(CHAR(1), '00000000deadbeef'), 0, "
		 "4711, 3735928559, UTC_TIMESTAMP(6))");
	assert_ok(rowlock_reap(client, NULL, NULL, &err));
	assert_int_equal(test_sql_number(app->sql,
					 "SELECT COUNT(*) FROM business_lease "
					 "WHERE session = 4711"),
			 0);
}

CASE_MAIN(test_main)
