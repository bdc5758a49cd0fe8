/* SPDX-License-Identifier: MIT */
/*
 * Many acquires, releases and draws in one round trip: each comes out as if it
 * had been asked alone, and none waits for another.
 */
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "db/server.h"
#include "ground.h"
#include "strategy/bell.h"

#define MOST 256

static bool never(struct rlk_conn *conn, void *arg)
{
	(void) conn;
	(void) arg;
	return false;
}

static const struct rlk_patience none = { never, NULL };

static enum rlk_fault run(struct ground *ground, int who,
			  struct rlk_part *parts, size_t count,
			  struct rowlock_errinfo *error)
{
	struct rlk_part *pointers[MOST];

	for (size_t i = 0; i < count; i++)
		pointers[i] = &parts[i];
	return ground->strategy->batch(ground->conns[who], pointers, count,
				       &none, error);
}

static void run_all(struct ground *ground, int who, struct rlk_part *parts,
		    size_t count)
{
	struct rowlock_errinfo error = { 0 };

	assert_done(run(ground, who, parts, count, &error), &error);
	/* What was not there to be given back is for its caller to ask for. */
	for (size_t i = 0; i < count; i++)
		assert_int_equal(parts[i].answered,
				 parts[i].act != RLK_ACT_RELEASE ||
				     parts[i].found);
}

static struct rlk_part part_of(enum rlk_act act,
			       const struct rlk_request *request)
{
	return (struct rlk_part){ .act = act, .request = *request };
}

static struct rlk_part ask(struct ground *ground, int who, const char *name)
{
	struct rlk_request request = ground_request(ground, who, name);

	return part_of(RLK_ACT_ACQUIRE, &request);
}

static uint64_t count_of(struct ground *ground, const char *name)
{
	return test_sql_number(ground->sql,
			       "SELECT COUNT(*) FROM business_lease WHERE "
			       "name = '%s'",
			       name);
}

static const char *numbered(const char *name, size_t number)
{
	static char names[MOST][64];

	snprintf(names[number], sizeof(names[number]), "%s-%zu", name, number);
	return names[number];
}

static void each_is_answered_as_if_alone(void **state)
{
	struct ground *ground = *state;
	const char *word = test_name("batch");
	struct rlk_part parts[7];
	struct rlk_request held = ground_request(ground, 1, numbered(word, 1));
	struct rlk_request mine = ground_request(ground, 0, numbered(word, 2));
	struct rlk_request gone = ground_request(ground, 0, numbered(word, 3));
	struct rlk_request drawn = ground_request(ground, 0, numbered(word, 4));

	held.max_hold_ms = 30000;
	ground_ask(ground, 1, &held, RLK_ASK_FIRST, NULL);
	ground_ask(ground, 0, &mine, RLK_ASK_FIRST, NULL);
	ground_ask(ground, 0, &drawn, RLK_ASK_FIRST, NULL);
	parts[0] = part_of(RLK_ACT_DRAW, &drawn);
	parts[1] = ask(ground, 0, held.name);
	parts[2] = part_of(RLK_ACT_RELEASE, &mine);
	parts[3] = ask(ground, 0, numbered(word, 5));
	parts[4] = part_of(RLK_ACT_RELEASE, &gone);
	parts[5] = part_of(RLK_ACT_DRAW, &gone);
	parts[6] = parts[1];
	parts[6].act = RLK_ACT_DRAW;
	run_all(ground, 0, parts, 7);

	assert_true(parts[0].token > 0);
	assert_true(ground_draw(ground, &drawn) > parts[0].token);
	assert_int_equal(parts[1].verdict, RLK_HELD);
	assert_true(parts[1].holder.known && parts[1].holder.looked);
	assert_true(parts[1].holder.attempt == held.attempt);
	assert_true(parts[1].holder.session == held.session);
	assert_false(parts[1].holder.absent);
	assert_in_range(parts[1].holder.left_us, 1, 60000000);
	assert_true(parts[1].holder.has_max);
	assert_true(parts[1].holder.max_ms == 30000);
	assert_int_equal(parts[1].holder.ttl_ms, 60000);
	assert_true(parts[2].found);
	assert_int_equal(count_of(ground, mine.name), 0);
	assert_int_equal(parts[3].verdict, RLK_GRANTED);
	assert_true(ground_confirm(ground, 0, &parts[3].request));
	assert_false(parts[4].found);
	assert_true(parts[5].token == 0);
	assert_true(parts[6].token == 0);
	/* The other's is as it was. */
	assert_true(ground_confirm(ground, 1, &held));
	assert_true(ground_release(ground, 1, &held));
	assert_true(ground_release(ground, 0, &drawn));
	assert_true(ground_release(ground, 0, &parts[3].request));
}

