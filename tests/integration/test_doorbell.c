// SPDX-License-Identifier: MIT
/*
 * The bell that a lease has in the server: what becomes of holder and waiters
 * if it is lost, or had by a ghost; that who asks with it keeps it; and that
 * none is left behind by a hold.
 */
#include "doorbell.h"

/* ------------------------------------------------- lost bells and ghosts */

CASE("lease outlives its lost bell")
{
	const char *name = test_name("lost");
	TEST_SQL(sql);
	struct test_actor second = holder_of(sql, name, LONG_TTL_MS);
	struct test_actor third = actor(name, LONG_TTL_MS);
	uint64_t owner;

	test_actor_tell(&third, "wait");
	await_line(sql, 1);
	owner = owner_of(sql, name);
	assert_int_not_equal(owner, 0);
	test_sql(sql, "KILL CONNECTION %" PRIu64, owner);
	/* The head of the line has it now, and asks again and again. */
	await_owner(sql, name, owner);
	assert_int_equal(test_actor_ask(&second, "verify"), 0);
	assert_int_equal(test_actor_ask(&second, "held"), 1);
	gives_it_back(&second);
	has_it(&third);
	gives_it_back(&third);
	await_free(sql, name);
	test_actor_end(&third);
	test_actor_end(&second);
}

/* The server ends a connection after a TTL, here 2 s, without a word. */
CASE("first in line keeps its bell while it asks")
{
	struct rowlock_client *client = client_of(4, test_ttl_ms(1000));
	struct rowlock *own =
	    test_lock(client, ROWLOCK_LEASE, 0, test_name("own"));
	const char *name = test_name("kept");
	struct test_sql *sql = test_sql_open();
	uint64_t since = test_now_ns();
	struct waiter waiter;
	uint64_t owner;

	/* A holder that has no bell: it stands for itself. */
	test_sql(sql,
		 "REPLACE INTO lease_session (id, ttl, expires_at, started_at) "
		 "VALUES (42, 3600000, UTC_TIMESTAMP(6) + INTERVAL 1 HOUR, "
		 "UTC_TIMESTAMP(6))");
	test_sql(sql,
		 "INSERT INTO business_lease (name, slot, session, attempt, "
		 "acquired_at) VALUES ('%s', 0, 42, 77, UTC_TIMESTAMP(6))",
		 name);
	assert_int_equal(rowlock_acquire(own, 0, NULL), 0);
	start(&waiter, client, name, ROWLOCK_FOREVER);
	await_owner(sql, name, 0);
	owner = owner_of(sql, name);
	/* Three in a second. */
	while (test_sql_number(sql,
			       "SELECT beat FROM lease_session WHERE id = "
			       "(SELECT session FROM business_lease "
			       "WHERE name = '%s')",
			       rowlock_name(own)) < 12)
		test_keep_waiting(since, "12 beats of the session of '%s'",
				  rowlock_name(own));
	assert_int_equal(owner_of(sql, name), owner);
	test_sql(sql, "DELETE FROM business_lease WHERE name = '%s'", name);
	assert_int_equal(join(&waiter), 0);
	await_free(sql, name);
	test_sql(sql, "DELETE FROM lease_session WHERE id = 42");
	assert_int_equal(rowlock_release(own, NULL), 0);
	test_end(own, client);
	test_sql_end(sql);
}

/* Somebody who has nothing to do with it has its bell, and keeps it. Who waits
 * looks when the holder's session could have ended. */
CASE("ghost keeps nobody out")
{
	const char *name = test_name("ghost");
	TEST_SQL(sql);
	TEST_SQL(ghost);
	uint64_t ttl = test_ttl_ms(2000);
	struct test_actor first = actor(name, ttl);
	struct test_actor second = actor(name, ttl);

	assert_int_equal(test_sql_number(ghost, "SELECT GET_LOCK('%s', 0)",
					 bell_of(sql, name)),
			 1);
	assert_int_equal(test_actor_ask(&first, "acquire 0"), 0);
	test_actor_tell(&second, "wait");
	await_line(sql, 1);
	gives_it_back(&first);
	has_it(&second);
	assert_int_equal(owner_of(sql, name),
			 test_sql_number(ghost, "SELECT CONNECTION_ID()"));
	gives_it_back(&second);
	test_actor_end(&second);
	test_actor_end(&first);
}

