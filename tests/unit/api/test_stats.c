/* SPDX-License-Identifier: MIT */
/*
 * The counters of a client: each by the event that makes it grow, and by others
 * that do not.
 */
#include "fake/fake.h"

#include <pthread.h>
#include <string.h>

#include "hold/handle.h"
#include "passing.h"
#include "wait/doorbell.h"

static struct rowlock_client_stats stats_of(const struct rowlock_client *client)
{
	struct rowlock_client_stats stats = { .size = sizeof(stats) };

	assert_ok(rowlock_stats(client, &stats, &err));
	return stats;
}

static uint64_t count_of(const struct rowlock_durations *durations)
{
	return durations->buckets[ROWLOCK_BUCKETS - 1].count;
}

/* How many took longer than @over_ms, up to @most_ms: a bucket's bounds. */
static uint64_t between(const struct rowlock_durations *durations,
			uint64_t over_ms, uint64_t most_ms)
{
	uint64_t count = 0;

	for (size_t i = 0; i < ROWLOCK_BUCKETS; i++) {
		if (durations->buckets[i].at_most_ms == over_ms)
			count -= durations->buckets[i].count;
		if (durations->buckets[i].at_most_ms == most_ms)
			count += durations->buckets[i].count;
	}
	return count;
}

static uint64_t losses_of(const struct rowlock_client_stats *stats)
{
	uint64_t count = 0;

	for (size_t i = 0; i < ROWLOCK_LOSSES; i++)
		count += stats->losses[i];
	return count;
}

/* ------------------------------------------------------- acquires, holds */

FAKE("a hold is counted when it begins, and timed when it ends")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct rowlock_client_stats stats;

	assert_ok(rowlock_acquire(lock, 0, &err));
	stats = stats_of(client);
	assert_int_equal(stats.acquired, 1);
	assert_int_equal(stats.holds, 1);
	assert_int_equal(stats.levels, 0);
	assert_int_equal(stats.waits, 0);
	assert_int_equal(count_of(&stats.waiting), 1);
	assert_int_equal(count_of(&stats.holding), 0);
	fake_advance(40);
	assert_ok(rowlock_release(lock, &err));
	stats = stats_of(client);
	assert_int_equal(count_of(&stats.holding), 1);
	assert_int_equal(between(&stats.holding, 10, 50), 1);
	assert_int_equal(stats.holding.sum_ms, 40);
	assert_int_equal(losses_of(&stats), 0);
}

FAKE("one level more is an acquire and no hold")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct rowlock_client_stats stats;

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_acquire(lock, 5000, &err));
	assert_ok(rowlock_release(lock, &err));
	stats = stats_of(client);
	assert_int_equal(stats.acquired, 2);
	assert_int_equal(stats.levels, 1);
	assert_int_equal(stats.holds, 1);
	assert_int_equal(count_of(&stats.holding), 0);
	assert_ok(rowlock_release(lock, &err));
	stats = stats_of(client);
	assert_int_equal(count_of(&stats.holding), 1);
}

FAKE("an acquire that is not granted is counted by its end")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_PERSON(bob);
	struct rowlock_client_stats stats;

	fake_session_add(77);
	fake_lease_add("job", 7, 77);
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_EBUSY, &err);
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, 400);
	assert_code(fake_pass_hear(bob, &err), ROWLOCK_ETIMEDOUT, &err);
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_await_line(lock, 1);
	assert_int_equal(rowlock_cancel(lock), 1);
	assert_code(fake_pass_hear(bob, &err), ROWLOCK_ECANCELED, &err);
	fake_always(FAKE_ACQUIRE,
		    (struct fake_answer){
			.given = true, .skip = true, .result = RLK_REFUSED });
	assert_true(rowlock_acquire(lock, 0, NULL) < 0);
	stats = stats_of(client);
	assert_int_equal(stats.busy, 1);
	assert_int_equal(stats.timed_out, 1);
	assert_int_equal(stats.canceled, 1);
	assert_int_equal(stats.failed, 1);
	assert_int_equal(stats.acquired, 0);
	assert_int_equal(stats.holds, 0);
	/* A try that is refused does not wait, nor does what failed. */
	assert_int_equal(count_of(&stats.waiting), 2);
	assert_int_equal(between(&stats.waiting, 100, 500), 1);
	assert_true(stats.waiting.sum_ms >= 400);
}

