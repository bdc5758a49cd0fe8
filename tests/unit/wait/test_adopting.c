/* SPDX-License-Identifier: MIT */
/*
 * A lease that another process has exported is adopted: without an answer,
 * with one that comes too late, and while the client's own session ends.
 */
#include "fake/fake.h"

#include <pthread.h>
#include <rowlock/admin.h>
#include <string.h>

#include "core/client.h"
#include "strategy/offer.h"
#include "test.h"

static const struct fake_answer lost_after = { .given = true,
					       .result = RLK_UNKNOWN };
static const struct fake_answer lost_before = { .given = true,
						.skip = true,
						.result = RLK_UNKNOWN };

/* Attempt 7 of session 77 is another's, and exported: @text. */
#define OFFERED()                                                              \
	FAKE_JOB(ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE);                         \
	char text[ROWLOCK_EXPORT_SIZE];                                        \
	offer_it(client, text)

static void offer_it(struct rowlock_client *client, char *text)
{
	const struct rlk_offer offer = { 77, 7 };

	fake_session_add(77);
	fake_lease_add("job", 7, 77);
	rlk_offer_write(&client->bell_key, "job", &offer, text);
}

/* A call on a thread of its own, while time goes by. */
struct call {
	struct rowlock *lock;
	const char *text;
	int code;
	_Atomic bool ended;
};

static void *adopt(void *arg)
{
	struct call *call = arg;

	call->code = rowlock_adopt(call->lock, call->text, &err);
	call->ended = true;
	return NULL;
}

static bool has_ended(void *arg)
{
	return ((struct call *) arg)->ended;
}

static int pass_adopt(struct rowlock *lock, const char *text)
{
	struct call call = { lock, text, 0, false };
	pthread_t thread;

	pthread_create(&thread, NULL, adopt, &call);
	fake_pass_until(has_ended, &call);
	pthread_join(thread, NULL);
	return call.code;
}

static void lost_answer(struct fake_answer answer)
{
	OFFERED();

	fake_next(FAKE_ADOPT, answer);
	fake_next(FAKE_ADOPT, answer);
	assert_ok(pass_adopt(lock, text));
	assert_int_equal(fake_count(FAKE_ADOPT), 3);
	assert_true(fake_call(FAKE_ADOPT, 2).attempt ==
		    fake_call(FAKE_ADOPT, 0).attempt);
	/* None can be executed any more when the next one is sent. */
	for (unsigned int i = 0; i < 2; i++) {
		assert_true(fake_call(FAKE_FENCE, i).id ==
			    fake_call(FAKE_ADOPT, i).conn);
		assert_true(fake_call(FAKE_FENCE, i).order <
			    fake_call(FAKE_ADOPT, i + 1).order);
	}
	assert_int_equal(rowlock_held(lock), 1);
	assert_true(fake_lease("job") == rowlock_attempt(lock));
	assert_ok(rowlock_release(lock, &err));
	assert_int_equal(fake_lease("job"), 0);
}

FAKE("one without an answer is asked again behind a fence")
{
	lost_answer(lost_after);
	fake_setup(state);
	lost_answer(lost_before);
}

static bool is_free(void *arg)
{
	(void) arg;
	return fake_lease("job") == 0;
}

/* It has taken the lease over, or comes to do so yet: nobody believes it. */
FAKE("one that gets no answer in time is taken back")
{
	OFFERED();

	fake_always(FAKE_ADOPT, lost_after);
	assert_code(pass_adopt(lock, text), ROWLOCK_ECONNECT, &err);
	fake_pass_until(is_free, NULL);
	assert_int_equal(rowlock_held(lock), 0);
}

FAKE("one that never came leaves the lease to its exporter")
{
	OFFERED();

	fake_always(FAKE_ADOPT, lost_before);
	assert_code(pass_adopt(lock, text), ROWLOCK_ECONNECT, &err);
	fake_pass_await(FAKE_RELEASE, 1);
	assert_int_equal(fake_lease("job"), 7);
	fake_always(FAKE_ADOPT, (struct fake_answer){ .given = false });
	assert_ok(rowlock_adopt(lock, text, &err));
	assert_ok(rowlock_release(lock, &err));
}

