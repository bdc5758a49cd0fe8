/* SPDX-License-Identifier: MIT */
/*
 * Group commit: who leaves before the answer is there, whose leader has trouble
 * of its own, and what happens where packets do not pass.
 */
#include "fake/crowd.h"

#include <string.h>

#include "group/commit.h"
#include "test.h"

/* ------------------------------------------------------- who leaves early */

/* The last one's time is short, and the packet's answer stays away. */
static void send_and_hold_back(enum fake_verb verb, uint64_t short_ms)
{
	for (unsigned int i = 0; i < MANY; i++) {
		fake_tell(person[i], verb, lock[i],
			  i == MANY - 1 ? short_ms : 4000);
		await_queued(i + 1);
	}
	fake_next(FAKE_BATCH, held_back);
	leader_goes();
	fake_await(FAKE_BATCH, 1);
}

FAKE("each leaves at its own deadline")
{
	int64_t began;

	crowd_begin();
	leader_asks();
	began = fake_now();
	send_and_hold_back(FAKE_DO_ACQUIRE, 30);
	assert_code(fake_pass_hear(person[MANY - 1], &err), ROWLOCK_ECONNECT,
		    &err);
	assert_in_range(fake_now() - began, 30, 100);
	assert_true(fake_busy(person[0]));
	/* Its grant comes when it has gone: it is given back. */
	fake_let(FAKE_BATCH);
	for (int i = 0; i < MANY - 1; i++)
		assert_code(fake_hear(person[i], &err), 0, &err);
	fake_pass_until(is_free, lock[MANY - 1]);
	assert_int_equal(rowlock_held(lock[MANY - 1]), 0);
	assert_code(rowlock_acquire(lock[MANY - 1], 1000, &err), 0, &err);
	crowd_end();
}

FAKE("one that was never sent leaves nothing")
{
	unsigned int releases;

	crowd_begin();
	leader_asks();
	releases = fake_count(FAKE_RELEASE);
	fake_tell(person[0], FAKE_DO_ACQUIRE, lock[0], 30);
	await_queued(1);
	assert_code(fake_pass_hear(person[0], &err), ROWLOCK_ETIMEDOUT, &err);
	/* Nobody knows whether others have it. */
	assert_non_null(strstr(err.message, "not asked for in time"));
	leader_goes();
	fake_until(is_leader_gone, NULL);
	assert_int_equal(fake_count(FAKE_BATCH), 0);
	assert_int_equal(fake_count(FAKE_RELEASE), releases);
	crowd_end();
}

/* Its leader waits for a connection. What it sends then is given back. */
FAKE("one that was taken and not sent is late")
{
	unsigned int gets;

	crowd_begin();
	leader_asks();
	for (unsigned int i = 0; i < MANY; i++) {
		fake_tell(person[i], FAKE_DO_ACQUIRE, lock[i],
			  i == MANY - 1 ? 30 : 4000);
		await_queued(i + 1);
	}
	gets = fake_count(FAKE_GET);
	fake_next(FAKE_GET, (struct fake_answer){ .wait = true });
	leader_goes();
	fake_await(FAKE_GET, gets + 1);
	assert_code(fake_pass_hear(person[MANY - 1], &err), ROWLOCK_ETIMEDOUT,
		    &err);
	assert_non_null(strstr(err.message, "not asked for in time"));
	fake_let(FAKE_GET);
	for (int i = 0; i < MANY - 1; i++)
		assert_code(fake_hear(person[i], &err), 0, &err);
	fake_pass_until(is_free, lock[MANY - 1]);
	assert_int_equal(rowlock_held(lock[MANY - 1]), 0);
	crowd_end();
}

/* All leave: the leader last, since it gives up its packet then. */
FAKE("a group that gets no answer is abandoned")
{
	crowd_begin();
	leader_asks();
	all_ask(FAKE_DO_ACQUIRE, 450);
	fake_always(FAKE_FENCE, refused);
	fake_next(FAKE_BATCH, held_back);
	leader_goes();
	fake_await(FAKE_BATCH, 1);
	for (int i = 0; i < MANY; i++)
		assert_code(fake_pass_hear(person[i], &err), ROWLOCK_ECONNECT,
			    &err);
	/* As it is not known what became of it, it is cleaned up: by the
	 * chores, once the leader has left it to them. */
	fake_pass_await(FAKE_RELEASE, MANY);
	crowd_end();
}

FAKE("a release whose answer stays away is over in time")
{
	crowd_begin();
	all_have();
	leader_asks();
	all_ask(FAKE_DO_RELEASE, 0);
	fake_always(FAKE_FENCE, refused);
	fake_next(FAKE_BATCH, held_back);
	leader_goes();
	fake_await(FAKE_BATCH, 1);
	for (int i = 0; i < MANY; i++) {
		assert_code(fake_pass_hear(person[i], &err), ROWLOCK_ECONNECT,
			    &err);
		assert_int_equal(rowlock_held(lock[i]), 0);
	}
	/* The chores go on. */
	for (int i = 0; i < MANY; i++)
		fake_pass_until(is_free, lock[i]);
	crowd_end();
}

