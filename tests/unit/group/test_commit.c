/* SPDX-License-Identifier: MIT */
/*
 * Group commit from the callers' side: what each is told, whatever becomes of
 * the packet that its request is in.
 */
#include "fake/crowd.h"

#include <string.h>

#include "group/commit.h"
#include "test.h"
#include "wait/rounds.h"

/* All have seen that others hold, and rest before they ask again. */
static bool do_all_rest(void *arg)
{
	bool all = true;

	(void) arg;
	rlk_mutex_lock(&client->mutex);
	for (int i = 0; i < MANY; i++)
		all = all && lock[i]->waiter && lock[i]->waiter->alarm.set;
	rlk_mutex_unlock(&client->mutex);
	return all;
}

/* A question that only looks would take it for another's. */
FAKE("one that polls finds its own row after a lost answer")
{
	crowd_begin();
	fake_session_add(77);
	for (unsigned int i = 0; i < MANY; i++) {
		fake_lease_add(rowlock_name(lock[i]), 1000 + i, 77);
		fake_tell(person[i], FAKE_DO_ACQUIRE, lock[i], 10000);
		fake_await(FAKE_ACQUIRE, 2 + i);
	}
	fake_until(do_all_rest, NULL);
	leader_asks();
	for (int i = 0; i < MANY; i++)
		fake_lease_remove(rowlock_name(lock[i]));
	fake_next(FAKE_BATCH, lost_reply);
	fake_advance(100);
	await_queued(MANY);
	leader_goes();
	fake_await(FAKE_ACQUIRE, 2 + 2 * MANY);
	for (unsigned int i = 2 + MANY; i < 2 + 2 * MANY; i++)
		assert_int_equal(fake_call(FAKE_ACQUIRE, i).ask, RLK_ASK_FIRST);
	all_hold();
	crowd_end();
}

FAKE("those of one moment share a round trip")
{
	crowd_begin();
	leader_asks();
	all_ask(FAKE_DO_ACQUIRE, 10000);
	leader_goes();
	all_hold();
	assert_int_equal(fake_count(FAKE_BATCH), 1);
	assert_int_equal(fake_call(FAKE_BATCH, 0).id, MANY);
	/* Theirs, and what was there before. */
	assert_int_equal(fake_count(FAKE_ACQUIRE), 2);
	crowd_end();
}

FAKE("releases and draws go along")
{
	crowd_begin();
	all_have();
	leader_asks();
	for (unsigned int i = 0; i < MANY; i++) {
		fake_tell(person[i], i % 2 ? FAKE_DO_RELEASE : FAKE_DO_TOKEN,
			  lock[i], 0);
		await_queued(i + 1);
	}
	leader_goes();
	hear_all(0);
	assert_int_equal(fake_count(FAKE_BATCH), 1);
	assert_int_equal(fake_count(FAKE_DRAW), 0);
	assert_int_equal(fake_lease("job-1"), 0);
	assert_int_not_equal(fake_lease("job-0"), 0);
	crowd_end();
}

FAKE("a lone thread is in no group")
{
	uint64_t token;

	crowd_begin();
	for (int i = 0; i < 3; i++) {
		assert_ok(rowlock_acquire(lock[0], 0, &err));
		assert_ok(rowlock_token(lock[0], &token, &err));
		assert_ok(rowlock_release(lock[0], &err));
	}
	assert_int_equal(fake_count(FAKE_BATCH), 0);
	crowd_end();
}

static bool are_all_early(void *arg)
{
	struct rlk_group *group = &client->leases.group;
	unsigned int left = MANY;
	struct rlk_list *node;

	(void) arg;
	rlk_mutex_lock(&group->mutex);
	for (node = group->early.next; node != &group->early; node = node->next)
		left--;
	rlk_mutex_unlock(&group->mutex);
	return left == 0;
}

static bool are_in_a_round(void *arg)
{
	struct rlk_group *group = &client->leases.group;
	bool idle;

	rlk_mutex_lock(&group->mutex);
	idle = !group->led;
	rlk_mutex_unlock(&group->mutex);
	return idle && are_all_early(arg);
}

static int64_t until_the_next_round(void)
{
	return rlk_rounds_next(client->rounds, fake_now()) - fake_now();
}

/* All wait for names of another client. Each asks by itself at first, as it may
 * be free soon. */
