/* SPDX-License-Identifier: MIT */
/*
 * Lost holds: who is told, how often, and what the callback may do. Maximum
 * holds and breaks.
 */
#include "fake/fake.h"

#include <stdatomic.h>
#include <string.h>

#include "core/lock.h"
#include "test.h"

static const struct fake_answer no_beat = { .given = true,
					    .result = RLK_UNKNOWN };

struct told {
	_Atomic unsigned int count;
	_Atomic int code; /* what the callback's own call gave */
	_Atomic bool go;
	struct test_event event;
	struct test_event ended;
	struct fake_person *other;
	bool others_waits;
};

static void note(struct rowlock *lock, void *arg)
{
	struct told *told = arg;

	(void) lock;
	told->count++;
	test_event_set(&told->event);
}

static struct told told_new(void)
{
	return (struct told){ .event = test_event_new(),
			      .ended = test_event_new() };
}

static void told_end(struct told *told)
{
	test_event_end(&told->event);
	test_event_end(&told->ended);
}

/* A callback for @client's holds has been queued behind all others: when this
 * one has run, so have those. */
static void flush(struct rowlock_client *client)
{
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "flush");
	struct told told = told_new();
	struct rowlock_errinfo err;

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_lease_remove("flush");
	rowlock_on_lost(lock, note, &told);
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
	assert_true(test_event_wait(&told.event));
	fake_lock_end(lock);
	told_end(&told);
}

static void callback_runs_once_for_a_lost_hold(void **state)
{
	struct rowlock_client *client = fake_client();
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	struct told told = told_new();
	struct rowlock_errinfo err;

	(void) state;
	rowlock_on_lost(lock, note, &told);
	fake_always(FAKE_BEAT, no_beat);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	/* Nobody calls anything; the client does it by itself. */
	fake_advance(27000);
	assert_true(test_event_wait(&told.event));
	assert_int_equal(rowlock_held(lock), 0);
	fake_advance(60000);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	flush(client);
	assert_int_equal(told.count, 1);
	/* And again for the next hold. */
	fake_session_remove(fake_call(FAKE_OPEN, 0).id);
	assert_ok(rowlock_acquire(lock, ROWLOCK_FOREVER, &err));
	fake_advance(27000);
	assert_true(test_event_wait(&told.event));
	assert_int_equal(told.count, 2);
	fake_lock_end(lock);
	fake_client_end(client);
	told_end(&told);
}