FAKE("a draw whose answer stays away says so")
{
	crowd_begin();
	all_have();
	leader_asks();
	all_ask(FAKE_DO_TOKEN, 0);
	fake_always(FAKE_FENCE, refused);
	fake_always(FAKE_BATCH, held_back);
	leader_goes();
	fake_await(FAKE_BATCH, 1);
	for (int i = 0; i < MANY; i++) {
		assert_code(fake_pass_hear(person[i], &err), ROWLOCK_ECONNECT,
			    &err);
		assert_string_not_equal(err.message, "");
	}
	fake_always(FAKE_BATCH, normal);
	crowd_end();
}

/* --------------------------------------------------------------- cancels */

FAKE("a cancel reaches who queues")
{
	crowd_begin();
	leader_asks();
	all_ask(FAKE_DO_ACQUIRE, 0);
	rowlock_cancel(lock[1]);
	assert_code(fake_hear(person[1], &err), ROWLOCK_ECANCELED, &err);
	await_queued(MANY - 1);
	leader_goes();
	for (int i = 0; i < MANY; i++)
		if (i != 1)
			assert_code(fake_hear(person[i], &err), 0, &err);
	assert_int_equal(fake_lease("job-1"), 0);
	crowd_end();
}

FAKE("a cancel reaches who was taken")
{
	crowd_begin();
	leader_asks();
	send_and_hold_back(FAKE_DO_ACQUIRE, 3000);
	rowlock_cancel(lock[MANY - 1]);
	assert_code(fake_hear(person[MANY - 1], &err), ROWLOCK_ECANCELED, &err);
	fake_let(FAKE_BATCH);
	for (int i = 0; i < MANY - 1; i++)
		assert_code(fake_hear(person[i], &err), 0, &err);
	fake_pass_until(is_free, lock[MANY - 1]);
	crowd_end();
}

/* Its leader waits for a connection. */
FAKE("a cancel reaches a try that was taken and not sent")
{
	unsigned int gets;

	crowd_begin();
	leader_asks();
	for (unsigned int i = 0; i < MANY; i++) {
		fake_tell(person[i], FAKE_DO_ACQUIRE, lock[i],
			  i == MANY - 1 ? 0 : 60000);
		await_queued(i + 1);
	}
	gets = fake_count(FAKE_GET);
	fake_next(FAKE_GET, (struct fake_answer){ .wait = true });
	leader_goes();
	fake_await(FAKE_GET, gets + 1);
	rowlock_cancel(lock[MANY - 1]);
	assert_code(fake_hear(person[MANY - 1], &err), ROWLOCK_ECANCELED, &err);
	fake_let(FAKE_GET);
	for (int i = 0; i < MANY - 1; i++)
		assert_code(fake_hear(person[i], &err), 0, &err);
	fake_pass_until(is_free, lock[MANY - 1]);
	crowd_end();
}

/* The server lets nobody in, or all its connections are in use. */
CASE_WITH("a try that was taken and not sent says why", NULL, NULL)
{
	for (int opens = 0; opens < 2; opens++) {
		unsigned int gets;

		fake_setup(state);
		crowd_begin();
		leader_asks();
		for (unsigned int i = 0; i < MANY; i++) {
			fake_tell(person[i], FAKE_DO_ACQUIRE, lock[i],
				  i == MANY - 1 ? 0 : 60000);
			await_queued(i + 1);
		}
		fake_opens = opens;
		gets = fake_count(FAKE_GET);
		fake_next(FAKE_GET, (struct fake_answer){ .wait = true });
		leader_goes();
		fake_await(FAKE_GET, gets + 1);
		assert_code(fake_pass_hear(person[MANY - 1], &err),
			    opens ? ROWLOCK_ECONNECT : ROWLOCK_EDB, &err);
		assert_int_equal(err.code,
				 opens ? ROWLOCK_ECONNECT : ROWLOCK_EDB);
		fake_let(FAKE_GET);
		for (int i = 0; i < MANY - 1; i++)
			assert_code(fake_hear(person[i], &err), 0, &err);
		fake_pass_until(is_free, lock[MANY - 1]);
		crowd_end();
		fake_teardown(state);
	}
}

/* ----------------------------------------------------- the leader's trouble */

FAKE("a canceled leader is nothing to the others")
{
	unsigned int gets;

	crowd_begin();
	leader_asks();
	all_ask(FAKE_DO_ACQUIRE, 10000);
	/* It waits for a connection. */
	gets = fake_count(FAKE_GET);
	fake_next(FAKE_GET,
		  (struct fake_answer){ .wait = true,
					.given = true,
					.result = ROWLOCK_ECANCELED });
	leader_goes();
	fake_await(FAKE_GET, gets + 1);
	rowlock_cancel(lock[0]);
	fake_let(FAKE_GET);
	assert_code(fake_hear(person[0], &err), ROWLOCK_ECANCELED, &err);
	for (int i = 1; i < MANY; i++)
		assert_code(fake_hear(person[i], &err), 0, &err);
	assert_int_equal(fake_lease("job-0"), 0);
	crowd_end();
}

