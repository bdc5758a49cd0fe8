/* SPDX-License-Identifier: MIT */
/*
 * Group commit from the callers' side: what each is told, whatever becomes of
 * the packet that its request is in.
 */
#include "fake/fake.h"

#include <stdio.h>
#include <string.h>

#include "core/client.h"
#include "core/commit.h"
#include "core/lock.h"
#include "test.h"

#define MANY 4

static const struct fake_answer normal;
static const struct fake_answer held_back = { .wait = true };
static const struct fake_answer lost_reply = { .given = true,
					       .result = RLK_UNKNOWN };
static const struct fake_answer refused = { .given = true,
					    .skip = true,
					    .result = RLK_REFUSED };
static const struct fake_answer lost_request = { .given = true,
						 .skip = true,
						 .result = RLK_UNKNOWN };

/* One lane, so that all names meet there. */
#define LANES 1

/* A client, a thread whose acquire keeps the lane, and many others. */
static struct rowlock_client *client;
static struct rowlock *in_lane[LANES];
static struct fake_person *of_lane[LANES];
static struct rowlock *lock[MANY];
static struct fake_person *person[MANY];

static unsigned int warnings;

static void note_warning(enum rowlock_log_level level, const char *message,
			 void *arg)
{
	(void) arg;
	if (level == ROWLOCK_LOG_WARNING &&
	    strstr(message, "several statements"))
		warnings++;
}

static void begin_with(struct rowlock_client_options options)
{
	struct rowlock_errinfo err;

	warnings = 0;
	options.call_timeout_ms = 500;
	options.lease_connections = LANES;
	options.log = note_warning;
	options.log_level = ROWLOCK_LOG_WARNING;
	client = fake_client_with(&options);
	for (int i = 0; i < LANES; i++) {
		char name[] = "lane-0";

		name[5] = (char) ('0' + i);
		in_lane[i] = fake_lock(client, ROWLOCK_LEASE,
				       ROWLOCK_OWNER_HANDLE, name);
		of_lane[i] = fake_person();
	}
	for (int i = 0; i < MANY; i++) {
		char name[] = "job-0";

		name[4] = (char) ('0' + i);
		lock[i] = fake_lock(client, ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE,
				    name);
		person[i] = fake_person();
	}
	/* The session is there from now on. */
	assert_ok(rowlock_acquire(lock[0], 0, &err));
	assert_ok(rowlock_release(lock[0], &err));
}

static void begin(void)
{
	begin_with(fake_options());
}

/* The lane is taken by an acquire whose answer stays away. */
static void fill_lanes(void)
{
	unsigned int before = fake_count(FAKE_ACQUIRE);

	for (unsigned int i = 0; i < LANES; i++) {
		fake_next(FAKE_ACQUIRE, held_back);
		fake_tell(of_lane[i], FAKE_DO_ACQUIRE, in_lane[i], 60000);
		fake_await(FAKE_ACQUIRE, before + i + 1);
	}
}

static bool are_queued(void *arg)
{
	unsigned int left = *(unsigned int *) arg;
	struct rlk_list *node;
	struct rlk_list *after;

	rlk_mutex_lock(&client->lanes[0].group.mutex);
	rlk_list_for_each(node, after, &client->lanes[0].group.queue)
	{
		left--;
	}
	rlk_mutex_unlock(&client->lanes[0].group.mutex);
	return left == 0;
}

static void await_queued(unsigned int count)
{
	fake_until(are_queued, &count);
}

/* All ask, one after the other, for as long as @wait_ms. */
static void all_ask(enum fake_verb verb, uint64_t wait_ms)
{
	for (unsigned int i = 0; i < MANY; i++) {
		fake_tell(person[i], verb, lock[i], wait_ms);
		await_queued(i + 1);
	}
}

/* One lane comes free: who queues, goes. */
static void free_a_lane(void)
{
	fake_let(FAKE_ACQUIRE);
}

static bool is_free(void *arg)
{
	const struct rowlock *of = arg;

	return fake_lease(of->name) == 0;
}

static void drop(struct rowlock *gone)
{
	struct rowlock_errinfo err;

	if (rowlock_held(gone) == 1)
		assert_ok(rowlock_release(gone, &err));
	fake_lock_end(gone);
}

