/* SPDX-License-Identifier: MIT */
/*
 * The first in line for permits, which pleads until a release hears it. The
 * server is the fake lease: as if there were as many permits as the first one
 * took, and another client has them.
 */
#include "doorbell.h"

static const struct fake_answer broken = { .given = true,
					   .skip = true,
					   .result = RLK_UNKNOWN };
static const struct fake_answer refused = { .given = true,
					    .skip = true,
					    .result = RLK_REFUSED,
					    .code = ROWLOCK_EAUTH };
static const struct fake_answer killed = { .given = true,
					   .skip = true,
					   .result = RLK_KILLED };

struct scene {
	struct rlk_strategy strategy;
	struct one bob;
};

static void begin_as(struct scene *s, struct rowlock_client *client,
		     unsigned int op, unsigned int count)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;

	s->strategy = *rlk_strategy(ROWLOCK_LEASE);
	s->strategy.many = true;
	s->strategy.counted = true;
	s->strategy.look = NULL;
	s->bob = (struct one){ .client = client, .person = fake_person() };
	options.flags = ROWLOCK_OWNER_HANDLE;
	assert_ok(rlk_lock_make(s->bob.client, "job", &s->strategy, &options,
				&s->bob.lock, &err));
	fake_session_add(77);
	fake_lease_add("job", 7, 77);
	acquire(&s->bob, ROWLOCK_FOREVER);
	/* The first question of all does not tell of the holder. */
	fake_pass_await(op, count);
}

static void begin_at(struct scene *s, unsigned int op, unsigned int count)
{
	begin_as(s, client_of(4), op, count);
}

static void begin(struct scene *s)
{
	begin_at(s, FAKE_PLEA_MAKE, 2);
}

static void is_heard(struct scene *s)
{
	fake_lease_remove("job");
	fake_plea_hear();
	is_granted_in_time(&s->bob);
}

static void finish(struct scene *s)
{
	assert_int_equal(release(&s->bob), 0);
	/* The bell, and what tells that it pleads. */
	assert_int_equal(fake_pleading(), 0);
	assert_int_equal(fake_bells(), 0);
	end(&s->bob);
}

FAKE("release is heard by the first in line")
{
	struct scene s;
	unsigned int asked;

	begin(&s);
	fake_pass_await(FAKE_PLEA_LOOK, 1);
	asked = fake_count(FAKE_ACQUIRE);
	assert_int_equal(fake_call(FAKE_PLEA_MAKE, 0).conn, fake_bell("job"));
	is_heard(&s);
	assert_int_equal(fake_count(FAKE_ACQUIRE), asked + 1);
	finish(&s);
}

/* It counts at once, and then ever more seldom. */
FAKE("nothing is asked while it pleads")
{
	struct scene s;
	unsigned int asked;
	unsigned int made;

	begin(&s);
	fake_pass_await(FAKE_PLEA_LOOK, 5);
	asked = fake_count(FAKE_ACQUIRE);
	made = fake_count(FAKE_PLEA_MAKE);
	fake_pass_await(FAKE_PLEA_LOOK, 150);
	assert_int_equal(fake_count(FAKE_ACQUIRE), asked);
	assert_int_equal(fake_count(FAKE_PLEA_MAKE), made);
	assert_true(fake_count(FAKE_PLEA_COUNT) < 9);
	is_heard(&s);
	finish(&s);
}

/* As one whose client died between its two statements. */
FAKE("release that hears nobody is found by a count")
{
	struct scene s;

	begin(&s);
	fake_pass_await(FAKE_PLEA_LOOK, 100);
	fake_lease_remove("job");
	is_granted_in_time(&s.bob);
	finish(&s);
}

/* A release just before the plea was made heard nobody. */
FAKE("first in line counts when its plea is made")
{
	struct scene s;

	begin(&s);
	fake_pass_await(FAKE_PLEA_LOOK, 1);
	fake_plea_hear(); /* in vain */
	fake_pass_await(FAKE_PLEA_MAKE, 3);
	fake_pass_await(FAKE_PLEA_COUNT, 3);
	assert_int_equal(fake_pleading(), 1);
	is_heard(&s);
	finish(&s);
}

FAKE("place in line outlasts a KILL QUERY while it pleads")
{
	struct scene s;

	begin(&s);
	fake_pass_await(FAKE_PLEA_LOOK, 1);
	fake_next(FAKE_PLEA_LOOK, killed);
	fake_next(FAKE_PLEA_END, killed);
	fake_next(FAKE_PLEA_END, killed);
	fake_pass_await(FAKE_PLEA_MAKE, 3);
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 1);
	is_heard(&s);
	finish(&s);
}

/* Its connection, which may have the bell still, is closed. */
FAKE("plea that breaks costs the place in line")
{
	struct scene s;

	fake_next(FAKE_PLEA_LOOK, broken);
	begin(&s);
	fake_pass_await(FAKE_BELL_WAIT, 2);
	is_heard(&s);
	finish(&s);
}

/* It may not write the row: it asks as others do, and keeps its place. */
FAKE("account that may not plead asks on")
{
	struct scene s;

	fake_next(FAKE_PLEA_MAKE, refused);
	begin_at(&s, FAKE_PLEA_MAKE, 1);
	fake_pass_await(FAKE_ACQUIRE, fake_count(FAKE_ACQUIRE) + 20);
	assert_int_equal(fake_count(FAKE_PLEA_MAKE), 1);
	assert_int_equal(fake_count(FAKE_PLEA_END), 1);
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 1);
	fake_lease_remove("job");
	is_granted_in_time(&s.bob);
	finish(&s);
}

/* It may tell that it pleads, though its row was not made. */
FAKE("plea that was begun half way is ended")
{
	struct scene s;

	fake_next(FAKE_PLEA_MAKE, killed);
	begin_at(&s, FAKE_PLEA_MAKE, 1);
	fake_pass_await(FAKE_PLEA_END, 1);
	fake_pass_await(FAKE_PLEA_MAKE, 2);
	is_heard(&s);
	finish(&s);
}

/* Each of its questions observes a holder, which no plea does. */
FAKE("first in line that observes beats asks on, and does not plead")
{
	struct scene s;

	begin_as(&s, client_with(4, ROWLOCK_OBSERVE_BEATS), FAKE_ACQUIRE, 12);
	assert_int_equal(fake_count(FAKE_PLEA_MAKE), 0);
	fake_lease_remove("job");
	is_granted_in_time(&s.bob);
	finish(&s);
}

FAKE("canceled while it pleads")
{
	struct scene s;

	begin(&s);
	fake_pass_await(FAKE_PLEA_LOOK, 1);
	assert_int_equal(rowlock_cancel(s.bob.lock), 1);
	assert_int_equal(fake_hear(s.bob.person, &err), ROWLOCK_ECANCELED);
	assert_int_equal(fake_pleading(), 0);
	assert_int_equal(fake_bells(), 0);
	end(&s.bob);
}

CASE_MAIN(case_main)
