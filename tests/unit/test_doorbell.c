/* SPDX-License-Identifier: MIT */
/*
 * Bells: who takes one with a lease, who stands in line for it, what a wait can
 * come to, and that none is left behind however a hold ends.
 *
 * The other client of these tests is the test itself: it adds and removes
 * leases and has bells by hand.
 */
#include "fake/fake.h"

#include <string.h>

#include "core/lock.h"
#include "test.h"

#define SLICE_MS 12000
#define SOMEBODY UINT64_MAX

static const struct fake_answer normal = { .given = false };
static const struct fake_answer let = { .wait = true };
static const struct fake_answer killed = { .given = true,
					   .skip = true,
					   .result = RLK_KILLED };
static const struct fake_answer killed_late = {
	.given = true, .skip = true, .wait = true, .result = RLK_KILLED
};
static const struct fake_answer refused = { .given = true,
					    .skip = true,
					    .result = RLK_REFUSED };
static const struct fake_answer no_answer = { .given = true,
					      .skip = true,
					      .result = RLK_UNKNOWN };

static struct rowlock_client *client_of(unsigned int waits)
{
	struct rowlock_client_options options = fake_options();

	options.wait_connections = waits;
	options.lease_connections = 1;
	options.handover_passes = 0;
	return fake_client_with(&options);
}

/* One thread that uses one handle. */
struct one {
	struct rowlock_client *client;
	struct rowlock *lock;
	struct fake_person *person;
};

static struct one one(struct rowlock_client *client, const char *name)
{
	return (struct one){
		.client = client,
		.lock = fake_lock(client, ROWLOCK_LEASE, 0, name),
		.person = fake_person(),
	};
}

static void acquire(const struct one *one, uint64_t wait_ms)
{
	fake_tell(one->person, FAKE_DO_ACQUIRE, one->lock, wait_ms);
}

static void is_granted(const struct one *one)
{
	struct rowlock_errinfo err;

	assert_ok(fake_hear(one->person, &err));
}

/* Though nobody tells it. */
static void is_granted_in_time(const struct one *one)
{
	struct rowlock_errinfo err;

	assert_ok(fake_pass_hear(one->person, &err));
}

static int release(const struct one *one)
{
	return fake_ask(one->person, FAKE_DO_RELEASE, one->lock, 0);
}

static void leave(const struct one *one)
{
	fake_person_end(one->person);
	fake_lock_end(one->lock);
}

static void end(const struct one *one)
{
	leave(one);
	assert_int_equal(fake_bells(), 0);
	fake_client_end(one->client);
}

/* The other client holds @name, and has its bell. */
static void other_holds(const char *name)
{
	if (!fake_session_there(77))
		fake_session_add(77);
	fake_lease_add(name, 7, 77);
	fake_bell_take(name);
}

static void other_rings(const char *name)
{
	fake_lease_remove(name);
	fake_bell_ring(name);
}

/* In line, behind the other client. */
static struct one waiting(uint64_t wait_ms)
{
	struct one bob;

	other_holds("job");
	bob = one(client_of(4), "job");
	acquire(&bob, wait_ms);
	fake_await_bell_line("job", 1);
	return bob;
}

static bool no_bells(void *arg)
{
	(void) arg;
	return fake_bells() == 0;
}

static bool none_lent(void *arg)
{
	return fake_lent(*(int *) arg) == 0;
}

static void await_given_back(int bay)
{
	fake_until(none_lent, &bay);
}

/* ------------------------------------------------------------- taking */

static void lone_acquire_takes_the_bell_and_its_release_lets_it_go(void **state)
{
	struct one bob = one(client_of(4), "job");

	(void) state;
	acquire(&bob, ROWLOCK_FOREVER);
	is_granted(&bob);
	assert_int_equal(fake_bell("job"), fake_call(FAKE_ACQUIRE, 0).conn);
	assert_int_equal(release(&bob), 0);
	assert_int_equal(fake_bell("job"), 0);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 1);
	assert_int_equal(fake_count(FAKE_RELEASE), 1);
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 0);
	assert_int_equal(fake_count(FAKE_RING), 0);
	end(&bob);
}