static bool is_a_lane_free(void *arg)
{
	(void) arg;
	return !fake_busy(of_lane[0]);
}

/* Everything that was begun comes to its end. */
static void end(void)
{
	struct rowlock_errinfo err;

	fake_always(FAKE_ACQUIRE, normal);
	fake_always(FAKE_FENCE, normal);
	for (int i = 0; i < LANES; i++) {
		fake_let(FAKE_ACQUIRE);
		if (fake_busy(of_lane[i]))
			fake_pass_hear(of_lane[i], &err);
	}
	for (int i = 0; i < LANES; i++) {
		fake_person_end(of_lane[i]);
		drop(in_lane[i]);
	}
	for (int i = 0; i < MANY; i++) {
		fake_person_end(person[i]);
		drop(lock[i]);
	}
	fake_client_end(client);
}

static void hear_all(int code)
{
	for (int i = 0; i < MANY; i++) {
		struct rowlock_errinfo err;

		assert_code(fake_hear(person[i], &err), code, &err);
	}
}

static void all_hold(void)
{
	hear_all(0);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(rowlock_held(lock[i]), 1);
		assert_int_not_equal(fake_lease(lock[i]->name), 0);
	}
}

/* Each holds its lock, without others. */
static void all_have(void)
{
	struct rowlock_errinfo err;

	for (int i = 0; i < MANY; i++)
		assert_code(fake_ask(person[i], FAKE_DO_ACQUIRE, lock[i], 0), 0,
			    &err);
}

static void those_of_one_moment_share_a_round_trip(void **state)
{
	(void) state;
	begin();
	fill_lanes();
	all_ask(FAKE_DO_ACQUIRE, 10000);
	free_a_lane();
	all_hold();
	assert_int_equal(fake_count(FAKE_BATCH), 1);
	assert_int_equal(fake_call(FAKE_BATCH, 0).id, MANY);
	/* Theirs, and what was there before. */
	assert_int_equal(fake_count(FAKE_ACQUIRE), 1 + LANES);
	end();
}

static void releases_and_draws_go_along(void **state)
{
	(void) state;
	begin();
	all_have();
	fill_lanes();
	for (unsigned int i = 0; i < MANY; i++) {
		fake_tell(person[i], i % 2 ? FAKE_DO_RELEASE : FAKE_DO_TOKEN,
			  lock[i], 0);
		await_queued(i + 1);
	}
	free_a_lane();
	hear_all(0);
	assert_int_equal(fake_count(FAKE_BATCH), 1);
	assert_int_equal(fake_count(FAKE_DRAW), 0);
	assert_int_equal(fake_lease("job-1"), 0);
	assert_int_not_equal(fake_lease("job-0"), 0);
	end();
}

static void lone_thread_is_in_no_group(void **state)
{
	struct rowlock_errinfo err;
	uint64_t token;

	(void) state;
	begin();
	for (int i = 0; i < 3; i++) {
		assert_ok(rowlock_acquire(lock[0], 0, &err));
		assert_ok(rowlock_token(lock[0], &token, &err));
		assert_ok(rowlock_release(lock[0], &err));
	}
	assert_int_equal(fake_count(FAKE_BATCH), 0);
	end();
}

static void group_of_one_is_none(void **state)
{
	struct rowlock_client_options options = fake_options();

	(void) state;
	options.lease_group = 1;
	begin_with(options);
	fill_lanes();
	for (unsigned int i = 0; i < MANY; i++)
		fake_tell(person[i], FAKE_DO_ACQUIRE, lock[i], 10000);
	/* They wait for the connection itself. */
	fake_await_wanted(RLK_BAY_LANE);
	free_a_lane();
	all_hold();
	assert_int_equal(fake_count(FAKE_BATCH), 0);
	end();
}

static void what_fails_half_way_is_sent_alone(void **state)
{
	static const int faults[] = { RLK_BUSY, RLK_CONFLICT, RLK_KILLED,
				      RLK_REFUSED };

	for (size_t i = 0; i < TEST_SIZE(faults); i++) {
		fake_setup(state);
		begin();
		fill_lanes();
		all_ask(FAKE_DO_ACQUIRE, 10000);
		fake_next(FAKE_BATCH, (struct fake_answer){ .given = true,
							    .result = faults[i],
							    .half = 1 });
		free_a_lane();
		all_hold();
		assert_int_equal(fake_count(FAKE_BATCH), 1);
		/* All but the first, whose answer counts. */
		assert_int_equal(fake_count(FAKE_ACQUIRE),
				 1 + LANES + MANY - 1);
		assert_int_equal(fake_count(FAKE_FENCE), 0);
		end();
	}
}

