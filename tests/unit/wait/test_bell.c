/* SPDX-License-Identifier: MIT */
/*
 * Bells of holds: none is left behind however a hold ends, and none costs the
 * connection that somebody else needs.
 */
#include "doorbell.h"

#include <stdio.h>

static const struct fake_answer normal = { .given = false };
static const struct fake_answer let = { .wait = true };
static const struct fake_answer no_answer = { .given = true,
					      .skip = true,
					      .result = RLK_UNKNOWN };

/* --------------------------------------------------- how a hold ends */

static struct one holding_a_bell(void)
{
	struct one bob = waiting(ROWLOCK_FOREVER);

	other_rings("job");
	is_granted(&bob);
	return bob;
}

FAKE("lease outlives its bell")
{
	_cleanup_(end) struct one bob = holding_a_bell();

	fake_bell_hang_up("job");
	fake_advance(10000); /* a third of its wait_timeout */
	await_given_back(RLK_BAY_BELL);
	assert_int_equal(rowlock_held(bob.lock), 1);
	assert_int_equal(release(&bob), 0);
	assert_int_equal(fake_lease("job"), 0);
}

FAKE("release finds the bell's connection dead")
{
	_cleanup_(end) struct one bob = holding_a_bell();

	fake_bell_hang_up("job");
	assert_int_equal(release(&bob), 0);
	assert_int_equal(fake_lease("job"), 0);
	assert_int_equal(fake_count(FAKE_RELEASE), 2);
}

FAKE("release without an answer ends the bell")
{
	_cleanup_(end) struct one bob = holding_a_bell();

	fake_next(FAKE_RELEASE, no_answer);
	assert_int_equal(release(&bob), 0);
	assert_int_equal(fake_lease("job"), 0);
}

/* The ping of the hold's connection is under way, and no other one that bob
 * would have to wait for. */
static struct one pinged(struct one *bob)
{
	struct one eve = one(bob->client, "other");
	unsigned int pings = 0;

	acquire(&eve, ROWLOCK_FOREVER);
	is_granted(&eve);
	fake_always(FAKE_PING, let);
	/* A third of what the server gives a connection for bells. */
	fake_advance(1334);
	/* The pinger's; the chores have others at the same time. */
	do
		fake_await(FAKE_PING, ++pings);
	while (fake_call(FAKE_PING, pings - 1).bay != RLK_BAY_BELL);
	return eve;
}

FAKE("release does not wait for a ping of the bell")
{
	_cleanup_(end) struct one bob = holding_a_bell();
	_cleanup_(leave) struct one eve = pinged(&bob);

	assert_int_equal(release(&bob), 0);
	assert_int_equal(fake_lease("job"), 0);
	fake_always(FAKE_PING, normal);
	for (int i = 0; i < 8; i++)
		fake_let(FAKE_PING);
	await_given_back(RLK_BAY_BELL);
	assert_int_equal(release(&eve), 0);
}

FAKE("unanswered ping of a bell holds up no other")
{
	struct one bob = holding_a_bell();
	struct one eve = pinged(&bob);
	struct rowlock *row = fake_lock(bob.client, ROWLOCK_ROW, 0, "row");

	assert_int_equal(rowlock_acquire(row, 0, NULL), 0);
	fake_advance(3000);
	fake_await(FAKE_CONFIRM, 1);
	assert_int_equal(rowlock_release(row, NULL), 0);
	fake_lock_end(row);
	assert_int_equal(release(&bob), 0);
	assert_int_equal(release(&eve), 0);
	leave(&eve);
	leave(&bob);
	fake_client_end(bob.client);
}

FAKE("client ends while a bell is pinged")
{
	struct one bob = holding_a_bell();
	struct one eve = pinged(&bob);

	assert_int_equal(release(&bob), 0);
	assert_int_equal(release(&eve), 0);
	assert_int_equal(fake_lent(RLK_BAY_BELL), 1);
	leave(&eve);
	leave(&bob);
	/* No answer comes; the connection is given back all the same. */
	fake_client_end(bob.client);
	assert_int_equal(fake_bells(), 0);
}

FAKE("hold that is found gone lets its bell go")
{
	_cleanup_(end) struct one bob = holding_a_bell();

	fake_lease_remove("job");
	assert_code(release(&bob), ROWLOCK_ELOST, NULL);
}

FAKE("lost session lets its bells go")
{
	_cleanup_(end) struct one bob = holding_a_bell();
	_cleanup_(leave) struct one eve = one(bob.client, "other");

	acquire(&eve, ROWLOCK_FOREVER);
	is_granted(&eve);
	assert_int_equal(fake_bells(), 2);
	fake_always(FAKE_BEAT, no_answer);
	fake_advance(30000);
	fake_until(no_bells, NULL);
	fake_always(FAKE_BEAT, normal);
	assert_code(release(&eve), ROWLOCK_ELOST, NULL);
	assert_code(release(&bob), ROWLOCK_ELOST, NULL);
}

