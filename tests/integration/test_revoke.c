// SPDX-License-Identifier: MIT
/*
 * Holders that are asked to give a lease back, by another client.
 */
#include <pthread.h>
#include <rowlock/admin.h>
#include <rowlock/multilock.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actor.h"
#include "sql.h"
#include "test.h"

/* Short, as requests come behind a beat; with the load, as the holds have to
 * live, but no longer than this. */
#define TTL_MS 3000
#define TTL_MOST_MS 20000

static uint64_t ttl_ms(void)
{
	uint64_t ms = test_ttl_ms(TTL_MS);

	return ms < TTL_MOST_MS ? ms : TTL_MOST_MS;
}

/* The requests that a client was told of. */
struct heard {
	struct test_event event;
	enum rowlock_answer answer;
	struct rowlock_revocation last;
	_Atomic unsigned int count;
};

static enum rowlock_answer hear(const struct rowlock_revocation *asked,
				void *arg)
{
	struct heard *heard = arg;

	heard->last = *asked;
	test_event_set(&heard->event);
	return heard->answer;
}

static struct heard heard_new(enum rowlock_answer answer)
{
	return (struct heard){ .event = test_event_new(), .answer = answer };
}

static void heard_end(struct heard *heard)
{
	test_event_end(&heard->event);
}

#define HEARD(name, answer)                                                    \
	__attribute__((cleanup(heard_end))) struct heard name =                \
	    heard_new(answer)

/* @handover_ms: 0: as always. */
static struct rowlock_client *listener_that_hands_over(struct heard *heard,
						       uint64_t handover_ms)
{
	struct rowlock_client_options options = test_client_options(ttl_ms());

	options.on_revoke = hear;
	options.revoke_arg = heard;
	options.handover_ms = handover_ms;
	return test_client_with(&options);
}

static struct rowlock_client *listener(struct heard *heard)
{
	return listener_that_hands_over(heard, 0);
}

static struct rowlock_revocation known(struct rowlock_client *client,
				       const char *name)
{
	struct rowlock_revocation known = { .size = sizeof(known) };

	assert_ok(rowlock_revoke(client, name, NULL, &known, &err));
	return known;
}

/* The answer is written behind the callback's return. */
static void await_answer(struct rowlock_client *client, const char *name,
			 enum rowlock_answer answer)
{
	uint64_t since = test_now_ns();

	while (known(client, name).answer != answer)
		test_keep_waiting(since, "the answer %d", answer);
}

/* Ask, and have the holder told. */
static void ask(struct rowlock_client *client, const char *name,
		const char *reason, struct heard *heard)
{
	assert_ok(rowlock_revoke(client, name, reason, NULL, &err));
	assert_event(&heard->event, "the request");
	await_answer(client, name, heard->answer);
}

/* A case begins with a client that listens, and its handle. */
#define LISTENER(word, answer)                                                 \
	const char *name = test_name(word);                                    \
	HEARD(heard, answer);                                                  \
	TEST_CLIENT(holder, listener(&heard));                                 \
	TEST_LOCK(lock, test_lock(holder, ROWLOCK_LEASE, 0, name))

CASE("both learn of each other, and the request goes with the hold")
{
	LISTENER("revoke", ROWLOCK_ANSWER_LATER);
	TEST_CLIENT(asker, test_client(10000));
	TEST_SQL(sql);
	struct rowlock_revocation asked = { .size = sizeof(asked) };
	struct rowlock_reap_result result = { .size = sizeof(result) };

	assert_code(rowlock_revoke(asker, name, "", NULL, &err),
		    ROWLOCK_ENOTHELD, &err);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_int_equal(known(asker, name).answer, ROWLOCK_ANSWER_UNASKED);
	assert_ok(rowlock_revoke(asker, name, "für 'db1'", &asked, &err));
	assert_int_equal(asked.attempt, rowlock_attempt(lock));
	assert_event(&heard.event, "the request");
	assert_string_equal(heard.last.name, name);
	assert_string_equal(heard.last.reason, "für 'db1'");
	assert_string_equal(heard.last.program, asked.program);
	assert_string_equal(heard.last.host, asked.host);
	assert_int_equal(heard.last.pid, getpid());
	await_answer(asker, name, ROWLOCK_ANSWER_LATER);
	assert_true(rowlock_held(lock));
	assert_ok(rowlock_reap(asker, NULL, &result, &err));
	assert_int_equal(known(asker, name).answer, ROWLOCK_ANSWER_LATER);
	assert_ok(rowlock_release(lock, &err));
	assert_ok(rowlock_reap(asker, NULL, &result, &err));
	assert_int_equal(test_sql_number(sql,
					 "SELECT COUNT(*) FROM lease_revocation"
					 " WHERE name = '%s'",
					 name),
			 0);
}

