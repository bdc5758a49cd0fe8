/* SPDX-License-Identifier: MIT */
/* A thread ends while it holds: what becomes of its holds, and of no others. */
#include "fake/fake.h"

#include <stdatomic.h>
#include <string.h>

#include "core/client.h"
#include "test.h"

static const enum rowlock_strategy both[] = { ROWLOCK_LEASE, ROWLOCK_ROW };

/* Does nobody have "job" any more, in the tables? */
static bool job_is_free(void *arg)
{
	(void) arg;
	return fake_lease("job") == 0 && fake_row("job") == 0;
}

FAKE("the hold of a thread that ends is lost")
{
	for (size_t i = 0; i < TEST_SIZE(both); i++) {
		struct rowlock_client *client = fake_client();
		struct rowlock *lock =
		    fake_lock(client, both[i], ROWLOCK_OWNER_THREAD, "job");
		struct rowlock *inner =
		    fake_lock(client, both[i], ROWLOCK_OWNER_THREAD, "job");
		struct fake_person *bob = fake_person();
		_Atomic int told = 0;
		_Atomic int told_inner = 0;

		rowlock_on_lost(lock, fake_count_loss, &told);
		rowlock_on_lost(inner, fake_count_loss, &told_inner);
		assert_int_equal(fake_ask(bob, FAKE_DO_ACQUIRE, lock, 0), 0);
		assert_int_equal(fake_ask(bob, FAKE_DO_ACQUIRE, inner, 0), 0);
		assert_false(job_is_free(NULL));
		fake_person_end(bob);
		assert_int_equal(rowlock_held(lock), 0);
		assert_int_equal(rowlock_held(inner), 0);
		/* No time passes: nothing of it waits for a deadline. */
		fake_until(fake_is_one, &told);
		fake_until(fake_is_one, &told_inner);
		fake_until(job_is_free, NULL);
		fake_lock_end(lock);
		fake_lock_end(inner);
		fake_client_end(client);
		fake_setup(state);
	}
}

FAKE("holds of other threads and of handles are left alone")
{
	FAKE_CLIENT();
	FAKE_LOCK(mine, client, ROWLOCK_LEASE, 0, "mine");
	FAKE_LOCK(handles, client, ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE,
		  "handle");
	FAKE_LOCK(row, client, ROWLOCK_ROW, ROWLOCK_OWNER_HANDLE, "handle");
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, 0, "job");
	struct fake_person *bob = fake_person();

	assert_ok(rowlock_acquire(mine, 0, &err));
	assert_int_equal(fake_ask(bob, FAKE_DO_ACQUIRE, handles, 0), 0);
	assert_int_equal(fake_ask(bob, FAKE_DO_ACQUIRE, row, 0), 0);
	assert_int_equal(fake_ask(bob, FAKE_DO_ACQUIRE, lock, 0), 0);
	fake_person_end(bob);
	fake_until(job_is_free, NULL);
	assert_ok(rowlock_release(mine, &err));
	assert_ok(rowlock_release(handles, &err));
	assert_ok(rowlock_release(row, &err));
}

/* The name is nobody's here at once; in the server, a moment later. */
FAKE("a waiter of the same client goes on")
{
	for (size_t i = 0; i < TEST_SIZE(both); i++) {
		struct rowlock_client *client = fake_client();
		struct rowlock *lock = fake_lock(client, both[i], 0, "job");
		struct rowlock *next = fake_lock(client, both[i], 0, "job");
		struct fake_person *bob = fake_person();
		struct fake_person *carol = fake_person();

		assert_int_equal(fake_ask(bob, FAKE_DO_ACQUIRE, lock, 0), 0);
		fake_tell(carol, FAKE_DO_ACQUIRE, next, 5000);
		fake_await_line(next, 1);
		fake_person_end(bob);
		assert_int_equal(fake_pass_hear(carol, NULL), 0);
		assert_int_equal(fake_ask(carol, FAKE_DO_VERIFY, next, 0), 0);
		assert_int_equal(fake_ask(carol, FAKE_DO_RELEASE, next, 0), 0);
		fake_person_end(carol);
		fake_lock_end(lock);
		fake_lock_end(next);
		fake_client_end(client);
		fake_setup(state);
	}
}