static void lost_answer_is_settled_by_each_attempt(void **state)
{
	(void) state;
	begin();
	fill_lanes();
	all_ask(FAKE_DO_ACQUIRE, 10000);
	fake_next(FAKE_BATCH, lost_reply);
	free_a_lane();
	all_hold();
	/* Once for all of them; then each finds its own row, which a question
	 * that only looks would take for another's. */
	assert_int_equal(fake_count(FAKE_FENCE), 1);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 1 + LANES + MANY);
	for (unsigned int i = 1 + LANES; i < 1 + LANES + MANY; i++)
		assert_int_equal(fake_call(FAKE_ACQUIRE, i).ask, RLK_ASK_FIRST);
	end();
}

/* A question that only looks would take it for another's. */
static void one_that_polls_finds_its_own_row_after_a_lost_answer(void **state)
{
	(void) state;
	begin();
	fake_session_add(77);
	for (unsigned int i = 0; i < MANY; i++) {
		fake_lease_add(lock[i]->name, 1000 + i, 77);
		fake_tell(person[i], FAKE_DO_ACQUIRE, lock[i], 10000);
		fake_await(FAKE_ACQUIRE, 2 + i);
	}
	fill_lanes();
	for (int i = 0; i < MANY; i++)
		fake_lease_remove(lock[i]->name);
	fake_next(FAKE_BATCH, lost_reply);
	fake_advance(100);
	await_queued(MANY);
	free_a_lane();
	fake_await(FAKE_ACQUIRE, 1 + LANES + 2 * MANY);
	for (unsigned int i = 1 + LANES + MANY; i < 1 + LANES + 2 * MANY; i++)
		assert_int_equal(fake_call(FAKE_ACQUIRE, i).ask, RLK_ASK_FIRST);
	all_hold();
	end();
}

static void lost_answer_does_not_make_a_release_a_loss(void **state)
{
	(void) state;
	begin();
	all_have();
	fill_lanes();
	all_ask(FAKE_DO_RELEASE, 0);
	fake_next(FAKE_BATCH, lost_reply);
	free_a_lane();
	hear_all(0);
	assert_int_equal(fake_count(FAKE_FENCE), 1);
	end();
}

static void release_of_a_row_that_was_gone_is_a_loss(void **state)
{
	(void) state;
	begin();
	all_have();
	for (int i = 0; i < MANY; i++)
		fake_lease_remove(lock[i]->name);
	fill_lanes();
	all_ask(FAKE_DO_RELEASE, 0);
	free_a_lane();
	hear_all(ROWLOCK_ELOST);
	assert_int_equal(fake_count(FAKE_BATCH), 1);
	end();
}

/* That one half was executed tells nothing about the other. */
static void interrupted_release_still_tells_a_loss(void **state)
{
	(void) state;
	begin();
	all_have();
	for (int i = 0; i < MANY; i++)
		fake_lease_remove(lock[i]->name);
	fill_lanes();
	all_ask(FAKE_DO_RELEASE, 0);
	fake_next(FAKE_BATCH, (struct fake_answer){ .given = true,
						    .skip = true,
						    .result = RLK_KILLED });
	free_a_lane();
	hear_all(ROWLOCK_ELOST);
	end();
}

static void what_may_have_been_granted_is_not_left_behind(void **state)
{
	(void) state;
	begin();
	fill_lanes();
	all_ask(FAKE_DO_ACQUIRE, 10000);
	fake_next(FAKE_BATCH, lost_reply);
	/* And from then on the server refuses. */
	fake_always(FAKE_ACQUIRE,
		    (struct fake_answer){
			.given = true, .skip = true, .result = RLK_FAILURE });
	free_a_lane();
	hear_all(ROWLOCK_EDB);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(rowlock_held(lock[i]), 0);
		fake_pass_until(is_free, lock[i]);
	}
	end();
}

