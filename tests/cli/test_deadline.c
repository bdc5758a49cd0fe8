/* SPDX-License-Identifier: MIT */
/*
 * The times of TERM and KILL, with numbers instead of a clock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

static void thirty_seconds_are_6_and_1_5_before_the_end(void **state)
{
	struct deadline d;

	(void) state;
	deadline_init(&d, 30000);
	assert_step(&d, 0, 27000, DEADLINE_WATCH, 21000);
	assert_step(&d, 20999, 6001, DEADLINE_WATCH, 1);
	assert_step(&d, 21000, 6000, DEADLINE_TERM, 4500);
	assert_step(&d, 25499, 1501, DEADLINE_TERM, 1);
	assert_step(&d, 25500, 1500, DEADLINE_KILL, DEADLINE_NEVER);
}

static void a_beat_in_time_puts_everything_off(void **state)
{
	struct deadline d;

	(void) state;
	deadline_init(&d, 30000);
	assert_step(&d, 0, 27000, DEADLINE_WATCH, 21000);
	/* Two beats late, the third in time. */
	assert_step(&d, 20000, 7000, DEADLINE_WATCH, 1000);
	assert_step(&d, 20500, 27000, DEADLINE_WATCH, 21000);
}

static void a_beat_after_TERM_puts_KILL_off_but_takes_nothing_back(void **state)
{
	struct deadline d;

	(void) state;
	deadline_init(&d, 30000);
	assert_step(&d, 0, 6000, DEADLINE_TERM, 4500);
	assert_step(&d, 1000, 27000, DEADLINE_TERM, 25500);
	assert_step(&d, 26500, 1500, DEADLINE_KILL, DEADLINE_NEVER);
}

static void a_sudden_loss_gives_half_a_second(void **state)
{
	struct deadline d;

	(void) state;
	deadline_init(&d, 30000);
	assert_step(&d, 0, 27000, DEADLINE_WATCH, 21000);
	assert_step(&d, 100, 0, DEADLINE_TERM, 500);
	assert_step(&d, 599, 0, DEADLINE_TERM, 1);
	assert_step(&d, 600, 0, DEADLINE_KILL, DEADLINE_NEVER);
}

static void a_sudden_loss_near_the_deadline_gives_less(void **state)
{
	struct deadline d;

	(void) state;
	/* TERM when 200, KILL when 50 are left. */
	deadline_init(&d, 1000);
	assert_step(&d, 0, 300, DEADLINE_WATCH, 100);
	assert_step(&d, 40, 0, DEADLINE_TERM, 210);
	assert_step(&d, 250, 0, DEADLINE_KILL, DEADLINE_NEVER);
}

static void a_loss_after_TERM_is_KILL_at_once(void **state)
{
	struct deadline d;

	(void) state;
	deadline_init(&d, 30000);
	assert_step(&d, 0, 5000, DEADLINE_TERM, 3500);
	assert_step(&d, 100, 0, DEADLINE_KILL, DEADLINE_NEVER);
}

static void who_slept_past_the_deadline_kills_at_once(void **state)
{
	struct deadline d;

	(void) state;
	deadline_init(&d, 30000);
	assert_step(&d, 0, 27000, DEADLINE_WATCH, 21000);
	assert_step(&d, 25500, 0, DEADLINE_KILL, DEADLINE_NEVER);
}

static void what_is_left_of_an_obedient_group_has_half_a_second(void **state)
{
	struct deadline d;

	(void) state;
	deadline_init(&d, 30000);
	assert_step(&d, 0, 6000, DEADLINE_TERM, 4500);
	deadline_hasten(&d, START + 100);
	deadline_hasten(&d, START + 200);
	assert_step(&d, 300, 5700, DEADLINE_TERM, 300);
	assert_step(&d, 600, 27000, DEADLINE_KILL, DEADLINE_NEVER);
}

static void long_ttls_do_not_end_commands_hours_too_early(void **state)
{
	struct deadline d;

	(void) state;
	deadline_init(&d, 86400000);
	assert_true(deadline_is_near(&d, 30000));
	assert_false(deadline_is_near(&d, 30001));
	assert_step(&d, 0, 30001, DEADLINE_WATCH, 1);
	assert_step(&d, 1, 30000, DEADLINE_TERM, 28000);
	assert_step(&d, 28001, 2000, DEADLINE_KILL, DEADLINE_NEVER);
}

static void the_guard_comes_after_KILL_and_before_the_deadline(void **state)
{
	struct deadline d;

	(void) state;
	deadline_init(&d, 30000);
	assert_step(&d, 0, 27000, DEADLINE_WATCH, 21000);
	assert_int_equal(deadline_guard_time(&d), START + 27000 - 750);
	assert_step(&d, 100, 0, DEADLINE_TERM, 500);
	assert_int_equal(deadline_guard_time(&d), START + 600 + 500);
}

static void a_hold_without_end_is_never_near(void **state)
{
	struct deadline d;

	(void) state;
	deadline_init(&d, 30000);
	assert_step(&d, 0, UINT64_MAX, DEADLINE_WATCH, UINT64_MAX - 6000);
	assert_step(&d, 1, 0, DEADLINE_TERM, 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thirty_seconds_are_6_and_1_5_before_the_end),
		cmocka_unit_test(a_beat_in_time_puts_everything_off),
		cmocka_unit_test(
		    a_beat_after_TERM_puts_KILL_off_but_takes_nothing_back),
		cmocka_unit_test(a_sudden_loss_gives_half_a_second),
		cmocka_unit_test(a_sudden_loss_near_the_deadline_gives_less),
		cmocka_unit_test(a_loss_after_TERM_is_KILL_at_once),
		cmocka_unit_test(who_slept_past_the_deadline_kills_at_once),
		cmocka_unit_test(
		    what_is_left_of_an_obedient_group_has_half_a_second),
		cmocka_unit_test(long_ttls_do_not_end_commands_hours_too_early),
		cmocka_unit_test(
		    the_guard_comes_after_KILL_and_before_the_deadline),
		cmocka_unit_test(a_hold_without_end_is_never_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
