/* SPDX-License-Identifier: MIT */
/*
 * The heartbeat and the end of holds by our own clock: TTL 30 s, margin 3 s, a
 * beat every 10 s, 5 s of patience with each.
 */
#include "fake/fake.h"

#include <string.h>

#include "core/client.h"
#include "test.h"

struct world_of_one {
	struct rowlock_client *client;
	struct rowlock *lock;
	int64_t t0;
};

static struct world_of_one begin_with_ttl(uint64_t ttl_ms)
{
	struct rowlock_client_options options = fake_options();
	struct world_of_one one = { .client = NULL };

	options.ttl_ms = ttl_ms;
	one.client = fake_client_with(&options);
	one.lock = fake_lock(one.client, ROWLOCK_LEASE, 0, "job");
	one.t0 = fake_now();
	assert_ok(rowlock_acquire(one.lock, 0, &err));
	return one;
}

static struct world_of_one begin(void)
{
	return begin_with_ttl(30000);
}

static void end(struct world_of_one *one)
{
	rowlock_release(one->lock, NULL);
	fake_end(one->lock, one->client);
}

struct expected {
	struct rowlock_client *client;
	int64_t until_ms;
};

/* Not by the library's functions: those would end what is over. */
static bool is_valid_until(void *arg)
{
	const struct expected *expected = arg;
	struct rowlock_client *client = expected->client;
	int64_t until;

	rlk_mutex_lock(&client->mutex);
	until = client->session.valid_until_ms;
	rlk_mutex_unlock(&client->mutex);
	return until == expected->until_ms;
}

static void await_valid_until(struct world_of_one *one, int64_t after_ms)
{
	fake_until(is_valid_until,
		   &(struct expected){ one->client, one->t0 + after_ms });
}

FAKE("a beat comes every third of the TTL")
{
	_cleanup_(end) struct world_of_one one = begin();

	await_valid_until(&one, 27000);
	for (unsigned int i = 1; i <= 9; i++) {
		fake_advance(9999);
		assert_int_equal(rowlock_remaining_ms(one.lock), 27000 - 9999);
		assert_int_equal(fake_count(FAKE_BEAT), i - 1);
		fake_advance(1);
		fake_await(FAKE_BEAT, i);
		await_valid_until(&one, i * 10000 + 27000);
	}
	assert_int_equal(rowlock_held(one.lock), 1);
}

/* A server that stands still for 8.5 seconds must not cost a lease of 10. */
FAKE("a short TTL is beaten more often")
{
	_cleanup_(end) struct world_of_one one = begin_with_ttl(10000);

	fake_advance(416);
	fake_await(FAKE_BEAT, 1);
	await_valid_until(&one, 416 + 9000);
	/* The next is not answered, nor are those behind it. */
	fake_always(FAKE_BEAT, (struct fake_answer){ .given = true,
						     .skip = true,
						     .result = RLK_UNKNOWN });
	fake_advance(8500);
	assert_int_equal(rowlock_held(one.lock), 1);
	fake_always(FAKE_BEAT, (struct fake_answer){ .given = false });
}

/* Each beat costs one statement, and the look behind it another. */
FAKE("rows are looked for every third of the TTL")
{
	_cleanup_(end) struct world_of_one one = begin_with_ttl(9600);

	for (unsigned int i = 1; i <= 16; i++) {
		fake_advance(400);
		fake_await(FAKE_BEAT, i);
		await_valid_until(&one, i * 400 + 8640);
		fake_await(FAKE_LEASES_THERE, i < 9 ? 1 : 2);
	}
	assert_int_equal(fake_count(FAKE_LEASES_THERE), 2);
}

/* Nobody waits for the answer of a look at an idle client's session. */
FAKE("a session without a hold is looked at once a TTL")
{
	struct world_of_one one = begin_with_ttl(9600);

	assert_ok(rowlock_release(one.lock, &err));
	for (unsigned int i = 1; i <= 24; i++) {
		fake_advance(400);
		fake_await(FAKE_BEAT, i);
		await_valid_until(&one, i * 400 + 8640);
		fake_await(FAKE_SESSION_LOOK, i < 17 ? 0 : 1);
	}
	assert_int_equal(fake_count(FAKE_SESSION_LOOK), 1);
	fake_end(one.lock, one.client);
}