static void says_why(struct rowlock_errinfo *error)
{
	assert_non_null(strstr(error->message, "its owner ended"));
}

FAKE("a handle that is left is anybody's")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct fake_person *bob = fake_person();
	uint64_t token;

	assert_int_equal(fake_ask(bob, FAKE_DO_ACQUIRE, lock, 0), 0);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ENOTOWNER, &err);
	fake_person_end(bob);
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
	says_why(&err);
	assert_code(rowlock_token(lock, &token, &err), ROWLOCK_ELOST, &err);
	says_why(&err);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	says_why(&err);
	fake_until(job_is_free, NULL);
	bob = fake_person();
	assert_int_equal(fake_ask(bob, FAKE_DO_ACQUIRE, lock, 0), 0);
	fake_person_end(bob);
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_ELOST, &err);
	says_why(&err);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ENOTHELD, &err);
	fake_until(job_is_free, NULL);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_release(lock, &err));
}

FAKE("what was released or lost before is not lost by an end")
{
	FAKE_CLIENT();
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	struct rowlock *lost = fake_lock(client, ROWLOCK_LEASE, 0, "gone");
	struct fake_person *bob = fake_person();
	_Atomic int told = 0;

	rowlock_on_lost(lost, fake_count_loss, &told);
	for (int i = 0; i < 2; i++)
		assert_int_equal(fake_ask(bob, FAKE_DO_ACQUIRE, lock, 0), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
	assert_int_equal(fake_ask(bob, FAKE_DO_ACQUIRE, lost, 0), 0);
	fake_lease_remove("gone");
	assert_code(fake_ask(bob, FAKE_DO_VERIFY, lost, 0), ROWLOCK_ELOST,
		    NULL);
	/* The name has another owner by then. */
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_person_end(bob);
	fake_until(fake_is_one, &told);
	assert_ok(rowlock_verify(lock, &err));
	assert_ok(rowlock_release(lock, &err));
	fake_lock_end(lock);
	fake_lock_end(lost);
	assert_int_equal(told, 1);
}

/* What is handed over is the next owner's debt, and not the last one's. */
FAKE("a hold that was handed over is lost with its last owner")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_LOCK(next, client, ROWLOCK_LEASE, 0, "job");
	struct fake_person *bob = fake_person();
	struct fake_person *carol = fake_person();

	assert_int_equal(fake_ask(bob, FAKE_DO_ACQUIRE, lock, 0), 0);
	fake_tell(carol, FAKE_DO_ACQUIRE, next, ROWLOCK_FOREVER);
	fake_await_line(next, 1);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
	assert_int_equal(fake_hear(carol, NULL), 0);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 1);
	fake_person_end(bob);
	assert_int_equal(rowlock_held(next), 1);
	fake_person_end(carol);
	assert_int_equal(rowlock_held(next), 0);
	fake_until(job_is_free, NULL);
}

static void count_lines(enum rowlock_log_level level, const char *message,
			void *arg)
{
	_Atomic int *lines = arg;

	if (level == ROWLOCK_LOG_WARNING && strstr(message, "has ended"))
		(*lines)++;
}

/* Once, however often the server does not answer to the removal. */
FAKE("the log tells of it once")
{
	struct rowlock_client_options options = fake_options();
	_Atomic int lines = 0;
	struct rowlock_client *client;
	struct fake_person *bob = fake_person();
	struct rowlock *lock;

	options.log = count_lines;
	options.log_arg = (void *) &lines;
	client = fake_client_with(&options);
	lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	assert_int_equal(fake_ask(bob, FAKE_DO_ACQUIRE, lock, 0), 0);
	for (int i = 0; i < 2; i++)
		fake_next(FAKE_RELEASE,
			  (struct fake_answer){ .given = true,
						.skip = true,
						.result = RLK_UNKNOWN });
	fake_person_end(bob);
	fake_pass_until(job_is_free, NULL);
	assert_true(fake_count(FAKE_RELEASE) >= 3);
	fake_end(lock, client);
	assert_int_equal(lines, 1);
}

CASE_MAIN(case_main)
