/* SPDX-License-Identifier: MIT */
/*
 * Runs that succeed once per window.
 */
#include <rowlock/admin.h>
#include <rowlock/adoption.h>
#include <rowlock/once.h>

#include "fake/fake.h"

#include <string.h>

#include "core/client.h"
#include "hold/handle.h"
#include "test.h"

#define DAY_US 86400000000ll

static const struct fake_answer lost_after = { .given = true,
					       .result = RLK_UNKNOWN };
static const struct fake_answer lost_before = { .given = true,
						.skip = true,
						.result = RLK_UNKNOWN };
static const struct fake_answer refused = {
	.given = true, .skip = true, .result = RLK_REFUSED, .code = ROWLOCK_EDB
};

static struct rowlock_run day(void)
{
	return (struct rowlock_run){ .size = sizeof(struct rowlock_run),
				     .until_us = DAY_US };
}

static int work(struct rowlock *lock, void *arg)
{
	assert_true(rowlock_held(lock));
	++*(int *) arg;
	return *(int *) arg == 1 ? 5 : 0;
}

FAKE("what was exported begins and ends no run")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct rowlock_run run = day();
	char text[ROWLOCK_EXPORT_SIZE];

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_once_begin(lock, &run, &err));
	assert_ok(rowlock_export(lock, text, sizeof(text), &err));
	assert_code(
	    rowlock_once_end(lock, &run, 0, ROWLOCK_ONCE_SUCCEEDED, &err),
	    ROWLOCK_ENOTHELD, &err);
	assert_code(rowlock_once_begin(lock, &run, &err), ROWLOCK_ENOTHELD,
		    &err);
	assert_false(fake_job.succeeded);
	assert_true(fake_lease("job") != 0);
	assert_ok(rowlock_release(lock, &err));
}

FAKE("a success gives the lease back, and ends the window")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct rowlock_run run = day();

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_once_begin(lock, &run, &err));
	assert_true(run.attempt == fake_lease("job"));
	assert_ok(rowlock_once_end(lock, &run, 3, 1, &err));
	assert_true(fake_job.succeeded);
	assert_int_equal(fake_job.code, 3);
	assert_false(rowlock_held(lock));
	assert_true(fake_lease("job") == 0);
	/* The end has deleted the row. */
	assert_int_equal(fake_count(FAKE_RELEASE), 0);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_code(rowlock_once_begin(lock, &run, &err), ROWLOCK_EDONE, &err);
	assert_true(rowlock_held(lock));
	assert_ok(rowlock_release(lock, &err));
	assert_int_equal(fake_job.runs, 1);
}

FAKE("a failure lets another run begin, up to the most")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct rowlock_run run = day();

	assert_ok(rowlock_acquire(lock, 0, &err));
	run.most = 2;
	for (int i = 0; i < 2; i++) {
		assert_ok(rowlock_once_begin(lock, &run, &err));
		assert_ok(rowlock_once_end(lock, &run, 7, 0, &err));
		assert_int_equal(fake_job.code, 7);
		assert_false(rowlock_held(lock));
		assert_ok(rowlock_acquire(lock, 0, &err));
	}
	assert_false(fake_job.succeeded);
	assert_code(rowlock_once_begin(lock, &run, &err), ROWLOCK_EOVER, &err);
	assert_ok(rowlock_release(lock, &err));
}

/* The session of @call has the lease's row locked in the server, until it is
 * ended there. */
static void await_end_of(struct fake_call call, unsigned int number)
{
	fake_await(FAKE_FENCE, number + 1);
	assert_true(fake_call(FAKE_FENCE, number).id == call.conn);
}

FAKE("an end without an answer is sent again")
{
	for (unsigned int i = 0; i < 2; i++) {
		FAKE_JOB(ROWLOCK_LEASE, 0);
		struct rowlock_run run = day();

		assert_ok(rowlock_acquire(lock, 0, &err));
		memset(&fake_job, 0, sizeof(fake_job));
		assert_ok(rowlock_once_begin(lock, &run, &err));
		fake_next(FAKE_JOB_SUCCEED, i ? lost_after : lost_before);
		assert_ok(rowlock_once_end(lock, &run, 0, 1, &err));
		assert_true(fake_job.succeeded);
		await_end_of(fake_call(FAKE_JOB_SUCCEED, 2 * i), i);
	}
}

