/* SPDX-License-Identifier: MIT */
/*
 * Another account of the application does by hand what it may: its statements
 * end holds, and keep names (SECURITY.md, "Accounts of the server"). Who asks
 * hears of it, and nobody gets a name that another has.
 */
#include <inttypes.h>
#include <string.h>

#include "actor.h"
#include "semaphores.h"

/* Of a client that is to die, or to lose what it has. */
#define SHORT_TTL_MS 1500

/* A beat does not look at leases, of which there may be many. */
static void expect_loss_when_asked(struct test_actor *actor)
{
	assert_int_equal(test_actor_ask(actor, "held"), 1);
	assert_int_equal(test_actor_ask(actor, "verify"), ROWLOCK_ELOST);
	assert_int_equal(test_actor_ask(actor, "held"), 0);
	assert_int_equal(test_actor_ask(actor, "await_lost"), 1);
	assert_int_equal(test_actor_ask(actor, "release"), ROWLOCK_ELOST);
}

static uint64_t session_of(struct test_sql *sql, const char *name)
{
	return test_sql_number(
	    sql, "SELECT session FROM business_lease WHERE name = '%s'", name);
}

CASE("a lease that is deleted is lost to who asks")
{
	const char *name = test_name("deleted");
	TEST_SQL(sql);
	TEST_ACTOR(actor, test_actor_start(ROWLOCK_LEASE, name,
					   test_ttl_ms(SHORT_TTL_MS)));

	assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
	assert_int_equal(
	    test_sql(sql, "DELETE FROM business_lease WHERE name = '%s'", name),
	    1);
	expect_loss_when_asked(&actor);
	assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
	assert_int_equal(test_actor_ask(&actor, "release"), 0);
}

/* It is another's now, who keeps it: the one before does not give it back. */
CASE("a lease that is taken stays with who took it")
{
	const char *name = test_name("taken");
	TEST_SQL(sql);
	TEST_ACTOR(actor, test_actor_start(ROWLOCK_LEASE, name,
					   test_ttl_ms(SHORT_TTL_MS)));

	assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
	assert_int_equal(test_sql(sql,
				  "UPDATE business_lease SET attempt = attempt "
				  "^ 4711 WHERE name = '%s'",
				  name),
			 1);
	expect_loss_when_asked(&actor);
	assert_int_equal(
	    test_sql_number(
		sql, "SELECT COUNT(*) FROM business_lease WHERE name = '%s'",
		name),
	    1);
	assert_int_equal(
	    test_sql(sql, "DELETE FROM business_lease WHERE name = '%s'", name),
	    1);
}

/* By its session's row a holder shows that it lives; each beat renews that. */
CASE("a holder that is said to be dead hears by a beat")
{
	const char *name = test_name("dead");
	TEST_SQL(sql);
	TEST_CLIENT(client, test_client(test_ttl_ms(SHORT_TTL_MS)));
	TEST_LOCK(next, test_lock(client, ROWLOCK_LEASE, 0, name));
	TEST_ACTOR(actor, test_actor_start(ROWLOCK_LEASE, name,
					   test_ttl_ms(SHORT_TTL_MS)));

	assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
	assert_int_equal(
	    test_sql(sql, "DELETE FROM lease_session WHERE id = %" PRIu64,
		     session_of(sql, name)),
	    1);
	/* Its leases are anybody's at once. */
	assert_ok(rowlock_acquire(next, test_patience_ms(), &err));
	assert_int_equal(test_actor_ask(&actor, "await_lost"), 1);
	assert_int_equal(test_actor_ask(&actor, "release"), ROWLOCK_ELOST);
	assert_ok(rowlock_release(next, &err));
}

/* No beat gets through; nobody has to tell it. */
CASE("a holder whose session is locked hears by its clock")
{
	const char *name = test_name("unheard");
	TEST_SQL(sql);
	TEST_ACTOR(actor, test_actor_start(ROWLOCK_LEASE, name,
					   test_ttl_ms(SHORT_TTL_MS)));
	uint64_t session;

	assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
	session = session_of(sql, name);
	test_sql(sql, "START TRANSACTION");
	assert_int_equal(test_sql_number(sql,
					 "SELECT COUNT(*) FROM lease_session "
					 "WHERE id = %" PRIu64 " FOR UPDATE",
					 session),
			 1);
	assert_int_equal(test_actor_ask(&actor, "await_lost"), 1);
	assert_int_equal(test_actor_ask(&actor, "held"), 0);
	test_sql(sql, "ROLLBACK");
	assert_int_equal(test_actor_ask(&actor, "release"), ROWLOCK_ELOST);
	assert_int_equal(test_actor_ask(&actor, "wait"), 0);
	assert_int_equal(test_actor_ask(&actor, "release"), 0);
}

/* A number at its bound cannot be counted up: not by a beat, */
CASE("a session that cannot be beaten is ended")
{
	const char *name = test_name("beaten");
	TEST_SQL(sql);
	TEST_ACTOR(actor, test_actor_start(ROWLOCK_LEASE, name,
					   test_ttl_ms(SHORT_TTL_MS)));

	assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
	test_sql(sql,
		 "UPDATE lease_session SET beat = 18446744073709551615 WHERE "
		 "id = %" PRIu64,
		 session_of(sql, name));
	assert_int_equal(test_actor_ask(&actor, "await_lost"), 1);
	assert_int_equal(test_actor_ask(&actor, "release"), ROWLOCK_ELOST);
	assert_int_equal(test_actor_ask(&actor, "wait"), 0);
	assert_int_equal(test_actor_ask(&actor, "release"), 0);
}