static void own_row_of_an_earlier_sending_is_a_grant(void **state)
{
	struct ground *ground = *state;
	const char *word = test_name("batch-own");
	struct rlk_part parts[3];

	for (size_t i = 0; i < 3; i++)
		parts[i] = ask(ground, 0, numbered(word, i));
	ground_ask(ground, 0, &parts[1].request, RLK_ASK_FIRST, NULL);
	run_all(ground, 0, parts, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(parts[i].verdict, RLK_GRANTED);
		assert_true(ground_release(ground, 0, &parts[i].request));
	}
}

/* Who has it was told before. */
static void asking_again_looks_only_if_some_were_free(void **state)
{
	struct ground *ground = *state;
	const char *word = test_name("batch-again");
	struct rlk_request held[2];
	struct rlk_part parts[2];

	for (int i = 0; i < 2; i++) {
		held[i] = ground_request(ground, 1, numbered(word, (size_t) i));
		ground_ask(ground, 1, &held[i], RLK_ASK_FIRST, NULL);
		parts[i] = ask(ground, 0, held[i].name);
		parts[i].ask = RLK_ASK_AGAIN;
	}
	run_all(ground, 0, parts, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(parts[i].verdict, RLK_HELD);
		assert_false(parts[i].holder.known);
	}
	ground_release(ground, 1, &held[1]);
	run_all(ground, 0, parts, 2);
	assert_int_equal(parts[0].verdict, RLK_HELD);
	assert_int_equal(parts[1].verdict, RLK_GRANTED);
	assert_true(ground_release(ground, 0, &parts[1].request));
	/* One that asks for the first time is told. */
	ground_ask(ground, 1, &held[1], RLK_ASK_FIRST, NULL);
	parts[0] = ask(ground, 0, held[0].name);
	run_all(ground, 0, parts, 2);
	assert_int_equal(parts[0].verdict, RLK_HELD);
	assert_true(parts[0].holder.known);
	assert_true(ground_release(ground, 1, &held[0]));
	assert_true(ground_release(ground, 1, &held[1]));
}

static void dead_holder_shows(void **state)
{
	struct ground *ground = *state;
	const char *word = test_name("batch-dead");
	struct rlk_part parts[2] = { ask(ground, 0, numbered(word, 0)),
				     ask(ground, 0, numbered(word, 1)) };
	struct rlk_request dead = ground_request(ground, 1, numbered(word, 1));

	ground_ask(ground, 1, &dead, RLK_ASK_FIRST, NULL);
	test_sql(ground->sql, "DELETE FROM lease_session WHERE id = %llu",
		 (unsigned long long) dead.session);
	run_all(ground, 0, parts, 2);
	for (int i = 0; i < 2; i++)
		if (!strcmp(parts[i].request.name, dead.name)) {
			assert_int_equal(parts[i].verdict, RLK_HELD);
			assert_true(parts[i].holder.absent);
		} else {
			assert_int_equal(parts[i].verdict, RLK_GRANTED);
		}
	assert_true(ground_release(ground, 1, &dead));
	ground_release(ground, 0, &parts[0].request);
	ground_release(ground, 0, &parts[1].request);
}

/* Somebody's transaction has locked the row of @name; end it by
 * rlk_conn_close(). */