FAKE("a claim without an answer is one run")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct rowlock_run run = day();

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_next(FAKE_JOB_CLAIM, lost_after);
	assert_ok(rowlock_once_begin(lock, &run, &err));
	assert_int_equal(fake_count(FAKE_JOB_CLAIM), 2);
	assert_int_equal(fake_job.runs, 1);
	await_end_of(fake_call(FAKE_JOB_CLAIM, 0), 0);
	assert_ok(rowlock_once_end(lock, &run, 0, 1, &err));
}

FAKE("an end that stays unknown is read by the next call")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct rowlock_run run = day();
	const struct fake_answer late = { .given = true,
					  .result = RLK_UNKNOWN,
					  .ms = 11000 };

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_once_begin(lock, &run, &err));
	fake_next(FAKE_JOB_SUCCEED, late);
	assert_code(rowlock_once_end(lock, &run, 0, 1, &err), ROWLOCK_EUNKNOWN,
		    &err);
	assert_ok(rowlock_once_end(lock, &run, 0, 1, &err));
	assert_true(fake_job.succeeded);
	assert_int_equal(fake_count(FAKE_RELEASE), 0);
}

/* Longer than a call, and over before the next beat is due: after that the
 * looks leave it out, and its release is unsure. */
static const struct fake_answer unknown_then_late = { .given = true,
						      .result = RLK_UNKNOWN,
						      .creep_ms = 6000 };
static const struct fake_answer never_sent = {
	.given = true, .skip = true, .result = RLK_UNKNOWN, .creep_ms = 6000
};

/* Its lease may be another's by then. */
static void end_unknown(struct rowlock *lock, struct rowlock_run *run,
			struct fake_answer answer)
{
	assert_ok(rowlock_once_begin(lock, run, &err));
	fake_next(FAKE_JOB_SUCCEED, answer);
	assert_code(rowlock_once_end(lock, run, 0, 1, &err), ROWLOCK_EUNKNOWN,
		    &err);
	assert_non_null(strstr(err.message, "job_run"));
	assert_false(rowlock_held(lock));
	assert_int_equal(rowlock_remaining_ms(lock), 0);
	assert_true(rowlock_attempt(lock) == 0);
	assert_non_null(rowlock_lost_reason(lock));
}

FAKE("a lock that an unknown end may have given back is not held")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct rowlock_run run = day();
	uint64_t token = 0;

	assert_ok(rowlock_acquire(lock, 0, &err));
	end_unknown(lock, &run, unknown_then_late);
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
	assert_code(rowlock_token(lock, &token, &err), ROWLOCK_ELOST, &err);
	assert_code(rowlock_try_free(lock, &err), ROWLOCK_EHELD, &err);
	/* Nobody else has removed its row: nothing was lost. */
	assert_true(fake_lease("job") == 0);
	assert_ok(rowlock_release(lock, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	memset(&fake_job, 0, sizeof(fake_job));
	end_unknown(lock, &run, never_sent);
	fake_lease_break("job");
	assert_code(rowlock_release(lock, &err), ROWLOCK_EUNKNOWN, &err);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ENOTHELD, &err);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_true(rowlock_held(lock));
	assert_ok(rowlock_release(lock, &err));
}

FAKE("a release after an unknown end finds the lease that is there")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct rowlock_run run = day();

	assert_ok(rowlock_acquire(lock, 0, &err));
	end_unknown(lock, &run, never_sent);
	assert_true(fake_lease("job") != 0);
	assert_ok(rowlock_release(lock, &err));
	assert_true(fake_lease("job") == 0);
}

FAKE("an acquire after an unknown end is no level of what may be gone")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_LOCK(other, client, ROWLOCK_LEASE, 0, "job");
	struct rowlock_run run = day();

	assert_ok(rowlock_acquire(lock, 0, &err));
	end_unknown(lock, &run, never_sent);
	assert_code(rowlock_acquire(other, 0, &err), ROWLOCK_EBUSY, &err);
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_ELOST, &err);
	fake_await(FAKE_RELEASE, 1);
	assert_ok(rowlock_acquire(lock, ROWLOCK_FOREVER, &err));
	assert_ok(rowlock_release(lock, &err));
}

