/* SPDX-License-Identifier: MIT */
/*
 * From one thread to the next without a word to the server: when, for how
 * long, and what goes with it.
 */
#include "fake/fake.h"

#include <string.h>
#include <sys/socket.h>

#include "core/client.h"
#include "core/handover.h"
#include "test.h"

/* A name that the test's thread holds, and one or two who wait for it. */
struct scene {
	struct rowlock_client *client;
	struct rowlock *held;
	struct rowlock *bobs;
	struct rowlock *eves; /* NULL: nobody */
	struct fake_person *bob;
	struct fake_person *eve;
};

static struct rowlock *lock_with(struct rowlock_client *client,
				 const struct rowlock_options *options)
{
	struct rowlock *lock = NULL;
	struct rowlock_errinfo err;

	assert_ok(rowlock_new(client, "job", options, &lock, &err));
	return lock;
}

static void wait_in_line(struct fake_person *person, struct rowlock *lock,
			 uint64_t wait_ms, unsigned int place)
{
	fake_tell(person, FAKE_DO_ACQUIRE, lock, wait_ms);
	fake_await_line(lock, place);
}

/* @waits: how the second to come asks. */
static struct scene scene_of(const struct rowlock_client_options *client,
			     const struct rowlock_options *holds,
			     const struct rowlock_options *waits)
{
	struct scene scene = { .client = fake_client_with(client) };
	struct rowlock_errinfo err;

	scene.held = lock_with(scene.client, holds);
	scene.bobs = lock_with(scene.client, waits);
	scene.bob = fake_person();
	assert_ok(rowlock_acquire(scene.held, 0, &err));
	wait_in_line(scene.bob, scene.bobs, 5000, 1);
	return scene;
}

static struct scene scene(enum rowlock_strategy strategy)
{
	const struct rowlock_client_options client = fake_options();
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;

	options.strategy = strategy;
	return scene_of(&client, &options, &options);
}

static void add_eve(struct scene *scene, unsigned int place)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;

	if (scene->held->name->strategy->pins_connection)
		options.strategy = ROWLOCK_ROW;
	scene->eves = lock_with(scene->client, &options);
	scene->eve = fake_person();
	wait_in_line(scene->eve, scene->eves, ROWLOCK_FOREVER, place);
}

static void scene_end(struct scene *scene)
{
	fake_person_end(scene->bob);
	fake_lock_end(scene->held);
	fake_lock_end(scene->bobs);
	if (scene->eve) {
		fake_person_end(scene->eve);
		fake_lock_end(scene->eves);
	}
	fake_client_end(scene->client);
}

/* Has the server been asked for it so often, and been given it back? */
static void assert_said(unsigned int acquires, unsigned int releases)
{
	assert_int_equal(fake_count(FAKE_ACQUIRE), acquires);
	assert_int_equal(fake_count(FAKE_RELEASE), releases);
}

static void release_to_bob(struct scene *scene)
{
	struct rowlock_errinfo err;

	assert_ok(rowlock_release(scene->held, &err));
	assert_ok(fake_hear(scene->bob, &err));
	assert_int_equal(rowlock_held(scene->bobs), 1);
	assert_int_equal(rowlock_held(scene->held), 0);
}

static void bob_releases(struct scene *scene)
{
	assert_int_equal(fake_ask(scene->bob, FAKE_DO_RELEASE, scene->bobs, 0),
			 0);
}

static void passes(enum rowlock_strategy strategy)
{
	struct scene s = scene(strategy);
	unsigned int asked = fake_count(FAKE_ACQUIRE);
	struct rowlock_errinfo err;

	release_to_bob(&s);
	assert_said(asked, 0);
	/* Who gave it up has nothing, and can have his handle freed. */
	assert_code(rowlock_release(s.held, &err), ROWLOCK_ENOTHELD, &err);
	assert_code(rowlock_release(s.bobs, &err), ROWLOCK_ENOTOWNER, &err);
	assert_int_equal(rowlock_depth(s.bobs), 1);
	fake_lock_end(s.held);
	bob_releases(&s);
	assert_said(asked, 1);
	s.held = fake_lock(s.client, strategy, 0, "job");
	scene_end(&s);
}

static void lease_passes_without_a_word_to_the_server(void **state)
{
	(void) state;
	passes(ROWLOCK_LEASE);
}

static void row_passes_without_a_word_to_the_server(void **state)
{
	(void) state;
	passes(ROWLOCK_ROW);
}

/* --------------------------------------------------------------- bounds */

/* Alice and Bob pass it to each other, until it goes back to the server:
 * after how many passes? */