static void group_that_cannot_be_fenced_is_settled_one_by_one(void **state)
{
	(void) state;
	begin();
	fill_lanes();
	all_ask(FAKE_DO_ACQUIRE, 10000);
	fake_next(FAKE_BATCH, lost_reply);
	fake_next(FAKE_FENCE, refused);
	free_a_lane();
	all_hold();
	assert_int_equal(fake_count(FAKE_FENCE), 1 + MANY);
	end();
}

static void packet_that_lingers_is_interrupted(void **state)
{
	(void) state;
	begin();
	fill_lanes();
	all_ask(FAKE_DO_ACQUIRE, 10000);
	fake_next(FAKE_BATCH, (struct fake_answer){ .wait = true,
						    .given = true,
						    .skip = true,
						    .result = RLK_KILLED });
	free_a_lane();
	fake_await(FAKE_BATCH, 1);
	fake_pass_await(FAKE_KILL_QUERY, 1);
	/* It learns that it was, and each goes alone. */
	fake_let(FAKE_BATCH);
	all_hold();
	assert_int_equal(fake_count(FAKE_FENCE), 0);
	assert_int_equal(client->lanes[0].usual_ms, 0);
	end();
}

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
	free_a_lane();
	fake_await(FAKE_BATCH, 1);
}

static void each_leaves_at_its_own_deadline(void **state)
{
	struct rowlock_errinfo err;
	int64_t began;

	(void) state;
	begin();
	fill_lanes();
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
	end();
}

static void one_that_was_never_sent_leaves_nothing(void **state)
{
	struct rowlock_errinfo err;
	unsigned int releases;

	(void) state;
	begin();
	fill_lanes();
	releases = fake_count(FAKE_RELEASE);
	fake_tell(person[0], FAKE_DO_ACQUIRE, lock[0], 30);
	await_queued(1);
	assert_code(fake_pass_hear(person[0], &err), ROWLOCK_ETIMEDOUT, &err);
	free_a_lane();
	fake_until(is_a_lane_free, NULL);
	assert_int_equal(fake_count(FAKE_BATCH), 0);
	assert_int_equal(fake_count(FAKE_RELEASE), releases);
	end();
}

/* All leave: the leader last, since it gives up its packet then. */
static void group_that_gets_no_answer_is_abandoned(void **state)
{
	struct rowlock_errinfo err;

	(void) state;
	begin();
	fill_lanes();
	all_ask(FAKE_DO_ACQUIRE, 3000);
	fake_always(FAKE_FENCE, refused);
	fake_next(FAKE_BATCH, held_back);
	free_a_lane();
	fake_await(FAKE_BATCH, 1);
	for (int i = 0; i < MANY; i++)
		assert_code(fake_pass_hear(person[i], &err), ROWLOCK_ECONNECT,
			    &err);
	/* As it is not known what became of it, it is cleaned up. */
	assert_false(rlk_list_empty(&client->abandoned));
	end();
}

static void release_whose_answer_stays_away_is_over_in_time(void **state)
{
	struct rowlock_errinfo err;

	(void) state;
	begin();
	all_have();
	fill_lanes();
	all_ask(FAKE_DO_RELEASE, 0);
	fake_always(FAKE_FENCE, refused);
	fake_next(FAKE_BATCH, held_back);
	free_a_lane();
	fake_await(FAKE_BATCH, 1);
	for (int i = 0; i < MANY; i++) {
		assert_code(fake_pass_hear(person[i], &err), ROWLOCK_ECONNECT,
			    &err);
		assert_int_equal(rowlock_held(lock[i]), 0);
	}
	/* The chores go on. */
	for (int i = 0; i < MANY; i++)
		fake_pass_until(is_free, lock[i]);
	end();
}

static void draw_whose_answer_stays_away_says_so(void **state)
{
	struct rowlock_errinfo err;

	(void) state;
	begin();
	all_have();
	fill_lanes();
	all_ask(FAKE_DO_TOKEN, 0);
	fake_always(FAKE_FENCE, refused);
	fake_always(FAKE_BATCH, held_back);
	free_a_lane();
	fake_await(FAKE_BATCH, 1);
	for (int i = 0; i < MANY; i++) {
		assert_code(fake_pass_hear(person[i], &err), ROWLOCK_ECONNECT,
			    &err);
		assert_string_not_equal(err.message, "");
	}
	fake_always(FAKE_BATCH, normal);
	end();
}