static void release_calls_nobody(void **state)
{
	struct rowlock_client *client = fake_client();
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	struct told told = told_new();
	struct rowlock_errinfo err;

	(void) state;
	rowlock_on_lost(lock, note, &told);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_release(lock, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	/* Its row is gone, but it is the caller who learns that. */
	fake_lease_remove("job");
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	flush(client);
	assert_int_equal(told.count, 0);
	fake_lock_end(lock);
	fake_client_end(client);
	told_end(&told);
}

static void callback_that_comes_late_is_called_once(void **state)
{
	struct rowlock_client *client = fake_client();
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	struct told told = told_new();
	struct rowlock_errinfo err;

	(void) state;
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_lease_remove("job");
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
	rowlock_on_lost(lock, note, &told);
	assert_true(test_event_wait(&told.event));
	rowlock_on_lost(lock, note, &told);
	flush(client);
	assert_int_equal(told.count, 1);
	fake_lock_end(lock);
	fake_client_end(client);
	told_end(&told);
}

static void every_handle_of_a_hold_is_told(void **state)
{
	struct rowlock_client *client = fake_client();
	struct rowlock *a = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	struct rowlock *b = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	struct rowlock *c = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	struct told told[3] = { told_new(), told_new(), told_new() };
	struct rowlock_errinfo err;

	(void) state;
	rowlock_on_lost(a, note, &told[0]);
	rowlock_on_lost(b, note, &told[1]);
	rowlock_on_lost(c, note, &told[2]);
	assert_ok(rowlock_acquire(a, 0, &err));
	assert_ok(rowlock_acquire(b, 0, &err));
	fake_lease_remove("job");
	assert_code(rowlock_verify(a, &err), ROWLOCK_ELOST, &err);
	flush(client);
	assert_int_equal(told[0].count, 1);
	assert_int_equal(told[1].count, 1);
	assert_int_equal(told[2].count, 0);
	fake_lock_end(a);
	fake_lock_end(b);
	fake_lock_end(c);
	fake_client_end(client);
	for (int i = 0; i < 3; i++)
		told_end(&told[i]);
}

static void use_and_free(struct rowlock *lock, void *arg)
{
	struct rowlock_client *client = lock->client;
	struct told *told = arg;

	/* Owned by a thread: it is not ours to release. */
	if (rowlock_release(lock, NULL) == ROWLOCK_ENOTOWNER)
		told->count++;
	rowlock_on_lost(lock, NULL, NULL);
	told->code = rowlock_client_free(client, NULL);
	if (rowlock_free(lock, NULL) == 0)
		told->count++;
	test_event_set(&told->event);
}

static void callback_may_free_its_lock_but_not_the_client(void **state)
{
	struct rowlock_client *client = fake_client();
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	struct told told = told_new();
	struct rowlock_errinfo err;

	(void) state;
	rowlock_on_lost(lock, use_and_free, &told);
	assert_ok(rowlock_acquire(lock, 0, &err));
	/* No call of ours is under way then. */
	fake_always(FAKE_BEAT, no_beat);
	fake_advance(27000);
	assert_true(test_event_wait(&told.event));
	assert_int_equal(told.count, 2);
	assert_int_equal(told.code, ROWLOCK_EHELD);
	fake_client_end(client);
	told_end(&told);
}

static void free_all(struct rowlock *lock, void *arg)
{
	struct rowlock_client *client = lock->client;
	struct told *told = arg;

	if (rowlock_release(lock, NULL) == ROWLOCK_ELOST)
		told->count++;
	if (rowlock_free(lock, NULL) == 0)
		told->count++;
	told->code = rowlock_client_free(client, NULL);
	test_event_set(&told->event);
}

static void callback_releases_what_its_handle_owns(void **state)
{
	struct rowlock_client *client = fake_client();
	struct rowlock *lock =
	    fake_lock(client, ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE, "job");
	struct told told = told_new();
	struct rowlock_errinfo err;

	(void) state;
	rowlock_on_lost(lock, free_all, &told);
	assert_ok(rowlock_acquire(lock, 0, &err));
	/* No call of ours is under way then. */
	fake_always(FAKE_BEAT, no_beat);
	fake_advance(27000);
	assert_true(test_event_wait(&told.event));
	assert_int_equal(told.count, 2);
	assert_int_equal(told.code, ROWLOCK_EINVAL);
	fake_client_end(client);
	told_end(&told);
}

static void linger(struct rowlock *lock, void *arg)
{
	struct told *told = arg;

	(void) lock;
	test_event_set(&told->event);
	test_event_wait(&told->ended);
	told->others_waits = fake_busy(told->other);
}

/* The notifier is in the callback; who sleeps now is the one who frees. */
static bool sleeps_or_has_ended(void *arg)
{
	return fake_sleepers() > 0 || !fake_busy(arg);
}

static void free_waits_for_a_callback_that_is_running(void **state)
{
	struct rowlock_client *client = fake_client();
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	struct told told = told_new();
	struct rowlock_errinfo err;

	(void) state;
	told.other = fake_person();
	rowlock_on_lost(lock, linger, &told);
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_lease_remove("job");
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
	assert_true(test_event_wait(&told.event));
	fake_tell(told.other, FAKE_DO_FREE, lock, 0);
	fake_until(sleeps_or_has_ended, told.other);
	test_event_set(&told.ended);
	assert_ok(fake_hear(told.other, &err));
	assert_true(told.others_waits);
	fake_person_end(told.other);
	fake_client_end(client);
	told_end(&told);
}

static void callback_that_replaces_one_not_yet_run_is_told(void **state)
{
	struct rowlock_client *client = fake_client();
	struct rowlock *busy = fake_lock(client, ROWLOCK_LEASE, 0, "busy");
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	struct told first = told_new();
	struct told old = told_new();
	struct told new = told_new();
	struct rowlock_errinfo err;

	(void) state;
	/* The notifier is busy with another's. */
	first.other = fake_person();
	rowlock_on_lost(busy, linger, &first);
	rowlock_on_lost(lock, note, &old);
	assert_ok(rowlock_acquire(busy, 0, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_lease_remove("busy");
	fake_lease_remove("job");
	assert_code(rowlock_verify(busy, &err), ROWLOCK_ELOST, &err);
	assert_true(test_event_wait(&first.event));
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
	rowlock_on_lost(lock, note, &new);
	test_event_set(&first.ended);
	flush(client);
	assert_int_equal(old.count, 0);
	assert_int_equal(new.count, 1);
	fake_person_end(first.other);
	fake_lock_end(busy);
	fake_lock_end(lock);
	fake_client_end(client);
	told_end(&first);
	told_end(&old);
	told_end(&new);
}

/* Acquire, and lose it at once. */
static void lose(struct rowlock *lock, const char *name)
{
	struct rowlock_errinfo err;

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_lease_remove(name);
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
}

/* While the notifier is in another's callback, two holds of one handle are
 * lost, with a third one's between them. */
static void each_loss_is_told_once_however_late(void **state)
{
	struct rowlock_client *client = fake_client();
	struct rowlock *busy = fake_lock(client, ROWLOCK_LEASE, 0, "busy");
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	struct rowlock *third = fake_lock(client, ROWLOCK_LEASE, 0, "third");
	struct told first = told_new();
	struct told twice = told_new();
	struct told once = told_new();
	struct rowlock_errinfo err;

	(void) state;
	first.other = fake_person();
	rowlock_on_lost(busy, linger, &first);
	rowlock_on_lost(lock, note, &twice);
	rowlock_on_lost(third, note, &once);
	lose(busy, "busy");
	assert_true(test_event_wait(&first.event));
	lose(lock, "job");
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	lose(third, "third");
	lose(lock, "job");
	test_event_set(&first.ended);
	flush(client);
	flush(client);
	assert_int_equal(twice.count, 2);
	assert_int_equal(once.count, 1);
	fake_person_end(first.other);
	fake_lock_end(busy);
	fake_lock_end(lock);
	fake_lock_end(third);
	fake_client_end(client);
	told_end(&first);
	told_end(&twice);
	told_end(&once);
}

static void handle_that_waits_to_be_told_may_be_freed(void **state)
{
	struct rowlock_client *client = fake_client();
	struct rowlock *busy = fake_lock(client, ROWLOCK_LEASE, 0, "busy");
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	struct told first = told_new();
	struct told told = told_new();
	struct rowlock_errinfo err;

	(void) state;
	first.other = fake_person();
	rowlock_on_lost(busy, linger, &first);
	rowlock_on_lost(lock, note, &told);
	lose(busy, "busy");
	assert_true(test_event_wait(&first.event));
	lose(lock, "job");
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	fake_lock_end(lock);
	test_event_set(&first.ended);
	flush(client);
	assert_int_equal(told.count, 0);
	fake_person_end(first.other);
	fake_lock_end(busy);
	fake_client_end(client);
	told_end(&first);
	told_end(&told);
}

/* -------------------------------------------------------- maximum hold */

static struct rowlock *lock_with_maximum(struct rowlock_client *client,
					 enum rowlock_strategy strategy,
					 uint64_t max_hold_ms)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_errinfo err;
	struct rowlock *lock = NULL;

	options.strategy = strategy;
	options.max_hold_ms = max_hold_ms;
	assert_ok(rowlock_new(client, "job", &options, &lock, &err));
	return lock;
}

static bool is_free(void *arg)
{
	(void) arg;
	return fake_lease("job") == 0 && fake_row("job") == 0;
}

static void hold_ends_at_its_maximum(void **state)
{
	static const enum rowlock_strategy strategies[] = { ROWLOCK_LEASE,
							    ROWLOCK_ROW };

	for (size_t i = 0; i < TEST_SIZE(strategies); i++) {
		struct rowlock_client *client;
		struct rowlock *lock;
		struct told told = told_new();
		struct rowlock_errinfo err;

		fake_setup(state);
		client = fake_client();
		lock = lock_with_maximum(client, strategies[i], 2000);
		rowlock_on_lost(lock, note, &told);
		assert_ok(rowlock_acquire(lock, 0, &err));
		/* A tenth is kept back for clocks that differ. */
		assert_int_equal(rowlock_remaining_ms(lock), 1800);
		fake_advance(1799);
		assert_int_equal(rowlock_held(lock), 1);
		fake_advance(1);
		assert_true(test_event_wait(&told.event));
		assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
		assert_non_null(strstr(err.message, "maximum"));
		/* The session lives; so the row is removed. */
		fake_pass_until(is_free, NULL);
		assert_ok(rowlock_acquire(lock, 0, &err));
		assert_ok(rowlock_release(lock, &err));
		fake_lock_end(lock);
		fake_client_end(client);
		told_end(&told);
	}
}

static void maximum_counts_from_the_first_sending(void **state)
{
	struct rowlock_client *client = fake_client();
	struct rowlock *lock = lock_with_maximum(client, ROWLOCK_LEASE, 2000);
	struct rowlock_errinfo err;

	(void) state;
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .given = true,
						      .result = RLK_UNCLEAR,
						      .ms = 700 });
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .ms = 100 });
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_int_equal(rowlock_remaining_ms(lock), 1000);
	assert_ok(rowlock_release(lock, &err));
	fake_lock_end(lock);
	fake_client_end(client);
}

