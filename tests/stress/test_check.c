// SPDX-License-Identifier: MIT
/*
 * The judge judged: histories written by hand, good ones and one for each
 * kind of violation. A checker that finds nothing proves nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <rowlock.h>

#include "check.h"

#define SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* Process @p held name 1 from @from to @until, asked just before. */
static struct history_record hold(uint32_t p, uint64_t serial, uint64_t from,
				  uint64_t until)
{
	return (struct history_record){
		.kind = HISTORY_DONE,
		.process = p,
		.name = 1,
		.serial = serial,
		.acquire_call = from - 5,
		.acquire_return = from,
		.held_call = until - 1,
		.release_call = until,
		.release_return = until + 5,
	};
}

/* The same with a token drawn at its beginning. */
static struct history_record drawn(uint32_t p, uint64_t serial, uint64_t from,
				   uint64_t until, uint64_t token)
{
	struct history_record r = hold(p, serial, from, until);

	r.token = token;
	r.token_call = from + 1;
	r.token_return = from + 3;
	return r;
}

static struct check_result judge(struct history_record *records, size_t n,
				 bool faults, bool fair)
{
	struct check_rules rules = { .faults = faults, .fair = fair };
	struct check_result result;

	check_history(records, n, &rules, &result);
	return result;
}

static void finds_nothing_in_a_good_history(void **state)
{
	struct history_record all[] = {
		drawn(1, 1, 100, 200, 7),
		drawn(2, 1, 200, 300, 8),
		drawn(1, 2, 400, 500, 1000),
	};
	struct check_rules rules = { .fair = true };
	struct check_result result;

	(void) state;
	assert_true(check_history(all, SIZE(all), &rules, &result));
	assert_int_equal(result.holds, 3);
	assert_int_equal(result.tokens, 3);
}

static void sees_two_holders_at_once(void **state)
{
	struct history_record all[] = { hold(1, 1, 100, 200),
					hold(2, 1, 199, 300) };
	struct check_rules rules = { .out = NULL };
	struct check_result result;

	(void) state;
	assert_false(check_history(all, SIZE(all), &rules, &result));
	assert_int_equal(result.double_holds, 1);
}

static void sees_a_hold_inside_a_long_one(void **state)
{
	struct history_record all[] = { hold(1, 1, 100, 1000),
					hold(2, 1, 1001, 1002),
					hold(3, 1, 110, 120),
					hold(3, 2, 900, 910) };

	(void) state;
	assert_int_equal(judge(all, SIZE(all), false, false).double_holds, 2);
}

static void knows_names_apart(void **state)
{
	struct history_record all[] = { hold(1, 1, 100, 200),
					hold(2, 1, 150, 300) };

	(void) state;
	all[1].name = 2;
	assert_int_equal(judge(all, SIZE(all), false, false).double_holds, 0);
}

static void believes_a_lost_hold_up_to_its_last_proof(void **state)
{
	struct history_record all[] = { hold(1, 1, 100, 500),
					hold(2, 1, 300, 400) };

	(void) state;
	all[0].release_code = ROWLOCK_ELOST;
	all[0].held_call = 250;
	assert_int_equal(judge(all, SIZE(all), true, false).double_holds, 0);
	all[0].held_call = 301;
	assert_int_equal(judge(all, SIZE(all), true, false).double_holds, 1);
}

static void sees_a_token_drawn_by_who_lost_his_hold(void **state)
{
	struct history_record all[] = { drawn(1, 1, 100, 500, 9),
					hold(2, 1, 300, 400) };

	(void) state;
	all[0].release_code = ROWLOCK_ELOST;
	all[0].held_call = 200;
	all[0].token_call = 350;
	all[0].token_return = 360;
	assert_int_equal(judge(all, SIZE(all), true, false).double_holds, 1);
}

static void counts_a_killed_holder_until_its_last_record(void **state)
{
	struct history_record all[] = { hold(1, 1, 100, 200),
					hold(1, 1, 100, 200),
					hold(2, 1, 150, 300) };

	(void) state;
	all[0].kind = HISTORY_OPEN;
	all[0].held_call = 0;
	all[0].release_call = 0;
	all[1].kind = HISTORY_OPEN;
	all[1].held_call = 140;
	all[1].release_call = 0;
	assert_int_equal(judge(all, SIZE(all), true, false).double_holds, 0);
	all[0].kind = all[1].kind = HISTORY_OPEN;
	all[0].held_call = 160;
	assert_int_equal(judge(all, SIZE(all), true, false).double_holds, 1);
}