/* --------------------------------------------------------------- cancels */

static void cancel_reaches_who_queues(void **state)
{
	struct rowlock_errinfo err;

	(void) state;
	begin();
	fill_lanes();
	all_ask(FAKE_DO_ACQUIRE, 0);
	rowlock_cancel(lock[1]);
	assert_code(fake_hear(person[1], &err), ROWLOCK_ECANCELED, &err);
	await_queued(MANY - 1);
	free_a_lane();
	for (int i = 0; i < MANY; i++)
		if (i != 1)
			assert_code(fake_hear(person[i], &err), 0, &err);
	assert_int_equal(fake_lease("job-1"), 0);
	end();
}

static void cancel_reaches_who_was_taken(void **state)
{
	struct rowlock_errinfo err;

	(void) state;
	begin();
	fill_lanes();
	send_and_hold_back(FAKE_DO_ACQUIRE, 3000);
	rowlock_cancel(lock[MANY - 1]);
	assert_code(fake_hear(person[MANY - 1], &err), ROWLOCK_ECANCELED, &err);
	fake_let(FAKE_BATCH);
	for (int i = 0; i < MANY - 1; i++)
		assert_code(fake_hear(person[i], &err), 0, &err);
	fake_pass_until(is_free, lock[MANY - 1]);
	end();
}

/* ----------------------------------------------------- the leader's trouble */

static void canceled_leader_is_nothing_to_the_others(void **state)
{
	struct rowlock_errinfo err;
	unsigned int gets;

	(void) state;
	begin();
	fill_lanes();
	all_ask(FAKE_DO_ACQUIRE, 10000);
	/* It waits for a connection. */
	gets = fake_count(FAKE_GET);
	fake_next(FAKE_GET,
		  (struct fake_answer){ .wait = true,
					.given = true,
					.result = ROWLOCK_ECANCELED });
	free_a_lane();
	fake_await(FAKE_GET, gets + 1);
	rowlock_cancel(lock[0]);
	fake_let(FAKE_GET);
	assert_code(fake_hear(person[0], &err), ROWLOCK_ECANCELED, &err);
	for (int i = 1; i < MANY; i++)
		assert_code(fake_hear(person[i], &err), 0, &err);
	assert_int_equal(fake_lease("job-0"), 0);
	end();
}

static void leader_without_a_connection_is_nothing_to_the_others(void **state)
{
	struct rowlock_errinfo err;

	(void) state;
	begin();
	all_have();
	assert_ok(rowlock_release(lock[0], &err));
	fill_lanes();
	/* A try can stay longest, and does not wait for a server. */
	for (unsigned int i = 0; i < MANY; i++) {
		fake_tell(person[i], i ? FAKE_DO_RELEASE : FAKE_DO_ACQUIRE,
			  lock[i], 0);
		await_queued(i + 1);
	}
	fake_next(FAKE_GET, (struct fake_answer){ .given = true,
						  .result = ROWLOCK_ECONNECT });
	free_a_lane();
	assert_code(fake_hear(person[0], &err), ROWLOCK_ECONNECT, &err);
	for (int i = 1; i < MANY; i++)
		assert_code(fake_hear(person[i], &err), 0, &err);
	end();
}

/* Until a beat has shown that it knows us. Not even an empty packet is sent. */
static void nothing_is_asked_of_another_server(void **state)
{
	struct rowlock_errinfo err;

	(void) state;
	begin();
	fill_lanes();
	all_ask(FAKE_DO_ACQUIRE, 10000);
	fake_next(FAKE_BEAT, held_back);
	strcpy(fake_server.identity, "another");
	free_a_lane();
	fake_until(is_a_lane_free, NULL);
	fake_let(FAKE_BEAT);
	for (int i = 0; i < MANY; i++)
		assert_code(fake_pass_hear(person[i], &err), 0, &err);
	for (unsigned int i = 0; i < fake_count(FAKE_BATCH); i++)
		assert_int_not_equal(fake_call(FAKE_BATCH, i).id, 0);
	end();
}

/* ------------------------------------------------- ways that take no packets
 */

