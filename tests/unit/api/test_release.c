/* SPDX-License-Identifier: MIT */
/*
 * Giving up: once, with or without an answer, and never what is another's.
 */
#include "fake/fake.h"

#include <string.h>

#include "core/client.h"
#include "hold/handle.h"
#include "test.h"

static const struct fake_answer lost_after = { .given = true,
					       .result = RLK_UNKNOWN };
static const struct fake_answer lost_before = { .given = true,
						.skip = true,
						.result = RLK_UNKNOWN };

/* Each release is said to the server. */
static struct rowlock_client *client_without_handover(void)
{
	struct rowlock_client_options options = fake_options();

	options.flags |= ROWLOCK_NO_HANDOVER;
	return fake_client_with(&options);
}

static bool is_gone(void *arg)
{
	return fake_lease("job") != *(uint64_t *) arg;
}

FAKE("a release is one statement with the attempt")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_release(lock, &err));
	assert_int_equal(fake_count(FAKE_RELEASE), 1);
	assert_true(fake_call(FAKE_RELEASE, 0).attempt ==
		    fake_call(FAKE_ACQUIRE, 0).attempt);
	assert_string_equal(fake_call(FAKE_RELEASE, 0).name, "job");
	/* Each hold has an attempt of its own. */
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_true(fake_call(FAKE_ACQUIRE, 1).attempt !=
		    fake_call(FAKE_ACQUIRE, 0).attempt);
	assert_ok(rowlock_release(lock, &err));
}

FAKE("a release without a hold is refused")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	uint64_t token;

	assert_code(rowlock_release(lock, &err), ROWLOCK_ENOTHELD, &err);
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ENOTHELD, &err);
	assert_code(rowlock_token(lock, &token, &err), ROWLOCK_ENOTHELD, &err);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_release(lock, &err));
	assert_code(rowlock_release(lock, &err), ROWLOCK_ENOTHELD, &err);
	assert_int_equal(fake_count(FAKE_RELEASE), 1);
}

FAKE("a release without an answer is sent again")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	for (int i = 0; i < 2; i++) {
		assert_ok(rowlock_acquire(lock, 0, &err));
		/* Its row is gone at the second look, by our own doing. */
		fake_next(FAKE_RELEASE, i ? lost_after : lost_before);
		assert_ok(rowlock_release(lock, &err));
		assert_int_equal(fake_lease("job"), 0);
		assert_int_equal(fake_count(FAKE_RELEASE), 2 * (i + 1));
	}
}

/* A hold, and a release of it whose first request did not get there; in between
 * @befalls() happens to its row. */
static void befall(uint64_t max_hold_ms, void (*befalls)(struct rowlock *lock),
		   int code)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_client *client = client_without_handover();
	struct rowlock *lock;

	options.max_hold_ms = max_hold_ms;
	assert_ok(rowlock_new(client, "job", &options, &lock, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	befalls(lock);
	fake_next(FAKE_RELEASE, lost_before);
	assert_code(rowlock_release(lock, &err), code, &err);
	if (code)
		assert_non_null(strstr(err.message, "is not known"));
	assert_int_equal(rowlock_held(lock), 0);
	assert_int_equal(rowlock_depth(lock), 0);
	assert_int_equal(fake_count(FAKE_RELEASE), 2);
	fake_end(lock, client);
	fake_setup(NULL);
}

static void break_it(struct rowlock *lock)
{
	fake_lease_break(rowlock_name(lock));
}

static void evict_it(struct rowlock *lock)
{
	fake_session_remove(fake_call(FAKE_ACQUIRE, 0).id);
	fake_lease_remove(rowlock_name(lock));
}

/* Nobody has: it was ours that came through. */
static void take_it(struct rowlock *lock)
{
	fake_lease_remove(rowlock_name(lock));
}

static void take_it_and_fall_silent(struct rowlock *lock)
{
	take_it(lock);
	fake_next(FAKE_SESSION_BREAKS,
		  (struct fake_answer){ .given = true, .result = RLK_UNKNOWN });
}

static void leave_it(struct rowlock *lock)
{
	(void) lock;
}

/* The look behind a heartbeat leaves out a row that a transaction may be giving
 * back. A row that somebody has deleted by hand is then missed later. */
FAKE("a release of a row that was left out tells no more")
{
	FAKE_CLIENT_AS(client, client_without_handover());
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, 0, "job");
	FAKE_LOCK(other, client, ROWLOCK_LEASE, 0, "other");

	for (int i = 0; i < 2; i++) {
		assert_ok(rowlock_acquire(lock, 0, &err));
		assert_ok(rowlock_acquire(other, 0, &err));
		rlk_mutex_lock(&client->mutex);
		lock->hold->guard.in_transaction = true;
		rlk_mutex_unlock(&client->mutex);
		fake_pass_await(FAKE_LEASES_THERE,
				fake_count(FAKE_LEASES_THERE) + 1);
		rlk_mutex_lock(&client->mutex);
		lock->hold->guard.in_transaction = false;
		rlk_mutex_unlock(&client->mutex);
		/* The next look sees it. */
		if (i)
			fake_pass_await(FAKE_LEASES_THERE,
					fake_count(FAKE_LEASES_THERE) + 2);
		take_it(lock);
		fake_next(FAKE_RELEASE, lost_before);
		assert_code(rowlock_release(lock, &err),
			    i ? 0 : ROWLOCK_EUNKNOWN, &err);
		assert_ok(rowlock_release(other, &err));
	}
}