static void grant_whose_maximum_is_over_is_given_back(void **state)
{
	struct rowlock_client *client = fake_client();
	struct rowlock *lock = lock_with_maximum(client, ROWLOCK_LEASE, 2000);
	struct fake_person *bob = fake_person();
	struct rowlock_errinfo err;

	(void) state;
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .ms = 1800 });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	assert_ok(fake_pass_hear(bob, &err));
	assert_true(fake_call(FAKE_RELEASE, 0).attempt ==
		    fake_call(FAKE_ACQUIRE, 0).attempt);
	assert_true(fake_lease("job") == fake_call(FAKE_ACQUIRE, 1).attempt);
	assert_true(rowlock_remaining_ms(lock) > 1700);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
	fake_person_end(bob);
	fake_lock_end(lock);
	fake_client_end(client);
}

static void late_grant_that_cannot_be_given_back_is_removed(void **state)
{
	struct rowlock_client *client = fake_client();
	struct rowlock *lock = lock_with_maximum(client, ROWLOCK_LEASE, 2000);
	struct rowlock_errinfo err;

	(void) state;
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .ms = 1800 });
	fake_next(FAKE_RELEASE, (struct fake_answer){ .given = true,
						      .skip = true,
						      .result = RLK_PENDING });
	assert_code(rowlock_acquire(lock, ROWLOCK_FOREVER, &err),
		    ROWLOCK_ECONNECT, &err);
	assert_non_null(strstr(err.message, "no answer"));
	fake_pass_until(is_free, NULL);
	fake_lock_end(lock);
	fake_client_end(client);
}

