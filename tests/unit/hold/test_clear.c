/* SPDX-License-Identifier: MIT */
/*
 * Removing the dead, and nobody else: on the way of an acquire, by a call, and
 * on a timer; by the server's clock, or by what we have seen.
 */
#include "fake/fake.h"

#include <string.h>

#include "hold/handle.h"
#include "test.h"

/* 30 s and a margin of 3 s, of our own clock. */
#define SILENT_MS 33000

static int try_once(struct rowlock *lock)
{
	int code = rowlock_acquire(lock, 0, NULL);

	if (code == 0)
		assert_int_equal(rowlock_release(lock, NULL), 0);
	return code;
}

/* Who removes the dead does so by one packet for all that are met at the
 * moment; where that does not get through, by a statement for each thing. */
static void packets_are_refused(void)
{
	fake_always(FAKE_SWEEP_MANY,
		    (struct fake_answer){
			.given = true, .skip = true, .result = RLK_REFUSED });
}

/* The session 77 has the name, by its attempt 7. */
static void stranger_takes_it(void)
{
	fake_session_add(77);
	fake_lease_add("job", 7, 77);
}

FAKE("a try takes the name of a holder whose session is gone")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	fake_lease_add("job", 7, 77);
	assert_int_equal(try_once(lock), 0);
	assert_int_equal(fake_count(FAKE_SWEEP_MANY), 1);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 2);
}

FAKE("a try evicts a holder whose session has expired")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	stranger_takes_it();
	fake_session_expire(77);
	assert_int_equal(try_once(lock), 0);
	assert_int_equal(fake_count(FAKE_SWEEP_MANY), 1);
	assert_false(fake_session_there(77));
}

FAKE("a living holder is left alone")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	stranger_takes_it();
	for (int i = 0; i < 3; i++) {
		assert_code(try_once(lock), ROWLOCK_EBUSY, NULL);
		fake_advance(5000);
	}
	assert_int_equal(fake_count(FAKE_EVICT_EXPIRED), 0);
	assert_int_equal(fake_count(FAKE_EVICT_SILENT), 0);
	assert_int_equal(fake_count(FAKE_SWEEP_DEAD), 0);
	assert_int_equal(fake_count(FAKE_SWEEP_MANY), 0);
	assert_int_equal(fake_lease("job"), 7);
}

FAKE("a holder that beat in the last moment keeps its name")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	packets_are_refused();
	stranger_takes_it();
	fake_session_expire(77);
	/* Nothing deleted: the condition did not hold any more. */
	fake_next(FAKE_EVICT_EXPIRED, (struct fake_answer){ .skip = true });
	assert_code(try_once(lock), ROWLOCK_EBUSY, NULL);
	assert_int_equal(fake_lease("job"), 7);
}

/* Somebody else evicts it in the same moment: its lease is dead all the same.
 */
FAKE("a holder that another evicts is swept")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_PERSON(bob);

	packets_are_refused();
	stranger_takes_it();
	fake_session_expire(77);
	fake_next(FAKE_EVICT_EXPIRED,
		  (struct fake_answer){ .skip = true, .wait = true });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, 0);
	fake_await(FAKE_EVICT_EXPIRED, 1);
	fake_session_remove(77);
	fake_let(FAKE_EVICT_EXPIRED);
	assert_code(fake_hear(bob, &err), 0, &err);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
}

FAKE("a removal in others' way is tried again a few times")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	packets_are_refused();
	fake_lease_add("job", 7, 77);
	for (int i = 0; i < 4; i++)
		fake_next(FAKE_SWEEP_DEAD,
			  (struct fake_answer){ .given = true,
						.skip = true,
						.result = RLK_CONFLICT });
	assert_int_equal(try_once(lock), 0);
	assert_int_equal(fake_count(FAKE_SWEEP_DEAD), 5);
	/* A lock was waited for: in the server, once. */
	fake_lease_add("job", 8, 88);
	fake_always(FAKE_SWEEP_DEAD,
		    (struct fake_answer){
			.given = true, .skip = true, .result = RLK_BUSY });
	assert_code(try_once(lock), ROWLOCK_EBUSY, NULL);
	assert_int_equal(fake_count(FAKE_SWEEP_DEAD), 6);
}

