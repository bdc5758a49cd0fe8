/* SPDX-License-Identifier: MIT */
/*
 * The floor of tokens, ahead of the server's clock as after a clock that was:
 * each way of drawing starts a new name above it, and takes no other name
 * along. On a server of its own, as all draws are of one floor.
 */
#include <stdio.h>
#include <string.h>

#include "db/server.h"
#include "parts.h"
#include "server.h"

#define NAMES 4

static uint64_t raise_a_day_ahead(void)
{
	test_sql(ground->sql,
		 "UPDATE lock_token_floor SET token = TIMESTAMPDIFF("
		 "MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6) + "
		 "INTERVAL 1 DAY)");
	return test_sql_number(ground->sql,
			       "SELECT token FROM lock_token_floor");
}

static void lower(void)
{
	test_sql(ground->sql, "UPDATE lock_token_floor SET token = 0");
}

BOTH("a new name starts above the floor")
{
	struct rlk_request request = ground_request(0, test_name("floor"));
	uint64_t floor;

	ground_ask(0, &request, RLK_ASK_FIRST, NULL);
	floor = raise_a_day_ahead();
	assert_true(ground_draw(&request) == floor + 1);
	assert_true(ground_draw(&request) == floor + 2);
	lower();
	assert_true(ground_draw(&request) == floor + 3);
	assert_true(ground_release(0, &request));
}

EACH("a single one starts above the floor")
{
	struct rlk_part part = parts_ask(0, test_name("floor-one"));
	uint64_t floor = raise_a_day_ahead();

	part.request.draw = true;
	parts_run_all(0, &part, 1);
	assert_true(part.token == floor + 1);
	lower();
	assert_true(ground_release(0, &part.request));
}

EACH("the names of one packet start above the floor")
{
	const char *word = test_name("floor-many");
	struct rlk_part parts[NAMES];
	uint64_t floor;
	uint64_t old;

	for (size_t i = 0; i < NAMES; i++) {
		parts[i] = parts_ask(0, parts_name(word, i));
		ground_ask(0, &parts[i].request, RLK_ASK_FIRST, NULL);
		parts[i].act = RLK_ACT_DRAW;
	}
	old = ground_draw(&parts[0].request);
	floor = raise_a_day_ahead();
	parts_run_all(0, parts, NAMES);
	lower();
	assert_in_range(parts[0].token, old + 1, floor);
	for (size_t i = 1; i < NAMES; i++)
		assert_true(parts[i].token == floor + 1);
	for (size_t i = 0; i < NAMES; i++)
		assert_true(ground_release(0, &parts[i].request));
}

BOTH("a name that has a token stays with the clock")
{
	struct rlk_request request = ground_request(0, test_name("clock"));
	uint64_t first;
	uint64_t floor;

	ground_ask(0, &request, RLK_ASK_FIRST, NULL);
	first = ground_draw(&request);
	floor = raise_a_day_ahead();
	assert_in_range(ground_draw(&request), first + 1, floor);
	lower();
	assert_true(ground_release(0, &request));
}

/* Nothing is drawn that might be smaller than what was. */
BOTH("no token is drawn without a floor")
{
	struct rlk_request request = ground_request(0, test_name("no-floor"));
	uint64_t token = 0;

	ground_ask(0, &request, RLK_ASK_FIRST, NULL);
	test_sql(ground->sql, "DELETE FROM lock_token_floor");
	assert_int_equal(
	    ground->strategy->draw(ground->beside, &request, &token, &err),
	    RLK_REFUSED);
	assert_non_null(strstr(err.message, "INSERT INTO lock_token_floor "
					    "(id, token) SELECT 1, COALESCE("
					    "MAX(token), 0) FROM lock_token"));
	test_sql(ground->sql, "%s", strstr(err.message, "INSERT"));
	assert_true(ground_draw(&request) > 0);
	lower();
	assert_true(ground_release(0, &request));
}

CASE_MAIN(test_main_own_server)
