/* SPDX-License-Identifier: MIT */
/*
 * Requests to give a lease back: who is told, and when, and what the asker
 * reads.
 */
#include "fake/fake.h"

#include <rowlock/admin.h>
#include <stdatomic.h>
#include <string.h>

#include "test.h"

#define BEAT_MS 10000

/* The requests that the callback was told of, and its answer. */
struct heard {
	_Atomic unsigned int count;
	_Atomic int answer;
	struct rowlock_revocation last;
};

static enum rowlock_answer hear(const struct rowlock_revocation *asked,
				void *arg)
{
	struct heard *heard = arg;

	heard->last = *asked;
	atomic_fetch_add(&heard->count, 1);
	return (enum rowlock_answer) atomic_load(&heard->answer);
}

static struct rowlock_client *listener(struct heard *heard)
{
	struct rowlock_client_options options = fake_options();

	options.on_revoke = hear;
	options.revoke_arg = heard;
	return fake_client_with(&options);
}

/* As most cases begin: @heard, @client, which listens, and @lock of "job". */
#define LISTENING_JOB(said)                                                    \
	struct heard heard = { .answer = (said) };                             \
	FAKE_CLIENT_AS(client, listener(&heard));                              \
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, 0, "job")

static struct fake_answer refused(int code)
{
	return (struct fake_answer){
		.skip = true, .given = true, .result = RLK_REFUSED, .code = code
	};
}

static bool is_lost(void *arg)
{
	return !rowlock_held(arg);
}

static enum rowlock_answer answer_for(struct rowlock_client *client,
				      const char *name)
{
	struct rowlock_revocation known = { .size = sizeof(known) };

	assert_ok(rowlock_revoke(client, name, NULL, &known, &err));
	return known.answer;
}

FAKE("a holder is told behind its next beat, once, and its answer is read")
{
	LISTENING_JOB(ROWLOCK_ANSWER_LATER);

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_int_equal(answer_for(client, "job"), ROWLOCK_ANSWER_UNASKED);
	assert_ok(rowlock_revoke(client, "job", "a backup", NULL, &err));
	assert_int_equal(answer_for(client, "job"), ROWLOCK_ANSWER_NONE);
	assert_int_equal(heard.count, 0);
	fake_advance(BEAT_MS);
	fake_await(FAKE_REVOCATION_ANSWER, 1);
	assert_int_equal(heard.count, 1);
	assert_string_equal(heard.last.name, "job");
	assert_string_equal(heard.last.reason, "a backup");
	assert_int_equal(heard.last.attempt, rowlock_attempt(lock));
	assert_int_equal(answer_for(client, "job"), ROWLOCK_ANSWER_LATER);
	/* It holds on, and hears no more of it. */
	fake_advance(BEAT_MS);
	fake_await(FAKE_LEASES_THERE, 2);
	assert_int_equal(heard.count, 1);
	assert_true(rowlock_held(lock));
	assert_ok(rowlock_release(lock, &err));
}

FAKE("what is no answer is told as heard")
{
	LISTENING_JOB(77);

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_revoke(client, "job", "", NULL, &err));
	fake_advance(BEAT_MS);
	fake_await(FAKE_REVOCATION_ANSWER, 1);
	assert_int_equal(answer_for(client, "job"), ROWLOCK_ANSWER_HEARD);
	assert_ok(rowlock_release(lock, &err));
}

FAKE("an answer that does not arrive is asked for once more")
{
	LISTENING_JOB(ROWLOCK_ANSWER_NO);

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_revoke(client, "job", "", NULL, &err));
	fake_next(FAKE_REVOCATION_ANSWER,
		  (struct fake_answer){
		      .skip = true, .given = true, .result = RLK_CONFLICT });
	fake_advance(BEAT_MS);
	fake_pass_await(FAKE_REVOCATION_ANSWER, 2);
	assert_int_equal(heard.count, 2);
	assert_int_equal(answer_for(client, "job"), ROWLOCK_ANSWER_NO);
	assert_ok(rowlock_release(lock, &err));
}

/* An account that may read requests, and not write. */
FAKE("an answer that is refused is not told again and again")
{
	LISTENING_JOB(ROWLOCK_ANSWER_LATER);

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_revoke(client, "job", "", NULL, &err));
	fake_next(FAKE_REVOCATION_ANSWER, refused(ROWLOCK_EAUTH));
	fake_advance(BEAT_MS);
	fake_pass_await(FAKE_REVOCATION_ANSWER, 1);
	fake_advance(BEAT_MS);
	fake_pass_await(FAKE_LEASES_THERE, 2);
	assert_int_equal(heard.count, 1);
	assert_int_equal(fake_count(FAKE_REVOCATION_ANSWER), 1);
	assert_ok(rowlock_release(lock, &err));
}

