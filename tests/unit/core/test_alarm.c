/* SPDX-License-Identifier: MIT */
/*
 * The pairing heap against the simplest thing that can be right: an array that
 * is searched. Random steps, reproducible by the seed that a failure names.
 */
#include "core/alarm.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "test.h"

#define COUNT 300
#define STEPS 200000

struct model {
	struct rlk_alarms alarms;
	struct rlk_alarm nodes[COUNT];
	int64_t at[COUNT]; /* RLK_NEVER: not set */
	int64_t now;
	unsigned int seed;
};

static int64_t earliest(const struct model *model)
{
	int64_t at = RLK_NEVER;

	for (int i = 0; i < COUNT; i++)
		if (model->at[i] < at)
			at = model->at[i];
	return at;
}

static void check_next(struct model *model)
{
	if (rlk_alarms_next(&model->alarms) != earliest(model))
		fail_msg("the earliest is wrong (seed %u)", model->seed);
}

static void take_due(struct model *model)
{
	struct rlk_alarm *alarm;
	int64_t last = -RLK_NEVER;

	while ((alarm = rlk_alarms_due(&model->alarms, model->now))) {
		size_t i = (size_t) (alarm - model->nodes);

		assert_true(i < COUNT);
		assert_true(model->at[i] == alarm->at_ms);
		assert_true(alarm->at_ms <= model->now);
		assert_true(alarm->at_ms >= last);
		assert_false(alarm->set);
		last = alarm->at_ms;
		model->at[i] = RLK_NEVER;
	}
	assert_true(earliest(model) > model->now);
}

static void step(struct model *model)
{
	int i = rand() % COUNT;

	switch (rand() % 8) {
	case 0:
		model->now += rand() % 20;
		take_due(model);
		break;
	case 1:
	case 2:
		rlk_alarms_clear(&model->alarms, &model->nodes[i]);
		model->at[i] = RLK_NEVER;
		break;
	default: /* few different times, so that many are equal */
		model->at[i] = model->now + 1 + rand() % 100;
		rlk_alarms_set(&model->alarms, &model->nodes[i], model->at[i]);
		break;
	}
	assert_int_equal(model->nodes[i].set, model->at[i] != RLK_NEVER);
}

static void run(unsigned int seed)
{
	struct model *model = calloc(1, sizeof(*model));

	assert_non_null(model);
	model->seed = seed;
	srand(seed);
	for (int i = 0; i < COUNT; i++)
		model->at[i] = RLK_NEVER;
	for (int i = 0; i < STEPS; i++) {
		step(model);
		check_next(model);
	}
	model->now = RLK_NEVER - 1;
	take_due(model);
	assert_true(rlk_alarms_next(&model->alarms) == RLK_NEVER);
	free(model);
}

CASE("alarms ring in the order of a sorted model")
{
	for (unsigned int seed = 1; seed <= 3; seed++)
		run(seed);
}

CASE("nothing set rings never")
{
	struct rlk_alarms alarms = { NULL };
	struct rlk_alarm alarm = { 0 };

	assert_true(rlk_alarms_next(&alarms) == RLK_NEVER);
	assert_null(rlk_alarms_due(&alarms, RLK_NEVER));
	rlk_alarms_clear(&alarms, &alarm);
	rlk_alarms_set(&alarms, &alarm, RLK_NEVER);
	assert_false(alarm.set);
	assert_true(rlk_alarms_next(&alarms) == RLK_NEVER);
}

CASE("setting to never takes an alarm out")
{
	struct rlk_alarms alarms = { NULL };
	struct rlk_alarm one = { 0 };
	struct rlk_alarm two = { 0 };

	rlk_alarms_set(&alarms, &one, 10);
	rlk_alarms_set(&alarms, &two, 20);
	rlk_alarms_set(&alarms, &one, RLK_NEVER);
	assert_true(rlk_alarms_next(&alarms) == 20);
	assert_null(rlk_alarms_due(&alarms, 19));
	assert_ptr_equal(rlk_alarms_due(&alarms, 20), &two);
}

CASE_MAIN(case_main)