static void no_bell_is_taken(struct rowlock_client *client)
{
	struct one bob = one(client, "job");

	fake_session_add(77);
	fake_lease_add("job", 7, 77);
	acquire(&bob, ROWLOCK_FOREVER);
	fake_await(FAKE_ACQUIRE, 1);
	fake_pass_await(FAKE_ACQUIRE, 4);
	assert_false(fake_call(FAKE_ACQUIRE, 0).bell);
	fake_lease_remove("job");
	is_granted_in_time(&bob);
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 0);
	assert_int_equal(fake_bell("job"), 0);
	assert_int_equal(release(&bob), 0);
	end(&bob);
}

static void without_wait_connections_nobody_rings_or_waits(void **state)
{
	(void) state;
	no_bell_is_taken(client_of(0));
}

static void with_many_writers_nobody_rings_or_waits(void **state)
{
	(void) state;
	fake_server.galera = true;
	no_bell_is_taken(client_of(4));
}

static void try_does_not_stand_in_line(void **state)
{
	struct one bob = waiting(10);
	struct rowlock_errinfo err;

	(void) state;
	fake_advance(10);
	assert_code(fake_hear(bob.person, &err), ROWLOCK_ETIMEDOUT, &err);
	/* Its name is busy now, and it tries all the same. */
	assert_code(rowlock_acquire(bob.lock, 0, &err), ROWLOCK_EBUSY, &err);
	fake_lease_remove("job");
	assert_ok(rowlock_acquire(bob.lock, 0, &err));
	assert_int_equal(fake_bell("job"), SOMEBODY);
	assert_ok(rowlock_release(bob.lock, &err));
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 1);
	fake_bell_ring("job");
	end(&bob);
}

/* ---------------------------------------------------------- the line */

static void waiter_is_woken_by_the_bell(void **state)
{
	struct one bob = waiting(ROWLOCK_FOREVER);

	(void) state;
	other_rings("job");
	is_granted(&bob);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 2);
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 1);
	assert_int_equal(fake_count(FAKE_LOOK), 0);
	/* Bell and connection stay with the hold. */
	assert_int_equal(fake_bell("job"), fake_call(FAKE_BELL_WAIT, 0).conn);
	assert_int_equal(fake_lent(RLK_BAY_BELL), 1);
	assert_int_equal(release(&bob), 0);
	assert_int_equal(fake_bell("job"), 0);
	assert_int_equal(fake_lent(RLK_BAY_BELL), 0);
	assert_int_equal(fake_count(FAKE_RELEASE), 1);
	assert_int_equal(fake_call(FAKE_RELEASE, 0).conn,
			 fake_call(FAKE_BELL_WAIT, 0).conn);
	end(&bob);
}

static void first_in_line_asks_again_if_the_holder_has_no_bell(void **state)
{
	struct one bob = one(client_of(4), "job");

	(void) state;
	fake_session_add(77);
	fake_lease_add("job", 7, 77);
	acquire(&bob, ROWLOCK_FOREVER);
	fake_await(FAKE_BELL_WAIT, 1);
	fake_pass_await(FAKE_ACQUIRE, 5);
	/* It keeps the bell meanwhile. */
	assert_int_equal(fake_bell("job"), fake_call(FAKE_BELL_WAIT, 0).conn);
	assert_int_equal(fake_call(FAKE_ACQUIRE, 4).conn, fake_bell("job"));
	fake_lease_remove("job");
	is_granted_in_time(&bob);
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 1);
	assert_int_equal(release(&bob), 0);
	end(&bob);
}

