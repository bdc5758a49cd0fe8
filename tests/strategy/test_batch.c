/* SPDX-License-Identifier: MIT */
/*
 * Many acquires, releases and draws in one round trip: each comes out as if it
 * had been asked alone, and none waits for another.
 */
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "ground.h"

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
	for (size_t i = 0; i < count; i++)
		assert_true(parts[i].answered);
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

/* Somebody's transaction has a held name's row locked. */
static void guarded_name_delays_nobody(void **state)
{
	struct ground *ground = *state;
	const char *word = test_name("batch-guard");
	struct rlk_conn *guard = ground_open(ground, false, 1);
	struct rlk_part parts[3];
	struct rlk_request held = ground_request(ground, 1, numbered(word, 1));
	struct rowlock_errinfo error;
	char sql[200];

	ground_ask(ground, 1, &held, RLK_ASK_FIRST, NULL);
	snprintf(sql, sizeof(sql),
		 "SELECT attempt FROM business_lease WHERE name = '%s' AND "
		 "slot = 0 FOR UPDATE",
		 held.name);
	assert_done(rlk_stmt_text(guard, sql, &error), &error);
	for (size_t i = 0; i < 3; i++)
		parts[i] = ask(ground, 0, numbered(word, i));
	/* It is answered while the transaction is open. */
	run_all(ground, 0, parts, 3);
	assert_int_equal(parts[0].verdict, RLK_GRANTED);
	assert_int_equal(parts[1].verdict, RLK_HELD);
	assert_int_equal(parts[2].verdict, RLK_GRANTED);
	assert_done(rlk_stmt_text(guard, "ROLLBACK", &error), &error);
	assert_true(ground_release(ground, 1, &held));
	assert_true(ground_release(ground, 0, &parts[0].request));
	assert_true(ground_release(ground, 0, &parts[2].request));
	rlk_conn_close(guard);
}

/* Which only a release does: none of them is gone then, and all can be sent
 * alone. */
static void guarded_release_lets_all_of_them_be(void **state)
{
	struct ground *ground = *state;
	const char *word = test_name("batch-locked");
	struct rlk_conn *guard = ground_open(ground, false, 1);
	struct rlk_part parts[3];
	struct rlk_part *pointers[3];
	struct rowlock_errinfo error = { 0 };
	enum rlk_fault fault;
	char sql[200];

	for (size_t i = 0; i < 2; i++) {
		struct rlk_request request =
		    ground_request(ground, 0, numbered(word, i));

		ground_ask(ground, 0, &request, RLK_ASK_FIRST, NULL);
		parts[i] = part_of(RLK_ACT_RELEASE, &request);
		pointers[i] = &parts[i];
	}
	parts[2] = ask(ground, 0, numbered(word, 2));
	pointers[2] = &parts[2];
	snprintf(sql, sizeof(sql),
		 "SELECT attempt FROM business_lease WHERE name = '%s' AND "
		 "slot = 0 FOR UPDATE",
		 parts[1].request.name);
	assert_done(rlk_stmt_text(guard, sql, &error), &error);
	fault = ground->strategy->batch(ground->conns[0], pointers, 3, &none,
					&error);
	assert_int_equal(fault, RLK_BUSY);
	for (size_t i = 0; i < 3; i++)
		assert_false(parts[i].answered);
	assert_done(rlk_stmt_text(guard, "ROLLBACK", &error), &error);
	assert_true(ground_release(ground, 0, &parts[0].request));
	assert_true(ground_release(ground, 0, &parts[1].request));
	assert_int_equal(count_of(ground, parts[2].request.name), 0);
	rlk_conn_close(guard);
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
	before = test_sql_status(ground->sql, "Com_insert_select");
	run_all(ground, 0, parts, MOST);
	took = test_sql_status(ground->sql, "Com_insert_select") - before;
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
		EACH("a dead holder shows", dead_holder_shows),
		EACH("a guarded name delays nobody",
		     guarded_name_delays_nobody),
		EACH("a guarded release lets all of them be",
		     guarded_release_lets_all_of_them_be),
		EACH("hundreds go in a few statements",
		     hundreds_go_in_a_few_statements),
		EACH("the tokens of one packet follow each name",
		     tokens_of_one_packet_follow_each_name),
		EACH("nasty names are names", nasty_names_are_names),
	};

	return test_main(tests);
}