/* The server's clock does not count: look at the beat, twice. */
static void expect_observation(struct rowlock *lock)
{
	assert_code(try_once(lock), ROWLOCK_EBUSY, NULL);
	assert_int_equal(fake_count(FAKE_EVICT_EXPIRED), 0);
	fake_advance(SILENT_MS - 1);
	assert_code(try_once(lock), ROWLOCK_EBUSY, NULL);
	assert_int_equal(fake_count(FAKE_EVICT_SILENT), 0);
	assert_int_equal(fake_lease("job"), 7);
	fake_advance(1);
	assert_int_equal(try_once(lock), 0);
	assert_true(fake_call(FAKE_EVICT_SILENT, 0).id == 77);
	assert_int_equal(fake_count(FAKE_EVICT_EXPIRED), 0);
}

/* Of several holders that keep it out it has to see each, dead or not; but not
 * of one. */
FAKE("an observer asks who its several holders are")
{
	struct rowlock_options of_lock = ROWLOCK_OPTIONS_DEFAULT;

	of_lock.flags = ROWLOCK_OWNER_HANDLE;
	for (int i = 0; i < 4; i++) {
		struct rlk_strategy strategy = *rlk_strategy(ROWLOCK_LEASE);
		struct rowlock_client_options options = fake_options();
		struct rowlock_client *client;
		struct rowlock *lock;

		fake_setup(state);
		strategy.batch = NULL;
		strategy.several = i & 1;
		options.flags |= i >> 1 ? ROWLOCK_OBSERVE_BEATS : 0;
		client = fake_client_with(&options);
		assert_ok(rlk_lock_make(client, "job", &strategy, &of_lock,
					&lock, &err));
		assert_ok(rowlock_acquire(lock, 0, &err));
		assert_int_equal(fake_call(FAKE_ACQUIRE, 0).observes, i == 3);
		assert_ok(rowlock_release(lock, &err));
		fake_end(lock, client);
	}
}

FAKE("an observer waits for a TTL without a beat")
{
	struct rowlock_client_options options = fake_options();
	struct rowlock_client *client;
	struct rowlock *lock;

	for (int i = 0; i < 2; i++) {
		fake_setup(state);
		options.flags |= i == 0 ? ROWLOCK_OBSERVE_BEATS : 0;
		fake_server.galera = i == 1;
		client = fake_client_with(&options);
		lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");
		stranger_takes_it();
		fake_session_expire(77);
		expect_observation(lock);
		fake_end(lock, client);
	}
}

FAKE("an observer starts anew with each beat")
{
	struct rowlock_client_options options = fake_options();

	options.flags |= ROWLOCK_OBSERVE_BEATS;
	FAKE_CLIENT_AS(client, fake_client_with(&options));
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, 0, "job");
	stranger_takes_it();
	fake_session_expire(77);
	for (int i = 0; i < 4; i++) {
		assert_code(try_once(lock), ROWLOCK_EBUSY, NULL);
		fake_advance(SILENT_MS - 1000);
		fake_session_beat(77);
	}
	assert_int_equal(fake_count(FAKE_EVICT_SILENT), 0);
	assert_int_equal(fake_lease("job"), 7);
}

/* The look was under way for longer than a TTL: all that its answer proves is
 * what the beat is now. */
FAKE("an observer counts from the answer that showed the beat")
{
	struct rowlock_client_options options = fake_options();

	options.flags |= ROWLOCK_OBSERVE_BEATS;
	options.call_timeout_ms = 60000;
	FAKE_CLIENT_AS(client, fake_client_with(&options));
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, 0, "job");
	stranger_takes_it();
	fake_next(FAKE_LOOK, (struct fake_answer){ .ms = SILENT_MS - 1000 });
	assert_code(try_once(lock), ROWLOCK_EBUSY, NULL);
	fake_advance(SILENT_MS - 1000);
	assert_code(try_once(lock), ROWLOCK_EBUSY, NULL);
	assert_int_equal(fake_count(FAKE_EVICT_SILENT), 0);
	fake_advance(1000);
	assert_int_equal(try_once(lock), 0);
}

static bool has_jumped(void *arg)
{
	struct rowlock_client *client = arg;
	bool jumped;

	rlk_mutex_lock(&client->mutex);
	jumped = client->jumped_ms != RLK_NEVER;
	rlk_mutex_unlock(&client->mutex);
	return jumped;
}

/* Between two looks as far apart as they can be. */
FAKE("a server clock that is slewed has not jumped")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	fake_await(FAKE_TIME, 1);
	fake_advance(9900);
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_skew_us = 19900 * 83; /* 8.3 % */
	fake_advance(10000);
	fake_await(FAKE_BEAT, 1);
	fake_advance(10000);
	fake_await(FAKE_BEAT, 2);
	assert_int_equal(fake_count(FAKE_TIME), 1);
	assert_false(has_jumped(client));
	assert_ok(rowlock_release(lock, &err));
}

