/* SPDX-License-Identifier: MIT */
/*
 * What does not go from one thread to the next, but back to the server: after
 * so many passes, after so long, or at once.
 */
#include "passing.h"

#include <sys/socket.h>

/* --------------------------------------------------------------- bounds */

/* Alice and Bob pass it to each other, until it goes back to the server:
 * after how many passes? */
static unsigned int passes_in_a_turn(struct scene *s, uint64_t ms)
{
	struct rowlock *locks[] = { s->held, s->bobs };
	struct fake_person *people[] = { fake_person(), s->bob };
	unsigned int count = 0;
	unsigned int asked = fake_count(FAKE_ACQUIRE);

	assert_ok(rowlock_release(s->held, &err));
	assert_ok(fake_hear(s->bob, &err));
	for (; fake_count(FAKE_ACQUIRE) == asked; count++) {
		unsigned int from = (count + 1) % 2;

		wait_in_line(people[!from], locks[!from], ROWLOCK_FOREVER, 1);
		fake_advance(ms);
		assert_int_equal(
		    fake_ask(people[from], FAKE_DO_RELEASE, locks[from], 0), 0);
		assert_ok(fake_hear(people[!from], &err));
	}
	assert_said(asked + 1, 1);
	assert_int_equal(fake_ask(people[count % 2 == 0], FAKE_DO_RELEASE,
				  locks[count % 2 == 0], 0),
			 0);
	fake_person_end(people[0]);
	return count;
}

FAKE("a turn ends after so many passes")
{
	struct rowlock_client_options client = fake_options();
	const struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct scene s;

	client.handover_passes = 7;
	s = scene_of(&client, &options, &options);
	assert_int_equal(passes_in_a_turn(&s, 0), 7);
	scene_end(&s);
}

FAKE("a turn ends after so long")
{
	struct rowlock_client_options client = fake_options();
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct scene s;

	options.strategy = ROWLOCK_ROW;
	client.handover_ms = 40;
	s = scene_of(&client, &options, &options);
	/* One before time goes by, then after 10, 20 and 30 ms. */
	assert_int_equal(passes_in_a_turn(&s, 10), 4);
	scene_end(&s);
}

/* It goes by way of the server: deleted, and asked for by the waiter. */
static void goes_back(struct scene *s)
{
	release_to_bob(s);
	assert_said(2, 1);
	bob_releases(s);
	scene_end(s);
}

FAKE("with ROWLOCK_NO_HANDOVER nothing is handed over")
{
	const struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_client_options client = fake_options();
	struct scene s;

	client.flags |= ROWLOCK_NO_HANDOVER;
	s = scene_of(&client, &options, &options);
	goes_back(&s);
}

/* Its turn ends with the first pass. */
static struct scene scene_of_one_pass(void)
{
	const struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_client_options client = fake_options();

	client.handover_passes = 1;
	client.handover_ms = 60000;
	return scene_of(&client, &options, &options);
}

/* Others wanted it lately: after the turn they get more time to ask than they
 * need. */
FAKE("a turn that ended by passes lets others ask first")
{
	_cleanup_(scene_end) struct scene s = scene_of_one_pass();
	int64_t began;

	s.bobs->waiter->name->turn->others_seen_ms = fake_now();
	add_eve(&s, 2);
	release_to_bob(&s);
	began = fake_now();
	bob_releases(&s);
	fake_pass_await(FAKE_ACQUIRE, 2);
	assert_true(fake_now() - began >= 75);
	assert_ok(fake_hear(s.eve, &err));
	/* A new turn begins. */
	wait_in_line(s.bob, s.bobs, ROWLOCK_FOREVER, 1);
	assert_ok(fake_ask(s.eve, FAKE_DO_RELEASE, s.eves, 0));
	assert_ok(fake_hear(s.bob, &err));
	assert_said(2, 1);
	/* And its end is like that of the first. */
	wait_in_line(s.eve, s.eves, ROWLOCK_FOREVER, 1);
	began = fake_now();
	bob_releases(&s);
	fake_pass_await(FAKE_ACQUIRE, 3);
	assert_true(fake_now() - began >= 75);
	assert_ok(fake_hear(s.eve, &err));
	assert_ok(fake_ask(s.eve, FAKE_DO_RELEASE, s.eves, 0));
}

static bool one_steps_back(void *arg)
{
	const struct scene *s = arg;
	bool back;

	rlk_mutex_lock(&s->client->mutex);
	back = s->held->name->turn->back_until_ms != 0;
	rlk_mutex_unlock(&s->client->mutex);
	return back;
}

