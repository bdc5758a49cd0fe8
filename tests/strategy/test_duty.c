/* SPDX-License-Identifier: MIT */
/*
 * The duty to reap, on a real server: one of all gets it, for as long as it
 * goes on.
 */
#include "parts.h"
#include "strategy/duty.h"

#define DUTY "strategy = 'reaper' AND name = 'pass'"
#define FRESH_MS 60000

static void forget(void)
{
	test_sql(ground->sql, "DELETE FROM lock_token WHERE " DUTY);
}

static uint64_t take(int who)
{
	uint64_t number = 99;

	assert_done(rlk_duty_take(ground->conns[who], FRESH_MS, &number, &err));
	return number;
}

static bool keep(int who, uint64_t number)
{
	bool kept = false;

	assert_done(rlk_duty_keep(ground->conns[who], number, &kept, &err));
	return kept;
}

static int64_t age_ms(void)
{
	int64_t age_us = -1;

	assert_done(rlk_duty_look(ground->conns[1], &age_us, &err));
	return age_us == INT64_MAX ? -1 : age_us / 1000;
}

static void make_older(int seconds)
{
	test_sql(ground->sql,
		 "UPDATE lock_token SET drawn_at = drawn_at - INTERVAL %d "
		 "SECOND WHERE " DUTY,
		 seconds);
}

LEASE("one takes it and keeps it")
{
	forget();
	assert_int_equal(age_ms(), -1);
	assert_int_equal(take(0), 1);
	assert_int_equal(take(1), 0);
	assert_in_range(age_ms(), 0, FRESH_MS / 2);
	make_older(50);
	assert_in_range(age_ms(), 50000, 59000);
	assert_true(keep(0, 1));
	assert_in_range(age_ms(), 0, FRESH_MS / 2);
	assert_int_equal(take(1), 0);
	forget();
}

LEASE("an old one is taken over")
{
	forget();
	assert_int_equal(take(0), 1);
	make_older(70);
	assert_int_equal(take(1), 2);
	assert_false(keep(0, 1));
	assert_int_equal(take(0), 0);
	assert_true(keep(1, 2));
	forget();
}

/* The clock was ahead by days when it was taken. */
LEASE("one of a time to come is old")
{
	forget();
	assert_int_equal(take(0), 1);
	make_older(-3 * 24 * 3600);
	assert_true(age_ms() > FRESH_MS);
	assert_int_equal(take(1), 2);
	assert_in_range(age_ms(), 0, FRESH_MS / 2);
	forget();
}

CASE_MAIN(test_main)
