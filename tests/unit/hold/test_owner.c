/* SPDX-License-Identifier: MIT */
/* Whose hold it is: entering again, and who may release. */
#include "fake/fake.h"

#include <string.h>

#include "core/client.h"
#include "test.h"

FAKE("a thread that owns enters again through any handle")
{
	FAKE_CLIENT();
	FAKE_LOCK(a, client, ROWLOCK_LEASE, ROWLOCK_OWNER_THREAD, "job");
	FAKE_LOCK(b, client, ROWLOCK_LEASE, ROWLOCK_OWNER_THREAD, "job");

	assert_ok(rowlock_acquire(a, 0, &err));
	assert_ok(rowlock_acquire(a, 0, &err));
	assert_ok(rowlock_acquire(b, 0, &err));
	assert_int_equal(rowlock_depth(a), 2);
	assert_int_equal(rowlock_depth(b), 1);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 1);
	/* Each level through the handle that acquired it. */
	assert_ok(rowlock_release(b, &err));
	assert_code(rowlock_release(b, &err), ROWLOCK_ENOTHELD, &err);
	assert_ok(rowlock_release(a, &err));
	assert_int_equal(rowlock_held(a), 1);
	assert_int_equal(fake_count(FAKE_RELEASE), 0);
	assert_ok(rowlock_release(a, &err));
	assert_int_equal(rowlock_held(a), 0);
	assert_int_equal(fake_count(FAKE_RELEASE), 1);
	assert_int_equal(fake_lease("job"), 0);
}

/* In an event loop one thread works for many: its handles exclude each other.
 */
FAKE("another handle of the thread is kept out")
{
	static const unsigned int flags[] = { 0, ROWLOCK_OWNER_THREAD };

	for (size_t i = 0; i < 3; i++) {
		struct rowlock_client *client = fake_client();
		struct rowlock *a =
		    fake_lock(client, ROWLOCK_LEASE, flags[i & 1], "job");
		struct rowlock *b =
		    fake_lock(client, ROWLOCK_LEASE, flags[i >> 1], "job");

		assert_ok(rowlock_acquire(a, 0, &err));
		assert_ok(rowlock_acquire(a, 0, &err));
		assert_code(rowlock_acquire(b, 0, &err), ROWLOCK_EBUSY, &err);
		assert_code(rowlock_acquire(b, ROWLOCK_FOREVER, &err),
			    ROWLOCK_EDEADLOCK, &err);
		assert_non_null(strstr(err.message, "ROWLOCK_OWNER_THREAD"));
		assert_int_equal(rowlock_depth(b), 0);
		assert_int_equal(fake_count(FAKE_ACQUIRE), 1);
		rowlock_free(a);
		assert_int_equal(fake_lease("job"), 0);
		assert_ok(rowlock_acquire(b, 0, &err));
		rowlock_free(b);
		fake_client_end(client);
		fake_setup(state);
	}
}

FAKE("the outer handle may be released before the inner")
{
	FAKE_CLIENT();
	struct rowlock *a =
	    fake_lock(client, ROWLOCK_LEASE, ROWLOCK_OWNER_THREAD, "job");
	FAKE_LOCK(b, client, ROWLOCK_LEASE, ROWLOCK_OWNER_THREAD, "job");

	assert_ok(rowlock_acquire(a, 0, &err));
	assert_ok(rowlock_acquire(b, 0, &err));
	assert_ok(rowlock_release(a, &err));
	assert_int_equal(rowlock_held(a), 0);
	assert_int_equal(rowlock_held(b), 1);
	assert_int_not_equal(fake_lease("job"), 0);
	fake_lock_end(a);
	assert_ok(rowlock_release(b, &err));
	assert_int_equal(fake_lease("job"), 0);
}

FAKE("a lock that is not reentrant says deadlock")
{
	FAKE_CLIENT();
	FAKE_LOCK(a, client, ROWLOCK_LEASE, 0, "job");
	FAKE_LOCK(b, client, ROWLOCK_LEASE, ROWLOCK_NOT_REENTRANT, "job");

	assert_ok(rowlock_acquire(a, 0, &err));
	assert_code(rowlock_acquire(b, ROWLOCK_FOREVER, &err),
		    ROWLOCK_EDEADLOCK, &err);
	assert_int_equal(rowlock_held(b), 0);
	assert_int_equal(rowlock_depth(a), 1);
	assert_ok(rowlock_release(a, &err));
	assert_ok(rowlock_acquire(b, 0, &err));
	assert_code(rowlock_acquire(b, 0, &err), ROWLOCK_EDEADLOCK, &err);
	assert_ok(rowlock_release(b, &err));
}

FAKE("another thread neither enters nor releases")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_LOCK(mine, client, ROWLOCK_LEASE, 0, "job");
	FAKE_PERSON(bob);

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_code(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), ROWLOCK_ENOTOWNER,
		    NULL);
	assert_code(fake_ask(bob, FAKE_DO_TOKEN, lock, 0), ROWLOCK_ENOTOWNER,
		    NULL);
	assert_code(fake_ask(bob, FAKE_DO_VERIFY, lock, 0), ROWLOCK_ENOTOWNER,
		    NULL);
	assert_code(fake_ask(bob, FAKE_DO_ACQUIRE, lock, 0), ROWLOCK_ENOTOWNER,
		    NULL);
	assert_code(fake_ask(bob, FAKE_DO_ACQUIRE, mine, 0), ROWLOCK_EBUSY,
		    NULL);
	assert_int_equal(rowlock_depth(lock), 1);
	assert_ok(rowlock_release(lock, &err));
}

FAKE("a handle that owns is released by any thread")
{
	FAKE_JOB(ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE);
	FAKE_LOCK(other, client, ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE, "job");
	FAKE_PERSON(bob);

	assert_ok(rowlock_acquire(lock, 0, &err));
	/* The same thread, but another owner. */
	assert_code(rowlock_acquire(other, 0, &err), ROWLOCK_EBUSY, &err);
	assert_int_equal(fake_ask(bob, FAKE_DO_ACQUIRE, lock, 0), 0);
	assert_int_equal(rowlock_depth(lock), 2);
	assert_int_equal(fake_ask(bob, FAKE_DO_TOKEN, lock, 0), 0);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
	assert_int_equal(rowlock_held(lock), 0);
}

/* An acquire looks twice at the clock, and each look may be the one that finds
 * the time of the handle's hold up. A handle that is not re-entrant asks afresh
 * then: its row may still be there. */
FAKE("a hold that ends during an acquire is lost")
{
	for (unsigned int i = 0; i < 4; i++) {
		bool nests = i % 2 == 0;
		struct rowlock_client *client = fake_client();
		struct rowlock *lock =
		    fake_lock(client, ROWLOCK_LEASE,
			      nests ? 0 : ROWLOCK_NOT_REENTRANT, "job");
		int code;

		assert_ok(rowlock_acquire(lock, 0, &err));
		fake_creep_at_look(1 + i / 2, 27000);
		code = rowlock_acquire(lock, 0, &err);
		if (nests || code != 0)
			assert_code(code, nests ? ROWLOCK_ELOST : ROWLOCK_EBUSY,
				    &err);
		fake_creep_at_look(0, 0);
		assert_code(rowlock_release(lock, &err),
			    code ? ROWLOCK_ENOTHELD : 0, &err);
		fake_end(lock, client);
		fake_setup(state);
	}
}

CASE_MAIN(case_main)
