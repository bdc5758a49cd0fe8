/* SPDX-License-Identifier: MIT */
/*
 * From one thread to the next without a word to the server: who gets it, and
 * what goes with it.
 */
#include "passing.h"

static void passes(enum rowlock_strategy strategy)
{
	_cleanup_(scene_end) struct scene s = scene(strategy);
	unsigned int asked = fake_count(FAKE_ACQUIRE);

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
}

FAKE("a lease passes without a word to the server")
{
	passes(ROWLOCK_LEASE);
}

FAKE("a row passes without a word to the server")
{
	passes(ROWLOCK_ROW);
}

/* ---------------------------------------------------------- who gets it */

FAKE("a waiter who is late is passed over")
{
	_cleanup_(scene_end) struct scene s = scene(ROWLOCK_LEASE);

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
}

/* The release of the last level, up to where the mutex is let go. */
static struct rlk_waker *let_go_locked(struct rowlock *lock)
{
	struct rlk_hold *hold = lock->hold;

	rlk_lock_detach_locked(lock);
	return rlk_hand_over_locked(hold, lock);
}

FAKE("a waiter who is canceled is passed over")
{
	_cleanup_(scene_end) struct scene s = scene(ROWLOCK_LEASE);
	struct rlk_waker *waker;

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
}

/* The hand-over came first, by a hair. */
FAKE("a waiter who was handed it has it")
{
	_cleanup_(scene_end) struct scene s = scene(ROWLOCK_LEASE);
	struct rlk_waker *waker;

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
}

FAKE("a hold that is lost on the way is asked for anew")
{
	_cleanup_(scene_end) struct scene s = scene(ROWLOCK_LEASE);
	uint64_t attempt = fake_lease("job");
	_Atomic int told = 0;
	struct rlk_waker *waker;
	struct rlk_hold *hold;

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
}

/* Two threads use one handle at a time: none of them gets what the other is
 * about to have. */
FAKE("a waiter who asks is not handed it as well")
{
	_cleanup_(scene_end) struct scene s = scene(ROWLOCK_LEASE);
	struct rlk_waker *waker;
	struct rlk_hold *hold = s.held->hold;

	rlk_mutex_lock(&s.client->mutex);
	s.bobs->waiter->state = RLK_WAITER_ASKS;
	waker = rlk_hand_over_locked(hold, s.held);
	s.bobs->waiter->state = RLK_WAITER_STANDS;
	rlk_mutex_unlock(&s.client->mutex);
	assert_null(waker);
	release_to_bob(&s);
	bob_releases(&s);
}

FAKE("only the last level passes")
{
	const struct rowlock_client_options client = fake_options();
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock *nested;
	struct scene s;

	options.flags = ROWLOCK_OWNER_THREAD;
	s = scene_of(&client, &options, &options);
	nested = lock_with(s.client, &options);
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

FAKE("a handle can be the next owner")
{
	const struct rowlock_client_options client = fake_options();
	const struct rowlock_options thread = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_options handle = ROWLOCK_OPTIONS_DEFAULT;
	struct scene s;

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
	_cleanup_(scene_end) struct scene s = scene(strategy);
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
}

FAKE("each owner draws a token of his own")
{
	owners_draw(ROWLOCK_LEASE);
	fake_setup(state);
	owners_draw(ROWLOCK_ROW);
}

/* Not allowed, and still no harm to the next owner. */
FAKE("a draw overtaken by a release is nobody's token")
{
	const struct rowlock_client_options client = fake_options();
	struct rowlock_options handle = ROWLOCK_OPTIONS_DEFAULT;
	struct fake_person *other = fake_person();
	struct scene s;

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

FAKE("a loss is told to the owner that it has")
{
	_cleanup_(scene_end) struct scene s = scene(ROWLOCK_LEASE);
	_Atomic int told_before = 0;
	_Atomic int told = 0;

	rowlock_on_lost(s.held, fake_count_loss, (void *) &told_before);
	rowlock_on_lost(s.bobs, fake_count_loss, (void *) &told);
	release_to_bob(&s);
	fake_lease_remove("job");
	assert_code(fake_ask(s.bob, FAKE_DO_VERIFY, s.bobs, 0), ROWLOCK_ELOST,
		    NULL);
	fake_until(fake_is_one, (void *) &told);
	assert_int_equal(told_before, 0);
	assert_code(fake_ask(s.bob, FAKE_DO_RELEASE, s.bobs, 0), ROWLOCK_ELOST,
		    NULL);
	assert_code(rowlock_release(s.held, &err), ROWLOCK_ENOTHELD, &err);
}

FAKE("pings go on after a pass")
{
	_cleanup_(scene_end) struct scene s = scene(ROWLOCK_ROW);
	unsigned int pings = fake_count(FAKE_CONFIRM);

	release_to_bob(&s);
	for (int i = 0; i < 6; i++) {
		fake_advance(s.client->row_idle_ms / 3);
		fake_await(FAKE_CONFIRM, ++pings);
	}
	assert_int_equal(rowlock_held(s.bobs), 1);
	bob_releases(&s);
}

CASE_MAIN(case_main)
