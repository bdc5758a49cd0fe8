/* SPDX-License-Identifier: MIT */
/*
 * Whose turn it is to reap, on a real server: one of all wins, for as long as
 * it goes on.
 */
#include "parts.h"
#include "strategy/claim.h"

#define CLAIM "strategy = 'reaper' AND name = 'pass'"
#define FRESH_MS 60000

static void forget(struct ground *ground)
{
	test_sql(ground->sql, "DELETE FROM lock_token WHERE " CLAIM);
}

static uint64_t take(struct ground *ground, int who)
{
	uint64_t number = 99;

	assert_done(rlk_claim_take(ground->conns[who], FRESH_MS, &number, &err),
		    &err);
	return number;
}

static bool keep(struct ground *ground, int who, uint64_t number)
{
	bool kept = false;

	assert_done(rlk_claim_keep(ground->conns[who], number, &kept, &err),
		    &err);
	return kept;
}

static int64_t age_ms(struct ground *ground)
{
	int64_t age_us = -1;

	assert_done(rlk_claim_look(ground->conns[1], &age_us, &err), &err);
	return age_us == INT64_MAX ? -1 : age_us / 1000;
}

static void make_older(struct ground *ground, int seconds)
{
	test_sql(ground->sql,
		 "UPDATE lock_token SET drawn_at = drawn_at - INTERVAL %d "
		 "SECOND WHERE " CLAIM,
		 seconds);
}

LEASE("one takes it and keeps it")
{
	struct ground *ground = *state;

	forget(ground);
	assert_int_equal(age_ms(ground), -1);
	assert_int_equal(take(ground, 0), 1);
	assert_int_equal(take(ground, 1), 0);
	assert_in_range(age_ms(ground), 0, FRESH_MS / 2);
	make_older(ground, 50);
	assert_in_range(age_ms(ground), 50000, 59000);
	assert_true(keep(ground, 0, 1));
	assert_in_range(age_ms(ground), 0, FRESH_MS / 2);
	assert_int_equal(take(ground, 1), 0);
	forget(ground);
}

LEASE("an old one is taken over")
{
	struct ground *ground = *state;

	forget(ground);
	assert_int_equal(take(ground, 0), 1);
	make_older(ground, 70);
	assert_int_equal(take(ground, 1), 2);
	assert_false(keep(ground, 0, 1));
	assert_int_equal(take(ground, 0), 0);
	assert_true(keep(ground, 1, 2));
	forget(ground);
}

/* The clock was ahead by days when it was claimed. */
LEASE("one of a time to come is old")
{
	struct ground *ground = *state;

	forget(ground);
	assert_int_equal(take(ground, 0), 1);
	make_older(ground, -3 * 24 * 3600);
	assert_true(age_ms(ground) > FRESH_MS);
	assert_int_equal(take(ground, 1), 2);
	assert_in_range(age_ms(ground), 0, FRESH_MS / 2);
	forget(ground);
}

CASE_MAIN(test_main)