FAKE("one beat serves all holds")
{
	_cleanup_(end) struct world_of_one one = begin();
	struct rowlock *locks[20];
	char name[] = "jobA";

	for (int i = 0; i < 20; i++) {
		name[3] = (char) ('A' + i);
		locks[i] = fake_lock(one.client, ROWLOCK_LEASE, 0, name);
		assert_ok(rowlock_acquire(locks[i], 0, &err));
	}
	fake_advance(10000);
	await_valid_until(&one, 37000);
	assert_int_equal(fake_count(FAKE_BEAT), 1);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(rowlock_remaining_ms(locks[i]), 27000);
		assert_ok(rowlock_release(locks[i], &err));
		fake_lock_end(locks[i]);
	}
}

FAKE("a late answer moves the deadline from its own start")
{
	_cleanup_(end) struct world_of_one one = begin();

	fake_next(FAKE_BEAT, (struct fake_answer){ .ms = 4000 });
	fake_advance(10000);
	await_valid_until(&one, 37000);
	assert_int_equal(fake_now(), one.t0 + 14000);
	assert_int_equal(rowlock_remaining_ms(one.lock), 23000);
}

FAKE("a late answer to the opening counts from its start")
{
	struct world_of_one one;

	fake_next(FAKE_OPEN, (struct fake_answer){ .ms = 3000 });
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .ms = 1000 });
	one = begin();
	assert_int_equal(rowlock_remaining_ms(one.lock), 23000);
	end(&one);
}

FAKE("a beat that hangs is sent again on the other connection")
{
	_cleanup_(end) struct world_of_one one = begin();

	fake_next(FAKE_BEAT, (struct fake_answer){ .wait = true });
	fake_advance(10000);
	fake_await(FAKE_BEAT, 1);
	fake_advance(4999);
	assert_int_equal(fake_count(FAKE_BEAT), 1);
	fake_advance(1);
	await_valid_until(&one, 15000 + 27000);
	assert_int_equal(fake_count(FAKE_BEAT), 2);
	assert_true(fake_call(FAKE_BEAT, 0).conn !=
		    fake_call(FAKE_BEAT, 1).conn);
}

FAKE("the spare connection serves when no other can be had")
{
	_cleanup_(end) struct world_of_one one = begin();

	fake_always(FAKE_GET, (struct fake_answer){
				  .given = true, .result = ROWLOCK_ECONNECT });
	fake_next(FAKE_BEAT, (struct fake_answer){ .wait = true });
	fake_advance(10000);
	fake_await(FAKE_BEAT, 1);
	fake_advance(5000);
	await_valid_until(&one, 15000 + 27000);
	fake_always(FAKE_GET, (struct fake_answer){ .given = false });
}

FAKE("a hold is over at its deadline, whatever threads do")
{
	_cleanup_(end) struct world_of_one one = begin();

	fake_always(FAKE_BEAT, (struct fake_answer){ .given = true,
						     .result = RLK_UNKNOWN });
	/* No thread of the client gets to run. */
	fake_creep(26999);
	assert_int_equal(rowlock_held(one.lock), 1);
	assert_int_equal(rowlock_remaining_ms(one.lock), 1);
	assert_int_equal(rowlock_depth(one.lock), 1);
	fake_creep(1);
	assert_int_equal(rowlock_remaining_ms(one.lock), 0);
	assert_int_equal(rowlock_depth(one.lock), 0);
	assert_int_equal(rowlock_held(one.lock), 0);
	assert_code(rowlock_release(one.lock, &err), ROWLOCK_ELOST, &err);
	assert_non_null(strstr(err.message, "heartbeat"));
}