FAKE("one that waits for what may be gone is told so, and not of others")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_LOCK(other, client, ROWLOCK_LEASE, 0, "job");
	FAKE_PERSON(bob);
	struct rowlock_run run = day();

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_code(fake_ask(bob, FAKE_DO_ACQUIRE, other, 0), ROWLOCK_EBUSY,
		    &err);
	end_unknown(lock, &run, never_sent);
	fake_tell(bob, FAKE_DO_ACQUIRE, other, 0);
	assert_code(fake_hear(bob, &err), ROWLOCK_EBUSY, &err);
	assert_non_null(strstr(err.message, "given it back is not known"));
	fake_tell(bob, FAKE_DO_ACQUIRE, other, 500);
	fake_await_line(lock, 1);
	fake_advance(500);
	assert_code(fake_hear(bob, &err), ROWLOCK_ETIMEDOUT, &err);
	assert_non_null(strstr(err.message, "given it back is not known"));
	assert_code(rowlock_acquire(other, 500, &err), ROWLOCK_EDEADLOCK, &err);
	assert_non_null(strstr(err.message, "given it back is not known"));
	assert_ok(rowlock_release(lock, &err));
}

FAKE("one that waits for another's release is told so")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_LOCK(other, client, ROWLOCK_LEASE, 0, "job");
	FAKE_PERSON(bob);

	assert_ok(fake_ask(bob, FAKE_DO_ACQUIRE, lock, 0));
	fake_next(FAKE_RELEASE, (struct fake_answer){ .wait = true });
	fake_tell(bob, FAKE_DO_RELEASE, lock, 0);
	fake_await(FAKE_RELEASE, 1);
	assert_code(rowlock_acquire(other, 0, &err), ROWLOCK_EBUSY, &err);
	assert_non_null(
	    strstr(err.message, "gives it back, and has no answer"));
	fake_let(FAKE_RELEASE);
	assert_ok(fake_hear(bob, &err));
}

FAKE("an unknown end is told as a loss, once")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct rowlock_run run = day();
	_Atomic int losses = 0;

	assert_ok(rowlock_acquire(lock, 0, &err));
	rowlock_on_lost(lock, fake_count_loss, &losses);
	end_unknown(lock, &run, never_sent);
	fake_until(fake_is_one, &losses);
	assert_ok(rowlock_once_end(lock, &run, 0, 1, &err));
	assert_true(fake_job.succeeded);
	rowlock_on_lost(lock, NULL, NULL);
	assert_int_equal(losses, 1);
}

/* Another lease of the session may have been broken. */
static void look_for_breaks(struct rowlock *lock)
{
	struct rowlock_client *client = lock->name->client;
	const unsigned int looks = fake_count(FAKE_LEASES_OF);

	rlk_mutex_lock(&client->mutex);
	client->look_breaks = true;
	rlk_mutex_unlock(&client->mutex);
	rlk_sleeper_wake(&client->chores_sleeper);
	fake_await(FAKE_LEASES_OF, looks + 1);
}

struct ending {
	struct rowlock *lock;
	struct rowlock_run *run;
	int code;
};

static void *end_it(void *arg)
{
	struct ending *ending = arg;

	ending->code = rowlock_once_end(ending->lock, ending->run, 0, 1, NULL);
	return NULL;
}

/* The look is over, and did not judge all. */
static bool look_is_due_again(void *arg)
{
	struct rowlock *lock = arg;
	struct rowlock_client *client = lock->name->client;
	bool due;

	rlk_mutex_lock(&client->mutex);
	due = client->look_breaks;
	rlk_mutex_unlock(&client->mutex);
	return due || !rowlock_held(lock);
}

