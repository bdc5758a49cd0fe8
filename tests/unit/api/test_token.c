/* SPDX-License-Identifier: MIT */
/*
 * Tokens: drawn once for each hold, larger each time, and never shown for a
 * hold that may be over.
 */
#include "fake/fake.h"

#include <string.h>

#include "hold/handle.h"
#include "test.h"

static const struct fake_answer no_answer = { .given = true,
					      .result = RLK_UNKNOWN };

static uint64_t token_of(struct rowlock *lock)
{
	uint64_t token = 0;

	assert_ok(rowlock_token(lock, &token, &err));
	assert_true(token > 0);
	return token;
}

FAKE("a token is drawn once for each hold")
{
	static const enum rowlock_strategy strategies[] = { ROWLOCK_LEASE,
							    ROWLOCK_ROW };

	for (size_t i = 0; i < TEST_SIZE(strategies); i++) {
		uint64_t last = 0;

		fake_setup(state);
		FAKE_CLIENT();
		FAKE_LOCK(a, client, strategies[i], ROWLOCK_OWNER_THREAD,
			  "job");
		FAKE_LOCK(b, client, strategies[i], ROWLOCK_OWNER_THREAD,
			  "job");
		for (unsigned int hold = 1; hold <= 3; hold++) {
			assert_ok(rowlock_acquire(a, 0, &err));
			assert_ok(rowlock_acquire(b, 0, &err));
			assert_true(token_of(a) > last);
			last = token_of(a);
			/* The hold's, not the handle's. */
			assert_true(token_of(b) == last);
			assert_int_equal(fake_count(FAKE_DRAW), hold);
			assert_ok(rowlock_release(b, &err));
			assert_ok(rowlock_release(a, &err));
		}
	}
}

/* The table of tokens is made anew. */
FAKE("a draw that is refused for a moment is made again")
{
	static const enum rowlock_strategy strategies[] = { ROWLOCK_LEASE,
							    ROWLOCK_ROW };

	for (size_t i = 0; i < TEST_SIZE(strategies); i++) {
		FAKE_JOB(strategies[i], ROWLOCK_OWNER_HANDLE);
		unsigned int before = fake_count(FAKE_DRAW);
		FAKE_PERSON(bob);

		assert_ok(rowlock_acquire(lock, 0, &err));
		fake_next(FAKE_DRAW,
			  (struct fake_answer){ .given = true,
						.result = RLK_REFUSED,
						.code = ROWLOCK_ECONNECT });
		fake_tell(bob, FAKE_DO_TOKEN, lock, 0);
		assert_ok(fake_pass_hear(bob, &err));
		assert_true(token_of(lock) > 0);
		assert_int_equal(fake_count(FAKE_DRAW), before + 2);
		assert_ok(rowlock_release(lock, &err));
	}
}

/* It took over without the last commits, and its clock is behind. */
FAKE("a server that has lost the tokens is told of them")
{
	static const struct {
		enum rowlock_strategy strategy;
		unsigned int flags;
	} ways[] = {
		{ ROWLOCK_LEASE, 0 },
		{ ROWLOCK_LEASE, ROWLOCK_TOKEN_WITH_GRANT },
		{ ROWLOCK_ROW, 0 },
	};

	for (size_t i = 0; i < TEST_SIZE(ways); i++) {
		uint64_t last = 0;

		fake_setup(state);
		FAKE_CLIENT();
		FAKE_LOCK(lock, client, ways[i].strategy, ways[i].flags, "job");
		for (unsigned int hold = 0; hold < 3; hold++) {
			assert_ok(rowlock_acquire(lock, 0, &err));
			assert_true(token_of(lock) > last);
			assert_true(token_of(lock) == token_of(lock));
			last = token_of(lock);
			assert_ok(rowlock_release(lock, &err));
		}
		assert_int_equal(fake_count(FAKE_RAISE), 0);
		fake_tokens_forget();
		fake_next(FAKE_RAISE,
			  (struct fake_answer){ .given = true,
						.result = RLK_CONFLICT });
		assert_ok(rowlock_acquire(lock, 0, &err));
		assert_true(token_of(lock) > last);
		assert_int_equal(fake_count(FAKE_RAISE), 2);
		assert_ok(rowlock_release(lock, &err));
	}
}

