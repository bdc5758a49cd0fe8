/* SPDX-License-Identifier: MIT */
/*
 * A connection that is not to be had, or a server that refuses or does not
 * answer, at the steps between the well trodden ones: what the caller is told,
 * and that nothing is left behind.
 */
#include "fake/fake.h"

#include <string.h>

#include "hold/handle.h"
#include "test.h"

static const struct fake_answer no_answer = { .given = true,
					      .skip = true,
					      .result = RLK_UNKNOWN };
static const struct fake_answer pending = { .given = true,
					    .skip = true,
					    .result = RLK_PENDING };
static const struct fake_answer pending_for_long = {
	.given = true, .skip = true, .result = RLK_PENDING, .ms = 5000
};
static const struct fake_answer no_answer_for_long = {
	.given = true, .skip = true, .result = RLK_UNKNOWN, .ms = 5000
};
static const struct fake_answer refused = { .given = true,
					    .skip = true,
					    .result = RLK_REFUSED };
static const struct fake_answer no_conn = { .given = true,
					    .result = ROWLOCK_ECONNECT };
static const struct fake_answer all_busy = { .given = true,
					     .result = ROWLOCK_ETIMEDOUT };
static const struct fake_answer normal = { .given = false };

#define assert_says(err, part)                                                 \
	do {                                                                   \
		if (!strstr((err)->message, part))                             \
			fail_msg("'%s' does not say '%s'", (err)->message,     \
				 part);                                        \
	} while (0)

/* A client whose keeper has its connections: the next that asks the pool for
 * one is who a test means. */
static struct rowlock_client *settled_client(void)
{
	struct rowlock_client *client = fake_client();

	fake_await(FAKE_TIME, 1);
	return client;
}

#define SETTLED_JOB(strategy)                                                  \
	FAKE_CLIENT_AS(client, settled_client());                              \
	FAKE_LOCK(lock, client, strategy, 0, "job")

/* Whoever waits gets it in the end, whatever happened first. */
static void waits_and_gets_it(struct rowlock *lock)
{
	FAKE_PERSON(bob);

	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	assert_ok(fake_pass_hear(bob, &err));
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
}

/* ----------------------------------------------------- the pool refuses */

FAKE("a try without a connection says why")
{
	SETTLED_JOB(ROWLOCK_ROW);

	fake_next(FAKE_GET, all_busy);
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_EDB, &err);
	assert_says(&err, "acquire 'job' (row): ");
	fake_next(FAKE_GET, no_conn);
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_ECONNECT, &err);
	fake_next(FAKE_GET, (struct fake_answer){ .given = true,
						  .result = ROWLOCK_EAUTH });
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_EAUTH, &err);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 0);
}

FAKE("a waiter without a connection goes on")
{
	SETTLED_JOB(ROWLOCK_ROW);

	fake_next(FAKE_GET, all_busy);
	fake_next(FAKE_GET, no_conn);
	waits_and_gets_it(lock);
	/* But not against a password that is wrong. */
	fake_next(FAKE_GET, (struct fake_answer){ .given = true,
						  .result = ROWLOCK_EAUTH });
	assert_code(rowlock_acquire(lock, 1000, &err), ROWLOCK_EAUTH, &err);
}

FAKE("a session without a connection is told")
{
	SETTLED_JOB(ROWLOCK_LEASE);

	fake_next(FAKE_GET, no_conn);
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_ECONNECT, &err);
	assert_int_equal(fake_sessions(), 0);
	fake_next(FAKE_OPEN, pending);
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_ECONNECT, &err);
	assert_says(&err, "no answer from fake:3306");
	assert_int_equal(fake_count(FAKE_ACQUIRE), 0);
	waits_and_gets_it(lock);
}

FAKE("calls of a holder say that all connections are busy")
{
	SETTLED_JOB(ROWLOCK_LEASE);
	uint64_t token;

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_next(FAKE_GET, all_busy);
	assert_code(rowlock_verify(lock, &err), ROWLOCK_EDB, &err);
	assert_says(&err, "all lease connections of this client to fake:3306");
	fake_next(FAKE_GET, no_conn);
	assert_code(rowlock_token(lock, &token, &err), ROWLOCK_ECONNECT, &err);
	assert_int_equal(rowlock_held(lock), 1);
	fake_next(FAKE_GET, all_busy);
	fake_next(FAKE_GET, all_busy); /* aside, too */
	assert_code(rowlock_release(lock, &err), ROWLOCK_EDB, &err);
	assert_int_equal(rowlock_held(lock), 0);
	/* The chores remove the row. */
	fake_pass_await(FAKE_RELEASE, 1);
	waits_and_gets_it(lock);
}