/* The name may be free: who is next does not wait anew. */
FAKE("who gives up meanwhile has stepped back for all")
{
	const struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct fake_person *ann;
	_cleanup_(scene_end) struct scene s = scene_of_one_pass();

	FAKE_LOCK_AS(anns, lock_with(s.client, &options));
	ann = fake_person();
	release_to_bob(&s);
	s.eves = lock_with(s.client, &options);
	s.eve = fake_person();
	wait_in_line(s.eve, s.eves, 40, 1);
	wait_in_line(ann, anns, ROWLOCK_FOREVER, 2);
	s.held->name->turn->others_seen_ms = fake_now();
	bob_releases(&s);
	fake_until(one_steps_back, &s);
	fake_advance(40);
	assert_code(fake_hear(s.eve, &err), ROWLOCK_ETIMEDOUT, &err);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 1);
	fake_advance(60);
	assert_ok(fake_hear(ann, &err));
	assert_ok(fake_ask(ann, FAKE_DO_RELEASE, anns, 0));
	fake_person_end(ann);
}

/* Who polls cannot be seen by who holds: now and then he is given the time. */
FAKE("turns without others let them ask now and then")
{
	_cleanup_(scene_end) struct scene s = scene_of_one_pass();
	int64_t began;

	release_to_bob(&s);
	/* Its first turn is over, but nobody needs time yet. */
	add_eve(&s, 1);
	bob_releases(&s);
	assert_ok(fake_hear(s.eve, &err));
	wait_in_line(s.bob, s.bobs, ROWLOCK_FOREVER, 1);
	assert_ok(fake_ask(s.eve, FAKE_DO_RELEASE, s.eves, 0));
	assert_ok(fake_hear(s.bob, &err));
	assert_said(2, 1);
	wait_in_line(s.eve, s.eves, ROWLOCK_FOREVER, 1);
	fake_advance(2000);
	began = fake_now();
	bob_releases(&s);
	fake_pass_await(FAKE_ACQUIRE, 3);
	assert_true(fake_now() - began >= 75);
	assert_ok(fake_hear(s.eve, &err));
	/* But not at once again. */
	wait_in_line(s.bob, s.bobs, ROWLOCK_FOREVER, 1);
	assert_ok(fake_ask(s.eve, FAKE_DO_RELEASE, s.eves, 0));
	assert_ok(fake_hear(s.bob, &err));
	wait_in_line(s.eve, s.eves, ROWLOCK_FOREVER, 1);
	bob_releases(&s);
	assert_ok(fake_hear(s.eve, &err));
	assert_said(4, 3);
	assert_ok(fake_ask(s.eve, FAKE_DO_RELEASE, s.eves, 0));
}

/* --------------------------------------------------- what does not pass */

static void waits_with(const struct rowlock_options *holds,
		       const struct rowlock_options *waits, bool back)
{
	const struct rowlock_client_options client = fake_options();
	struct scene s = scene_of(&client, holds, waits);

	if (back) {
		goes_back(&s);
		return;
	}
	release_to_bob(&s);
	assert_said(1, 0);
	bob_releases(&s);
	scene_end(&s);
}

FAKE("a maximum hold goes back to the server")
{
	const struct rowlock_options none = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_options maximum = ROWLOCK_OPTIONS_DEFAULT;

	maximum.max_hold_ms = 60000;
	waits_with(&maximum, &none, true);
	fake_setup(state);
	waits_with(&none, &maximum, true);
}

FAKE("another info goes back to the server")
{
	const struct rowlock_options none = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_options night = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_options day = ROWLOCK_OPTIONS_DEFAULT;
	char same[] = "night";

	night.info = "night";
	day.info = "day";
	waits_with(&night, &day, true);
	fake_setup(state);
	waits_with(&none, &day, true);
	fake_setup(state);
	waits_with(&night, &none, true);
	fake_setup(state);
	day.info = same;
	waits_with(&night, &day, false);
}

/* The row was made under the info of the first handle, the second is the last
 * to let go. */
FAKE("a hold of two infos goes back to the server")
{
	const struct rowlock_client_options client = fake_options();
	struct rowlock_options night = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_options day = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock *nested;
	struct scene s;

	night.info = "night";
	day.info = "day";
	night.flags = day.flags = ROWLOCK_OWNER_THREAD;
	s = scene_of(&client, &night, &day);
	nested = lock_with(s.client, &day);
	assert_ok(rowlock_acquire(nested, 0, &err));
	assert_ok(rowlock_release(s.held, &err));
	assert_true(fake_busy(s.bob));
	assert_ok(rowlock_release(nested, &err));
	assert_ok(fake_hear(s.bob, &err));
	assert_said(2, 1);
	bob_releases(&s);
	fake_lock_end(nested);
	scene_end(&s);
}

