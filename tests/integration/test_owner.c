// SPDX-License-Identifier: MIT
/*
 * Who may re-enter and who may release: the thread that acquired, or the
 * handle where that was asked for, and never a hold's successor.
 */
#include <pthread.h>

#include "sql.h"
#include "test.h"

#define TTL_MS 10000

static const enum rowlock_strategy both[] = { ROWLOCK_LEASE, ROWLOCK_ROW };

static void reenters(enum rowlock_strategy strategy)
{
	const char *name = test_name("again");
	struct rowlock_client *client = test_client(TTL_MS);
	struct rowlock *a =
	    test_lock(client, strategy, ROWLOCK_OWNER_THREAD, name);
	struct rowlock *b =
	    test_lock(client, strategy, ROWLOCK_OWNER_THREAD, name);
	struct rowlock *c = test_lock(client, strategy, 0, name);
	struct rowlock_errinfo err;

	assert_ok(rowlock_acquire(a, 0, &err));
	assert_ok(rowlock_acquire(a, 0, &err));
	assert_ok(rowlock_acquire(b, 0, &err));
	assert_int_equal(rowlock_depth(a), 2);
	assert_int_equal(rowlock_depth(b), 1);
	assert_code(rowlock_acquire(c, 0, &err), ROWLOCK_EBUSY, &err);
	assert_code(rowlock_acquire(c, ROWLOCK_FOREVER, &err),
		    ROWLOCK_EDEADLOCK, &err);
	assert_ok(rowlock_release(a, &err));
	assert_ok(rowlock_release(a, &err));
	assert_code(rowlock_release(a, &err), ROWLOCK_ENOTHELD, &err);
	assert_int_equal(rowlock_held(a), 0);
	assert_int_equal(rowlock_held(b), 1);
	assert_ok(rowlock_verify(b, &err));
	assert_ok(rowlock_release(b, &err));
	test_lock_end(a);
	test_lock_end(b);
	test_lock_end(c);
	test_client_end(client);
}

static void an_owner_reenters(void **state)
{
	size_t i;

	(void) state;
	for (i = 0; i < TEST_SIZE(both); i++)
		reenters(both[i]);
}

static void a_non_reentrant_lock_refuses(void **state)
{
	const char *name = test_name("once");
	struct rowlock_client *client = test_client(TTL_MS);
	struct rowlock *a =
	    test_lock(client, ROWLOCK_LEASE, ROWLOCK_NOT_REENTRANT, name);
	struct rowlock_errinfo err;

	(void) state;
	assert_ok(rowlock_acquire(a, 0, &err));
	assert_code(rowlock_acquire(a, ROWLOCK_FOREVER, &err),
		    ROWLOCK_EDEADLOCK, &err);
	assert_int_equal(rowlock_depth(a), 1);
	assert_ok(rowlock_release(a, &err));
	test_end(a, client);
}

struct call {
	int (*fn)(struct rowlock *lock, struct rowlock_errinfo *err);
	struct rowlock *lock;
	struct rowlock_errinfo err;
	int code;
};

static void *run_call(void *arg)
{
	struct call *call = arg;

	call->code = call->fn(call->lock, &call->err);
	return NULL;
}

/* Call @fn on a thread that has ended when this returns. */
static int on_another_thread(struct rowlock *lock,
			     int (*fn)(struct rowlock *,
				       struct rowlock_errinfo *))
{
	struct call call = { .fn = fn, .lock = lock };
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, run_call, &call), 0);
	pthread_join(thread, NULL);
	return call.code;
}

static int try_acquire(struct rowlock *lock, struct rowlock_errinfo *err)
{
	return rowlock_acquire(lock, 0, err);
}

static void another_thread_may_not_release(void **state)
{
	struct rowlock_client *client = test_client(TTL_MS);
	struct rowlock *lock =
	    test_lock(client, ROWLOCK_LEASE, 0, test_name("mine"));
	struct rowlock_errinfo err;

	(void) state;
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_int_equal(on_another_thread(lock, rowlock_release),
			 ROWLOCK_ENOTOWNER);
	assert_int_equal(on_another_thread(lock, rowlock_verify),
			 ROWLOCK_ENOTOWNER);
	assert_int_equal(rowlock_held(lock), 1);
	assert_ok(rowlock_verify(lock, &err));
	assert_ok(rowlock_release(lock, &err));
	test_end(lock, client);
}

