/* SPDX-License-Identifier: MIT */
/*
 * The times of TERM and KILL, with numbers instead of a clock.
 */
#include "case.h"
#include "cli/run/deadline.h"

#define START 1000000

/* Look at @now after START with @remaining left; what it says, and when it
 * wants to look again. */
#define assert_step(deadline, now, remaining, phase, wake)                     \
	do {                                                                   \
		uint64_t wake_ms_ = 4711;                                      \
		assert_int_equal(deadline_step(deadline, START + (now),        \
					       remaining, &wake_ms_),          \
				 phase);                                       \
		assert_int_equal(wake_ms_, wake);                              \
	} while (0)

CASE("thirty_seconds_are_6_and_1_5_before_the_end")
{
	struct deadline d;

	deadline_init(&d, 30000);
	assert_step(&d, 0, 27000, DEADLINE_WATCH, 21000);
	assert_step(&d, 20999, 6001, DEADLINE_WATCH, 1);
	assert_step(&d, 21000, 6000, DEADLINE_TERM, 4500);
	assert_step(&d, 25499, 1501, DEADLINE_TERM, 1);
	assert_step(&d, 25500, 1500, DEADLINE_KILL, DEADLINE_NEVER);
}

CASE("a_beat_in_time_puts_everything_off")
{
	struct deadline d;

	deadline_init(&d, 30000);
	assert_step(&d, 0, 27000, DEADLINE_WATCH, 21000);
	/* Two beats late, the third in time. */
	assert_step(&d, 20000, 7000, DEADLINE_WATCH, 1000);
	assert_step(&d, 20500, 27000, DEADLINE_WATCH, 21000);
}

CASE("a_beat_after_TERM_puts_KILL_off_but_takes_nothing_back")
{
	struct deadline d;

	deadline_init(&d, 30000);
	assert_step(&d, 0, 6000, DEADLINE_TERM, 4500);
	assert_step(&d, 1000, 27000, DEADLINE_TERM, 25500);
	assert_step(&d, 26500, 1500, DEADLINE_KILL, DEADLINE_NEVER);
}

CASE("an_end_at_the_maximum_is_told_from_silence")
{
	struct deadline d;

	deadline_init(&d, 30000);
	assert_step(&d, 0, 6000, DEADLINE_TERM, 4500);
	assert_false(deadline_is_maximum(&d));
	/* An hour, which is 54 minutes here. */
	deadline_init(&d, 30000);
	deadline_limit(&d, START, 3600000, 30000);
	assert_step(&d, 0, 27000, DEADLINE_WATCH, 21000);
	assert_false(deadline_is_maximum(&d));
	assert_step(&d, 3229000, 10500, DEADLINE_WATCH, 4500);
	assert_true(deadline_is_maximum(&d));
	/* A grant comes later than its request. */
	assert_step(&d, 3230000, 6000, DEADLINE_TERM, 4500);
	assert_true(deadline_is_maximum(&d));
	/* The maximum is less than the TTL. */
	deadline_init(&d, 2000);
	deadline_limit(&d, START, 2000, 2000);
	assert_step(&d, 0, 1500, DEADLINE_WATCH, 1100);
	assert_true(deadline_is_maximum(&d));
}

CASE("a_sudden_loss_gives_half_a_second")
{
	struct deadline d;

	deadline_init(&d, 30000);
	assert_step(&d, 0, 27000, DEADLINE_WATCH, 21000);
	assert_step(&d, 100, 0, DEADLINE_TERM, 500);
	assert_step(&d, 599, 0, DEADLINE_TERM, 1);
	assert_step(&d, 600, 0, DEADLINE_KILL, DEADLINE_NEVER);
}

CASE("a_sudden_loss_near_the_deadline_gives_less")
{
	struct deadline d;

	/* TERM when 200, KILL when 50 are left. */
	deadline_init(&d, 1000);
	assert_step(&d, 0, 300, DEADLINE_WATCH, 100);
	assert_step(&d, 40, 0, DEADLINE_TERM, 210);
	assert_step(&d, 250, 0, DEADLINE_KILL, DEADLINE_NEVER);
}

CASE("a_loss_after_TERM_is_KILL_at_once")
{
	struct deadline d;

	deadline_init(&d, 30000);
	assert_step(&d, 0, 5000, DEADLINE_TERM, 3500);
	assert_step(&d, 100, 0, DEADLINE_KILL, DEADLINE_NEVER);
}

CASE("who_slept_past_the_deadline_kills_at_once")
{
	struct deadline d;

	deadline_init(&d, 30000);
	assert_step(&d, 0, 27000, DEADLINE_WATCH, 21000);
	assert_step(&d, 25500, 0, DEADLINE_KILL, DEADLINE_NEVER);
}

CASE("what_is_left_of_an_obedient_group_has_half_a_second")
{
	struct deadline d;

	deadline_init(&d, 30000);
	assert_step(&d, 0, 6000, DEADLINE_TERM, 4500);
	deadline_hasten(&d, START + 100);
	deadline_hasten(&d, START + 200);
	assert_step(&d, 300, 5700, DEADLINE_TERM, 300);
	assert_step(&d, 600, 27000, DEADLINE_KILL, DEADLINE_NEVER);
}

CASE("long_ttls_do_not_end_commands_hours_too_early")
{
	struct deadline d;

	deadline_init(&d, 86400000);
	assert_true(deadline_is_near(&d, 30000));
	assert_false(deadline_is_near(&d, 30001));
	assert_step(&d, 0, 30001, DEADLINE_WATCH, 1);
	assert_step(&d, 1, 30000, DEADLINE_TERM, 28000);
	assert_step(&d, 28001, 2000, DEADLINE_KILL, DEADLINE_NEVER);
}

CASE("the_guard_comes_after_KILL_and_before_the_deadline")
{
	struct deadline d;

	deadline_init(&d, 30000);
	assert_step(&d, 0, 27000, DEADLINE_WATCH, 21000);
	assert_int_equal(deadline_guard_time(&d), START + 27000 - 750);
	assert_step(&d, 100, 0, DEADLINE_TERM, 500);
	assert_int_equal(deadline_guard_time(&d), START + 600 + 500);
}

CASE("a_hold_without_end_is_never_near")
{
	struct deadline d;

	deadline_init(&d, 30000);
	assert_step(&d, 0, UINT64_MAX, DEADLINE_WATCH, UINT64_MAX - 6000);
	assert_step(&d, 1, 0, DEADLINE_TERM, 500);
}

CASE_MAIN(case_main)
