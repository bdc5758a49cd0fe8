/* SPDX-License-Identifier: MIT */
/*
 * Old tokens: what nobody drew for for 30 days is collected, and nothing else;
 * and not before the floor is as high, from which the next draw of such a name
 * starts. A draw and who raises the floor keep each other waiting.
 */
#include <stdio.h>
#include <string.h>

#include "ground.h"
#include "strategy/reap.h"

#define LOW 17

static void draw_days_ago(const char *name, int days, const char *token)
{
	test_sql(ground->sql,
		 "REPLACE INTO lock_token (strategy, name, token, drawn_at) "
		 "VALUES ('lease', '%s', %s, UTC_TIMESTAMP(6) - "
		 "INTERVAL %d DAY)",
		 name, token, days);
}

/* How often a look shows the name. */
struct look {
	const char *name;
	unsigned int count;
};

static void see(const struct rlk_token_seen *token, void *arg)
{
	struct look *look = arg;

	look->count += strcmp(token->name, look->name) == 0;
}

static unsigned int look_for(const char *name)
{
	struct look look = { .name = name };

	assert_done(rlk_tokens_old(ground->beside, 10000, see, &look, &err));
	return look.count;
}

static bool collect(const char *name, uint64_t token, uint64_t floor)
{
	const struct rlk_token_seen seen = { "lease", name, token };
	bool collected = false;

	assert_done(
	    rlk_token_collect(ground->beside, &seen, &floor, &collected, &err));
	assert_true(floor >= token);
	return collected;
}

static uint64_t floor_now(void)
{
	return test_sql_number(ground->sql,
			       "SELECT token FROM lock_token_floor");
}

static uint64_t token_of(const char *name)
{
	return test_sql_number(ground->sql,
			       "SELECT COALESCE(MAX(token), 0) FROM lock_token "
			       "WHERE strategy = '%s' AND name = '%s'",
			       ground->strategy->name, name);
}

LEASE("a token is old after thirty days without a draw")
{
	const char *young = test_name("young");
	const char *old = test_name("old");

	draw_days_ago(young, 29, "17");
	draw_days_ago(old, 31, "17");
	assert_int_equal(look_for(young), 0);
	assert_int_equal(look_for(old), 1);
}

/* Somebody may have drawn since the look. */
LEASE("only an old token is collected")
{
	const char *young = test_name("young");
	const char *old = test_name("old");

	draw_days_ago(young, 29, "17");
	draw_days_ago(old, 31, "17");
	assert_false(collect(young, LOW, 0));
	assert_true(collect(old, LOW, 0));
	assert_true(floor_now() >= LOW);
	assert_false(collect(old, LOW, 0));
}

/* The clock was ahead when it was drawn, and a month has passed since: it is
 * what the name's next one has to be larger than. */
LEASE("a token ahead of the clock is not collected")
{
	struct rlk_request request = ground_request(0, test_name("ahead"));
	uint64_t before;

	draw_days_ago(request.name, 31,
		      "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', "
		      "UTC_TIMESTAMP(6) + INTERVAL 9 DAY)");
	before = token_of(request.name);
	assert_int_equal(look_for(request.name), 0);
	/* As if the floor was there. */
	assert_false(collect(request.name, before, UINT64_MAX));
	ground_ask(0, &request, RLK_ASK_FIRST, NULL);
	assert_true(ground_draw(&request) == before + 1);
	assert_true(ground_release(0, &request));
}

/* Whatever whoever asks believes of the floor. */
LEASE("a token above the floor stays")
{
	const char *name = test_name("above");
	uint64_t token;

	draw_days_ago(name, 31,
		      "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', "
		      "UTC_TIMESTAMP(6) - INTERVAL 30 DAY) - 1000000");
	token = token_of(name);
	assert_true(token > floor_now());
	assert_false(collect(name, token, UINT64_MAX));
	assert_true(token_of(name) == token);
	assert_true(collect(name, token, 0));
	assert_true(floor_now() >= token);
	assert_int_equal(token_of(name), 0);
}

LEASE("the token of a lease that is there is not looked for")
{
	struct rlk_request request = ground_request(0, test_name("kept"));

	draw_days_ago(request.name, 31, "17");
	ground_ask(0, &request, RLK_ASK_FIRST, NULL);
	assert_int_equal(look_for(request.name), 0);
	assert_true(ground_release(0, &request));
	assert_int_equal(look_for(request.name), 1);
}

static void text(struct rlk_conn *conn, const char *sql)
{
	rlk_conn_set_until(conn, RLK_NEVER);
	assert_done(rlk_stmt_text(conn, sql, &err));
}

/* The worst moment: the draw has read the floor, and is not committed. */
BOTH("a floor that a draw has read is not raised")
{
	struct rlk_request request = ground_request(0, test_name("draws"));
	const struct rlk_token_seen seen = { "lease", request.name,
					     UINT64_MAX };
	struct rlk_conn *slow = ground_open(false, 1);
	uint64_t token = 0;
	uint64_t floor = 0;
	bool collected = false;

	ground_ask(0, &request, RLK_ASK_FIRST, NULL);
	assert_done(ground->strategy->draw(slow, &request, &token, &err));
	assert_true(token > 0);
	assert_int_equal(
	    rlk_token_collect(ground->beside, &seen, &floor, &collected, &err),
	    RLK_BUSY);
	assert_false(collected);
	assert_true(floor == 0);
	text(slow, "COMMIT");
	assert_true(token_of(request.name) == token);
	rlk_conn_close(slow);
	assert_true(ground_release(0, &request));
}

BOTH("a draw waits for who raises the floor")
{
	struct rlk_request request = ground_request(0, test_name("waits"));
	struct rlk_conn *slow = ground_open(false, 1);
	uint64_t token = 0;

	ground_ask(0, &request, RLK_ASK_FIRST, NULL);
	text(slow, "UPDATE lock_token_floor SET raised_at = UTC_TIMESTAMP(6)");
	assert_int_equal(
	    ground->strategy->draw(ground->beside, &request, &token, &err),
	    RLK_BUSY);
	text(slow, "ROLLBACK");
	assert_true(ground_draw(&request) > 0);
	rlk_conn_close(slow);
	assert_true(ground_release(0, &request));
}

CASE_MAIN(test_main)