static void all_poll(void)
{
	crowd_begin();
	fake_session_add(77);
	for (unsigned int i = 0; i < MANY; i++) {
		fake_lease_add(rowlock_name(lock[i]), 100 + i, 77);
		fake_tell(person[i], FAKE_DO_ACQUIRE, lock[i], 20000);
	}
	fake_pass_until(are_in_a_round, NULL);
}

FAKE("polls of many names cost one packet per round")
{
	unsigned int acquires;
	unsigned int batches;

	all_poll();
	acquires = fake_count(FAKE_ACQUIRE);
	batches = fake_count(FAKE_BATCH);
	for (unsigned int i = 0; i < 5; i++) {
		fake_advance((uint64_t) until_the_next_round());
		fake_await(FAKE_BATCH, batches + i + 1);
		assert_int_equal(fake_call(FAKE_BATCH, batches + i).id, MANY);
		fake_until(are_in_a_round, NULL);
	}
	assert_int_equal(fake_count(FAKE_ACQUIRE), acquires);
	/* And as soon as they are free. */
	for (unsigned int i = 0; i < MANY; i++)
		fake_lease_remove(rowlock_name(lock[i]));
	fake_advance((uint64_t) until_the_next_round());
	all_hold();
	assert_int_equal(fake_count(FAKE_BATCH), batches + 6);
	crowd_end();
}

static bool all_queue(void *ret_until_ms)
{
	struct rlk_group *group = &client->leases.group;
	unsigned int left = MANY;
	struct rlk_list *node;

	rlk_mutex_lock(&group->mutex);
	for (node = group->queue.next; node != &group->queue;
	     node = node->next) {
		*(int64_t *) ret_until_ms =
		    container_of(node, struct rlk_member, node)->queue_until_ms;
		left--;
	}
	rlk_mutex_unlock(&group->mutex);
	return left == 0;
}

/* Their time comes, nobody takes them along, and they wait for the next. */
static void round_passes_in_vain(void)
{
	int64_t until_ms;

	fake_advance((uint64_t) until_the_next_round());
	fake_until(all_queue, &until_ms);
	fake_advance((uint64_t) (until_ms - fake_now()));
	fake_until(are_all_early, NULL);
}

/* The leader keeps the connection for long, and they are in no hurry. */
FAKE("a round that is late is left out")
{
	unsigned int acquires;
	unsigned int batches;

	all_poll();
	acquires = fake_count(FAKE_ACQUIRE);
	batches = fake_count(FAKE_BATCH);
	fake_next(FAKE_ACQUIRE, held_back);
	fake_tell(leader, FAKE_DO_ACQUIRE, leaders_lock, 5000);
	fake_await(FAKE_ACQUIRE, acquires + 1);
	/* More would take so long that the leader is interrupted. */
	round_passes_in_vain();
	round_passes_in_vain();
	assert_int_equal(fake_count(FAKE_ACQUIRE), acquires + 1);
	assert_int_equal(fake_count(FAKE_BATCH), batches);
	fake_let(FAKE_ACQUIRE);
	assert_ok(fake_hear(leader, &err));
	for (unsigned int i = 0; i < MANY; i++)
		fake_lease_remove(rowlock_name(lock[i]));
	fake_advance((uint64_t) until_the_next_round());
	all_hold();
	assert_int_equal(fake_count(FAKE_ACQUIRE), acquires + 1);
	assert_int_equal(fake_count(FAKE_BATCH), batches + 1);
	assert_ok(fake_ask(leader, FAKE_DO_RELEASE, leaders_lock, 0));
	crowd_end();
}

FAKE("a stop of the process does not part a round")
{
	unsigned int acquires;
	unsigned int batches;

	all_poll();
	acquires = fake_count(FAKE_ACQUIRE);
	batches = fake_count(FAKE_BATCH);
	for (unsigned int i = 0; i < MANY; i++)
		fake_lease_remove(rowlock_name(lock[i]));
	/* Longer than one queues behind a leader that is stuck. */
	fake_advance((uint64_t) until_the_next_round() + 3000);
	all_hold();
	assert_int_equal(fake_count(FAKE_ACQUIRE), acquires);
	assert_int_equal(fake_count(FAKE_BATCH), batches + 1);
	crowd_end();
}