static void waiter_says_no_more_than_a_look_per_slice(void **state)
{
	struct one bob = waiting(ROWLOCK_FOREVER);

	(void) state;
	assert_int_equal(fake_call(FAKE_BELL_WAIT, 0).id, SLICE_MS);
	for (unsigned int i = 1; i <= 3; i++) {
		fake_advance(SLICE_MS);
		fake_await(FAKE_BELL_WAIT, i + 1);
		assert_int_equal(fake_count(FAKE_LOOK), i);
	}
	fake_await_bell_line("job", 1);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 1);
	other_rings("job");
	is_granted(&bob);
	assert_int_equal(release(&bob), 0);
	end(&bob);
}

/* A beat that is observed need not be looked at all the time, either. */
static void who_observes_beats_stays_in_line_for_a_while(void **state)
{
	struct rowlock_client_options options = fake_options();
	struct one bob;

	(void) state;
	other_holds("job");
	options.wait_connections = 4;
	options.flags |= ROWLOCK_OBSERVE_BEATS;
	bob = one(fake_client_with(&options), "job");
	acquire(&bob, ROWLOCK_FOREVER);
	fake_await_bell_line("job", 1);
	/* A fourth of the TTL and its margin. */
	assert_int_equal(fake_call(FAKE_BELL_WAIT, 0).id, 33000 / 4 + 1);
	other_rings("job");
	is_granted(&bob);
	assert_int_equal(release(&bob), 0);
	end(&bob);
}

static void busy_name_is_asked_for_in_line(void **state)
{
	struct one bob = waiting(ROWLOCK_FOREVER);

	(void) state;
	other_rings("job");
	is_granted(&bob);
	assert_int_equal(release(&bob), 0);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 2);
	acquire(&bob, ROWLOCK_FOREVER);
	is_granted(&bob);
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 2);
	assert_int_equal(release(&bob), 0);
	/* Nobody else wanted it: so it is not busy any more. */
	fake_advance(1001);
	acquire(&bob, ROWLOCK_FOREVER);
	is_granted(&bob);
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 2);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 4);
	assert_int_equal(release(&bob), 0);
	end(&bob);
}

/* ---------------------------------------------------- ends of a wait */

static void deadline_in_line_looks_once_and_leaves_nothing(void **state)
{
	struct one bob = waiting(500);
	struct rowlock_errinfo err;

	(void) state;
	assert_int_equal(fake_call(FAKE_BELL_WAIT, 0).id, 500);
	fake_advance(500);
	assert_code(fake_hear(bob.person, &err), ROWLOCK_ETIMEDOUT, &err);
	assert_int_equal(fake_count(FAKE_LOOK), 1);
	assert_int_equal(fake_count(FAKE_KILL_QUERY), 0);
	fake_await_bell_line("job", 0);
	assert_int_equal(fake_lent(RLK_BAY_BELL), 0);
	other_rings("job");
	end(&bob);
}

static void what_is_free_at_the_deadline_is_taken_from_a_ghost(void **state)
{
	struct one bob = waiting(500);

	(void) state;
	fake_lease_remove("job");
	fake_advance(500);
	is_granted(&bob);
	assert_int_equal(fake_bell("job"), SOMEBODY);
	assert_int_equal(release(&bob), 0);
	fake_bell_ring("job");
	end(&bob);
}

static void cancel_in_line_looks_no_more(void **state)
{
	struct one bob = waiting(ROWLOCK_FOREVER);
	struct rowlock_errinfo err;

	(void) state;
	rowlock_cancel(bob.lock);
	assert_code(fake_hear(bob.person, &err), ROWLOCK_ECANCELED, &err);
	assert_int_equal(fake_count(FAKE_KILL_QUERY), 1);
	assert_int_equal(fake_count(FAKE_BELL_RESUME), 1);
	assert_int_equal(fake_count(FAKE_LOOK), 0);
	fake_await_bell_line("job", 0);
	other_rings("job");
	end(&bob);
}