static unsigned int passes_in_a_turn(struct scene *s, uint64_t ms)
{
	struct rowlock *locks[] = { s->held, s->bobs };
	struct fake_person *people[] = { fake_person(), s->bob };
	unsigned int count = 0;
	unsigned int asked = fake_count(FAKE_ACQUIRE);
	struct rowlock_errinfo err;

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

static void turn_ends_after_so_many_passes(void **state)
{
	struct rowlock_client_options client = fake_options();
	const struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct scene s;

	(void) state;
	client.handover_passes = 7;
	s = scene_of(&client, &options, &options);
	assert_int_equal(passes_in_a_turn(&s, 0), 7);
	scene_end(&s);
}

static void turn_ends_after_so_long(void **state)
{
	struct rowlock_client_options client = fake_options();
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct scene s;

	(void) state;
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

static void with_0_of_either_nothing_is_handed_over(void **state)
{
	const struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_client_options client = fake_options();
	struct scene s;

	client.handover_passes = 0;
	s = scene_of(&client, &options, &options);
	goes_back(&s);
	fake_setup(state);
	client.handover_passes = 10;
	client.handover_ms = 0;
	s = scene_of(&client, &options, &options);
	goes_back(&s);
}

/* Others wanted it lately: after the turn they get more time to ask than they
 * need. */
static void turn_that_ended_by_passes_lets_others_ask_first(void **state)
{
	struct rowlock_client_options client = fake_options();
	const struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_errinfo err;
	struct scene s;
	int64_t began;

	(void) state;
	client.handover_passes = 1;
	client.handover_ms = 60000;
	s = scene_of(&client, &options, &options);
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
	bob_releases(&s);
	scene_end(&s);
}

/* Who polls cannot be seen by who holds: now and then he is given the time. */
static void turns_without_others_let_them_ask_now_and_then(void **state)
{
	struct rowlock_client_options client = fake_options();
	const struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_errinfo err;
	struct scene s;
	int64_t began;

	(void) state;
	client.handover_passes = 1;
	client.handover_ms = 60000;
	s = scene_of(&client, &options, &options);
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
	assert_ok(fake_ask(s.eve, FAKE_DO_RELEASE, s.eves, 0));
	scene_end(&s);
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

static void maximum_hold_goes_back_to_the_server(void **state)
{
	const struct rowlock_options none = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_options maximum = ROWLOCK_OPTIONS_DEFAULT;

	maximum.max_hold_ms = 60000;
	waits_with(&maximum, &none, true);
	fake_setup(state);
	waits_with(&none, &maximum, true);
}

static void another_info_goes_back_to_the_server(void **state)
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
static void hold_of_two_infos_goes_back_to_the_server(void **state)
{
	const struct rowlock_client_options client = fake_options();
	struct rowlock_options night = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_options day = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_errinfo err;
	struct rowlock *nested;
	struct scene s;

	(void) state;
	night.info = "night";
	day.info = "day";
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

/* A beat says that one of our leases was taken by hand, and nobody knows yet
 * which. */
static void lease_that_may_be_broken_goes_back_to_the_server(void **state)
{
	struct scene s = scene(ROWLOCK_LEASE);
	struct rowlock *other = fake_lock(s.client, ROWLOCK_LEASE, 0, "other");
	struct rowlock_errinfo err;

	(void) state;
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
	fake_lock_end(other);
	scene_end(&s);
}

/* Not even the look has begun. */
static void lease_of_a_session_with_a_break_goes_back(void **state)
{
	struct scene s = scene(ROWLOCK_LEASE);
	struct rlk_waker *waker;

	(void) state;
	rlk_mutex_lock(&s.client->mutex);
	s.client->look_breaks = true;
	waker = rlk_hand_over_locked(s.held->hold, s.held);
	s.client->look_breaks = false;
	rlk_mutex_unlock(&s.client->mutex);
	assert_null(waker);
	release_to_bob(&s);
	bob_releases(&s);
	scene_end(&s);
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

static void lease_that_was_looked_up_passes_again(void **state)
{
	struct scene s = scene(ROWLOCK_LEASE);

	(void) state;
	rlk_mutex_lock(&s.client->mutex);
	s.client->look_breaks = true;
	rlk_mutex_unlock(&s.client->mutex);
	rlk_sleeper_wake(&s.client->chores_sleeper);
	fake_await(FAKE_LEASES_OF, 1);
	fake_until(suspicion_is_gone, &s);
	release_to_bob(&s);
	assert_said(1, 0);
	bob_releases(&s);
	scene_end(&s);
}

/* Its end is there to be seen, nobody has spoken on it since, and the deadline
 * thread has not run yet. */
static void row_whose_connection_has_ended_does_not_pass(void **state)
{
	struct scene s = scene(ROWLOCK_ROW);
	struct rlk_hold *hold = s.held->hold;
	struct rowlock_errinfo err;
	struct rlk_waker *waker;

	(void) state;
	rlk_mutex_lock(&s.client->mutex);
	shutdown(rlk_conn_fd(hold->conn), SHUT_RD);
	waker = rlk_hand_over_locked(hold, s.held);
	rlk_mutex_unlock(&s.client->mutex);
	assert_null(waker);
	assert_ok(fake_hear(s.bob, &err));
	assert_code(rowlock_release(s.held, &err), ROWLOCK_ELOST, &err);
	bob_releases(&s);
	scene_end(&s);
}

static void hold_that_is_lost_does_not_pass(void **state)
{
	struct scene s = scene(ROWLOCK_LEASE);
	uint64_t attempt = fake_lease("job");
	struct rowlock_errinfo err;

	(void) state;
	fake_creep(s.client->ttl_ms);
	assert_code(rowlock_release(s.held, &err), ROWLOCK_ELOST, &err);
	assert_code(fake_hear(s.bob, &err), ROWLOCK_ETIMEDOUT, &err);
	assert_false(fake_lease("job") == attempt && rowlock_held(s.bobs) == 1);
	scene_end(&s);
}

/* ---------------------------------------------------------- who gets it */

static void waiter_who_is_late_is_passed_over(void **state)
{
	struct scene s = scene(ROWLOCK_LEASE);
	struct rowlock_errinfo err;

	(void) state;
	s.client->handover_ms = 60000;
	add_eve(&s, 2);
	/* Bob's time is up, and nobody has told him. */
	fake_creep(5000);
	assert_ok(rowlock_release(s.held, &err));
	assert_ok(fake_hear(s.eve, &err));
	assert_said(1, 0);
	fake_advance(1);
	assert_code(fake_hear(s.bob, &err), ROWLOCK_ETIMEDOUT, &err);
	assert_ok(fake_ask(s.eve, FAKE_DO_RELEASE, s.eves, 0));
	scene_end(&s);
}

/* The release of the last level, up to where the mutex is let go. */
static struct rlk_waker *let_go_locked(struct rowlock *lock)
{
	struct rlk_hold *hold = lock->hold;

	rlk_lock_detach_locked(lock);
	return rlk_hand_over_locked(hold, lock);
}

static void waiter_who_is_canceled_is_passed_over(void **state)
{
	struct scene s = scene(ROWLOCK_LEASE);
	struct rowlock_errinfo err;
	struct rlk_waker *waker;

	(void) state;
	add_eve(&s, 2);
	rlk_mutex_lock(&s.client->mutex);
	s.bobs->waiter->canceled = true;
	rlk_cond_signal(&s.bobs->waiter->waker->cond);
	waker = let_go_locked(s.held);
	rlk_mutex_unlock(&s.client->mutex);
	assert_non_null(waker);
	rlk_cond_signal(&waker->cond);
	assert_ok(fake_hear(s.eve, &err));
	assert_code(fake_hear(s.bob, &err), ROWLOCK_ECANCELED, &err);
	assert_ok(fake_ask(s.eve, FAKE_DO_RELEASE, s.eves, 0));
	scene_end(&s);
}

/* The hand-over came first, by a hair. */
static void waiter_who_was_handed_it_has_it(void **state)
{
	struct scene s = scene(ROWLOCK_LEASE);
	struct rowlock_errinfo err;
	struct rlk_waker *waker;

	(void) state;
	rlk_mutex_lock(&s.client->mutex);
	waker = let_go_locked(s.held);
	s.bobs->waiter->canceled = true;
	fake_creep(5000);
	rlk_mutex_unlock(&s.client->mutex);
	assert_non_null(waker);
	rlk_cond_signal(&waker->cond);
	assert_ok(fake_hear(s.bob, &err));
	assert_int_equal(rowlock_held(s.bobs), 1);
	bob_releases(&s);
	/* Nothing of the cancel is remembered. */
	assert_int_equal(fake_ask(s.bob, FAKE_DO_ACQUIRE, s.bobs, 0), 0);
	bob_releases(&s);
	scene_end(&s);
}

static void hold_that_is_lost_on_the_way_is_asked_for_anew(void **state)
{
	struct scene s = scene(ROWLOCK_LEASE);
	uint64_t attempt = fake_lease("job");
	_Atomic int told = 0;
	struct rowlock_errinfo err;
	struct rlk_waker *waker;
	struct rlk_hold *hold;

	(void) state;
	rowlock_on_lost(s.bobs, fake_count_loss, (void *) &told);
	rlk_mutex_lock(&s.client->mutex);
	hold = s.held->hold;
	waker = let_go_locked(s.held);
	rlk_hold_lose_locked(hold, "of this test");
	/* Bob never had it, to his knowledge. */
	assert_int_equal(s.bobs->notices, 0);
	rlk_mutex_unlock(&s.client->mutex);
	assert_non_null(waker);
	rlk_cond_signal(&waker->cond);
	assert_ok(fake_pass_hear(s.bob, &err));
	assert_int_equal(rowlock_held(s.bobs), 1);
	assert_true(fake_lease("job") != attempt);
	assert_int_equal(fake_call(FAKE_ACQUIRE, 0).attempt, attempt);
	bob_releases(&s);
	assert_true(fake_lease("job") == 0);
	assert_int_equal(told, 0);
	scene_end(&s);
}

/* Two threads use one handle at a time: none of them gets what the other is
 * about to have. */
static void waiter_who_asks_is_not_handed_it_as_well(void **state)
{
	struct scene s = scene(ROWLOCK_LEASE);
	struct rlk_waker *waker;
	struct rlk_hold *hold = s.held->hold;

	(void) state;
	rlk_mutex_lock(&s.client->mutex);
	s.bobs->waiter->asking = true;
	waker = rlk_hand_over_locked(hold, s.held);
	s.bobs->waiter->asking = false;
	rlk_mutex_unlock(&s.client->mutex);
	assert_null(waker);
	release_to_bob(&s);
	bob_releases(&s);
	scene_end(&s);
}

static void only_the_last_level_passes(void **state)
{
	struct scene s = scene(ROWLOCK_LEASE);
	struct rowlock *nested = fake_lock(s.client, ROWLOCK_LEASE, 0, "job");
	struct rowlock_errinfo err;

	(void) state;
	assert_ok(rowlock_acquire(s.held, 0, &err));
	assert_ok(rowlock_acquire(nested, 0, &err));
	assert_ok(rowlock_release(s.held, &err));
	assert_ok(rowlock_release(nested, &err));
	assert_true(fake_busy(s.bob));
	release_to_bob(&s);
	assert_int_equal(rowlock_depth(s.bobs), 1);
	/* It is another's now. */
	assert_code(rowlock_acquire(nested, 0, &err), ROWLOCK_EBUSY, &err);
	bob_releases(&s);
	assert_said(1, 1);
	fake_lock_end(nested);
	scene_end(&s);
}

static void handle_can_be_the_next_owner(void **state)
{
	const struct rowlock_client_options client = fake_options();
	const struct rowlock_options thread = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_options handle = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_errinfo err;
	struct scene s;

	(void) state;
	handle.flags = ROWLOCK_OWNER_HANDLE;
	s = scene_of(&client, &thread, &handle);
	release_to_bob(&s);
	/* Any thread may. */
	assert_ok(rowlock_acquire(s.bobs, 0, &err));
	assert_ok(rowlock_release(s.bobs, &err));
	assert_ok(rowlock_release(s.bobs, &err));
	assert_said(1, 1);
	scene_end(&s);
}

/* ------------------------------------------------------ what goes with it */

static void owners_draw(enum rowlock_strategy strategy)
{
	struct scene s = scene(strategy);
	struct rowlock_errinfo err;
	uint64_t first;
	uint64_t second;

	assert_ok(rowlock_token(s.held, &first, &err));
	release_to_bob(&s);
	assert_int_equal(s.bobs->hold->token, 0);
	assert_int_equal(fake_ask(s.bob, FAKE_DO_TOKEN, s.bobs, 0), 0);
	second = s.bobs->hold->token;
	assert_true(second > first);
	assert_int_equal(fake_count(FAKE_DRAW), 2);
	bob_releases(&s);
	scene_end(&s);
}

static void each_owner_draws_a_token_of_his_own(void **state)
{
	owners_draw(ROWLOCK_LEASE);
	fake_setup(state);
	owners_draw(ROWLOCK_ROW);
}

/* Not allowed, and still no harm to the next owner. */
static void draw_overtaken_by_a_release_is_nobodys_token(void **state)
{
	const struct rowlock_client_options client = fake_options();
	struct rowlock_options handle = ROWLOCK_OPTIONS_DEFAULT;
	struct fake_person *other = fake_person();
	struct rowlock_errinfo err;
	struct scene s;

	(void) state;
	handle.flags = ROWLOCK_OWNER_HANDLE;
	s = scene_of(&client, &handle, &handle);
	fake_next(FAKE_DRAW, (struct fake_answer){ .wait = true });
	fake_tell(other, FAKE_DO_TOKEN, s.held, 0);
	fake_await(FAKE_DRAW, 1);
	release_to_bob(&s);
	fake_let(FAKE_DRAW);
	assert_code(fake_hear(other, &err), ROWLOCK_ELOST, &err);
	assert_int_equal(s.bobs->hold->token, 0);
	bob_releases(&s);
	fake_person_end(other);
	scene_end(&s);
}

static void loss_is_told_to_the_owner_that_it_has(void **state)
{
	struct scene s = scene(ROWLOCK_LEASE);
	_Atomic int told_before = 0;
	_Atomic int told = 0;
	struct rowlock_errinfo err;

	(void) state;
	rowlock_on_lost(s.held, fake_count_loss, (void *) &told_before);
	rowlock_on_lost(s.bobs, fake_count_loss, (void *) &told);
	release_to_bob(&s);
	fake_lease_remove("job");
	assert_int_equal(fake_ask(s.bob, FAKE_DO_VERIFY, s.bobs, 0),
			 ROWLOCK_ELOST);
	fake_until(fake_is_one, (void *) &told);
	assert_int_equal(told_before, 0);
	assert_int_equal(fake_ask(s.bob, FAKE_DO_RELEASE, s.bobs, 0),
			 ROWLOCK_ELOST);
	assert_code(rowlock_release(s.held, &err), ROWLOCK_ENOTHELD, &err);
	scene_end(&s);
}

static void pings_go_on_after_a_pass(void **state)
{
	struct scene s = scene(ROWLOCK_ROW);
	unsigned int pings = fake_count(FAKE_CONFIRM);

	(void) state;
	release_to_bob(&s);
	for (int i = 0; i < 6; i++)
		fake_pass_await(FAKE_CONFIRM, ++pings);
	assert_int_equal(rowlock_held(s.bobs), 1);
	bob_releases(&s);
	scene_end(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		FAKE("a lease passes without a word to the server",
		     lease_passes_without_a_word_to_the_server),
		FAKE("a row passes without a word to the server",
		     row_passes_without_a_word_to_the_server),
		FAKE("a turn ends after so many passes",
		     turn_ends_after_so_many_passes),
		FAKE("a turn ends after so long", turn_ends_after_so_long),
		FAKE("with 0 of either nothing is handed over",
		     with_0_of_either_nothing_is_handed_over),
		FAKE("a turn that ended by passes lets others ask first",
		     turn_that_ended_by_passes_lets_others_ask_first),
		FAKE("turns without others let them ask now and then",
		     turns_without_others_let_them_ask_now_and_then),
		FAKE("a maximum hold goes back to the server",
		     maximum_hold_goes_back_to_the_server),
		FAKE("another info goes back to the server",
		     another_info_goes_back_to_the_server),
		FAKE("a hold of two infos goes back to the server",
		     hold_of_two_infos_goes_back_to_the_server),
		FAKE("a lease that may be broken goes back to the server",
		     lease_that_may_be_broken_goes_back_to_the_server),
		FAKE("a lease of a session with a break goes back",
		     lease_of_a_session_with_a_break_goes_back),
		FAKE("a lease that was looked up passes again",
		     lease_that_was_looked_up_passes_again),
		FAKE("a row whose connection has ended does not pass",
		     row_whose_connection_has_ended_does_not_pass),
		FAKE("a hold that is lost does not pass",
		     hold_that_is_lost_does_not_pass),
		FAKE("a waiter who is late is passed over",
		     waiter_who_is_late_is_passed_over),
		FAKE("a waiter who is canceled is passed over",
		     waiter_who_is_canceled_is_passed_over),
		FAKE("a waiter who was handed it has it",
		     waiter_who_was_handed_it_has_it),
		FAKE("a hold that is lost on the way is asked for anew",
		     hold_that_is_lost_on_the_way_is_asked_for_anew),
		FAKE("a waiter who asks is not handed it as well",
		     waiter_who_asks_is_not_handed_it_as_well),
		FAKE("only the last level passes", only_the_last_level_passes),
		FAKE("a handle can be the next owner",
		     handle_can_be_the_next_owner),
		FAKE("each owner draws a token of his own",
		     each_owner_draws_a_token_of_his_own),
		FAKE("a draw overtaken by a release is nobody's token",
		     draw_overtaken_by_a_release_is_nobodys_token),
		FAKE("a loss is told to the owner that it has",
		     loss_is_told_to_the_owner_that_it_has),
		FAKE("pings go on after a pass", pings_go_on_after_a_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
