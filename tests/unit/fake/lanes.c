/* SPDX-License-Identifier: MIT */
/* See lanes.h. */
#include "lanes.h"

#include <stdio.h>
#include <string.h>

#include "group/commit.h"
#include "test.h"

const struct fake_answer normal;
const struct fake_answer held_back = { .wait = true };
const struct fake_answer lost_reply = { .given = true, .result = RLK_UNKNOWN };
const struct fake_answer refused = { .given = true,
				     .skip = true,
				     .result = RLK_REFUSED };
const struct fake_answer lost_request = { .given = true,
					  .skip = true,
					  .result = RLK_UNKNOWN };

/* A client, two threads whose acquires keep both lanes, and many others. */
struct rowlock_client *client;
struct rowlock *in_lane[LANES];
struct fake_person *of_lane[LANES];
struct rowlock *lock[MANY];
struct fake_person *person[MANY];

unsigned int warnings;

static void note_warning(enum rowlock_log_level level, const char *message,
			 void *arg)
{
	(void) arg;
	if (level == ROWLOCK_LOG_WARNING &&
	    strstr(message, "several statements"))
		warnings++;
}

void lanes_begin_with(struct rowlock_client_options options)
{
	struct rowlock_errinfo err;

	warnings = 0;
	options.call_timeout_ms = 500;
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

void lanes_begin(void)
{
	struct rowlock_client_options options = fake_options();

	options.lease_connections = LANES;
	lanes_begin_with(options);
}

/* Both lanes are taken by acquires whose answers stay away. */
void fill_lanes(void)
{
	unsigned int before = fake_count(FAKE_ACQUIRE);

	for (unsigned int i = 0; i < LANES; i++) {
		fake_next(FAKE_ACQUIRE, held_back);
		fake_tell(of_lane[i], FAKE_DO_ACQUIRE, in_lane[i], 60000);
		fake_await(FAKE_ACQUIRE, before + i + 1);
	}
}

struct queued {
	struct rlk_group *group;
	unsigned int count;
};

static bool are_queued(void *arg)
{
	const struct queued *queued = arg;
	struct rlk_group *group = queued->group;
	unsigned int left = queued->count;
	struct rlk_list *node;
	struct rlk_list *after;

	rlk_mutex_lock(&group->mutex);
	rlk_list_for_each(node, after, &group->queue)
	{
		left--;
	}
	rlk_mutex_unlock(&group->mutex);
	return left == 0;
}

void await_queued(unsigned int count)
{
	struct queued queued = { &client->lanes[0].group, count };

	fake_until(are_queued, &queued);
}

void await_sweeps_queued(unsigned int count)
{
	struct queued queued = { &client->sweeps.group, count };

	fake_until(are_queued, &queued);
}

/* All ask, one after the other, for as long as @wait_ms. */
void all_ask(enum fake_verb verb, uint64_t wait_ms)
{
	for (unsigned int i = 0; i < MANY; i++) {
		fake_tell(person[i], verb, lock[i], wait_ms);
		await_queued(i + 1);
	}
}

/* One lane comes free: who queues, goes. */
void free_a_lane(void)
{
	fake_let(FAKE_ACQUIRE);
}

bool is_free(void *arg)
{
	const struct rowlock *of = arg;

	return fake_lease(rowlock_name(of)) == 0;
}

static void drop(struct rowlock *gone)
{
	struct rowlock_errinfo err;

	if (rowlock_held(gone) == 1)
		assert_ok(rowlock_release(gone, &err));
	fake_lock_end(gone);
}

bool is_a_lane_free(void *arg)
{
	(void) arg;
	return !fake_busy(of_lane[0]);
}

/* Everything that was begun comes to its end. */
void lanes_end(void)
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

void hear_all(int code)
{
	for (int i = 0; i < MANY; i++) {
		struct rowlock_errinfo err;

		assert_code(fake_hear(person[i], &err), code, &err);
	}
}

void all_hold(void)
{
	hear_all(0);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(rowlock_held(lock[i]), 1);
		assert_int_not_equal(fake_lease(rowlock_name(lock[i])), 0);
	}
}

/* Each holds its lock, without others. */
void all_have(void)
{
	struct rowlock_errinfo err;

	for (int i = 0; i < MANY; i++)
		assert_code(fake_ask(person[i], FAKE_DO_ACQUIRE, lock[i], 0), 0,
			    &err);
}
