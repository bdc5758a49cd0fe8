/* SPDX-License-Identifier: MIT */
/* Lost holds: who is told, how often, and what the callback may do. */
#include "fake/fake.h"

#include <stdatomic.h>
#include <string.h>

#include "hold/handle.h"
#include "test.h"
#include "wait/line.h"

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
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, 0, "flush");
	_cleanup_(told_end) struct told told = told_new();

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_lease_remove("flush");
	rowlock_on_lost(lock, note, &told);
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
	assert_event(&told.event, "the lost callback: it has run %u times",
		     told.count);
}

FAKE("a callback runs once for a lost hold")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	_cleanup_(told_end) struct told told = told_new();

	rowlock_on_lost(lock, note, &told);
	fake_always(FAKE_BEAT, no_beat);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	/* Nobody calls anything; the client does it by itself. */
	fake_advance(27000);
	assert_event(&told.event, "the lost callback: it has run %u times",
		     told.count);
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
	assert_event(&told.event, "the lost callback: it has run %u times",
		     told.count);
	assert_int_equal(told.count, 2);
}

FAKE("a release calls nobody")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	_cleanup_(told_end) struct told told = told_new();

	rowlock_on_lost(lock, note, &told);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_release(lock, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	/* Its row is gone, but it is the caller who learns that. */
	fake_lease_remove("job");
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	flush(client);
	assert_int_equal(told.count, 0);
}

/* Both ends of the return: before, the caller may never see the hold. */
FAKE("a loss is told when its acquire returns")
{
	FAKE_JOB(ROWLOCK_LEASE, ROWLOCK_TOKEN_WITH_GRANT);
	_cleanup_(told_end) struct told told = told_new();
	uint64_t token;

	rowlock_on_lost(lock, note, &told);
	assert_ok(rlk_acquire(lock, 0, &err));
	assert_int_equal(rowlock_held(lock), 0);
	assert_int_equal(rowlock_depth(lock), 0);
	assert_int_equal(rowlock_remaining_ms(lock), 0);
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ENOTHELD, &err);
	assert_code(rowlock_token(lock, &token, &err), ROWLOCK_ENOTHELD, &err);
	fake_lease_remove("job");
	rlk_hold_lose(lock->hold, RLK_ROW_IS_GONE);
	flush(client);
	assert_int_equal(told.count, 0);
	rlk_mutex_lock(&client->mutex);
	rlk_lock_show_locked(lock);
	rlk_mutex_unlock(&client->mutex);
	assert_event(&told.event, "the lost callback: it has run %u times",
		     told.count);
	flush(client);
	assert_int_equal(told.count, 1);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
}

FAKE("a callback that comes late is called once")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	_cleanup_(told_end) struct told told = told_new();

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_lease_remove("job");
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
	rowlock_on_lost(lock, note, &told);
	assert_event(&told.event, "the lost callback: it has run %u times",
		     told.count);
	rowlock_on_lost(lock, note, &told);
	flush(client);
	assert_int_equal(told.count, 1);
}

FAKE("every handle of a hold is told")
{
	struct rowlock_client *client = fake_client();
	struct rowlock *a =
	    fake_lock(client, ROWLOCK_LEASE, ROWLOCK_OWNER_THREAD, "job");
	struct rowlock *b =
	    fake_lock(client, ROWLOCK_LEASE, ROWLOCK_OWNER_THREAD, "job");
	struct rowlock *c =
	    fake_lock(client, ROWLOCK_LEASE, ROWLOCK_OWNER_THREAD, "job");
	struct told told[3] = { told_new(), told_new(), told_new() };

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
	struct rowlock_client *client = lock->name->client;
	struct told *told = arg;

	/* Owned by a thread: it is not ours to release. */
	if (rowlock_release(lock, NULL) == ROWLOCK_ENOTOWNER)
		told->count++;
	rowlock_on_lost(lock, NULL, NULL);
	told->code = rowlock_client_try_free(client, NULL);
	if (rowlock_try_free(lock, NULL) == 0)
		told->count++;
	test_event_set(&told->event);
}

FAKE("a callback may free its lock but not the client")
{
	FAKE_CLIENT();
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	_cleanup_(told_end) struct told told = told_new();

	rowlock_on_lost(lock, use_and_free, &told);
	assert_ok(rowlock_acquire(lock, 0, &err));
	/* No call of ours is under way then. */
	fake_always(FAKE_BEAT, no_beat);
	fake_advance(27000);
	assert_event(&told.event, "the lost callback: it has run %u times",
		     told.count);
	assert_int_equal(told.count, 2);
	assert_code(told.code, ROWLOCK_EHELD, NULL);
}