/* ------------------------------------------------------- making a row */

FAKE("a row that cannot be made is told")
{
	SETTLED_JOB(ROWLOCK_ROW);

	fake_next(FAKE_MAKE, refused);
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_EDB, &err);
	assert_says(&err, "acquire 'job' (row): operation");
	fake_next(FAKE_MAKE, refused);
	assert_code(rowlock_acquire(lock, 1000, &err), ROWLOCK_EDB, &err);
	fake_next(FAKE_MAKE, no_answer);
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_ECONNECT, &err);
	fake_next(FAKE_MAKE, pending);
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_ECONNECT, &err);
	assert_says(&err, "no answer from fake:3306");
	/* The connection that waits comes first. */
	fake_next(FAKE_GET, normal);
	fake_next(FAKE_GET, no_conn);
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_ECONNECT, &err);
	assert_int_equal(fake_count(FAKE_MAKE), 4);
}

FAKE("making in others' way is tried again")
{
	static const enum rlk_fault faults[] = { RLK_BUSY, RLK_CONFLICT,
						 RLK_KILLED, RLK_UNKNOWN,
						 RLK_PENDING };
	SETTLED_JOB(ROWLOCK_ROW);

	for (size_t i = 0; i < TEST_SIZE(faults); i++)
		fake_next(FAKE_MAKE,
			  (struct fake_answer){ .given = true,
						.skip = true,
						.result = faults[i] });
	waits_and_gets_it(lock);
	assert_int_equal(fake_count(FAKE_MAKE), 1 + TEST_SIZE(faults));
}

FAKE("making without a connection is tried again")
{
	SETTLED_JOB(ROWLOCK_ROW);

	fake_next(FAKE_GET, normal);
	fake_next(FAKE_GET, all_busy);
	fake_next(FAKE_GET, normal);
	fake_next(FAKE_GET, no_conn);
	waits_and_gets_it(lock);
	assert_int_equal(fake_count(FAKE_MAKE), 1);
}

/* -------------------------------------------------------- taking back */

/* Bob waits in the server for what another holds, until his time is up. */
static int wait_in_vain(struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	struct fake_person *bob = fake_person();
	int code;

	fake_tell(bob, FAKE_DO_ACQUIRE, lock, 1000);
	fake_await(FAKE_ACQUIRE, 1);
	code = fake_pass_hear(bob, reterr);
	fake_person_end(bob);
	return code;
}

/* The first fence that is answered may be the last. */
static void chores_fence(void)
{
	unsigned int before = fake_count(FAKE_FENCE);

	fake_always(FAKE_FENCE, normal);
	fake_pass_await(FAKE_FENCE, before + 1);
}

FAKE("a wait that is never taken back still times out")
{
	SETTLED_JOB(ROWLOCK_ROW);

	fake_row_lock("job");
	fake_always(FAKE_RESUME, pending);
	fake_always(FAKE_FENCE, no_answer);
	assert_code(wait_in_vain(lock, &err), ROWLOCK_ETIMEDOUT, &err);
	assert_says(&err, "'job'");
	assert_says(&err, "whether others hold it is not known");
	/* The chores go on with the fence. */
	chores_fence();
}

FAKE("a wait for a silent server is no wait for others")
{
	SETTLED_JOB(ROWLOCK_ROW);
	struct fake_person *bob = fake_person();

	fake_row_lock("job");
	fake_always(FAKE_RESUME, pending);
	/* The fences of the chores take no time from the wait. */
	fake_always(FAKE_FENCE, no_answer);
	fake_next(FAKE_FENCE, no_answer_for_long);
	/* It is up in the pause after its own fence. */
	fake_tell(bob, FAKE_DO_ACQUIRE, lock,
		  client->row_slice_ms + 2 * client->call_timeout_ms + 1);
	fake_await(FAKE_ACQUIRE, 1);
	fake_advance(client->row_slice_ms + client->call_timeout_ms);
	fake_await(FAKE_FENCE, 1);
	assert_code(fake_pass_hear(bob, &err), ROWLOCK_ECONNECT, &err);
	assert_says(&err, "no answer from");
	fake_person_end(bob);
	chores_fence();
}