/* --------------------------------------------------------------- break */

static void break_is_known_by_the_next_beat_and_ends_only_that_one(void **state)
{
	struct rowlock_client *client = fake_client();
	struct rowlock *a = fake_lock(client, ROWLOCK_LEASE, 0, "a");
	struct rowlock *b = fake_lock(client, ROWLOCK_LEASE, 0, "b");
	struct told told = told_new();
	struct rowlock_errinfo err;

	(void) state;
	rowlock_on_lost(a, note, &told);
	assert_ok(rowlock_acquire(a, 0, &err));
	assert_ok(rowlock_acquire(b, 0, &err));
	fake_lease_break("a");
	/* The first look fails; it is made again. */
	fake_next(FAKE_LEASES_OF,
		  (struct fake_answer){
		      .given = true, .skip = true, .result = RLK_UNKNOWN });
	assert_int_equal(rowlock_held(a), 1);
	fake_advance(10000);
	fake_await(FAKE_LEASES_OF, 1);
	fake_pass_await(FAKE_LEASES_OF, 2);
	assert_true(test_event_wait(&told.event));
	assert_int_equal(rowlock_held(a), 0);
	assert_int_equal(rowlock_held(b), 1);
	assert_code(rowlock_release(a, &err), ROWLOCK_ELOST, &err);
	assert_non_null(strstr(err.message, "broken"));
	assert_ok(rowlock_release(b, &err));
	fake_lock_end(a);
	fake_lock_end(b);
	fake_client_end(client);
	told_end(&told);
}

