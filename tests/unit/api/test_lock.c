/* SPDX-License-Identifier: MIT */
/*
 * The life of handles and clients: what may be freed when, what a child of
 * fork() may do, and rowlock_execute().
 */
#include "fake/fake.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hold/handle.h"
#include "test.h"

FAKE("a lock that is held is not freed")
{
	FAKE_CLIENT();
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");

	assert_string_equal(rowlock_name(lock), "job");
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_code(rowlock_try_free(lock, &err), ROWLOCK_EHELD, &err);
	assert_int_equal(rowlock_held(lock), 1);
	assert_ok(rowlock_release(lock, &err));
	assert_ok(rowlock_try_free(lock, &err));
	assert_ok(rowlock_try_free(NULL, &err));
}

FAKE("a lock in use by another thread is not freed")
{
	FAKE_CLIENT();
	struct rowlock *lock =
	    fake_lock(client, ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE, "job");
	FAKE_PERSON(bob);

	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .wait = true });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	fake_await(FAKE_ACQUIRE, 1);
	assert_code(rowlock_try_free(lock, &err), ROWLOCK_EHELD, &err);
	fake_let(FAKE_ACQUIRE);
	assert_ok(fake_hear(bob, &err));
	fake_next(FAKE_RELEASE, (struct fake_answer){ .wait = true });
	fake_tell(bob, FAKE_DO_RELEASE, lock, 0);
	fake_await(FAKE_RELEASE, 1);
	assert_code(rowlock_try_free(lock, &err), ROWLOCK_EHELD, &err);
	fake_let(FAKE_RELEASE);
	assert_ok(fake_hear(bob, &err));
	assert_ok(rowlock_try_free(lock, &err));
}

FAKE("a client with locks is not freed")
{
	struct rowlock_client *client = fake_client();
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");

	assert_code(rowlock_client_try_free(client, &err), ROWLOCK_EHELD, &err);
	/* Nothing was changed. */
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_release(lock, &err));
	fake_lock_end(lock);
	assert_ok(rowlock_client_try_free(client, &err));
	assert_ok(rowlock_client_try_free(NULL, &err));
}

FAKE("a client leaves no session behind")
{
	struct rowlock_client *client = fake_client();
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");

	assert_ok(rowlock_acquire(lock, 0, &err));
	/* One that was lost and is not deleted yet, and the present one. */
	fake_always(FAKE_CLOSE, (struct fake_answer){ .given = true,
						      .skip = true,
						      .result = RLK_UNKNOWN });
	fake_always(FAKE_BEAT, (struct fake_answer){ .given = true,
						     .result = RLK_UNKNOWN });
	fake_advance(27000);
	fake_await(FAKE_CLOSE, 1);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	fake_lease_remove("job");
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_release(lock, &err));
	fake_lock_end(lock);
	assert_int_equal(fake_sessions(), 2);
	fake_always(FAKE_CLOSE, (struct fake_answer){ .skip = false });
	fake_client_end(client);
	assert_int_equal(fake_sessions(), 0);
}

FAKE("freep releases every level")
{
	FAKE_CLIENT();

	for (int i = 0; i < 2; i++) {
		__attribute__((cleanup(rowlock_freep))) struct rowlock *lock =
		    fake_lock(client, i ? ROWLOCK_ROW : ROWLOCK_LEASE, 0,
			      "job");

		assert_ok(rowlock_acquire(lock, 0, &err));
		assert_ok(rowlock_acquire(lock, 0, &err));
	}
	assert_int_equal(fake_lease("job"), 0);
	assert_int_equal(fake_row("job"), 0);
}

/* In the child: a bit for each call that does not say "forked". */
static unsigned int wrong_in_child(struct rowlock_client *client,
				   struct rowlock *lock)
{
	struct rowlock *made;
	uint64_t token;
	unsigned int wrong = 0;
	const int codes[] = {
		rowlock_acquire(lock, 0, NULL),
		rowlock_release(lock, NULL),
		rowlock_verify(lock, NULL),
		rowlock_token(lock, &token, NULL),
		rowlock_try_free(lock, NULL),
		rowlock_new(client, "x", NULL, &made, NULL),
		rowlock_reap(client, NULL, NULL, NULL),
		rowlock_break(client, ROWLOCK_LEASE, "x", NULL),
		rowlock_client_try_free(client, NULL),
	};

