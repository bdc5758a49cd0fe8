/* SPDX-License-Identifier: MIT */
/* See crowd.h. */
#include "crowd.h"

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

struct rowlock_client *client;
struct rowlock *leaders_lock;
struct fake_person *leader;
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

void crowd_begin_with(struct rowlock_client_options options)
{
	warnings = 0;
	options.call_timeout_ms = 500;
	options.log = note_warning;
	options.log_level = ROWLOCK_LOG_WARNING;
	client = fake_client_with(&options);
	leaders_lock =
	    fake_lock(client, ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE, "leader");
	leader = fake_person();
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

void crowd_begin(void)
{
	crowd_begin_with(fake_options());
}

void leader_asks(void)
{
	unsigned int before = fake_count(FAKE_ACQUIRE);

	fake_next(FAKE_ACQUIRE, held_back);
	fake_tell(leader, FAKE_DO_ACQUIRE, leaders_lock, 60000);
	fake_await(FAKE_ACQUIRE, before + 1);
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
	struct queued queued = { &client->leases.group, count };

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

void leader_goes(void)
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
	if (rowlock_held(gone) == 1)
		assert_ok(rowlock_release(gone, &err));
	fake_lock_end(gone);
}

bool is_leader_gone(void *arg)
{
	(void) arg;
	return !fake_busy(leader);
}

/* Everything that was begun comes to its end. */
void crowd_end(void)
{
	fake_always(FAKE_ACQUIRE, normal);
	fake_always(FAKE_FENCE, normal);
	fake_let(FAKE_ACQUIRE);
	if (fake_busy(leader))
		fake_pass_hear(leader, &err);
	fake_person_end(leader);
	drop(leaders_lock);
	for (int i = 0; i < MANY; i++) {
		fake_person_end(person[i]);
		drop(lock[i]);
	}
	fake_client_end(client);
}

void hear_all(int code)
{
	for (int i = 0; i < MANY; i++) {
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
	for (int i = 0; i < MANY; i++)
		assert_code(fake_ask(person[i], FAKE_DO_ACQUIRE, lock[i], 0), 0,
			    &err);
}