/* The hold may be over by the time that the server is told. */
FAKE("a token that is too small is not shown")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	uint64_t token = 99;

	for (int i = 0; i < 2; i++) {
		assert_ok(rowlock_acquire(lock, 0, &err));
		token_of(lock);
		assert_ok(rowlock_release(lock, &err));
	}
	fake_tokens_forget();
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_next(FAKE_RAISE,
		  (struct fake_answer){ .given = true, .result = RLK_FAILED });
	assert_code(rowlock_token(lock, &token, &err), ROWLOCK_EDB, &err);
	assert_int_equal(token, 99);
	assert_int_equal(rowlock_held(lock), 1);
	assert_true(token_of(lock) > 2);
	assert_ok(rowlock_release(lock, &err));
}

FAKE("the token of a hold that ends meanwhile is not shown")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	uint64_t token = 99;

	fake_always(FAKE_BEAT, no_answer);
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_next(FAKE_DRAW, (struct fake_answer){ .creep_ms = 27000 });
	assert_code(rowlock_token(lock, &token, &err), ROWLOCK_ELOST, &err);
	assert_int_equal(token, 99);
	assert_int_equal(rowlock_held(lock), 0);
}

FAKE("a stale holder draws nothing and learns it")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	uint64_t token = 99;

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_lease_remove("job");
	assert_int_equal(rowlock_held(lock), 1);
	assert_code(rowlock_token(lock, &token, &err), ROWLOCK_ELOST, &err);
	assert_int_equal(token, 99);
	assert_int_equal(rowlock_held(lock), 0);
	/* From now on without asking. */
	assert_code(rowlock_token(lock, &token, &err), ROWLOCK_ELOST, &err);
	assert_int_equal(fake_count(FAKE_DRAW), 1);
}

static unsigned int gets_of(int bay)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < fake_count(FAKE_GET); i++)
		count += fake_call(FAKE_GET, i).bay == bay;
	return count;
}

/* What is drawn in a transaction is drawn again after its rollback. */
FAKE("a row token is drawn where each statement commits")
{
	FAKE_JOB(ROWLOCK_ROW, 0);

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_int_equal(gets_of(RLK_BAY_ROW), 1);
	token_of(lock);
	assert_int_equal(gets_of(RLK_BAY_ROW), 1);
	assert_true(fake_call(FAKE_DRAW, 0).conn != fake_row("job"));
	assert_ok(rowlock_release(lock, &err));
}

FAKE("a row token is confirmed on the hold's connection")
{
	FAKE_JOB(ROWLOCK_ROW, 0);
	uint64_t token = 99;

	assert_ok(rowlock_acquire(lock, 0, &err));
	token_of(lock);
	assert_int_equal(fake_count(FAKE_CONFIRM), 1);
	assert_true(fake_call(FAKE_CONFIRM, 0).conn == fake_row("job"));
	assert_true(fake_call(FAKE_DRAW, 0).conn != fake_row("job"));
	assert_true(fake_call(FAKE_CONFIRM, 0).order >
		    fake_call(FAKE_DRAW, 0).order);
	assert_ok(rowlock_release(lock, &err));
	/* Drawn, and then the connection is not there any more. */
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_next(FAKE_CONFIRM, no_answer);
	assert_code(rowlock_token(lock, &token, &err), ROWLOCK_ELOST, &err);
	assert_int_equal(token, 99);
	assert_int_equal(rowlock_held(lock), 0);
}

FAKE("a draw is tried again")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	static const int results[] = { RLK_BUSY, RLK_CONFLICT, RLK_KILLED,
				       RLK_UNKNOWN };

	assert_ok(rowlock_acquire(lock, 0, &err));
	for (size_t i = 0; i < TEST_SIZE(results); i++)
		fake_next(FAKE_DRAW, (struct fake_answer){
					 .given = true, .result = results[i] });
	/* What was drawn without an answer makes a gap, nothing worse. */
	assert_int_equal(token_of(lock), 5);
	assert_int_equal(fake_count(FAKE_DRAW), 5);
	assert_ok(rowlock_release(lock, &err));
}

FAKE("a refused draw may be asked again")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	uint64_t token;

	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_next(FAKE_DRAW, (struct fake_answer){ .given = true,
						   .skip = true,
						   .result = RLK_REFUSED });
	assert_code(rowlock_token(lock, &token, &err), ROWLOCK_EDB, &err);
	assert_non_null(strstr(err.message, "token of 'job'"));
	assert_int_equal(rowlock_held(lock), 1);
	token_of(lock);
	assert_ok(rowlock_release(lock, &err));
}