static void bell_that_was_got_before_the_cancel(int result)
{
	struct one bob = waiting(ROWLOCK_FOREVER);
	struct rowlock_errinfo err;

	fake_next(FAKE_KILL_QUERY, let);
	fake_next(
	    FAKE_BELL_RESUME,
	    (struct fake_answer){ .half = 1, .given = true, .result = result });
	rowlock_cancel(bob.lock);
	fake_await(FAKE_KILL_QUERY, 1);
	other_rings("job");
	fake_let(FAKE_KILL_QUERY);
	assert_code(fake_hear(bob.person, &err), ROWLOCK_ECANCELED, &err);
	assert_int_equal(fake_lease("job"), 0);
	/* Of a living connection. */
	assert_int_equal(fake_bell("job"), 0);
	end(&bob);
}

static void bell_that_was_got_before_the_cancel_is_let_go(void **state)
{
	(void) state;
	bell_that_was_got_before_the_cancel(RLK_DONE);
}

static void bell_that_was_got_and_killed_is_let_go(void **state)
{
	(void) state;
	bell_that_was_got_before_the_cancel(RLK_KILLED);
}

static void interrupted_wait_is_begun_again(void **state)
{
	struct one bob;

	(void) state;
	fake_next(FAKE_BELL_WAIT, killed);
	bob = waiting(ROWLOCK_FOREVER);
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 2);
	other_rings("job");
	is_granted(&bob);
	assert_int_equal(release(&bob), 0);
	end(&bob);
}

static void wait_without_an_answer_is_begun_again_elsewhere(void **state)
{
	struct one bob;

	(void) state;
	fake_next(FAKE_BELL_WAIT, no_answer);
	other_holds("job");
	bob = one(client_of(4), "job");
	acquire(&bob, ROWLOCK_FOREVER);
	fake_advance(1);
	fake_pass_await(FAKE_BELL_WAIT, 2);
	assert_true(fake_call(FAKE_BELL_WAIT, 0).conn !=
		    fake_call(FAKE_BELL_WAIT, 1).conn);
	fake_await_bell_line("job", 1);
	other_rings("job");
	is_granted(&bob);
	assert_int_equal(release(&bob), 0);
	end(&bob);
}

static void lines(enum rowlock_log_level level, const char *message, void *arg)
{
	unsigned int *count = arg;

	if (level == ROWLOCK_LOG_WARNING && strstr(message, "bells"))
		++*count;
}

static void refused_bells_are_told_once_and_polled_instead(void **state)
{
	struct rowlock_client_options options = fake_options();
	static unsigned int told;
	struct one bob;

	(void) state;
	told = 0;
	options.wait_connections = 4;
	options.log = lines;
	options.log_arg = &told;
	fake_always(FAKE_BELL_WAIT, refused);
	other_holds("job");
	bob = one(fake_client_with(&options), "job");
	for (int i = 0; i < 2; i++) {
		acquire(&bob, ROWLOCK_FOREVER);
		fake_pass_await(FAKE_ACQUIRE, fake_count(FAKE_ACQUIRE) + 3);
		fake_lease_remove("job");
		is_granted_in_time(&bob);
		assert_int_equal(release(&bob), 0);
		fake_lease_add("job", 7, 77);
	}
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 1);
	assert_int_equal(told, 1);
	fake_lease_remove("job");
	end(&bob);
}

/* What only this one could not do says nothing about the server. */
static void failure_of_our_own_does_not_give_bells_up(void **state)
{
	struct one bob = one(client_of(4), "job");
	struct rowlock_errinfo err;

	(void) state;
	other_holds("job");
	fake_next(FAKE_BELL_WAIT,
		  (struct fake_answer){ .given = true,
					.skip = true,
					.result = RLK_FAILED,
					.code = ROWLOCK_ENOMEM });
	acquire(&bob, ROWLOCK_FOREVER);
	assert_code(fake_hear(bob.person, &err), ROWLOCK_ENOMEM, &err);
	acquire(&bob, ROWLOCK_FOREVER);
	fake_await_bell_line("job", 1);
	other_rings("job");
	is_granted(&bob);
	assert_int_equal(release(&bob), 0);
	end(&bob);
}

