/* SPDX-License-Identifier: MIT */
/*
 * Draws in a packet: one that goes with its row, and those of many names.
 */
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "db/server.h"
#include "parts.h"
#include "strategy/bell.h"

/* ---------------------------------------------- a single one that draws */

static struct rlk_part ask_for_both(const char *name)
{
	struct rlk_part part = parts_ask(0, name);

	part.request.draw = true;
	part.request.bell = true;
	return part;
}

static uint64_t token_row(const char *name)
{
	return test_sql_number(ground->sql,
			       "SELECT COALESCE(MAX(token), 0) FROM lock_token "
			       "WHERE strategy = 'lease' AND name = '%s'",
			       name);
}

/* The token of the name's present hold, as its row says by the attempt. */
static uint64_t token_of_hold(const char *name)
{
	return test_sql_number(ground->sql,
			       "SELECT COALESCE(MAX(t.token), 0) "
			       "FROM lock_token t JOIN business_lease l "
			       "ON l.name = t.name AND l.attempt = t.attempt "
			       "WHERE t.strategy = 'lease' AND t.name = '%s'",
			       name);
}

static uint64_t bell_owner(const char *name)
{
	const struct rlk_request request = { .name = name };
	struct rlk_bell bell = rlk_bell_of(ground->conns[0], &request);

	return test_sql_number(
	    ground->sql, "SELECT COALESCE(IS_USED_LOCK('%s'), 0)", bell.text);
}

static bool takes_bells(void)
{
	return rlk_server_dialect(rlk_conn_server(ground->conns[0]))
	    ->lease_acquire_one_ringing;
}

static void end_both(struct rlk_part *part)
{
	if (part->holder.bell)
		part->request.bell_conn = rlk_conn_id(ground->conns[0]);
	assert_true(ground_release(0, &part->request));
	assert_true(bell_owner(part->request.name) == 0);
}

EACH("a single one draws with its row")
{
	const char *name = test_name("batch-first");
	uint64_t last = 0;

	for (int i = 0; i < 3; i++) {
		struct rlk_part part = ask_for_both(name);

		parts_run_all(0, &part, 1);
		assert_int_equal(part.verdict, RLK_DONE);
		assert_true(part.token > last);
		last = part.token;
		assert_true(part.token == token_row(name));
		assert_true(part.token == token_of_hold(name));
		assert_true(ground_confirm(0, &part.request));
		assert_int_equal(part.holder.bell, takes_bells());
		if (part.holder.bell)
			assert_true(bell_owner(name) ==
				    rlk_conn_id(ground->conns[0]));
		/* The same again is the same hold, whose token may grow. */
		part.answered = false;
		part.request.bell = false;
		parts_run_all(0, &part, 1);
		assert_int_equal(part.verdict, RLK_DONE);
		part.holder.bell = takes_bells();
		end_both(&part);
	}
}

/* Who stands in line has its bell: the row is had all the same, and it shows.
 */
EACH("a single one that overtakes a line sees it")
{
	const char *name = test_name("batch-first-line");
	struct rlk_part part = ask_for_both(name);
	struct rlk_bell_turn turn;

	parts_run_all(0, &part, 1);
	assert_false(part.holder.line);
	end_both(&part);
	assert_done(
	    rlk_bell_wait(ground->conns[1], &part.request, 0, &turn, &err));
	assert_true(turn.got);
	part = ask_for_both(name);
	parts_run_all(0, &part, 1);
	assert_int_equal(part.verdict, RLK_DONE);
	assert_true(part.token > 0);
	assert_true(part.holder.line);
	assert_false(part.holder.bell);
	assert_true(ground_release(0, &part.request));
	assert_done(rlk_bell_ring(ground->conns[1], &part.request, &err));
}

/* Not even if somebody's transaction has its row. */
EACH("a single one that is held draws nothing")
{
	const char *name = test_name("batch-first-held");
	struct rlk_request held = ground_request(1, name);
	struct rlk_part part = ask_for_both(name);
	struct rlk_conn *guard;
	uint64_t token;

	ground_ask(1, &held, RLK_ASK_FIRST, NULL);
	token = ground_draw(&held);
	parts_run_all(0, &part, 1);
	assert_int_equal(part.verdict, RLK_HELD);
	assert_true(part.holder.attempt == held.attempt);
	assert_true(part.token == 0);
	guard = parts_guard(name);
	part.answered = false;
	parts_run_all(0, &part, 1);
	assert_int_equal(part.verdict, RLK_HELD);
	assert_true(part.token == 0);
	parts_unguard(guard);
	assert_true(token_row(name) == token);
	assert_true(bell_owner(name) == 0);
	assert_true(ground_release(1, &held));
}