FAKE("a wait for another client is one, however often it asks")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_PERSON(bob);

	fake_session_add(77);
	fake_lease_add("job", 7, 77);
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, 20000);
	assert_code(fake_pass_hear(bob, &err), ROWLOCK_ETIMEDOUT, &err);
	assert_int_equal(stats_of(client).waits, 1);
	fake_lease_remove("job");
	assert_ok(fake_ask(bob, FAKE_DO_ACQUIRE, lock, 20000));
	assert_int_equal(stats_of(client).waits, 1);
	assert_ok(fake_ask(bob, FAKE_DO_RELEASE, lock, 0));
}

/* A client that has met it lately does not ask first. */
FAKE("a wait for the bell of a name that is known to be held is one")
{
	struct rowlock_client_options options = fake_options();

	options.flags ^= ROWLOCK_POLL;
	FAKE_CLIENT_AS(client, fake_client_with(&options));
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, 0, "job");
	FAKE_PERSON(bob);

	rlk_doorbell_note_busy(client, "job");
	fake_bell_take("job");
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_await_bell_line("job", 1);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 0);
	fake_creep(100);
	fake_bell_ring("job");
	assert_ok(fake_hear(bob, &err));
	assert_int_equal(stats_of(client).waits, 1);
	assert_ok(fake_ask(bob, FAKE_DO_RELEASE, lock, 0));
	/* The line was empty. */
	rlk_doorbell_note_busy(client, "job");
	assert_ok(fake_ask(bob, FAKE_DO_ACQUIRE, lock, 5000));
	assert_int_equal(stats_of(client).waits, 1);
	assert_ok(fake_ask(bob, FAKE_DO_RELEASE, lock, 0));
}

FAKE("a slice in the queue of a row is a wait")
{
	FAKE_JOB(ROWLOCK_ROW, 0);

	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .given = true,
						      .skip = true,
						      .result = RLK_WAITED });
	assert_ok(rowlock_acquire(lock, 5000, &err));
	assert_int_equal(stats_of(client).waits, 1);
	assert_ok(rowlock_release(lock, &err));
}

FAKE("a hold that is handed over is another hold")
{
	_cleanup_(scene_end) struct scene s = scene(ROWLOCK_LEASE);
	struct rowlock_client_stats stats;

	fake_creep(20);
	release_to_bob(&s);
	stats = stats_of(s.client);
	assert_int_equal(stats.waits, 1);
	assert_int_equal(stats.handed_over, 1);
	assert_int_equal(stats.holds, 2);
	assert_int_equal(count_of(&stats.holding), 1);
	assert_int_equal(between(&stats.waiting, 10, 50), 1);
	fake_creep(3);
	bob_releases(&s);
	stats = stats_of(s.client);
	assert_int_equal(count_of(&stats.holding), 2);
	assert_int_equal(between(&stats.holding, 10, 50), 1);
	assert_int_equal(between(&stats.holding, 2, 5), 1);
	assert_int_equal(stats.holding.sum_ms, 23);
}

FAKE("readers that share a row share a hold")
{
	struct rlk_strategy strategy = *rlk_strategy(ROWLOCK_LEASE);
	const struct rowlock_options options = { .size = sizeof(options),
						 .flags =
						     ROWLOCK_OWNER_HANDLE };
	FAKE_CLIENT();
	struct rowlock *readers[2];
	struct rowlock_client_stats stats;

	strategy.many = strategy.shared = true;
	for (int i = 0; i < 2; i++) {
		assert_ok(rlk_lock_make(client, "job", &strategy, &options,
					&readers[i], &err));
		assert_ok(rowlock_acquire(readers[i], 0, &err));
	}
	assert_ok(rowlock_release(readers[0], &err));
	stats = stats_of(client);
	assert_int_equal(stats.acquired, 2);
	assert_int_equal(stats.levels, 1);
	assert_int_equal(stats.holds, 1);
	assert_int_equal(count_of(&stats.holding), 0);
	assert_ok(rowlock_release(readers[1], &err));
	stats = stats_of(client);
	assert_int_equal(count_of(&stats.holding), 1);
	fake_lock_end(readers[0]);
	fake_lock_end(readers[1]);
}

/* --------------------------------------------------------------- losses */