/* A KILL that is refused, or another node of a cluster. */
FAKE("one that no fence reaches is not asked again, but taken back")
{
	static const struct fake_answer refused = { .given = true,
						    .skip = true,
						    .result = RLK_REFUSED };
	OFFERED();

	fake_next(FAKE_ADOPT, lost_after);
	fake_always(FAKE_FENCE, refused);
	assert_code(pass_adopt(lock, text), ROWLOCK_ECONNECT, &err);
	assert_int_equal(fake_count(FAKE_ADOPT), 1);
	fake_pass_until(is_free, NULL);
	assert_int_equal(rowlock_held(lock), 0);
}

FAKE("what is not offered any more changes nothing")
{
	OFFERED();

	fake_lease_remove("job");
	assert_code(rowlock_adopt(lock, text, &err), ROWLOCK_ELOST, &err);
	assert_non_null(strstr(err.message, "nobody has it"));
	fake_lease_add("job", 8, 77);
	assert_code(rowlock_adopt(lock, text, &err), ROWLOCK_ELOST, &err);
	assert_non_null(strstr(err.message, "another has it"));
	assert_int_equal(fake_lease("job"), 8);
	assert_int_equal(fake_count(FAKE_RELEASE), 0);
}

FAKE("its exporter takes back what it failed to adopt")
{
	FAKE_JOB(ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE);
	char text[ROWLOCK_EXPORT_SIZE];

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_export(lock, text, sizeof(text), &err));
	fake_always(FAKE_ADOPT, lost_before);
	assert_code(pass_adopt(lock, text), ROWLOCK_ECONNECT, &err);
	assert_int_not_equal(fake_lease("job"), 0);
	assert_ok(rowlock_release(lock, &err));
	assert_int_equal(fake_lease("job"), 0);
}

FAKE("a conflict is asked anew")
{
	OFFERED();

	fake_next(FAKE_ADOPT, (struct fake_answer){ .given = true,
						    .skip = true,
						    .result = RLK_CONFLICT });
	assert_ok(pass_adopt(lock, text));
	assert_ok(rowlock_release(lock, &err));
}

/* The exporter. */

static bool is_lost(void *arg)
{
	return strstr(rowlock_lost_reason(arg), "exported and adopted") != NULL;
}

static uint64_t count_ended(const struct rowlock_client *client)
{
	struct rowlock_client_stats stats = { .size = sizeof(stats) };

	assert_ok(rowlock_stats(client, &stats, &err));
	return stats.holding.buckets[ROWLOCK_BUCKETS - 1].count;
}

FAKE("an exporter keeps its lease alive, and hears of the adoption")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	char text[ROWLOCK_EXPORT_SIZE];
	_Atomic int losses = 0;

	assert_ok(rowlock_acquire(lock, 0, &err));
	rowlock_on_lost(lock, fake_count_loss, (void *) &losses);
	assert_ok(rowlock_export(lock, text, sizeof(text), &err));
	assert_int_equal(rowlock_held(lock), 0);
	assert_int_equal(count_ended(client), 1);
	fake_advance(10000);
	fake_await(FAKE_BEAT, 1);
	assert_int_equal(losses, 0);
	fake_lease_break("job");
	fake_advance(10000);
	fake_pass_until(is_lost, lock);
	fake_until(fake_is_one, (void *) &losses);
	assert_non_null(
	    strstr(rowlock_lost_reason(lock), "; nobody has it now"));
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	assert_int_equal(count_ended(client), 1);
}

FAKE("an exporter acquires again, and is told of no loss then")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	char text[ROWLOCK_EXPORT_SIZE];

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_export(lock, text, sizeof(text), &err));
	fake_lease_break("job");
	fake_advance(10000);
	fake_pass_until(is_lost, lock);
	fake_lease_remove("job");
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_release(lock, &err));
}