/* More often than the commit connection may have bells: each counts once. */
FAKE("holds that outlast their maximum let their bells go")
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_client *client = client_of(4);
	struct rowlock *lock;

	options.max_hold_ms = 1000;
	assert_ok(rowlock_new(client, "job", &options, &lock, &err));
	for (unsigned int i = 0; i < 70; i++) {
		assert_ok(rowlock_acquire(lock, 0, &err));
		assert_true(fake_call(FAKE_ACQUIRE, i).bell);
		assert_int_equal(fake_bells(), 1);
		fake_advance(1000);
		assert_int_equal(rowlock_held(lock), 0);
		fake_until(no_bells, NULL);
		assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	}
	fake_end(lock, client);
}

FAKE("session lost in line is replaced")
{
	_cleanup_(end) struct one bob = waiting(ROWLOCK_FOREVER);
	uint64_t before = fake_call(FAKE_ACQUIRE, 0).id;

	fake_session_remove(before);
	fake_advance(10000); /* the next beat */
	fake_await(FAKE_CLOSE, 1);
	fake_await_bell_line("job", 1);
	other_rings("job");
	is_granted(&bob);
	assert_true(fake_call(FAKE_ACQUIRE, fake_count(FAKE_ACQUIRE) - 1).id !=
		    before);
	assert_int_equal(fake_bell("job"), fake_call(FAKE_BELL_WAIT, 0).conn);
	assert_int_equal(release(&bob), 0);
	assert_int_equal(fake_lease("job"), 0);
}

static unsigned int bell_pings(void)
{
	unsigned int pings = 0;

	for (unsigned int i = 0; i < fake_count(FAKE_PING); i++)
		pings += fake_call(FAKE_PING, i).bay == RLK_BAY_BELL;
	return pings;
}

static bool was_pinged(void *arg)
{
	const unsigned int *pings = arg;

	return bell_pings() >= *pings;
}

FAKE("bell is pinged as long as its hold lasts")
{
	_cleanup_(end) struct one bob = holding_a_bell();

	fake_pass_until(was_pinged, &(unsigned int){ 3 });
	assert_int_equal(release(&bob), 0);
	/* By the pinger, if it was at it. */
	await_given_back(RLK_BAY_BELL);
}

/* Those of the connection before went with it. */
FAKE("bells of a connection end with it")
{
	FAKE_CLIENT_AS(client, client_of(4));
	struct rowlock *locks[65];
	char name[16];

	for (unsigned int i = 0; i < TEST_SIZE(locks); i++) {
		snprintf(name, sizeof(name), "job %u", i);
		locks[i] = fake_lock(client, ROWLOCK_LEASE, 0, name);
		if (i == 64)
			fake_bell_hang_up("job 0");
		assert_ok(rowlock_acquire(locks[i], ROWLOCK_FOREVER, &err));
		assert_int_not_equal(fake_bell(name), 0);
	}
	for (unsigned int i = 0; i < TEST_SIZE(locks); i++) {
		assert_ok(rowlock_release(locks[i], &err));
		fake_lock_end(locks[i]);
	}
}

/* A connection has room for a number of bells at one time. */
FAKE("bells of holds that are over make room")
{
	FAKE_CLIENT_AS(client, client_of(4));
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, 0, "job");

	for (unsigned int i = 0; i < 200; i++) {
		assert_ok(rowlock_acquire(lock, 0, &err));
		if (!fake_bell("job"))
			fail_msg("hold %u has no bell", i + 1);
		assert_ok(rowlock_release(lock, &err));
		assert_int_equal(fake_bell("job"), 0);
	}
}

static unsigned int pings_of_bells(void)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < fake_count(FAKE_PING); i++)
		count += fake_call(FAKE_PING, i).bay == RLK_BAY_BELL;
	return count;
}

/* The server would keep it for a TTL if this process was stopped in line. */
FAKE("connection of a long hold is not waited on again")
{
	_cleanup_(end) struct one bob = holding_a_bell();

	while (pings_of_bells() < 1)
		fake_pass_await(FAKE_PING, fake_count(FAKE_PING) + 1);
	assert_int_equal(release(&bob), 0);
	await_given_back(RLK_BAY_BELL);
	other_holds("job");
	acquire(&bob, ROWLOCK_FOREVER);
	fake_await_bell_line("job", 1);
	assert_true(fake_call(FAKE_BELL_WAIT, 1).conn !=
		    fake_call(FAKE_BELL_WAIT, 0).conn);
	other_rings("job");
	is_granted(&bob);
	assert_int_equal(release(&bob), 0);
}

static bool is_later(void *arg)
{
	return fake_now() >= *(int64_t *) arg;
}