/* ------------------------------------------------------------- ghosts */

/* The name went to another, and the bell was with the same connection. */
static void other_client_takes_over(uint64_t attempt)
{
	fake_lease_remove("job");
	fake_lease_add("job", attempt, 77);
}

static void where_nobody_rings_it_is_polled(void **state)
{
	struct one bob = waiting(ROWLOCK_FOREVER);

	(void) state;
	fake_advance(SLICE_MS);
	fake_await(FAKE_BELL_WAIT, 2);
	fake_await_bell_line("job", 1);
	other_client_takes_over(8);
	fake_advance(SLICE_MS);
	fake_await(FAKE_LOOK, 2);
	fake_pass_await(FAKE_ACQUIRE, 4);
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 2);
	fake_lease_remove("job");
	is_granted_in_time(&bob);
	assert_int_equal(release(&bob), 0);
	fake_bell_ring("job");
	end(&bob);
}

/* A wait that was interrupted does not tell who has the bell. */
static void interrupted_waits_tell_nothing_about_ghosts(void **state)
{
	struct one bob = waiting(ROWLOCK_FOREVER);

	(void) state;
	fake_next(FAKE_BELL_WAIT, killed_late);
	fake_next(FAKE_BELL_WAIT, killed_late);
	fake_advance(SLICE_MS);
	fake_await(FAKE_BELL_WAIT, 2);
	fake_let(FAKE_BELL_WAIT);
	fake_await(FAKE_BELL_WAIT, 3);
	other_client_takes_over(8);
	fake_let(FAKE_BELL_WAIT);
	fake_await(FAKE_BELL_WAIT, 4);
	fake_await_bell_line("job", 1);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 1);
	other_rings("job");
	is_granted(&bob);
	assert_int_equal(release(&bob), 0);
	end(&bob);
}

/* Its host vanished: its connection, and so its bell, outlive its session. */
static void dead_holders_name_is_taken_at_once_though_its_bell_lives(
    void **state)
{
	struct one bob = waiting(ROWLOCK_FOREVER);

	(void) state;
	fake_session_expire(77);
	fake_advance(SLICE_MS);
	is_granted(&bob);
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 1);
	assert_int_equal(fake_bell("job"), SOMEBODY);
	assert_int_equal(release(&bob), 0);
	fake_bell_ring("job");
	end(&bob);
}

/* It is ours, or nobody's: to stand in line for it would be to wait for
 * ourselves. */
static void unanswered_question_is_settled_before_the_line(void **state)
{
	struct one bob = waiting(ROWLOCK_FOREVER);

	(void) state;
	fake_next(FAKE_ACQUIRE,
		  (struct fake_answer){ .given = true, .result = RLK_UNCLEAR });
	fake_next(FAKE_FENCE, let);
	other_rings("job");
	fake_await(FAKE_FENCE, 1);
	fake_bell_take("job");
	fake_let(FAKE_FENCE);
	is_granted(&bob);
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 1);
	assert_int_equal(fake_call(FAKE_ACQUIRE, 1).attempt,
			 fake_call(FAKE_ACQUIRE, 2).attempt);
	assert_int_equal(release(&bob), 0);
	fake_bell_ring("job");
	end(&bob);
}

/* --------------------------------------------------- how a hold ends */

static struct one holding_a_bell(void)
{
	struct one bob = waiting(ROWLOCK_FOREVER);

	other_rings("job");
	is_granted(&bob);
	return bob;
}

static void lease_outlives_its_bell(void **state)
{
	struct one bob = holding_a_bell();

	(void) state;
	fake_bell_hang_up("job");
	fake_advance(10000); /* a third of its wait_timeout */
	await_given_back(RLK_BAY_BELL);
	assert_int_equal(rowlock_held(bob.lock), 1);
	assert_int_equal(release(&bob), 0);
	assert_int_equal(fake_lease("job"), 0);
	end(&bob);
}