/* The server has executed it, and its answer is on the way. */
FAKE("an end that gives the lease back is no loss")
{
	FAKE_JOB(ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE);
	struct rowlock_run run = day();
	struct ending ending = { lock, &run, 0 };
	_Atomic int losses = 0;
	pthread_t thread;

	assert_ok(rowlock_acquire(lock, 0, &err));
	rowlock_on_lost(lock, fake_count_loss, &losses);
	assert_ok(rowlock_once_begin(lock, &run, &err));
	fake_next(FAKE_JOB_SUCCEED, lost_after);
	fake_next(FAKE_JOB_SUCCEED, (struct fake_answer){ .wait = true });
	assert_int_equal(pthread_create(&thread, NULL, end_it, &ending), 0);
	fake_pass_await(FAKE_JOB_SUCCEED, 2);
	assert_true(fake_lease("job") == 0);
	look_for_breaks(lock);
	fake_until(look_is_due_again, lock);
	assert_true(rowlock_held(lock));
	fake_let(FAKE_JOB_SUCCEED);
	pthread_join(thread, NULL);
	assert_int_equal(ending.code, 0);
	rowlock_on_lost(lock, NULL, NULL);
	assert_int_equal(losses, 0);
}

static bool is_not_held(void *lock)
{
	return !rowlock_held(lock);
}

FAKE("a lease that is broken while its end fails is lost")
{
	FAKE_JOB(ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE);
	struct rowlock_run run = day();
	struct ending ending = { lock, &run, 0 };
	pthread_t thread;

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_once_begin(lock, &run, &err));
	fake_next(FAKE_JOB_SUCCEED,
		  (struct fake_answer){ .wait = true,
					.given = true,
					.skip = true,
					.result = RLK_REFUSED });
	assert_int_equal(pthread_create(&thread, NULL, end_it, &ending), 0);
	fake_await(FAKE_JOB_SUCCEED, 1);
	fake_lease_remove("job");
	look_for_breaks(lock);
	fake_until(look_is_due_again, lock);
	fake_let(FAKE_JOB_SUCCEED);
	pthread_join(thread, NULL);
	assert_int_equal(ending.code, ROWLOCK_EDB);
	fake_pass_until(is_not_held, lock);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
}

FAKE("a lost lease notes nothing")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct rowlock_run run = day();

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_once_begin(lock, &run, &err));
	fake_lease_remove("job");
	assert_code(rowlock_once_end(lock, &run, 0, 1, &err), ROWLOCK_ELOST,
		    &err);
	assert_false(fake_job.succeeded);
	assert_false(rowlock_held(lock));
	/* Nor does the run of an earlier hold. */
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_code(rowlock_once_end(lock, &run, 0, 1, &err), ROWLOCK_ELOST,
		    &err);
	assert_false(fake_job.succeeded);
	/* The later hold stays. */
	assert_ok(rowlock_release(lock, &err));
}

FAKE("a lost lease begins nothing")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct rowlock_run run = day();

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_lease_remove("job");
	assert_code(rowlock_once_begin(lock, &run, &err), ROWLOCK_ELOST, &err);
	assert_int_equal(fake_job.runs, 0);
}

FAKE("what the server refuses is not noted, and the lock is held")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct rowlock_run run = day();

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_job.away = true;
	assert_code(rowlock_once_begin(lock, &run, &err), ROWLOCK_EOVER, &err);
	fake_job.away = false;
	fake_next(FAKE_JOB_CLAIM, refused);
	assert_code(rowlock_once_begin(lock, &run, &err), ROWLOCK_EDB, &err);
	assert_true(rowlock_held(lock));
	assert_ok(rowlock_once_begin(lock, &run, &err));
	fake_next(FAKE_JOB_SUCCEED, refused);
	assert_code(rowlock_once_end(lock, &run, 0, 1, &err), ROWLOCK_EDB,
		    &err);
	assert_false(fake_job.succeeded);
	assert_true(rowlock_held(lock));
	assert_ok(rowlock_once_end(lock, &run, 0, 1, &err));
	assert_true(fake_job.succeeded);
}

/* The answer to the first end is lost, and then there is no way to the server:
 * "it is not noted" would be a lie. */