static struct rlk_conn *guard_of(struct ground *ground, const char *name)
{
	struct rlk_conn *guard = ground_open(ground, false, 1);
	struct rowlock_errinfo error;
	char sql[200];

	snprintf(sql, sizeof(sql),
		 "SELECT attempt FROM business_lease WHERE name = '%s' AND "
		 "slot = 0 FOR UPDATE",
		 name);
	assert_done(rlk_stmt_text(guard, sql, &error), &error);
	return guard;
}

static void unguard(struct rlk_conn *guard)
{
	struct rowlock_errinfo error;

	assert_done(rlk_stmt_text(guard, "ROLLBACK", &error), &error);
	rlk_conn_close(guard);
}

/* Somebody's transaction has a held name's row locked. */
static void guarded_name_delays_nobody(void **state)
{
	struct ground *ground = *state;
	const char *word = test_name("batch-guard");
	struct rlk_part parts[4];
	struct rlk_request held = ground_request(ground, 1, numbered(word, 1));
	struct rlk_request mine = ground_request(ground, 0, numbered(word, 3));
	struct rlk_conn *patient = ground_open(ground, true, 60);
	struct rlk_conn *guard;

	ground_ask(ground, 0, &mine, RLK_ASK_FIRST, NULL);
	ground_ask(ground, 1, &held, RLK_ASK_FIRST, NULL);
	guard = guard_of(ground, held.name);
	for (size_t i = 0; i < 3; i++)
		parts[i] = ask(ground, 0, numbered(word, i));
	parts[3] = part_of(RLK_ACT_RELEASE, &mine);
	/* It is answered, and to be seen by all, while the transaction is
	 * open, however long one may wait for it. */
	rlk_conn_close(ground->conns[0]);
	ground->conns[0] = patient;
	run_all(ground, 0, parts, 4);
	assert_int_equal(parts[0].verdict, RLK_GRANTED);
	assert_int_equal(parts[1].verdict, RLK_HELD);
	assert_int_equal(parts[2].verdict, RLK_GRANTED);
	assert_true(parts[3].found);
	assert_int_equal(count_of(ground, parts[0].request.name), 1);
	assert_int_equal(count_of(ground, parts[2].request.name), 1);
	assert_int_equal(count_of(ground, mine.name), 0);
	unguard(guard);
	assert_true(ground_release(ground, 1, &held));
	assert_true(ground_release(ground, 0, &parts[0].request));
	assert_true(ground_release(ground, 0, &parts[2].request));
}

/* Which only a release does: none of them is gone then, and all can be sent
 * alone. */
static void guarded_release_lets_all_of_them_be(void **state)
{
	struct ground *ground = *state;
	const char *word = test_name("batch-locked");
	struct rlk_part parts[3];
	struct rlk_part *pointers[3];
	struct rowlock_errinfo error = { 0 };
	struct rlk_conn *guard;
	enum rlk_fault fault;

	for (size_t i = 0; i < 2; i++) {
		struct rlk_request request =
		    ground_request(ground, 0, numbered(word, i));

		ground_ask(ground, 0, &request, RLK_ASK_FIRST, NULL);
		parts[i] = part_of(RLK_ACT_RELEASE, &request);
		pointers[i] = &parts[i];
	}
	parts[2] = ask(ground, 0, numbered(word, 2));
	pointers[2] = &parts[2];
	guard = guard_of(ground, parts[1].request.name);
	fault = ground->strategy->batch(ground->conns[0], pointers, 3, &none,
					&error);
	assert_int_equal(fault, RLK_BUSY);
	for (size_t i = 0; i < 3; i++)
		assert_false(parts[i].answered);
	unguard(guard);
	/* Each commits by itself again. */
	assert_true(ground_release(ground, 0, &parts[0].request));
	assert_true(ground_release(ground, 0, &parts[1].request));
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(count_of(ground, parts[i].request.name), 0);
}