static void release_finds_the_bells_connection_dead(void **state)
{
	struct one bob = holding_a_bell();

	(void) state;
	fake_bell_hang_up("job");
	assert_int_equal(release(&bob), 0);
	assert_int_equal(fake_lease("job"), 0);
	assert_int_equal(fake_count(FAKE_RELEASE), 2);
	end(&bob);
}

static void release_without_an_answer_ends_the_bell(void **state)
{
	struct one bob = holding_a_bell();

	(void) state;
	fake_next(FAKE_RELEASE, no_answer);
	assert_int_equal(release(&bob), 0);
	assert_int_equal(fake_lease("job"), 0);
	end(&bob);
}

static void release_does_not_wait_for_a_ping_of_the_bell(void **state)
{
	struct one bob = holding_a_bell();
	struct one eve = one(bob.client, "other");
	unsigned int pings = 0;

	(void) state;
	fake_advance(9000);
	/* So that the lane's connection is not pinged, too. */
	acquire(&eve, ROWLOCK_FOREVER);
	is_granted(&eve);
	fake_always(FAKE_PING, let);
	fake_advance(1000);
	/* The pinger's; the chores have others at the same time. */
	do
		fake_await(FAKE_PING, ++pings);
	while (fake_call(FAKE_PING, pings - 1).bay != RLK_BAY_BELL);
	assert_int_equal(release(&bob), 0);
	assert_int_equal(fake_lease("job"), 0);
	fake_always(FAKE_PING, normal);
	for (int i = 0; i < 8; i++)
		fake_let(FAKE_PING);
	await_given_back(RLK_BAY_BELL);
	assert_int_equal(release(&eve), 0);
	leave(&eve);
	end(&bob);
}

static void hold_that_is_found_gone_lets_its_bell_go(void **state)
{
	struct one bob = holding_a_bell();

	(void) state;
	fake_lease_remove("job");
	assert_int_equal(release(&bob), ROWLOCK_ELOST);
	end(&bob);
}

static void lost_session_lets_its_bells_go(void **state)
{
	struct one bob = holding_a_bell();
	struct one eve = one(bob.client, "other");

	(void) state;
	acquire(&eve, ROWLOCK_FOREVER);
	is_granted(&eve);
	assert_int_equal(fake_bells(), 2);
	fake_always(FAKE_BEAT, no_answer);
	fake_advance(30000);
	fake_until(no_bells, NULL);
	fake_always(FAKE_BEAT, normal);
	assert_int_equal(release(&eve), ROWLOCK_ELOST);
	assert_int_equal(release(&bob), ROWLOCK_ELOST);
	leave(&eve);
	end(&bob);
}

/* As often as a lane's connection may have bells: each counts once. */
static void holds_that_outlast_their_maximum_let_their_bells_go(void **state)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_client *client = client_of(4);
	struct rowlock *lock;
	struct rowlock_errinfo err;

	(void) state;
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
	fake_lock_end(lock);
	fake_client_end(client);
}

static void session_lost_in_line_is_replaced(void **state)
{
	struct one bob = waiting(ROWLOCK_FOREVER);
	uint64_t before = fake_call(FAKE_ACQUIRE, 0).id;

	(void) state;
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
	end(&bob);
}

/* -------------------------------------------- connections to spare */

static void one_wait_connection_is_for_one_name(void **state)
{
	struct rowlock_client *client = client_of(1);
	struct one bob = one(client, "job");
	struct one eve = one(client, "other");

	(void) state;
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
	leave(&eve);
	end(&bob);
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
	struct rlk_group *group = &queue->client->lanes[0].group;
	const struct rlk_list *node;
	unsigned int count = 0;

	rlk_mutex_lock(&group->mutex);
	for (node = group->queue.next; node != &group->queue; node = node->next)
		count++;
	rlk_mutex_unlock(&group->mutex);
	return count == queue->count;
}

