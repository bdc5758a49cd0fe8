/* SPDX-License-Identifier: MIT */
/*
 * Whose turn it is to reap: of many clients one does, as long as it can.
 */
#include "fake/fake.h"

#include <stdatomic.h>
#include <string.h>

#include "test.h"

#define INTERVAL_MS 1000

static struct rowlock_client *reaper(void)
{
	struct rowlock_client_options options = fake_options();

	options.reap_interval_ms = INTERVAL_MS;
	options.flags ^= ROWLOCK_NO_REAPER;
	return fake_client_with(&options);
}

/* The second pass begins with the first name again. */
FAKE("a pass behind a whole one looks at all")
{
	FAKE_CLIENT();
	static const char *const names[] = { "b", "a", "b" };

	for (size_t i = 0; i < TEST_SIZE(names); i++) {
		struct rowlock_reap_result result = { .size = sizeof(result) };

		/* Its session is gone. */
		fake_lease_add(names[i], 70 + i, 7);
		assert_ok(rowlock_reap(client, NULL, &result, &err));
		assert_int_equal(result.swept, 1);
		assert_int_equal(fake_lease(names[i]), 0);
	}
}

FAKE("while another reaps a client only looks")
{

	fake_duty_elsewhere(true);
	FAKE_CLIENT_AS(client, reaper());
	fake_pass_await(FAKE_DUTY_LOOK, 4);
	assert_int_equal(fake_count(FAKE_DUTY_TAKE), 0);
	assert_int_equal(fake_count(FAKE_SESSIONS), 0);
	/* It ends: its duty gets old, and is taken. */
	fake_duty_elsewhere(false);
	fake_pass_await(FAKE_SESSIONS, 1);
	assert_int_equal(fake_count(FAKE_DUTY_TAKE), 1);
}

FAKE("a client that has the duty goes on")
{
	FAKE_CLIENT_AS(client, reaper());
	unsigned int looks;

	fake_pass_await(FAKE_SESSIONS, 1);
	looks = fake_count(FAKE_DUTY_LOOK);
	fake_pass_await(FAKE_SESSIONS, 4);
	assert_int_equal(fake_count(FAKE_DUTY_TAKE), 1);
	assert_int_equal(fake_count(FAKE_DUTY_LOOK), looks);
	assert_true(fake_count(FAKE_DUTY_KEEP) >= 3);
}

/* It was paused for so long. */
FAKE("a duty that another has taken is over")
{
	FAKE_CLIENT_AS(client, reaper());
	unsigned int passes;
	unsigned int looks;

	fake_pass_await(FAKE_SESSIONS, 1);
	fake_duty_elsewhere(true);
	looks = fake_count(FAKE_DUTY_LOOK);
	fake_pass_await(FAKE_DUTY_LOOK, looks + 1);
	passes = fake_count(FAKE_SESSIONS);
	fake_pass_await(FAKE_DUTY_LOOK, looks + 3);
	assert_int_equal(fake_count(FAKE_SESSIONS), passes);
}

FAKE("an account that may not have the duty reaps all the same")
{

	fake_always(FAKE_DUTY_TAKE, (struct fake_answer){ .given = true,
							  .skip = true,
							  .result = RLK_REFUSED,
							  .mysql = 1142 });
	FAKE_CLIENT_AS(client, reaper());
	fake_pass_await(FAKE_SESSIONS, 2);
	/* It was asked for once. */
	assert_int_equal(fake_count(FAKE_DUTY_TAKE), 1);
}

FAKE("a lost race for the duty is no error")
{

	fake_next(FAKE_DUTY_TAKE,
		  (struct fake_answer){
		      .given = true, .skip = true, .result = RLK_CONFLICT });
	FAKE_CLIENT_AS(client, reaper());
	fake_pass_await(FAKE_DUTY_TAKE, 1);
	assert_int_equal(fake_count(FAKE_SESSIONS), 0);
	fake_pass_await(FAKE_SESSIONS, 1);
}

/* A person wants it now. */
FAKE("a call asks for no turn")
{
	FAKE_CLIENT();

	for (int i = 0; i < 2; i++)
		assert_ok(rowlock_reap(client, NULL, NULL, &err));
	assert_int_equal(fake_count(FAKE_SESSIONS), 2);
	assert_int_equal(fake_count(FAKE_DUTY_LOOK), 0);
}

static const struct fake_answer silence = { .given = true,
					    .skip = true,
					    .result = RLK_PENDING };

FAKE("a call says that no answer came")
{
	FAKE_CLIENT();
	static const enum fake_op ops[] = { FAKE_SESSIONS, FAKE_DEAD,
					    FAKE_TOKENS };

	for (size_t i = 0; i < TEST_SIZE(ops); i++) {
		fake_next(ops[i], silence);
		assert_code(rowlock_reap(client, NULL, NULL, &err),
			    ROWLOCK_ECONNECT, &err);
		assert_non_null(strstr(err.message, "no answer from"));
	}
}

static void count_silence(enum rowlock_log_level level, const char *message,
			  void *arg)
{
	_Atomic int *lines = arg;

	if (level == ROWLOCK_LOG_WARNING &&
	    strncmp(message, "reaper: no answer from", 22) == 0)
		(*lines)++;
}

/* It has found out that the client goes on, and waits for a connection. With
 * that, it would ask a server that does not answer. */
FAKE("the end of a client gives its reaper no time")
{
	static const struct fake_answer late = { .wait = true };
	struct rowlock_client *client;
	unsigned int gets;

	fake_always(FAKE_DUTY_LOOK, late);
	client = reaper();
	gets = fake_count(FAKE_GET);
	fake_next(FAKE_GET, late);
	fake_pass_await(FAKE_GET, gets + 1);
	fake_client_end_during(client, FAKE_GET);
	assert_int_equal(fake_count(FAKE_DUTY_LOOK), 1);
}

FAKE("the log says that no answer came")
{
	struct rowlock_client_options options = fake_options();
	_Atomic int lines = 0;
	struct rowlock_client *client;

	options.reap_interval_ms = INTERVAL_MS;
	options.flags ^= ROWLOCK_NO_REAPER;
	options.log = count_silence;
	options.log_arg = (void *) &lines;
	fake_next(FAKE_DUTY_LOOK, silence);
	client = fake_client_with(&options);
	fake_pass_await(FAKE_SESSIONS, 1);
	fake_client_end(client);
	assert_int_equal(lines, 1);
}

CASE_MAIN(case_main)