static void free_all(struct rowlock *lock, void *arg)
{
	struct rowlock_client *client = lock->name->client;
	struct told *told = arg;

	if (rowlock_release(lock, NULL) == ROWLOCK_ELOST)
		told->count++;
	if (rowlock_try_free(lock, NULL) == 0)
		told->count++;
	told->code = rowlock_client_try_free(client, NULL);
	test_event_set(&told->event);
}

FAKE("a callback releases what its handle owns")
{
	FAKE_CLIENT();
	struct rowlock *lock =
	    fake_lock(client, ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE, "job");
	_cleanup_(told_end) struct told told = told_new();

	rowlock_on_lost(lock, free_all, &told);
	assert_ok(rowlock_acquire(lock, 0, &err));
	/* No call of ours is under way then. */
	fake_always(FAKE_BEAT, no_beat);
	fake_advance(27000);
	assert_event(&told.event, "the lost callback: it has run %u times",
		     told.count);
	assert_int_equal(told.count, 2);
	assert_code(told.code, ROWLOCK_EINVAL, NULL);
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

FAKE("free waits for a callback that is running")
{
	FAKE_CLIENT();
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	_cleanup_(told_end) struct told told = told_new();

	told.other = fake_person();
	rowlock_on_lost(lock, linger, &told);
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_lease_remove("job");
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
	assert_event(&told.event, "the lost callback: it has run %u times",
		     told.count);
	fake_tell(told.other, FAKE_DO_FREE, lock, 0);
	fake_until(sleeps_or_has_ended, told.other);
	test_event_set(&told.ended);
	assert_ok(fake_hear(told.other, &err));
	assert_true(told.others_waits);
	fake_person_end(told.other);
}

FAKE("a callback that replaces one not yet run is told")
{
	FAKE_CLIENT();
	FAKE_LOCK(busy, client, ROWLOCK_LEASE, 0, "busy");
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, 0, "job");
	struct told first = told_new();
	struct told old = told_new();
	struct told new = told_new();

	/* The notifier is busy with another's. */
	first.other = fake_person();
	rowlock_on_lost(busy, linger, &first);
	rowlock_on_lost(lock, note, &old);
	assert_ok(rowlock_acquire(busy, 0, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_lease_remove("busy");
	fake_lease_remove("job");
	assert_code(rowlock_verify(busy, &err), ROWLOCK_ELOST, &err);
	assert_event(&first.event, "the lost callback of 'busy'");
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
	rowlock_on_lost(lock, note, &new);
	test_event_set(&first.ended);
	flush(client);
	assert_int_equal(old.count, 0);
	assert_int_equal(new.count, 1);
	fake_person_end(first.other);
	told_end(&first);
	told_end(&old);
	told_end(&new);
}

/* Acquire, and lose it at once. */
static void lose(struct rowlock *lock, const char *name)
{
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_lease_remove(name);
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
}

/* While the notifier is in another's callback, two holds of one handle are
 * lost, with a third one's between them. */
FAKE("each loss is told once however late")
{
	FAKE_CLIENT();
	FAKE_LOCK(busy, client, ROWLOCK_LEASE, 0, "busy");
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, 0, "job");
	FAKE_LOCK(third, client, ROWLOCK_LEASE, 0, "third");
	struct told first = told_new();
	struct told twice = told_new();
	struct told once = told_new();

	first.other = fake_person();
	rowlock_on_lost(busy, linger, &first);
	rowlock_on_lost(lock, note, &twice);
	rowlock_on_lost(third, note, &once);
	lose(busy, "busy");
	assert_event(&first.event, "the lost callback of 'busy'");
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
	told_end(&first);
	told_end(&twice);
	told_end(&once);
}

FAKE("a handle that waits to be told may be freed")
{
	FAKE_CLIENT();
	FAKE_LOCK(busy, client, ROWLOCK_LEASE, 0, "busy");
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	struct told first = told_new();
	struct told told = told_new();

	first.other = fake_person();
	rowlock_on_lost(busy, linger, &first);
	rowlock_on_lost(lock, note, &told);
	lose(busy, "busy");
	assert_event(&first.event, "the lost callback of 'busy'");
	lose(lock, "job");
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	fake_lock_end(lock);
	test_event_set(&first.ended);
	flush(client);
	assert_int_equal(told.count, 0);
	fake_person_end(first.other);
	told_end(&first);
	told_end(&told);
}

CASE_MAIN(case_main)