FAKE("a token with the grant is there, or there is no hold")
{
	FAKE_JOB(ROWLOCK_LEASE, ROWLOCK_TOKEN_WITH_GRANT);
	const struct fake_answer refused = { .given = true,
					     .skip = true,
					     .result = RLK_REFUSED };
	uint64_t token;

	/* In one packet; of the second hold it is another. */
	assert_ok(rowlock_acquire(lock, 0, &err));
	token = token_of(lock);
	assert_ok(rowlock_release(lock, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_true(token_of(lock) > token);
	assert_ok(rowlock_release(lock, &err));
	assert_int_equal(fake_count(FAKE_BATCH), 2);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 0);
	assert_int_equal(fake_count(FAKE_DRAW), 0);
	/* One by one, to see what is refused. */
	fake_next(FAKE_BATCH, refused);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_int_equal(fake_count(FAKE_ACQUIRE), 1);
	assert_int_equal(fake_count(FAKE_DRAW), 1);
	assert_ok(rowlock_release(lock, &err));
	fake_next(FAKE_BATCH, refused);
	fake_next(FAKE_DRAW, refused);
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_EDB, &err);
	assert_int_equal(rowlock_held(lock), 0);
	assert_int_equal(fake_lease("job"), 0);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_release(lock, &err));
}

/* As if it had been drawn by itself, it has its bell, and what cannot pass is
 * not tried for ever. */
FAKE("a token with the grant takes the bell, too")
{
	struct rowlock_client_options options = fake_options();

	options.wait_connections = 4;
	options.flags ^= ROWLOCK_POLL;
	FAKE_CLIENT_AS(client, fake_client_with(&options));
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, ROWLOCK_TOKEN_WITH_GRANT, "job");
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_int_equal(fake_count(FAKE_ACQUIRE), 0);
	assert_true(fake_bell("job") != 0);
	assert_ok(rowlock_release(lock, &err));
	assert_true(fake_bell("job") == 0);
}

static void packet_of_one_that_does_not_pass(const struct fake_answer *answer,
					     int times)
{
	FAKE_JOB(ROWLOCK_LEASE, ROWLOCK_TOKEN_WITH_GRANT);

	for (int i = 1; i <= times; i++) {
		assert_true(client->unshared_until_ms == 0);
		fake_next(FAKE_BATCH, *answer);
		assert_ok(rowlock_acquire(lock, 0, &err));
		assert_ok(rowlock_release(lock, &err));
	}
	assert_true(client->unshared_until_ms > 0);
	assert_ok(rowlock_acquire(lock, 0, &err));
	token_of(lock);
	assert_ok(rowlock_release(lock, &err));
	assert_int_equal(fake_count(FAKE_BATCH), times);
	/* One more is tried, which is enough. */
	for (int i = 1; i <= 2; i++) {
		fake_advance(60000);
		fake_next(FAKE_BATCH, *answer);
		assert_ok(rowlock_acquire(lock, 5000, &err));
		assert_ok(rowlock_release(lock, &err));
		assert_int_equal(fake_count(FAKE_BATCH), times + i);
		assert_ok(rowlock_acquire(lock, 0, &err));
		assert_ok(rowlock_release(lock, &err));
		assert_int_equal(fake_count(FAKE_BATCH), times + i);
	}
}

FAKE("packets of one that do not pass are given up")
{
	static const struct fake_answer syntax = { .given = true,
						   .skip = true,
						   .result = RLK_REFUSED,
						   .mysql = 1064 };
	static const struct fake_answer cut = { .given = true,
						.skip = true,
						.result = RLK_UNKNOWN };

	packet_of_one_that_does_not_pass(&syntax, 1);
	fake_setup(state);
	packet_of_one_that_does_not_pass(&cut, 3);
}

/* The callbacks of a client run one after the other. */
static void lose_another(struct rowlock_client *client)
{
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, 0, "other");
	_Atomic int told = 0;

	rowlock_on_lost(lock, fake_count_loss, (void *) &told);
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_lease_remove("other");
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
	fake_until(fake_is_one, (void *) &told);
}

FAKE("a grant that is lost before its token is drawn is asked for again")
{
	FAKE_JOB(ROWLOCK_ROW, ROWLOCK_TOKEN_WITH_GRANT);
	_Atomic int told = 0;

	rowlock_on_lost(lock, fake_count_loss, (void *) &told);
	fake_next(FAKE_CONFIRM, no_answer);
	assert_ok(rowlock_acquire(lock, 10000, &err));
	assert_int_equal(fake_count(FAKE_DRAW), 2);
	assert_int_equal(rowlock_held(lock), 1);
	assert_int_equal(rowlock_depth(lock), 1);
	/* He never knew of the first. */
	lose_another(client);
	assert_int_equal(told, 0);
	/* Of this one he is told. */
	fake_next(FAKE_CONFIRM, no_answer);
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
	fake_until(fake_is_one, (void *) &told);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
}

/* The row and the token cost a statement each. */
static struct rowlock_client *client_without_packets(void)
{
	struct rowlock_client_options options = fake_options();