/* It was acquired while the look was under way, which does not show it. */
static void break_ends_no_lease_that_came_after_the_look(void **state)
{
	struct rowlock_client *client = fake_client();
	struct rowlock *a = fake_lock(client, ROWLOCK_LEASE, 0, "a");
	struct rowlock *b = fake_lock(client, ROWLOCK_LEASE, 0, "b");
	struct told told = told_new();
	struct rowlock_errinfo err;

	(void) state;
	rowlock_on_lost(a, note, &told);
	assert_ok(rowlock_acquire(a, 0, &err));
	fake_lease_break("a");
	fake_next(FAKE_LEASES_OF, (struct fake_answer){ .wait = true,
							.skip = true,
							.given = true,
							.result = RLK_DONE });
	fake_advance(10000);
	fake_await(FAKE_LEASES_OF, 1);
	assert_ok(rowlock_acquire(b, 0, &err));
	fake_let(FAKE_LEASES_OF);
	assert_true(test_event_wait(&told.event));
	assert_int_equal(rowlock_held(a), 0);
	assert_int_equal(rowlock_held(b), 1);
	assert_ok(rowlock_release(b, &err));
	assert_code(rowlock_release(a, &err), ROWLOCK_ELOST, &err);
	fake_lock_end(a);
	fake_lock_end(b);
	fake_client_end(client);
	told_end(&told);
}

static void break_while_the_grant_is_on_its_way_is_known_too(void **state)
{
	struct rowlock_client_options options = fake_options();
	struct fake_person *bob = fake_person();
	struct told told = told_new();
	struct rowlock_client *client;
	struct rowlock *a;
	struct rowlock *b;
	struct rowlock_errinfo err;

	(void) state;
	options.call_timeout_ms = 60000;
	client = fake_client_with(&options);
	a = fake_lock(client, ROWLOCK_LEASE, 0, "a");
	b = fake_lock(client, ROWLOCK_LEASE, 0, "b");
	assert_ok(rowlock_acquire(a, 0, &err));
	/* Granted, then broken, and only then do we hear of the grant: the
	 * count of breaks was seen before. */
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .wait = true,
						      .given = true,
						      .skip = true,
						      .result = RLK_GRANTED });
	fake_tell(bob, FAKE_DO_ACQUIRE, b, ROWLOCK_FOREVER);
	fake_await(FAKE_ACQUIRE, 2);
	rowlock_on_lost(a, note, &told);
	fake_lease_break("a");
	fake_advance(10000);
	assert_true(test_event_wait(&told.event));
	rowlock_on_lost(a, NULL, NULL);
	rowlock_on_lost(b, note, &told);
	fake_let(FAKE_ACQUIRE);
	assert_ok(fake_hear(bob, &err));
	assert_true(test_event_wait(&told.event));
	assert_int_equal(rowlock_held(b), 0);
	assert_code(fake_ask(bob, FAKE_DO_RELEASE, b, 0), ROWLOCK_ELOST, NULL);
	assert_code(rowlock_release(a, &err), ROWLOCK_ELOST, &err);
	fake_person_end(bob);
	fake_lock_end(a);
	fake_lock_end(b);
	fake_client_end(client);
	told_end(&told);
}