CASE("a later request takes the place of one that was refused")
{
	LISTENER("revoke-again", ROWLOCK_ANSWER_NO);

	assert_ok(rowlock_acquire(lock, 0, &err));
	ask(holder, name, "one", &heard);
	heard.answer = ROWLOCK_ANSWER_HEARD;
	assert_ok(rowlock_revoke(holder, name, "two", NULL, &err));
	await_answer(holder, name, ROWLOCK_ANSWER_HEARD);
	assert_string_equal(heard.last.reason, "two");
	assert_ok(rowlock_release(lock, &err));
}

struct second {
	struct rowlock *lock;
	uint64_t attempt;
	int code;
};

static void *acquire_second(void *arg)
{
	struct second *second = arg;

	second->code = rowlock_acquire(second->lock, ROWLOCK_FOREVER, NULL);
	second->attempt = rowlock_attempt(second->lock);
	if (!second->code)
		second->code = rowlock_release(second->lock, NULL);
	return NULL;
}

/* The asker waits for the end of the hold. */
CASE("a hold that was asked for is not handed to another thread")
{
	const char *name = test_name("revoke-hand");
	HEARD(heard, ROWLOCK_ANSWER_LATER);
	TEST_CLIENT(holder, listener_that_hands_over(&heard, 60000));
	struct second second = { .code = -1 };
	struct rowlock *lock;
	uint64_t attempt;
	pthread_t thread;

	assert_ok(rowlock_new(holder, name, NULL, &lock, &err));
	assert_ok(rowlock_new(holder, name, NULL, &second.lock, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	attempt = rowlock_attempt(lock);
	ask(holder, name, "", &heard);
	assert_int_equal(pthread_create(&thread, NULL, acquire_second, &second),
			 0);
	/* Nobody outside can see that it stands in line. If it does not yet, it
	 * comes to a free name; unit-goes-back has it there. */
	usleep(300000);
	assert_ok(rowlock_release(lock, &err));
	pthread_join(thread, NULL);
	assert_int_equal(second.code, 0);
	assert_true(second.attempt != attempt);
	rowlock_free(second.lock);
	rowlock_free(lock);
}

CASE("the holder of a name that is kept is told")
{
	const char *name = test_name("revoke-kept");
	HEARD(heard, ROWLOCK_ANSWER_LATER);
	TEST_CLIENT(holder, listener(&heard));
	const struct rowlock_options options = { .size = sizeof(options),
						 .at_least_ms = 3600000 };
	struct rowlock *lock;

	assert_ok(rowlock_new(holder, name, &options, &lock, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	ask(holder, name, "", &heard);
	/* Nobody holds it then, but it stays taken. */
	assert_ok(rowlock_release(lock, &err));
	assert_code(rowlock_revoke(holder, name, "", NULL, &err),
		    ROWLOCK_ENOTHELD, &err);
	rowlock_free(lock);
	assert_ok(rowlock_break(holder, ROWLOCK_LEASE, name, &err));
}

CASE("the holder of several names is told which one")
{
	const char *const names[] = { test_name("revoke-a"),
				      test_name("revoke-b") };
	HEARD(heard, ROWLOCK_ANSWER_LATER);
	TEST_CLIENT(holder, listener(&heard));
	struct rowlock *lock;

	assert_ok(rowlock_multilock_new(holder, names, 2, NULL, &lock, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_revoke(holder, names[1], "", NULL, &err));
	assert_event(&heard.event, "the request");
	assert_string_equal(heard.last.name, names[1]);
	assert_int_equal(known(holder, names[0]).answer,
			 ROWLOCK_ANSWER_UNASKED);
	rowlock_free(lock);
}

/* A statement that joined the lease would wait for it. */
CASE("a transaction that is tied to the lease keeps no asker waiting")
{
	LISTENER("revoke-guarded", ROWLOCK_ANSWER_LATER);
	TEST_SQL(sql);

	assert_ok(rowlock_acquire(lock, 0, &err));
	test_sql(sql, "BEGIN");
	test_sql(sql,
		 "UPDATE business_lease SET guards = guards + 1"
		 " WHERE name = '%s'",
		 name);
	ask(holder, name, "", &heard);
	test_sql(sql, "COMMIT");
	assert_ok(rowlock_release(lock, &err));
}

/* So does a program of version 7. */
CASE("a holder that does not listen holds on, and a break takes it")
{
	const char *name = test_name("revoke-deaf");
	TEST_CLIENT(client, test_client(10000));
	TEST_ACTOR(actor, test_actor_start(ROWLOCK_LEASE, name, ttl_ms()));

	assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
	assert_ok(rowlock_revoke(client, name, "", NULL, &err));
	assert_int_equal(test_actor_ask(&actor, "verify"), 0);
	assert_int_equal(known(client, name).answer, ROWLOCK_ANSWER_NONE);
	assert_ok(rowlock_break(client, ROWLOCK_LEASE, name, &err));
	assert_int_equal(test_actor_ask(&actor, "await_lost"), 1);
}

CASE("a holder that was killed is not asked once its time is over")
{
	const char *name = test_name("revoke-dead");
	TEST_CLIENT(client, test_client(10000));
	TEST_SQL(sql);
	struct test_actor actor =
	    test_actor_start(ROWLOCK_LEASE, name, ttl_ms());

	assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
	test_actor_kill(&actor);
	test_sql(sql,
		 "UPDATE lease_session s JOIN business_lease l"
		 " ON l.session = s.id SET s.expires_at = UTC_TIMESTAMP(6)"
		 " WHERE l.name = '%s'",
		 name);
	assert_code(rowlock_revoke(client, name, "", NULL, &err),
		    ROWLOCK_ENOTHELD, &err);
	assert_ok(rowlock_break(client, ROWLOCK_LEASE, name, &err));
}

/* It lives on, so that the name stays taken; there is nobody who could answer.
 */
CASE("the keep of a client that is gone is not asked")
{
	const char *name = test_name("revoke-keep");
	TEST_CLIENT(client, test_client(10000));
	TEST_SQL(sql);

	test_sql(sql,
		 "INSERT INTO lease_session (id, ttl, expires_at, breaks,"
		 " started_at) VALUES (42, 1000, UTC_TIMESTAMP(6)"
		 " + INTERVAL 1 HOUR, 8589934592, UTC_TIMESTAMP(6)),"
		 " (8589934592, 1000, UTC_TIMESTAMP(6), 0, UTC_TIMESTAMP(6))");
	test_sql(sql,
		 "INSERT INTO business_lease (name, slot, session, attempt,"
		 " acquired_at) VALUES ('%s', 0, 42, 77, UTC_TIMESTAMP(6))",
		 name);
	assert_code(rowlock_revoke(client, name, "", NULL, &err),
		    ROWLOCK_ENOTHELD, &err);
	test_sql(sql, "DELETE FROM business_lease WHERE session = 42");
	test_sql(sql, "DELETE FROM lease_session WHERE id IN (42, 8589934592)");
}

CASE("the request for an earlier hold goes though the name is held again")
{
	LISTENER("revoke-again", ROWLOCK_ANSWER_LATER);
	TEST_SQL(sql);
	struct rowlock_reap_result result = { .size = sizeof(result) };

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_revoke(holder, name, "", NULL, &err));
	assert_ok(rowlock_release(lock, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_reap(holder, NULL, &result, &err));
	assert_int_equal(test_sql_number(sql,
					 "SELECT COUNT(*) FROM lease_revocation"
					 " WHERE name = '%s'",
					 name),
			 0);
	assert_ok(rowlock_release(lock, &err));
}

/* More than a look tells of, in sets of as many as may be. */
#define SETS 5
#define MANY (SETS * ROWLOCK_MULTILOCK_MAX)

static enum rowlock_answer count_down(const struct rowlock_revocation *asked,
				      void *arg)
{
	struct heard *heard = arg;

	heard->last = *asked;
	if (++heard->count == MANY)
		test_event_set(&heard->event);
	return ROWLOCK_ANSWER_LATER;
}

CASE("all requests are told, though a look tells of some")
{
	struct rowlock_client_options options = test_client_options(ttl_ms());
	const char *name = test_name("revoke-many");
	HEARD(heard, ROWLOCK_ANSWER_LATER);
	struct rowlock *sets[SETS];
	TEST_SQL(sql);

	options.on_revoke = count_down;
	options.revoke_arg = &heard;
	TEST_CLIENT(holder, test_client_with(&options));
	for (int i = 0; i < SETS; i++) {
		const char *names[ROWLOCK_MULTILOCK_MAX];
		char texts[ROWLOCK_MULTILOCK_MAX][100];

		for (int n = 0; n < ROWLOCK_MULTILOCK_MAX; n++) {
			snprintf(texts[n], sizeof(texts[n]), "%s-%d-%d", name,
				 i, n);
			names[n] = texts[n];
		}
		assert_ok(rowlock_multilock_new(holder, names,
						ROWLOCK_MULTILOCK_MAX, NULL,
						&sets[i], &err));
		assert_ok(rowlock_acquire(sets[i], 0, &err));
	}
	test_sql(sql,
		 "INSERT INTO lease_revocation (name, attempt, request, host,"
		 " pid, program, reason, asked_at) SELECT name, attempt, 1, '',"
		 " 0, '', '', UTC_TIMESTAMP(6) FROM business_lease"
		 " WHERE name LIKE '%s-%%'",
		 name);
	test_sql(sql,
		 "UPDATE lease_session s JOIN business_lease l"
		 " ON l.session = s.id SET s.breaks = s.breaks + 1"
		 " WHERE l.name = '%s-0-0'",
		 name);
	assert_event(&heard.event, "%d requests: %u were told", MANY,
		     heard.count);
	for (int i = 0; i < SETS; i++)
		rowlock_freep(&sets[i]);
}

CASE("on tables of version 7 nobody is asked, and a break is found")
{
	TEST_EVENT(told);
	LISTENER("revoke-older", ROWLOCK_ANSWER_LATER);
	TEST_SQL(sql);
	struct rowlock_reap_result result = { .size = sizeof(result) };
	int asked, reaped, broken;
	bool lost;

	rowlock_on_lost(lock, test_event_note, &told);
	assert_ok(rowlock_acquire(lock, 0, &err));
	test_sql(sql, "RENAME TABLE lease_revocation TO revocation_away");
	asked = rowlock_revoke(holder, name, "", NULL, &err);
	reaped = rowlock_reap(holder, NULL, &result, NULL);
	broken = rowlock_break(holder, ROWLOCK_LEASE, name, NULL);
	lost = test_event_wait(&told);
	test_sql(sql, "RENAME TABLE revocation_away TO lease_revocation");
	assert_code(asked, ROWLOCK_ESCHEMA, &err);
	assert_int_equal(reaped, 0);
	assert_int_equal(broken, 0);
	assert_true(lost);
	assert_false(rowlock_held(lock));
}

CASE_MAIN(test_main)