/* A row that is gone need not have been deleted by one of two DELETEs of ours.
 */
FAKE("a release without an answer tells no more than it knows")
{
	befall(0, break_it, ROWLOCK_EUNKNOWN);
	befall(0, evict_it, ROWLOCK_EUNKNOWN);
	befall(0, take_it_and_fall_silent, ROWLOCK_EUNKNOWN);
	befall(60000, take_it, ROWLOCK_EUNKNOWN);
	befall(0, take_it, 0);
	befall(60000, leave_it, 0);
}

/* The session's count is compared with the one that was known when the hold was
 * let go. A break that is being looked up may have been of this hold. */
FAKE("a release during a look for breaks tells no more")
{
	FAKE_CLIENT_AS(client, client_without_handover());
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, 0, "job");

	assert_ok(rowlock_acquire(lock, 0, &err));
	break_it(lock);
	fake_next(FAKE_LEASES_OF, (struct fake_answer){ .wait = true });
	fake_pass_await(FAKE_LEASES_OF, 1);
	fake_next(FAKE_RELEASE, lost_before);
	assert_code(rowlock_release(lock, &err), ROWLOCK_EUNKNOWN, &err);
	fake_let(FAKE_LEASES_OF);
}

FAKE("a release that never gets an answer goes to the chores")
{
	FAKE_CLIENT_AS(client, client_without_handover());
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, 0, "job");
	FAKE_LOCK(next, client, ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE, "job");
	FAKE_PERSON(bob);
	uint64_t attempt;

	assert_ok(rowlock_acquire(lock, 0, &err));
	attempt = fake_lease("job");
	fake_tell(bob, FAKE_DO_ACQUIRE, next, ROWLOCK_FOREVER);
	fake_await_line(lock, 1);
	for (int i = 0; i < 6; i++)
		fake_next(FAKE_RELEASE,
			  (struct fake_answer){ .given = true,
						.skip = true,
						.result = RLK_UNKNOWN,
						.ms = 1000 });
	assert_code(rowlock_release(lock, &err), ROWLOCK_ECONNECT, &err);
	assert_non_null(strstr(err.message, "not held any more"));
	assert_int_equal(rowlock_held(lock), 0);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ENOTHELD, &err);
	/* The row goes, and the next one gets a row of its own. */
	fake_pass_until(is_gone, &attempt);
	assert_ok(fake_pass_hear(bob, &err));
	assert_true(fake_lease("job") != attempt);
	assert_int_equal(rowlock_held(next), 1);
	assert_ok(rowlock_release(next, &err));
}