/* Each round tries both connections: the first is noted before the second. */
static void refuse_two_rounds_of_beats(void)
{
	fake_always(FAKE_BEAT, (struct fake_answer){ .given = true,
						     .result = RLK_REFUSED,
						     .code = ROWLOCK_EAUTH,
						     .mysql = 1045 });
	fake_advance(10000);
	fake_await(FAKE_BEAT, 2);
	fake_advance(1000);
	fake_await(FAKE_BEAT, 4);
}

FAKE("an answer that comes after the deadline changes nothing")
{
	_cleanup_(end) struct world_of_one one = begin();

	/* Sent in time, answered after the end; nobody has looked meanwhile,
	 * and the deadline thread did not get to run. */
	fake_await_sleep(27000);
	fake_next(FAKE_BEAT, (struct fake_answer){ .creep_ms = 20000 });
	fake_advance(10000);
	fake_await(FAKE_CLOSE, 1);
	assert_int_equal(rowlock_held(one.lock), 0);
	assert_true(fake_call(FAKE_CLOSE, 0).id == fake_call(FAKE_OPEN, 0).id);
}

FAKE("a paused process finds its hold lost at the first look")
{
	_cleanup_(end) struct world_of_one one = begin();

	/* Nobody evicted us, so the server would answer the beat; still it is
	 * over. No wake: the threads continue after our first call. */
	fake_creep(60000);
	assert_int_equal(rowlock_held(one.lock), 0);
	fake_advance(1);
	fake_await(FAKE_CLOSE, 1);
	assert_int_equal(rowlock_held(one.lock), 0);
	assert_int_equal(fake_count(FAKE_BEAT), 0);
}

FAKE("failing beats are tried until the deadline")
{
	_cleanup_(end) struct world_of_one one = begin();

	fake_always(FAKE_BEAT, (struct fake_answer){ .given = true,
						     .skip = true,
						     .result = RLK_UNKNOWN });
	fake_advance(10000);
	fake_await(FAKE_BEAT, 2);
	fake_pass_await(FAKE_BEAT, 6);
	assert_int_equal(rowlock_held(one.lock), 1);
	/* Each failing beat cost its connection. */
	assert_true(fake_call(FAKE_BEAT, 4).conn !=
		    fake_call(FAKE_BEAT, 2).conn);
	fake_always(FAKE_BEAT, (struct fake_answer){ .skip = false });
	fake_pass_await(FAKE_BEAT, 7);
}

/* A beat is under way when its session is lost; its answer, that the session
 * is gone, comes when there is another one. */
FAKE("an answer for a session that is over counts for no other")
{
	struct rowlock_client_options options = fake_options();

	options.ttl_ms = 3000;
	FAKE_CLIENT_AS(client, fake_client_with(&options));
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, 0, "job");
	FAKE_LOCK(next, client, ROWLOCK_LEASE, 0, "next");
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_always(FAKE_BEAT, (struct fake_answer){ .given = true,
						     .skip = true,
						     .result = RLK_UNKNOWN });
	fake_advance(1000);
	fake_await(FAKE_BEAT, 2);
	fake_always(FAKE_BEAT, (struct fake_answer){ .wait = true });
	fake_advance(1300);
	fake_pass_await(FAKE_BEAT, 3);
	fake_advance(400);
	fake_await(FAKE_CLOSE, 1);
	assert_int_equal(rowlock_held(lock), 0);
	assert_ok(rowlock_acquire(next, 0, &err));
	fake_always(FAKE_BEAT, (struct fake_answer){ .wait = false });
	fake_let(FAKE_BEAT);
	/* The new session's first beat comes behind the old one's answer. */
	fake_pass_await(FAKE_BEAT, 4);
	assert_true(fake_call(FAKE_BEAT, 3).id == fake_call(FAKE_OPEN, 1).id);
	assert_int_equal(rowlock_held(next), 1);
	assert_ok(rowlock_release(next, &err));
}