/* Its token's row is tied up: then it has neither, nor the bell; or, where each
 * statement commits, the row alone. */
EACH("a single one that cannot draw leaves nothing open")
{
	const char *name = test_name("batch-first-tied");
	struct rlk_part part = ask_for_both(name);
	struct rlk_conn *guard = ground_open(false, 1);
	char sql[200];

	parts_run_all(0, &part, 1);
	end_both(&part);
	snprintf(sql, sizeof(sql),
		 "SELECT token FROM lock_token WHERE strategy = 'lease' AND "
		 "name = '%s' FOR UPDATE",
		 name);
	assert_done(rlk_stmt_text(guard, sql, &err));
	part = ask_for_both(name);
	assert_int_equal(parts_run(0, &part, 1, &err), RLK_BUSY);
	assert_int_equal(part.answered, !takes_bells());
	assert_int_equal(parts_rows(name), !takes_bells());
	assert_true(bell_owner(name) == 0);
	assert_true(part.token == 0);
	parts_unguard(guard);
	/* What comes next commits by itself. */
	assert_int_equal(ground_ask(0, &part.request, RLK_ASK_FIRST, NULL),
			 RLK_DONE);
	assert_int_equal(parts_rows(name), 1);
	part.holder.bell = takes_bells();
	end_both(&part);
}

/* As when a hold went to another thread while its token was still drawn. */
EACH("two draws for one name are two tokens")
{
	struct rlk_part parts[2];

	parts[0] = parts_ask(0, test_name("batch-twice"));
	ground_ask(0, &parts[0].request, RLK_ASK_FIRST, NULL);
	parts[0].act = RLK_ACT_DRAW;
	parts[1] = parts[0];
	assert_done(parts_run(0, parts, 2, &err));
	assert_true(parts[0].answered || parts[1].answered);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(parts[i].answered, parts[i].token > 0);
	assert_true(parts[0].token != parts[1].token);
	assert_true(ground_release(0, &parts[0].request));
}

/* Of several draws one cannot be: where they are one statement none of them was
 * drawn, and nothing is left open. */
EACH("a draw that cannot be leaves nothing open")
{
	const char *word = test_name("batch-tied");
	struct rlk_conn *guard = ground_open(false, 1);
	struct rlk_part parts[3];
	char sql[200];

	for (size_t i = 0; i < 3; i++) {
		parts[i] = parts_ask(0, parts_name(word, i));
		ground_ask(0, &parts[i].request, RLK_ASK_FIRST, NULL);
		ground_draw(&parts[i].request);
		parts[i].act = RLK_ACT_DRAW;
	}
	snprintf(sql, sizeof(sql),
		 "SELECT token FROM lock_token WHERE strategy = 'lease' AND "
		 "name = '%s' FOR UPDATE",
		 parts_name(word, 1));
	assert_done(rlk_stmt_text(guard, sql, &err));
	assert_int_equal(parts_run(0, parts, 3, &err), RLK_BUSY);
	/* The first commits by itself where each does. */
	assert_int_equal(parts[0].answered, !takes_bells());
	assert_false(parts[1].answered);
	assert_false(parts[2].answered);
	parts_unguard(guard);
	for (size_t i = 0; i < 3; i++) {
		uint64_t token = ground_draw(&parts[i].request);

		assert_true(token > parts[i].token);
		assert_true(token == token_row(parts_name(word, i)));
		assert_true(ground_release(0, &parts[i].request));
	}
}

EACH("the tokens of one packet follow each name")
{
	const char *word = test_name("batch-draw");
	struct rlk_part parts[8];
	uint64_t last[8] = { 0 };

	/* Each hold draws twice. */
	for (int round = 0; round < 6; round++) {
		for (size_t i = 0; round % 2 == 0 && i < 8; i++) {
			parts[i] = parts_ask(0, parts_name(word, i));
			ground_ask(0, &parts[i].request, RLK_ASK_FIRST, NULL);
			parts[i].act = RLK_ACT_DRAW;
		}
		parts_run_all(0, parts, 8);
		for (size_t i = 0; i < 8; i++) {
			assert_true(parts[i].token > last[i]);
			last[i] = parts[i].token;
			assert_true(parts[i].token ==
				    token_of_hold(parts[i].request.name));
		}
		for (size_t i = 0; round % 2 == 1 && i < 8; i++)
			assert_true(ground_release(0, &parts[i].request));
	}
}

CASE_MAIN(test_main)