	for (size_t i = 0; i < TEST_SIZE(codes); i++)
		if (codes[i] != ROWLOCK_EFORKED)
			wrong |= 1u << i;
	rowlock_cancel(lock);
	rowlock_on_lost(lock, NULL, NULL);
	if (rowlock_held(lock) || rowlock_depth(lock) ||
	    rowlock_attempt(lock) || rowlock_remaining_ms(lock) ||
	    rowlock_lost_reason(lock))
		wrong |= 1u << 15;
	return wrong;
}

FAKE("attempt is that of the hold if it is a lease")
{
	struct rowlock_client *client = fake_client();
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	struct rowlock *row = fake_lock(client, ROWLOCK_ROW, 0, "job");
	uint64_t first;

	assert_true(rowlock_attempt(lock) == 0);
	assert_ok(rowlock_acquire(lock, 0, &err));
	first = rowlock_attempt(lock);
	assert_true(first != 0);
	assert_ok(rowlock_release(lock, &err));
	assert_true(rowlock_attempt(lock) == 0);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_true(rowlock_attempt(lock) != 0);
	assert_true(rowlock_attempt(lock) != first);
	assert_ok(rowlock_acquire(row, 0, &err));
	assert_true(rowlock_attempt(row) == 0);
	rowlock_free(lock);
	rowlock_free(row);
	rowlock_client_free(client);
}

FAKE("the reason of a loss is there until the release")
{
	struct rowlock_client *client = fake_client();
	struct rowlock *lock = fake_lock(client, ROWLOCK_ROW, 0, "job");

	assert_null(rowlock_lost_reason(lock));
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_null(rowlock_lost_reason(lock));
	assert_ok(rowlock_break(client, ROWLOCK_ROW, "job", &err));
	assert_string_equal(rowlock_lost_reason(lock), "it was broken by hand");
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	assert_null(rowlock_lost_reason(lock));
	rowlock_free(lock);
	rowlock_client_free(client);
}

FAKE("a child of fork is refused and changes nothing")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	int status;
	pid_t pid;

	assert_ok(rowlock_acquire(lock, 0, &err));
	pid = fork();
	/* Ended by another program: a leak checker would miss, in the child,
	 * the threads that had the parent's memory. */
	if (pid == 0) {
		execlp(wrong_in_child(client, lock) ? "false" : "true", "true",
		       (char *) NULL);
		_exit(2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(rowlock_held(lock), 1);
	assert_ok(rowlock_release(lock, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_release(lock, &err));
}

static void run(struct rowlock *lock, void *arg)
{
	if (rowlock_held(lock))
		(*(int *) arg)++;
}

static void run_and_lose(struct rowlock *lock, void *arg)
{
	run(lock, arg);
	fake_lease_remove(rowlock_name(lock));
}

FAKE("execute runs while it holds")
{
	FAKE_CLIENT();
	int count = 0;

	assert_ok(
	    rowlock_execute(client, "job", NULL, 10000, run, &count, &err));
	assert_int_equal(count, 1);
	assert_int_equal(fake_lease("job"), 0);
	assert_code(rowlock_execute(client, "job", NULL, 10000, run_and_lose,
				    &count, &err),
		    ROWLOCK_ELOST, &err);
	assert_int_equal(count, 2);
	/* Whether the row was there is not known, whatever our clock says. */
	fake_next(FAKE_RELEASE,
		  (struct fake_answer){ .given = true, .result = RLK_REFUSED });
	assert_code(
	    rowlock_execute(client, "job", NULL, 10000, run, &count, &err),
	    ROWLOCK_EUNKNOWN, &err);
	assert_non_null(strstr(err.message, "has run"));
	assert_int_equal(count, 3);
	fake_session_add(77);
	fake_lease_add("job", 7, 77);
	assert_code(rowlock_execute(client, "job", NULL, 0, run, &count, &err),
		    ROWLOCK_EBUSY, &err);
	assert_code(rowlock_execute(client, "", NULL, 0, run, &count, &err),
		    ROWLOCK_ENAME, &err);
	assert_code(rowlock_execute(client, "job", NULL, 0, NULL, &count, &err),
		    ROWLOCK_EINVAL, &err);
	assert_int_equal(count, 3);
}

CASE_MAIN(case_main)