FAKE("the keeper beats only while there is a session")
{
	FAKE_CLIENT();

	for (unsigned int i = 2; i < 12; i++) {
		/* It asks for the server's time meanwhile. */
		fake_await(FAKE_TIME, i - 1);
		assert_int_equal(fake_count(FAKE_TIME), i - 1);
		fake_advance(10000);
	}
	assert_int_equal(fake_count(FAKE_BEAT), 0);
	/* On each of its two connections in turn: both stay open. */
	for (unsigned int i = 0; i < 8; i++)
		assert_int_equal(fake_call(FAKE_TIME, i).conn ==
				     fake_call(FAKE_TIME, i + 1).conn,
				 false);
}

static bool was_pinged(void *arg)
{
	const uint64_t *conn = arg;

	for (unsigned int i = 0; i < fake_count(FAKE_PING); i++)
		if (fake_call(FAKE_PING, i).conn == *conn)
			return true;
	return false;
}

/* The server ends one that is silent for its wait_timeout, here the TTL. */
/* Behind a beat it would be used for a look, and not be idle. */
FAKE("an idle connection is pinged in time")
{
	_cleanup_(end) struct world_of_one one = begin();
	uint64_t conn = fake_call(FAKE_ACQUIRE, 0).conn;

	assert_ok(rowlock_release(one.lock, &err));
	fake_always(FAKE_BEAT, (struct fake_answer){ .given = true,
						     .result = RLK_UNKNOWN });
	for (int i = 0; i < 2; i++) {
		assert_int_equal(was_pinged(&conn), i > 0);
		fake_advance(10000);
		fake_until(was_pinged, &conn);
	}
}

/* It waits for another connection, and would beat on that. */
FAKE("the end of a client gives its keeper no time")
{
	static const struct fake_answer silence = { .given = true,
						    .skip = true,
						    .result = RLK_PENDING };
	static const struct fake_answer late = { .wait = true };
	struct rowlock_client *client;
	unsigned int gets;

	fake_next(FAKE_TIME, silence);
	client = fake_client();
	fake_await(FAKE_TIME, 1);
	fake_always(FAKE_TIME, late);
	gets = fake_count(FAKE_GET);
	fake_next(FAKE_GET, late);
	/* The other one is asked, does not answer either, and then there is
	 * none. */
	fake_advance(10000);
	fake_await(FAKE_TIME, 2);
	fake_advance(10000);
	fake_await(FAKE_GET, gets + 1);
	fake_client_end_during(client, FAKE_GET);
	assert_int_equal(fake_count(FAKE_TIME), 3);
}

FAKE("the deadline thread loses a hold without any call")
{
	_cleanup_(end) struct world_of_one one = begin();

	fake_always(FAKE_BEAT, (struct fake_answer){ .given = true,
						     .result = RLK_UNKNOWN });
	fake_advance(27000);
	/* Its session goes only when the loss was noticed. */
	fake_await(FAKE_CLOSE, 1);
	assert_int_equal(rowlock_held(one.lock), 0);
}

FAKE("a loss has the error of the last beat")
{
	_cleanup_(end) struct world_of_one one = begin();

	refuse_two_rounds_of_beats();
	fake_creep(16000);
	assert_int_equal(rowlock_held(one.lock), 0);
	assert_code(rowlock_release(one.lock, &err), ROWLOCK_ELOST, &err);
	assert_non_null(strstr(err.message, "no heartbeat succeeded in time; "
					    "the last: operation"));
	fake_always(FAKE_BEAT, (struct fake_answer){ .given = false });
}

FAKE("an answered beat forgets the error of the one before")
{
	_cleanup_(end) struct world_of_one one = begin();

	refuse_two_rounds_of_beats();
	assert_non_null(strstr(rowlock_lost_reason(one.lock), "operation"));
	fake_always(FAKE_BEAT, (struct fake_answer){ .given = false });
	fake_advance(1000);
	await_valid_until(&one, 12000 + 27000);
	assert_null(rowlock_lost_reason(one.lock));
	fake_creep(27000);
	assert_int_equal(rowlock_held(one.lock), 0);
	assert_code(rowlock_release(one.lock, &err), ROWLOCK_ELOST, &err);
	assert_null(strstr(err.message, "the last"));
}

CASE_MAIN(case_main)