static void verify_knows_at_once(void **state)
{
	struct rowlock_client *client = fake_client();
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	struct rowlock_errinfo err;

	(void) state;
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_verify(lock, &err));
	/* No answer: nothing is known, nothing is changed. */
	fake_next(FAKE_CONFIRM, no_beat);
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ECONNECT, &err);
	assert_int_equal(rowlock_held(lock), 1);
	fake_lease_break("job");
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
	assert_int_equal(rowlock_held(lock), 0);
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
	fake_lock_end(lock);
	fake_client_end(client);
}

static void break_by_us_ends_anybodys_hold(void **state)
{
	struct rowlock_client *client = fake_client();
	struct rowlock_errinfo err;

	(void) state;
	assert_code(rowlock_break(client, ROWLOCK_LEASE, "job", &err),
		    ROWLOCK_ENOTHELD, &err);
	fake_session_add(77);
	fake_lease_add("job", 7, 77);
	assert_ok(rowlock_break(client, ROWLOCK_LEASE, "job", &err));
	assert_int_equal(fake_lease("job"), 0);
	fake_next(FAKE_END, no_beat);
	assert_code(rowlock_break(client, ROWLOCK_LEASE, "job", &err),
		    ROWLOCK_ECONNECT, &err);
	fake_client_end(client);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		FAKE("a callback runs once for a lost hold",
		     callback_runs_once_for_a_lost_hold),
		FAKE("a release calls nobody", release_calls_nobody),
		FAKE("a callback that comes late is called once",
		     callback_that_comes_late_is_called_once),
		FAKE("every handle of a hold is told",
		     every_handle_of_a_hold_is_told),
		FAKE("a callback may free its lock but not the client",
		     callback_may_free_its_lock_but_not_the_client),
		FAKE("a callback releases what its handle owns",
		     callback_releases_what_its_handle_owns),
		FAKE("free waits for a callback that is running",
		     free_waits_for_a_callback_that_is_running),
		FAKE("a callback that replaces one not yet run is told",
		     callback_that_replaces_one_not_yet_run_is_told),
		FAKE("each loss is told once however late",
		     each_loss_is_told_once_however_late),
		FAKE("a handle that waits to be told may be freed",
		     handle_that_waits_to_be_told_may_be_freed),
		FAKE("a hold ends at its maximum", hold_ends_at_its_maximum),
		FAKE("the maximum counts from the first sending",
		     maximum_counts_from_the_first_sending),
		FAKE("a grant whose maximum is over is given back",
		     grant_whose_maximum_is_over_is_given_back),
		FAKE("a late grant that cannot be given back is removed",
		     late_grant_that_cannot_be_given_back_is_removed),
		FAKE("a break is known by the next beat and ends only that one",
		     break_is_known_by_the_next_beat_and_ends_only_that_one),
		FAKE("a break ends no lease that came after the look",
		     break_ends_no_lease_that_came_after_the_look),
		FAKE("verify knows at once", verify_knows_at_once),
		FAKE("a break while the grant is on its way is known, too",
		     break_while_the_grant_is_on_its_way_is_known_too),
		FAKE("a break by us ends anybody's hold",
		     break_by_us_ends_anybodys_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