/* Any account may take any user-level lock; but without the secret it can tell
 * neither which one is a name's, nor by it whether anybody waits. */
CASE("who knows no secret is in nobody's way")
{
	const char *name = test_name("secret");
	TEST_SQL(sql);
	TEST_SQL(stranger);
	uint64_t id = test_sql_number(stranger, "SELECT CONNECTION_ID()");
	uint64_t ttl = test_ttl_ms(60000);
	struct test_actor second = actor(name, ttl);
	struct test_actor first;
	uint64_t owner;

	assert_int_equal(test_sql_number(stranger, "SELECT GET_LOCK('%s', 0)",
					 bell_by(sql, name, "")),
			 1);
	first = holder_of(sql, name, ttl);
	test_actor_tell(&second, "wait");
	await_line(sql, 1);
	owner = owner_of(sql, name);
	assert_int_not_equal(owner, 0);
	assert_int_not_equal(owner, id);
	gives_it_back(&first);
	has_it(&second);
	/* It was woken, and has the bell by that. */
	assert_int_not_equal(owner_of(sql, name), 0);
	assert_int_not_equal(owner_of(sql, name), owner);
	gives_it_back(&second);
	test_actor_end(&second);
	test_actor_end(&first);
}

/* -------------------------------------------------------- ends of holds */

/* The first has it by itself, the second by waiting: two ways to have a bell,
 * on two kinds of connections, which go on living. */
static void ends_without_a_bell(void (*end)(struct test_sql *sql,
					    struct rowlock_client *client,
					    struct rowlock *lock),
				uint64_t ttl_ms)
{
	const char *name = test_name("end");
	struct test_sql *sql = test_sql_open();
	struct rowlock_client *client = client_of(4, ttl_ms);
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock *lock;
	struct test_actor holder;
	struct waiter waiter;

	options.max_hold_ms = LONG_TTL_MS;
	assert_ok(rowlock_new(client, name, &options, &lock, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	end(sql, client, lock);
	await_free(sql, name);

	holder = actor(name, LONG_TTL_MS);
	assert_int_equal(test_actor_ask(&holder, "wait"), 0);
	/* Somebody waits, so that the name is a busy one. */
	start(&waiter, client, name, 10);
	assert_int_equal(join(&waiter), ROWLOCK_ETIMEDOUT);
	gives_it_back(&holder);
	assert_ok(rowlock_acquire(lock, ROWLOCK_FOREVER, &err));
	assert_int_not_equal(owner_of(sql, name), 0);
	end(sql, client, lock);
	await_free(sql, name);
	test_actor_end(&holder);
	test_end(lock, client);
	test_sql_end(sql);
}

static void by_release(struct test_sql *sql, struct rowlock_client *client,
		       struct rowlock *lock)
{
	(void) sql;
	(void) client;
	assert_ok(rowlock_release(lock, &err));
}

/* The bell is free before the release: that only tells of the loss. */
static void lost(struct test_sql *sql, struct rowlock *lock)
{
	uint64_t since = test_now_ns();

	while (rowlock_held(lock))
		test_keep_waiting(since, "the hold of '%s' to be lost",
				  rowlock_name(lock));
	await_free(sql, rowlock_name(lock));
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
}

static void by_break(struct test_sql *sql, struct rowlock_client *client,
		     struct rowlock *lock)
{
	assert_ok(
	    rowlock_break(client, ROWLOCK_LEASE, rowlock_name(lock), &err));
	lost(sql, lock);
}

static void by_eviction(struct test_sql *sql, struct rowlock_client *client,
			struct rowlock *lock)
{
	(void) client;
	test_sql(sql,
		 "DELETE FROM lease_session WHERE id IN (SELECT session FROM "
		 "business_lease WHERE name = '%s')",
		 rowlock_name(lock));
	lost(sql, lock);
}

static void by_hand(struct test_sql *sql, struct rowlock_client *client,
		    struct rowlock *lock)
{
	(void) client;
	test_sql(sql, "DELETE FROM business_lease WHERE name = '%s'",
		 rowlock_name(lock));
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
}

CASE("no bell outlives its hold")
{
	ends_without_a_bell(by_release, LONG_TTL_MS);
	ends_without_a_bell(by_hand, LONG_TTL_MS);
	ends_without_a_bell(by_break, test_ttl_ms(1500));
	ends_without_a_bell(by_eviction, test_ttl_ms(1500));
}

CASE_MAIN(test_main)