FAKE("a later hold of the name does not hear of a request for an earlier one")
{
	LISTENING_JOB(ROWLOCK_ANSWER_LATER);

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_revoke(client, "job", "", NULL, &err));
	assert_ok(rowlock_release(lock, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	fake_advance(BEAT_MS);
	fake_await(FAKE_REVOCATIONS_OF, 1);
	fake_advance(BEAT_MS);
	fake_await(FAKE_LEASES_THERE, 2);
	assert_int_equal(heard.count, 0);
	assert_int_equal(answer_for(client, "job"), ROWLOCK_ANSWER_UNASKED);
	assert_ok(rowlock_release(lock, &err));
}

FAKE("a client without a callback asks the server nothing")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_revoke(client, "job", "", NULL, &err));
	fake_advance(BEAT_MS);
	fake_await(FAKE_LEASES_OF, 1);
	fake_advance(BEAT_MS);
	fake_await(FAKE_LEASES_THERE, 2);
	assert_int_equal(fake_count(FAKE_REVOCATIONS_OF), 0);
	assert_int_equal(answer_for(client, "job"), ROWLOCK_ANSWER_NONE);
	assert_ok(rowlock_release(lock, &err));
}

/* Tables of version 7; an account that was made for them. A break is found as
 * ever. */
FAKE("without the table, or a right on it, a look is not repeated")
{
	static const int codes[] = { ROWLOCK_ESCHEMA, ROWLOCK_EAUTH };

	for (size_t i = 0; i < TEST_SIZE(codes); i++) {
		LISTENING_JOB(ROWLOCK_ANSWER_NONE);
		unsigned int before = fake_count(FAKE_REVOCATIONS_OF);

		assert_ok(rowlock_acquire(lock, 0, &err));
		fake_next(FAKE_REVOCATIONS_OF, refused(codes[i]));
		fake_lease_break("job");
		fake_advance(BEAT_MS);
		fake_pass_until(is_lost, lock);
		fake_await(FAKE_REVOCATIONS_OF, before + 1);
		fake_advance(BEAT_MS);
		assert_int_equal(fake_count(FAKE_REVOCATIONS_OF), before + 1);
	}
}

FAKE("nobody is asked for what nobody holds")
{
	FAKE_CLIENT();
	char reason[ROWLOCK_INFO_MAX + 2];

	assert_code(rowlock_revoke(client, "job", "", NULL, &err),
		    ROWLOCK_ENOTHELD, &err);
	assert_non_null(strstr(err.message, "'job'"));
	assert_code(rowlock_revoke(client, "", "", NULL, &err), ROWLOCK_ENAME,
		    &err);
	memset(reason, 'x', sizeof(reason) - 1);
	reason[sizeof(reason) - 1] = '\0';
	assert_code(rowlock_revoke(client, "job", reason, NULL, &err),
		    ROWLOCK_EINVAL, &err);
	assert_code(rowlock_revoke(NULL, "job", "", NULL, &err), ROWLOCK_EINVAL,
		    &err);
	assert_int_equal(fake_count(FAKE_REVOCATION_ASK), 0);
}

FAKE("a reaper removes requests for what is over")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	struct rowlock_reap_result result = { .size = sizeof(result) };

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_revoke(client, "job", "", NULL, &err));
	assert_ok(rowlock_reap(client, NULL, &result, &err));
	assert_int_equal(answer_for(client, "job"), ROWLOCK_ANSWER_NONE);
	assert_true(fake_revoked());
	assert_ok(rowlock_release(lock, &err));
	assert_ok(rowlock_reap(client, NULL, &result, &err));
	assert_false(fake_revoked());
}

/* The reaper's account of version 7 has no right on the table. */
FAKE("a pass of a reaper goes without that")
{
	FAKE_CLIENT();
	struct rowlock_reap_result result = { .size = sizeof(result) };

	fake_next(FAKE_REVOCATIONS_DROP, refused(ROWLOCK_EAUTH));
	assert_ok(rowlock_reap(client, NULL, &result, &err));
}

CASE_MAIN(case_main)