FAKE("a server's clock that jumped decides no more")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	stranger_takes_it();
	fake_session_expire(77);
	fake_await(FAKE_TIME, 1);
	fake_advance(10000);
	fake_await(FAKE_TIME, 2);
	assert_false(has_jumped(client));
	fake_skew_us = 3600ll * 1000000;
	fake_advance(10000);
	fake_pass_until(has_jumped, client);
	expect_observation(lock);
}

/* What a clock may be slewed by counts from the last look, not from the first.
 */
FAKE("a small jump is seen after a long time")
{
	FAKE_CLIENT();
	unsigned int looks = 1;

	fake_await(FAKE_TIME, looks);
	while (looks < 60) {
		fake_advance(10000);
		fake_await(FAKE_TIME, ++looks);
	}
	assert_false(has_jumped(client));
	fake_skew_us = 30 * 1000000;
	/* What the first of them tells is judged before the second. */
	for (int i = 0; i < 2; i++) {
		fake_advance(10000);
		fake_await(FAKE_TIME, ++looks);
	}
	assert_true(has_jumped(client));
}

/* The server's clock went back by an hour since it beat, before this client
 * began: by that clock it would be in the way for so long. */
FAKE("who has more left than its TTL is observed")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	stranger_takes_it();
	fake_session_prolong(77, 3600000);
	expect_observation(lock);
}

FAKE("the reaper observes who has more left than its TTL")
{
	FAKE_CLIENT();
	struct rowlock_reap_result result = { .size = sizeof(result) };

	fake_session_add(77);
	fake_session_prolong(77, 3600000);
	assert_ok(rowlock_reap(client, NULL, &result, &err));
	assert_int_equal(result.evicted, 0);
	fake_advance(SILENT_MS);
	assert_ok(rowlock_reap(client, NULL, &result, &err));
	assert_int_equal(result.evicted, 1);
}

FAKE("a clock that has kept its pace for a day decides again")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	stranger_takes_it();
	fake_session_prolong(77, 3600000);
	assert_code(try_once(lock), ROWLOCK_EBUSY, NULL);
	fake_session_prolong(77, 0);
	fake_session_beat(77);
	fake_advance(24 * 60 * 60 * 1000 - 1);
	assert_code(try_once(lock), ROWLOCK_EBUSY, NULL);
	fake_session_beat(77);
	assert_code(try_once(lock), ROWLOCK_EBUSY, NULL);
	fake_session_expire(77);
	assert_code(try_once(lock), ROWLOCK_EBUSY, NULL);
	assert_int_equal(fake_count(FAKE_EVICT_EXPIRED), 0);
	assert_int_equal(fake_count(FAKE_SWEEP_MANY), 0);
	fake_advance(1);
	assert_int_equal(try_once(lock), 0);
	assert_int_equal(fake_count(FAKE_SWEEP_MANY), 1);
}

FAKE("a clock that jumps again is watched for another day")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	stranger_takes_it();
	/* Twenty hours after one jump, and five before the present. */
	for (unsigned int hours = 20; hours; hours = hours == 20 ? 5 : 0) {
		fake_session_prolong(77, 3600000);
		assert_code(try_once(lock), ROWLOCK_EBUSY, NULL);
		fake_session_prolong(77, 0);
		fake_session_beat(77);
		fake_advance(hours * 60 * 60 * 1000);
	}
	assert_code(try_once(lock), ROWLOCK_EBUSY, NULL);
	fake_session_expire(77);
	assert_code(try_once(lock), ROWLOCK_EBUSY, NULL);
	assert_int_equal(fake_count(FAKE_EVICT_EXPIRED), 0);
	assert_int_equal(fake_count(FAKE_SWEEP_MANY), 0);
}

FAKE("a lease past its maximum is swept")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	packets_are_refused();
	stranger_takes_it();
	fake_lease_maximum("job", 1000);
	assert_code(try_once(lock), ROWLOCK_EBUSY, NULL);
	fake_advance(1000);
	assert_int_equal(try_once(lock), 0);
	assert_true(fake_call(FAKE_SWEEP_EXPIRED, 0).attempt == 7);
	/* Its session goes on. */
	assert_true(fake_session_there(77));
}

/* Polls tell nothing of the holder: when to look is planned by the first. */
FAKE("a waiter looks again when the maximum is over")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_PERSON(bob);
	int64_t began_ms = fake_now();

	stranger_takes_it();
	fake_lease_maximum("job", 1000);
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	assert_ok(fake_pass_hear(bob, &err));
	/* Not when the 30 s of its session are over. */
	assert_true(fake_now() - began_ms < 15000);
	assert_int_equal(fake_count(FAKE_SWEEP_MANY), 1);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
}