/* Reading a small table as a whole would wait for it. */
static void guard_of_another_lease_is_nothing_to_a_release(void **state)
{
	struct ground *ground = *state;
	const char *word = test_name("batch-aside");
	struct rlk_request other = ground_request(ground, 1, test_name("held"));
	struct rlk_part parts[24];
	struct rlk_conn *guard;

	ground_ask(ground, 1, &other, RLK_ASK_FIRST, NULL);
	for (size_t i = 0; i < TEST_SIZE(parts); i++)
		parts[i] = ask(ground, 0, numbered(word, i));
	run_all(ground, 0, parts, TEST_SIZE(parts));
	test_sql(ground->sql, "ANALYZE TABLE business_lease");
	guard = guard_of(ground, other.name);
	for (size_t i = 0; i < TEST_SIZE(parts); i++) {
		parts[i].act = RLK_ACT_RELEASE;
		parts[i].answered = false;
	}
	run_all(ground, 0, parts, TEST_SIZE(parts));
	for (size_t i = 0; i < TEST_SIZE(parts); i++)
		assert_true(parts[i].found);
	unguard(guard);
	assert_true(ground_release(ground, 1, &other));
}

/* A transaction that is half done when its client stops: who asks for one of
 * its names has to wait, but not for the client. */
static void silent_client_keeps_nothing_locked(void **state)
{
	struct ground *ground = *state;
	struct rlk_conn *other = ground_open(ground, true, 15);
	struct rlk_request request =
	    ground_request(ground, 0, test_name("batch-silent"));
	struct rowlock_errinfo error;
	char sql[200];

	/* Elsewhere there are no such transactions. */
	if (!rlk_server_dialect(rlk_conn_server(ground->conns[0]))
		 ->lease_acquire_many) {
		rlk_conn_close(other);
		return;
	}
	ground_ask(ground, 0, &request, RLK_ASK_FIRST, NULL);
	assert_done(rlk_stmt_text(ground->conns[0], "BEGIN", &error), &error);
	snprintf(sql, sizeof(sql),
		 "DELETE FROM business_lease WHERE name = '%s'", request.name);
	assert_done(rlk_stmt_text(ground->conns[0], sql, &error), &error);
	assert_done(rlk_stmt_text(other, sql, &error), &error);
	assert_false(rlk_conn_alive(ground->conns[0]));
	rlk_conn_close(other);
}

/* ---------------------------------------------- a single one that draws */

static struct rlk_part ask_for_both(struct ground *ground, const char *name)
{
	struct rlk_part part = ask(ground, 0, name);

	part.request.draw = true;
	part.request.bell = true;
	return part;
}

static uint64_t token_row(struct ground *ground, const char *name)
{
	return test_sql_number(ground->sql,
			       "SELECT COALESCE(MAX(token), 0) FROM lock_token "
			       "WHERE strategy = 'lease' AND name = '%s'",
			       name);
}

static uint64_t bell_owner(struct ground *ground, const char *name)
{
	struct rlk_bell bell = rlk_bell_of(ground->conns[0], name);

	return test_sql_number(
	    ground->sql, "SELECT COALESCE(IS_USED_LOCK('%s'), 0)", bell.text);
}

static bool takes_bells(struct ground *ground)
{
	return rlk_server_dialect(rlk_conn_server(ground->conns[0]))
	    ->lease_acquire_one_ringing;
}

static void end_both(struct ground *ground, struct rlk_part *part)
{
	if (part->holder.bell)
		part->request.bell_conn = rlk_conn_id(ground->conns[0]);
	assert_true(ground_release(ground, 0, &part->request));
	assert_true(bell_owner(ground, part->request.name) == 0);
}