static void round_of_packets(struct fake_answer answer)
{
	struct rowlock_errinfo err;

	fill_lanes();
	for (unsigned int i = 0; i < MANY; i++) {
		bool held = rowlock_held(lock[i]) == 1;

		fake_tell(person[i], held ? FAKE_DO_RELEASE : FAKE_DO_ACQUIRE,
			  lock[i], 10000);
		await_queued(i + 1);
	}
	fake_next(FAKE_BATCH, answer);
	free_a_lane();
	hear_all(0);
	for (int i = 0; i < LANES; i++) {
		assert_code(fake_hear(of_lane[i], &err), 0, &err);
		assert_ok(rowlock_release(in_lane[i], &err));
	}
}

/* Some hold, some do not: a packet of both kinds. */
static void begin_mixed(void)
{
	struct rowlock_errinfo err;

	begin();
	for (int i = 0; i < MANY; i += 2)
		assert_code(fake_ask(person[i], FAKE_DO_ACQUIRE, lock[i], 0), 0,
			    &err);
}

static void all_share(bool shares)
{
	assert_int_equal(client->unshared, !shares);
	assert_int_equal(warnings, !shares);
}

static void syntax_error_ends_the_sharing(void **state)
{
	static const struct fake_answer syntax = { .given = true,
						   .skip = true,
						   .result = RLK_REFUSED,
						   .mysql = 1064 };
	unsigned int batches;

	(void) state;
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
	end();
}

static void connections_that_end_again_and_again_do(void **state)
{
	(void) state;
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
	end();
}

static void other_refusals_do_not(void **state)
{
	static const struct fake_answer right = { .given = true,
						  .skip = true,
						  .result = RLK_REFUSED,
						  .mysql = 1142 };

	(void) state;
	begin_mixed();
	for (int i = 0; i < 4; i++)
		round_of_packets(right);
	all_share(true);
	end();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		FAKE("one that polls finds its own row after a lost answer",
		     one_that_polls_finds_its_own_row_after_a_lost_answer),
		FAKE("those of one moment share a round trip",
		     those_of_one_moment_share_a_round_trip),
		FAKE("releases and draws go along",
		     releases_and_draws_go_along),
		FAKE("a lone thread is in no group",
		     lone_thread_is_in_no_group),
		FAKE("a group of one is none", group_of_one_is_none),
		FAKE("what fails half way is sent alone",
		     what_fails_half_way_is_sent_alone),
		FAKE("a lost answer is settled by each attempt",
		     lost_answer_is_settled_by_each_attempt),
		FAKE("a lost answer does not make a release a loss",
		     lost_answer_does_not_make_a_release_a_loss),
		FAKE("the release of a row that was gone is a loss",
		     release_of_a_row_that_was_gone_is_a_loss),
		FAKE("an interrupted release still tells a loss",
		     interrupted_release_still_tells_a_loss),
		FAKE("what may have been granted is not left behind",
		     what_may_have_been_granted_is_not_left_behind),
		FAKE("a group that cannot be fenced is settled one by one",
		     group_that_cannot_be_fenced_is_settled_one_by_one),
		FAKE("a packet that lingers is interrupted",
		     packet_that_lingers_is_interrupted),
		FAKE("each leaves at its own deadline",
		     each_leaves_at_its_own_deadline),
		FAKE("one that was never sent leaves nothing",
		     one_that_was_never_sent_leaves_nothing),
		FAKE("a group that gets no answer is abandoned",
		     group_that_gets_no_answer_is_abandoned),
		FAKE("a release whose answer stays away is over in time",
		     release_whose_answer_stays_away_is_over_in_time),
		FAKE("a draw whose answer stays away says so",
		     draw_whose_answer_stays_away_says_so),
		FAKE("a cancel reaches who queues", cancel_reaches_who_queues),
		FAKE("a cancel reaches who was taken",
		     cancel_reaches_who_was_taken),
		FAKE("a canceled leader is nothing to the others",
		     canceled_leader_is_nothing_to_the_others),
		FAKE("a leader without a connection is nothing to the others",
		     leader_without_a_connection_is_nothing_to_the_others),
		FAKE("nothing is asked of another server",
		     nothing_is_asked_of_another_server),
		FAKE("a syntax error ends the sharing",
		     syntax_error_ends_the_sharing),
		FAKE("connections that end again and again do",
		     connections_that_end_again_and_again_do),
		FAKE("other refusals do not", other_refusals_do_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
