/* SPDX-License-Identifier: MIT */
/*
 * Bells: who takes one with a lease, who stands in line for it, and what a wait
 * can come to.
 */
#include "doorbell.h"

static const struct fake_answer let = { .wait = true };
static const struct fake_answer killed = { .given = true,
					   .skip = true,
					   .result = RLK_KILLED };
static const struct fake_answer refused = { .given = true,
					    .skip = true,
					    .result = RLK_REFUSED };
static const struct fake_answer no_answer = { .given = true,
					      .skip = true,
					      .result = RLK_UNKNOWN };

/* ------------------------------------------------------------- taking */

FAKE("lone acquire takes the bell, and its release lets it go")
{
	_cleanup_(end) struct one bob = one(client_of(4), "job");

	acquire(&bob, ROWLOCK_FOREVER);
	is_granted(&bob);
	assert_int_equal(fake_bell("job"), fake_call(FAKE_ACQUIRE, 0).conn);
	assert_int_equal(release(&bob), 0);
	assert_int_equal(fake_bell("job"), 0);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 1);
	assert_int_equal(fake_count(FAKE_RELEASE), 1);
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 0);
	assert_int_equal(fake_count(FAKE_RING), 0);
}

static void no_bell_is_taken(struct rowlock_client *client)
{
	_cleanup_(end) struct one bob = one(client, "job");

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
}

FAKE("without wait connections nobody rings or waits")
{
	no_bell_is_taken(client_of(0));
}

FAKE("with many writers nobody rings or waits")
{
	fake_server.galera = true;
	no_bell_is_taken(client_of(4));
}

FAKE("try does not stand in line")
{
	_cleanup_(end) struct one bob = waiting(10);

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
}

/* ---------------------------------------------------------- the line */

static const struct fake_answer lane = { .lane = 3 };

/* It was behind a reader that was let in. */
FAKE("waiter that lets the bell go by asks and leaves its lane")
{
	struct one bob;

	fake_next(FAKE_BELL_WAIT, lane);
	bob = waiting(ROWLOCK_FOREVER);
	fake_lease_remove("job");
	other_rings("job");
	is_granted(&bob);
	assert_int_equal(fake_count(FAKE_LEAVE_LANE), 1);
	assert_true(fake_call(FAKE_LEAVE_LANE, 0).id == 3);
	assert_true(fake_call(FAKE_LEAVE_LANE, 0).order >
		    fake_call(FAKE_ACQUIRE, 1).order);
	assert_int_equal(fake_call(FAKE_LEAVE_LANE, 0).conn,
			 fake_call(FAKE_BELL_WAIT, 0).conn);
	assert_int_equal(fake_bell("job"), 0);
	assert_int_equal(fake_lent(RLK_BAY_BELL), 0);
	assert_int_equal(release(&bob), 0);
	end(&bob);
}

FAKE("waiter is woken by the bell")
{
	_cleanup_(end) struct one bob = waiting(ROWLOCK_FOREVER);

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
}

FAKE("waiter keeps its place, and looks now and then")
{
	_cleanup_(end) struct one bob = waiting(ROWLOCK_FOREVER);

	assert_true(fake_call(FAKE_BELL_WAIT, 0).id == YEAR_MS);
	for (unsigned int i = 1; i <= 3; i++) {
		int64_t began = fake_now();

		fake_pass_await(FAKE_LOOK, i);
		assert_true(fake_now() - began >= LOOK_MOST_MS / 2);
		assert_int_equal(fake_bell_line("job"), 1);
	}
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 1);
	assert_int_equal(fake_count(FAKE_KILL_QUERY), 0);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 1);
	other_rings("job");
	is_granted(&bob);
	assert_int_equal(release(&bob), 0);
}

static bool is_asked_for_bells(void *arg)
{
	(void) arg;
	return fake_count(FAKE_BELL_OWNER) > 0;
}

/* The next one in line has a client that is slow, or a bell is on its way. */
FAKE("free name is left to the one that gets the bell")
{
	_cleanup_(end) struct one bob = waiting(ROWLOCK_FOREVER);

	fake_lease_remove("job");
	fake_advance(LOOK_MOST_MS);
	fake_until(is_asked_for_bells, NULL);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 1);
	fake_lease_add("job", 8, 77);
	fake_pass_await(FAKE_LOOK, 2);
	fake_await_bell_line("job", 1);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 1);
	other_rings("job");
	is_granted(&bob);
	assert_int_equal(release(&bob), 0);
}