static void single_one_draws_with_its_row(void **state)
{
	struct ground *ground = *state;
	const char *name = test_name("batch-first");
	uint64_t last = 0;

	for (int i = 0; i < 3; i++) {
		struct rlk_part part = ask_for_both(ground, name);

		run_all(ground, 0, &part, 1);
		assert_int_equal(part.verdict, RLK_GRANTED);
		assert_true(part.token > last);
		last = part.token;
		assert_true(part.token == token_row(ground, name));
		assert_true(ground_confirm(ground, 0, &part.request));
		assert_int_equal(part.holder.bell, takes_bells(ground));
		if (part.holder.bell)
			assert_true(bell_owner(ground, name) ==
				    rlk_conn_id(ground->conns[0]));
		/* The same again is the same hold, whose token may grow. */
		part.answered = false;
		part.request.bell = false;
		run_all(ground, 0, &part, 1);
		assert_int_equal(part.verdict, RLK_GRANTED);
		part.holder.bell = takes_bells(ground);
		end_both(ground, &part);
	}
}

/* Not even if somebody's transaction has its row. */
static void single_one_that_is_held_draws_nothing(void **state)
{
	struct ground *ground = *state;
	const char *name = test_name("batch-first-held");
	struct rlk_request held = ground_request(ground, 1, name);
	struct rlk_part part = ask_for_both(ground, name);
	struct rlk_conn *guard;
	uint64_t token;

	ground_ask(ground, 1, &held, RLK_ASK_FIRST, NULL);
	token = ground_draw(ground, &held);
	run_all(ground, 0, &part, 1);
	assert_int_equal(part.verdict, RLK_HELD);
	assert_true(part.holder.attempt == held.attempt);
	assert_true(part.token == 0);
	if (takes_bells(ground)) {
		guard = guard_of(ground, name);
		part.answered = false;
		run_all(ground, 0, &part, 1);
		assert_int_equal(part.verdict, RLK_HELD);
		assert_true(part.token == 0);
		unguard(guard);
	}
	assert_true(token_row(ground, name) == token);
	assert_true(bell_owner(ground, name) == 0);
	assert_true(ground_release(ground, 1, &held));
}

/* Its token's row is tied up: then it has neither, nor the bell; or, where each
 * statement commits, the row alone. */
static void single_one_that_cannot_draw_leaves_nothing_open(void **state)
{
	struct ground *ground = *state;
	const char *name = test_name("batch-first-tied");
	struct rlk_part part = ask_for_both(ground, name);
	struct rlk_conn *guard = ground_open(ground, false, 1);
	struct rlk_part *pointer = &part;
	struct rowlock_errinfo error;
	char sql[200];

	run_all(ground, 0, &part, 1);
	end_both(ground, &part);
	snprintf(sql, sizeof(sql),
		 "SELECT token FROM lock_token WHERE strategy = 'lease' AND "
		 "name = '%s' FOR UPDATE",
		 name);
	assert_done(rlk_stmt_text(guard, sql, &error), &error);
	part = ask_for_both(ground, name);
	assert_int_equal(ground->strategy->batch(ground->conns[0], &pointer, 1,
						 &none, &error),
			 RLK_BUSY);
	assert_int_equal(part.answered, !takes_bells(ground));
	assert_int_equal(count_of(ground, name), !takes_bells(ground));
	assert_true(bell_owner(ground, name) == 0);
	assert_true(part.token == 0);
	unguard(guard);
	/* What comes next commits by itself. */
	assert_int_equal(
	    ground_ask(ground, 0, &part.request, RLK_ASK_FIRST, NULL),
	    RLK_GRANTED);
	assert_int_equal(count_of(ground, name), 1);
	part.holder.bell = takes_bells(ground);
	end_both(ground, &part);
}

/* As when a hold went to another thread while its token was still drawn. */
static void two_draws_for_one_name_are_two_tokens(void **state)
{
	struct ground *ground = *state;
	struct rlk_part parts[2];
	struct rowlock_errinfo error = { 0 };

	parts[0] = ask(ground, 0, test_name("batch-twice"));
	ground_ask(ground, 0, &parts[0].request, RLK_ASK_FIRST, NULL);
	parts[0].act = RLK_ACT_DRAW;
	parts[1] = parts[0];
	assert_done(run(ground, 0, parts, 2, &error), &error);
	assert_true(parts[0].answered || parts[1].answered);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(parts[i].answered, parts[i].token > 0);
	assert_true(parts[0].token != parts[1].token);
	assert_true(ground_release(ground, 0, &parts[0].request));
}