/* The first ping comes soon, and has the server keep it for a TTL. */
FAKE("bell of a long hold is seldom pinged")
{
	_cleanup_(end) struct one bob = holding_a_bell();
	int64_t then = fake_now() + 9000;

	fake_pass_until(is_later, &then);
	assert_int_equal(pings_of_bells(), 1);
	assert_int_equal(release(&bob), 0);
	await_given_back(RLK_BAY_BELL);
}

/* -------------------------------------------- connections to spare */

FAKE("one wait connection is for one name")
{
	struct rowlock_client *client = client_of(1);
	_cleanup_(end) struct one bob = one(client, "job");
	_cleanup_(leave) struct one eve = one(client, "other");

	other_holds("job");
	other_holds("other");
	acquire(&bob, ROWLOCK_FOREVER);
	fake_await_bell_line("job", 1);
	acquire(&eve, ROWLOCK_FOREVER);
	fake_pass_await(FAKE_ACQUIRE, 6);
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 1);
	other_rings("other");
	is_granted_in_time(&eve);
	other_rings("job");
	is_granted(&bob);
	assert_int_equal(release(&eve), 0);
	assert_int_equal(release(&bob), 0);
}

/* Of a packet that failed half way one has to be sent alone, and all that it
 * could be sent on waits for bells. */
struct queue {
	struct rowlock_client *client;
	unsigned int count;
};

static bool have_queued(void *arg)
{
	const struct queue *queue = arg;
	struct rlk_group *group = &queue->client->leases.group;
	const struct rlk_list *node;
	unsigned int count = 0;

	rlk_mutex_lock(&group->mutex);
	for (node = group->queue.next; node != &group->queue; node = node->next)
		count++;
	rlk_mutex_unlock(&group->mutex);
	return count == queue->count;
}

FAKE("half a packet rings all its bells")
{
	struct rowlock_client *client = client_of(1);
	struct one first = one(client, "first");
	struct one half = one(client, "half");
	struct one rest = one(client, "rest");
	struct one bob = one(client, "job");

	acquire(&first, ROWLOCK_FOREVER);
	is_granted(&first);
	acquire(&half, ROWLOCK_FOREVER);
	is_granted(&half);
	acquire(&rest, ROWLOCK_FOREVER);
	is_granted(&rest);
	assert_int_equal(fake_bells(), 3);
	other_holds("job");
	acquire(&bob, ROWLOCK_FOREVER);
	fake_await_bell_line("job", 1);

	fake_next(FAKE_RELEASE, let);
	fake_next(FAKE_BATCH, (struct fake_answer){ .half = 1,
						    .given = true,
						    .result = RLK_CONFLICT });
	fake_tell(first.person, FAKE_DO_RELEASE, first.lock, 0);
	fake_await(FAKE_RELEASE, 1);
	fake_tell(half.person, FAKE_DO_RELEASE, half.lock, 0);
	fake_tell(rest.person, FAKE_DO_RELEASE, rest.lock, 0);
	fake_until(have_queued, &(struct queue){ client, 2 });
	fake_let(FAKE_RELEASE);
	is_granted(&first);
	is_granted(&half);
	is_granted(&rest);
	assert_int_equal(fake_count(FAKE_BATCH), 1);
	assert_int_equal(fake_bells(), 0);

	other_rings("job");
	is_granted(&bob);
	assert_int_equal(release(&bob), 0);
	leave(&first);
	leave(&half);
	leave(&rest);
	end(&bob);
}

/* The same, with a connection to spare: it is not the one that has the bell. */
FAKE("release over another connection rings")
{
	struct rowlock_client *client = client_of(4);
	struct one first = one(client, "first");
	struct one half = one(client, "half");
	struct one rest = one(client, "rest");

	acquire(&first, ROWLOCK_FOREVER);
	is_granted(&first);
	acquire(&half, ROWLOCK_FOREVER);
	is_granted(&half);
	acquire(&rest, ROWLOCK_FOREVER);
	is_granted(&rest);
	fake_next(FAKE_RELEASE, let);
	fake_next(FAKE_BATCH, (struct fake_answer){ .half = 1,
						    .given = true,
						    .result = RLK_CONFLICT });
	fake_tell(first.person, FAKE_DO_RELEASE, first.lock, 0);
	fake_await(FAKE_RELEASE, 1);
	fake_tell(half.person, FAKE_DO_RELEASE, half.lock, 0);
	fake_tell(rest.person, FAKE_DO_RELEASE, rest.lock, 0);
	fake_until(have_queued, &(struct queue){ client, 2 });
	fake_let(FAKE_RELEASE);
	is_granted(&first);
	is_granted(&half);
	is_granted(&rest);
	assert_int_equal(fake_lent(RLK_BAY_BELL), 0);
	assert_true(fake_call(FAKE_RELEASE, 1).conn !=
		    fake_call(FAKE_RELEASE, 0).conn);
	assert_int_equal(fake_bells(), 0);
	leave(&half);
	leave(&rest);
	end(&first);
}

/* ------------------------------------------------------- and then another */

CASE_MAIN(case_main)