/* As above, but it is the maximum of one hold: its session lives on. */
FAKE("an observer waits for the whole maximum")
{
	struct rowlock_client_options options = fake_options();

	options.flags |= ROWLOCK_OBSERVE_BEATS;
	FAKE_CLIENT_AS(client, fake_client_with(&options));
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, 0, "job");
	stranger_takes_it();
	/* Over by the server's clock, which does not count. */
	fake_lease_maximum("job", 0);
	assert_code(try_once(lock), ROWLOCK_EBUSY, NULL);
	/* A second and the margin. */
	fake_advance(1099);
	assert_code(try_once(lock), ROWLOCK_EBUSY, NULL);
	assert_int_equal(fake_lease("job"), 7);
	fake_advance(1);
	assert_int_equal(try_once(lock), 0);
	assert_int_equal(fake_count(FAKE_SWEEP_EXPIRED), 0);
	assert_true(fake_call(FAKE_RELEASE, 0).attempt == 7);
	assert_true(fake_session_there(77));
}

FAKE("an observer that cannot look leaves it alone")
{
	struct rowlock_client_options options = fake_options();

	packets_are_refused();
	options.flags |= ROWLOCK_OBSERVE_BEATS;
	FAKE_CLIENT_AS(client, fake_client_with(&options));
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, 0, "job");
	/* Dead, but who has not looked does not know. */
	fake_lease_add("job", 7, 77);
	fake_next(FAKE_LOOK, (struct fake_answer){ .given = true,
						   .skip = true,
						   .result = RLK_REFUSED });
	assert_code(try_once(lock), ROWLOCK_EBUSY, NULL);
	assert_int_equal(fake_lease("job"), 7);
	/* Gone when we looked: the question is asked again at once; once. */
	fake_next(FAKE_LOOK, (struct fake_answer){ .skip = true });
	assert_code(try_once(lock), ROWLOCK_EBUSY, NULL);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 3);
	assert_int_equal(fake_count(FAKE_LOOK), 2);
	assert_int_equal(try_once(lock), 0);
}

FAKE("an eviction that is refused leaves the holder")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	packets_are_refused();
	stranger_takes_it();
	fake_session_expire(77);
	fake_next(FAKE_EVICT_EXPIRED,
		  (struct fake_answer){
		      .given = true, .skip = true, .result = RLK_REFUSED });
	assert_code(try_once(lock), ROWLOCK_EBUSY, NULL);
	assert_int_equal(fake_lease("job"), 7);
	assert_int_equal(fake_count(FAKE_SWEEP_DEAD), 0);
}

static void fill(void)
{
	fake_session_add(77);
	fake_session_add(88);
	fake_session_add(99);
	fake_session_expire(77);
	fake_session_expire(88);
	fake_lease_add("a", 1, 77);
	fake_lease_add("b", 2, 77);
	fake_lease_add("c", 3, 99);
	fake_lease_add("d", 4, 66);
	fake_lease_add("e", 5, 99);
	fake_lease_maximum("e", 0);
}

FAKE("reap removes the dead and counts them")
{
	FAKE_CLIENT();
	struct rowlock_reap_options options = ROWLOCK_REAP_OPTIONS_DEFAULT;
	struct rowlock_reap_result result = { .size = sizeof(result) };

	fill();
	/* Page by page. */
	options.batch = 1;
	assert_ok(rowlock_reap(client, &options, &result, &err));
	assert_int_equal(result.evicted, 2);
	assert_int_equal(result.swept, 4);
	assert_true(fake_session_there(99));
	assert_int_equal(fake_lease("c"), 3);
	assert_int_equal(fake_sessions(), 1);
	assert_ok(rowlock_reap(client, &options, &result, &err));
	assert_int_equal(result.evicted, 0);
	assert_int_equal(result.swept, 0);
}

FAKE("the reaper thread reaps on its timer")
{
	struct rowlock_client_options options = fake_options();
	struct rowlock_client *client;

	options.reap_interval_ms = 1000;
	options.flags ^= ROWLOCK_NO_REAPER;
	client = fake_client_with(&options);
	fill();
	fake_pass_await(FAKE_SWEEP_EXPIRED, 1);
	fake_client_end(client);
	assert_int_equal(fake_sessions(), 1);
}

CASE_MAIN(case_main)