/* Of several draws one cannot be: where they are one statement none of them was
 * drawn, and nothing is left open. */
static void draw_that_cannot_be_leaves_nothing_open(void **state)
{
	struct ground *ground = *state;
	const char *word = test_name("batch-tied");
	struct rlk_conn *guard = ground_open(ground, false, 1);
	struct rlk_part parts[3];
	struct rowlock_errinfo error;
	char sql[200];

	for (size_t i = 0; i < 3; i++) {
		parts[i] = ask(ground, 0, numbered(word, i));
		ground_ask(ground, 0, &parts[i].request, RLK_ASK_FIRST, NULL);
		ground_draw(ground, &parts[i].request);
		parts[i].act = RLK_ACT_DRAW;
	}
	snprintf(sql, sizeof(sql),
		 "SELECT token FROM lock_token WHERE strategy = 'lease' AND "
		 "name = '%s' FOR UPDATE",
		 numbered(word, 1));
	assert_done(rlk_stmt_text(guard, sql, &error), &error);
	assert_int_equal(run(ground, 0, parts, 3, &error), RLK_BUSY);
	/* The first commits by itself where each does. */
	assert_int_equal(parts[0].answered, !takes_bells(ground));
	assert_false(parts[1].answered);
	assert_false(parts[2].answered);
	unguard(guard);
	for (size_t i = 0; i < 3; i++) {
		uint64_t token = ground_draw(ground, &parts[i].request);

		assert_true(token > parts[i].token);
		assert_true(token == token_row(ground, numbered(word, i)));
		assert_true(ground_release(ground, 0, &parts[i].request));
	}
}

static uint64_t count_inserts(struct ground *ground)
{
	return test_sql_status(ground->sql, "Com_insert") +
	       test_sql_status(ground->sql, "Com_insert_select");
}

static void hundreds_go_in_a_few_statements(void **state)
{
	struct ground *ground = *state;
	const char *word = test_name("batch-many");
	static struct rlk_part parts[MOST];
	uint64_t before;
	uint64_t took;

	for (size_t i = 0; i < MOST; i++) {
		parts[i] = ask(ground, 0, numbered(word, i));
		parts[i].request.info = i % 3 ? NULL : "it's \\ said";
		parts[i].request.max_hold_ms = i % 2 ? 0 : 60000;
	}
	before = count_inserts(ground);
	run_all(ground, 0, parts, MOST);
	took = count_inserts(ground) - before;
	/* Other programs may run on the server meanwhile. */
	assert_in_range(took, 1, MOST / 4);
	for (size_t i = 0; i < MOST; i++)
		assert_int_equal(parts[i].verdict, RLK_GRANTED);
	assert_int_equal(
	    test_sql_number(ground->sql,
			    "SELECT COUNT(*) FROM business_lease WHERE name "
			    "LIKE '%s-%%' AND session = %llu AND (info IS NULL "
			    "OR info = 'it''s \\\\ said')",
			    word,
			    (unsigned long long) parts[0].request.session),
	    MOST);
	assert_int_equal(
	    test_sql_number(ground->sql,
			    "SELECT COUNT(*) FROM business_lease WHERE name "
			    "LIKE '%s-%%' AND expires_at IS NOT NULL AND "
			    "TIMESTAMPDIFF(MICROSECOND, acquired_at, "
			    "expires_at) = 60000000",
			    word),
	    MOST / 2);
	/* Each by its own attempt only. */
	for (size_t i = 0; i < MOST; i++) {
		parts[i].act = RLK_ACT_RELEASE;
		parts[i].answered = false;
		if (i == 100)
			parts[i].request.attempt++;
	}
	run_all(ground, 0, parts, MOST);
	for (size_t i = 0; i < MOST; i++)
		assert_int_equal(parts[i].found,
				 parts[i].request.name != numbered(word, 100));
	assert_int_equal(test_sql_number(ground->sql,
					 "SELECT COUNT(*) FROM business_lease "
					 "WHERE name LIKE '%s-%%'",
					 word),
			 1);
	test_sql(ground->sql, "DELETE FROM business_lease WHERE name = '%s'",
		 numbered(word, 100));
}

