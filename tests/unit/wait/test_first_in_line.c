/* SPDX-License-Identifier: MIT */
/*
 * The first in line, where the holder will not ring: it asks again and again,
 * with the client's others, and keeps its bell.
 */
#include "doorbell.h"

static const struct fake_answer refused = { .given = true,
					    .skip = true,
					    .result = RLK_REFUSED };
static const struct fake_answer no_answer = { .given = true,
					      .skip = true,
					      .result = RLK_UNKNOWN };

/* First in line for a holder that will not ring. */
static void ask(const struct one *bob)
{
	fake_session_add(77);
	fake_lease_add("job", 7, 77);
	acquire(bob, ROWLOCK_FOREVER);
	fake_await(FAKE_BELL_WAIT, 1);
}

/* The same with another, for "task". */
static void ask_together(const struct one *bob, const struct one *ann)
{
	fake_session_add(77);
	fake_lease_add("job", 7, 77);
	fake_lease_add("task", 8, 77);
	acquire(bob, ROWLOCK_FOREVER);
	acquire(ann, ROWLOCK_FOREVER);
	fake_await(FAKE_BELL_WAIT, 2);
	fake_pass_await(FAKE_BATCH, 2);
}

static void become_free(const struct one *bob, const struct one *ann)
{
	fake_lease_remove("job");
	fake_lease_remove("task");
	is_granted_in_time(bob);
	is_granted_in_time(ann);
}

FAKE("first in line asks again if the holder has no bell")
{
	_cleanup_(end) struct one bob = one(client_of(4), "job");

	ask(&bob);
	fake_pass_await(FAKE_ACQUIRE, 5);
	/* It keeps the bell meanwhile. */
	assert_int_equal(fake_bell("job"), fake_call(FAKE_BELL_WAIT, 0).conn);
	assert_int_equal(fake_call(FAKE_ACQUIRE, 4).conn, fake_bell("job"));
	fake_lease_remove("job");
	is_granted_in_time(&bob);
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 1);
	assert_int_equal(release(&bob), 0);
}

/* One statement for both names. */
FAKE("first ones of several lines ask together")
{
	_cleanup_(end) struct one bob = one(client_of(4), "job");
	_cleanup_(leave) struct one ann = one(bob.client, "task");
	unsigned int before;

	ask_together(&bob, &ann);
	before = fake_count(FAKE_ACQUIRE);
	fake_pass_await(FAKE_BATCH, 12);
	assert_int_equal(fake_count(FAKE_ACQUIRE), before);
	/* Both keep their bells. */
	assert_int_equal(fake_lent(RLK_BAY_BELL), 2);
	become_free(&bob, &ann);
	assert_int_equal(fake_lent(RLK_BAY_BELL), 2);
	assert_int_equal(release(&bob), 0);
	assert_int_equal(release(&ann), 0);
	assert_int_equal(fake_lent(RLK_BAY_BELL), 0);
}

struct asked {
	unsigned int since;
	uint64_t conn;
};

static bool was_asked_on(void *arg)
{
	const struct asked *asked = arg;

	for (unsigned int i = asked->since; i < fake_count(FAKE_ACQUIRE); i++)
		if (fake_call(FAKE_ACQUIRE, i).conn == asked->conn)
			return true;
	return false;
}

/* The server ends a connection on which nothing is said for a TTL. */
FAKE("bells of a round are kept")
{
	_cleanup_(end) struct one bob = one(client_of(4), "job");
	_cleanup_(leave) struct one ann = one(bob.client, "task");
	unsigned int before;

	ask_together(&bob, &ann);
	for (unsigned int i = 0; i < 3; i++) {
		struct asked job = { fake_count(FAKE_ACQUIRE),
				     fake_bell("job") };
		struct asked task = { job.since, fake_bell("task") };

		fake_advance(10000);
		fake_pass_until(was_asked_on, &job);
		fake_pass_until(was_asked_on, &task);
		/* And on they go together. */
		fake_pass_await(FAKE_BATCH, fake_count(FAKE_BATCH) + 1);
		before = fake_count(FAKE_ACQUIRE);
		fake_pass_await(FAKE_BATCH, fake_count(FAKE_BATCH) + 3);
		assert_int_equal(fake_count(FAKE_ACQUIRE), before);
		assert_int_equal(fake_bell("job"), job.conn);
		assert_int_equal(fake_bell("task"), task.conn);
	}
	become_free(&bob, &ann);
	assert_int_equal(release(&bob), 0);
	assert_int_equal(release(&ann), 0);
}

FAKE("first in line that lost its bell stands in it again")
{
	_cleanup_(end) struct one bob = one(client_of(4), "job");
	uint64_t lost;
	int64_t began;

	ask(&bob);
	fake_pass_await(FAKE_ACQUIRE, 12);
	lost = fake_bell("job");
	fake_bell_hang_up("job");
	began = fake_now();
	fake_pass_await(FAKE_BELL_WAIT, 2);
	/* Long before it has to say something on it. */
	assert_true(fake_now() - began < 1000);
	fake_pass_await(FAKE_ACQUIRE, fake_count(FAKE_ACQUIRE) + 1);
	assert_true(fake_bell("job") && fake_bell("job") != lost);
	fake_lease_remove("job");
	is_granted_in_time(&bob);
	assert_int_equal(release(&bob), 0);
}

/* Whatever was sent with others' went over the commit connection: its session
 * is ended, not that of the connection that has the bell. */
FAKE("unanswered round of those with bells is settled")
{
	_cleanup_(end) struct one bob = one(client_of(4), "job");
	_cleanup_(leave) struct one ann = one(bob.client, "task");
	uint64_t commit;

	ask_together(&bob, &ann);
	commit = fake_call(FAKE_BATCH, 1).conn;
	fake_next(FAKE_BATCH, no_answer);
	/* The leader cannot end it, so each sees to it by himself. */
	fake_next(FAKE_FENCE, refused);
	fake_pass_await(FAKE_FENCE, 3);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(fake_call(FAKE_FENCE, i).id, commit);
	become_free(&bob, &ann);
	assert_int_equal(release(&bob), 0);
	assert_int_equal(release(&ann), 0);
}

/* The question that settles a lost answer met a passing conflict: from then on
 * it is no more urgent than others. */
FAKE("who is unsure asks no more often")
{
	static const struct fake_answer lost = { .given = true,
						 .skip = true,
						 .result = RLK_UNKNOWN };
	static const struct fake_answer conflict = { .given = true,
						     .skip = true,
						     .result = RLK_CONFLICT };
	_cleanup_(end) struct one bob = one(client_of(4), "job");
	unsigned int before;
	int64_t began;

	ask(&bob);
	fake_pass_await(FAKE_ACQUIRE, 12);
	fake_next(FAKE_ACQUIRE, lost);
	fake_next(FAKE_ACQUIRE, conflict);
	before = fake_count(FAKE_ACQUIRE);
	fake_pass_await(FAKE_ACQUIRE, before + 3);
	began = fake_now();
	before = fake_count(FAKE_ACQUIRE);
	fake_pass_await(FAKE_ACQUIRE, before + 20);
	/* Each after its pause. */
	assert_true(fake_now() - began > 20 * 20);
	fake_lease_remove("job");
	is_granted_in_time(&bob);
	assert_int_equal(release(&bob), 0);
}

CASE_MAIN(case_main)
