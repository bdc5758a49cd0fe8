/* SPDX-License-Identifier: MIT */
/*
 * The table of names: two names are never one, and one goes with its last
 * reference.
 */
#include "core/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#define MANY 100000

/* Only their addresses count. */
static const struct rlk_strategy lease = { .name = "lease" };
static const struct rlk_strategy row = { .name = "row" };

/* What makes a name busy; nobody looks into it. */
static struct rlk_hold *const held = (struct rlk_hold *) &lease;

static const char *text_of(size_t i)
{
	static char text[32];

	snprintf(text, sizeof(text), "job/%zu", i);
	return text;
}

CASE("200,000 names are never merged")
{
	struct rlk_names names = { NULL };
	struct rlk_name **made = calloc(2 * MANY, sizeof(struct rlk_name *));

	assert_non_null(made);
	for (size_t i = 0; i < MANY; i++) {
		made[2 * i] = rlk_names_get(&names, &lease, text_of(i));
		made[2 * i + 1] = rlk_names_get(&names, &row, text_of(i));
		assert_non_null(made[2 * i]);
		assert_non_null(made[2 * i + 1]);
	}
	assert_int_equal(names.count, 2 * MANY);
	for (size_t i = 0; i < MANY; i++) {
		assert_ptr_equal(rlk_names_get(&names, &lease, text_of(i)),
				 made[2 * i]);
		assert_ptr_equal(rlk_names_get(&names, &row, text_of(i)),
				 made[2 * i + 1]);
		assert_string_equal(made[2 * i]->text, text_of(i));
	}
	assert_int_equal(names.count, 2 * MANY);
	for (size_t i = 0; i < 2 * MANY; i++) {
		rlk_names_put(&names, made[i]);
		rlk_names_put(&names, made[i]);
	}
	assert_int_equal(names.count, 0);
	rlk_names_fini(&names);
	free(made);
}

CASE("a name stays as long as somebody refers to it")
{
	_cleanup_(rlk_names_fini) struct rlk_names names = { NULL };
	struct rlk_name *name = rlk_names_get(&names, &lease, "job");

	assert_ptr_equal(rlk_names_get(&names, &lease, "job"), name);
	rlk_name_get(name);
	rlk_names_put(&names, name);
	rlk_names_put(&names, name);
	assert_int_equal(names.count, 1);
	assert_ptr_equal(rlk_names_get(&names, &lease, "job"), name);
	rlk_names_put(&names, name);
	rlk_names_put(&names, name);
	assert_int_equal(names.count, 0);
}

/* What was seen while it was wanted here says nothing about the next time. */
CASE("a turn is forgotten when nobody has it or waits")
{
	_cleanup_(rlk_names_fini) struct rlk_names names = { NULL };
	struct rlk_name *name = rlk_names_get(&names, &lease, "job");
	struct rlk_turn *turn;
	struct rlk_list waiter;

	name->hold = held;
	rlk_list_append(&name->waiters, &waiter);
	turn = rlk_name_turn(name, 5);
	turn->others_seen_ms = 7;
	rlk_name_rest(name);
	name->hold = NULL;
	rlk_name_rest(name);
	rlk_list_remove(&waiter);
	name->hold = held;
	rlk_name_rest(name);
	assert_ptr_equal(rlk_name_turn(name, 6), turn);
	assert_int_equal(turn->began_ms, 5);
	assert_int_equal(turn->others_seen_ms, 7);
	name->hold = NULL;
	rlk_name_rest(name);
	assert_null(name->turn);
	rlk_names_put(&names, name);
}

CASE("names that look alike differ")
{
	static const char *const texts[] = { "job",         "Job",
					     "job\xc2\xa0", "j\xc3\xb6-b",
					     "jo",          "jobs" };
	_cleanup_(rlk_names_fini) struct rlk_names names = { NULL };
	struct rlk_name *made[TEST_SIZE(texts)];

	for (size_t i = 0; i < TEST_SIZE(texts); i++) {
		made[i] = rlk_names_get(&names, &lease, texts[i]);
		for (size_t j = 0; j < i; j++)
			assert_ptr_not_equal(made[i], made[j]);
	}
	for (size_t i = 0; i < TEST_SIZE(texts); i++)
		rlk_names_put(&names, made[i]);
}

CASE_MAIN(case_main)