	options.batch_size = 1;
	return fake_client_with(&options);
}

FAKE("a grant that is lost at the deadline leaves nothing to release")
{
	FAKE_CLIENT_AS(client, client_without_packets());
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, ROWLOCK_TOKEN_WITH_GRANT, "job");

	fake_always(FAKE_BEAT, no_answer);
	fake_next(FAKE_DRAW, (struct fake_answer){ .creep_ms = 27000 });
	assert_code(rowlock_acquire(lock, 10000, &err), ROWLOCK_ECONNECT, &err);
	assert_non_null(strstr(err.message, "'job'"));
	/* There is nothing to release. */
	assert_code(rowlock_release(lock, &err), ROWLOCK_ENOTHELD, &err);
}

/* It is not meant for the next acquire. */
FAKE("a cancel that comes behind the grant is forgotten")
{
	FAKE_CLIENT_AS(client, client_without_packets());
	FAKE_LOCK(lock, client, ROWLOCK_LEASE,
		  ROWLOCK_TOKEN_WITH_GRANT | ROWLOCK_OWNER_HANDLE, "job");
	FAKE_PERSON(bob);

	fake_next(FAKE_DRAW, (struct fake_answer){ .wait = true });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, 10000);
	fake_await(FAKE_DRAW, 1);
	rowlock_cancel(lock);
	fake_let(FAKE_DRAW);
	assert_ok(fake_hear(bob, &err));
	assert_ok(rowlock_release(lock, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_release(lock, &err));
}

/* KILL is refused, so the wait for the row goes on beyond its time. */
FAKE("a grant that comes too late for its token is given back")
{
	FAKE_JOB(ROWLOCK_ROW, ROWLOCK_TOKEN_WITH_GRANT);
	FAKE_PERSON(bob);

	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .wait = true });
	fake_next(FAKE_KILL_QUERY, (struct fake_answer){
				       .given = true,
				       .skip = true,
				       .result = RLK_REFUSED,
				   });
	fake_next(FAKE_RESUME, (struct fake_answer){ .creep_ms = 35,
						     .given = true,
						     .result = RLK_DONE });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, 500);
	fake_await(FAKE_ACQUIRE, 1);
	fake_advance(500);
	assert_code(fake_hear(bob, &err), ROWLOCK_ETIMEDOUT, &err);
	assert_non_null(strstr(err.message, "not drawn in time"));
	assert_int_equal(fake_count(FAKE_DRAW), 0);
	assert_code(rowlock_release(lock, &err), ROWLOCK_ENOTHELD, &err);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_release(lock, &err));
}

FAKE("a token with the grant does not wait for a ping that hangs")
{
	FAKE_JOB(ROWLOCK_ROW, ROWLOCK_TOKEN_WITH_GRANT);
	FAKE_PERSON(bob);

	fake_row_unlock("job");
	fake_next(FAKE_DRAW, (struct fake_answer){ .wait = true });
	fake_next(FAKE_CONFIRM, (struct fake_answer){ .wait = true });
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, 3500);
	fake_await(FAKE_DRAW, 1);
	fake_advance(3000);
	fake_await(FAKE_CONFIRM, 1);
	/* The ping has the hold's connection, for two seconds more. */
	fake_let(FAKE_DRAW);
	fake_advance(600);
	assert_code(fake_hear(bob, &err), ROWLOCK_ETIMEDOUT, &err);
	assert_int_equal(rowlock_held(lock), 0);
	fake_let(FAKE_CONFIRM);
}

FAKE("a draw without a connection in time is a wait that was too short")
{
	FAKE_CLIENT_AS(client, client_without_packets());
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, ROWLOCK_TOKEN_WITH_GRANT, "job");
	const struct fake_answer none = { .given = true,
					  .result = ROWLOCK_ETIMEDOUT };

	/* The session is there from now on. */
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_release(lock, &err));
	fake_next(FAKE_GET, (struct fake_answer){ 0 });
	fake_next(FAKE_GET, none);
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .creep_ms = 30 });
	assert_code(rowlock_acquire(lock, 20, &err), ROWLOCK_ETIMEDOUT, &err);
	assert_non_null(strstr(err.message, "not held"));
	assert_int_equal(fake_lease("job"), 0);
	/* A try has no time of its own to run out. */
	fake_next(FAKE_GET, (struct fake_answer){ 0 });
	fake_next(FAKE_GET, none);
	fake_next(FAKE_GET, none); /* nor aside */
	assert_code(rowlock_acquire(lock, 0, &err), ROWLOCK_EDB, &err);
}

CASE_MAIN(case_main)