/* Its asker waits for the end of the hold. */
FAKE("a hold that was asked for goes back to the server")
{
	struct scene s = scene(ROWLOCK_LEASE);

	rlk_mutex_lock(&s.client->mutex);
	s.held->hold->asked = true;
	rlk_mutex_unlock(&s.client->mutex);
	goes_back(&s);
}

/* A beat says that one of our leases was taken by hand, and nobody knows yet
 * which. */
FAKE("a lease that may be broken goes back to the server")
{
	_cleanup_(scene_end) struct scene s = scene(ROWLOCK_LEASE);
	FAKE_LOCK(other, s.client, ROWLOCK_LEASE, 0, "other");

	assert_ok(rowlock_acquire(other, 0, &err));
	fake_next(FAKE_LEASES_OF, (struct fake_answer){ .wait = true });
	fake_lease_break("other");
	rlk_mutex_lock(&s.client->mutex);
	s.client->session.next_beat_ms = fake_now();
	rlk_mutex_unlock(&s.client->mutex);
	rlk_sleeper_wake(&s.client->keeper_sleeper);
	fake_await(FAKE_LEASES_OF, 1);
	release_to_bob(&s);
	assert_int_equal(fake_count(FAKE_RELEASE), 1);
	/* Bob has a lease that was never under suspicion. */
	add_eve(&s, 1);
	bob_releases(&s);
	assert_ok(fake_hear(s.eve, &err));
	assert_int_equal(fake_count(FAKE_RELEASE), 1);
	fake_let(FAKE_LEASES_OF);
	assert_ok(fake_ask(s.eve, FAKE_DO_RELEASE, s.eves, 0));
	assert_code(rowlock_release(other, &err), ROWLOCK_ELOST, &err);
}

/* Not even the look has begun. */
FAKE("a lease of a session with a break goes back")
{
	_cleanup_(scene_end) struct scene s = scene(ROWLOCK_LEASE);
	struct rlk_waker *waker;

	rlk_mutex_lock(&s.client->mutex);
	s.client->look_breaks = true;
	waker = rlk_hand_over_locked(s.held->hold, s.held);
	s.client->look_breaks = false;
	rlk_mutex_unlock(&s.client->mutex);
	assert_null(waker);
	release_to_bob(&s);
	bob_releases(&s);
}

static bool suspicion_is_gone(void *arg)
{
	struct scene *s = arg;
	bool gone;

	rlk_mutex_lock(&s->client->mutex);
	gone = !s->held->hold->suspect && !s->client->look_breaks;
	rlk_mutex_unlock(&s->client->mutex);
	return gone;
}

FAKE("a lease that was looked up passes again")
{
	_cleanup_(scene_end) struct scene s = scene(ROWLOCK_LEASE);

	rlk_mutex_lock(&s.client->mutex);
	s.client->look_breaks = true;
	rlk_mutex_unlock(&s.client->mutex);
	rlk_sleeper_wake(&s.client->chores_sleeper);
	fake_await(FAKE_LEASES_OF, 1);
	fake_until(suspicion_is_gone, &s);
	release_to_bob(&s);
	assert_said(1, 0);
	bob_releases(&s);
}

/* Its end is there to be seen, nobody has spoken on it since, and the deadline
 * thread has not run yet. */
FAKE("a row whose connection has ended does not pass")
{
	_cleanup_(scene_end) struct scene s = scene(ROWLOCK_ROW);
	struct rlk_hold *hold = s.held->hold;
	struct rlk_waker *waker;

	rlk_mutex_lock(&s.client->mutex);
	shutdown(rlk_conn_fd(rlk_hold_conn(hold)), SHUT_RD);
	waker = rlk_hand_over_locked(hold, s.held);
	rlk_mutex_unlock(&s.client->mutex);
	assert_null(waker);
	assert_ok(fake_hear(s.bob, &err));
	assert_code(rowlock_release(s.held, &err), ROWLOCK_ELOST, &err);
	bob_releases(&s);
}

FAKE("a hold that is lost does not pass")
{
	_cleanup_(scene_end) struct scene s = scene(ROWLOCK_LEASE);
	uint64_t attempt = fake_lease("job");

	fake_creep(s.client->ttl_ms);
	assert_code(rowlock_release(s.held, &err), ROWLOCK_ELOST, &err);
	assert_code(fake_hear(s.bob, &err), ROWLOCK_ETIMEDOUT, &err);
	assert_false(fake_lease("job") == attempt && rowlock_held(s.bobs) == 1);
}

CASE_MAIN(case_main)