FAKE("each reason has a counter, and the text of the loss")
{
	FAKE_JOB(ROWLOCK_LEASE, ROWLOCK_NOT_REENTRANT);

	for (int i = ROWLOCK_LOSS_EVICTED; i <= ROWLOCK_LOSS_ADOPTED; i++) {
		struct rowlock_client_stats stats;

		fake_lease_remove("job");
		assert_ok(rowlock_acquire(lock, 0, &err));
		fake_creep(3);
		rlk_hold_lose(lock->hold, rowlock_loss_text(i));
		assert_string_equal(rowlock_lost_reason(lock),
				    rowlock_loss_text(i));
		assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
		stats = stats_of(client);
		assert_int_equal(stats.losses[i], 1);
		assert_int_equal(losses_of(&stats), (uint64_t) i);
		assert_int_equal(count_of(&stats.holding), (uint64_t) i);
		assert_int_equal(stats.holding.sum_ms, 3 * (uint64_t) i);
	}
	assert_non_null(rowlock_loss_text(ROWLOCK_LOSS_OTHER));
	assert_null(rowlock_loss_text(ROWLOCK_LOSS_ADOPTED + 1));
	assert_null(rowlock_loss_text(-1));
}

static bool is_late(void *arg)
{
	return rowlock_lost_reason(arg) != NULL;
}

FAKE("a silence is one loss, whatever the last heartbeat met")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct rowlock_client_stats stats;

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_always(FAKE_BEAT, (struct fake_answer){ .given = true,
						     .result = RLK_UNKNOWN });
	fake_advance(10000);
	fake_until(is_late, lock);
	assert_non_null(strstr(rowlock_lost_reason(lock), "the last: "));
	fake_advance(17000);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	stats = stats_of(client);
	assert_int_equal(stats.losses[ROWLOCK_LOSS_SILENCE], 1);
	assert_int_equal(losses_of(&stats), 1);
	assert_int_equal(stats.holding.sum_ms, 27000);
}

FAKE("a loss that the release finds is one")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_LOCK(row, client, ROWLOCK_ROW, 0, "row");
	struct rowlock_client_stats stats;

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_lease_remove("job");
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	assert_ok(rowlock_acquire(row, 0, &err));
	fake_next(FAKE_RELEASE,
		  (struct fake_answer){ .given = true, .result = RLK_UNKNOWN });
	assert_code(rowlock_release(row, &err), ROWLOCK_ELOST, &err);
	stats = stats_of(client);
	assert_int_equal(stats.losses[ROWLOCK_LOSS_GONE], 1);
	assert_int_equal(stats.losses[ROWLOCK_LOSS_CUT], 1);
	assert_int_equal(losses_of(&stats), 2);
	assert_int_equal(count_of(&stats.holding), 2);
}

FAKE("a hold that may be gone is lost once")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct rowlock_client_stats stats;

	assert_ok(rowlock_acquire(lock, 0, &err));
	rlk_mutex_lock(&client->mutex);
	rlk_hold_doubt_locked(lock->hold);
	rlk_hold_lose_locked(lock->hold, RLK_ROW_IS_GONE);
	rlk_mutex_unlock(&client->mutex);
	assert_true(rowlock_release(lock, NULL) < 0);
	stats = stats_of(client);
	assert_int_equal(stats.losses[ROWLOCK_LOSS_UNKNOWN], 1);
	assert_int_equal(losses_of(&stats), 1);
	assert_int_equal(count_of(&stats.holding), 1);
}

/* ------------------------------------------------------------- evictions */

FAKE("sessions that a waiter or a reaper evicts are counted")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	fake_session_add(77);
	fake_lease_add("job", 7, 77);
	fake_session_expire(77);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_int_equal(stats_of(client).evicted, 1);
	for (uint64_t id = 78; id < 81; id++) {
		fake_session_add(id);
		fake_session_expire(id);
	}
	assert_ok(rowlock_reap(client, NULL, NULL, &err));
	assert_int_equal(stats_of(client).evicted, 4);
	assert_ok(rowlock_release(lock, &err));
}

static void *reap(void *client)
{
	return (void *) (intptr_t) rowlock_reap(client, NULL, NULL, NULL);
}

FAKE("of sessions that others evict as well only ours are counted")
{
	FAKE_CLIENT();
	pthread_t thread;
	void *code;

	for (uint64_t id = 78; id < 81; id++) {
		fake_session_add(id);
		fake_session_expire(id);
	}
	fake_next(FAKE_EVICT_MANY, (struct fake_answer){ .wait = true });
	assert_int_equal(pthread_create(&thread, NULL, reap, client), 0);
	fake_await(FAKE_EVICT_MANY, 1);
	fake_session_remove(79);
	fake_let(FAKE_EVICT_MANY);
	pthread_join(thread, &code);
	assert_null(code);
	assert_int_equal(stats_of(client).evicted, 2);
}

/* ----------------------------------------------------------- the reader */