FAKE("a group of one is none")
{
	struct rowlock_client_options options = fake_options();

	options.batch_size = 1;
	crowd_begin_with(options);
	leader_asks();
	for (unsigned int i = 0; i < MANY; i++)
		fake_tell(person[i], FAKE_DO_ACQUIRE, lock[i], 10000);
	/* They wait for the connection itself. */
	fake_await_wanted(RLK_BAY_COMMIT);
	leader_goes();
	all_hold();
	assert_int_equal(fake_count(FAKE_BATCH), 0);
	crowd_end();
}

FAKE("what fails half way is sent alone")
{
	static const int faults[] = { RLK_BUSY, RLK_CONFLICT, RLK_KILLED,
				      RLK_REFUSED };

	for (size_t i = 0; i < TEST_SIZE(faults); i++) {
		fake_setup(state);
		crowd_begin();
		leader_asks();
		all_ask(FAKE_DO_ACQUIRE, 10000);
		fake_next(FAKE_BATCH, (struct fake_answer){ .given = true,
							    .result = faults[i],
							    .half = 1 });
		leader_goes();
		all_hold();
		assert_int_equal(fake_count(FAKE_BATCH), 1);
		/* All but the first, whose answer counts. */
		assert_int_equal(fake_count(FAKE_ACQUIRE), 2 + MANY - 1);
		assert_int_equal(fake_count(FAKE_FENCE), 0);
		crowd_end();
	}
}

/* The server may have no more of them for us. */
FAKE("without a connection aside the commit connection is taken")
{
	crowd_begin();
	leader_asks();
	all_ask(FAKE_DO_ACQUIRE, 10000);
	/* The packet's, and that of the first that is sent alone. */
	fake_next(FAKE_GET, normal);
	fake_next(FAKE_GET, (struct fake_answer){ .given = true,
						  .result = ROWLOCK_ECONNECT });
	fake_next(FAKE_BATCH, (struct fake_answer){ .given = true,
						    .result = RLK_CONFLICT,
						    .half = 1 });
	leader_goes();
	all_hold();
	assert_int_equal(fake_count(FAKE_BATCH), 1);
	crowd_end();
}

FAKE("a lost answer is settled by each attempt")
{
	crowd_begin();
	leader_asks();
	all_ask(FAKE_DO_ACQUIRE, 10000);
	fake_next(FAKE_BATCH, lost_reply);
	leader_goes();
	all_hold();
	/* Once for all of them; then each finds its own row, which a question
	 * that only looks would take for another's. */
	assert_int_equal(fake_count(FAKE_FENCE), 1);
	assert_int_equal(fake_count(FAKE_ACQUIRE), 2 + MANY);
	for (unsigned int i = 2; i < 2 + MANY; i++)
		assert_int_equal(fake_call(FAKE_ACQUIRE, i).ask, RLK_ASK_FIRST);
	crowd_end();
}

FAKE("a lost answer does not make a release a loss")
{
	crowd_begin();
	all_have();
	leader_asks();
	all_ask(FAKE_DO_RELEASE, 0);
	fake_next(FAKE_BATCH, lost_reply);
	leader_goes();
	hear_all(0);
	assert_int_equal(fake_count(FAKE_FENCE), 1);
	crowd_end();
}

/* Nobody knows of which of them the row was there. */
FAKE("a lost answer does not hide a break")
{
	crowd_begin();
	all_have();
	fake_lease_break(rowlock_name(lock[1]));
	leader_asks();
	all_ask(FAKE_DO_RELEASE, 0);
	fake_next(FAKE_BATCH, lost_reply);
	leader_goes();
	hear_all(ROWLOCK_EUNKNOWN);
	crowd_end();
}

FAKE("the release of a row that was gone is a loss")
{
	crowd_begin();
	all_have();
	for (int i = 0; i < MANY; i++)
		fake_lease_remove(rowlock_name(lock[i]));
	leader_asks();
	all_ask(FAKE_DO_RELEASE, 0);
	leader_goes();
	hear_all(ROWLOCK_ELOST);
	assert_int_equal(fake_count(FAKE_BATCH), 1);
	crowd_end();
}

/* That one half was executed tells nothing about the other. */
FAKE("an interrupted release still tells a loss")
{
	crowd_begin();
	all_have();
	for (int i = 0; i < MANY; i++)
		fake_lease_remove(rowlock_name(lock[i]));
	leader_asks();
	all_ask(FAKE_DO_RELEASE, 0);
	fake_next(FAKE_BATCH, (struct fake_answer){ .given = true,
						    .skip = true,
						    .result = RLK_KILLED });
	leader_goes();
	hear_all(ROWLOCK_ELOST);
	crowd_end();
}