FAKE("a wait that cannot be killed is taken back all the same")
{
	SETTLED_JOB(ROWLOCK_ROW);

	fake_row_lock("job");
	/* The waiter's own, then the one that would carry the KILL. */
	fake_next(FAKE_GET, normal);
	fake_next(FAKE_GET, no_conn);
	assert_code(wait_in_vain(lock, &err), ROWLOCK_ETIMEDOUT, &err);
	assert_int_equal(fake_count(FAKE_KILL_QUERY), 0);
	assert_int_equal(fake_count(FAKE_RESUME), 1);
}

FAKE("a lock that came with the kill goes with its connection")
{
	SETTLED_JOB(ROWLOCK_ROW);

	fake_row_lock("job");
	fake_next(FAKE_RELEASE, no_answer);
	assert_code(wait_in_vain(lock, &err), ROWLOCK_ETIMEDOUT, &err);
	assert_int_equal(fake_count(FAKE_RELEASE), 1);
	assert_int_equal(fake_lent(RLK_BAY_ROW), 0);
	fake_row_unlock("job");
	waits_and_gets_it(lock);
}

FAKE("a grant that cannot be confirmed is none")
{
	SETTLED_JOB(ROWLOCK_ROW);
	FAKE_PERSON(bob);

	fake_row_unlock("job");
	/* A third of the bound, and it may be over already. */
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .ms = 3000 });
	fake_next(FAKE_CONFIRM, no_answer);
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	assert_ok(fake_pass_hear(bob, &err));
	assert_int_equal(fake_count(FAKE_CONFIRM), 1);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 2);
	assert_true(fake_row("job") == fake_call(FAKE_ACQUIRE, 1).conn);
	assert_int_equal(fake_ask(bob, FAKE_DO_RELEASE, lock, 0), 0);
}

/* --------------------------------------------------- a holder's calls */

FAKE("a release that is always in the way goes to the chores")
{
	SETTLED_JOB(ROWLOCK_LEASE);

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_always(FAKE_RELEASE, (struct fake_answer){ .given = true,
							.skip = true,
							.result = RLK_BUSY,
							.ms = 1000 });
	assert_code(rowlock_release(lock, &err), ROWLOCK_EDB, &err);
	assert_says(&err, "not held any more, but its row may be there");
	assert_says(&err, "a transaction on");
	assert_int_equal(rowlock_held(lock), 0);
	assert_int_not_equal(fake_lease("job"), 0);
	fake_always(FAKE_RELEASE, normal);
	waits_and_gets_it(lock);
}

FAKE("calls without an answer say so")
{
	SETTLED_JOB(ROWLOCK_LEASE);
	uint64_t token;

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_next(FAKE_CONFIRM, pending);
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ECONNECT, &err);
	assert_says(&err, "nothing is known: no answer from fake:3306");
	fake_next(FAKE_DRAW, pending_for_long);
	assert_code(rowlock_token(lock, &token, &err), ROWLOCK_ECONNECT, &err);
	assert_says(&err, "no answer from fake:3306");
	assert_int_equal(rowlock_held(lock), 1);
	/* Sent again, as its row may be gone or not. */
	fake_next(FAKE_RELEASE, pending);
	assert_ok(rowlock_release(lock, &err));
	assert_int_equal(fake_count(FAKE_RELEASE), 2);
	assert_int_equal(fake_lease("job"), 0);
}

FAKE("a draw that never gets an answer ends at the deadline")
{
	SETTLED_JOB(ROWLOCK_LEASE);
	uint64_t token;

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_always(FAKE_DRAW, (struct fake_answer){ .given = true,
						     .skip = true,
						     .result = RLK_UNKNOWN,
						     .ms = 400 });
	assert_code(rowlock_token(lock, &token, &err), ROWLOCK_ECONNECT, &err);
	assert_true(fake_count(FAKE_DRAW) > 1);
	assert_int_equal(rowlock_held(lock), 1);
	assert_ok(rowlock_release(lock, &err));
}

CASE_MAIN(case_main)