FAKE("a duration is in the bucket whose bound it does not pass")
{
	static const int64_t took_ms[] = { -1,  0,   1,        2,       3,
					   500, 501, 86400000, 86400001 };
	struct rlk_durations durations = { .sum_ms = 0 };
	struct rlk_stats stats = { .acquired = 0 };
	struct rowlock_client_stats read = { .size = sizeof(read) };

	for (size_t i = 0; i < TEST_SIZE(took_ms); i++)
		rlk_durations_add(&durations, took_ms[i]);
	for (size_t i = 0; i < ROWLOCK_BUCKETS; i++)
		stats.waiting.counts[i] = durations.counts[i];
	stats.waiting.sum_ms = durations.sum_ms;
	rlk_stats_read(&stats, &read);
	assert_int_equal(read.waiting.buckets[0].count, 3);
	assert_int_equal(between(&read.waiting, 1, 2), 1);
	assert_int_equal(between(&read.waiting, 2, 5), 1);
	assert_int_equal(between(&read.waiting, 100, 500), 1);
	assert_int_equal(between(&read.waiting, 500, 1000), 1);
	assert_int_equal(between(&read.waiting, 3600000, 86400000), 1);
	assert_int_equal(between(&read.waiting, 86400000, UINT64_MAX), 1);
	assert_int_equal(count_of(&read.waiting), 9);
	assert_int_equal(read.waiting.sum_ms, 172801008);
}

FAKE("a struct of an earlier version gets what it has room for")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct {
		size_t size;
		uint64_t acquired, busy;
		uint64_t behind;
	} older = { offsetof(struct rowlock_client_stats, timed_out), 7, 7, 7 };
	struct rowlock_client_stats stats = { .size = 3 };

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_stats(client, (void *) &older, &err));
	assert_int_equal(older.acquired, 1);
	assert_int_equal(older.busy, 0);
	assert_int_equal(older.behind, 7);
	assert_code(rowlock_stats(client, &stats, &err), ROWLOCK_EINVAL, &err);
	assert_code(rowlock_stats(client, NULL, &err), ROWLOCK_EINVAL, &err);
	assert_code(rowlock_stats(NULL, &stats, &err), ROWLOCK_EINVAL, &err);
	assert_ok(rowlock_release(lock, &err));
}

/* ------------------------------------------------------------- threads */

#define THREADS 8
#define PAIRS 200

struct worker {
	struct rowlock *own;
	struct rowlock *common;
	pthread_t thread;
};

static void *work(void *arg)
{
	struct worker *worker = arg;
	uintptr_t failed = 0;

	for (int i = 0; i < PAIRS; i++) {
		failed += rowlock_acquire(worker->own, 0, NULL) != 0;
		failed +=
		    rowlock_acquire(worker->common, ROWLOCK_FOREVER, NULL) != 0;
		failed += rowlock_release(worker->common, NULL) != 0;
		failed += rowlock_release(worker->own, NULL) != 0;
	}
	return (void *) failed;
}

static void begin_work(struct rowlock_client *client, struct worker *workers)
{
	char name[16];

	for (int i = 0; i < THREADS; i++) {
		snprintf(name, sizeof(name), "own-%d", i);
		workers[i].own = fake_lock(client, ROWLOCK_LEASE, 0, name);
		workers[i].common = fake_lock(client, ROWLOCK_LEASE, 0, "job");
		assert_int_equal(
		    pthread_create(&workers[i].thread, NULL, work, &workers[i]),
		    0);
	}
}

FAKE("of many threads each acquire and each hold is counted once")
{
	FAKE_CLIENT();
	struct worker workers[THREADS];
	struct rowlock_client_stats stats = { .size = sizeof(stats) };
	uint64_t before = 0;

	begin_work(client, workers);
	/* Read meanwhile: no number becomes less, and none is held twice. */
	while (before < PAIRS) {
		stats = stats_of(client);
		assert_true(stats.acquired >= before);
		assert_true(stats.holds >= count_of(&stats.holding));
		before = stats.acquired;
	}
	for (int i = 0; i < THREADS; i++) {
		void *failed;

		pthread_join(workers[i].thread, &failed);
		assert_null(failed);
	}
	stats = stats_of(client);
	assert_int_equal(stats.acquired, 2 * THREADS * PAIRS);
	assert_int_equal(stats.holds, 2 * THREADS * PAIRS);
	assert_int_equal(count_of(&stats.waiting), 2 * THREADS * PAIRS);
	assert_int_equal(count_of(&stats.holding), 2 * THREADS * PAIRS);
	for (int i = 0; i < THREADS; i++) {
		fake_lock_end(workers[i].own);
		fake_lock_end(workers[i].common);
	}
}

CASE_MAIN(case_main)