static void sees_a_token_that_does_not_grow(void **state)
{
	struct history_record all[] = { drawn(1, 1, 100, 200, 7),
					drawn(2, 1, 200, 300, 6),
					drawn(3, 1, 300, 400, 8) };

	(void) state;
	assert_int_equal(judge(all, SIZE(all), false, false).token_disorder, 1);
}

static void sees_a_token_given_twice(void **state)
{
	struct history_record all[] = { drawn(1, 1, 100, 200, 7),
					drawn(2, 1, 200, 300, 7) };

	(void) state;
	assert_int_equal(judge(all, SIZE(all), false, false).token_disorder, 1);
}

static void lets_no_deadlock_reach_a_caller(void **state)
{
	struct history_record all[] = { hold(1, 1, 100, 200),
					hold(1, 2, 300, 400),
					hold(1, 3, 500, 600) };

	(void) state;
	all[1].kind = HISTORY_MISS;
	all[1].acquire_code = ROWLOCK_EDB;
	all[1].mysql = 1213;
	all[2].kind = HISTORY_MISS;
	all[2].acquire_code = ROWLOCK_EDB;
	assert_int_equal(judge(all, SIZE(all), true, false).forbidden_errors,
			 1);
	assert_int_equal(judge(all, SIZE(all), false, false).forbidden_errors,
			 2);
}

static void allows_who_waited_in_vain(void **state)
{
	struct history_record all[] = { hold(1, 1, 100, 200) };
	struct check_result result;

	(void) state;
	all[0].kind = HISTORY_MISS;
	all[0].acquire_code = ROWLOCK_ETIMEDOUT;
	result = judge(all, SIZE(all), false, false);
	assert_int_equal(result.forbidden_errors, 0);
	assert_int_equal(result.holds, 0);
	assert_int_equal(result.errors[-ROWLOCK_ETIMEDOUT], 1);
}

static void sees_a_starved_thread(void **state)
{
	struct history_record all[12];
	size_t i;

	(void) state;
	memset(all, 0, sizeof(all));
	for (i = 0; i < 10; i++)
		all[i] = hold(1, i + 1, 100 * (i + 1), 100 * (i + 1) + 50);
	all[10].kind = all[11].kind = HISTORY_THREAD;
	all[10].process = 1;
	all[11].process = 2;
	assert_int_equal(judge(all, 12, false, true).unfair, 1);
	assert_int_equal(judge(all, 12, false, false).unfair, 0);
}

static void distrusts_a_hold_that_ends_before_it_begins(void **state)
{
	struct history_record all[] = { hold(1, 1, 100, 200) };

	(void) state;
	all[0].acquire_call = 101;
	assert_int_equal(judge(all, 1, false, false).broken, 1);
}

#define T(sentence, function)                                                  \
	{                                                                      \
		sentence, function, NULL, NULL, NULL                           \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T("the checker finds nothing in a good history",
		  finds_nothing_in_a_good_history),
		T("the checker sees two holders at once",
		  sees_two_holders_at_once),
		T("the checker sees a hold inside a long one",
		  sees_a_hold_inside_a_long_one),
		T("the checker knows names apart", knows_names_apart),
		T("the checker believes a lost hold up to its last proof",
		  believes_a_lost_hold_up_to_its_last_proof),
		T("the checker sees a token drawn by who lost his hold",
		  sees_a_token_drawn_by_who_lost_his_hold),
		T("the checker counts a killed holder until its last record",
		  counts_a_killed_holder_until_its_last_record),
		T("the checker sees a token that does not grow",
		  sees_a_token_that_does_not_grow),
		T("the checker sees a token given twice",
		  sees_a_token_given_twice),
		T("the checker lets no deadlock reach a caller",
		  lets_no_deadlock_reach_a_caller),
		T("the checker allows who waited in vain",
		  allows_who_waited_in_vain),
		T("the checker sees a starved thread", sees_a_starved_thread),
		T("the checker distrusts a hold that ends before it begins",
		  distrusts_a_hold_that_ends_before_it_begins),
	};

	return cmocka_run_group_tests_name("checker", tests, NULL, NULL);
}