FAKE("an end that was unknown stays so")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct rowlock_run run = day();

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_once_begin(lock, &run, &err));
	fake_next(FAKE_JOB_SUCCEED, (struct fake_answer){ .given = true,
							  .result = RLK_UNKNOWN,
							  .ms = 11000 });
	assert_code(rowlock_once_end(lock, &run, 0, 1, &err), ROWLOCK_EUNKNOWN,
		    &err);
	fake_next(FAKE_JOB_SUCCEED, refused);
	assert_code(rowlock_once_end(lock, &run, 0, 1, &err), ROWLOCK_EUNKNOWN,
		    &err);
	assert_ok(rowlock_once_end(lock, &run, 0, 1, &err));
	assert_true(fake_job.succeeded);
}

FAKE("a run that is claimed when its hold is over is undone")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct rowlock_run run = day();

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_next(FAKE_JOB_CLAIM,
		  (struct fake_answer){ .given = true, .ms = 30000 });
	assert_code(rowlock_once_begin(lock, &run, &err), ROWLOCK_ELOST, &err);
	assert_int_equal(fake_count(FAKE_JOB_UNDO), 1);
	assert_int_equal(fake_job.runs, 0);
}

FAKE("a claim that stays unknown counts once")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct rowlock_run run = day();

	run.most = 1;
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_next(FAKE_JOB_CLAIM, (struct fake_answer){ .given = true,
							.result = RLK_UNKNOWN,
							.ms = 11000 });
	assert_int_not_equal(rowlock_once_begin(lock, &run, &err), 0);
	assert_int_equal(fake_job.runs, 1);
	assert_ok(rowlock_release(lock, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_once_begin(lock, &run, &err));
	assert_int_equal(fake_job.runs, 1);
	/* Nor does one whose work was not started. */
	assert_ok(
	    rowlock_once_end(lock, &run, 0, ROWLOCK_ONCE_NOT_STARTED, &err));
	assert_int_equal(fake_job.runs, 0);
	assert_false(rowlock_held(lock));
}

FAKE("what cannot be served is refused")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_LOCK(row, client, ROWLOCK_ROW, 0, "row");
	struct rowlock_run bad[] = { day(), day(), day(), day(), day() };
	struct rowlock_run run = day();

	assert_ok(rowlock_acquire(lock, 0, &err));
	bad[0].until_us = 0;
	bad[1].until_us = ROWLOCK_WINDOW_MOST_US + 1;
	bad[2].from_us = -1;
	bad[3].from_us = INT64_MAX - DAY_US;
	bad[3].until_us = INT64_MAX;
	bad[4].size = 16;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_code(rowlock_once_begin(lock, &bad[i], &err),
			    ROWLOCK_EINVAL, &err);
		assert_non_null(
		    strstr(err.message, "begin 'job' (lease) on fake:3306: "));
		assert_code(rowlock_execute_once(client, "job", NULL, &bad[i],
						 0, work, NULL, &err),
			    ROWLOCK_EINVAL, &err);
		assert_non_null(strstr(err.message, "execute 'job': "));
	}
	assert_code(rowlock_once_begin(lock, NULL, &err), ROWLOCK_EINVAL, &err);
	assert_code(rowlock_once_begin(NULL, &run, &err), ROWLOCK_EINVAL, &err);
	assert_code(rowlock_once_begin(row, &run, &err), ROWLOCK_ENOTHELD,
		    &err);
	assert_ok(rowlock_acquire(row, 0, &err));
	assert_code(rowlock_once_begin(row, &run, &err), ROWLOCK_EUNSUPPORTED,
		    &err);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_code(rowlock_once_begin(lock, &run, &err), ROWLOCK_EHELD, &err);
	assert_int_equal(fake_count(FAKE_JOB_CLAIM), 0);
	assert_ok(rowlock_release(lock, &err));
	assert_ok(rowlock_release(lock, &err));
	assert_ok(rowlock_release(row, &err));
}

FAKE("a success that the run's own transaction noted stays")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct rowlock_run run = day();

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_once_begin(lock, &run, &err));
	fake_job.succeeded = true;
	assert_code(rowlock_once_end(lock, &run, 7, 0, &err), ROWLOCK_EDONE,
		    &err);
	assert_int_equal(fake_job.code, 0);
	assert_false(rowlock_held(lock));
	assert_true(fake_lease("job") == 0);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_code(rowlock_once_begin(lock, &run, &err), ROWLOCK_EDONE, &err);
	assert_ok(rowlock_release(lock, &err));
}