/* The place in line does not depend on it. */
FAKE("look that fails is repeated")
{
	_cleanup_(end) struct one bob = waiting(ROWLOCK_FOREVER);

	fake_next(FAKE_LOOK, no_answer);
	fake_advance(LOOK_MOST_MS);
	fake_await(FAKE_LOOK, 1);
	fake_pass_await(FAKE_LOOK, 2);
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 1);
	assert_int_equal(fake_bell_line("job"), 1);
	other_rings("job");
	is_granted(&bob);
	assert_int_equal(release(&bob), 0);
}

/* A part more of the TTL would be as much later. */
FAKE("who observes beats looks when that is over")
{
	struct rowlock_client_options options = fake_options();
	struct rowlock_client *client;
	struct one bob;

	other_holds("job");
	options.wait_connections = 4;
	options.flags ^= ROWLOCK_POLL;
	options.flags |= ROWLOCK_OBSERVE_BEATS;
	client = fake_client_with(&options);
	bob = one(client, "job");
	/* A try, from which on it is observed. */
	acquire(&bob, 0);
	assert_code(fake_hear(bob.person, &(struct rowlock_errinfo){ 0 }),
		    ROWLOCK_EBUSY, NULL);
	fake_advance(30000);
	acquire(&bob, ROWLOCK_FOREVER);
	fake_await_bell_line("job", 1);
	fake_advance(3000);
	is_granted_in_time(&bob);
	assert_int_equal(fake_count(FAKE_EVICT_SILENT), 1);
	assert_int_equal(release(&bob), 0);
	fake_bell_ring("job");
	end(&bob);
}

/* A beat that is observed need not be looked at all the time, either. */
FAKE("who observes beats stays in line for a while")
{
	struct rowlock_client_options options = fake_options();
	unsigned int looks;
	struct one bob;

	other_holds("job");
	options.wait_connections = 4;
	options.flags ^= ROWLOCK_POLL;
	options.flags |= ROWLOCK_OBSERVE_BEATS;
	bob = one(fake_client_with(&options), "job");
	acquire(&bob, ROWLOCK_FOREVER);
	fake_await_bell_line("job", 1);
	looks = fake_count(FAKE_LOOK);
	/* A fourth of the TTL and its margin. */
	fake_advance(33000 / 4);
	assert_int_equal(fake_count(FAKE_LOOK), looks);
	fake_advance(1);
	fake_await(FAKE_LOOK, looks + 1);
	other_rings("job");
	is_granted(&bob);
	assert_int_equal(release(&bob), 0);
	end(&bob);
}

FAKE("busy name is asked for in line")
{
	_cleanup_(end) struct one bob = waiting(ROWLOCK_FOREVER);

	other_rings("job");
	is_granted(&bob);
	fake_advance(5000);
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
}

/* It knows of the other by the bell alone. */
FAKE("who overtook the line stands in it next time")
{
	_cleanup_(end) struct one bob = one(client_of(4), "job");

	fake_bell_take("job");
	acquire(&bob, ROWLOCK_FOREVER);
	is_granted(&bob);
	/* However long it was held. */
	fake_advance(5000);
	assert_int_equal(release(&bob), 0);
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 0);
	acquire(&bob, ROWLOCK_FOREVER);
	fake_await_bell_line("job", 1);
	fake_bell_ring("job");
	is_granted(&bob);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 2);
	assert_int_equal(release(&bob), 0);
}

/* ---------------------------------------------------- ends of a wait */

FAKE("deadline in line looks once and leaves nothing")
{
	_cleanup_(end) struct one bob = waiting(500);

	assert_int_equal(fake_call(FAKE_BELL_WAIT, 0).id, 500);
	fake_advance(250);
	fake_await(FAKE_LOOK, 1);
	/* It waits again. */
	fake_await(FAKE_BELL_RESUME, 1);
	fake_advance(250);
	assert_code(fake_hear(bob.person, &err), ROWLOCK_ETIMEDOUT, &err);
	assert_int_equal(fake_count(FAKE_LOOK), 1);
	assert_int_equal(fake_count(FAKE_KILL_QUERY), 0);
	fake_await_bell_line("job", 0);
	assert_int_equal(fake_lent(RLK_BAY_BELL), 0);
	other_rings("job");
}