FAKE("a leader without a connection is nothing to the others")
{
	crowd_begin();
	all_have();
	assert_ok(rowlock_release(lock[0], &err));
	leader_asks();
	/* A try can stay longest, and does not wait for a server. */
	for (unsigned int i = 0; i < MANY; i++) {
		fake_tell(person[i], i ? FAKE_DO_RELEASE : FAKE_DO_ACQUIRE,
			  lock[i], 0);
		await_queued(i + 1);
	}
	fake_next(FAKE_GET, (struct fake_answer){ .given = true,
						  .result = ROWLOCK_ECONNECT });
	leader_goes();
	assert_code(fake_hear(person[0], &err), ROWLOCK_ECONNECT, &err);
	for (int i = 1; i < MANY; i++)
		assert_code(fake_hear(person[i], &err), 0, &err);
	crowd_end();
}

/* Until a beat has shown that it knows us. Not even an empty packet is sent. */
FAKE("nothing is asked of another server")
{
	crowd_begin();
	leader_asks();
	all_ask(FAKE_DO_ACQUIRE, 10000);
	fake_next(FAKE_BEAT, held_back);
	strcpy(fake_server.identity, "another");
	leader_goes();
	fake_until(is_leader_gone, NULL);
	fake_let(FAKE_BEAT);
	for (int i = 0; i < MANY; i++)
		assert_code(fake_pass_hear(person[i], &err), 0, &err);
	for (unsigned int i = 0; i < fake_count(FAKE_BATCH); i++)
		assert_int_not_equal(fake_call(FAKE_BATCH, i).id, 0);
	crowd_end();
}

/* ------------------------------------------------- ways that take no packets
 */

static void round_of_packets(struct fake_answer answer)
{
	leader_asks();
	for (unsigned int i = 0; i < MANY; i++) {
		bool held = rowlock_held(lock[i]) == 1;

		fake_tell(person[i], held ? FAKE_DO_RELEASE : FAKE_DO_ACQUIRE,
			  lock[i], 10000);
		await_queued(i + 1);
	}
	fake_next(FAKE_BATCH, answer);
	leader_goes();
	hear_all(0);
	assert_code(fake_hear(leader, &err), 0, &err);
	assert_ok(rowlock_release(leaders_lock, &err));
}

/* Some hold, some do not: a packet of both kinds. */
static void begin_mixed(void)
{
	crowd_begin();
	for (int i = 0; i < MANY; i += 2)
		assert_code(fake_ask(person[i], FAKE_DO_ACQUIRE, lock[i], 0), 0,
			    &err);
}

static void all_share(bool shares)
{
	assert_int_equal(client->unshared_until_ms == 0, shares);
	assert_int_equal(warnings, !shares);
}

FAKE("a syntax error ends the sharing")
{
	static const struct fake_answer syntax = { .given = true,
						   .skip = true,
						   .result = RLK_REFUSED,
						   .mysql = 1064 };
	unsigned int batches;

	begin_mixed();
	round_of_packets(normal);
	all_share(true);
	round_of_packets(syntax);
	all_share(false);
	batches = fake_count(FAKE_BATCH);
	/* Each by itself, and it is said once. */
	for (int i = 0; i < MANY; i++)
		assert_int_equal(fake_ask(person[i],
					  rowlock_held(lock[i]) == 1
					      ? FAKE_DO_RELEASE
					      : FAKE_DO_ACQUIRE,
					  lock[i], 0),
				 0);
	assert_int_equal(fake_count(FAKE_BATCH), batches);
	all_share(false);
	/* For a minute; a proxy may have been put right. */
	for (int seconds = 0; seconds < 60; seconds += 10) {
		unsigned int beats = fake_count(FAKE_BEAT);

		assert_false(rlk_commit_gathers(client));
		fake_advance(10000);
		fake_await(FAKE_BEAT, beats + 1);
	}
	assert_true(rlk_commit_gathers(client));
	crowd_end();
}

FAKE("connections that end again and again do")
{
	begin_mixed();
	round_of_packets(lost_request);
	round_of_packets(lost_request);
	round_of_packets(normal);
	all_share(true);
	round_of_packets(lost_request);
	round_of_packets(lost_request);
	all_share(true);
	round_of_packets(lost_request);
	all_share(false);
	crowd_end();
}

FAKE("other refusals do not")
{
	static const struct fake_answer right = { .given = true,
						  .skip = true,
						  .result = RLK_REFUSED,
						  .mysql = 1142 };

	begin_mixed();
	for (int i = 0; i < 4; i++)
		round_of_packets(right);
	all_share(true);
	crowd_end();
}

CASE_MAIN(case_main)