FAKE("what was not begun is not ended")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct rowlock_run run = day();

	assert_code(rowlock_server_time(client, NULL, &err), ROWLOCK_EINVAL,
		    &err);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_code(rowlock_once_end(lock, &run, 0, 1, &err), ROWLOCK_EINVAL,
		    &err);
	assert_true(rowlock_held(lock));
	assert_ok(rowlock_release(lock, &err));
}

static int fail_and_lose(struct rowlock *lock, void *arg)
{
	(void) lock;
	(void) arg;
	fake_lease_break("job");
	fake_next(FAKE_RELEASE, lost_before);
	return 5;
}

FAKE("execute ends a failed run once, whatever its release")
{
	FAKE_CLIENT();
	const struct rowlock_run window = day();

	assert_code(rowlock_execute_once(client, "job", NULL, &window, 0,
					 fail_and_lose, NULL, &err),
		    ROWLOCK_EUNKNOWN, &err);
	assert_int_equal(fake_count(FAKE_JOB_FAIL), 1);
	assert_int_equal(fake_job.code, 5);
}

static int note_and_fail(struct rowlock *lock, void *arg)
{
	(void) lock;
	(void) arg;
	fake_job.succeeded = true;
	return 5;
}

/* A later failure of the function changes nothing. */
FAKE("execute succeeds once the function's own transaction has noted it")
{
	FAKE_CLIENT();
	const struct rowlock_run window = day();

	assert_ok(rowlock_execute_once(client, "job", NULL, &window, 0,
				       note_and_fail, NULL, &err));
	assert_int_equal(fake_job.code, 0);
}

static int work_and_hold_on(struct rowlock *lock, void *arg)
{
	(void) arg;
	return rowlock_acquire(lock, 0, NULL);
}

/* Levels that the work has left are one, a server that is away another. */
FAKE("execute notes the end in spite of obstacles")
{
	FAKE_CLIENT();
	const struct rowlock_run window = day();
	const struct fake_answer away = { .given = true,
					  .skip = true,
					  .result = RLK_REFUSED,
					  .code = ROWLOCK_EREADONLY,
					  .ms = 250 };

	fake_next(FAKE_JOB_SUCCEED, away);
	assert_ok(rowlock_execute_once(client, "job", NULL, &window, 0,
				       work_and_hold_on, NULL, &err));
	assert_true(fake_job.succeeded);
}

static int work_and_hold_by_another(struct rowlock *lock, void *arg)
{
	(void) lock;
	return rowlock_acquire(arg, 0, NULL);
}

FAKE("execute gives back no level of another handle")
{
	FAKE_CLIENT();
	const struct rowlock_run window = day();
	struct rowlock_options options = { .size = sizeof(options),
					   .flags = ROWLOCK_OWNER_THREAD };
	FAKE_LOCK(other, client, ROWLOCK_LEASE, ROWLOCK_OWNER_THREAD, "job");

	assert_code(rowlock_execute_once(client, "job", &options, &window, 0,
					 work_and_hold_by_another, other, &err),
		    ROWLOCK_EHELD, &err);
	assert_true(rowlock_held(other));
	assert_false(fake_job.succeeded);
	assert_ok(rowlock_release(other, &err));
}

static void end_and_break(struct rowlock *lock, void *arg)
{
	struct rowlock_run *run = arg;

	end_unknown(lock, run, never_sent);
	fake_lease_break("job");
}

FAKE("a function that may have given its lock back was not surely protected")
{
	FAKE_CLIENT();
	struct rowlock_run run = day();

	assert_code(
	    rowlock_execute(client, "job", NULL, 0, end_and_break, &run, &err),
	    ROWLOCK_EUNKNOWN, &err);
}

/* The answer to the end is lost for longer than a call, and comes later. */
FAKE("execute finds an unknown end out")
{
	FAKE_CLIENT();
	const struct rowlock_run window = day();
	int runs = 1;

	fake_next(FAKE_JOB_SUCCEED, unknown_then_late);
	fake_next(FAKE_JOB_SUCCEED,
		  (struct fake_answer){ .given = true, .ms = 250 });
	assert_ok(rowlock_execute_once(client, "job", NULL, &window, 0, work,
				       &runs, &err));
	assert_true(fake_job.succeeded);
}