/* Though a look is due: it is lent no connection for it. */
FAKE("cancel in line looks no more")
{
	_cleanup_(end) struct one bob = waiting(ROWLOCK_FOREVER);

	fake_creep(LOOK_MOST_MS);
	rowlock_cancel(bob.lock);
	assert_code(fake_hear(bob.person, &err), ROWLOCK_ECANCELED, &err);
	assert_int_equal(fake_count(FAKE_KILL_QUERY), 1);
	assert_int_equal(fake_count(FAKE_BELL_RESUME), 1);
	assert_int_equal(fake_count(FAKE_LOOK), 0);
	fake_await_bell_line("job", 0);
	other_rings("job");
}

static void bell_that_was_got_before_the_cancel(int result)
{
	_cleanup_(end) struct one bob = waiting(ROWLOCK_FOREVER);

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
}

FAKE("bell that was got before the cancel is let go")
{
	bell_that_was_got_before_the_cancel(RLK_DONE);
}

FAKE("bell that was got and killed is let go")
{
	bell_that_was_got_before_the_cancel(RLK_KILLED);
}

/* He is not in a hurry. */
FAKE("waits that fail at once are begun again later")
{
	static const struct fake_answer busy = { .given = true,
						 .skip = true,
						 .result = RLK_BUSY };
	_cleanup_(end) struct one bob = one(client_of(4), "job");
	int64_t began;

	other_holds("job");
	fake_always(FAKE_BELL_WAIT, busy);
	acquire(&bob, ROWLOCK_FOREVER);
	fake_pass_await(FAKE_BELL_WAIT, 8);
	began = fake_now();
	fake_pass_await(FAKE_BELL_WAIT, 18);
	assert_true(fake_now() - began >= 10 * 25);
	fake_always(FAKE_BELL_WAIT, (struct fake_answer){ .given = false });
	other_rings("job");
	is_granted_in_time(&bob);
	assert_int_equal(release(&bob), 0);
}

FAKE("interrupted wait is begun again")
{
	struct one bob;

	fake_next(FAKE_BELL_WAIT, killed);
	bob = waiting(ROWLOCK_FOREVER);
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 2);
	other_rings("job");
	is_granted(&bob);
	assert_int_equal(release(&bob), 0);
	end(&bob);
}

/* Its time is over but for what an answer takes. */
FAKE("a wait that ends late is followed by no question")
{
	_cleanup_(end) struct one bob = one(client_of(4), "job");

	other_holds("job");
	acquire(&bob, 200);
	fake_await_bell_line("job", 1);
	fake_next(FAKE_BELL_WAIT, refused);
	fake_next(FAKE_KILL_QUERY, refused);
	fake_next(FAKE_BELL_RESUME, (struct fake_answer){ .wait = true,
							  .given = true,
							  .result = RLK_DONE });
	rowlock_cancel(bob.lock);
	fake_await(FAKE_BELL_RESUME, 1);
	fake_advance(15);
	fake_let(FAKE_BELL_RESUME);
	assert_code(fake_hear(bob.person, &err), ROWLOCK_ECANCELED, &err);
	assert_int_equal(fake_count(FAKE_LOOK), 0);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 1);
	other_rings("job");
}

FAKE("wait without an answer is begun again elsewhere")
{
	struct one bob;

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

FAKE("refused bells are told once, and polled instead")
{
	struct rowlock_client_options options = fake_options();
	static unsigned int told;
	struct one bob;

	told = 0;
	options.wait_connections = 4;
	options.flags ^= ROWLOCK_POLL;
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
FAKE("failure of our own does not give bells up")
{
	_cleanup_(end) struct one bob = one(client_of(4), "job");

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
}

/* It is ours, or nobody's: to stand in line for it would be to wait for
 * ourselves. */
FAKE("unanswered question is settled before the line")
{
	_cleanup_(end) struct one bob = waiting(ROWLOCK_FOREVER);

	fake_next(FAKE_ACQUIRE,
		  (struct fake_answer){ .given = true, .result = RLK_UNKNOWN });
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
}

CASE_MAIN(case_main)