FAKE("a release in others' way is tried again")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_next(FAKE_RELEASE, (struct fake_answer){ .given = true,
						      .skip = true,
						      .result = RLK_BUSY });
	fake_next(FAKE_RELEASE, (struct fake_answer){ .given = true,
						      .skip = true,
						      .result = RLK_CONFLICT });
	fake_next(FAKE_RELEASE, (struct fake_answer){ .given = true,
						      .skip = true,
						      .result = RLK_KILLED });
	assert_ok(rowlock_release(lock, &err));
	assert_int_equal(fake_count(FAKE_RELEASE), 4);
	assert_int_equal(fake_lease("job"), 0);
	/* Nobody waits any longer with one that is in somebody's way. */
	assert_true(fake_call(FAKE_RELEASE, 1).conn !=
		    fake_call(FAKE_RELEASE, 0).conn);
	assert_int_equal(fake_call(FAKE_RELEASE, 2).conn,
			 fake_call(FAKE_RELEASE, 0).conn);
}

FAKE("a release of a row that is gone says lost")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_lease_remove("job");
	fake_session_add(77);
	fake_lease_add("job", 7, 77);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	assert_int_equal(rowlock_held(lock), 0);
	/* What another has is not touched. */
	assert_int_equal(fake_lease("job"), 7);
}

/* Its time comes up at one of the looks at the clock that a release makes. */
FAKE("a release that finds the time up says why")
{
	for (unsigned int look = 1; look <= 2; look++) {
		struct rowlock_client *client = fake_client();
		struct rowlock *lock =
		    fake_lock(client, ROWLOCK_LEASE, 0, "job");

		assert_ok(rowlock_acquire(lock, 0, &err));
		fake_creep_at_look(look, 27000);
		assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
		fake_creep_at_look(0, 0);
		assert_non_null(strstr(err.message, "no heartbeat"));
		fake_end(lock, client);
		fake_setup(state);
	}
}

FAKE("a handle whose hold was lost cannot release the next")
{
	FAKE_CLIENT();
	FAKE_LOCK(old, client, ROWLOCK_LEASE, ROWLOCK_OWNER_THREAD, "job");
	FAKE_LOCK(new, client, ROWLOCK_LEASE, ROWLOCK_OWNER_THREAD, "job");

	assert_ok(rowlock_acquire(old, 0, &err));
	fake_lease_remove("job");
	assert_code(rowlock_verify(old, &err), ROWLOCK_ELOST, &err);
	/* The same thread, the same name, another hold. */
	assert_ok(rowlock_acquire(new, 0, &err));
	assert_int_equal(rowlock_depth(new), 1);
	assert_code(rowlock_release(old, &err), ROWLOCK_ELOST, &err);
	assert_int_equal(rowlock_held(new), 1);
	assert_int_not_equal(fake_lease("job"), 0);
	assert_ok(rowlock_acquire(old, 0, &err));
	assert_ok(rowlock_release(old, &err));
	assert_ok(rowlock_release(new, &err));
}

FAKE("every level of a lost hold is released")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_lease_remove("job");
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
	assert_int_equal(rowlock_depth(lock), 0);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ENOTHELD, &err);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_release(lock, &err));
}

FAKE("the next waiter's turn comes when the server answered")
{
	FAKE_CLIENT_AS(client, client_without_handover());
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE, "job");
	FAKE_LOCK(next, client, ROWLOCK_LEASE, 0, "job");
	FAKE_PERSON(bob);
	FAKE_PERSON(eve);

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_tell(bob, FAKE_DO_ACQUIRE, next, ROWLOCK_FOREVER);
	fake_await_line(lock, 1);
	fake_next(FAKE_RELEASE, (struct fake_answer){ .wait = true });
	fake_tell(eve, FAKE_DO_RELEASE, lock, 0);
	fake_await(FAKE_RELEASE, 1);
	/* Not held any more from its start, and not free yet. */
	assert_int_equal(rowlock_held(lock), 0);
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_EBUSY, &err);
	assert_true(fake_busy(bob));
	fake_let(FAKE_RELEASE);
	assert_ok(fake_hear(eve, &err));
	assert_ok(fake_hear(bob, &err));
	assert_true(fake_call(FAKE_ACQUIRE, 1).order >
		    fake_call(FAKE_RELEASE, 0).order);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, next, 0), 0);
}

CASE_MAIN(case_main)