FAKE("an exporter that cannot ask for its adopter hears of it all the same")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	char text[ROWLOCK_EXPORT_SIZE];

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_export(lock, text, sizeof(text), &err));
	fake_always(FAKE_OFFER_HOLDER, lost_before);
	fake_lease_break("job");
	fake_advance(10000);
	fake_pass_until(is_lost, lock);
	assert_null(strchr(rowlock_lost_reason(lock), ';'));
}

/* One is adopted, another is not, a third is broken as it is held. */
FAKE("of several leases each is lost by its own reason, or not")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_LOCK(stays, client, ROWLOCK_LEASE, 0, "stays");
	FAKE_LOCK(held, client, ROWLOCK_LEASE, 0, "held");
	char text[ROWLOCK_EXPORT_SIZE];

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_acquire(stays, 0, &err));
	assert_ok(rowlock_acquire(held, 0, &err));
	assert_ok(rowlock_export(lock, text, sizeof(text), &err));
	assert_ok(rowlock_export(stays, text, sizeof(text), &err));
	fake_lease_break("job");
	fake_lease_break("held");
	fake_advance(10000);
	fake_pass_until(is_lost, lock);
	assert_string_equal(rowlock_lost_reason(held), "it was broken by hand");
	assert_string_equal(rowlock_lost_reason(stays), "it was exported");
	assert_int_equal(fake_count(FAKE_OFFER_HOLDER), 1);
	assert_ok(rowlock_release(stays, &err));
}

/* The adopter. */

static enum rowlock_answer hear(const struct rowlock_revocation *asked,
				void *arg)
{
	(void) asked;
	++*(_Atomic int *) arg;
	return ROWLOCK_ANSWER_LATER;
}

FAKE("what its exporter was asked for its adopter is asked for")
{
	_Atomic int heard = 0;
	struct rowlock_client_options options = fake_options();
	char text[ROWLOCK_EXPORT_SIZE];

	options.on_revoke = hear;
	options.revoke_arg = (void *) &heard;
	FAKE_CLIENT_AS(client, fake_client_with(&options));
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, 0, "job");
	offer_it(client, text);
	assert_ok(rowlock_revoke(client, "job", "a backup", NULL, &err));
	assert_ok(rowlock_adopt(lock, text, &err));
	fake_advance(10000);
	fake_await(FAKE_REVOCATION_ANSWER, 1);
	assert_int_equal(heard, 1);
	assert_true(fake_call(FAKE_REVOCATION_ANSWER, 0).attempt ==
		    rowlock_attempt(lock));
	assert_ok(rowlock_release(lock, &err));
}

FAKE("a freed exporter leaves its session, and what lives by it")
{
	struct rowlock_client *client = fake_client();
	struct rowlock *lock = fake_lock(client, ROWLOCK_LEASE, 0, "job");
	char text[ROWLOCK_EXPORT_SIZE];

	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_export(lock, text, sizeof(text), &err));
	rowlock_free(lock);
	assert_int_not_equal(fake_lease("job"), 0);
	rowlock_client_free(client);
	assert_int_equal(fake_sessions(), 1);
	assert_int_not_equal(fake_lease("job"), 0);
	assert_int_equal(fake_count(FAKE_RELEASE), 0);
}

FAKE("a lost session loses what was exported")
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	char text[ROWLOCK_EXPORT_SIZE];
	_Atomic int losses = 0;

	assert_ok(rowlock_acquire(lock, 0, &err));
	rowlock_on_lost(lock, fake_count_loss, (void *) &losses);
	assert_ok(rowlock_export(lock, text, sizeof(text), &err));
	fake_session_remove(client->session.id);
	fake_advance(10000);
	fake_pass_until(fake_is_one, (void *) &losses);
	assert_non_null(strstr(rowlock_lost_reason(lock), "evicted"));
}

CASE_MAIN(case_main)