FAKE("execute runs until it succeeds")
{
	FAKE_CLIENT();
	const struct rowlock_run window = day();
	int runs = 0;

	assert_ok(rowlock_execute_once(client, "job", NULL, &window, 0, work,
				       &runs, &err));
	assert_int_equal(fake_job.code, 5);
	assert_false(fake_job.succeeded);
	fake_next(FAKE_JOB_SUCCEED, lost_after);
	assert_ok(rowlock_execute_once(client, "job", NULL, &window, 0, work,
				       &runs, &err));
	assert_true(fake_job.succeeded);
	assert_code(rowlock_execute_once(client, "job", NULL, &window, 0, work,
					 &runs, &err),
		    ROWLOCK_EDONE, &err);
	assert_int_equal(runs, 2);
	assert_code(rowlock_execute_once(client, "job", NULL, &window, 0, NULL,
					 &runs, &err),
		    ROWLOCK_EINVAL, &err);
}

CASE_MAIN(case_main)

FAKE("runs are kept as the caller says")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	const uint64_t asked[] = { 0, 1, 1000 }, kept[] = { 20, 1, 1000 };
	struct rowlock_run run = day();

	for (size_t i = 0; i < TEST_SIZE(asked); i++) {
		assert_ok(rowlock_acquire(lock, 0, &err));
		run.keep = asked[i];
		assert_ok(rowlock_once_begin(lock, &run, &err));
		assert_true(fake_call(FAKE_JOB_FORGET, (unsigned int) i).id ==
			    kept[i]);
		assert_ok(rowlock_once_end(lock, &run, 1, 0, &err));
	}
	assert_ok(rowlock_acquire(lock, 0, &err));
	run.keep = 1001;
	assert_code(rowlock_once_begin(lock, &run, &err), ROWLOCK_EINVAL, &err);
	assert_non_null(strstr(err.message, "1001"));
	assert_ok(rowlock_release(lock, &err));
}

static int count_run(const struct rowlock_run_entry *entry, void *arg)
{
	unsigned int *count = arg;

	++*count;
	return entry->nth == 3;
}

FAKE("runs are listed page by page")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct rowlock_list_options options = ROWLOCK_LIST_OPTIONS_DEFAULT;
	unsigned int count = 0;

	fake_job.listed = 2;
	options.pattern = "a*_";
	assert_ok(rowlock_list_runs(client, &options, count_run, &count, &err));
	assert_int_equal(count, 2);
	/* The last page was full, so another one was asked for. */
	assert_int_equal(fake_count(FAKE_JOB_LIST), 2);
	assert_string_equal(fake_call(FAKE_JOB_LIST, 1).name, "a%!_");
	/* The function ends it: of the second page it saw the first run. */
	fake_job.listed = 5;
	count = 0;
	assert_ok(rowlock_list_runs(client, NULL, count_run, &count, &err));
	assert_int_equal(count, 3);
	assert_int_equal(fake_count(FAKE_JOB_LIST), 4);
}

FAKE("a list of runs tells of a server that refuses")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct rowlock_list_options options = ROWLOCK_LIST_OPTIONS_DEFAULT;
	unsigned int count = 0;

	fake_next(FAKE_JOB_LIST, refused);
	assert_code(rowlock_list_runs(client, NULL, count_run, &count, &err),
		    ROWLOCK_EDB, &err);
	assert_code(rowlock_list_runs(client, NULL, NULL, NULL, &err),
		    ROWLOCK_EINVAL, &err);
	assert_code(rowlock_list_runs(NULL, NULL, count_run, &count, &err),
		    ROWLOCK_EINVAL, &err);
	options.name = options.pattern = "n";
	assert_code(
	    rowlock_list_runs(client, &options, count_run, &count, &err),
	    ROWLOCK_EINVAL, &err);
	options.name = NULL;
	options.pattern = "n\xff";
	assert_code(
	    rowlock_list_runs(client, &options, count_run, &count, &err),
	    ROWLOCK_EINVAL, &err);
	assert_int_equal(count, 0);
}