/* ... and what is as large is the session of a keep to a break. */
CASE("a session whose count of breaks is too large ends with a break")
{
	const char *name = test_name("unbroken");
	TEST_SQL(sql);
	TEST_CLIENT(client, test_client(test_ttl_ms(SHORT_TTL_MS)));
	TEST_ACTOR(actor, test_actor_start(ROWLOCK_LEASE, name,
					   test_ttl_ms(SHORT_TTL_MS)));

	assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
	test_sql(sql,
		 "UPDATE lease_session SET breaks = 18446744073709551615 WHERE "
		 "id = %" PRIu64,
		 session_of(sql, name));
	assert_ok(rowlock_break(client, ROWLOCK_LEASE, name, &err));
	assert_int_equal(test_actor_ask(&actor, "await_lost"), 1);
	assert_int_equal(test_actor_ask(&actor, "release"), ROWLOCK_ELOST);
	assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
	assert_int_equal(test_actor_ask(&actor, "release"), 0);
}

/* In a living holder's name, with a number that it never drew. */
CASE("a name that is kept by hand is not granted")
{
	const char *name = test_name("kept");
	const char *other = test_name("other");
	TEST_SQL(sql);
	TEST_ACTOR(actor, test_actor_start(ROWLOCK_LEASE, other,
					   test_ttl_ms(SHORT_TTL_MS)));
	TEST_CLIENT(client, test_client(test_ttl_ms(SHORT_TTL_MS)));
	TEST_LOCK(lock, test_lock(client, ROWLOCK_LEASE, 0, name));

	assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
	test_sql(sql,
		 "INSERT INTO business_lease (name, slot, session, attempt, "
		 "acquired_at) VALUES ('%s', 0, %" PRIu64
		 ", 4711, UTC_TIMESTAMP(6))",
		 name, session_of(sql, other));
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_EBUSY, &err);
	assert_code(rowlock_acquire(lock, 100, &err), ROWLOCK_ETIMEDOUT, &err);
	assert_int_equal(
	    test_sql(sql, "DELETE FROM business_lease WHERE name = '%s'", name),
	    1);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_release(lock, &err));
	assert_int_equal(test_actor_ask(&actor, "release"), 0);
}

/* Who says how many there are is refused, who asks the database goes on; nobody
 * loses any, and there are more than 1,000, or fewer than one, for nobody. */
CASE("a semaphore has as many permits as is written")
{
	const char *name = test_name("permits");
	TEST_SQL(sql);
	TEST_CLIENT(client, test_client(test_ttl_ms(SHORT_TTL_MS)));
	struct rowlock *held = make(client, name, 2);
	struct rowlock *says = make(client, name, 2);
	struct rowlock *asks = make(client, name, ROWLOCK_PERMITS_STORED);

	assert_ok(rowlock_semaphore_acquire(held, 2, 0, &err));
	assert_code(rowlock_semaphore_acquire(asks, 1, 0, &err), ROWLOCK_EBUSY,
		    &err);
	test_sql(sql, "UPDATE lock_permits SET permits = 3 WHERE name = '%s'",
		 name);
	assert_code(rowlock_semaphore_acquire(says, 1, 0, &err), ROWLOCK_EINVAL,
		    &err);
	assert_non_null(strstr(err.message, "has 3 permits"));
	assert_ok(rowlock_semaphore_acquire(asks, 1, 0, &err));
	test_sql(sql, "UPDATE lock_permits SET permits = 1 WHERE name = '%s'",
		 name);
	assert_ok(rowlock_verify(held, &err));
	assert_ok(rowlock_verify(asks, &err));
	assert_ok(rowlock_release(asks, &err));
	assert_code(rowlock_semaphore_acquire(asks, 1, 0, &err), ROWLOCK_EBUSY,
		    &err);
	for (unsigned int permits = 0; permits <= 1001; permits += 1001)
		assert_int_not_equal(test_sql_try(sql,
						  "UPDATE lock_permits SET "
						  "permits = %u WHERE name = "
						  "'%s'",
						  permits, name),
				     0);
	release(held);
	end(held);
	end(says);
	end(asks);
}

/* Of each number there is one row, which whoever wants it locks; who waits is
 * told so in his time, and what he holds stays his. */
CASE("numbers that are locked by hand are waited for in time")
{
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(60000));
	const char *name = test_name("number");
	TEST_SQL(sql);
	struct rowlock *semaphore;
	uint64_t token;
	int code;

	options.call_timeout_ms = 500;
	TEST_CLIENT(client, test_client_with(&options));
	semaphore = make(client, name, 1);
	TEST_LOCK(lock, test_lock(client, ROWLOCK_LEASE, 0, name));
	assert_ok(rowlock_semaphore_acquire(semaphore, 1, 0, &err));
	assert_ok(rowlock_release(semaphore, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	test_sql(sql, "START TRANSACTION");
	test_sql(sql, "UPDATE lock_permits SET permits = 2 WHERE name = '%s'",
		 name);
	test_sql(sql, "UPDATE lock_token_floor SET token = token + 1");
	code = rowlock_semaphore_acquire(semaphore, 1, 0, &err);
	assert_true(code == ROWLOCK_EDB || code == ROWLOCK_ECONNECT);
	code = rowlock_token(lock, &token, &err);
	assert_true(code == ROWLOCK_EDB || code == ROWLOCK_ECONNECT);
	test_sql(sql, "ROLLBACK");
	assert_ok(rowlock_verify(lock, &err));
	assert_ok(rowlock_token(lock, &token, &err));
	assert_ok(rowlock_release(lock, &err));
	assert_ok(rowlock_semaphore_acquire(
	    semaphore, 1, (uint64_t) test_patience_ms(), &err));
	release(semaphore);
	end(semaphore);
}

CASE_MAIN(test_main)
