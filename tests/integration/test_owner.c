// SPDX-License-Identifier: MIT
/*
 * One holder follows another: it gets a name that was lost, and larger tokens.
 * Which thread and which handle may enter and release is in
 * unit/hold/test_owner.c.
 */
#include "sql.h"
#include "test.h"

#define TTL_MS 10000

static const enum rowlock_strategy both[] = { ROWLOCK_LEASE, ROWLOCK_ROW };

/* The holder's lease is taken by hand; somebody else has the name; the old
 * handle must know, and must not touch the new hold. */
CASE("a handle whose hold was lost leaves the next hold alone")
{
	const char *name = test_name("lost");
	struct rowlock_client *one = test_client(TTL_MS);
	struct rowlock_client *two = test_client(TTL_MS);
	struct rowlock *a = test_lock(one, ROWLOCK_LEASE, 0, name);
	struct rowlock *b = test_lock(two, ROWLOCK_LEASE, 0, name);
	struct rowlock *c = test_lock(one, ROWLOCK_LEASE, 0, name);
	uint64_t token;

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

CASE("tokens grow from hold to hold and stay in a hold")
{
	const char *name = test_name("token");
	TEST_CLIENT(client, test_client(TTL_MS));
	uint64_t last = 0, token, same;
	size_t i;

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
}

CASE_MAIN(test_main)