static void tokens_of_one_packet_follow_each_name(void **state)
{
	struct ground *ground = *state;
	const char *word = test_name("batch-draw");
	struct rlk_part parts[8];
	uint64_t last[8] = { 0 };

	for (size_t i = 0; i < 8; i++) {
		parts[i] = ask(ground, 0, numbered(word, i));
		ground_ask(ground, 0, &parts[i].request, RLK_ASK_FIRST, NULL);
		parts[i].act = RLK_ACT_DRAW;
	}
	for (int round = 0; round < 5; round++) {
		run_all(ground, 0, parts, 8);
		for (size_t i = 0; i < 8; i++) {
			assert_true(parts[i].token > last[i]);
			last[i] = parts[i].token;
			assert_true(
			    parts[i].token ==
			    test_sql_number(ground->sql,
					    "SELECT token FROM lock_token "
					    "WHERE strategy = 'lease' AND "
					    "name = '%s'",
					    parts[i].request.name));
		}
	}
	for (size_t i = 0; i < 8; i++)
		assert_true(ground_release(ground, 0, &parts[i].request));
}

static void nasty_names_are_names(void **state)
{
	static const char *const names[] = {
		"batch '",    "batch ''; --",           "batch \\", "batch \\'",
		"batch \"?0", "batch \xf0\x9f\x94\x92", "Batch A",  "batch a",
	};
	struct ground *ground = *state;
	struct rlk_part parts[TEST_SIZE(names)];

	for (size_t i = 0; i < TEST_SIZE(names); i++)
		parts[i] = ask(ground, 0, names[i]);
	run_all(ground, 0, parts, TEST_SIZE(names));
	for (size_t i = 0; i < TEST_SIZE(names); i++) {
		assert_int_equal(parts[i].verdict, RLK_GRANTED);
		assert_true(ground_confirm(ground, 0, &parts[i].request));
		/* Alone it is the same name. */
		assert_true(ground_release(ground, 0, &parts[i].request));
	}
}

#define EACH(sentence, function)                                               \
	ON(ROWLOCK_LEASE, "lease: " sentence, function),                       \
	    ON(GROUND_LEASE_LOOKS, "lease that looks: " sentence, function)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		EACH("each is answered as if alone",
		     each_is_answered_as_if_alone),
		EACH("an own row of an earlier sending is a grant",
		     own_row_of_an_earlier_sending_is_a_grant),
		EACH("asking again looks only if some were free",
		     asking_again_looks_only_if_some_were_free),
		EACH("a dead holder shows", dead_holder_shows),
		EACH("a guarded name delays nobody",
		     guarded_name_delays_nobody),
		EACH("a guarded release lets all of them be",
		     guarded_release_lets_all_of_them_be),
		ON(ROWLOCK_LEASE,
		   "lease: a guard of another lease is nothing to a release",
		   guard_of_another_lease_is_nothing_to_a_release),
		ON(ROWLOCK_LEASE, "lease: a silent client keeps nothing locked",
		   silent_client_keeps_nothing_locked),
		EACH("hundreds go in a few statements",
		     hundreds_go_in_a_few_statements),
		EACH("a single one draws with its row",
		     single_one_draws_with_its_row),
		EACH("a single one that is held draws nothing",
		     single_one_that_is_held_draws_nothing),
		EACH("a single one that cannot draw leaves nothing open",
		     single_one_that_cannot_draw_leaves_nothing_open),
		EACH("two draws for one name are two tokens",
		     two_draws_for_one_name_are_two_tokens),
		EACH("a draw that cannot be leaves nothing open",
		     draw_that_cannot_be_leaves_nothing_open),
		EACH("the tokens of one packet follow each name",
		     tokens_of_one_packet_follow_each_name),
		EACH("nasty names are names", nasty_names_are_names),
	};

	return test_main(tests);
}
