/* SPDX-License-Identifier: MIT */
/*
 * Many of the dead at once: for those who ask for their names at one moment,
 * and for the reaper. And what becomes of the others where one is in the way.
 */
#include "fake/crowd.h"

#include <stdio.h>
#include <string.h>

#include "group/commit.h"
#include "test.h"

static const struct fake_answer blocked = { .given = true,
					    .skip = true,
					    .result = RLK_BUSY };

/* All names have dead holders. */
static void begin(void)
{
	crowd_begin();
	for (unsigned int i = 0; i < MANY; i++)
		fake_lease_add(rowlock_name(lock[i]), 100 + i, 77);
}

/* The first one says @first, and gets no answer; the others have to wait. */
static void all_meet(enum fake_op first, uint64_t wait_ms)
{
	fake_next(first, held_back);
	for (unsigned int i = 0; i < MANY; i++) {
		fake_tell(person[i], FAKE_DO_ACQUIRE, lock[i], wait_ms);
		if (i == 0)
			fake_await(first, 1);
		else
			await_sweeps_queued(i);
	}
}

static void all_meet_the_dead(uint64_t wait_ms)
{
	all_meet(FAKE_SWEEP_MANY, wait_ms);
}

FAKE("those who meet dead holders at one moment share a sweep")
{
	begin();
	all_meet_the_dead(10000);
	fake_let(FAKE_SWEEP_MANY);
	all_hold();
	assert_int_equal(fake_count(FAKE_SWEEP_DEAD), 0);
	assert_int_equal(fake_count(FAKE_SWEEP_MANY), 2);
	assert_int_equal(fake_call(FAKE_SWEEP_MANY, 0).id, 1);
	assert_int_equal(fake_call(FAKE_SWEEP_MANY, 1).id, MANY - 1);
	crowd_end();
}

FAKE("one that is in the way is swept alone")
{
	begin();
	all_meet_the_dead(10000);
	fake_next(FAKE_SWEEP_MANY, blocked);
	fake_let(FAKE_SWEEP_MANY);
	all_hold();
	assert_int_equal(fake_count(FAKE_SWEEP_MANY), 2);
	assert_int_equal(fake_count(FAKE_SWEEP_DEAD), MANY - 1);
	crowd_end();
}

FAKE("who waits for a sweep leaves at its deadline")
{
	int64_t began;

	begin();
	began = fake_now();
	all_meet_the_dead(60);
	for (unsigned int i = 1; i < MANY; i++)
		assert_code(fake_pass_hear(person[i], &err), ROWLOCK_ETIMEDOUT,
			    &err);
	assert_in_range(fake_now() - began, 60, 160);
	fake_let(FAKE_SWEEP_MANY);
	fake_pass_hear(person[0], &err);
	assert_int_equal(fake_count(FAKE_SWEEP_MANY), 1);
	crowd_end();
}

/* What is still there after a sweep was alive after all: it is asked for once
 * more, not in a circle. */
FAKE("a holder that is still there is not swept again")
{
	begin();
	all_meet_the_dead(0);
	for (unsigned int i = 1; i < MANY; i++) {
		fake_session_remove(77);
		fake_lease_remove(rowlock_name(lock[i]));
		fake_session_add(88);
		fake_lease_add(rowlock_name(lock[i]), 200 + i, 88);
	}
	fake_let(FAKE_SWEEP_MANY);
	assert_code(fake_hear(person[0], &err), 0, &err);
	for (unsigned int i = 1; i < MANY; i++) {
		assert_code(fake_hear(person[i], &err), ROWLOCK_EBUSY, &err);
		assert_int_equal(fake_lease(rowlock_name(lock[i])), 200 + i);
	}
	crowd_end();
}

/* --------------------------------------------------------------- reaper */

#define DEAD 200

static void fill(void)
{
	char name[16];

	for (unsigned int i = 0; i < DEAD; i++) {
		snprintf(name, sizeof(name), "dead-%03u", i);
		fake_lease_add(name, 100 + i, 77 + i % 3);
	}
	fake_lease_add("alive", 99, 80);
	fake_session_add(80);
}

static void reap_all(struct rowlock_client *of,
		     struct rowlock_reap_result *result)
{
	struct rowlock_reap_options options = ROWLOCK_REAP_OPTIONS_DEFAULT;

	options.batch = 256;
	result->size = sizeof(*result);
	assert_ok(rowlock_reap(of, &options, result, &err));
	assert_int_equal(fake_lease("dead-000"), 0);
	assert_int_equal(fake_lease("alive"), 99);
}

FAKE("the reaper sweeps a batch by a statement")
{
	FAKE_CLIENT_AS(of, fake_client());
	struct rowlock_reap_result result;

	fill();
	for (uint64_t id = 77; id < 80; id++) {
		fake_session_add(id);
		fake_session_expire(id);
	}
	reap_all(of, &result);
	assert_int_equal(result.evicted, 3);
	assert_int_equal(result.swept, DEAD);
	assert_int_equal(fake_count(FAKE_EVICT_MANY), 1);
	assert_int_equal(fake_count(FAKE_SWEEP_MANY), 1);
	assert_int_equal(fake_count(FAKE_EVICT_EXPIRED), 0);
	assert_int_equal(fake_count(FAKE_SWEEP_DEAD), 0);
}