FAKE("what may have been granted is not left behind")
{
	crowd_begin();
	leader_asks();
	all_ask(FAKE_DO_ACQUIRE, 10000);
	fake_next(FAKE_BATCH, lost_reply);
	/* And from then on the server refuses. */
	fake_always(FAKE_ACQUIRE,
		    (struct fake_answer){
			.given = true, .skip = true, .result = RLK_REFUSED });
	leader_goes();
	hear_all(ROWLOCK_EDB);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(rowlock_held(lock[i]), 0);
		fake_pass_until(is_free, lock[i]);
	}
	crowd_end();
}

/* A server that is read-only refuses the packet, and then each of its acquires:
 * nothing is there that the chores would have to delete. */
FAKE("what was refused leaves nothing behind")
{
	struct fake_person *doubtful = fake_person();
	struct rowlock *last;
	unsigned int before;

	crowd_begin();
	leader_asks();
	before = fake_count(FAKE_RELEASE);
	last = fake_lock(client, ROWLOCK_LEASE, 0, "last");
	all_ask(FAKE_DO_ACQUIRE, 10000);
	fake_next(FAKE_BATCH, (struct fake_answer){ .given = true,
						    .skip = true,
						    .result = RLK_REFUSED });
	for (int i = 0; i < MANY; i++)
		fake_next(FAKE_ACQUIRE,
			  (struct fake_answer){ .given = true,
						.skip = true,
						.result = RLK_REFUSED });
	leader_goes();
	hear_all(ROWLOCK_EDB);
	/* One that is in doubt is cleaned up after them. */
	fake_next(FAKE_ACQUIRE, lost_reply);
	fake_always(FAKE_FENCE, lost_request);
	fake_tell(doubtful, FAKE_DO_ACQUIRE, last, 0);
	assert_int_not_equal(fake_pass_hear(doubtful, NULL), 0);
	fake_always(FAKE_FENCE, normal);
	fake_pass_await(FAKE_RELEASE, before + 1);
	assert_string_equal(fake_call(FAKE_RELEASE, before).name,
			    rowlock_name(last));
	fake_pass_until(is_free, last);
	fake_lock_end(last);
	crowd_end();
}

FAKE("a group that cannot be fenced is settled one by one")
{
	crowd_begin();
	leader_asks();
	all_ask(FAKE_DO_ACQUIRE, 10000);
	fake_next(FAKE_BATCH, lost_reply);
	fake_next(FAKE_FENCE, refused);
	leader_goes();
	all_hold();
	assert_int_equal(fake_count(FAKE_FENCE), 1 + MANY);
	crowd_end();
}

FAKE("a packet that lingers is interrupted")
{
	crowd_begin();
	leader_asks();
	all_ask(FAKE_DO_ACQUIRE, 10000);
	fake_next(FAKE_BATCH, (struct fake_answer){ .wait = true,
						    .given = true,
						    .skip = true,
						    .result = RLK_KILLED });
	leader_goes();
	fake_await(FAKE_BATCH, 1);
	fake_pass_await(FAKE_KILL_QUERY, 1);
	/* It learns that it was, and each goes alone. */
	fake_let(FAKE_BATCH);
	all_hold();
	assert_int_equal(fake_count(FAKE_FENCE), 0);
	assert_int_equal(client->leases.usual_ms, 0);
	crowd_end();
}

static bool all_are_told(void *arg)
{
	(void) arg;
	for (unsigned int i = 0; i < MANY; i++)
		if (fake_busy(person[i]))
			return false;
	return true;
}

/* The server may swallow the interruption, and the rest of the packet. */
FAKE("an interrupted packet without an answer is not waited for")
{
	int64_t began;

	crowd_begin();
	client->call_timeout_ms = 9000;
	leader_asks();
	all_ask(FAKE_DO_ACQUIRE, 10000);
	fake_next(FAKE_BATCH, held_back);
	leader_goes();
	fake_await(FAKE_BATCH, 1);
	fake_pass_await(FAKE_KILL_QUERY, 1);
	began = fake_now();
	fake_pass_until(all_are_told, NULL);
	assert_true(fake_now() - began < 4000);
	assert_int_equal(fake_count(FAKE_FENCE), 1);
	all_hold();
	crowd_end();
}

CASE_MAIN(case_main)