static void half_a_packet_rings_all_its_bells(void **state)
{
	struct rowlock_client *client = client_of(1);
	struct one first = one(client, "first");
	struct one half = one(client, "half");
	struct one rest = one(client, "rest");
	struct one bob = one(client, "job");

	(void) state;
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
static void release_over_another_connection_rings(void **state)
{
	struct rowlock_client *client = client_of(4);
	struct one first = one(client, "first");
	struct one half = one(client, "half");
	struct one rest = one(client, "rest");

	(void) state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE("lone acquire takes the bell, and its release lets it go",
		     lone_acquire_takes_the_bell_and_its_release_lets_it_go),
		FAKE("without wait connections nobody rings or waits",
		     without_wait_connections_nobody_rings_or_waits),
		FAKE("with many writers nobody rings or waits",
		     with_many_writers_nobody_rings_or_waits),
		FAKE("try does not stand in line", try_does_not_stand_in_line),
		FAKE("waiter is woken by the bell",
		     waiter_is_woken_by_the_bell),
		FAKE("first in line asks again if the holder has no bell",
		     first_in_line_asks_again_if_the_holder_has_no_bell),
		FAKE("waiter says no more than a look per slice",
		     waiter_says_no_more_than_a_look_per_slice),
		FAKE("who observes beats stays in line for a while",
		     who_observes_beats_stays_in_line_for_a_while),
		FAKE("busy name is asked for in line",
		     busy_name_is_asked_for_in_line),
		FAKE("deadline in line looks once and leaves nothing",
		     deadline_in_line_looks_once_and_leaves_nothing),
		FAKE("what is free at the deadline is taken from a ghost",
		     what_is_free_at_the_deadline_is_taken_from_a_ghost),
		FAKE("cancel in line looks no more",
		     cancel_in_line_looks_no_more),
		FAKE("bell that was got before the cancel is let go",
		     bell_that_was_got_before_the_cancel_is_let_go),
		FAKE("bell that was got and killed is let go",
		     bell_that_was_got_and_killed_is_let_go),
		FAKE("interrupted wait is begun again",
		     interrupted_wait_is_begun_again),
		FAKE("wait without an answer is begun again elsewhere",
		     wait_without_an_answer_is_begun_again_elsewhere),
		FAKE("refused bells are told once, and polled instead",
		     refused_bells_are_told_once_and_polled_instead),
		FAKE("failure of our own does not give bells up",
		     failure_of_our_own_does_not_give_bells_up),
		FAKE("where nobody rings it is polled",
		     where_nobody_rings_it_is_polled),
		FAKE("interrupted waits tell nothing about ghosts",
		     interrupted_waits_tell_nothing_about_ghosts),
		FAKE("dead holder's name is taken at once, though its bell "
		     "lives",
		     dead_holders_name_is_taken_at_once_though_its_bell_lives),
		FAKE("unanswered question is settled before the line",
		     unanswered_question_is_settled_before_the_line),
		FAKE("lease outlives its bell", lease_outlives_its_bell),
		FAKE("release finds the bell's connection dead",
		     release_finds_the_bells_connection_dead),
		FAKE("release without an answer ends the bell",
		     release_without_an_answer_ends_the_bell),
		FAKE("release does not wait for a ping of the bell",
		     release_does_not_wait_for_a_ping_of_the_bell),
		FAKE("hold that is found gone lets its bell go",
		     hold_that_is_found_gone_lets_its_bell_go),
		FAKE("lost session lets its bells go",
		     lost_session_lets_its_bells_go),
		FAKE("holds that outlast their maximum let their bells go",
		     holds_that_outlast_their_maximum_let_their_bells_go),
		FAKE("session lost in line is replaced",
		     session_lost_in_line_is_replaced),
		FAKE("one wait connection is for one name",
		     one_wait_connection_is_for_one_name),
		FAKE("half a packet rings all its bells",
		     half_a_packet_rings_all_its_bells),
		FAKE("release over another connection rings",
		     release_over_another_connection_rings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