FAKE("the reaper goes one by one where one is in the way")
{
	FAKE_CLIENT_AS(of, fake_client());
	struct rowlock_reap_result result;

	fill();
	fake_session_add(77);
	fake_session_expire(77);
	fake_next(FAKE_EVICT_MANY, blocked);
	fake_next(FAKE_SWEEP_MANY, blocked);
	/* This one stays in the way, and is not waited for again. */
	fake_next(FAKE_SWEEP_DEAD, normal);
	fake_next(FAKE_SWEEP_DEAD, blocked);
	reap_all(of, &result);
	assert_int_equal(result.evicted, 1);
	assert_int_equal(fake_count(FAKE_EVICT_EXPIRED), 1);
	assert_int_equal(result.swept, DEAD - 1);
	assert_int_equal(fake_count(FAKE_SWEEP_DEAD), DEAD);
}

/* Each page takes 60 ms, and a pass is to take 100. */
FAKE("a pass that was ended by its time is gone on with")
{
	static const struct {
		unsigned int evicted, more, pages;
	} passes[] = { { 0, 1, 2 }, { 2, 1, 4 }, { 2, 1, 6 } };
	struct rowlock_reap_options options = ROWLOCK_REAP_OPTIONS_DEFAULT;
	struct rowlock_reap_result result = { .size = sizeof(result) };
	FAKE_CLIENT_AS(of, fake_client());

	for (uint64_t id = 1; id <= 8; id++) {
		fake_session_add(id);
		if (id > 4)
			fake_session_expire(id);
	}
	options.batch = 2;
	options.time_limit_ms = 100;
	fake_always(FAKE_SESSIONS, (struct fake_answer){ .ms = 60 });
	for (size_t i = 0; i < TEST_SIZE(passes); i++) {
		assert_ok(rowlock_reap(of, &options, &result, &err));
		assert_int_equal(result.evicted, passes[i].evicted);
		assert_int_equal(result.more, passes[i].more);
		assert_int_equal(fake_count(FAKE_SESSIONS), passes[i].pages);
	}
	assert_int_equal(fake_count(FAKE_DEAD), 0);
	fake_always(FAKE_SESSIONS, normal);
	assert_ok(rowlock_reap(of, &options, &result, &err));
	assert_int_equal(result.more, 0);
	/* From the first one on. */
	assert_int_equal(fake_count(FAKE_SESSIONS), 9);
	assert_int_equal(fake_count(FAKE_DEAD), 1);
}

/* Those that are in the way cost each pass its time; the others have theirs. */
FAKE("a pass is not kept by those in the way")
{
	struct rowlock_reap_options options = ROWLOCK_REAP_OPTIONS_DEFAULT;
	struct rowlock_reap_result result = { .size = sizeof(result) };
	FAKE_CLIENT_AS(of, fake_client());
	struct fake_answer slow = blocked;
	char name[16];

	slow.ms = 60;
	for (unsigned int i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "dead-%03u", i);
		fake_lease_add(name, 100 + i, 77);
	}
	options.time_limit_ms = 100;
	fake_always(FAKE_SWEEP_MANY, blocked);
	fake_always(FAKE_SWEEP_DEAD, slow);
	for (unsigned int i = 0; i < 3; i++) {
		assert_ok(rowlock_reap(of, &options, &result, &err));
		assert_int_equal(result.more, 1);
		assert_int_equal(fake_count(FAKE_SWEEP_DEAD), 2 * i + 2);
		snprintf(name, sizeof(name), "dead-%03u", 2 * i + 1);
		assert_string_equal(fake_call(FAKE_SWEEP_DEAD, 2 * i + 1).name,
				    name);
	}
}

/* However little time it has. */
FAKE("a pass removes something, however little time it has")
{
	struct rowlock_reap_options options = ROWLOCK_REAP_OPTIONS_DEFAULT;
	struct rowlock_reap_result result = { .size = sizeof(result) };
	FAKE_CLIENT_AS(of, fake_client());

	fake_session_add(1);
	fake_session_expire(1);
	options.time_limit_ms = 1;
	fake_always(FAKE_SESSIONS, (struct fake_answer){ .ms = 60 });
	assert_ok(rowlock_reap(of, &options, &result, &err));
	assert_int_equal(result.evicted, 1);
	assert_int_equal(result.more, 1);
}

/* Nobody shall take it for all well. */
FAKE("the reaper tells what it could not remove")
{
	struct rowlock_reap_options options = ROWLOCK_REAP_OPTIONS_DEFAULT;
	struct rowlock_reap_result result = { .size = sizeof(result) };
	FAKE_CLIENT_AS(of, fake_client());

	fill();
	fake_next(FAKE_SWEEP_MANY, refused);
	assert_code(rowlock_reap(of, &options, &result, &err), ROWLOCK_EDB,
		    &err);
	assert_int_equal(result.swept, 0);
	assert_int_equal(fake_count(FAKE_SWEEP_MANY), 1);
	for (uint64_t id = 77; id < 80; id++) {
		fake_session_add(id);
		fake_session_expire(id);
	}
	fake_next(FAKE_EVICT_MANY, refused);
	assert_code(rowlock_reap(of, &options, &result, &err), ROWLOCK_EDB,
		    &err);
	assert_int_equal(result.evicted, 0);
	reap_all(of, &result);
}

FAKE("a look for old tokens that failed is made again")
{
	struct rowlock_reap_options options = ROWLOCK_REAP_OPTIONS_DEFAULT;
	struct rowlock_reap_result result = { .size = sizeof(result) };
	FAKE_CLIENT_AS(of, fake_client());

	fake_next(FAKE_TOKENS, refused);
	assert_code(rowlock_reap(of, &options, &result, &err), ROWLOCK_EDB,
		    &err);
	assert_ok(rowlock_reap(of, &options, &result, &err));
	assert_int_equal(fake_count(FAKE_TOKENS), 2);
	/* There may be many: not with every pass. */
	assert_ok(rowlock_reap(of, &options, &result, &err));
	assert_int_equal(fake_count(FAKE_TOKENS), 2);
}

CASE_MAIN(case_main)