static void a_handle_can_be_the_owner(void **state)
{
	const char *name = test_name("handle");
	struct rowlock_client *client = test_client(TTL_MS);
	struct rowlock *a =
	    test_lock(client, ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE, name);
	struct rowlock *b =
	    test_lock(client, ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE, name);
	struct rowlock_errinfo err;

	(void) state;
	assert_ok(rowlock_acquire(a, 0, &err));
	assert_code(rowlock_acquire(b, 0, &err), ROWLOCK_EBUSY, &err);
	assert_int_equal(on_another_thread(a, try_acquire), 0);
	assert_int_equal(rowlock_depth(a), 2);
	assert_int_equal(on_another_thread(a, rowlock_release), 0);
	assert_int_equal(on_another_thread(a, rowlock_release), 0);
	assert_ok(rowlock_acquire(b, 0, &err));
	assert_ok(rowlock_release(b, &err));
	test_lock_end(a);
	test_lock_end(b);
	test_client_end(client);
}

/* The holder's lease is taken by hand; somebody else has the name; the old
 * handle must know, and must not touch the new hold. */
static void a_lost_handle_leaves_the_next_hold_alone(void **state)
{
	const char *name = test_name("lost");
	struct rowlock_client *one = test_client(TTL_MS);
	struct rowlock_client *two = test_client(TTL_MS);
	struct rowlock *a = test_lock(one, ROWLOCK_LEASE, 0, name);
	struct rowlock *b = test_lock(two, ROWLOCK_LEASE, 0, name);
	struct rowlock *c = test_lock(one, ROWLOCK_LEASE, 0, name);
	struct rowlock_errinfo err;
	uint64_t token;

	(void) state;
	assert_ok(rowlock_acquire(a, 0, &err));
	assert_ok(rowlock_break(two, ROWLOCK_LEASE, name, &err));
	assert_ok(rowlock_acquire(b, 0, &err));
	assert_code(rowlock_token(a, &token, &err), ROWLOCK_ELOST, &err);
	assert_int_equal(rowlock_held(a), 0);
	assert_code(rowlock_release(a, &err), ROWLOCK_ELOST, &err);
	assert_code(rowlock_acquire(a, 0, &err), ROWLOCK_EBUSY, &err);
	assert_ok(rowlock_verify(b, &err));
	assert_code(rowlock_acquire(c, 0, &err), ROWLOCK_EBUSY, &err);
	assert_ok(rowlock_release(b, &err));
	assert_ok(rowlock_acquire(c, (uint64_t) test_patience_ms(), &err));
	assert_code(rowlock_release(a, &err), ROWLOCK_ENOTHELD, &err);
	assert_ok(rowlock_verify(c, &err));
	assert_ok(rowlock_release(c, &err));
	test_lock_end(a);
	test_lock_end(b);
	test_lock_end(c);
	test_client_end(one);
	test_client_end(two);
}

static void tokens_grow_and_stay(void **state)
{
	const char *name = test_name("token");
	struct rowlock_client *client = test_client(TTL_MS);
	struct rowlock_errinfo err;
	uint64_t last = 0, token, same;
	size_t i;

	(void) state;
	for (i = 0; i < 20; i++) {
		struct rowlock *lock =
		    test_lock(client, both[i / 10],
			      i % 2 ? ROWLOCK_TOKEN_WITH_GRANT : 0, name);

		if (i == 10)
			last = 0; /* the other strategy: another lock */
		assert_ok(rowlock_acquire(lock, 0, &err));
		assert_ok(rowlock_token(lock, &token, &err));
		assert_ok(rowlock_token(lock, &same, &err));
		assert_true(token > last);
		assert_true(token == same);
		last = token;
		assert_ok(rowlock_release(lock, &err));
		assert_code(rowlock_token(lock, &same, &err), ROWLOCK_ENOTHELD,
			    &err);
		test_lock_end(lock);
	}
	test_client_end(client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST("the thread that owns it has the name again, the others "
		     "not",
		     an_owner_reenters),
		TEST("a lock that is not reentrant refuses its owner",
		     a_non_reentrant_lock_refuses),
		TEST("another thread may neither release nor verify",
		     another_thread_may_not_release),
		TEST("a handle can be the owner, on any thread",
		     a_handle_can_be_the_owner),
		TEST("a handle whose hold was lost leaves the next hold alone",
		     a_lost_handle_leaves_the_next_hold_alone),
		TEST("tokens grow from hold to hold and stay in a hold",
		     tokens_grow_and_stay),
	};

	return test_main(tests);
}
