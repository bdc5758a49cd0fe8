/* SPDX-License-Identifier: MIT */
/*
 * A server that takes no writes any more: one refusal, and whoever keeps a
 * connection to it for long gives that up for a new one, which may lead to the
 * new primary. No hold is lost by that.
 */
#include "doorbell.h"

static const struct fake_answer normal = { .given = false };
static const struct fake_answer no_conn = { .given = true,
					    .result = ROWLOCK_ECONNECT };
static const struct fake_answer read_only = { .given = true,
					      .skip = true,
					      .result = RLK_REFUSED,
					      .code = ROWLOCK_EREADONLY };
static const struct fake_answer says_read_only = { .given = true,
						   .skip = true,
						   .result = RLK_REFUSED,
						   .code = ROWLOCK_EREADONLY };

/* Somebody's try is refused. */
static void refuse_a_try(struct rowlock_client *client)
{
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, 0, "refused");

	fake_next(FAKE_ACQUIRE, says_read_only);
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_EREADONLY, &err);
}

FAKE("the next try goes by a new connection")
{
	_cleanup_(end) struct one bob = one(client_of(4), "job");

	refuse_a_try(bob.client);
	acquire(&bob, 0);
	is_granted(&bob);
	assert_true(fake_call(FAKE_ACQUIRE, 1).conn >
		    fake_call(FAKE_ACQUIRE, 0).conn);
	assert_int_equal(release(&bob), 0);
}

/* ------------------------------------------------------------ keeper */

/* The keeper has its connections, and Bob's first beat is due; the number of
 * the connection that was opened last. */
static uint64_t beat_is_due(struct one *bob)
{
	*bob = one(client_of(4), "job");
	fake_await(FAKE_TIME, 1);
	acquire(bob, 0);
	is_granted(bob);
	fake_advance(9000);
	return fake_call(FAKE_ACQUIRE, 0).conn;
}

static bool is_beaten(void *client)
{
	struct rowlock_client *of = client;
	bool beaten;

	rlk_mutex_lock(&of->mutex);
	beaten = of->session.next_beat_ms > fake_now() + 5000;
	rlk_mutex_unlock(&of->mutex);
	return beaten;
}

FAKE("a beat that is refused goes by a new connection")
{
	struct one bob;
	uint64_t before = beat_is_due(&bob);

	fake_next(FAKE_BEAT, read_only);
	fake_advance(1000);
	fake_await(FAKE_BEAT, 2);
	fake_until(is_beaten, bob.client);
	assert_true(fake_call(FAKE_BEAT, 0).conn < before);
	assert_true(fake_call(FAKE_BEAT, 1).conn > before);
	assert_int_equal(rowlock_held(bob.lock), 1);
	assert_int_equal(release(&bob), 0);
	end(&bob);
}

FAKE("without a new connection the old one beats")
{
	struct one bob;
	uint64_t before = beat_is_due(&bob);

	fake_next(FAKE_BEAT, read_only);
	fake_always(FAKE_GET, no_conn);
	fake_advance(1000);
	fake_await(FAKE_BEAT, 2);
	fake_until(is_beaten, bob.client);
	assert_true(fake_call(FAKE_BEAT, 1).conn < before);
	assert_int_equal(rowlock_held(bob.lock), 1);
	fake_always(FAKE_GET, normal);
	assert_int_equal(release(&bob), 0);
	end(&bob);
}

/* ------------------------------------------------------------- bells */

FAKE("who stands in line stands in the new one")
{
	_cleanup_(end) struct one bob = waiting(ROWLOCK_FOREVER);

	refuse_a_try(bob.client);
	fake_advance(LOOK_MOST_MS);
	fake_pass_await(FAKE_BELL_WAIT, 2);
	assert_true(fake_call(FAKE_BELL_WAIT, 1).conn !=
		    fake_call(FAKE_BELL_WAIT, 0).conn);
	other_rings("job");
	is_granted_in_time(&bob);
	assert_int_equal(release(&bob), 0);
}

static struct one holding_a_bell(void)
{
	struct one bob = waiting(ROWLOCK_FOREVER);

	other_rings("job");
	is_granted(&bob);
	return bob;
}

static bool has_no_bell(void *arg)
{
	(void) arg;
	return fake_lent(RLK_BAY_BELL) == 0;
}

FAKE("a hold outlives its bell on the old server")
{
	_cleanup_(end) struct one bob = holding_a_bell();
	unsigned int pings = 0;

	refuse_a_try(bob.client);
	fake_advance(10000);
	fake_until(has_no_bell, NULL);
	for (unsigned int i = 0; i < fake_count(FAKE_PING); i++)
		pings += fake_call(FAKE_PING, i).bay == RLK_BAY_BELL;
	assert_int_equal(pings, 0);
	assert_int_equal(rowlock_held(bob.lock), 1);
	assert_int_equal(release(&bob), 0);
}

FAKE("a release does not go to the old server")
{
	_cleanup_(end) struct one bob = holding_a_bell();
	uint64_t bell = fake_bell("job");

	refuse_a_try(bob.client);
	assert_int_equal(release(&bob), 0);
	assert_int_equal(fake_lease("job"), 0);
	assert_int_equal(fake_count(FAKE_RELEASE), 1);
	assert_true(fake_call(FAKE_RELEASE, 0).conn != bell);
	assert_int_equal(fake_lent(RLK_BAY_BELL), 0);
}

/* -------------------------------------------------------------- rows */

FAKE("a row hold goes on until it ends by itself")
{
	FAKE_JOB(ROWLOCK_ROW, 0);
	uint64_t conn;

	assert_ok(rowlock_acquire(lock, 0, &err));
	conn = fake_row("job");
	refuse_a_try(client);
	assert_int_equal(rowlock_held(lock), 1);
	assert_ok(rowlock_verify(lock, &err));
	assert_ok(rowlock_release(lock, &err));
	/* It is not used for another. */
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_true(fake_row("job") != conn);
	assert_ok(rowlock_release(lock, &err));
}

FAKE("who waits for a row waits on a new connection")
{
	FAKE_JOB(ROWLOCK_ROW, 0);
	FAKE_PERSON(bob);

	/* The end of a slice. */
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .wait = true,
						      .given = true,
						      .skip = true,
						      .result = RLK_WAITED });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_await(FAKE_ACQUIRE, 1);
	refuse_a_try(client);
	fake_let(FAKE_ACQUIRE);
	assert_ok(fake_hear(bob, &err));
	assert_true(fake_row("job") != fake_call(FAKE_ACQUIRE, 0).conn);
	assert_ok(fake_ask(bob, FAKE_DO_RELEASE, lock, 0));
}

CASE_MAIN(case_main)
